// SPDX-License-Identifier: Apache-2.0
// The name of a function as its author wrote it.
//
// Threads: no state.
#pragma once

#include <string>

namespace memprof::profile {

// `std::vector<int>::push_back(int&&)` for symbols of C++, `<u8 as Trait>::area` of Rust (both manglings,
// without hashes), `shapes.S!(int).S.grow(int)` of D, `build.State.parse` of what mypyc compiled; every other name as it is.
//
// libiberty reads Rust and D: those files of it are LGPL with leave to be linked into anything.
std::string demangle(const std::string& symbol);

}  // namespace memprof::profile
