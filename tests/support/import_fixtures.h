// SPDX-License-Identifier: Apache-2.0
// The libraries of tests/platform/linux/fixtures, and what the loader says of a module.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include <string>

namespace memprof::testing_support {

inline std::string fixture_path(const std::string& name) {
  return std::string(MEMPROF_IMPORT_FIXTURES) + "/" + name + ".so";
}

// A fixture, loaded.
class FixtureLibrary {
 public:
  explicit FixtureLibrary(const std::string& name, int flags = RTLD_LAZY)
      : path(fixture_path(name)), handle(dlopen(path.c_str(), flags)) {
    EXPECT_NE(nullptr, handle) << dlerror();
  }
  template <typename Function>
  Function get(const char* name) const {
    void* found = dlsym(handle, name);
    EXPECT_NE(nullptr, found) << name;
    return reinterpret_cast<Function>(found);
  }
  void* allocate(size_t size) const { return get<void* (*)(size_t)>("fixture_malloc")(size); }
  void free(void* block) const { get<void (*)(void*)>("fixture_free")(block); }
  void close() const { EXPECT_EQ(0, dlclose(handle)); }

  const std::string path;
  void* const handle;
};

// visit(info) for the module of a path; false: it is not loaded.
template <typename Visit>
bool with_module(const std::string& path, const Visit& visit) {
  struct Search {
    const std::string& path;
    const Visit& visit;
  } search{path, visit};
  return dl_iterate_phdr(
             [](dl_phdr_info* info, size_t, void* data) {
               const auto* s = static_cast<const Search*>(data);
               if (info->dlpi_name != s->path) {
                 return 0;
               }
               s->visit(*info);
               return 1;
             },
             &search) != 0;
}

}  // namespace memprof::testing_support
