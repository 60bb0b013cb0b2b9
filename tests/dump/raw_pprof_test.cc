// SPDX-License-Identifier: Apache-2.0
#include "dump/raw_pprof.h"

#include <gtest/gtest.h>

#include "format/pprof/comments.h"
#include "format/pprof/sample_writer.h"
#include "platform/stack.h"
#include "profile/model/metric.h"
#include "profile/names/frame_name.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/pprof/pprof_writer.h"
#include "tests/dump/raw_fixture.h"

namespace memprof::profile {
namespace {

TEST(RawPprof, frames_that_were_left_out_are_a_location_with_a_name) {
  RawFixture raw;
  const uint64_t frames[] = {0x401235, kFramesLeftOut, 0x402001};
  raw.stacks[0].frames = frames;
  raw.stacks[0].walk = 5;
  const std::string written = write_raw(raw.profile);
  // Also when it went through the writer outside the process.
  for (const std::string& bytes : {written, write_pprof(read_pprof(written, "raw"))}) {
    const Profile profile = read_pprof(bytes, "raw");
    const Stack& stack = profile.stacks[0];
    EXPECT_TRUE(stack.has_statistics);
    EXPECT_EQ(stack.walk, Walk::kMiddleLeftOut);
    EXPECT_FALSE(is_cut(stack)) << "its root is there";
    ASSERT_EQ(stack.locations.size(), 3u);
    const Location& location = profile.locations[stack.locations[1]];
    EXPECT_EQ(location.mapping, kNoMapping);
    EXPECT_EQ(location_frames(profile, location)[0].name, "[frames left out]");
    for (const size_t i : {0, 2}) {
      EXPECT_TRUE(profile.locations[stack.locations[i]].lines.empty());
      EXPECT_EQ(profile.locations[stack.locations[i]].mapping, 0u);
    }
  }
}

TEST(RawPprof, stacks_of_older_ones_keep_their_statistics) {
  RawFixture raw;
  const uint64_t frames[] = {0x401235, platform::kOlderStacks, 0x402001};
  raw.stacks[0].frames = frames;
  const std::string written = write_raw(raw.profile);
  for (const std::string& bytes : {written, write_pprof(read_pprof(written, "raw"))}) {
    const Profile profile = read_pprof(bytes, "raw");
    const Stack& stack = profile.stacks[0];
    EXPECT_TRUE(stack.has_statistics) << "its comment was not found";
    EXPECT_EQ(location_frames(profile, profile.locations[stack.locations[1]])[0].name, "[older stacks]");
  }
}

TEST(RawPprof, what_of_mappings_was_not_measured_is_not_there) {
  RawFixture raw;
  const int64_t mapped[] = {3, 12288, 1, 4096};
  std::copy(std::begin(mapped), std::end(mapped), raw.stacks[0].mapped);
  for (const bool is_measured : {false, true}) {
    raw.profile.mapped_count = schema::mapped_count(true, is_measured);
    const std::string written = write_raw(raw.profile);
    for (const std::string& bytes : {written, write_pprof(read_pprof(written, "raw"))}) {
      const Profile profile = read_pprof(bytes, "raw");
      for (size_t i = 0; i < std::size(mapped); ++i) {
        const size_t metric = metric_index(Metric::kMappedObjects) + i;
        EXPECT_EQ(profile.has_metric[metric], i < 2 || is_measured);
        EXPECT_EQ(profile.stacks[0].values[metric],
                  i < 2 || is_measured ? static_cast<double>(mapped[i]) : 0);
      }
    }
  }
}

TEST(RawPprof, rates_are_read_back) {
  RawFixture raw;
  const RateUse uses[] = {{4096, 100, 7}, {8192, 50, UINT64_MAX}};
  raw.profile.rates = uses;
  raw.profile.rate_count = 1;
  EXPECT_TRUE(read_pprof(write_raw(raw.profile), "raw").rates.empty()) << "one rate is the period";
  raw.profile.rate_count = 2;
  const std::string written = write_raw(raw.profile);
  for (const std::string& bytes : {written, write_pprof(read_pprof(written, "raw"))}) {
    const Profile profile = read_pprof(bytes, "raw");
    ASSERT_EQ(profile.rates.size(), 2u);
    EXPECT_EQ(profile.rates[0].rate_bytes, 4096u);
    EXPECT_EQ(profile.rates[0].weight_bytes, 100u);
    EXPECT_EQ(profile.rates[1].time_ns, UINT64_MAX);
  }
}

TEST(RawPprof, runtime_frames_are_functions_with_lines) {
  RawFixture raw;
  const char f[] = "Class.f";
  const char file[] = "/x/y.py";
  const RawRuntimeFrame runtime[] = {{f, file, 12, 10}, {f, file, 14, 10}, {"<module>", file, 1, 1}};
  raw.profile.runtime_frames = runtime;
  raw.profile.runtime_frame_count = 3;
  raw.profile.runtimes[0].version = 0x030c;
  raw.profile.runtimes[0].objects = 1;
  raw.profile.runtimes[0].stacks = 2;
  raw.profile.runtimes[3] = {0x0102, 3, 4, "A 100% toy"};
  const uint64_t frames[] = {0x401235, kRuntimeFrame | 0, kRuntimeFrame | 1, kRuntimeFrame | 2, 0x402001};
  raw.stacks[0].frames = frames;
  raw.stacks[0].depth = 5;
  const std::string written = write_raw(raw.profile);
  for (const std::string& bytes : {written, write_pprof(read_pprof(written, "raw"))}) {
    const Profile profile = read_pprof(bytes, "raw");
    const Stack& stack = profile.stacks[0];
    EXPECT_TRUE(stack.has_statistics) << "its comment was not found";
    EXPECT_EQ(profile.runtimes[0].version, 0x030cu);
    EXPECT_EQ(profile.runtimes[0].objects, 1u);
    EXPECT_EQ(profile.runtimes[0].stacks, 2u);
    EXPECT_EQ(profile.runtimes[0].name, "");
    EXPECT_EQ(profile.runtimes[1].version, 0u);
    EXPECT_EQ(profile.runtimes[3].version, 0x0102u);
    EXPECT_EQ(profile.runtimes[3].objects, 3u);
    EXPECT_EQ(profile.runtimes[3].stacks, 4u);
    EXPECT_EQ(profile.runtimes[3].name, "A 100% toy");
    ASSERT_EQ(stack.locations.size(), 5u);
    const auto line_at = [&](size_t i) {
      const Location& location = profile.locations[stack.locations[i]];
      EXPECT_EQ(location.address, 0u);
      EXPECT_EQ(location.mapping, kNoMapping);
      return location.lines.at(0);
    };
    EXPECT_EQ(line_at(1).function, line_at(2).function);
    EXPECT_EQ(profile.functions[line_at(1).function].name, f);
    EXPECT_EQ(profile.functions[line_at(1).function].filename, file);
    EXPECT_EQ(profile.functions[line_at(1).function].start_line, 10);
    EXPECT_EQ(line_at(1).line, 12);
    EXPECT_EQ(line_at(2).line, 14);
    EXPECT_EQ(profile.functions[line_at(3).function].name, "<module>");
    EXPECT_EQ(profile.functions[line_at(3).function].system_name, "<module>");
  }
}

TEST(RawPprof, everything_comes_back) {
  const RawFixture raw;
  const Profile profile = read_pprof(write_raw(raw.profile), "raw");
  EXPECT_TRUE(profile.from_memprof);
  EXPECT_EQ(profile.program, "my server 100%");
  EXPECT_EQ(profile.pid, 4711u);
  EXPECT_EQ(profile.rate_bytes, kTestRate);
  EXPECT_EQ(profile.time_unix_ns, 1700000000123456789u);
  EXPECT_EQ(profile.duration_ns, 5000000000u);
  EXPECT_EQ(profile.samples, 116u);
  EXPECT_EQ(profile.live_samples, 76u);
  EXPECT_EQ(profile.dropped_samples, 3u);
  EXPECT_EQ(profile.dropped_weight_bytes, 1572864u);
  EXPECT_EQ(profile.replaced_samples, 2u);
  EXPECT_EQ(profile.muted_bytes, 77u);
  EXPECT_EQ(profile.folded_stacks, 78u);
  EXPECT_EQ(profile.thinned_samples, 79u);
  EXPECT_EQ(profile.load.bytes, raw.profile.load.bytes);
  EXPECT_EQ(profile.load.at_ns[5], raw.profile.load.at_ns[5]);
  EXPECT_EQ(profile.load.end_ns(), raw.profile.load.end_ns());
  EXPECT_EQ(profile.walks, (std::array<uint64_t, kWalkReasons>{10, 11, 12, 13, 14, 15}));
  ASSERT_EQ(profile.mappings.size(), 2u);
  EXPECT_EQ(profile.mappings[0].path, "/bin/server");
  EXPECT_EQ(profile.mappings[0].build_id, "deadbeef000102030405060708090a0b0c0d0eff");
  EXPECT_EQ(profile.mappings[0].file_offset, 0x1000u);
  EXPECT_FALSE(profile.mappings[0].has_functions);
  EXPECT_EQ(profile.mappings[1].build_id, "");
  ASSERT_EQ(profile.locations.size(), 5u);  // one address is in two stacks
  EXPECT_EQ(profile.locations[0].address, 0x401234u);
  EXPECT_EQ(profile.locations[0].mapping, 0u);
  EXPECT_EQ(profile.locations[2].mapping, 1u);
  EXPECT_EQ(profile.locations[4].mapping, kNoMapping);
  EXPECT_EQ(profile.drop_frames.substr(0, 7), "malloc|");
  ASSERT_EQ(profile.stacks.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const Stack& stack = profile.stacks[i];
    const RawStack& from = raw.stacks[i];
    ASSERT_TRUE(stack.has_statistics) << i;
    EXPECT_TRUE(stack.parts.empty());
    EXPECT_EQ(static_cast<uint32_t>(stack.walk), from.walk);
    EXPECT_EQ(stack.locations.size(), from.depth);
    EXPECT_EQ(stack.allocated.samples, from.allocated.samples);
    EXPECT_EQ(stack.allocated.size_bytes, from.allocated.size_bytes);
    EXPECT_EQ(stack.allocated.weight_bytes, from.allocated.weight_bytes);
    EXPECT_EQ(stack.allocated.weight_count, from.allocated.weight_count);
    EXPECT_EQ(stack.allocated.variance_bytes, from.allocated.variance_bytes);
    EXPECT_EQ(stack.allocated.variance_count, from.allocated.variance_count);
    EXPECT_EQ(stack.allocated.max_missed_bytes, from.allocated.max_missed_bytes);
    EXPECT_EQ(stack.allocated.max_missed_count, from.allocated.max_missed_count);
    EXPECT_EQ(stack.freed.samples, from.freed.samples);
    EXPECT_EQ(stack.freed.size_bytes, from.freed.size_bytes);
    EXPECT_EQ(stack.freed.weight_bytes, from.freed.weight_bytes);
    EXPECT_EQ(stack.freed.weight_count, from.freed.weight_count);
    EXPECT_EQ(stack.lifetime_ns, from.lifetime_ns);
    ASSERT_EQ(stack.load_births.size(), from.load_births.count);
    for (size_t k = 0; k < from.load_births.count; ++k) {
      EXPECT_EQ(stack.load_births[k].part, from.load_births.first[k].part);
      EXPECT_EQ(stack.load_births[k].weight_count, from.load_births.first[k].weight_count);
    }
    ASSERT_EQ(stack.births.size(), from.births.count);
    for (size_t k = 0; k < from.births.count; ++k) {
      EXPECT_EQ(stack.births[k].part, from.births.first[k].part);
      EXPECT_EQ(stack.births[k].samples, from.births.first[k].samples);
      EXPECT_EQ(stack.births[k].weight_bytes, from.births.first[k].weight_bytes);
      EXPECT_EQ(stack.births[k].weight_count, from.births.first[k].weight_count);
    }
    ASSERT_EQ(stack.lifetimes.size(), from.lifetimes.count);
    for (size_t k = 0; k < from.lifetimes.count; ++k) {
      const Lifetime& lifetime = from.lifetimes.first[k];
      EXPECT_EQ(stack.lifetimes[k].lifetime_class, lifetime.lifetime_class);
      EXPECT_EQ(stack.lifetimes[k].samples, lifetime.samples);
      EXPECT_EQ(stack.lifetimes[k].size_bytes, lifetime.size_bytes);
      EXPECT_NEAR(stack.lifetimes[k].weight_bytes, lifetime.weight_bytes, 1e-7 * lifetime.weight_bytes);
      EXPECT_NEAR(stack.lifetimes[k].weight_count, lifetime.weight_count, 1e-7 * lifetime.weight_count);
    }
  }
  std::vector<LiveGroup> live;
  for (const Stack& stack : profile.stacks) {
    live.insert(live.end(), stack.live.begin(), stack.live.end());
  }
  ASSERT_EQ(live.size(), raw.live.size());
  for (size_t i = 0; i < live.size(); ++i) {
    EXPECT_EQ(live[i].size_bytes, raw.live[i].size_bytes) << i;
    EXPECT_EQ(live[i].rate_bytes, raw.live[i].rate_bytes) << i;
    EXPECT_EQ(live[i].samples, raw.live[i].samples) << i;
  }
}

// A library was unloaded, and another one came to its addresses: stacks of equal addresses stay two, each
// with its statistics, through the writer in the process, the reader, and the writer outside.
TEST(RawPprof, modules_that_overlap_keep_their_stacks_apart) {
  RawFixture raw;
  raw.modules.push_back({0x7f0000000000, 0x7f0000100000, 0, "/lib/after.so", nullptr, 0});
  const uint32_t before[] = {0, 0, 1};
  const uint32_t after[] = {0, 0, 2};
  raw.stacks[0].modules = before;
  raw.stacks.push_back(raw.stacks[0]);
  raw.stacks[3].modules = after;
  raw.stacks[3].allocated = {};
  add_samples(raw.stacks[3].allocated, 4096, 7);
  raw.point();
  Profile profile = read_pprof(write_raw(raw.profile), "raw");
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(profile.stacks.size(), 4u);
    ASSERT_EQ(profile.mappings.size(), 3u);
    for (const size_t i : {0, 3}) {
      const Stack& stack = profile.stacks[i];
      const Location& root = profile.locations[stack.locations[2]];
      EXPECT_EQ(root.address, 0x7f0000001000u);
      EXPECT_EQ(profile.mappings[root.mapping].path, i == 0 ? "/lib/libc.so.6" : "/lib/after.so");
      ASSERT_TRUE(stack.has_statistics) << i;
      EXPECT_EQ(stack.allocated.samples, raw.stacks[i].allocated.samples);
    }
    profile = read_pprof(write_pprof(profile), "again");
  }
}

TEST(RawPprof, the_writer_outside_writes_the_same_samples) {
  // The same meaning through different code: a difference in order, labels or rounding would show here.
  const RawFixture raw;
  const Profile first = read_pprof(write_raw(raw.profile), "raw");
  const std::string once = write_pprof(first);
  const Profile second = read_pprof(once, "again");
  ASSERT_EQ(second.stacks.size(), first.stacks.size());
  for (size_t i = 0; i < first.stacks.size(); ++i) {
    EXPECT_TRUE(second.stacks[i].has_statistics);
    EXPECT_EQ(second.stacks[i].values, first.stacks[i].values);
    EXPECT_EQ(second.stacks[i].locations, first.stacks[i].locations);
    EXPECT_EQ(second.stacks[i].live.size(), first.stacks[i].live.size());
  }
  EXPECT_EQ(write_pprof(second), once);
}

TEST(RawPprof, sums_of_rounded_values_are_right_to_one_unit) {
  RawFixture raw;
  raw.live.clear();
  double blocks = 0, bytes = 0;
  for (int i = 0; i < 3000; ++i) {  // 1 / (1 - 1/e) blocks each: rounding each for itself would lose a third
    raw.add_live(0, kTestRate + i, kTestRate, 1);
    blocks += raw.live.back().weight_count;
    bytes += raw.live.back().weight_bytes;
  }
  raw.point();
  const Profile profile = read_pprof(write_raw(raw.profile), "raw");
  const Stack& stack = profile.stacks[0];
  EXPECT_NEAR(stack.values[metric_index(Metric::kInuseObjects)], blocks, 1);
  EXPECT_NEAR(stack.values[metric_index(Metric::kInuseSpace)], bytes, 1);
  EXPECT_GT(blocks, 4700);
  EXPECT_TRUE(stack.has_statistics);
  EXPECT_EQ(stack.live.size(), 3000u);
}

TEST(LocationKeys, name_the_mapping_where_the_address_does_not) {
  const RawModule modules[] = {{0x1000, 0x3000}, {0x2000, 0x4000}, {0x5000, 0x6000}};
  const LocationKeys<RawModule> keys(modules, 3);
  EXPECT_TRUE(keys.overlap());
  EXPECT_EQ(keys.key(0x2500, 0), 0x2500u);
  EXPECT_EQ(keys.key(0x3500, 1), 0x3500u);  // in no other one
  EXPECT_EQ(keys.key(0x5500, 2), 0x5500u);
  EXPECT_EQ(keys.key(0x2500, UINT32_MAX), 0x2500u);  // in none
  const uint64_t key = keys.key(0x2500, 1);
  EXPECT_EQ(key, 0x0002000000002500u);
  EXPECT_EQ(keys.mapping_id(key), 2u);
  EXPECT_EQ(keys.address(key), 0x2500u);
  EXPECT_EQ(keys.mapping_id(0x2500), 0u);
  const LocationKeys<RawModule> apart(modules + 1, 2);
  EXPECT_FALSE(apart.overlap());
  EXPECT_EQ(apart.key(0x2500, 1), 0x2500u);
  EXPECT_EQ(apart.address(0xffff800000001000u), 0xffff800000001000u);  // any address is one
}

TEST(StackId, is_fnv_1a) {
  StackId id;
  EXPECT_EQ(id.value(), 0xcbf29ce484222325u);
  id.add(0x61);                            // 'a', then seven zeros
  uint64_t expected = 0xaf63dc4c8601ec8c;  // of "a", from the reference
  for (int i = 0; i < 7; ++i) {
    expected *= 0x100000001b3;
  }
  EXPECT_EQ(id.value(), expected);
}

TEST(StackId, of_stacks_together_is_the_one_of_each_alone) {
  const std::vector<std::vector<uint64_t>> all = {{1, 2, 3}, {uint64_t{1} << 63, 2}, {7, 8, 9, 10}, {}, {4}};
  for (size_t first = 0; first < all.size(); ++first) {
    for (size_t count = 1; count <= StackId::kTogether && first + count <= all.size(); ++count) {
      StackId ids[StackId::kTogether];
      StackId::add_locations(
          ids, count, [&](size_t row) { return all[first + row].size(); },
          [&](size_t row, size_t i) { return all[first + row][i]; });
      for (size_t row = 0; row < count; ++row) {
        StackId alone;
        for (const uint64_t key : all[first + row]) alone.add(key);
        EXPECT_EQ(ids[row].value(), alone.value()) << first << " " << row << " of " << count;
      }
    }
  }
}

TEST(CarriedRounding, survives_what_is_not_a_number) {
  CarriedRounding rounding;
  EXPECT_EQ(rounding.round(NAN), 0);
  EXPECT_EQ(rounding.round(-INFINITY), 0);
  EXPECT_EQ(rounding.round(INFINITY), INT64_MAX);
  EXPECT_EQ(rounding.round(0x1p62), int64_t{1} << 62);
  EXPECT_EQ(rounding.round(0.4), 0);
  EXPECT_EQ(rounding.round(0.4), 1);
  EXPECT_EQ(rounding.round(0.1), 0);  // 0.2 too much was given, 0.1 of it is taken back
  EXPECT_EQ(rounding.round(0.5), 0);
  EXPECT_EQ(rounding.round(0.2), 1);
}

TEST(RawPprof, heaps_of_one_stack_come_back_apart) {
  RawFixture raw;
  raw.stacks.push_back(raw.stacks[0]);
  raw.stacks.push_back(raw.stacks[0]);
  raw.stacks[0].heap = 1;
  raw.stacks[3].heap = 2;
  raw.stacks[4].heap = 3;  // without a name
  raw.add_live(3, 64, kTestRate, 7);
  raw.add_live(4, 64, kTestRate, 8);
  raw.point();
  const char* const names[] = {"", "pool:a", "pool:b", ""};
  raw.profile.heaps = names;
  raw.profile.heap_count = 4;
  const Profile profile = read_pprof(write_raw(raw.profile), "raw");
  ASSERT_EQ(profile.stacks.size(), 5u);
  const char* const expected[] = {"pool:a", "", "", "pool:b", ""};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(profile.stacks[i].heap, expected[i]);
    ASSERT_TRUE(profile.stacks[i].has_statistics) << i;
    EXPECT_EQ(profile.stacks[i].allocated.samples, raw.stacks[i].allocated.samples);
  }
  EXPECT_EQ(profile.stacks[0].live[0].samples, 60u);
  EXPECT_EQ(profile.stacks[3].live[0].samples, 7u);
  EXPECT_EQ(profile.stacks[4].live[0].samples, 8u);
}

}  // namespace
}  // namespace memprof::profile
