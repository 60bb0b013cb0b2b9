// SPDX-License-Identifier: Apache-2.0
// Whose the tables are, and what a child gives back (platform/process.h).
#include <sys/mman.h>
#include <unistd.h>

#include "core/engine/frame_rooms.h"
#include "core/engine/profiler.h"
#include "core/engine/runtimes.h"
#include "platform/linux/memory/own_pages.h"
#include "platform/linux/modules/module_map.h"
#include "platform/posix/fork_handler.h"
#include "platform/process.h"
#include "unwind/tables/registered.h"
#include "unwind/tables/rule_cache.h"
#include "unwind/walk/walk_memory.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

namespace memprof::platform {

OwnerPage* make_owner_page() {
  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  void* p = map_own(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    return nullptr;
  }
  madvise(p, page, MADV_WIPEONFORK);  // Linux 4.14; before that the fork handler has to do
  g_owner_page = static_cast<OwnerPage*>(p);
  return g_owner_page;
}

void reset_in_child() {
  if (g_owner_page != nullptr && g_owner_page->reset.exchange(1, std::memory_order_acq_rel) != 0) {
    return;
  }
  g_module_map.reset_in_child();  // first: what follows looks modules up
  unwind::g_rule_cache.reset_in_child();
  unwind::g_registered_tables.reset_in_child();
  FrameRoom::reset_in_child();
  unwind::WalkMemory::reset_in_child();
  runtimes::reset_in_child();
  reset_dumps_in_child();
}

}  // namespace memprof::platform
