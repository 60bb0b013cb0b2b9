// SPDX-License-Identifier: Apache-2.0
// Heap profiles that are no pprof files, by what they begin with: the text of tcmalloc and jemalloc, the JSON of V8.
//
// Threads: no state.
// Failure: throws Error "NAME: what is wrong".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "profile/model/model.h"

namespace memprof::profile {

// How many bytes tell whether it is one.
constexpr size_t kForeignBeginning = 64;

bool is_foreign(std::string_view begin);

// `max_model_bytes`: what the Profile may take, roughly.
Profile read_foreign(std::string_view data, const std::string& name, uint64_t max_model_bytes);

}  // namespace memprof::profile
