// SPDX-License-Identifier: Apache-2.0
#include "unwind/tables/eh_frame.h"

#include <gtest/gtest.h>

#include "tests/support/engine.h"
#include "tests/unwind/hand_made_tables.h"
#include "tests/unwind/mapped_file.h"
#include "tests/unwind/tables/read_rows.h"

namespace memprof::eh_frame_test {
namespace {

using namespace unwind;       // NOLINT(google-build-using-namespace)
using namespace unwind_test;  // NOLINT(google-build-using-namespace)
using testing_support::Random;
using testing_support::scaled;

TEST(EhFrame, CorruptPrograms) {
  const Blob programs[] = {
      {0x0b},  // restore without remember
      {0x17},  // no such operation
      {0x3f},
      {0x0e},        // its number is missing
      {0x0e, 0x80},  // and cut off
      {0x04, 0x00},
      {0x0f, 0x7f, 0x30},  // expression longer than the program
      {0x10, 6, 0x7f, 0x30},
      {0x10, 6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
  };
  for (const Blob& program : programs) {
    EXPECT_EQ(Found::kCorrupt, read(program).found) << testing::PrintToString(program);
  }
  EXPECT_EQ(Found::kCorrupt, read(Blob(1000, 0x0a)).found);  // endless remembering
  Cie no_cfa;
  no_cfa.program = {0x90, 1};
  EXPECT_EQ(Found::kCorrupt, read({}, 0, no_cfa).found);
}

TEST(EhFrame, CorruptEntries) {
  const auto with = [](const auto& damage) {
    Tables tables;
    const size_t cie = tables.add_cie({});
    const size_t fde = tables.add_fde(cie, 0, kSize, {0x0e, 16});
    Image image = tables.finish();
    damage(tables, cie, fde, &image);
    Row row{};
    return find_row(image, tables.code(0), &row);
  };
  const auto put = [](Tables& t, size_t at, uint32_t value) { memcpy(t.at(at), &value, 4); };
  EXPECT_EQ(Found::kYes, with([](Tables&, size_t, size_t, Image*) {}));
  for (const uint32_t length : {0u, 3u, 0x7fffffffu, 0xfffffffeu, 0xffffffffu}) {
    SCOPED_TRACE(length);
    EXPECT_EQ(Found::kCorrupt, with([&](Tables& t, size_t, size_t f, Image*) { put(t, f, length); }));
    EXPECT_EQ(Found::kCorrupt, with([&](Tables& t, size_t c, size_t, Image*) { put(t, c, length); }));
  }
  // The FDE's CIE: itself, none, before the segment, behind it.
  for (const uint32_t distance : {0u, 4u, 0x10000u, 0x80000000u, 0xffffffffu}) {
    SCOPED_TRACE(distance);
    EXPECT_EQ(Found::kCorrupt, with([&](Tables& t, size_t, size_t f, Image*) { put(t, f + 4, distance); }));
  }
  // An index entry that points at a CIE, or outside the segment.
  const auto index_entry = [](Tables& t, const Image& image) { return image.index - t.base() + 16; };
  EXPECT_EQ(Found::kCorrupt, with([&](Tables& t, size_t c, size_t, Image* image) {
              put(t, index_entry(t, *image), static_cast<uint32_t>(t.base() + c - image->index));
            }));
  for (const uint32_t distance : {0x7fffffffu, 0x80000000u}) {
    EXPECT_EQ(Found::kCorrupt, with([&](Tables& t, size_t, size_t, Image* image) {
                put(t, index_entry(t, *image), distance);
              }));
  }
}

TEST(EhFrame, CorruptIndexes) {
  Tables tables;
  tables.add_fde(tables.add_cie({}), 0, kSize, {});
  const Image good = tables.finish();
  Row row{};
  const auto look = [&](const Image& image) { return find_row(image, tables.code(0), &row); };
  ASSERT_EQ(Found::kYes, look(good));
  EXPECT_EQ(Found::kNo, look({good.readable_high, good.readable_low, good.readable_high}));
  EXPECT_EQ(Found::kNo, look({good.readable_low - 8, good.readable_low, good.readable_high}));
  for (uint64_t cut = 1; cut < 20; ++cut) {  // the segment ends inside the index
    EXPECT_EQ(Found::kNo, look({good.index, good.readable_low, good.readable_high - cut})) << cut;
  }
  uint8_t* index = tables.at(good.index - tables.base());
  for (const auto& [at, value] :
       {std::pair<int, uint8_t>{0, 2}, {2, 0xff}, {2, 0x08}, {3, 0x1b}, {3, 0xff}, {1, 0x05}}) {
    const uint8_t before = index[at];
    index[at] = value;
    EXPECT_EQ(Found::kNo, look(good)) << at;
    index[at] = before;
  }
  for (const uint32_t count : {0u, 2u, 0xffffffffu, 0x20000000u}) {
    const uint32_t one = 1;
    memcpy(index + 8, &count, 4);
    EXPECT_EQ(Found::kNo, look(good)) << count;
    memcpy(index + 8, &one, 4);
  }
}

// Whatever the bytes are: no read outside, no endless loop, no undefined behaviour (the sanitizers look on).
// The memory ends at a page that cannot be read.
TEST(EhFrame, DamageAtRandomIsSurvived) {
  Tables tables;
  Cie cie;
  cie.augmentation = "zPLRS";
  cie.augmentation_data = join({{0x9b}, raw<int32_t>(1234), {0x1b}, {0x1b}});
  const size_t a = tables.add_cie({});
  const size_t b = tables.add_cie(cie);
  for (uint64_t i = 0; i < 8; ++i) {
    tables.add_fde(
        i % 2 == 0 ? a : b, i * 64, 64,
        {0x41, 0x0a, 0x0e, 16, 0x86, 2, 0x02, 3, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0, 0x0b});
  }
  Image image = tables.finish();
  const Blob original(tables.at(0), tables.at(0) + tables.used());
  Random random(20250101);
  uint64_t outcome[3] = {};
  for (uint64_t round = 0; round < scaled(400000); ++round) {
    memcpy(tables.at(0), original.data(), original.size());
    for (uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
      *tables.at(random.below(original.size())) = static_cast<uint8_t>(random.next());
    }
    image.readable_high =
        tables.base() + (random.below(8) == 0 ? random.below(original.size()) : original.size());
    Row row{};
    ++outcome[static_cast<int>(find_row(image, tables.code(random.below(8 * 64)), &row))];
  }
  for (const uint64_t n : outcome) {
    EXPECT_GT(n, scaled(1000));
  }
}

}  // namespace
}  // namespace memprof::eh_frame_test
