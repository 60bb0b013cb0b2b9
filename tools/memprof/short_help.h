// SPDX-License-Identifier: Apache-2.0
// What `memprof`, `memprof COMMAND` and -h say: less than a screen of 24 lines and 80 columns.  --help says
// all.
#pragma once

#include <string>

namespace memprof::cli {

// Of a command, or of "" for memprof itself; empty where there is no command of that name, or all that it has
// to say is short.
std::string short_help(const std::string& command);

}  // namespace memprof::cli
