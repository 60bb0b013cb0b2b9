// SPDX-License-Identifier: Apache-2.0
#include "resident/mapping_list.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace memprof::resident {
namespace {

class MappingListTest : public testing::Test {
 protected:
  void add(uint64_t start, uint64_t limit, const char* permissions, const std::string& name = "",
           uint64_t file_offset = 0) {
    Mapping m;
    m.start = start;
    m.limit = limit;
    m.is_readable = permissions[0] == 'r';
    m.is_writable = permissions[1] == 'w';
    m.is_executable = permissions[2] == 'x';
    m.is_shared = permissions[3] == 's';
    m.inode = !name.empty() && name[0] == '/' ? 1 : 0;
    m.file_offset = file_offset;
    m.name = name;
    list_.add(m);
  }
  MappingKind kind(uint64_t address) {
    const MappingEntry* const entry = list_.find(address);
    EXPECT_NE(nullptr, entry);
    return entry != nullptr ? entry->kind : MappingKind::kCode;
  }

  uint64_t file_start(uint64_t address) { return list_.find(address)->file_start; }

  std::array<MappingEntry, 16> room_;
  MappingList list_{room_.data(), room_.size()};
};

// Two copies of a library, of which each has its .bss behind it.
TEST_F(MappingListTest, StaticDataIsOfTheFileBeforeIt) {
  add(0x1000, 0x2000, "r-xp", "/lib/copied.so");
  add(0x2000, 0x3000, "rw-p", "/lib/copied.so", 0x1000);
  add(0x3000, 0x4000, "rw-p");
  add(0x4000, 0x5000, "r-xp", "/lib/copied.so");
  add(0x5000, 0x6000, "rw-p", "/lib/copied.so", 0x1000);
  add(0x6000, 0x7000, "r--p");
  add(0x7000, 0x8000, "rw-p");
  add(0x9000, 0xa000, "rw-p");
  EXPECT_EQ(0x1000u, file_start(0x3000));
  EXPECT_EQ(0x4000u, file_start(0x6000));
  EXPECT_EQ(0x4000u, file_start(0x7000));
  EXPECT_EQ(0u, file_start(0x1000)) << "a file's own mapping";
  EXPECT_EQ(0u, file_start(0x9000)) << "behind no file";
}

TEST_F(MappingListTest, KindsByNamesAndNeighbours) {
  add(0x1000, 0x2000, "r-xp", "/bin/program");
  add(0x2000, 0x3000, "rw-p", "/bin/program");
  add(0x3000, 0x4000, "rw-p");  // its .bss
  add(0x5000, 0x6000, "rw-p", "[heap]");
  add(0x10000, 0x11000, "---p");
  add(0x11000, 0x20000, "rw-p");  // behind a guard
  add(0x30000, 0x31000, "rw-p");
  add(0x40000, 0x41000, "rw-s", "/dev/shm/x");
  add(0x50000, 0x51000, "rw-s", "/memfd:[heap] (deleted)");
  add(0x60000, 0x61000, "rwxp");
  add(0x70000, 0x71000, "rw-s", "/dev/shm/memprof-1-2-3.arena");
  add(0x80000, 0x81000, "rw-p", "/x/libmemprof.so");
  add(0x81000, 0x82000, "rw-p");
  add(0x90000, 0x91000, "rw-p", "[stack]");
  EXPECT_EQ(MappingKind::kFiles, kind(0x1000));
  EXPECT_EQ(MappingKind::kFiles, kind(0x3000));
  EXPECT_EQ(MappingKind::kHeap, kind(0x5fff));
  EXPECT_EQ(MappingKind::kStacks, kind(0x11000));
  EXPECT_EQ(MappingKind::kAnonymous, kind(0x30000));
  EXPECT_EQ(MappingKind::kShared, kind(0x40000));
  EXPECT_EQ(MappingKind::kShared, kind(0x50000));
  EXPECT_EQ(MappingKind::kCode, kind(0x60000));
  EXPECT_EQ(MappingKind::kMemprof, kind(0x70000));
  EXPECT_EQ(MappingKind::kMemprof, kind(0x81000));
  EXPECT_EQ(MappingKind::kStacks, kind(0x90000));
  EXPECT_EQ(nullptr, list_.find(0x4000));
  EXPECT_EQ(nullptr, list_.find(0));
  EXPECT_EQ(nullptr, list_.find(UINT64_MAX));
  EXPECT_EQ(ResidentRuntime::kNone, list_.runtime());
}

// A file may be called as it likes.
TEST_F(MappingListTest, NamesThatLie) {
  add(0x1000, 0x2000, "rw-p", "/tmp/[heap]");
  add(0x3000, 0x4000, "rw-p", "/tmp/[stack]");
  add(0x5000, 0x6000, "rw-s", "/tmp/memprof-x.arena");
  add(0x7000, 0x8000, "---p");
  add(0x9000, 0xa000, "rw-p");  // not directly behind it
  add(0x100000, 0x200000, "---p");
  add(0x200000, 0x300000, "rw-p");  // behind what is too large for a guard
  for (const uint64_t address : {0x1000, 0x3000, 0x5000}) EXPECT_EQ(MappingKind::kFiles, kind(address));
  EXPECT_FALSE(list_.find(0x1000)->is_break);
  EXPECT_EQ(MappingKind::kAnonymous, kind(0x9000));
  EXPECT_EQ(MappingKind::kAnonymous, kind(0x200000));
}

TEST_F(MappingListTest, Runtimes) {
  add(0xc000000000, 0xc000400000, "rw-p");
  EXPECT_EQ(ResidentRuntime::kGo, list_.runtime());
  add(0xd000000000, 0xd000001000, "r-xp", "/opt/java/libjvm.so");
  EXPECT_EQ(ResidentRuntime::kJvm, list_.runtime());
}

TEST_F(MappingListTest, WithoutRoomMappingsAreCounted) {
  for (uint64_t i = 1; i <= 20; ++i) add(i << 16, (i << 16) + 4096, "rw-p");
  EXPECT_EQ(4u, list_.left_out());
  EXPECT_NE(nullptr, list_.find(16 << 16));
  EXPECT_EQ(nullptr, list_.find(17 << 16));
}

}  // namespace
}  // namespace memprof::resident
