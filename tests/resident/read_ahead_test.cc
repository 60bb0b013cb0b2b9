// SPDX-License-Identifier: Apache-2.0
#include "resident/read_ahead.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace memprof::resident {
namespace {

constexpr uint64_t kPlaces = 0x7f0000000000;
constexpr uint64_t kPlaceBytes = 64 << 10;
constexpr uint64_t kHole = kPlaces + 0x3000;  // a page that cannot be read

// Memory that is made up, each byte of which tells its place.
class Places {
 public:
  static char byte_at(uint64_t address) { return static_cast<char>(address * 37 + address / 251); }

  MemorySource source() {
    return {this,
            [](void* context, uint64_t address, void* bytes, size_t size) {
              ++static_cast<Places*>(context)->reads;
              const uint64_t end = address + size;
              if (address < kPlaces || end > kPlaces + kPlaceBytes || (address < kHole + 4096 && end > kHole))
                return false;
              for (size_t i = 0; i < size; ++i) static_cast<char*>(bytes)[i] = byte_at(address + i);
              return true;
            },
            [](void*, Pages, uint64_t start, uint64_t limit) { return limit - start; },
            [](void*, char* text, size_t) -> size_t {
              *text = 'm';
              return 1;
            },
            [](void* context) { return static_cast<Places*>(context)->has_time; }};
  }
  int reads = 0;
  bool has_time = true;
};

TEST(ReadAheadTest, GivesWhatTheOtherGives) {
  Places process;
  const MemorySource direct = process.source();
  std::vector<uint64_t> room(8192 / sizeof(uint64_t));  // fewer windows than there are places
  ReadAhead ahead(direct, room.data(), room.size() * sizeof(uint64_t));
  const MemorySource source = ahead.source();
  std::mt19937_64 random(5);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t address = kPlaces - 2048 + random() % (kPlaceBytes + 4096);
    const size_t size = 1 + random() % (i % 100 == 0 ? 5000 : 60);
    std::vector<char> expected(size);
    std::vector<char> got(size);
    const bool is_read = direct.read(direct.context, address, expected.data(), size);
    ASSERT_EQ(is_read, source.read(source.context, address, got.data(), size)) << address << " " << size;
    if (is_read) {
      ASSERT_EQ(expected, got);
    }
  }
}

TEST(ReadAheadTest, ReadsOnceWhatLiesTogether) {
  Places process;
  const MemorySource direct = process.source();
  std::vector<uint64_t> room(64 << 7);
  ReadAhead ahead(direct, room.data(), room.size() * sizeof(uint64_t));
  const MemorySource source = ahead.source();
  uint64_t word = 0;
  for (uint64_t at = kPlaces + 0x1000; at < kPlaces + 0x2000; at += 16) ASSERT_TRUE(source.load(at, &word));
  EXPECT_EQ(4, process.reads);
  for (uint64_t at = kPlaces + 0x2000; at > kPlaces + 0x1000; at -= 16)
    ASSERT_TRUE(source.load(at - 16, &word));
  EXPECT_EQ(4, process.reads);
}

TEST(ReadAheadTest, TheRestIsAsked) {
  Places process;
  const MemorySource direct = process.source();
  std::vector<uint64_t> room(1024);
  ReadAhead ahead(direct, room.data(), room.size() * sizeof(uint64_t));
  const MemorySource source = ahead.source();
  EXPECT_EQ(512u, source.count(Pages::kFile, kPlaces, kPlaces + 512));
  char text = ' ';
  EXPECT_EQ(1u, source.read_map(source.context, &text, 1));
  EXPECT_EQ('m', text);
  EXPECT_TRUE(source.may_go_on());
  process.has_time = false;
  EXPECT_FALSE(source.may_go_on());
}

}  // namespace
}  // namespace memprof::resident
