// SPDX-License-Identifier: Apache-2.0
// Reads what V8's sampling heap profiler writes (`.heapprofile`: DevTools, `node --heap-prof`): a tree of functions, with
// what each of them allocated that was live at the end.
//
// Threads: no state.
// Failure: throws Error "NAME: what is wrong".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profile/model/model.h"

namespace memprof::profile {

bool is_v8_heap(std::string_view begin);

// `name` stands in messages.  `max_model_bytes`: what the Profile may take, roughly.
Profile read_v8_heap(std::string_view data, const std::string& name, uint64_t max_model_bytes = UINT64_MAX);

}  // namespace memprof::profile
