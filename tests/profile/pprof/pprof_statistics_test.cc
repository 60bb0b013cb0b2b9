// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/pprof_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <tuple>

#include "format/pprof/comments.h"
#include "profile/model/metric.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/pprof/pprof_writer.h"
#include "tests/profile/foreign_pprof.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

// Profiles of one stack as other tools leave them behind: values and labels changed, comments kept.
class AlteredProfile {
 public:
  explicit AlteredProfile(double scale = 1) {
    add_samples(facts_.allocated, 64, 10);
    scale_ = scale;
  }

  Profile read() {
    ForeignPprof file(ForeignPprof::Types{{"alloc_objects", "count"},
                                          {"alloc_space", "bytes"},
                                          {"inuse_objects", "count"},
                                          {"inuse_space", "bytes"}});
    file.location(1, 0x1000);
    file.period("space", "bytes", kTestRate);
    const auto scaled = [this](double value) { return std::llround(value * scale_); };
    file.sample({1}, {scaled(facts_.allocated.weight_count), scaled(facts_.allocated.weight_bytes), 0, 0});
    for (const auto& [samples, label] : live) {
      const double blocks = samples / sampling_probability(64, kTestRate);
      std::vector<ForeignPprof::NumberLabel> labels = {{"bytes", 64, "bytes"}};
      if (label != 1) {
        labels.push_back({"samples", label, "count"});
      }
      file.sample({1}, {0, 0, scaled(blocks), scaled(blocks * 64)}, labels);
    }
    file.comment(profile_text);
    StackId id;
    id.add(0x1000);
    CommentText text;
    stack_comment(text, id.value(), facts_);
    file.comment(replaced_text.empty() ? std::string(text.data(), text.size()) + more_text : replaced_text);
    return read_pprof(file.bytes(), "x");
  }

  std::vector<std::pair<double, int64_t>> live = {{4, 4}};  // sampled blocks, label
  std::string profile_text = "#memprof.profile version=1 program=a%20b pid=1";
  std::string replaced_text;
  std::string more_text;  // behind the stack's comment
  Stack facts_;

 private:
  double scale_;
};

TEST(PprofStatistics, unaltered_they_are_believed) {
  const Profile profile = AlteredProfile().read();
  EXPECT_EQ(profile.program, "a b");
  ASSERT_EQ(profile.stacks.size(), 1u);
  EXPECT_TRUE(profile.stacks[0].has_statistics);
  EXPECT_EQ(profile.stacks[0].live[0].samples, 4u);
}

// Pieces of code of one name, file and line, as Python has them: apart in the file, with one comment.
TEST(PprofStatistics, stacks_that_nobody_can_tell_apart_are_one) {
  ForeignPprof file(ForeignPprof::Types{{"alloc_objects", "count"},
                                        {"alloc_space", "bytes"},
                                        {"inuse_objects", "count"},
                                        {"inuse_space", "bytes"}});
  file.period("space", "bytes", kTestRate);
  Stack facts;
  add_samples(facts.allocated, 64, 10);
  const double blocks = 1 / sampling_probability(64, kTestRate);
  for (const auto& [location, allocated, live] : {std::tuple{1, 6, 3}, std::tuple{2, 4, 1}}) {
    file.location(static_cast<uint64_t>(location), 0x1000);
    file.sample({static_cast<uint64_t>(location)},
                {std::llround(allocated * blocks), std::llround(allocated * blocks * 64), 0, 0});
    file.sample({static_cast<uint64_t>(location)},
                {0, 0, std::llround(live * blocks), std::llround(live * blocks * 64)},
                {{"bytes", 64, "bytes"}, {"samples", live, "count"}});
  }
  file.comment("#memprof.profile version=1 program=a pid=1");
  StackId id;
  id.add(0x1000);
  CommentText text;
  stack_comment(text, id.value(), facts);
  file.comment(std::string(text.data(), text.size()));
  const Profile profile = read_pprof(file.bytes(), "x");
  ASSERT_EQ(profile.stacks.size(), 1u);
  EXPECT_TRUE(profile.stacks[0].has_statistics);
  EXPECT_EQ(profile.stacks[0].allocated.samples, 10u);
  uint64_t live = 0;
  for (const LiveGroup& group : profile.stacks[0].live) live += group.samples;
  EXPECT_EQ(live, 4u);
  EXPECT_DOUBLE_EQ(profile.stacks[0].values[metric_index(Metric::kAllocObjects)],
                   std::round(6 * blocks) + std::round(4 * blocks));
}

TEST(PprofStatistics, lifetimes_are_read) {
  AlteredProfile altered;
  EXPECT_TRUE(altered.read().stacks[0].lifetimes.empty());
  altered.more_text = " lt=3:2:128,12:5:320:49200000:45000000";
  const Profile profile = altered.read();
  const std::vector<Lifetime>& lifetimes = profile.stacks[0].lifetimes;
  ASSERT_EQ(lifetimes.size(), 2u);
  EXPECT_EQ(lifetimes[0].lifetime_class, 3u);
  EXPECT_EQ(lifetimes[0].samples, 2u);
  EXPECT_EQ(lifetimes[0].size_bytes, 128u);
  EXPECT_EQ(lifetimes[0].weight_bytes, 128);
  EXPECT_EQ(lifetimes[0].weight_count, 2);
  EXPECT_EQ(lifetimes[1].lifetime_class, 12u);
  EXPECT_EQ(lifetimes[1].weight_bytes, 655360);
  EXPECT_EQ(lifetimes[1].weight_count, 2048);
  altered.more_text = " lt=12:5:320:00000000:00000000";  // each stands for itself at least
  EXPECT_EQ(altered.read().stacks[0].lifetimes[0].weight_bytes, 320);
  EXPECT_EQ(altered.read().stacks[0].lifetimes[0].weight_count, 5);
}

TEST(PprofStatistics, lifetimes_that_make_no_sense_are_not_believed) {
  for (const char* text : {"3", "3:2", "3:2:128:49200000", "3:2:128:49200000:45000000:1", "28:2:128",
                           "3:0:128", "3:2:128,3:2:128", "4:2:128,3:2:128", "3:2:x",
                           "3:2:128:7f800000:45000000", "3:2:128:c9200000:45000000",
                           ":::", "3:2:128:", "3:2:128:1234567890:45000000", "99999999999999999999:2:128"}) {
    AlteredProfile altered;
    altered.more_text = std::string(" lt=") + text;
    EXPECT_FALSE(altered.read().stacks[0].has_statistics) << text;
  }
}

TEST(PprofStatistics, births_are_read) {
  AlteredProfile altered;
  EXPECT_TRUE(altered.read().stacks[0].births.empty());
  altered.more_text = " lb=0:2:49200000:45000000,15:3:49200000:00000000";
  const std::vector<Birth> births = altered.read().stacks[0].births;
  ASSERT_EQ(births.size(), 2u);
  EXPECT_EQ(births[0].part, 0u);
  EXPECT_EQ(births[0].samples, 2u);
  EXPECT_EQ(births[0].weight_bytes, 655360);
  EXPECT_EQ(births[0].weight_count, 2048);
  EXPECT_EQ(births[1].part, 15u);
  EXPECT_EQ(births[1].weight_count, 3);  // each stands for itself at least
  for (const char* text : {"0", "0:2", "0:2:49200000", "16:2:49200000:45000000", "0:0:49200000:45000000",
                           "1:2:49200000:45000000,1:2:49200000:45000000", "0:2:x:45000000",
                           "0:2:49200000:45000000:1", "0:2:7f800000:45000000"}) {
    altered.more_text = std::string(" lb=") + text;
    EXPECT_FALSE(altered.read().stacks[0].has_statistics) << text;
  }
}

// Live samples of a table that was full stand for more than at first, which is in what was freed, with a minus.
TEST(PprofStatistics, what_was_freed_may_be_below_zero) {
  AlteredProfile altered;
  altered.facts_.freed.weight_bytes = -5000;
  altered.facts_.freed.weight_count = -3;
  const Profile profile = altered.read();
  ASSERT_TRUE(profile.stacks[0].has_statistics);
  EXPECT_EQ(profile.stacks[0].freed.weight_bytes, -5000);
}

TEST(PprofStatistics, values_that_were_scaled_or_subtracted_have_none) {
  for (const double scale : {0.5, 2.0, -1.0}) {
    const Profile profile = AlteredProfile(scale).read();
    EXPECT_FALSE(profile.stacks[0].has_statistics) << scale;
    EXPECT_EQ(profile.stacks[0].parts.size(), 2u);
  }
}

TEST(PprofStatistics, the_number_of_samples_is_found_without_its_label) {
  AlteredProfile altered;
  altered.live = {{4, 1}};
  EXPECT_EQ(altered.read().stacks[0].live[0].samples, 4u);
  altered.live = {{2, 2}, {2, 2}};  // samples with equal labels, which a merge adds up
  EXPECT_EQ(altered.read().stacks[0].live[0].samples, 4u);
}

TEST(PprofStatistics, a_sample_that_was_split_off_by_a_foreign_label_has_none) {
  AlteredProfile altered;
  altered.live = {{4.5, 4}};
  EXPECT_FALSE(altered.read().stacks[0].has_statistics);
}

TEST(PprofStatistics, comments_that_cannot_be_read_are_as_if_not_there) {
  for (const char* text :
       {"#memprof.stack", "#memprof.stack id=zz", "#memprof.stack id=1 walk=9",
        "#memprof.stack id=0 walk=0 n=-1 s=0 wb= wc=0 vb=0 vc=0 mb=0 mc=0 fn=0 fs=0 fwb=0 fwc=0 life=0"}) {
    AlteredProfile altered;
    altered.replaced_text = text;
    EXPECT_FALSE(altered.read().stacks[0].has_statistics) << text;
  }
}

TEST(PprofStatistics, doubles_that_are_no_sums_are_refused) {
  StackId id;
  id.add(0x1000);
  for (const double bad : {-1.0, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    Stack facts;
    add_samples(facts.allocated, 64, 10);
    facts.allocated.variance_bytes = bad;
    CommentText text;
    stack_comment(text, id.value(), facts);
    AlteredProfile altered;
    altered.replaced_text = std::string(text.data(), text.size());
    EXPECT_FALSE(altered.read().stacks[0].has_statistics) << bad;
  }
}

TEST(PprofStatistics, sums_that_contradict_each_other_are_refused) {
  StackId id;
  id.add(0x1000);
  for (int i = 0; i < 3; ++i) {
    Stack facts;
    add_samples(facts.allocated, 64, 10);
    (i == 0 ? facts.allocated.samples : facts.allocated.size_bytes) = i == 2 ? uint64_t{1} << 40 : 0;
    CommentText text;
    stack_comment(text, id.value(), facts);
    AlteredProfile altered;
    altered.replaced_text = std::string(text.data(), text.size());
    EXPECT_EQ(altered.read().stacks[0].has_statistics, i == 1) << i;  // blocks of 0 bytes weigh nothing
  }
}

TEST(PprofStatistics, a_version_of_the_future_is_read_as_plain_pprof) {
  AlteredProfile altered;
  altered.profile_text = "#memprof.profile version=2 program=x pid=1";
  const Profile profile = altered.read();
  EXPECT_FALSE(profile.from_memprof);
  EXPECT_FALSE(profile.stacks[0].has_statistics);
}

TEST(PprofStatistics, facts_of_merged_profiles_are_added) {
  StatisticsReader reader;
  Profile profile;
  reader.comment("#memprof.profile version=1 program=a pid=1 samples=10 walk_root=9 dropped_samples=1",
                 profile);
  reader.comment("#memprof.profile version=1 program=b pid=2 samples=5 walk_root=4", profile);
  reader.comment("#memprof.unknown x=1", profile);
  reader.comment("# not for tools, but people", profile);
  EXPECT_EQ(profile.program, "a");
  EXPECT_EQ(profile.pid, 0u);
  EXPECT_EQ(profile.samples, 15u);
  EXPECT_EQ(profile.walks[0], 13u);
  EXPECT_EQ(profile.dropped_samples, 1u);
  EXPECT_EQ(profile.comments, std::vector<std::string>{"# not for tools, but people"});
}

// What a label may be off does not grow with the number of samples of the stack.
// As a version wrote it that knew fewer facts and endings.
TEST(PprofStatistics, comments_of_older_versions_are_read) {
  StatisticsReader reader;
  Profile profile;
  reader.comment(
      "#memprof.profile version=1 program=a pid=1 samples=10 live_samples=4 dropped_samples=1 "
      "dropped_weight_bytes=2 replaced_samples=3 walk_root=9 walk_depth_limit=0 walk_bad_frame=1 "
      "walk_left_stack=0 walk_no_rule=0 import_refused=0 import_foreign=5 import_unbound=0 "
      "import_taken=0 import_unseen_ns=0",
      profile);
  EXPECT_TRUE(profile.from_memprof);
  EXPECT_EQ(profile.samples, 10u);
  EXPECT_EQ(profile.live_samples, 4u);
  EXPECT_EQ(profile.replaced_samples, 3u);
  EXPECT_EQ(profile.import_foreign, 5u);
  EXPECT_EQ(profile.walks, (std::array<uint64_t, kWalkReasons>{9, 0, 1, 0, 0, 0}));
  EXPECT_EQ(profile.folded_stacks + profile.muted_bytes + profile.peak_after_ns, 0u);
  EXPECT_FALSE(profile.has_ended);
}

TEST(PprofStatistics, a_merged_sample_among_many_is_told_by_its_value) {
  ForeignPprof file(ForeignPprof::Types{{"alloc_objects", "count"},
                                        {"alloc_space", "bytes"},
                                        {"inuse_objects", "count"},
                                        {"inuse_space", "bytes"}});
  file.location(1, 0x1000);
  file.period("space", "bytes", 0);
  constexpr int kSizes = 100;
  Stack facts;
  for (int size = 1; size <= kSizes; ++size) {
    add_samples(facts.allocated, size, 8, 0);
    file.sample({1}, {0, 0, 8, 8 * size}, {{"bytes", size, "bytes"}, {"samples", 4, "count"}});
  }
  file.sample({1}, {8 * kSizes, static_cast<int64_t>(facts.allocated.size_bytes), 0, 0});
  file.comment("#memprof.profile version=1 program=a pid=1");
  StackId id;
  id.add(0x1000);
  CommentText text;
  stack_comment(text, id.value(), facts);
  file.comment(std::string(text.data(), text.size()));
  const Profile profile = read_pprof(file.bytes(), "x");
  ASSERT_TRUE(profile.stacks[0].has_statistics);
  ASSERT_EQ(profile.stacks[0].live.size(), size_t{kSizes});
  for (const LiveGroup& group : profile.stacks[0].live) {
    EXPECT_EQ(group.samples, 8u) << group.size_bytes;
  }
}

}  // namespace
}  // namespace memprof::profile
