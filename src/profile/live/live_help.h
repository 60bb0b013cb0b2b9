// SPDX-License-Identifier: Apache-2.0
// The keys of the live view, as its help and its last line name them.
//
// Threads: no state.
#pragma once

#include <vector>

namespace memprof::profile {

struct LiveHelp {
  const char* keys;
  const char* what;
};

// Everything.
const std::vector<LiveHelp>& live_help();

// For the last line, what is asked for most first.
using LiveHint = LiveHelp;
const std::vector<LiveHint>& live_hints();

}  // namespace memprof::profile
