// SPDX-License-Identifier: Apache-2.0
// Records to put into a map.
#pragma once

#include "core/tables/heap_map.h"

#include <gtest/gtest.h>

#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::heap_map_test {

using testing_support::ScopedArena;

inline LiveSample sample_at(uint64_t address, uint64_t n = 0) {
  return {{address, n + 1, n + 2, n + 3, static_cast<uint32_t>(n % 1000), static_cast<uint32_t>(n + 5)}};
}

inline uint32_t open_levels(const ScopedArena& a) {
  return a.header().live_levels.open.load();
}

}  // namespace memprof::heap_map_test
