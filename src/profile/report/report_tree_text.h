// SPDX-License-Identifier: Apache-2.0
// A tree of calls as rows with lines before the names, and a line below for what is left out.
//
// Threads: no state.
#pragma once

#include "profile/report/report.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {

// Says how a report shows what is left out.
enum class TreeFooter { kOptions, kNone };

// `direction`: of the calls from a row to those under it.
void write_tree(const Report& report, const CallTree& tree, Direction direction, TextWriter* writer,
                TreeFooter footer = TreeFooter::kOptions);

}  // namespace memprof::profile
