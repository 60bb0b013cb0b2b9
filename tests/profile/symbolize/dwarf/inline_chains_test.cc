// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/dwarf/inline_chains.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/symbolize/dwarf/unit_table.h"
#include "tests/profile/symbolize/dwarf_fixture.h"

namespace memprof::profile {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names(InlineChain& chain) {
  std::vector<std::string> all;
  for (Dwarf_Die& entry : chain) all.push_back(dwarf_diename(&entry));
  return all;
}

// The chains of each address of a function.
std::vector<InlineChain> chains_of(const fixture::OpenDwarf& program, const std::string& function) {
  const auto [begin, size] = program.function(function);
  std::vector<uint64_t> addresses;
  for (uint64_t i = 0; i < size; ++i) addresses.push_back(begin + i);
  Dwarf_Die root;
  if (dwarf_offdie(program.get(), UnitTable(program.get()).unit_of(begin), &root) == nullptr) return {};
  return inline_chains(root, addresses);
}

TEST(InlineChains, FunctionFirstAndInlinedCallsAfterIt) {
  const fixture::OpenDwarf program("gcc5");
  size_t plain = 0;
  size_t inlined = 0;
  for (InlineChain& chain : chains_of(program, "compare")) {
    const std::vector<std::string> all = names(chain);
    plain += all == std::vector<std::string>{"compare"};
    inlined += all == std::vector<std::string>{"compare", "weigh"};
    EXPECT_TRUE(all.size() == 1 || all.size() == 2) << ::testing::PrintToString(all);
  }
  EXPECT_GT(plain, 0u);
  EXPECT_GT(inlined, 0u);
}

TEST(InlineChains, FunctionsInsideOfFunctionsAreFound) {
  const fixture::OpenDwarf program("nested");
  auto chains = chains_of(program, "inner");
  ASSERT_FALSE(chains.empty());
  for (InlineChain& chain : chains) EXPECT_THAT(names(chain), ElementsAre("inner"));
}

TEST(InlineChains, AddressesOfOtherUnitsHaveNone) {
  const fixture::OpenDwarf program("gcc5");
  Dwarf_Die root;
  ASSERT_NE(
      dwarf_offdie(program.get(), UnitTable(program.get()).unit_of(program.function("c_part").begin), &root),
      nullptr);
  const auto chains = inline_chains(root, {program.function("main").begin});
  EXPECT_TRUE(chains[0].empty());
}

}  // namespace
}  // namespace memprof::profile
