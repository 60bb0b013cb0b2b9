// SPDX-License-Identifier: Apache-2.0
// The profiler, started through its public face; what a hook would record is recorded by the test.
#pragma once

#include "memprof.h"

#include <gtest/gtest.h>

#include "core/arena/arena.h"
#include "core/engine/facts.h"
#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "tests/support/engine.h"

namespace memprof::memprof_test {

using testing_support::FakeStack;

inline memprof_options options_of(uint64_t rate_bytes) {
  memprof_options options;
  EXPECT_EQ(MEMPROF_OK, memprof_options_init(&options, sizeof(options)));
  options.rate_bytes = rate_bytes;
  return options;
}

inline void start(uint64_t rate_bytes = 4096) {
  profiler::announce_hooks();
  const memprof_options options = options_of(rate_bytes);
  ASSERT_EQ(MEMPROF_OK, memprof_init(&options));
  ASSERT_EQ(MEMPROF_OK, memprof_start());
}

inline void record(uint64_t address, uint64_t size_bytes = 100, uint64_t rate_bytes = 4096,
                   uint64_t caller = 0x401000) {
  const FakeStack stack(caller);
  profiler::record_allocation(reinterpret_cast<void*>(address), size_bytes, rate_bytes, stack.entry());
}

inline memprof_stats stats() {
  memprof_stats s;
  s.struct_size = sizeof(s);
  EXPECT_EQ(MEMPROF_OK, memprof_get_stats(&s));
  return s;
}

}  // namespace memprof::memprof_test
