// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/source_maps/script_url.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(ScriptUrl, the_last_comment_names_the_map) {
  EXPECT_EQ(source_mapping_url("x();\n//# sourceMappingURL=a.js.map"), "a.js.map");
  EXPECT_EQ(source_mapping_url("x();\r\n//@ sourceMappingURL=maps/a.js.map\r\n"), "maps/a.js.map");
  EXPECT_EQ(source_mapping_url("//# sourceMappingURL=a.map\nx();\n//# sourceMappingURL=b.map \n"), "b.map");
  EXPECT_EQ(source_mapping_url("//# sourceMappingURL=a.map\nconst s = 'sourceMappingURL=' + x;"), "a.map");
  EXPECT_EQ(source_mapping_url("sourceMappingURL=a.map"), "");
  EXPECT_EQ(source_mapping_url("//# sourceMappingURL="), "");
  EXPECT_EQ(source_mapping_url("# sourceMappingURL=a"), "");
  EXPECT_EQ(source_mapping_url(""), "");
}

TEST(ScriptUrl, data) {
  EXPECT_EQ(data_of_url("data:application/json;base64,e30="), "{}");
  EXPECT_EQ(data_of_url("data:application/json;charset=utf-8;base64,e30="), "{}");
  EXPECT_EQ(data_of_url("data:application/json,%7B%7d"), "{}");
  EXPECT_EQ(data_of_url("data:application/json;base64,e30"), std::nullopt);
  EXPECT_EQ(data_of_url("data:application/json"), std::nullopt);
  EXPECT_EQ(data_of_url("a.js.map"), std::nullopt);
}

TEST(ScriptUrl, paths) {
  EXPECT_EQ(absolute_path("/app/a b.js"), "/app/a b.js");
  EXPECT_EQ(absolute_path("file:///app/a%20b.mjs"), "/app/a b.mjs");
  EXPECT_EQ(absolute_path("file://host/a.js"), "");
  EXPECT_EQ(absolute_path("file:///a%00b.js"), "");
  EXPECT_EQ(absolute_path("node:fs"), "");
  EXPECT_EQ(absolute_path("a.js"), "");
  EXPECT_EQ(absolute_path(""), "");
}

TEST(ScriptUrl, places_are_seen_from_a_folder) {
  EXPECT_EQ(resolved("/app/dist", "../src/a.ts"), "/app/src/a.ts");
  EXPECT_EQ(resolved("/app/dist", "./a.js.map"), "/app/dist/a.js.map");
  EXPECT_EQ(resolved("/app/dist", "/src/./a.ts"), "/src/a.ts");
  EXPECT_EQ(resolved("/app/dist", "file:///src/a.ts"), "/src/a.ts");
  EXPECT_EQ(resolved("/app/dist", "webpack://app/./src/a.ts"), "webpack://app/./src/a.ts");
  EXPECT_EQ(resolved("/app/dist", "../../../../x.ts"), "/x.ts");
  EXPECT_EQ(resolved("", "a.ts"), "/a.ts");
}

}  // namespace
}  // namespace memprof::profile
