// SPDX-License-Identifier: Apache-2.0
// Options of Node with which V8's sampler is not ours to start (decision 0091).  Not in a hook.
#pragma once

#include <cstddef>

namespace memprof::v8 {

// Of a process with these arguments (each with a NUL behind it) and this NODE_OPTIONS (nullptr: none).
bool is_heap_left_alone(const char* arguments, size_t size_bytes, const char* node_options);
// Of this process.
bool is_heap_left_alone();

}  // namespace memprof::v8
