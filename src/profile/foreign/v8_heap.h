// SPDX-License-Identifier: Apache-2.0
// Reads what V8's sampling heap profiler writes (`.heapprofile`: DevTools, `node --heap-prof`): a tree of functions, with
// what each of them allocated that was live at the end.
//
// Threads: no state.
// Failure: throws Error "NAME: what is wrong".
#pragma once

#include <string>
#include <string_view>

#include "profile/model/model.h"

namespace memprof::profile {

bool is_v8_heap(std::string_view begin);

// `name` stands in messages.
Profile read_v8_heap(std::string_view data, const std::string& name);

}  // namespace memprof::profile
