// SPDX-License-Identifier: Apache-2.0
// Libraries whose import tables are patched, and what is seen of them.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "memprof.h"
#include "platform/linux/imports/import_table.h"
#include "tests/support/engine.h"
#include "tests/support/import_fixtures.h"
#include "tests/support/single_import_table.h"

namespace memprof::import_patch_test {

using platform::ImportTable;
using platform::WantedNames;
using testing_support::SingleImportTable;
using Library = testing_support::FixtureLibrary;
using testing_support::in_child;
using testing_support::kSanitized;
using testing_support::run_threads;
using testing_support::scaled;

inline void initialize(uint64_t rate_bytes = 0) {
  memprof_options options;
  ASSERT_EQ(MEMPROF_OK, memprof_options_init(&options, sizeof(options)));
  options.rate_bytes = rate_bytes;
  ASSERT_EQ(MEMPROF_OK, memprof_init(&options));
}

inline void start() {
  initialize();
  ASSERT_EQ(MEMPROF_OK, memprof_start());
}

inline memprof_stats stats() {
  memprof_stats s;
  s.struct_size = sizeof(s);
  EXPECT_EQ(MEMPROF_OK, memprof_get_stats(&s));
  return s;
}

inline constexpr uint64_t kNone = UINT64_MAX;

// What is recorded of a live block: its size.
inline uint64_t recorded(const void* block) {
  memprof_snapshot* snapshot = nullptr;
  EXPECT_EQ(MEMPROF_OK, memprof_get_snapshot(&snapshot));
  uint64_t count = 0;
  const memprof_record* records = memprof_snapshot_records(snapshot, &count);
  uint64_t found = kNone;
  for (uint64_t i = 0; i < count; ++i) {
    if (records[i].address == reinterpret_cast<uintptr_t>(block)) {
      EXPECT_EQ(kNone, found) << "recorded twice";
      found = records[i].size_bytes;
    }
  }
  memprof_free_snapshot(snapshot);
  return found;
}

inline void expect_is_seen(const Library& library) {
  void* block = library.allocate(1009);
  EXPECT_EQ(1009u, recorded(block)) << library.path;
  library.free(block);
  EXPECT_EQ(kNone, recorded(block)) << library.path;
  block = library.get<void* (*)(size_t, size_t)>("fixture_calloc")(3, 1013);
  EXPECT_EQ(3039u, recorded(block)) << library.path;
  void* moved = library.get<void* (*)(void*, size_t)>("fixture_realloc")(block, 50021);
  EXPECT_EQ(50021u, recorded(moved)) << library.path;
  if (moved != block) {
    EXPECT_EQ(kNone, recorded(block));
  }
  library.free(moved);
}

// The slots of a module for one name.
inline std::vector<uint64_t*> slots(const std::string& path, const char* name) {
  std::vector<uint64_t*> found;
  const WantedNames wanted{&name, 1};
  testing_support::with_module(path, [&](const dl_phdr_info& info) {
    SingleImportTable(info, wanted).each_slot([&](const ImportTable::Slot& slot) {
      found.push_back(reinterpret_cast<uint64_t*>(slot.address));
    });
  });
  return found;
}

// What malloc is for the program, without any slot.
inline void* plain_malloc(size_t size) {
  return reinterpret_cast<void* (*)(size_t)>(dlsym(RTLD_DEFAULT, "malloc"))(size);
}
void plain_free(void* block) {
  reinterpret_cast<void (*)(void*)>(dlsym(RTLD_DEFAULT, "free"))(block);
}

}  // namespace memprof::import_patch_test
