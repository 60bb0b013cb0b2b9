// SPDX-License-Identifier: Apache-2.0
#include "profile/formats/heapprofile.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "profile/model/estimate.h"
#include "profile/text/markup/json_text.h"
#include "tests/profile/report_fixture.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

using HeapJson = nlohmann::json;

// A node's own sizes and those below, by the rules of HeapProfiler.SamplingHeapProfileNode.
int64_t check_node(const HeapJson& node, std::map<uint64_t, int64_t>* sizes) {
  EXPECT_EQ(node.size(), 4u);
  const HeapJson& frame = node.at("callFrame");
  EXPECT_EQ(frame.size(), 5u);
  EXPECT_TRUE(frame.at("functionName").is_string() && frame.at("url").is_string());
  EXPECT_TRUE(frame.at("scriptId").is_string());
  EXPECT_GE(frame.at("lineNumber").get<int64_t>(), -1);
  EXPECT_GE(frame.at("columnNumber").get<int64_t>(), -1);
  const auto own = node.at("selfSize").get<int64_t>();
  EXPECT_TRUE(sizes->emplace(node.at("id").get<uint64_t>(), own).second);
  int64_t sum = own;
  std::set<std::pair<std::string, int64_t>> names;
  for (const HeapJson& child : node.at("children")) {
    const HeapJson& called = child.at("callFrame");
    EXPECT_TRUE(
        names
            .emplace(called.at("functionName").get<std::string>() + called.at("url").get<std::string>(),
                     called.at("lineNumber"))
            .second);
    sum += check_node(child, sizes);
  }
  return sum;
}

HeapJson checked_heap(const std::string& text) {
  HeapJson file = json_from_text(text);
  std::map<uint64_t, int64_t> sizes;
  const int64_t total = check_node(file.at("head"), &sizes);
  int64_t of_samples = 0;
  for (const HeapJson& sample : file.at("samples")) {
    EXPECT_EQ(sizes.at(sample.at("nodeId")), sample.at("size").get<int64_t>());
    EXPECT_GT(sample.at("ordinal").get<int64_t>(), 0);
    of_samples += sample.at("size").get<int64_t>();
  }
  EXPECT_EQ(of_samples, total);
  file["total"] = total;
  return file;
}

TEST(Heapprofile, IsThatOfTheProtocolWithTheSumsOfTheProfile) {
  const Profile profile = named_profile();
  for (const Metric metric : {Metric::kInuseSpace, Metric::kAllocSpace, Metric::kAllocObjects}) {
    EXPECT_NEAR(checked_heap(write_heapprofile(profile, metric)).at("total").get<double>(),
                estimated_total(profile, metric), 1);
  }
  const HeapJson file = checked_heap(write_heapprofile(profile, Metric::kInuseSpace));
  const HeapJson& root = file.at("head");
  EXPECT_EQ(root.at("callFrame").at("functionName"), "(root)");
  ASSERT_EQ(root.at("children").size(), 2u);
  bool has_main = false;
  for (const HeapJson& child : root.at("children")) {
    if (child.at("callFrame").at("functionName") != "main") continue;
    has_main = true;
    EXPECT_EQ(child.at("callFrame").at("url"), "/src/main.cc");
    EXPECT_EQ(child.at("callFrame").at("lineNumber"), 11);  // from 0
  }
  EXPECT_TRUE(has_main);
}

TEST(Heapprofile, ANodeCanHoldAndCall) {
  report_fixture::Builder b;
  const uint32_t f = b.at("f");
  const uint32_t g = b.at("g");
  const uint32_t main = b.at("main");
  b.stack({f, main}, 10, 1).stack({main}, 20, 1).stack({g, f, main}, 40, 1).stack({g}, 80, 1);
  const HeapJson file = checked_heap(write_heapprofile(b.profile(), Metric::kInuseSpace));
  EXPECT_EQ(file.at("total"), 150);
  EXPECT_EQ(file.at("samples").size(), 4u);
}

TEST(Heapprofile, NamesAreAnyBytesAndNothingIsAFile) {
  Profile profile = named_profile();
  profile.functions[0].name = "a\"b\\c\n\xff\x01</script>";
  checked_heap(write_heapprofile(profile, Metric::kInuseSpace));
  EXPECT_EQ(checked_heap(write_heapprofile(Profile(), Metric::kInuseSpace)).at("total"), 0);
}

}  // namespace
}  // namespace memprof::profile
