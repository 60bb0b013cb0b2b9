// SPDX-License-Identifier: Apache-2.0
// `memprof export`: turns a profile into another format, with names.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

int export_command(const std::vector<std::string>& arguments);

}  // namespace memprof::cli
