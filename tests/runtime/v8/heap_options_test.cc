// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/heap_options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace memprof::v8::heap_options_test {
namespace {

bool is_left_alone(const std::vector<std::string>& arguments, const char* node_options = nullptr) {
  std::string text;
  for (const std::string& argument : arguments) {
    text += argument + '\0';
  }
  return is_heap_left_alone(text.data(), text.size(), node_options);
}

TEST(V8HeapOptions, WhatHasV8SampleByNode) {
  EXPECT_TRUE(is_left_alone({"node", "--heap-prof", "app.js"}));
  EXPECT_TRUE(is_left_alone({"/usr/bin/node", "-r", "x", "--heap_prof_interval=128", "app.js"}));
  EXPECT_TRUE(is_left_alone({"node", "app.js"}, "--max-old-space-size=512 --heap-prof"));
  EXPECT_TRUE(is_left_alone({"node", "app.js"}, "\"--heap-prof-dir=a b\""));
}

TEST(V8HeapOptions, WhatWritesASnapshot) {
  EXPECT_TRUE(is_left_alone({"node", "--snapshot-blob", "x", "--build-snapshot", "entry.js"}));
  EXPECT_TRUE(is_left_alone({"node", "--build-snapshot-config=x.json"}));
  EXPECT_TRUE(is_left_alone({"node", "--experimental-sea-config", "sea.json"}));
  EXPECT_TRUE(is_left_alone({"node", "--build_sea=sea.json"}));
  EXPECT_TRUE(is_left_alone({"out/Release/node_mksnapshot", "node_snapshot.cc"}));
}

TEST(V8HeapOptions, WhatDoesNot) {
  EXPECT_FALSE(is_left_alone({}));
  EXPECT_FALSE(is_left_alone({"node"}, ""));
  EXPECT_FALSE(is_left_alone({"node", "--snapshot-blob", "x", "app.js", "--heap"}));
  EXPECT_FALSE(is_left_alone({"node", "a--heap-prof", "__heap-prof", "_-heap-prof"}));
  EXPECT_FALSE(is_left_alone({"node", "--cpu-prof", "app.js"}, "--enable-source-maps"));
  EXPECT_FALSE(is_left_alone({"node", "--heap-pro"}));
}

TEST(V8HeapOptions, OfThisProcess) {
  EXPECT_FALSE(is_heap_left_alone());
}

}  // namespace
}  // namespace memprof::v8::heap_options_test
