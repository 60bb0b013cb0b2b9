// SPDX-License-Identifier: Apache-2.0
// Pages as the specification has them are read in parquet_writer_test.cc, too.
#include "profile/parquet/parquet_leaf.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "profile/files/gzip.h"
#include "profile/model/error.h"
#include "tests/profile/parquet/parquet_read.h"

namespace memprof::profile {
namespace {

using namespace std::string_literals;
using testing_parquet::Bytes;
using testing_parquet::read_chunk;
using testing_parquet::Value;

struct Written {
  std::string file;
  Value metadata;
  ParquetChunk chunk;
};

Written write_leaf(ParquetLeaf* leaf) {
  Written written;
  ParquetOutput out(sink_to(written.file));
  out.write("PAR1");
  written.chunk = leaf->write(&out);
  written.metadata = Bytes(written.chunk.metadata).value(12).at(3);
  return written;
}

using Cells = std::vector<std::vector<std::string>>;

TEST(ParquetLeaf, NumbersAndNulls) {
  ParquetLeaf leaf({"n"}, parquet::kInt64, false);
  leaf.add(-5);
  leaf.add_nothing();
  leaf.add(int64_t{1} << 62);
  EXPECT_EQ(leaf.rows(), 3u);
  const Written written = write_leaf(&leaf);
  EXPECT_EQ(read_chunk(written.file, written.metadata, false), (Cells{{"-5"}, {}, {"4611686018427387904"}}));
  EXPECT_FALSE(written.metadata.has(11));  // no dictionary for so few
  const Value& statistics = written.metadata.at(12);
  EXPECT_EQ(statistics.at(3).number, 1);
  EXPECT_EQ(statistics.at(6).text, "\xFB\xFF\xFF\xFF\xFF\xFF\xFF\xFF"s);
  EXPECT_EQ(statistics.at(5).text, "\0\0\0\0\0\0\0\x40"s);
  EXPECT_EQ(written.chunk.offset, 4u);
  EXPECT_EQ(leaf.rows(), 0u);
  EXPECT_EQ(leaf.memory_bytes(), 0u);
}

TEST(ParquetLeaf, NumbersThatRepeatHaveADictionary) {
  ParquetLeaf leaf({"n"}, parquet::kInt64, false);
  Cells cells;
  for (int i = 0; i < 100; ++i) {
    leaf.add(int64_t{i % 3} * 1'000'000);
    cells.push_back({std::to_string(i % 3 * 1'000'000)});
  }
  const Written written = write_leaf(&leaf);
  EXPECT_EQ(written.metadata.at(11).number, 4);
  EXPECT_EQ(written.metadata.at(2).list.size(), 3u);
  EXPECT_EQ(read_chunk(written.file, written.metadata, false), cells);
}

TEST(ParquetLeaf, TextsAreADictionary) {
  ParquetLeaf leaf({"t"}, parquet::kByteArray, false);
  for (const char* text : {"b", "a", "b", ""}) leaf.add(text);
  leaf.add_nothing();
  Written written = write_leaf(&leaf);
  EXPECT_EQ(read_chunk(written.file, written.metadata, false), (Cells{{"b"}, {"a"}, {"b"}, {""}, {}}));
  EXPECT_EQ(written.metadata.at(12).at(5).text, "b");
  EXPECT_EQ(written.metadata.at(12).at(6).text, "");
  // Long texts have no place in statistics.
  leaf.add(std::string(65, 'x'));
  leaf.add("\xFF");  // bytes have no sign
  written = write_leaf(&leaf);
  EXPECT_FALSE(written.metadata.at(12).has(5));
  leaf.add("\xFF");
  leaf.add("a");
  EXPECT_EQ(write_leaf(&leaf).metadata.at(12).at(5).text, "\xFF");
}

TEST(ParquetLeaf, NothingAtAll) {
  ParquetLeaf texts({"t"}, parquet::kByteArray, false);
  ParquetLeaf numbers({"n"}, parquet::kInt64, false);
  for (ParquetLeaf* leaf : {&texts, &numbers}) {
    leaf->add_nothing();
    leaf->add_nothing();
    const Written written = write_leaf(leaf);
    EXPECT_EQ(read_chunk(written.file, written.metadata, false), (Cells{{}, {}}));
    EXPECT_EQ(written.metadata.at(12).at(3).number, 2);
    EXPECT_FALSE(written.metadata.at(12).has(5));
  }
}

TEST(ParquetLeaf, ListsAndEmptyOnes) {
  ParquetLeaf leaf({"s", "list", "element"}, parquet::kByteArray, true);
  leaf.add("a");
  leaf.add("b", false);
  leaf.add_nothing();
  leaf.add("a");
  EXPECT_EQ(leaf.rows(), 3u);
  const Written written = write_leaf(&leaf);
  EXPECT_EQ(read_chunk(written.file, written.metadata, true), (Cells{{"a", "b"}, {}, {"a"}}));
  EXPECT_EQ(written.metadata.at(5).number, 4);
  EXPECT_FALSE(written.metadata.has(12));
}

// A page ends where a row does.
TEST(ParquetLeaf, ManyPages) {
  ParquetLeaf leaf({"s", "list", "element"}, parquet::kByteArray, true);
  Cells cells;
  for (size_t row = 0; row < 3000; ++row) {
    cells.emplace_back();
    for (size_t i = 0; i < 100; ++i) {
      cells.back().push_back(std::to_string(row * i % 1000));
      leaf.add(cells.back().back(), i == 0);
    }
  }
  const Written written = write_leaf(&leaf);
  EXPECT_EQ(read_chunk(written.file, written.metadata, true), cells);
}

TEST(ParquetLeaf, ASinkThatTakesNoMore) {
  ParquetOutput out({[](void*, const void*, size_t) { return false; }, nullptr});
  EXPECT_THROW(out.write("x"), Error);
}

}  // namespace
}  // namespace memprof::profile
