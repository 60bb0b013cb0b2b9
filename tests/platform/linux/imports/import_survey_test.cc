// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/imports/import_survey.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/engine.h"
#include "tests/support/import_fixtures.h"
#include "tests/support/single_import_table.h"

namespace memprof::import_survey_test {
namespace {

using platform::ImportSurvey;
using platform::ImportTable;
using platform::WantedNames;
using testing_support::FixtureLibrary;
using testing_support::kSanitized;
using testing_support::SingleImportTable;

constexpr const char* kNames[] = {"malloc", "fixture_malloc", "no_such_function"};
constexpr WantedNames kWanted{kNames, 3};

struct Surveyed {
  ImportSurvey survey;
  int place_of_last = -1;  // of the module that ends in `wanted`
  const char* wanted;
};

void survey(const char* wanted, Surveyed* result) {
  result->wanted = wanted;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* s = static_cast<Surveyed*>(data);
        if (std::strstr(info->dlpi_name, s->wanted) != nullptr) {
          s->place_of_last = static_cast<int>(s->survey.modules());
        }
        s->survey.add(SingleImportTable(*info, kWanted));
        return 0;
      },
      result);
}

TEST(ImportSurvey, TheFirstDefinitionAndHowManyThereAre) {
  const FixtureLibrary a("now");
  const FixtureLibrary b("no_plt");
  Surveyed s;
  survey("/now.so", &s);
  EXPECT_EQ(2u, s.survey.first(1).definitions);
  EXPECT_EQ(static_cast<uint32_t>(s.place_of_last), s.survey.first(1).module);
  EXPECT_EQ(reinterpret_cast<uint64_t>(dlsym(a.handle, "fixture_malloc")), s.survey.first(1).address);
  EXPECT_EQ(0u, s.survey.first(2).definitions);
  EXPECT_LE(1u, s.survey.first(0).definitions);
  EXPECT_EQ(reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "malloc")), s.survey.first(0).address);
  EXPECT_FALSE(s.survey.first(0).is_indirect);
  a.close();
  b.close();
}

TEST(ImportSurvey, WhatTheProcessBeganWithAndWhatCameLater) {
  const FixtureLibrary library("now");
  Surveyed libc;
  survey("libc.so.6", &libc);
  ASSERT_LE(0, libc.place_of_last);
  EXPECT_TRUE(libc.survey.is_initial(static_cast<uint32_t>(libc.place_of_last)));
  EXPECT_TRUE(libc.survey.is_initial(0));
  Surveyed fixture;
  survey("/now.so", &fixture);
  ASSERT_LE(0, fixture.place_of_last);
  EXPECT_FALSE(fixture.survey.is_initial(static_cast<uint32_t>(fixture.place_of_last)));
  fixture.survey.clear();
  EXPECT_EQ(0u, fixture.survey.modules());
  EXPECT_EQ(0u, fixture.survey.first(0).definitions);
  library.close();
}

}  // namespace
}  // namespace memprof::import_survey_test
