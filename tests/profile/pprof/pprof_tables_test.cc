// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/pprof_tables.h"

#include <gtest/gtest.h>

#include "tests/profile/foreign_pprof.h"

namespace memprof::profile {
namespace {

class PprofTablesTest : public testing::Test {
 protected:
  void read(const std::string& bytes) {
    for (const auto take :
         {&PprofTables::read_string, &PprofTables::read_mapping_or_function, &PprofTables::read_location}) {
      protozero::pbf_reader reader(bytes);
      while (reader.next()) {
        if (!(tables_.*take)(reader)) {
          reader.skip();
        }
      }
    }
  }

  Profile profile_;
  ReadBudget budget_{1 << 20};
  PprofTables tables_{profile_, budget_};
};

TEST_F(PprofTablesTest, ids_are_any_numbers_and_fields_in_any_order) {
  ForeignPprof file(ForeignPprof::Types{});
  file.location(UINT64_MAX, 0x10, 77, 1000);
  file.location(3, 0x20);
  std::string mapping;
  protozero::pbf_writer(mapping).add_uint64(1, 77);
  protozero::pbf_writer(mapping).add_uint64(2, 0x4000);
  protozero::pbf_writer(mapping).add_int64(5, file.string("/bin/x"));
  protozero::pbf_writer(mapping).add_bool(7, true);
  file.writer().add_message(3, mapping);
  std::string function;
  protozero::pbf_writer(function).add_uint64(1, 1000);
  protozero::pbf_writer(function).add_int64(2, file.string("f"));
  protozero::pbf_writer(function).add_int64(5, 12);
  file.writer().add_message(5, function);
  read(file.bytes());
  EXPECT_TRUE(tables_.has_strings());
  EXPECT_EQ(tables_.location(UINT64_MAX), 0u);
  EXPECT_EQ(tables_.location(3), 1u);
  EXPECT_THROW(tables_.location(0), Error);
  ASSERT_EQ(profile_.locations.size(), 2u);
  EXPECT_EQ(profile_.locations[0].mapping, 0u);
  ASSERT_EQ(profile_.locations[0].lines.size(), 1u);
  EXPECT_EQ(profile_.locations[1].mapping, kNoMapping);
  EXPECT_EQ(profile_.mappings[0].path, "/bin/x");
  EXPECT_EQ(profile_.mappings[0].start, 0x4000u);
  EXPECT_TRUE(profile_.mappings[0].has_functions);
  EXPECT_FALSE(profile_.mappings[0].has_inline_frames);
  EXPECT_EQ(profile_.functions[0].name, "f");
  EXPECT_EQ(profile_.functions[0].start_line, 12);
}

TEST_F(PprofTablesTest, the_first_string_is_empty) {
  std::string bytes;
  protozero::pbf_writer(bytes).add_string(6, "not empty");
  read(bytes);
  EXPECT_FALSE(tables_.has_strings());
  EXPECT_THROW(tables_.string(1), Error);
}

TEST_F(PprofTablesTest, a_field_of_another_type_is_not_the_field) {
  std::string location;
  protozero::pbf_writer(location).add_uint64(1, 1);
  protozero::pbf_writer(location).add_fixed64(3, 0x10);  // the address is a varint
  ForeignPprof file(ForeignPprof::Types{});
  file.writer().add_message(4, location);
  file.writer().add_uint64(4, 5);
  read(file.bytes());
  ASSERT_EQ(profile_.locations.size(), 1u);
  EXPECT_EQ(profile_.locations[0].address, 0u);
}

}  // namespace
}  // namespace memprof::profile
