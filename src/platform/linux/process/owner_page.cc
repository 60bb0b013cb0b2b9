// SPDX-License-Identifier: Apache-2.0
// Whose the tables are, and what a child gives back (platform/process.h).
#include <sys/mman.h>
#include <unistd.h>

#include "platform/linux/memory/own_pages.h"
#include "platform/linux/modules/module_map.h"
#include "platform/posix/fork_handler.h"
#include "platform/process.h"

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
  reset_engine_in_child([] { g_module_map.reset_in_child(); });  // what follows looks modules up
}

}  // namespace memprof::platform
