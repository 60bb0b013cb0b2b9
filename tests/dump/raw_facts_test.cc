// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "format/profile_facts.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/pprof/pprof_writer.h"
#include "tests/dump/raw_fixture.h"

namespace memprof::profile {
namespace {

// Each fact of the list, through the writer in the process, the reader, and the writer outside.
TEST(RawFacts, EachOfTheListComesBack) {
  RawFixture raw;
  uint64_t value = 1000;
  for (const ProfileFact& fact : kProfileFacts) fact.set(&raw.profile, ++value);
  Profile profile = read_pprof(write_raw(raw.profile), "raw");
  for (int round = 0; round < 2; ++round) {
    for (const ProfileFact& fact : kProfileFacts) {
      EXPECT_EQ(fact.of(profile), fact.of(raw.profile)) << fact.key;
      EXPECT_NE(fact.of(profile), 0u) << fact.key;
    }
    profile = read_pprof(write_pprof(profile), "again");
  }
}

}  // namespace
}  // namespace memprof::profile
