// SPDX-License-Identifier: Apache-2.0
// A folder as a target: FOLDER/SERVICE/HOST.SPOOL.SEQUENCE.pb.gz, a whole pprof file for each look, with its labels in a
// comment.  The name is that of one look of one shipper, so that a repeat is seen.
//
// Failure: throws Failure where the folder is not there or takes no files.
#pragma once

#include <memory>
#include <string>

#include "memprof/ship/targets/target.h"

namespace memprof::cli {

bool is_directory(const std::string& text);
std::unique_ptr<ShipTarget> make_directory_target(const std::string& text, const TargetOptions& options);

// A part of a path made of a label: letters, digits, '.', '_' and '-'.
std::string file_word(const std::string& text);

}  // namespace memprof::cli
