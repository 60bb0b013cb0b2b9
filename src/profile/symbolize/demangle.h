// SPDX-License-Identifier: Apache-2.0
// The name of a function as its author wrote it.
//
// Threads: no state.
#pragma once

#include <string>

namespace memprof::profile {

// `std::vector<int>::push_back(int&&)` for C++ symbols; every other name as it is.
std::string demangle(const std::string& symbol);

}  // namespace memprof::profile
