// SPDX-License-Identifier: Apache-2.0
// commit_pages (platform/memory.h) as kernels before Linux 5.14 can do it.
#pragma once

#include <cstddef>

namespace memprof::platform {

// Page by page; the same contract.
bool commit_pages_singly(void* start, size_t size_bytes);

}  // namespace memprof::platform
