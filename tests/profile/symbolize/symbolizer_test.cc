// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/symbolizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/runtime_frame.h"
#include "tests/profile/symbolize/fixture.h"

namespace memprof::profile {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

SymbolizeOptions without_debug_files() {
  SymbolizeOptions options;
  options.use_debug_files = false;
  return options;
}

constexpr size_t kFunctions = 7;  // of the fixture

class LinkedProgram : public ::testing::TestWithParam<const char*> {};

TEST_P(LinkedProgram, EveryFunctionHasItsName) {
  const auto running = fixture::run(fixture::path(GetParam()), fixture::kBuildId);
  ASSERT_EQ(running.functions.size(), kFunctions);
  Profile profile = fixture::profile_of(running);
  const SymbolizeSummary summary = Symbolizer().symbolize(profile);
  EXPECT_EQ(fixture::names(profile), fixture::expected_names(running));
  EXPECT_EQ(summary.named, kFunctions);
  EXPECT_EQ(summary.unnamed, 0u);
  EXPECT_THAT(summary.warnings, IsEmpty());
  EXPECT_TRUE(profile.mappings[0].has_functions);
  EXPECT_FALSE(profile.mappings[0].has_line_numbers);
}

INSTANTIATE_TEST_SUITE_P(Layouts, LinkedProgram,
                         ::testing::Values("pie", "fixed", "one_segment", "exporting"));

TEST(Symbolizer, KeepsTheNameOfTheSymbolTableToo) {
  Profile profile = fixture::profile_of(fixture::run(fixture::path("pie"), fixture::kBuildId));
  Symbolizer().symbolize(profile);
  for (const Function& function : profile.functions) {
    if (function.name == "fixture::exported(int)") {
      EXPECT_EQ(function.system_name, "_ZN7fixture8exportedEi");
      return;
    }
  }
  FAIL() << "fixture::exported(int) has no name";
}

TEST(Symbolizer, StrippedCodeHasNoNameAndIsNoFault) {
  Profile profile = fixture::profile_of(fixture::run(fixture::path("stripped"), fixture::kBuildId));
  const SymbolizeSummary summary = Symbolizer().symbolize(profile, without_debug_files());
  EXPECT_THAT(fixture::names(profile), Each(""));
  EXPECT_EQ(summary.unnamed, kFunctions);
  EXPECT_THAT(summary.warnings, IsEmpty());
  EXPECT_TRUE(profile.functions.empty());
  EXPECT_FALSE(profile.mappings[0].has_functions);
}

TEST(Symbolizer, TakesSymbolsOfASeparateDebugFile) {
  const auto running = fixture::run(fixture::path("linked/pie"), fixture::kBuildId);
  Profile profile = fixture::profile_of(running);
  Symbolizer().symbolize(profile);
  EXPECT_EQ(fixture::names(profile), fixture::expected_names(running));
}

TEST(Symbolizer, AChangedBinaryGivesAWarningAndNoNames) {
  Profile profile = fixture::profile_of(fixture::run(fixture::path("changed"), fixture::kBuildId));
  const SymbolizeSummary summary = Symbolizer().symbolize(profile);
  EXPECT_THAT(fixture::names(profile), Each(""));
  EXPECT_THAT(summary.warnings,
              ElementsAre(fixture::path("changed") + ": binary changed since it was profiled (build id " +
                          fixture::kBuildId + ", now ffffffff); no names"));
}

TEST(Symbolizer, ABuildIdThatCameOrWentIsAChange) {
  Profile gone = fixture::profile_of(fixture::run(fixture::path("no_id"), fixture::kBuildId));
  EXPECT_THAT(Symbolizer().symbolize(gone).warnings, ElementsAre(::testing::HasSubstr("now none")));
  Profile came = fixture::profile_of(fixture::run(fixture::path("pie"), ""));
  EXPECT_THAT(Symbolizer().symbolize(came).warnings,
              ElementsAre(::testing::HasSubstr("the profile has no build id of it")));
  EXPECT_THAT(fixture::names(came), Each(""));
}

TEST(Symbolizer, WithoutBuildIdsTheTimeDecides) {
  const auto running = fixture::run(fixture::path("no_id"), "");
  Profile before = fixture::profile_of(running);
  before.time_unix_ns = 1'000'000'000;  // 1970
  EXPECT_THAT(Symbolizer().symbolize(before).warnings,
              ElementsAre(::testing::HasSubstr("changed after it was profiled")));
  EXPECT_THAT(fixture::names(before), Each(""));
  Profile after = fixture::profile_of(running);
  after.time_unix_ns = UINT64_MAX;
  EXPECT_THAT(Symbolizer().symbolize(after).warnings, IsEmpty());
  EXPECT_EQ(fixture::names(after), fixture::expected_names(running));
}

TEST(Symbolizer, AFileThatIsGoneIsSaidOnce) {
  auto running = fixture::run(fixture::path("pie"), fixture::kBuildId);
  running.mapping.path = "/nowhere/program";
  Profile profile = fixture::profile_of(running);
  profile.mappings.push_back(running.mapping);
  profile.locations.back().mapping = 1;
  EXPECT_THAT(Symbolizer().symbolize(profile).warnings,
              ElementsAre("/nowhere/program: no such file or directory; no names"));
}

TEST(Symbolizer, AFileThatWasDeletedMeanwhileGivesNoNames) {
  auto running = fixture::run(fixture::path("pie"), fixture::kBuildId);
  running.mapping.path += " (deleted)";
  Profile profile = fixture::profile_of(running);
  EXPECT_THAT(
      Symbolizer().symbolize(profile).warnings,
      ElementsAre(fixture::path("pie") + ": was deleted or replaced while it was profiled; no names"));
  EXPECT_THAT(fixture::names(profile), Each(""));
}

TEST(Symbolizer, CodeWithoutAFileIsNoFault) {
  for (const char* path : {"[vdso]", "linux-vdso.so.1", "", "//anon"}) {
    auto running = fixture::run(fixture::path("pie"), "");
    running.mapping.path = path;
    Profile profile = fixture::profile_of(running);
    const SymbolizeSummary summary = Symbolizer().symbolize(profile);
    EXPECT_THAT(summary.warnings, IsEmpty()) << path;
    EXPECT_EQ(summary.unnamed, kFunctions) << path;
  }
}

TEST(Symbolizer, LeavesNamesThatAreThere) {
  Profile profile = fixture::profile_of(fixture::run(fixture::path("pie"), fixture::kBuildId));
  profile.functions.push_back({"from a runtime", "", "", 0});
  profile.locations[0].lines.push_back({0, 7});
  Symbolizer().symbolize(profile);
  EXPECT_EQ(fixture::names(profile)[0], "from a runtime");
  EXPECT_EQ(profile.locations[0].lines.size(), 1u);
}

TEST(Symbolizer, OneFunctionForAllItsAddresses) {
  const auto running = fixture::run(fixture::path("pie"), fixture::kBuildId);
  Profile profile = fixture::profile_of(running);
  Location again = profile.locations[0];
  ++again.address;
  profile.locations.push_back(again);
  Symbolizer().symbolize(profile);
  EXPECT_EQ(profile.functions.size(), kFunctions);
  EXPECT_EQ(profile.locations[0].lines[0].function, profile.locations.back().lines[0].function);

  // A later round, for a location that came from elsewhere.
  again.lines.clear();
  profile.locations.push_back(again);
  Symbolizer().symbolize(profile);
  EXPECT_EQ(profile.functions.size(), kFunctions);
}

TEST(Symbolizer, AddressesOutsideOfTheMappingHaveNoName) {
  const auto running = fixture::run(fixture::path("pie"), fixture::kBuildId);
  Profile profile = fixture::profile_of(running);
  profile.locations.resize(3);
  profile.locations[0].address = running.mapping.limit;
  profile.locations[1].address = running.mapping.start - 1;
  profile.locations[2].mapping = kNoMapping;
  Symbolizer().symbolize(profile);
  EXPECT_THAT(fixture::names(profile), ElementsAre("", "", ""));
}

TEST(Symbolizer, NamesThatAJitListedAreDemangled) {
  Profile profile;
  profile.functions.push_back({"_ZN4grid4fillEm", "_ZN4grid4fillEm", kMadeCode, 0});
  profile.functions.push_back({"_ZN4grid4fillEm", "_ZN4grid4fillEm", "grid.py", 0});
  Symbolizer().symbolize(profile);
  EXPECT_EQ(profile.functions[0].name, "grid::fill(unsigned long)");
  EXPECT_EQ(profile.functions[0].system_name, "_ZN4grid4fillEm");
  EXPECT_EQ(profile.functions[1].name, "_ZN4grid4fillEm");
}

}  // namespace
}  // namespace memprof::profile
