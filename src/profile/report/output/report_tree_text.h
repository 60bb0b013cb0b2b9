// SPDX-License-Identifier: Apache-2.0
// Prints a call tree: guide lines before the names, and a footer that counts the rows left out.
//
// Threads: no state.
#pragma once

#include <vector>

#include "profile/report/report.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {

// kOptions: the footer names the options that show the rows left out.
enum class TreeFooter { kOptions, kNone };

// `direction`: of the calls from a row to those under it.  `growth`: of each node, a column of its own.
void write_tree(const Report& report, const CallTree& tree, Direction direction, TextWriter* writer,
                TreeFooter footer = TreeFooter::kOptions, const std::vector<double>* growth = nullptr);

}  // namespace memprof::profile
