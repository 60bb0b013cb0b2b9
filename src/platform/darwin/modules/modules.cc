// SPDX-License-Identifier: Apache-2.0
// platform/modules.h by the list of images, and by dyld's functions where its lock may be taken.
#include "platform/modules.h"

#include <dlfcn.h>

#include "platform/darwin/modules/image_list.h"

namespace memprof::platform {

bool find_module(uint64_t address, ModuleInfo* info) {
  return find_image(address, info);
}

// May be asked from a hook, and dlsym takes dyld's lock.
bool find_exports_at(uint64_t, const char* const*, uint32_t, const void**) {
  return false;
}

bool find_exports(const char* const* names, uint32_t count, const void** addresses) {
  for (uint32_t i = 0; i < count; ++i) {
    addresses[i] = dlsym(RTLD_DEFAULT, names[i]);
  }
  return count > 0 && addresses[0] != nullptr;
}

bool find_symbol(uint64_t address, const char** name, uint64_t* start) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(address), &info) == 0 || info.dli_sname == nullptr) {
    return false;
  }
  *name = info.dli_sname;
  *start = reinterpret_cast<uint64_t>(info.dli_saddr);
  return true;
}

const char* find_other_copy() {
  return nullptr;
}

}  // namespace memprof::platform
