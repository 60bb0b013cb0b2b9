// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/memory/mappings.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

namespace memprof::mappings_test {
namespace {

using platform::Mapping;
using platform::MappingReader;
using platform::parse_mapping;

bool parse(std::string line, Mapping* mapping, std::string* path) {
  line.push_back('?');  // the byte that is overwritten
  const bool ok = parse_mapping(line.data(), line.data() + line.size() - 1, mapping);
  *path = ok ? mapping->path : "";
  return ok;
}

TEST(Mappings, EachPartOfALine) {
  Mapping m{};
  std::string path;
  ASSERT_TRUE(parse(
      "7f0012345000-7f0012346000 r-xp 0001f000 fd:1a 1234567                    /usr/lib/a b.so", &m, &path));
  EXPECT_EQ(0x7f0012345000u, m.start);
  EXPECT_EQ(0x7f0012346000u, m.limit);
  EXPECT_EQ(0x1f000u, m.file_offset);
  EXPECT_EQ(uint64_t{0xfd} << 32 | 0x1a, m.device);
  EXPECT_EQ(1234567u, m.inode);
  EXPECT_TRUE(m.is_readable);
  EXPECT_FALSE(m.is_writable);
  EXPECT_TRUE(m.is_executable);
  EXPECT_EQ("/usr/lib/a b.so", path);
  ASSERT_TRUE(parse("1000-2000 -w-s 00000000 00:00 0 ", &m, &path));
  EXPECT_FALSE(m.is_readable);
  EXPECT_FALSE(m.is_executable);
  EXPECT_EQ(0u, m.inode);
  EXPECT_EQ("", path);
}

// The loader has the path as it was when the file was there.
TEST(Mappings, ADeletedFileKeepsItsPath) {
  Mapping m{};
  std::string path;
  ASSERT_TRUE(parse("1000-2000 r-xp 00000000 08:01 5 /tmp/x.so (deleted)", &m, &path));
  EXPECT_EQ("/tmp/x.so", path);
}

TEST(Mappings, WhatIsNoLine) {
  Mapping m{};
  std::string path;
  for (const char* line : {"", "-", "1000", "1000-", "1000-2000", "1000-2000 r", "1000-2000 r-xp",
                           "1000-2000 r-xp 0 08:01", "2000-1000 r-xp 0 08:01 5", "g-h r-xp 0 08:01 5",
                           "1000-2000 r-xp 0 0801 5", "1000-2000 r-xp  08:01 5"}) {
    EXPECT_FALSE(parse(line, &m, &path)) << line;
  }
}

TEST(Mappings, TheListIsReadWhateverTheBuffer) {
  const std::string file = testing::TempDir() + "mappings_test." + std::to_string(getpid());
  {
    std::ofstream out(file);
    for (int i = 0; i < 3000; ++i) {
      out << std::hex << 0x1000 * (i + 1) << '-' << 0x1000 * (i + 2) << " r-xp 0 08:01 " << std::dec << i
          << " /" << std::string(static_cast<size_t>(i), 'p') << "\n";
    }
    out << "no line\n" << "ff000-100000 r--p 0 08:01 77 /last\n" << "10000000-10001000 r--p 0 08:01 78 /cut";
  }
  for (const size_t size : {size_t{8192}, size_t{65536}}) {
    std::vector<char> buffer(size);
    MappingReader reader(file.c_str(), buffer.data(), buffer.size());
    ASSERT_TRUE(reader.is_open());
    Mapping m{};
    for (uint64_t i = 0; i < 3000; ++i) {
      ASSERT_TRUE(reader.next(&m));
      ASSERT_EQ(i, m.inode);
      ASSERT_EQ(i + 1, std::string(m.path).size());
    }
    ASSERT_TRUE(reader.next(&m));
    EXPECT_STREQ("/last", m.path);
    EXPECT_FALSE(reader.next(&m));
  }
  unlink(file.c_str());
}

TEST(Mappings, AFileThatIsNotThere) {
  std::vector<char> buffer(MappingReader::kMinBufferBytes);
  MappingReader reader("/nonexistent/maps", buffer.data(), buffer.size());
  EXPECT_FALSE(reader.is_open());
  Mapping m{};
  EXPECT_FALSE(reader.next(&m));
}

}  // namespace
}  // namespace memprof::mappings_test
