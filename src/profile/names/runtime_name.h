// SPDX-License-Identifier: Apache-2.0
// What people call a language runtime of a profile, and the code that it executes.
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/model/model.h"

namespace memprof::profile {

// The language of the runtime of id index + 1.
std::string language_name(const Runtimes& runtimes, size_t index);

// The module of all code that is executed by the runtimes of a profile, which has no file: "[Python]".
std::string runtime_module(const Runtimes& runtimes);

}  // namespace memprof::profile
