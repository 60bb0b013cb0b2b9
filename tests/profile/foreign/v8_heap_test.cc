// SPDX-License-Identifier: Apache-2.0
#include "profile/foreign/v8_heap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/model/error.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::row;
using report_fixture::self;
using ::testing::HasSubstr;

constexpr char kProfile[] = R"-({"head":{"callFrame":{"functionName":"(root)","scriptId":"0","url":"",
"lineNumber":-1,"columnNumber":-1},"selfSize":0,"id":1,"children":[
{"callFrame":{"functionName":"serve","scriptId":"7","url":"file:///srv/app.js","lineNumber":41,"columnNumber":3},
"selfSize":1000,"id":2,"children":[
{"callFrame":{"functionName":"","scriptId":"7","url":"file:///srv/app.js","lineNumber":9,"columnNumber":3},
"selfSize":500,"id":3,"children":[]}]},
{"callFrame":{"functionName":"load","scriptId":"7","url":"file:///srv/app.js","lineNumber":1,"columnNumber":3},
"selfSize":200,"id":4,"children":[]}]},"samples":[{"size":64,"nodeId":2,"ordinal":1}]})-";

TEST(V8Heap, RowsOfItsFunctions) {
  const Profile profile = read_v8_heap(kProfile, "x");
  const Report report = build_report(profile);
  EXPECT_EQ(self(report, "serve"), 1000);
  EXPECT_EQ(self(report, "(anonymous)"), 500);
  EXPECT_EQ(self(report, "load"), 200);
  ASSERT_NE(row(report, "serve"), nullptr);
  EXPECT_EQ(row(report, "serve")->line, 42);
  EXPECT_EQ(row(report, "serve")->file, "file:///srv/app.js");
  EXPECT_EQ(report_fixture::cumulative(report, "serve"), 1500);
  EXPECT_FALSE(profile.from_memprof);
}

std::string v8_error_of(const std::string& text) {
  try {
    read_v8_heap(text, "x.heapprofile");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(V8Heap, WhatIsNoneOrDamaged) {
  EXPECT_THAT(v8_error_of(std::string(kProfile).substr(0, 300)), HasSubstr("x.heapprofile: damaged JSON"));
  EXPECT_THAT(v8_error_of(R"({"nodes":[]})"), HasSubstr("it has no \"head\""));
  EXPECT_THAT(v8_error_of(R"({"head":7})"), HasSubstr("no object"));
  EXPECT_THAT(v8_error_of(R"({"head":{"selfSize":"a"}})"), HasSubstr("selfSize"));
  EXPECT_THAT(v8_error_of(R"({"head":{"selfSize":-1}})"), HasSubstr("below zero"));
  EXPECT_THAT(v8_error_of(R"({"head":{"selfSize":0,"children":7}})"), HasSubstr("no list"));
  EXPECT_THAT(v8_error_of(R"({"head":{"selfSize":0,"children":[{"selfSize":1}]}})"), HasSubstr("callFrame"));
  std::string deep = R"({"head":)";
  for (int i = 0; i < 5000; ++i) deep += R"({"callFrame":{},"selfSize":0,"children":[)";
  for (int i = 0; i < 5000; ++i) deep += "]}";
  EXPECT_THAT(v8_error_of(deep + "}"), HasSubstr("a stack of more than 4096 frames"));
}

}  // namespace
}  // namespace memprof::profile
