// SPDX-License-Identifier: Apache-2.0
#include "core/tables/module_table.h"

#include "platform/modules.h"
#include "platform/process.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::module_table_test {
namespace {

using testing_support::run_threads;
using testing_support::ScopedArena;
using testing_support::take;

void some_function() {}

uint64_t address_of(void (*function)()) {
  return reinterpret_cast<uint64_t>(function) + 1;  // like a return address in it
}
uint64_t address_in_libc() {
  return reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")) + 1;
}

TEST(ModuleTable, RecordsTheModulesOfAStackOnce) {
  ScopedArena a;
  const uint64_t frames[] = {address_in_libc(), address_of(some_function), address_in_libc(),
                             address_in_libc() + 4};
  a.modules.note(frames, 4);
  EXPECT_EQ(2u, a.modules.size());
  a.modules.note(frames, 4);
  EXPECT_EQ(2u, a.modules.size());
  const auto s = take(a.arena);
  ASSERT_EQ(2u, s->modules.size);
  const SnapshotModule& libc = s->modules.data[0];
  EXPECT_LE(libc.start, frames[0] - 1);
  EXPECT_GT(libc.limit, frames[0] - 1);
  EXPECT_NE(std::string::npos, std::string(s->strings.data + libc.path_offset).find("libc"));
  EXPECT_GT(libc.build_id_size, 0u);
  const SnapshotModule& program = s->modules.data[1];
  EXPECT_LE(program.start, frames[1] - 1);
  EXPECT_GT(program.limit, frames[1] - 1);
  EXPECT_STREQ(platform::program_path(), s->strings.data + program.path_offset);
}

TEST(ModuleTable, LeavesOutAddressesThatAreInNoModule) {
  ScopedArena a;
  int on_the_stack = 0;
  const uint64_t frames[] = {0, 1, 0x1000, reinterpret_cast<uint64_t>(&on_the_stack), UINT64_MAX};
  a.modules.note(frames, 5);
  EXPECT_EQ(0u, a.modules.size());
  a.modules.note(frames, 0);
  EXPECT_EQ(0u, a.modules.size());
}

// A return address belongs to the code before it: a call can be the last instruction of a module.
TEST(ModuleTable, TheByteBeforeAReturnAddressTellsItsModule) {
  platform::ModuleInfo info{};
  ASSERT_TRUE(platform::find_module(address_of(some_function), &info));
  {
    ScopedArena a;
    const uint64_t frames[] = {info.start + 1};
    a.modules.note(frames, 1);
    ASSERT_EQ(1u, a.modules.size());
    EXPECT_EQ(info.start, take(a.arena)->modules.data[0].start);
  }
  ScopedArena a;
  const uint64_t frames[] = {info.start};
  a.modules.note(frames, 1);
  const auto s = take(a.arena);
  for (uint64_t i = 0; i < s->modules.size; ++i) {
    EXPECT_NE(info.start, s->modules.data[i].start);
  }
}

// As if another library had been where libc is now.
void enter_predecessor_of(ScopedArena& a, const platform::ModuleInfo& info) {
  const uint64_t frame = info.start + 1;
  a.modules.note(&frame, 1);
  ASSERT_EQ(1u, a.modules.size());
  ModuleEntry& e = *a.arena.at<ModuleEntry>(kModuleSection);
  e.path = a.names.intern("/lib/before.so", 14);
  e.limit = info.start + 4096 + (info.limit - info.start) / 2;
  e.build_id_size = 0;
}

TEST(ModuleTable, FramesSayWhichOfTwoModulesAtOnePlaceTheyBelongTo) {
  ScopedArena a;
  platform::ModuleInfo libc{};
  ASSERT_TRUE(platform::find_module(address_in_libc(), &libc));
  enter_predecessor_of(a, libc);
  const uint64_t untagged[] = {libc.start + 5, libc.limit - 8192, address_of(some_function)};
  uint64_t frames[3];
  memcpy(frames, untagged, sizeof(frames));
  a.modules.tag(frames, 3);  // nothing was unloaded
  EXPECT_EQ(0, memcmp(untagged, frames, sizeof(frames)));
  a.modules.retire_unloaded();
  a.modules.tag(frames, 3);
  EXPECT_EQ(1u, ModuleTable::entry_of(frames[0]));  // entered by that: libc, after its predecessor
  EXPECT_EQ(untagged[0], ModuleTable::address_of(frames[0]));
  EXPECT_EQ(1u, ModuleTable::entry_of(frames[1]));  // also where the predecessor never was
  EXPECT_EQ(untagged[2], frames[2]);
  a.modules.note(frames, 3);
  EXPECT_EQ(3u, a.modules.size());  // and this program
  const auto s = take(a.arena);
  EXPECT_EQ(kModuleUnloaded, s->modules.data[0].flags);
  EXPECT_EQ(0u, s->modules.data[1].flags);
  EXPECT_EQ(libc.limit, s->modules.data[1].limit);
}

TEST(ModuleTable, WhatComesBackIsTheModuleThatItWas) {
  ScopedArena a;
  uint64_t frames[] = {address_in_libc()};
  a.modules.note(frames, 1);
  ASSERT_EQ(1u, a.modules.size());
  a.modules.retire_unloaded();  // libc stays
  EXPECT_EQ(0u, take(a.arena)->modules.data[0].flags);
  a.arena.at<ModuleEntry>(kModuleSection)->limit += 4096;  // another one, which is gone
  a.modules.retire_unloaded();
  EXPECT_EQ(kModuleUnloaded, take(a.arena)->modules.data[0].flags);
  a.modules.tag(frames, 1);
  EXPECT_EQ(1u, ModuleTable::entry_of(frames[0]));
  a.arena.at<ModuleEntry>(kModuleSection)->limit -= 4096;  // and libc again
  frames[0] = ModuleTable::address_of(frames[0]);
  a.arena.at<ModuleEntry>(kModuleSection)[1].limit += 8192;  // whose second entry is gone
  a.modules.retire_unloaded();
  a.modules.tag(frames, 1);
  EXPECT_EQ(UINT32_MAX, ModuleTable::entry_of(frames[0]));  // the first one: no tag
  EXPECT_EQ(0u, take(a.arena)->modules.data[0].flags);
}

TEST(ModuleTable, RacingThreadsMayEnterAModuleTwiceAndASnapshotDropsTheSecond) {
  for (int round = 0; round < 50; ++round) {
    ScopedArena a;
    run_threads(4, [&](int thread) {
      const uint64_t frames[] = {address_in_libc(), address_of(some_function)};
      a.modules.note(frames + thread % 2, 1);
      a.modules.note(frames, 2);
    });
    const auto s = take(a.arena);
    ASSERT_EQ(2u, s->modules.size) << "of " << a.modules.size() << " entries, in round " << round;
  }
}

TEST(ModuleTable, AFullTableLeavesFramesWithoutModule) {
  ScopedArena a;
  while (a.arena.allocate(kModuleSection, sizeof(ModuleEntry)) != Arena::kNoOffset) {
  }
  EXPECT_EQ(kMaxModules, a.modules.size());
  const uint64_t frames[] = {address_of(some_function)};
  a.modules.note(frames, 1);
  EXPECT_EQ(kMaxModules, a.modules.size());
  EXPECT_EQ(0u, take(a.arena)->modules.size);  // entries that were never written are none
}

}  // namespace
}  // namespace memprof::module_table_test
