// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/passing/passing_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/files/gzip.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/pprof/pprof_writer.h"
#include "tests/dump/raw_fixture.h"

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// As when its files are read.
void give_names(Profile* profile) {
  profile->functions.push_back({"ns::make(int)", "_ZN2ns4makeEi", "/src/make.cc", 7});
  for (Location& location : profile->locations) {
    if (location.mapping != 0) continue;
    location.lines.push_back({static_cast<uint32_t>(profile->functions.size() - 1), 12});
  }
  profile->mappings[0].has_functions = profile->mappings[0].has_filenames = true;
  profile->told_apart = "worker 1";
  profile->comments.emplace_back("ran without memprof: sh");
}

std::string write(const PassingProfile& profile, bool has_gzip, Accumulator* sum = nullptr) {
  std::string bytes;
  PprofWriteOptions options;
  options.gzip = has_gzip;
  const Accumulator all = profile.write(options, sink_to(bytes));
  if (sum != nullptr) *sum = all;
  return bytes;
}

class PassingProfileTest : public testing::Test {
 protected:
  // What comes out is the profile that the way over a model makes.
  void expect_same_as_model() {
    raw_.point();
    const std::string bytes = write_raw(raw_.profile);
    Profile model = read_pprof(bytes, "x");
    auto passing = PassingProfile::read(bytes, "x");
    ASSERT_TRUE(passing);
    EXPECT_TRUE(passing->profile().stacks.empty());
    for (const Metric metric : kMetrics) {
      const double total = estimated_total(model, metric);
      EXPECT_NEAR(passing->total(metric), total, 1 + 1e-9 * total) << metric_name(metric);
    }
    give_names(&model);
    give_names(&passing->profile());
    Accumulator sum;
    const Profile read = read_pprof(write(*passing, true, &sum), "x");
    Accumulator sum_of_model;
    for (const Stack& stack : model.stacks) sum_of_model.add(stack);
    for (const Metric metric : {Metric::kAllocSpace, Metric::kInuseSpace, Metric::kPeakSpace,
                                Metric::kPeakObjects, Metric::kMappedResidentSpace}) {
      EXPECT_NEAR(sum.estimate(metric).high, sum_of_model.estimate(metric).high,
                  1e-9 * sum_of_model.estimate(metric).high)
          << metric_name(metric);
    }
    ASSERT_FALSE(read.stacks.empty());
    for (const Stack& stack : read.stacks) EXPECT_TRUE(stack.has_statistics);
    EXPECT_EQ(write_pprof(read, {false}), write_pprof(read_pprof(write_pprof(model), "x"), {false}));
  }

  RawFixture raw_;
};

TEST_F(PassingProfileTest, becomes_what_the_model_becomes) {
  expect_same_as_model();
}

TEST_F(PassingProfileTest, stacks_of_one_id_have_one_comment) {
  // One stack twice, as where only the end of the walk differs.
  raw_.stacks.push_back(raw_.stacks[0]);
  raw_.stacks.back().walk = 1;
  raw_.stacks.push_back(raw_.stacks[1]);
  expect_same_as_model();
}

TEST_F(PassingProfileTest, names_of_heaps_keep_their_places) {
  const char* const heaps[] = {"", "server", "pool \"a\"", "pool \"a\""};
  raw_.profile.heaps = heaps;
  raw_.profile.heap_count = 4;
  raw_.stacks[0].heap = 1;
  raw_.stacks[1].heap = 2;
  raw_.stacks[2].heap = 3;
  expect_same_as_model();
}

TEST_F(PassingProfileTest, mappings_and_what_is_resident_pass) {
  raw_.profile.mapped_count = schema::kMappedCount;
  raw_.profile.has_resident = true;
  raw_.stacks[0].mapped[0] = 2;
  raw_.stacks[0].mapped[1] = 8192;
  raw_.stacks[0].mapped[2] = 1;
  raw_.stacks[0].mapped[3] = 4096;
  raw_.stacks[1].resident_count = 2;
  raw_.stacks[1].resident_bytes = 200000;
  expect_same_as_model();
}

TEST_F(PassingProfileTest, no_sample_at_all) {
  raw_.live.clear();
  raw_.stacks.clear();
  raw_.point();
  const std::string bytes = write_raw(raw_.profile);
  auto passing = PassingProfile::read(bytes, "x");
  ASSERT_TRUE(passing);
  EXPECT_EQ(passing->profile().program, "my server 100%");
  EXPECT_TRUE(read_pprof(write(*passing, true), "x").stacks.empty());
}

TEST_F(PassingProfileTest, comments_are_packed) {
  const std::string bytes = write_raw(raw_.profile);
  const auto passing = PassingProfile::read(bytes, "x");
  ASSERT_TRUE(passing);
  const std::string written = write(*passing, false);
  EXPECT_THAT(bytes, HasSubstr("#memprof.stack id="));
  EXPECT_THAT(written, Not(HasSubstr("#memprof.stack id=")));
  EXPECT_THAT(written, HasSubstr("#memprof.stacks version=2"));
  EXPECT_EQ(gunzip(write(*passing, true), "x", 1 << 30), written);
}

TEST_F(PassingProfileTest, others_do_not_pass) {
  EXPECT_FALSE(PassingProfile::read(write_pprof(named_profile(), {false}), "x")) << "written outside";
  EXPECT_FALSE(PassingProfile::read("", "x"));
  EXPECT_FALSE(PassingProfile::read("garbage", "x"));
  const std::string bytes = write_raw(raw_.profile);
  // Of a part nothing passes that the reader would not take.
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string_view part = std::string_view(bytes).substr(0, size);
    const auto passing = PassingProfile::read(part, "x");
    if (!passing) continue;
    EXPECT_NO_THROW(read_pprof(write(*passing, false), "x")) << size;
  }
}

// Whatever the bytes are, there is no crash.
TEST_F(PassingProfileTest, damaged_bytes) {
  const std::string bytes = write_raw(raw_.profile);
  for (size_t at = 0; at < bytes.size(); at += 11) {
    for (const char flip : {'\x01', '\x80', '\x7f'}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      const auto passing = PassingProfile::read(damaged, "x");
      if (!passing) continue;
      EXPECT_FALSE(write(*passing, false).empty());
    }
  }
}

}  // namespace
}  // namespace memprof::profile
