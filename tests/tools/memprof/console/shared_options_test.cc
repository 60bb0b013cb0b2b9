// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/shared_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

TEST(SharedOptions, WriteWhatIsGiven) {
  ArgumentParser parser("x", {});
  std::string rows;
  std::string moment;
  std::string type;
  std::string budget;
  bool force = false;
  bool raw = false;
  bool whole_run = false;
  bool interpreter = false;
  add_rows(parser, "20", rows);
  add_moment(parser, "", moment);
  add_sample_type(parser, type);
  add_budget(parser, "from RATE on", budget);
  add_force(parser, "OUT", force);
  add_raw(parser, raw);
  add_whole_run(parser, whole_run);
  add_native_interpreter(parser, interpreter);
  add_no_debuginfod(parser);
  add_no_pager(parser);
  add_no_inline_hooks(parser, "");
  EXPECT_FALSE(parser.parse({"-n", "3", "--at", "peak", "--sample-type", "inuse", "--budget", "1%", "--force",
                             "--raw", "--run", "--native-interpreter", "--no-debuginfod"}));
  EXPECT_EQ(rows + moment + type + budget, "3peakinuse1%");
  EXPECT_TRUE(force && raw && whole_run && interpreter);
  EXPECT_TRUE(parser.is_given("--no-debuginfod"));
  EXPECT_FALSE(parser.is_given("--no-pager") || parser.is_given("--no-inline-hooks"));
  for (const OptionText& option : parser.description().options) EXPECT_NE(option.text, "") << option.names;
}

}  // namespace
}  // namespace memprof::cli
