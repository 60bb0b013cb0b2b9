// SPDX-License-Identifier: Apache-2.0
// Tells the allocator's own functions (malloc, operator new ...) from those that called them: the list is the
// one that pprof gets as `drop_frames`.
//
// Threads: no state.
#pragma once

#include <string>

namespace memprof::profile {

// `name` is a function's name, demangled or not.
bool is_allocator_function(const std::string& name);

}  // namespace memprof::profile
