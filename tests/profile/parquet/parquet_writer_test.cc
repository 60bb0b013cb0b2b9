// SPDX-License-Identifier: Apache-2.0
// Other readers: tests/e2e/export_table_test.py, and DuckDB and ClickHouse by ./dev fleet sql.
#include "profile/parquet/parquet_writer.h"

#include <gtest/gtest.h>

#include "profile/files/gzip.h"
#include "tests/profile/parquet/parquet_read.h"

namespace memprof::profile {
namespace {

using testing_parquet::read_parquet;
using testing_parquet::Row;
using testing_parquet::Table;
using testing_parquet::Value;

const std::vector<ParquetColumn> kAllTypes = {{"n", ParquetType::kNumber},
                                              {"time", ParquetType::kTime},
                                              {"text", ParquetType::kText},
                                              {"list", ParquetType::kTextList},
                                              {"map", ParquetType::kTextMap}};

TEST(ParquetWriter, EveryTypeIsReadBack) {
  std::string file;
  ParquetWriter writer(kAllTypes, sink_to(file), "memprof version 1");
  writer.number(0, 7);
  writer.number(1, 1'700'000'000'000'000);
  writer.text(2, "x");
  writer.list(3, {"a", "b"});
  writer.map(4, {{"k", "v"}, {"l", ""}});
  writer.end_row();
  writer.end_row();
  writer.list(3, {});
  writer.text(2, "y");
  writer.end_row();
  writer.finish();
  const Table table = read_parquet(file);
  EXPECT_EQ(table.rows, (std::vector<Row>{{{"n", "7"},
                                           {"time", "1700000000000000"},
                                           {"text", "x"},
                                           {"list", "a;b"},
                                           {"map", "k;l"},
                                           {"map.value", "v;"}},
                                          {},
                                          {{"text", "y"}}}));
  EXPECT_EQ(table.footer.at(6).text, "memprof version 1");
  EXPECT_EQ(table.footer.at(7).list.size(), 6u);  // columns with values
}

TEST(ParquetWriter, TheSchemaSaysWhatValuesMean) {
  std::string file;
  ParquetWriter writer(kAllTypes, sink_to(file), "memprof");
  writer.finish();
  const Table table = read_parquet(file);
  EXPECT_TRUE(table.rows.empty());
  EXPECT_TRUE(table.footer.at(4).list.empty());
  const std::vector<Value>& schema = table.footer.at(2).list;
  ASSERT_EQ(schema.size(), 11u);
  EXPECT_EQ(schema[0].at(5).number, 5);
  EXPECT_FALSE(schema[0].has(3));
  EXPECT_EQ(schema[1].at(1).number, 2);
  EXPECT_EQ(schema[1].at(3).number, 1);  // optional
  EXPECT_FALSE(schema[1].has(6));
  const Value& timestamp = schema[2].at(10).at(8);
  EXPECT_EQ(timestamp.at(1).number, 1);   // UTC
  EXPECT_TRUE(timestamp.at(2).has(2));    // microseconds
  EXPECT_EQ(schema[2].at(6).number, 10);  // the same for old readers
  EXPECT_TRUE(schema[3].at(10).has(1));   // string
  EXPECT_EQ(schema[3].at(6).number, 0);   // UTF8
  EXPECT_EQ(schema[4].at(4).text, "list");
  EXPECT_TRUE(schema[4].at(10).has(3));
  EXPECT_EQ(schema[4].at(3).number, 0);  // required
  EXPECT_EQ(schema[5].at(3).number, 2);  // repeated
  EXPECT_EQ(schema[6].at(4).text, "element");
  EXPECT_TRUE(schema[7].at(10).has(2));  // a map
  EXPECT_EQ(schema[8].at(4).text, "key_value");
  EXPECT_EQ(schema[8].at(5).number, 2);
}

TEST(ParquetWriter, RowGroupsAreWrittenAsTheyFill) {
  std::string file;
  ParquetWriter writer({{"n", ParquetType::kNumber}, {"t", ParquetType::kText}}, sink_to(file), "memprof",
                       {4, 1 << 20});
  for (int i = 0; i < 10; ++i) {
    writer.number(0, i);
    writer.text(1, "t" + std::to_string(i));
    writer.end_row();
    if (i == 4) {
      EXPECT_GT(file.size(), 4u);
    }
  }
  writer.finish();
  const Table table = read_parquet(file);
  ASSERT_EQ(table.footer.at(4).list.size(), 3u);
  ASSERT_EQ(table.rows.size(), 10u);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(table.rows[i], (Row{{"n", std::to_string(i)}, {"t", "t" + std::to_string(i)}}));
  }
}

TEST(ParquetWriter, MemoryFillsARowGroupToo) {
  std::string file;
  ParquetWriter writer({{"t", ParquetType::kText}}, sink_to(file), "memprof", {1000, 10'000});
  for (int i = 0; i < 20; ++i) {
    writer.text(0, std::string(5000, static_cast<char>('a' + i)));
    writer.end_row();
  }
  writer.finish();
  const Table table = read_parquet(file);
  EXPECT_EQ(table.footer.at(4).list.size(), 10u);
  EXPECT_EQ(table.rows.size(), 20u);
}

TEST(ParquetWriter, TheSameRowsAreTheSameBytes) {
  const auto written = [] {
    std::string file;
    ParquetWriter writer(kAllTypes, sink_to(file), "memprof");
    for (int i = 0; i < 100; ++i) {
      writer.number(0, i % 7);
      writer.list(3, {"a", "b", std::to_string(i)});
      writer.end_row();
    }
    writer.finish();
    return file;
  };
  EXPECT_EQ(written(), written());
}

}  // namespace
}  // namespace memprof::profile
