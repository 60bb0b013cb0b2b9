// SPDX-License-Identifier: Apache-2.0
// platform/imports.h where no import tables are patched: nothing can be loaded later, or bound late.
#include "platform/imports.h"

namespace memprof::platform {

bool prepare_late_hooks(LatePatchRequest*) {
  return false;
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
