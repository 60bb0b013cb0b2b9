// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/pprof_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <protozero/pbf_reader.hpp>

#include "format/pprof/pprof_schema.h"
#include "profile/files/gzip.h"
#include "profile/model/estimate.h"
#include "profile/model/metric.h"
#include "profile/model/sample_kind.h"
#include "profile/pprof/pprof_reader.h"
#include "tests/profile/foreign_pprof.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {

bool operator==(const Line& a, const Line& b) {
  return a.function == b.function && a.line == b.line;
}
// To the digits that packed statistics keep.
bool is_near(double a, double b, double part = 1e-12) {
  return std::abs(a - b) <= part * std::max(std::abs(a), std::abs(b));
}
}  // namespace memprof::profile

namespace memprof {  // where their type is
bool operator==(const SampleTotals& a, const SampleTotals& b) {
  return a.samples == b.samples && a.size_bytes == b.size_bytes &&
         profile::is_near(a.weight_bytes, b.weight_bytes) &&
         profile::is_near(a.weight_count, b.weight_count) &&
         profile::is_near(a.variance_bytes, b.variance_bytes, 2e-3) &&
         profile::is_near(a.variance_count, b.variance_count, 2e-3) &&
         profile::is_near(a.max_missed_bytes, b.max_missed_bytes) &&
         profile::is_near(a.max_missed_count, b.max_missed_count);
}
}  // namespace memprof

namespace memprof::profile {
bool operator==(const LiveGroup& a, const LiveGroup& b) {
  return a.size_bytes == b.size_bytes && a.rate_bytes == b.rate_bytes && a.samples == b.samples;
}

namespace {

void expect_same(const Profile& a, const Profile& b) {
  EXPECT_EQ(a.program, b.program);
  EXPECT_EQ(a.pid, b.pid);
  EXPECT_EQ(a.rate_bytes, b.rate_bytes);
  EXPECT_EQ(a.time_unix_ns, b.time_unix_ns);
  EXPECT_EQ(a.duration_ns, b.duration_ns);
  EXPECT_EQ(a.from_memprof, b.from_memprof);
  EXPECT_EQ(a.samples, b.samples);
  EXPECT_EQ(a.live_samples, b.live_samples);
  EXPECT_EQ(a.dropped_samples, b.dropped_samples);
  EXPECT_EQ(a.dropped_weight_bytes, b.dropped_weight_bytes);
  EXPECT_EQ(a.replaced_samples, b.replaced_samples);
  EXPECT_EQ(a.walks, b.walks);
  EXPECT_EQ(a.has_metric, b.has_metric);
  EXPECT_EQ(a.keep_frames, b.keep_frames);
  EXPECT_EQ(a.comments, b.comments);
  ASSERT_EQ(a.mappings.size(), b.mappings.size());
  for (size_t i = 0; i < a.mappings.size(); ++i) {
    const Mapping &x = a.mappings[i], &y = b.mappings[i];
    EXPECT_EQ(std::tie(x.start, x.limit, x.file_offset, x.path, x.build_id, x.has_functions, x.has_filenames,
                       x.has_line_numbers, x.has_inline_frames),
              std::tie(y.start, y.limit, y.file_offset, y.path, y.build_id, y.has_functions, y.has_filenames,
                       y.has_line_numbers, y.has_inline_frames));
  }
  ASSERT_EQ(a.functions.size(), b.functions.size());
  for (size_t i = 0; i < a.functions.size(); ++i) {
    const Function &x = a.functions[i], &y = b.functions[i];
    EXPECT_EQ(std::tie(x.name, x.system_name, x.filename, x.start_line),
              std::tie(y.name, y.system_name, y.filename, y.start_line));
  }
  ASSERT_EQ(a.locations.size(), b.locations.size());
  for (size_t i = 0; i < a.locations.size(); ++i) {
    const Location &x = a.locations[i], &y = b.locations[i];
    EXPECT_EQ(std::tie(x.address, x.mapping, x.is_folded, x.lines),
              std::tie(y.address, y.mapping, y.is_folded, y.lines));
  }
  ASSERT_EQ(a.stacks.size(), b.stacks.size());
  for (size_t i = 0; i < a.stacks.size(); ++i) {
    const Stack &x = a.stacks[i], &y = b.stacks[i];
    EXPECT_EQ(std::tie(x.locations, x.has_statistics, x.walk, x.live, x.allocated, x.freed),
              std::tie(y.locations, y.has_statistics, y.walk, y.live, y.allocated, y.freed));
    EXPECT_NEAR(x.lifetime_ns, y.lifetime_ns, 0.0005 * y.lifetime_ns);
    ASSERT_EQ(x.parts.size(), y.parts.size());
    for (size_t k = 0; k < x.parts.size(); ++k) {
      EXPECT_EQ(x.parts[k].values, y.parts[k].values);
      ASSERT_EQ(x.parts[k].labels.size(), y.parts[k].labels.size());
      for (size_t l = 0; l < x.parts[k].labels.size(); ++l) {
        const Label &p = x.parts[k].labels[l], &q = y.parts[k].labels[l];
        EXPECT_EQ(std::tie(p.key, p.text, p.number, p.unit), std::tie(q.key, q.text, q.number, q.unit));
      }
    }
  }
}

TEST(PprofWriter, reading_gives_back_what_was_written) {
  const Profile profile = named_profile();
  const std::string bytes = write_pprof(profile);
  const Profile again = read_pprof(bytes, "x");
  expect_same(again, profile);
  EXPECT_EQ(write_pprof(again), bytes);
  // The model that was built by hand has no rounded values yet: they are the estimates, to one unit a sample.
  for (size_t i = 0; i < profile.stacks.size(); ++i) {
    for (const Metric metric : kMetrics) {
      EXPECT_NEAR(again.stacks[i].values[metric_index(metric)], estimated_value(profile.stacks[i], metric),
                  2);
    }
  }
}

TEST(PprofWriter, what_is_in_memory_of_blocks_stays_with_their_stack) {
  Profile profile = named_profile();
  profile.has_metric[metric_index(Metric::kResidentSpace)] = true;
  double whole = 0;
  for (size_t i = 0; i < profile.stacks.size(); ++i) {
    profile.stacks[i].values[metric_index(Metric::kResidentSpace)] = static_cast<double>(1000 * i);
    profile.stacks[i].values[metric_index(Metric::kResidentObjects)] = static_cast<double>(i);
    whole += static_cast<double>(1000 * i);
  }
  ASSERT_GT(whole, 0);
  const std::string bytes = write_pprof(profile);
  const Profile again = read_pprof(bytes, "x");
  EXPECT_TRUE(again.has_metric[metric_index(Metric::kResidentObjects)]);
  for (size_t i = 0; i < profile.stacks.size(); ++i) {
    EXPECT_EQ(again.stacks[i].values[metric_index(Metric::kResidentSpace)], static_cast<double>(1000 * i));
    EXPECT_EQ(again.stacks[i].values[metric_index(Metric::kResidentObjects)], static_cast<double>(i));
    EXPECT_TRUE(again.stacks[i].has_statistics);
  }
  EXPECT_EQ(write_pprof(again), bytes);
  // A file without it does not have it after it was read.
  profile.has_metric[metric_index(Metric::kResidentSpace)] = false;
  EXPECT_FALSE(read_pprof(write_pprof(profile), "x").has_metric[metric_index(Metric::kResidentSpace)]);
}

// By id - 1: the indices of a function's name and system name in the string table.
std::vector<std::pair<uint64_t, uint64_t>> names_in_file(const std::string& bytes) {
  std::vector<std::pair<uint64_t, uint64_t>> names;
  protozero::pbf_reader file(bytes);
  while (file.next(schema::profile_field::kFunction)) {
    protozero::pbf_reader function = file.get_message();
    auto& [name, system_name] = names.emplace_back();
    while (function.next()) {
      if (function.tag() == schema::function_field::kName) {
        name = function.get_uint64();
      } else if (function.tag() == schema::function_field::kSystemName) {
        system_name = function.get_uint64();
      } else {
        function.skip();
      }
    }
  }
  return names;
}

// pprof cuts `<...>` and `(...)` out of names whose system name is the same, and shows any other.
TEST(PprofWriter, a_name_that_pprof_would_cut_has_no_system_name_in_the_file) {
  Profile profile = named_profile();
  const size_t first = profile.functions.size();
  for (const char* name : {"<module>", "f(int)", "main"})
    profile.functions.push_back({name, name, "x.py", 1});
  profile.functions.push_back({"f<int>(int)", "_Z1fIiEvi", "x.cc", 1});
  PprofWriteOptions options;
  options.gzip = false;
  const std::string bytes = write_pprof(profile, options);
  const auto names = names_in_file(bytes);
  ASSERT_EQ(names.size(), first + 4);
  EXPECT_EQ(names[first].second, 0u);
  EXPECT_EQ(names[first + 1].second, 0u);
  EXPECT_EQ(names[first + 2].second, names[first + 2].first);
  EXPECT_NE(names[first + 3].second, 0u);
  expect_same(read_pprof(bytes, "x"), profile);
}

TEST(PprofWriter, a_profile_by_others_keeps_its_values_labels_and_types) {
  Profile profile = named_profile();
  profile.from_memprof = false;
  profile.program.clear();
  profile.pid = profile.samples = profile.live_samples = 0;
  profile.walks = {};
  profile.has_metric = {false, false, true, true};
  profile.drop_frames = "runtime\\..*";
  profile.doc_url = "https://example.org/profiles";
  profile.keep_frames = "main";
  profile.locations[1].is_folded = true;
  for (Stack& stack : profile.stacks) {
    const std::vector<uint32_t> locations = stack.locations;
    stack = Stack();
    stack.locations = locations;
  }
  profile.stacks[0].values = {0, 0, 12, -900};
  profile.stacks[0].parts = {{{{"bytes", "", 75, "bytes"}, {"thread", "worker", 0, ""}}, {0, 0, 12, -900}}};
  profile.stacks[1].values = {0, 0, 7, 1 << 20};
  const Profile again = read_pprof(write_pprof(profile), "x");
  expect_same(again, profile);
  EXPECT_EQ(again.drop_frames, "runtime\\..*");
  EXPECT_EQ(again.doc_url, "https://example.org/profiles");
  EXPECT_EQ(again.stacks[0].values, profile.stacks[0].values);
  EXPECT_EQ(again.stacks[1].values, profile.stacks[1].values);
}

TEST(PprofWriter, flags_are_true_only_where_something_is_there) {
  Profile profile = named_profile();
  for (Mapping& mapping : profile.mappings) {
    mapping.has_functions = mapping.has_filenames = mapping.has_line_numbers = mapping.has_inline_frames =
        true;
  }
  profile.locations[0].lines.pop_back();  // the only inlined one
  for (Function& function : profile.functions) {
    function.filename.clear();
  }
  const Profile again = read_pprof(write_pprof(profile), "x");
  EXPECT_TRUE(again.mappings[0].has_functions);
  EXPECT_FALSE(again.mappings[0].has_filenames);
  EXPECT_TRUE(again.mappings[0].has_line_numbers);
  EXPECT_FALSE(again.mappings[0].has_inline_frames);
  EXPECT_FALSE(again.mappings[1].has_functions);
}

TEST(PprofWriter, plain_or_packed_it_is_the_same_profile) {
  const std::string plain = write_pprof(named_profile(), {false});
  EXPECT_FALSE(is_gzip(plain));
  EXPECT_EQ(gunzip(write_pprof(named_profile()), "x", 1 << 30), plain);
  EXPECT_EQ(write_pprof(named_profile()), write_pprof(named_profile()));
}

TEST(PprofWriter, sample_types_stand_as_viewers_expect_them) {
  const std::string bytes = write_pprof(named_profile(), {false});
  std::vector<std::string> strings;
  std::vector<std::pair<uint64_t, uint64_t>> types;
  uint64_t default_type = 0, period = 0;
  protozero::pbf_reader reader(bytes);
  while (reader.next()) {
    if (reader.tag() == 6) {
      strings.push_back(reader.get_string());
    } else if (reader.tag() == 1 || reader.tag() == 11) {
      protozero::pbf_reader type = reader.get_message();
      uint64_t fields[3] = {};
      while (type.next()) {
        fields[type.tag()] = type.get_uint64();
      }
      types.emplace_back(fields[1], fields[2]);
    } else if (reader.tag() == 14) {
      default_type = reader.get_uint64();
    } else if (reader.tag() == 12) {
      period = reader.get_uint64();
    } else {
      reader.skip();
    }
  }
  std::string text;
  for (const auto& [type, unit] : types) {
    text += strings.at(type) + "/" + strings.at(unit) + " ";
  }
  EXPECT_EQ(text,
            "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes peak_objects/count "
            "peak_space/bytes space/bytes ");
  EXPECT_EQ(strings.at(default_type), "inuse_space");
  EXPECT_EQ(period, kTestRate);
}

TEST(PprofWriter, viewers_open_on_the_metric_that_was_asked_for) {
  PprofWriteOptions options;
  options.gzip = false;
  options.metric = Metric::kAllocSpace;
  const std::string bytes = write_pprof(named_profile(), options);
  protozero::pbf_reader reader(bytes);
  ASSERT_TRUE(reader.next(schema::profile_field::kDefaultSampleType));
  EXPECT_EQ(reader.get_uint64(), schema::kAllocSpace);
}

// Totals of the file stay what they are, and what reads it finds its statistics.
TEST(PprofWriter, a_stack_of_very_many_sizes_shares_samples) {
  Profile profile = named_profile();
  for (uint64_t size = 20000; size < 60000; size += 7)
    profile.stacks[0].live.push_back({size, kTestRate, 1 + size % 2});
  PprofWriteOptions options;
  options.gzip = false;
  const std::string whole = write_pprof(profile, options);
  options.shares_sizes = true;
  const std::string shared = write_pprof(profile, options);
  EXPECT_LT(shared.size(), whole.size() / 8);
  const Profile first = read_pprof(whole, "x");
  const Profile second = read_pprof(shared, "x");
  EXPECT_LT(second.stacks[0].live.size(), 250u);
  for (const Metric metric : kMetrics) {
    double expected = 0, sum = 0;  // of the integers that other viewers read
    for (const Stack& stack : first.stacks) expected += stack.values[metric_index(metric)];
    for (const Stack& stack : second.stacks) sum += stack.values[metric_index(metric)];
    EXPECT_EQ(sum, expected) << metric_name(metric);
    EXPECT_NEAR(estimated_total(second, metric), estimated_total(profile, metric),
                0.6 + 1e-6 * estimated_total(profile, Metric::kInuseObjects));
  }
  for (const Stack& stack : second.stacks) EXPECT_TRUE(stack.has_statistics);
}

// An increment (memprof export --since) has such stacks.
TEST(PprofWriter, a_stack_that_allocated_nothing_keeps_its_peak) {
  Profile profile = named_profile();
  Stack& stack = profile.stacks[0];
  stack.allocated = stack.freed = {};
  stack.lifetime_ns = 0;
  stack.lifetimes.clear();
  stack.births.clear();
  ASSERT_GT(stack.peak.samples, 0u);
  ASSERT_FALSE(stack.live.empty());
  const Profile again = read_pprof(write_pprof(profile), "x");
  for (const Metric metric : {Metric::kPeakObjects, Metric::kPeakSpace, Metric::kInuseSpace}) {
    EXPECT_NEAR(estimated_total(again, metric), estimated_total(profile, metric), 1e-3)
        << metric_name(metric);
  }
}

// What was the smallest block of a peak can be gone from it: what most was missed of is not there any more.
TEST(PprofWriter, a_part_of_a_block_that_was_missed_stays) {
  Profile profile = named_profile();
  Totals& peak = profile.stacks[0].peak;
  peak = totals_of({16128, 2 * kTestRate, 1}, 1);
  peak.weight_count = 1.02;
  peak.weight_bytes = 1.02 * 16128;
  peak.variance_count = 1.02 * 0.02;
  peak.variance_bytes = peak.variance_count * 16128 * 16128;
  peak.max_missed_count = 7.5;
  peak.max_missed_bytes = 7.5 * 300;
  Accumulator before, after;
  before.add(profile.stacks[0]);
  const Profile again = read_pprof(write_pprof(profile), "x");
  after.add(again.stacks[0]);
  EXPECT_NEAR(before.value(Metric::kPeakObjects), 1.02, 1e-9);
  EXPECT_NEAR(after.value(Metric::kPeakObjects), 1.02, 1e-9);
  EXPECT_EQ(write_pprof(read_pprof(write_pprof(again), "x")), write_pprof(again));
}

TEST(PprofWriter, heaps_stay_apart) {
  Profile profile = named_profile();
  Stack pool = profile.stacks[0];
  pool.heap = "pool:a";
  pool.live = {{64, kTestRate, 2}};
  profile.stacks.push_back(pool);
  pool.heap = "pool:b";
  pool.has_statistics = true;
  profile.stacks.push_back(pool);
  const Profile again = read_pprof(write_pprof(profile), "again");
  ASSERT_EQ(again.stacks.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(again.stacks[i].heap, profile.stacks[i].heap);
    EXPECT_TRUE(again.stacks[i].has_statistics) << i;
    EXPECT_EQ(again.stacks[i].allocated.samples, profile.stacks[i].allocated.samples);
    EXPECT_EQ(again.stacks[i].live.size(), profile.stacks[i].live.size());
  }
}

TEST(PprofWriter, a_heap_without_statistics_keeps_its_label) {
  Profile profile = named_profile();
  profile.from_memprof = false;
  Stack stack;
  stack.locations = {1};
  stack.heap = "pool:a";
  stack.values = {1, 2, 3, 4};
  profile.stacks = {stack};
  stack.heap = "pool:b";
  stack.parts = {{{{"key", "text", 0, ""}}, {1, 1, 1, 1}}, {{}, {0, 1, 2, 3}}};
  profile.stacks.push_back(stack);
  const Profile again = read_pprof(write_pprof(profile), "again");
  ASSERT_EQ(again.stacks.size(), 2u);
  EXPECT_EQ(again.stacks[0].heap, "pool:a");
  EXPECT_EQ(again.stacks[0].values, profile.stacks[0].values);
  EXPECT_EQ(again.stacks[1].heap, "pool:b");
  ASSERT_EQ(again.stacks[1].parts.size(), 2u);
  EXPECT_EQ(again.stacks[1].parts[0].labels[0].key, "key");
}

}  // namespace
}  // namespace memprof::profile
