// SPDX-License-Identifier: Apache-2.0
// Hooks for a process that runs already (platform/imports.h).  Import tables are left alone: libmalloc itself tells of what it
// gives, so there is nothing that could be loaded later, or bound late.
#include "platform/imports.h"

#include "platform/darwin/hooks/malloc_log.h"

namespace memprof::platform {

bool prepare_late_hooks(LatePatchRequest*) {
  return false;
}
bool patch_imports() {
  return set_malloc_logger();
}
bool prepare_imports() {
  return set_malloc_logger();
}
void watch_imports(uint64_t) {}
void recheck_imports() {}
uint64_t allocator_behind_hooks() {
  return 0;
}
Imports imports() {
  return {};
}
size_t describe_imports(char* text, size_t size_bytes) {
  if (size_bytes > 0) {
    text[0] = '\0';
  }
  return 0;
}
const char* imports_note() {
  return "";
}

}  // namespace memprof::platform
