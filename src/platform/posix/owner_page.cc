// SPDX-License-Identifier: Apache-2.0
// The page that says whose the tables are (platform/process.h), where the system has no memory that a child finds empty.
#include "platform/posix/fork_handler.h"

namespace memprof::platform {
namespace {

OwnerPage g_page;

}  // namespace

// Shared by a vfork child, which has its parent's memory, and emptied in a fork child by the handler.  A child
// by another way than fork() passes for its parent: a port should have the system empty the page where it can.
OwnerPage* make_owner_page() {
  g_owner_page = &g_page;
  watch_forks();
  return &g_page;
}

}  // namespace memprof::platform
