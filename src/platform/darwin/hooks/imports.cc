// SPDX-License-Identifier: Apache-2.0
// Hooks for a process that runs already (platform/imports.h).  Import tables are left alone: libmalloc itself tells of what it
// gives, so there is nothing that could be loaded later, or bound late.
#include "platform/imports.h"

#include "platform/darwin/hooks/malloc_log.h"

namespace memprof::platform {

bool patch_imports() {
  return set_malloc_logger();
}
bool prepare_imports() {
  return set_malloc_logger();
}

}  // namespace memprof::platform
