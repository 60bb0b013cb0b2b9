// SPDX-License-Identifier: Apache-2.0
#include "platform/posix/fork_handler.h"

#include <pthread.h>

#include "core/sampling/sampler.h"

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

void watch_forks() {
  const MuteScope mute;  // what it allocates is ours
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
}

}  // namespace memprof::platform
