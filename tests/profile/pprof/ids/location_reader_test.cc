// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/ids/location_reader.h"

#include <gtest/gtest.h>

#include <iterator>
#include <memory>
#include <protozero/pbf_writer.hpp>
#include <random>
#include <string>

#include "format/pprof/pprof_schema.h"
#include "profile/pprof/pprof_tables.h"

namespace memprof::profile {
namespace {

constexpr uint64_t kLocations = 300;  // ids of one byte and of two

// A file of so many locations, whose ids are 1, 2, 3 ...
class LocationReaderTest : public testing::Test {
 protected:
  LocationReaderTest() {
    for (uint64_t id = 1; id <= kLocations; ++id) {
      std::string location;
      protozero::pbf_writer(location).add_uint64(schema::location_field::kId, id);
      protozero::pbf_writer(file_).add_message(schema::profile_field::kLocation, location);
    }
    protozero::pbf_reader reader(file_);
    while (reader.next()) EXPECT_TRUE(tables_.read_location(reader));
  }

  static std::string packed(const std::vector<uint64_t>& ids) {
    std::string bytes;
    for (const uint64_t id : ids) protozero::write_varint(std::back_inserter(bytes), id);
    return bytes;
  }

  // The last sample is what it should be: ids are indices + 1.
  void expect(const std::vector<uint64_t>& ids) {
    std::vector<uint32_t> locations;
    for (const uint64_t id : ids) locations.push_back(static_cast<uint32_t>(id - 1));
    EXPECT_EQ(reader_.locations(), locations);
    EXPECT_EQ(reader_.hash(), stack_hash_of(locations));
  }

  void read_and_expect(const std::vector<uint64_t>& ids) {
    kept_.push_back(std::make_unique<std::string>(packed(ids)));
    reader_.start();
    if (!ids.empty()) reader_.add_packed(*kept_.back());
    reader_.finish();
    expect(ids);
  }

  std::string file_;
  Profile profile_;
  ReadBudget budget_{1 << 24};
  PprofTables tables_{profile_, budget_};
  LocationReader reader_{[this](uint64_t id) { return tables_.location(id); }};
  std::vector<std::unique_ptr<std::string>> kept_;
};

TEST_F(LocationReaderTest, a_sample_takes_over_what_it_has_in_common_with_the_last) {
  read_and_expect({1, 2, 3});
  read_and_expect({4, 5, 6, 2, 3});
  read_and_expect({2, 3});
  read_and_expect({3});
  read_and_expect({});
  read_and_expect({3});
  read_and_expect({3});
  read_and_expect({1, 1, 1, 3});
  read_and_expect({1, 1, 3});
}

// 0xac 0x02 and 0x2c 0x02: the last byte is the same, the id is not.
TEST_F(LocationReaderTest, what_ends_in_the_same_byte_is_not_the_same_id) {
  read_and_expect({300, 7});
  read_and_expect({2, 7});
  read_and_expect({300, 7});
  read_and_expect({200});
  read_and_expect({1});
  read_and_expect({201, 1});
}

TEST_F(LocationReaderTest, any_row_of_samples_is_read) {
  std::mt19937 random(1);
  std::vector<uint64_t> ids;
  for (int i = 0; i < 2000; ++i) {
    ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(random() % (ids.size() + 1)));
    for (auto more = random() % 8; more != 0; --more) ids.insert(ids.begin(), 1 + random() % kLocations);
    read_and_expect(ids);
  }
}

TEST_F(LocationReaderTest, ids_may_come_in_many_fields) {
  read_and_expect({1, 2, 3});
  const std::string first = packed({9, 2});
  const std::string second = packed({200, 3});
  reader_.start();
  reader_.add_packed(first);
  reader_.add(8);
  reader_.add_packed(second);
  reader_.finish();
  expect({9, 2, 8, 200, 3});
  reader_.start();
  reader_.add(5);
  reader_.add(6);
  reader_.finish();
  expect({5, 6});
  read_and_expect({1, 2, 3});
}

TEST_F(LocationReaderTest, damaged_ids_are_refused) {
  read_and_expect({1, 2, 3});
  reader_.start();
  EXPECT_THROW(reader_.add_packed("\x01\x82"), protozero::exception);
  reader_.start();
  EXPECT_THROW(reader_.add_packed(packed({kLocations + 1})), Error);
  read_and_expect({4, 2, 3});
}

}  // namespace
}  // namespace memprof::profile
