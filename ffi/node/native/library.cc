// SPDX-License-Identifier: Apache-2.0
#include "library.h"

#include <dlfcn.h>

namespace memprof::node {
namespace {

constexpr char kFile[] = "libmemprof.so";

// The folder of the addon, with the slash.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) {
    return "./";
  }
  const std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

// Never closed: slots of import tables point into it.
void* open_own(std::string* problem) {
  const std::string path = own_folder() + kFile;
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) {
    const char* const reason = dlerror();
    *problem = "cannot load " + path + ": " + (reason != nullptr ? reason : "unknown error");
  }
  return handle;
}

Library load() {
  Library found;
  found.was_there = dlsym(RTLD_DEFAULT, "memprof_version") != nullptr;
  void* const handle = found.was_there ? RTLD_DEFAULT : open_own(&found.problem);
  if (!found.problem.empty()) {
    return found;
  }
#define MEMPROF_NODE_LOOK_UP(name)                                              \
  found.name = reinterpret_cast<decltype(found.name)>(dlsym(handle, #name));    \
  if (found.name == nullptr && found.problem.empty()) {                         \
    found.problem = "the memprof library in this process has no " #name         \
                    ": it is older than this package; use one version of both"; \
  }
  MEMPROF_NODE_FUNCTIONS(MEMPROF_NODE_LOOK_UP)
#undef MEMPROF_NODE_LOOK_UP
  return found;
}

}  // namespace

const Library& library() {
  static const Library* const loaded = new Library(load());  // no destructor runs at exit: threads go on
  return *loaded;
}

}  // namespace memprof::node
