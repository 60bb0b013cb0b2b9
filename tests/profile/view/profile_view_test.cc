// SPDX-License-Identifier: Apache-2.0
#include "profile/view/profile_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/model/estimate.h"
#include "profile/model/metric.h"
#include "profile/names/frame_name.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/pprof/pprof_writer.h"
#include "tests/profile/report_fixture.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;
using ::testing::ElementsAre;

// Of each stack the names of its frames, leaf first.
std::vector<std::string> stacks_of(const Profile& profile) {
  std::vector<std::string> all;
  for (const Stack& stack : profile.stacks) {
    std::string names;
    for (const uint32_t location : stack.locations) {
      for (const Frame& frame : location_frames(profile, profile.locations[location])) {
        names += (names.empty() ? "" : " ") + frame.name;
      }
    }
    all.push_back(names);
  }
  return all;
}

Profile viewed(const Builder& builder, const ViewRequest& request = {}) {
  Builder copy = builder;
  return view_of(copy.profile(), request);
}

std::array<double, kMetricCount> totals(const Profile& profile) {
  std::array<double, kMetricCount> sums{};
  for (const Metric metric : kMetrics) sums[metric_index(metric)] = estimated_total(profile, metric);
  return sums;
}

// main in Python calls f, which calls an extension; the interpreter is between them, at two addresses.
Builder python_program() {
  Builder b(512);
  const uint32_t start = b.at("_start");
  b.module("libpython3.12.so.1.0");
  const uint32_t eval = b.at("_PyEval_EvalFrameDefault");
  const uint32_t other_eval = b.at("_PyEval_EvalFrameDefault");
  const uint32_t alloc = b.at("_PyObject_Malloc");
  const uint32_t malloc_frame = b.at("malloc");
  b.module("_numpy.so");
  const uint32_t extension = b.at("array_new");
  const uint32_t f = b.python("f", "f.py", 3);
  const uint32_t main = b.python("<module>", "m.py", 9);
  b.stack({malloc_frame, alloc, extension, eval, f, eval, main, eval, start}, 64, 10);
  b.stack({malloc_frame, alloc, extension, other_eval, f, eval, main, other_eval, start}, 96, 7);
  b.stack({alloc, eval, main, eval, start}, 4096, 3);
  return b;
}

TEST(ProfileView, python_frames_are_without_the_interpreter_as_in_reports) {
  const Profile profile = viewed(python_program());
  EXPECT_THAT(stacks_of(profile), ElementsAre("f <module>", "<module>"));
  EXPECT_EQ(profile.stacks[0].allocated.samples, 17u);  // what is the same then is one
  EXPECT_EQ(profile.stacks[0].live.size(), 2u);
  Builder whole = python_program();
  EXPECT_EQ(totals(profile), totals(whole.profile()));
  ViewRequest native;
  native.view.native = true;
  EXPECT_THAT(stacks_of(viewed(python_program(), native)), ElementsAre("array_new f <module>", "<module>"));
}

TEST(ProfileView, the_interpreter_and_all_frames_are_there_for_who_asks) {
  ViewRequest request;
  request.view.interpreter = true;
  EXPECT_THAT(stacks_of(viewed(python_program(), request))[2],
              "_PyObject_Malloc _PyEval_EvalFrameDefault <module> _PyEval_EvalFrameDefault");
  request.view.all = true;
  const Profile all = viewed(python_program(), request);
  EXPECT_THAT(
      stacks_of(all)[0],
      "malloc _PyObject_Malloc array_new _PyEval_EvalFrameDefault f _PyEval_EvalFrameDefault <module> "
      "_PyEval_EvalFrameDefault _start");
  EXPECT_EQ(all.stacks.size(), 3u);
}

// The rows of a report are those of the export, and a second export changes nothing.
TEST(ProfileView, a_report_of_it_is_the_report_of_the_whole) {
  Builder whole = python_program();
  const Profile once = viewed(whole);
  const Profile again = read_pprof(write_pprof(once), "x");
  for (const Profile* profile : {&once, &again}) {
    const Report expected = build_report(whole.profile());
    const Report report = build_report(*profile);
    ASSERT_EQ(report.rows.size(), expected.rows.size());
    for (size_t i = 0; i < report.rows.size(); ++i) {
      EXPECT_EQ(report.rows[i].name, expected.rows[i].name);
      EXPECT_DOUBLE_EQ(report.rows[i].self[3].value, expected.rows[i].self[3].value);
      EXPECT_NEAR(report.rows[i].self[3].high, expected.rows[i].self[3].high,
                  1e-6 * expected.rows[i].self[3].high);
    }
    EXPECT_TRUE(report.has_intervals);
  }
  EXPECT_EQ(stacks_of(view_of(once, {})), stacks_of(once));
}

TEST(ProfileView, inlined_functions_that_are_left_out_go_from_their_location) {
  Profile profile = named_profile();
  profile.functions[2] = {"std::vector<int>::push_back(int const&)", "_ZNSt6vectorIiSaIiEE9push_backERKi",
                          "/usr/include/vector", 0};
  const Profile folded = view_of(profile, {});
  EXPECT_THAT(stacks_of(folded), ElementsAre("ns::make<int; char>(int) main", "0x12345 main"));
  EXPECT_EQ(folded.locations[folded.stacks[0].locations[0]].address, 0x401234u);
  EXPECT_EQ(folded.functions.size(), 2u);  // without those that no stack has
  EXPECT_EQ(totals(folded), totals(profile));
}

TEST(ProfileView, only_the_stacks_that_are_asked_for) {
  ViewRequest request;
  request.filter.focus = Pattern("array_new");
  EXPECT_THAT(stacks_of(viewed(python_program(), request)), ElementsAre("f <module>"));
  request.filter.focus = Pattern("nothing");
  const Profile none = viewed(python_program(), request);
  EXPECT_TRUE(none.stacks.empty() && none.locations.empty() && none.functions.empty());
}

TEST(ProfileView, importing_a_package_is_one_frame) {
  Builder b;
  const uint32_t call = b.python("_call_with_frames_removed", "<frozen importlib._bootstrap>", 241);
  const uint32_t numpy = b.python("<module>", "/v/site-packages/numpy/__init__.py", 3);
  const uint32_t main = b.python("<module>", "app.py", 1);
  b.stack({numpy, call, main}, 64, 2).stack({main, numpy, call, main}, 64, 1).stack({main}, 64, 1);
  const Profile once = viewed(b);
  EXPECT_THAT(stacks_of(once),
              ElementsAre("importing numpy <module>", "<module> <module> <module>", "<module>"));
  const Profile again = read_pprof(write_pprof(once), "x");
  const Report expected = build_report(b.profile());
  const Report report = build_report(again);
  ASSERT_EQ(report.rows.size(), expected.rows.size());
  EXPECT_EQ(report.rows[0].name, expected.rows[0].name);
  EXPECT_EQ(report.rows[0].module, expected.rows[0].module);
  ViewRequest opened;
  opened.view.imports = true;
  EXPECT_EQ(stacks_of(viewed(b, opened))[0], "<module> <module>");
}

TEST(ProfileView, by_module_and_file_what_belongs_together_is_one_frame) {
  ViewRequest request;
  request.by = GroupBy::kModule;
  EXPECT_THAT(stacks_of(viewed(python_program(), request)), ElementsAre("_numpy.so [Python]", "[Python]"));
  request.by = GroupBy::kFile;
  const Profile by_file = viewed(python_program(), request);
  EXPECT_THAT(stacks_of(by_file), ElementsAre("f.py m.py", "m.py"));
  Builder whole = python_program();
  EXPECT_EQ(totals(by_file), totals(whole.profile()));
  EXPECT_TRUE(read_pprof(write_pprof(by_file), "x").stacks[0].has_statistics);
}

TEST(ProfileView, by_process_each_is_one_frame) {
  Builder b;
  const uint32_t f = b.at("f");
  const uint32_t main = b.at("main");
  b.stack({f, main}, 64, 1).stack({main}, 64, 2).stack({main}, 64, 4);
  b.profile().stacks[0].process = b.profile().stacks[1].process = "make 7";
  b.profile().stacks[2].process = "cc 8";
  ViewRequest request;
  request.by = GroupBy::kProcess;
  EXPECT_THAT(stacks_of(viewed(b, request)), ElementsAre("make 7", "cc 8"));
}

TEST(ProfileView, names_are_those_of_reports_or_of_pprof) {
  Builder b;
  const uint32_t make =
      b.symbol("std::unique_ptr<A> ns::make<A, int>(int)", "_ZN2ns4makeI1AiEESt10unique_ptrIT_ET0_");
  b.stack({make, b.at("f.isra.0"), b.python("<module>", "m.py", 1)}, 64, 1);
  ViewRequest request;
  EXPECT_THAT(stacks_of(viewed(b, request)),
              ElementsAre("std::unique_ptr<A> ns::make<A, int>(int) f.isra.0 <module>"));
  request.names = NameStyle::kNoReturnType;
  EXPECT_THAT(stacks_of(viewed(b, request)), ElementsAre("ns::make<A, int>(int) f.isra.0 <module>"));
  request.names = NameStyle::kShown;
  EXPECT_THAT(stacks_of(viewed(b, request)), ElementsAre("ns::make<>(int) f <module>"));
}

TEST(ProfileView, values_below_zero_and_labels_by_others_stay) {
  Profile profile = named_profile();
  profile.from_memprof = false;
  for (Stack& stack : profile.stacks) {
    const std::vector<uint32_t> locations = stack.locations;
    stack = Stack();
    stack.locations = locations;
  }
  profile.stacks[0].values = {0, 0, -12, -900};
  profile.stacks[0].parts = {{{{"thread", "worker", 0, ""}}, {0, 0, -12, -900}}};
  profile.stacks[1].values = {0, 0, 7, 100};
  ViewRequest request;
  request.by = GroupBy::kProcess;  // all are one stack then
  const Profile one = view_of(profile, request);
  ASSERT_EQ(one.stacks.size(), 1u);
  EXPECT_EQ(one.stacks[0].values[3], -800);
  ASSERT_EQ(one.stacks[0].parts.size(), 2u);
  EXPECT_EQ(one.stacks[0].parts[0].values[3] + one.stacks[0].parts[1].values[3], -800);
}

}  // namespace
}  // namespace memprof::profile
