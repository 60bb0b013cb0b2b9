// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/dwarf/unit_table.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/profile/symbolize/dwarf_fixture.h"

namespace memprof::profile {
namespace {

// Clang writes no .debug_aranges.
class UnitTableOf : public ::testing::TestWithParam<const char*> {};

TEST_P(UnitTableOf, EveryFunctionIsInTheUnitOfItsSource) {
  const fixture::OpenDwarf program(GetParam());
  const UnitTable table(program.get());
  const auto source_of = [&](const std::string& function) -> std::string {
    const auto [begin, size] = program.function(function);
    const uint64_t unit = table.unit_of(begin);
    EXPECT_EQ(table.unit_of(begin + size - 1), unit);
    Dwarf_Die root;
    if (dwarf_offdie(program.get(), unit, &root) == nullptr) return "no unit";
    const std::string source = dwarf_diename(&root);
    return source.substr(source.rfind('/') + 1);
  };
  EXPECT_EQ(source_of("main"), "inlines.cpp");
  EXPECT_EQ(source_of("c_part"), "c_part.c");
  EXPECT_EQ(source_of("compare"), "c_part.c");
  // A template, in a section of its own.
  EXPECT_EQ(source_of("_ZNK6shapes7PolygonIiLi4EE4areaEv"), "inlines.cpp");
}

TEST_P(UnitTableOf, CodeWithoutDebugInfoIsInNoUnit) {
  const fixture::OpenDwarf program(GetParam());
  const UnitTable table(program.get());
  EXPECT_GT(table.size(), 1u);
  EXPECT_EQ(table.unit_of(program.function("_start").begin), UnitTable::kNone);
  EXPECT_EQ(table.unit_of(0), UnitTable::kNone);
  EXPECT_EQ(table.unit_of(UINT64_MAX), UnitTable::kNone);
}

TEST_P(UnitTableOf, ATableForSomeAddressesSaysTheSameOfThem) {
  const fixture::OpenDwarf program(GetParam());
  const UnitTable all(program.get());
  std::vector<uint64_t> addresses = {program.function("_start").begin, 0, UINT64_MAX};
  for (const char* function : {"main", "c_part", "compare", "_ZNK6shapes7PolygonIiLi4EE4areaEv"}) {
    const auto [begin, size] = program.function(function);
    addresses.insert(addresses.end(), {begin, begin + size / 2, begin + size - 1, begin + size});
  }
  for (const uint64_t address : addresses) {
    const UnitTable one(program.get(), {address});
    EXPECT_EQ(one.unit_of(address), all.unit_of(address)) << address;
    EXPECT_LE(one.size(), 1u);
    EXPECT_TRUE(one.has_code());
  }
  const UnitTable some(program.get(), addresses);
  for (const uint64_t address : addresses) EXPECT_EQ(some.unit_of(address), all.unit_of(address)) << address;
}

INSTANTIATE_TEST_SUITE_P(Compilers, UnitTableOf, ::testing::Values("gcc5", "gcc4", "clang5", "clang4"));

}  // namespace
}  // namespace memprof::profile
