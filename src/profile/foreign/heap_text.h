// SPDX-License-Identifier: Apache-2.0
// Reads the heap profiles that allocators write as text: of tcmalloc and gperftools (`heap profile: ...`), and of
// jemalloc (`heap_v2/RATE`).
//
// Model: a stack is a line of return addresses, leaf first, with what it holds and, in brackets, what it allocated
// since the start.  What was sampled is scaled up by the rate in the first line.  The memory map at the end says which
// files the addresses are in; names come from those files, as for any profile.
//
// Threads: no state.
// Failure: throws Error "NAME:LINE: what is wrong".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profile/model/model.h"

namespace memprof::profile {

bool is_heap_text(std::string_view begin);

// `name` stands in messages.  `max_model_bytes`: what the Profile may take, roughly.
Profile read_heap_text(std::string_view data, const std::string& name, uint64_t max_model_bytes = UINT64_MAX);

}  // namespace memprof::profile
