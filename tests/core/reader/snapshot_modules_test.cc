// SPDX-License-Identifier: Apache-2.0
#include "core/reader/snapshot.h"

#include <gtest/gtest.h>

#include <string>

#include "core/tables/heap_names.h"
#include "tests/core/reader/filled_arena.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::snapshot_test {
namespace {

using platform::Walk;
using testing_support::ScopedArena;
using testing_support::take;

TEST(Snapshot, ModulesAreKeptOnceAndWhatWasLoadedOverThemToo) {
  ScopedArena a;
  const auto enter = [&a](const char* path, uint64_t start, uint64_t limit, uint8_t build_id) {
    const uint64_t offset = a.arena.allocate(kModuleSection, sizeof(ModuleEntry));
    ModuleEntry& e = *a.arena.at<ModuleEntry>(kModuleSection, offset);
    e.path = a.names.intern(path, strlen(path));
    e.start = start;
    e.limit = limit;
    e.build_id_size = build_id != 0 ? 20 : 0;
    memset(e.build_id, build_id, e.build_id_size);
    e.state.store(ModuleTable::kReady);
  };
  enter("/lib/a.so", 0x10000, 0x20000, 1);
  enter("/lib/b.so", 0x30000, 0x40000, 2);
  enter("/lib/a.so", 0x10000, 0x20000, 1);  // the slower thread of a race, with another module in between
  enter("/lib/c.so", 0x10000, 0x20000, 3);  // loaded where a.so was
  enter("/lib/a.so", 0x10000, 0x20000, 1);  // and a.so again: it is the entry that it was
  enter("/lib/d.so", 0x50000, 0x60000, 0);  // two without build id, one after the other at one place
  enter("/lib/e.so", 0x50000, 0x60000, 0);
  enter("/lib/none.so", 0x70000, 0x70000, 4);  // empty
  const auto tagged = [](uint64_t entry, uint64_t address) { return (entry + 1) << 48 | address; };
  const uint64_t frames[] = {0x10010,
                             tagged(3, 0x10010),
                             tagged(2, 0x10010),
                             0x55555,
                             tagged(6, 0x55555),
                             tagged(7, 0x70001),
                             tagged(99, 0x1),
                             0x99999};
  bool is_new = false;
  a.stacks.intern(frames, 8, Walk::kRoot, &is_new);
  const auto s = take(a.arena);
  const uint32_t modules[] = {0, 2, 0, 3, 4, UINT32_MAX, UINT32_MAX, UINT32_MAX};
  ASSERT_EQ(8u, s->frame_modules.size);
  for (uint32_t i = 0; i < 8; ++i) {
    EXPECT_EQ(modules[i], s->frame_modules.data[i]) << i;
    EXPECT_EQ(frames[i] & 0xffffffffffff, s->frames.data[i]);
  }
  std::string order;
  for (uint64_t i = 0; i < s->modules.size; ++i) {
    order += s->strings.data + s->modules.data[i].path_offset;
  }
  EXPECT_EQ("/lib/a.so/lib/b.so/lib/c.so/lib/d.so/lib/e.so", order);
  walk_over(*s);
}

}  // namespace
}  // namespace memprof::snapshot_test
