// SPDX-License-Identifier: Apache-2.0
// Of pages.cc: memory near code.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::platform {

// A zeroed page, readable and writable, so that what lies in [low, high) and in the page is less than 2 GiB apart; nullptr:
// there is none.
void* map_near(uint64_t low, uint64_t high, size_t size_bytes);

}  // namespace memprof::platform
