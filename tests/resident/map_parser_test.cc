// SPDX-License-Identifier: Apache-2.0
#include "resident/map_parser.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace memprof::resident {
namespace {

struct Seen {
  Mapping mapping;
  std::string name;
};

std::vector<Seen> parse(const std::string& text, size_t piece) {
  std::vector<Seen> seen;
  MapParser parser(
      [](void* context, const Mapping& mapping) {
        static_cast<std::vector<Seen>*>(context)->push_back({mapping, std::string(mapping.name)});
      },
      &seen);
  for (size_t at = 0; at < text.size(); at += piece) {
    parser.feed(text.data() + at, std::min(piece, text.size() - at));
  }
  parser.finish();
  return seen;
}

const char kSmaps[] =
    "55d0c0000000-55d0c0021000 rw-p 00000000 00:00 0                          [heap]\n"
    "Size:                132 kB\n"
    "Rss:                  40 kB\n"
    "Pss:                  40 kB\n"
    "Swap:                  8 kB\n"
    "VmFlags: rd wr mr mw me ac \n"
    "7f0000000000-7f0000001000 r-xs 00001000 fd:01 1234                       /a b/lib (deleted)\n"
    "Rss:                   4 kB\n"
    "7f0000002000-7f0000003000 ---p 00000000 00:00 0 \n";

TEST(MapParserTest, SmapsInPiecesOfAnySize) {
  for (const size_t piece : {size_t{1}, size_t{7}, size_t{64}, sizeof(kSmaps)}) {
    const std::vector<Seen> seen = parse(kSmaps, piece);
    ASSERT_EQ(3u, seen.size());
    EXPECT_EQ("[heap]", seen[0].name);
    EXPECT_EQ(0x55d0c0000000u, seen[0].mapping.start);
    EXPECT_EQ(0x55d0c0021000u, seen[0].mapping.limit);
    EXPECT_EQ(40u << 10, seen[0].mapping.resident_bytes);
    EXPECT_EQ(8u << 10, seen[0].mapping.swap_bytes);
    EXPECT_TRUE(seen[0].mapping.has_resident);
    EXPECT_TRUE(seen[0].mapping.is_writable);
    EXPECT_FALSE(seen[0].mapping.is_shared);
    EXPECT_EQ("/a b/lib (deleted)", seen[1].name);
    EXPECT_EQ(1234u, seen[1].mapping.inode);
    EXPECT_TRUE(seen[1].mapping.is_shared);
    EXPECT_TRUE(seen[1].mapping.is_executable);
    EXPECT_EQ("", seen[2].name);
    EXPECT_FALSE(seen[2].mapping.is_readable);
    EXPECT_FALSE(seen[2].mapping.has_resident);
  }
}

TEST(MapParserTest, LinesThatAreNoneAreSkipped) {
  EXPECT_EQ(0u, parse("", 1).size());
  EXPECT_EQ(0u, parse("Rss: 4 kB\n\n\nhello\n-\n5-4 rw-p 0 0:0 0\n", 3).size());
  EXPECT_EQ(0u, parse("10000000000000000-20000000000000000 rw-p 0 0:0 0\n", 64).size());  // too large
  EXPECT_EQ(0u, parse("1000-2000 rw", 64).size());
  EXPECT_EQ(0u, parse("1000-2000 rw-p 0 0 0\n", 64).size());
  // A number that cannot be stays 0.
  const std::vector<Seen> seen = parse("1000-2000 rw-p 0 0:0 0\nRss: 99999999999999999999 kB\n", 64);
  ASSERT_EQ(1u, seen.size());
  EXPECT_FALSE(seen[0].mapping.has_resident);
}

TEST(MapParserTest, ALongNameKeepsItsEnds) {
  const std::string name = "/dev/shm/" + std::string(5000, 'x') + "/libmemprof.so";
  const std::vector<Seen> seen = parse("1000-2000 rw-p 0 0:0 7 " + name + "\n2000-3000 rw-p 0 0:0 0\n", 100);
  ASSERT_EQ(2u, seen.size());
  EXPECT_EQ(0u, seen[0].name.find("/dev/shm/"));
  EXPECT_EQ(seen[0].name.size() - 14, seen[0].name.rfind("/libmemprof.so"));
  EXPECT_EQ("", seen[1].name);
}

// What a hostile process could have as text, with a fixed seed: no crash, and mappings that can be.
TEST(MapParserTest, Garbage) {
  std::mt19937 random(7);
  const std::string letters = "0123456789abcdef- rwxps:/[]\nRs kB\xff";
  for (int round = 0; round < 2000; ++round) {
    std::string text = round % 2 == 0 ? std::string(kSmaps) : std::string();
    for (int i = 0; i < 40; ++i) {
      const char letter = letters[random() % letters.size()];
      text.insert(text.begin() + static_cast<long>(random() % (text.size() + 1)), letter);
    }
    for (const Seen& seen : parse(text, 1 + random() % 50)) {
      EXPECT_LT(seen.mapping.start, seen.mapping.limit);
      EXPECT_LT(seen.name.size(), 1025u);
    }
  }
}

}  // namespace
}  // namespace memprof::resident
