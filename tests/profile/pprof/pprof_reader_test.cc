// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/pprof_reader.h"

#include <gtest/gtest.h>

#include <random>

#include "profile/files/gzip.h"
#include "profile/model/metric.h"
#include "profile/pprof/pprof_writer.h"
#include "tests/profile/foreign_pprof.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

std::string error_of_reading(const std::string& data, const ReadOptions& options = {}) {
  try {
    read_pprof(data, "NAME", options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// As runtime/pprof writes one.
ForeignPprof go_heap() {
  ForeignPprof go(ForeignPprof::Types{{"alloc_objects", "count"},
                                      {"alloc_space", "bytes"},
                                      {"inuse_objects", "count"},
                                      {"inuse_space", "bytes"}});
  go.location(1, 0x1000);
  go.location(2, 0x2000);
  go.sample({1, 2}, {10, 160, 5, 80}, {{"bytes", 16, "bytes"}});
  go.sample({1, 2}, {4, 256, 1, 64}, {{"bytes", 64, "bytes"}});
  go.sample({2}, {1, 1000000, 1, 1000000}, {{"bytes", 1000000, "bytes"}});
  go.period("space", "bytes", 524288);
  return go;
}

TEST(PprofReader, reads_a_heap_profile_of_go) {
  const Profile profile = read_pprof(gzip(go_heap().bytes()), "heap");
  EXPECT_FALSE(profile.from_memprof);
  EXPECT_EQ(profile.rate_bytes, 524288u);
  ASSERT_EQ(profile.stacks.size(), 2u);
  const Stack& folded = profile.stacks[0];
  EXPECT_FALSE(folded.has_statistics);
  EXPECT_EQ(folded.values, (std::array<double, kMetricCount>{14, 416, 6, 144}));
  ASSERT_EQ(folded.parts.size(), 2u);
  EXPECT_EQ(folded.parts[1].labels[0].key, "bytes");
  EXPECT_EQ(folded.parts[1].labels[0].number, 64);
  EXPECT_EQ(folded.parts[1].labels[0].unit, "bytes");
  EXPECT_EQ(folded.parts[1].values, (std::array<double, kMetricCount>{4, 256, 1, 64}));
}

TEST(PprofReader, finds_metrics_by_name_whatever_their_order) {
  ForeignPprof other(
      ForeignPprof::Types{{"inuse_space", "bytes"}, {"cpu", "nanoseconds"}, {"alloc_objects", "count"}});
  other.location(7, 1);
  other.sample({7}, {100, 5, 3});
  const Profile profile = read_pprof(other.bytes(), "x");
  EXPECT_EQ(profile.has_metric, (std::array<bool, kMetricCount>{true, false, false, true}));
  EXPECT_EQ(profile.stacks[0].values, (std::array<double, kMetricCount>{3, 0, 0, 100}));
}

TEST(PprofReader, objects_and_space_of_tcmalloc_are_live_memory) {
  ForeignPprof tcmalloc(ForeignPprof::Types{{"objects", "count"}, {"space", "bytes"}});
  tcmalloc.location(1, 1);
  tcmalloc.sample({1}, {2, 200});
  EXPECT_EQ(read_pprof(tcmalloc.bytes(), "x").stacks[0].values,
            (std::array<double, kMetricCount>{0, 0, 2, 200}));
  ForeignPprof both(ForeignPprof::Types{{"space", "bytes"}, {"inuse_space", "bytes"}});
  both.sample({}, {1, 2});
  EXPECT_EQ(read_pprof(both.bytes(), "x").stacks[0].values[3], 2);
}

TEST(PprofReader, sample_types_of_other_profilers) {
  ForeignPprof datadog(ForeignPprof::Types{{"cpu-time", "nanoseconds"},
                                           {"alloc-samples", "count"},
                                           {"alloc-size", "bytes"},
                                           {"heap-live-samples", "count"},
                                           {"heap-live-size", "kilobytes"}});
  datadog.sample({}, {9, 4, 400, 3, 30});
  EXPECT_EQ(read_pprof(datadog.bytes(), "x").stacks[0].values,
            (std::array<double, kMetricCount>{4, 400, 3, 30 * 1024}));
  // Two parts of one.
  ForeignPprof jfr(ForeignPprof::Types{{"alloc_in_new_tlab_objects", "count"},
                                       {"alloc_in_new_tlab_bytes", "bytes"},
                                       {"alloc_outside_tlab_objects", "count"},
                                       {"alloc_outside_tlab_bytes", "bytes"}});
  jfr.sample({}, {4, 400, 1, 1000});
  EXPECT_EQ(read_pprof(jfr.bytes(), "x").stacks[0].values, (std::array<double, kMetricCount>{5, 1400}));
}

TEST(PprofReader, an_unknown_type_that_the_file_puts_first_is_read_by_its_unit) {
  ForeignPprof other(ForeignPprof::Types{{"cpu", "nanoseconds"}, {"retained", "megabytes"}});
  other.sample({}, {7, 2});
  EXPECT_THROW(read_pprof(other.bytes(), "x"), Error);
  other.writer().add_int64(14, other.string("retained"));
  EXPECT_EQ(read_pprof(other.bytes(), "x").stacks[0].values[3], 2 << 20);
  ForeignPprof time(ForeignPprof::Types{{"cpu", "nanoseconds"}});
  time.sample({}, {7});
  time.writer().add_int64(14, time.string("cpu"));
  EXPECT_THROW(read_pprof(time.bytes(), "x"), Error);
}

TEST(PprofReader, one_sample_type_that_is_asked_for) {
  ForeignPprof other(
      ForeignPprof::Types{{"inuse_space", "bytes"}, {"retained", "kilobytes"}, {"cpu", "nanoseconds"}});
  other.sample({}, {7, 2, 3});
  ReadOptions options;
  options.sample_type = "retained";
  const Profile profile = read_pprof(other.bytes(), "x", options);
  EXPECT_EQ(profile.stacks[0].values[3], 2048);
  for (const char* missing : {"absent", "cpu"}) {
    options.sample_type = missing;
    EXPECT_THROW(read_pprof(other.bytes(), "x", options), Error);
  }
}

TEST(PprofReader, a_period_of_something_else_is_not_our_rate) {
  ForeignPprof other(ForeignPprof::Types{{"inuse_space", "bytes"}});
  other.period("cpu", "nanoseconds", 10000000);
  EXPECT_EQ(read_pprof(other.bytes(), "x").rate_bytes, 0u);
}

TEST(PprofReader, integers_may_be_packed_or_not) {
  ForeignPprof other(ForeignPprof::Types{{"inuse_objects", "count"}, {"inuse_space", "bytes"}});
  other.location(1, 0x10);
  other.location(2, 0x20);
  std::string sample;
  protozero::pbf_writer writer(sample);
  for (const uint64_t id : {2, 1}) {
    writer.add_uint64(1, id);
  }
  for (const int64_t value : {3, 300}) {
    writer.add_int64(2, value);
  }
  other.writer().add_message(2, sample);
  const Profile profile = read_pprof(other.bytes(), "x");
  EXPECT_EQ(profile.stacks[0].locations, (std::vector<uint32_t>{1, 0}));
  EXPECT_EQ(profile.stacks[0].values[3], 300);
}

TEST(PprofReader, says_what_is_wrong_with_a_file) {
  EXPECT_EQ(error_of_reading(""), "NAME: the file is empty");
  EXPECT_EQ(error_of_reading(gzip("")), "NAME: the file is empty inside its gzip");
  const std::string packed = write_pprof(named_profile());
  EXPECT_EQ(error_of_reading(packed.substr(0, packed.size() / 2)),
            "NAME: truncated: its gzip data end too early");
  EXPECT_EQ(error_of_reading("hello, I am a text\n").substr(0, 28), "NAME: not a pprof profile, o");
  EXPECT_NE(error_of_reading("{\"a\": 1}").find("looks like JSON"), std::string::npos);
  EXPECT_NE(error_of_reading("heap profile:  1: 2 [3: 4] @ heapprofile\n")
                .find("heap profile of an allocator as text"),
            std::string::npos);
  EXPECT_EQ(error_of_reading(
                ForeignPprof(ForeignPprof::Types{{"samples", "count"}, {"cpu", "nanoseconds"}}).bytes()),
            "NAME: a pprof profile, but not of memory: its sample types are samples, cpu");
  EXPECT_EQ(error_of_reading(ForeignPprof(ForeignPprof::Types{}).bytes()),
            "NAME: not a pprof profile: it has no sample types");
}

TEST(PprofReader, says_what_is_wrong_with_a_path) {
  try {
    read_pprof_file("/no/such/file");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "/no/such/file: cannot read it: No such file or directory");
  }
  EXPECT_THROW(read_pprof_file("/"), Error);
}

TEST(PprofReader, every_index_is_checked) {
  const auto heap = [] { return ForeignPprof(ForeignPprof::Types{{"inuse_space", "bytes"}}); };
  ForeignPprof location = heap();
  location.sample({99}, {1});
  EXPECT_EQ(error_of_reading(location.bytes()), "NAME: damaged pprof profile: there is no location 99");
  ForeignPprof mapping = heap();
  mapping.location(1, 0x10, 5);
  EXPECT_EQ(error_of_reading(mapping.bytes()), "NAME: damaged pprof profile: there is no mapping 5");
  ForeignPprof function = heap();
  function.location(1, 0x10, 0, 8);
  EXPECT_EQ(error_of_reading(function.bytes()), "NAME: damaged pprof profile: there is no function 8");
  ForeignPprof twice = heap();
  twice.location(1, 0x10);
  twice.location(1, 0x20);
  EXPECT_EQ(error_of_reading(twice.bytes()), "NAME: damaged pprof profile: location id 1 is used twice");
  ForeignPprof zero = heap();
  zero.location(0, 0x10);
  EXPECT_EQ(error_of_reading(zero.bytes()), "NAME: damaged pprof profile: location id 0 is not allowed");
  ForeignPprof text = heap();
  text.writer().add_int64(13, 77);
  EXPECT_EQ(error_of_reading(text.bytes()), "NAME: damaged pprof profile: string 77 of 3");
  ForeignPprof negative = heap();
  negative.writer().add_int64(13, -1);
  EXPECT_NE(error_of_reading(negative.bytes()).find("damaged pprof profile: string"), std::string::npos);
  ForeignPprof values = heap();
  values.sample({}, {1, 2, 3, 4, 5});
  EXPECT_EQ(error_of_reading(values.bytes()),
            "NAME: damaged pprof profile: a sample has too many values for 1 sample types");
}

TEST(PprofReader, limits_what_a_file_can_make_it_hold) {
  ReadOptions options;
  options.max_decompressed_bytes = 1 << 20;
  std::string strings;  // a million empty ones
  for (size_t i = 0; i < size_t{1} << 20; ++i) strings += std::string("\x32\0", 2);
  const std::string error = error_of_reading(gzip(strings), options);
  EXPECT_EQ(error.find("NAME: unpacks to more than 1048576 bytes"), 0u) << error;
  EXPECT_NE(error.find("gzip -dc FILE > FILE.pb"), std::string::npos) << error;
  ForeignPprof many(ForeignPprof::Types{{"inuse_space", "bytes"}});
  for (uint64_t id = 1; id <= 1000; ++id) {
    many.location(id, id);
  }
  EXPECT_EQ(error_of_reading(many.bytes()), "");
  options.max_model_bytes = 50000;
  EXPECT_NE(error_of_reading(many.bytes(), options).find("NAME: too large"), std::string::npos);
}

// What is no pprof file is refused before it has been unpacked, whatever it unpacks to; the memory that it takes:
// tests/e2e/command_report_test.py.
TEST(PprofReader, refuses_a_bomb_by_its_first_bytes) {
  ReadOptions options;
  options.max_decompressed_bytes = 1 << 20;
  EXPECT_EQ(error_of_reading(gzip(std::string(size_t{2} << 20, '\0')), options),
            "NAME: not a pprof profile, or a truncated one");
  EXPECT_EQ(error_of_reading(gzip("{" + std::string(size_t{2} << 20, ' ')), options),
            "NAME: not a pprof profile, or a truncated one (it looks like JSON)");
}

TEST(PprofReader, reads_no_more_than_it_needs_to_refuse_a_file) {
  try {
    read_pprof_file("/dev/zero");  // which has no end
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "/dev/zero: not a pprof profile, or a truncated one");
  }
}

TEST(PprofReader, allows_a_profile_what_its_size_lets_expect) {
  ForeignPprof many(ForeignPprof::Types{{"inuse_space", "bytes"}});
  for (uint64_t id = 1; id <= 1000; ++id) many.location(id, id);
  ReadOptions options;
  options.max_model_ratio = 1;
  EXPECT_EQ(error_of_reading(gzip(many.bytes()), options), "") << "small files may always take some";
}

TEST(PprofReader, refuses_a_stack_that_is_deeper_than_any) {
  ForeignPprof deep(ForeignPprof::Types{{"inuse_space", "bytes"}});
  deep.location(1, 0x10);
  deep.sample(std::vector<uint64_t>((1 << 20) + 1, 1), {1});
  EXPECT_EQ(error_of_reading(deep.bytes()),
            "NAME: damaged pprof profile: a stack of more than 1048576 frames");
}

TEST(PprofReader, no_damage_makes_it_do_more_than_throw) {
  const std::string good = write_pprof(named_profile(), {false});
  std::mt19937 random(3);
  size_t refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bad = good;
    for (uint32_t k = 0; k <= random() % 3; ++k) {
      bad[random() % bad.size()] = static_cast<char>(random());
    }
    if (random() % 4 == 0) {
      bad.resize(random() % bad.size());
    }
    refused += error_of_reading(bad).empty() ? 0 : 1;
  }
  EXPECT_GT(refused, 5000u);
  EXPECT_LT(refused, 20000u);
}

}  // namespace
}  // namespace memprof::profile
