// SPDX-License-Identifier: Apache-2.0
#include "format/files/arena_name.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace memprof {
namespace {

std::string written(const ArenaName& name) {
  char text[kMaxArenaNameBytes];
  memset(text, 'x', sizeof(text));
  write_arena_name(name, text);
  EXPECT_LT(strnlen(text, sizeof(text)), sizeof(text));
  return text;
}

TEST(ArenaName, IsReadAsItWasWritten) {
  EXPECT_EQ("memprof-12-34-56.arena", written({12, 34, 56, 0}));
  EXPECT_EQ("memprof-12-34-0-78.arena", written({12, 34, 0, 78}));
  for (const ArenaName& name : {ArenaName{1, 2, 3, 0}, ArenaName{1, 2, 3, 4},
                                ArenaName{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}}) {
    ArenaName read;
    ASSERT_TRUE(parse_arena_name(written(name), &read));
    EXPECT_EQ(name.process_id, read.process_id);
    EXPECT_EQ(name.process_namespace, read.process_namespace);
    EXPECT_EQ(name.process_start, read.process_start);
    EXPECT_EQ(name.image, read.image);
  }
}

TEST(ArenaName, OfAnOlderVersionHasNoStart) {
  ArenaName read{9, 9, 9, 9};
  ASSERT_TRUE(parse_arena_name("memprof-12-34.arena", &read));
  EXPECT_EQ(12u, read.process_id);
  EXPECT_EQ(34u, read.process_namespace);
  EXPECT_EQ(0u, read.process_start);
  EXPECT_EQ(0u, read.image);
}

TEST(ArenaName, OthersAreNone) {
  for (const char* name :
       {"", "memprof", "memprof-12.arena", "memprof-12-34", "memprof-12-34.arena.tmp", "memprof-12-34-.arena",
        "memprof--12-34.arena", "memprof-12-34-5-6-7.arena", "memprof-12-x.arena", "Memprof-12-34.arena",
        "memprof-12- 34.arena", "memprof-12-34-99999999999999999999.arena", "memprof-run-12-34-abcdef"}) {
    ArenaName read;
    EXPECT_FALSE(parse_arena_name(name, &read)) << name;
  }
}

TEST(ArenaName, FoldersByTheirOrder) {
  EXPECT_STREQ("/dev/shm", usual_arena_folder(true, "/var/tmp"));
  EXPECT_STREQ("/var/tmp", usual_arena_folder(false, "/var/tmp"));
  EXPECT_STREQ("/tmp", usual_arena_folder(false, "here"));
  EXPECT_STREQ("/tmp", usual_arena_folder(false, ""));
  EXPECT_STREQ("/tmp", usual_arena_folder(false, nullptr));
}

}  // namespace
}  // namespace memprof
