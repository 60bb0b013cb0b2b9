// SPDX-License-Identifier: Apache-2.0
// Hooks for a process that runs already (platform/imports.h).  Import tables are left alone on Windows: the functions
// themselves are hooked, so there is nothing that could be loaded later, or bound late.
#include "platform/imports.h"

#include "platform/windows/hooks/heap_hooks.h"

namespace memprof::platform {

bool patch_imports() {
  return hook_heaps();
}
bool prepare_imports() {
  return hook_heaps();
}

}  // namespace memprof::platform
