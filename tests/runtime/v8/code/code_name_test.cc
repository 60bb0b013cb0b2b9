// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/code/code_name.h"

#include <gtest/gtest.h>

#include <string>

namespace memprof::v8::code_name_test {
namespace {

// "function|file|line"
std::string parsed(std::string_view text) {
  const CodeName name = parse_code_name(text);
  return std::string(name.function) + "|" + std::string(name.file) + "|" + std::to_string(name.line);
}

std::string without_tier(std::string_view text) {
  const TierMark mark = find_tier_mark(text);
  return std::string(text.substr(0, mark.at)) + std::string(text.substr(mark.at + mark.size_bytes));
}

TEST(CodeName, HasFunctionFileAndLine) {
  EXPECT_EQ("fill|/srv/app.js|8", parsed("JS:~fill /srv/app.js:8:14"));
  EXPECT_EQ("fn|file:///srv/x.mjs|8", parsed("JS:*fn file:///srv/x.mjs:8:3"));
  EXPECT_EQ("next|node:internal/timers|160", parsed("JS:^next node:internal/timers:160:44"));
  EXPECT_EQ("f|C:/x y.js|3", parsed("JS:f C:/x y.js:3:1"));
}

TEST(CodeName, WithoutAColumnAsOlderVersionsAndPerfMapsHaveIt) {
  EXPECT_EQ("fill|app.js|8", parsed("LazyCompile:~fill app.js:8"));
  EXPECT_EQ("fill|app.js|8", parsed("LazyCompile:*fill app.js:8"));
  EXPECT_EQ("fill|app.js|8", parsed("Function:~fill app.js:8:3"));
}

TEST(CodeName, OfAccessorsAndFunctionsWithoutAName) {
  EXPECT_EQ("get size|/srv/a.js|33", parsed("JS:~get size /srv/a.js:33:11"));
  EXPECT_EQ("set x|/srv/a.js|4", parsed("JS:~set x /srv/a.js:4:5"));
  EXPECT_EQ("get|/srv/a.js|4", parsed("JS:~get /srv/a.js:4:5"));
  EXPECT_EQ("(anonymous)|/srv/a.js|49", parsed("JS:~ /srv/a.js:49:14"));
  EXPECT_EQ("(anonymous)|/srv/a.js|1", parsed("JS:~ /srv/a.js:1:20"));
  EXPECT_EQ("(top level)|/srv/a.js|1", parsed("JS:~ /srv/a.js:1:1"));
  EXPECT_EQ("(top level)|node:internal/main/run_main_module|0",
            parsed("Script:~ node:internal/main/run_main_module"));
  EXPECT_EQ("(top level)|/srv/a.js|1", parsed("Eval:~ /srv/a.js:1:1"));
}

TEST(CodeName, OfOtherCodeIsWhatItIs) {
  EXPECT_EQ("Builtin:ArrayMap||0", parsed("Builtin:ArrayMap"));
  EXPECT_EQ("RegExp:a b:1||0", parsed("RegExp:a b:1"));
  EXPECT_EQ("(async)||0", parsed("Builtin:AsyncFunctionAwaitResolveClosure"));
  EXPECT_EQ("(async)||0", parsed("Builtin:AsyncGeneratorYieldWithAwaitRejectClosure"));
  EXPECT_EQ("Builtin:AsyncFunctionEnter||0", parsed("Builtin:AsyncFunctionEnter"));
  EXPECT_EQ("Builtin:AsyncFunctionAwait||0", parsed("Builtin:AsyncFunctionAwait"));
  EXPECT_EQ("(anonymous)||0", parsed(""));
  EXPECT_EQ("x||0", parsed("x"));
}

TEST(CodeName, OfWhatCannotBeRightIsStillAName) {
  for (const char* text : {"JS:", "JS:~", "JS:o", "JS:o*", "JS:*' ", "JS: :1:1", "JS:~:1", "JS:~1:2:3:4",
                           "JS:~a b:99999999999999:1", "JS:~get ", "JS:~get  x", "Script:~:", ":", "::::"}) {
    EXPECT_FALSE(parse_code_name(text).function.empty()) << text;
  }
}

TEST(CodeName, TiersOfAFunctionDifferInTheMarkAlone) {
  for (const char* mark : {"", "~", "^", "*", "+", "+'", "*'", "o+", "o*", "o+'"}) {
    const std::string text = std::string("JS:") + mark + "fill /srv/app.js:8:14";
    EXPECT_EQ("JS:fill /srv/app.js:8:14", without_tier(text)) << mark;
    EXPECT_EQ("fill|/srv/app.js|8", parsed(text)) << mark;
    EXPECT_EQ(std::string("^") == mark, is_baseline(text)) << mark;
  }
  EXPECT_EQ("JS:o /srv/app.js:8:14", without_tier("JS:~o /srv/app.js:8:14"));
  EXPECT_EQ("Builtin:*", without_tier("Builtin:*"));
}

TEST(CodeName, NodesOwnScriptsAreInternal) {
  EXPECT_TRUE(is_internal_code("JS:~alloc node:buffer:451:30"));
  EXPECT_TRUE(is_internal_code("Script:~ node:internal/main/run_main_module"));
  EXPECT_TRUE(is_internal_code("Builtin:ArrayMap"));
  EXPECT_TRUE(is_internal_code("JS:~ [eval]-wrapper:6:24"));
  EXPECT_FALSE(is_internal_code("JS:~f [eval]:1:1"));
  EXPECT_FALSE(is_internal_code("JS:~alloc /srv/node:buffer.js:451:30"));
  EXPECT_FALSE(is_internal_code("JS:~ /srv/app.js:1:1"));
  EXPECT_TRUE(is_internal_file("node:fs"));
  EXPECT_FALSE(is_internal_file("/srv/node/fs.js"));
}

}  // namespace
}  // namespace memprof::v8::code_name_test
