// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/leaks_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "profile/text/markup/json_text.h"
#include "tests/profile/leaks/simulation.h"

namespace memprof::profile {
namespace {

using leak_simulation::Simulation;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Made {
  Leaks leaks;
  Report report;
};

Made make(Simulation& s, const LeakOptions& options = {}) {
  ReportOptions header;
  header.has_table = false;
  header.filter = options.filter;
  return {find_leaks({{"x", s.profile()}}, options), build_report(s.profile(), header)};
}

void leak(Simulation& s) {
  for (int i = 0; i < 600; ++i) s.block("append(Event)", 1 << 20, i + 0.5);
}
void start(Simulation& s) {
  for (int i = 0; i < 50; ++i) s.block("load_tables", 1 << 20, 1);
  s.block("once", 1 << 20, 300);
}

TEST(LeaksReport, says_who_called_native_code) {
  Simulation s(600, 0, 1);
  leak(s);
  start(s);
  Made made = make(s);
  made.leaks.rows[0].caller = FrameGroup{"thumbnail", "server.js", 15, "", ""};
  EXPECT_THAT(
      leaks_text(made.leaks, made.report, {}),
      HasSubstr("1. append(Event)  program.cc:1\n   called by thumbnail  server.js:15\n   no block of"));
  const auto json = json_from_text(leaks_json(made.leaks, made.report, {}));
  EXPECT_EQ(json["rows"][0]["caller"],
            (nlohmann::json{{"name", "thumbnail"}, {"file", "server.js"}, {"line", 15}}));
  EXPECT_TRUE(json["rows"][1]["caller"].is_null());
}

TEST(LeaksReport, begins_with_the_answer) {
  Simulation s(600, 0, 1);
  leak(s);
  start(s);
  const Made made = make(s);
  const std::string text = leaks_text(made.leaks, made.report, {});
  EXPECT_THAT(text, StartsWith("1 suspect among 3 places: 60.0 MiB a minute (95 %: 55.3 MiB to 65.0 MiB).\n\n"
                               "1. append(Event)  program.cc:1\n"
                               "   no block of this place was freed, since the start: 60.0 MiB a minute"));
  EXPECT_THAT(text, HasSubstr("50.0 MiB    start  load_tables  program.cc:1\n"));
  EXPECT_THAT(text, HasSubstr("start:   allocated in the first quarter"));
  EXPECT_THAT(text, HasSubstr("unknown: not enough data"));
  EXPECT_THAT(text, Not(HasSubstr("level:")));
  EXPECT_THAT(text, HasSubstr("server (pid 4711), 10 min after its start; rate 0 B; live: 651.0 MiB."));
  LeakRows rows;
  rows.has_reasons = true;
  const std::string why = leaks_text(made.leaks, made.report, rows);
  EXPECT_THAT(why, HasSubstr("start: load_tables  program.cc:1\n   allocated in the first 37.5 s and kept"));
  EXPECT_THAT(why, HasSubstr("1 live sample is too few to tell; 1.0 MiB live."));
  rows.max = 1;
  EXPECT_THAT(leaks_text(made.leaks, made.report, rows),
              HasSubstr("1 of 2 other places shown; -n 2 shows all."));
}

TEST(LeaksReport, says_where_there_is_no_suspect_or_no_data) {
  Simulation none(600, 0, 1);
  EXPECT_THAT(leaks_text(make(none).leaks, make(none).report, {}),
              StartsWith("No suspect: no place holds memory."));
  Simulation few(600, 0, 1);
  few.block("once", 1 << 20, 300);
  EXPECT_THAT(leaks_text(make(few).leaks, make(few).report, {}),
              StartsWith("Not enough data: 1 place holds memory, none with enough samples for a verdict."));
  Simulation level(600, 0, 1);
  start(level);
  EXPECT_THAT(
      leaks_text(make(level).leaks, make(level).report, {}),
      StartsWith("No suspect: 1 place holds memory, and none grows on. Of 1 more there is not enough data."));
}

TEST(LeaksReport, says_that_it_cannot_tell_yet_and_how_long_it_needs) {
  Simulation s(600, 0, 1);
  s.block("load_tables", 1 << 20, 10);
  for (int i = 0; i < 20; ++i) s.block("load_tables", 1 << 10, 10 + i);
  s.block("recent", 40 << 20, 590);
  s.block("recent", 40 << 20, 599);
  const Made made = make(s);
  EXPECT_TRUE(made.leaks.is_open());
  EXPECT_GE(made.leaks.needed_ns, 2 * made.leaks.run_ns);
  EXPECT_THAT(
      leaks_text(made.leaks, made.report, {}),
      StartsWith("Cannot tell yet: no suspect, but of 80.0 MiB of 81.0 MiB live there is not enough data "
                 "(1 place). It needs a run of about "));
  const auto json = json_from_text(leaks_json(made.leaks, made.report, {}));
  EXPECT_EQ(json["is_open"], true);
  EXPECT_EQ(json["untold_space"], 80 << 20);
}

TEST(LeaksReport, a_little_that_is_untold_leaves_the_answer) {
  Simulation level(600, 0, 1);
  start(level);
  const Made made = make(level);
  EXPECT_GT(made.leaks.untold_bytes, 0);
  EXPECT_FALSE(made.leaks.is_open());
}

TEST(LeaksReport, says_what_is_left_out_and_what_no_place_holds) {
  Simulation s(600, 0, 1);
  leak(s);
  s.profile().max_resident_bytes = 3000u << 20;
  s.profile().stacks[0].peak = s.profile().stacks[0].allocated;
  LeakOptions options;
  options.expected = Pattern("append");
  options.filter.ignore = Pattern("nothing");
  const Made made = make(s, options);
  const std::string text = leaks_text(made.leaks, made.report, {});
  EXPECT_THAT(text, HasSubstr("Expected, and not judged: 600.0 MiB live."));
  EXPECT_THAT(text, HasSubstr("nothing"));
  EXPECT_THAT(
      text,
      HasSubstr("Most resident: 2.9 GiB; the heap's peak: 600.0 MiB. What is between them is held by no"));
}

TEST(LeaksReport, json_has_the_documented_fields) {
  Simulation s(600, 0, 1);
  leak(s);
  start(s);
  const Made made = make(s);
  const auto json = json_from_text(leaks_json(made.leaks, made.report, {}));
  EXPECT_EQ(json["program"], "server");
  EXPECT_EQ(json["pid"], 4711);
  EXPECT_EQ(json["run_ns"], 600'000'000'000);
  EXPECT_EQ(json["profiles"], 1);
  EXPECT_EQ(json["suspects"], 1);
  EXPECT_EQ(json["tested"], 2);
  EXPECT_EQ(json["verdicts"]["leak"], 1);
  EXPECT_EQ(json["verdicts"]["unknown"], 1);
  EXPECT_EQ(json["inuse_space"]["value"], 651 << 20);
  ASSERT_EQ(json["rows"].size(), 3u);
  const auto& row = json["rows"][0];
  EXPECT_EQ(row["name"], "append(Event)");
  EXPECT_EQ(row["verdict"], "leak");
  EXPECT_EQ(row["growth_per_minute"]["value"], 60 << 20);
  EXPECT_LT(row["p_value"].get<double>(), 1e-6);
  EXPECT_EQ(row["never_freed"]["share"], 1);
  EXPECT_EQ(row["first_ns"], 0);
  EXPECT_EQ(row["last_ns"], 600'000'000'000);
  EXPECT_EQ(row["live_samples"], 600);
  EXPECT_EQ(row["freed_samples"], 0);
  EXPECT_EQ(row["kept_samples"], 600);
  EXPECT_EQ(row["slope_per_minute"], nullptr);
  EXPECT_EQ(json["rows"][2]["p_value"], nullptr);
  EXPECT_EQ(json["rows"][2]["growth_per_minute"], nullptr);
  LeakRows one;
  one.max = 1;
  EXPECT_EQ(json_from_text(leaks_json(made.leaks, made.report, one))["rows"].size(), 1u);
}

// A profile with V8's objects beside its blocks.
Made with_heap(size_t looks) {
  Simulation s(600, 0, 1);
  start(s);
  report_fixture::Builder heap;
  Stack objects;
  objects.locations = {heap.python("answer", "server.js", 17)};
  objects.values[metric_index(Metric::kJsSpace)] = 30 << 20;
  Profile& profile = s.profile();
  const auto function = static_cast<uint32_t>(profile.functions.size());
  profile.functions.push_back(heap.profile().functions.back());
  profile.locations.push_back(heap.profile().locations.back());
  profile.locations.back().lines[0].function = function;
  objects.locations = {static_cast<uint32_t>(profile.locations.size() - 1)};
  profile.stacks.push_back(objects);
  std::vector<NamedProfile> profiles;
  for (size_t i = 0; i < looks; ++i) {
    Profile look = profile;
    look.duration_ns = look.time_unix_ns = (i + 1) * 10'000'000'000;
    look.stacks.back().values[metric_index(Metric::kJsSpace)] = static_cast<double>((i + 1) * (4 << 20));
    profiles.push_back({"x", look});
  }
  LeakOptions options;
  options.are_of_a_series = true;
  ReportOptions header;
  header.has_table = false;
  return {find_leaks(profiles, options), build_report(profiles.back().profile, header)};
}

TEST(LeaksReport, names_what_holds_most_of_the_heap_of_a_runtime) {
  const Made made = with_heap(1);
  EXPECT_EQ(made.leaks.suspects, 0u);
  const std::string text = leaks_text(made.leaks, made.report, {});
  EXPECT_THAT(text, HasSubstr("JS heap, 4.0 MiB in all: "));
  EXPECT_THAT(text, HasSubstr("One look tells no leak"));
  EXPECT_THAT(text, HasSubstr("4.0 MiB  100 %  answer    server.js:17"));
  const auto json = json_from_text(leaks_json(made.leaks, made.report, {}));
  EXPECT_EQ(json["js_heap"]["bytes"], 4 << 20);
  EXPECT_EQ(json["js_heap"]["rows"][0]["verdict"], "unknown");
  EXPECT_TRUE(json["js_heap"]["rows"][0]["slope_per_minute"].is_null());
  Simulation without(600, 0, 1);
  start(without);
  const Made blocks = make(without);
  EXPECT_THAT(leaks_text(blocks.leaks, blocks.report, {}), Not(HasSubstr("JS heap")));
  EXPECT_TRUE(json_from_text(leaks_json(blocks.leaks, blocks.report, {}))["js_heap"].is_null());
}

TEST(LeaksReport, says_what_grows_there) {
  const Made made = with_heap(20);
  ASSERT_EQ(made.leaks.heap.suspects, 1u);
  const std::string text = leaks_text(made.leaks, made.report, {});
  EXPECT_THAT(text, HasSubstr(" In the JS heap 1 place grows."));
  EXPECT_THAT(text, HasSubstr("JS heap, 80.0 MiB in all: 1 place grows, by more than garbage."));
  EXPECT_THAT(text, HasSubstr("80.0 MiB  100 %  23.0 MiB     leak  answer    server.js:17"));
  const auto json = json_from_text(leaks_json(made.leaks, made.report, {}));
  EXPECT_EQ(json["js_heap"]["suspects"], 1);
  EXPECT_EQ(json["js_heap"]["rows"][0]["verdict"], "leak");
}

}  // namespace
}  // namespace memprof::profile
