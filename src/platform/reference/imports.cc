// SPDX-License-Identifier: Apache-2.0
// No import tables (platform/imports.h), and no hooks: only what a program reports itself is recorded.
#include "platform/imports.h"

namespace memprof::platform {

bool prepare_late_hooks(LatePatchRequest*) {
  return false;
}

bool patch_imports() {
  return false;
}

bool prepare_imports() {
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
