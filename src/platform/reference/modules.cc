// SPDX-License-Identifier: Apache-2.0
// No modules (platform/modules.h): addresses stay numbers, and no runtime is found.
#include "platform/modules.h"

namespace memprof::platform {

bool find_module(uint64_t, ModuleInfo*) {
  return false;
}

bool find_exports_at(uint64_t, const char* const*, uint32_t, const void**) {
  return false;
}

bool find_exports(const char* const*, uint32_t, const void**) {
  return false;
}

bool find_symbol(uint64_t, const char**, uint64_t*) {
  return false;
}

const char* find_other_copy() {
  return nullptr;
}

}  // namespace memprof::platform
