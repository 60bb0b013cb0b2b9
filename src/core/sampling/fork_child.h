// SPDX-License-Identifier: Apache-2.0
// How a fork child is recognised: a page that children do not have (platform::OwnerPage) holds the owner's mark.
//
// Threads, signals: any.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/sampling/sampler.h"

namespace memprof::profiler {

// What the page's mark reads in the owner; 0: there is no page.
inline std::atomic<uint64_t> g_mark{0};

// Whether this process owns the tables: it is no fork child of the one that does.  Without a page (the kernel is too
// old for one) a child cannot be told from its parent here; the fork handler of the platform then stops it.
inline bool owns() {
  // acquire pairs with the release in adopt_process: who knows the value reads the page.  In this order: a
  // child changes the value and then the page, and is no owner in between.
  const uint64_t owner = g_mark.load(std::memory_order_acquire);
  return owner == 0 || sampler_mark() == owner;
}

}  // namespace memprof::profiler
