// SPDX-License-Identifier: Apache-2.0
#include "platform/posix/fork_handler.h"

#include <pthread.h>

#include "core/engine/frame_rooms.h"
#include "core/engine/profiler.h"
#include "core/engine/runtimes.h"
#include "core/sampling/sampler.h"
#include "unwind/tables/registered.h"
#include "unwind/tables/rule_cache.h"
#include "unwind/walk/walk_memory.h"

namespace memprof::platform {

OwnerPage* g_owner_page;

namespace {

void after_fork_in_child() {
  if (g_owner_page != nullptr) {
    // Where the kernel could not wipe it.
    g_owner_page->mark.store(0, std::memory_order_relaxed);
    g_owner_page->claim.store(0, std::memory_order_relaxed);
    g_owner_page->reset.store(0, std::memory_order_relaxed);
  }
  reset_in_child();
  sampler_reseed();  // the only thread there is gets a clock of its own
}

}  // namespace

void reset_engine_in_child(void (*of_system)()) {
  if (g_owner_page != nullptr && g_owner_page->reset.exchange(1, std::memory_order_acq_rel) != 0) {
    return;
  }
  if (of_system != nullptr) {
    of_system();
  }
  unwind::g_rule_cache.reset_in_child();
  unwind::g_registered_tables.reset_in_child();
  FrameRoom::reset_in_child();
  unwind::WalkMemory::reset_in_child();
  runtimes::reset_in_child();
  reset_dumps_in_child();
}

void watch_forks() {
  const MuteScope mute;  // what it allocates is ours
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
}

}  // namespace memprof::platform
