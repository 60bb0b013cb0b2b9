// SPDX-License-Identifier: Apache-2.0
// Hooks for a process that runs already (platform/imports.h).  Import tables are left alone on Windows: the functions
// themselves are hooked, so there is nothing that could be loaded later, or bound late.
#include "platform/imports.h"

#include "platform/windows/hooks/heap_hooks.h"
#include "platform/windows/hooks/mapping_hooks.h"

namespace memprof::platform {

bool patch_imports() {
  const bool are_hooked = hook_heaps();
  if (are_hooked) {
    hook_mappings_if_asked();
  }
  return are_hooked;
}
bool prepare_imports() {
  return patch_imports();
}

}  // namespace memprof::platform
