// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/source_maps/source_map_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "profile/model/error.h"

namespace memprof::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string refusal(std::string_view text) {
  try {
    read_source_map_json(text);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(SourceMapJson, a_map_is_one_part) {
  const auto parts = read_source_map_json(
      R"({"version": 3, "file": "a.js", "x": {"sources": ["no"], "mappings": "no"}, "sourceRoot": "/src", "sources": ["a.ts", null, "ä.ts"],
          "sourcesContent": ["long", null], "names": ["f", "g"], "mappings": "AAAA", "ignoreList": [0, 1.5, -1, true]})");
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].source_root, "/src");
  EXPECT_THAT(parts[0].sources, ElementsAre("a.ts", "", "ä.ts"));
  EXPECT_THAT(parts[0].names, ElementsAre("f", "g"));
  EXPECT_EQ(parts[0].mappings, "AAAA");
  EXPECT_EQ(parts[0].line, 0u);
}

TEST(SourceMapJson, an_index_map_has_a_part_for_each_section) {
  const auto parts = read_source_map_json(
      R"({"version": 3, "sections": [{"offset": {"line": 2, "column": 7}, "map": {"version": 3, "sources": ["a.ts"], "mappings": "AAAA"}},
          {"map": {"sources": ["b.ts"], "mappings": ";", "sections": [{"map": {"mappings": "deeper"}}]}, "offset": {"column": 1, "line": 100}}]})");
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].line, 2u);
  EXPECT_EQ(parts[0].column, 7u);
  EXPECT_THAT(parts[0].sources, ElementsAre("a.ts"));
  EXPECT_EQ(parts[1].line, 100u);
  EXPECT_EQ(parts[1].mappings, ";");
}

TEST(SourceMapJson, a_line_that_guards_it_is_left_out) {
  EXPECT_EQ(read_source_map_json(")]}'\n{\"mappings\": \"A\"}")[0].mappings, "A");
}

TEST(SourceMapJson, what_is_no_map_is_refused) {
  EXPECT_THAT(refusal(""), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("{\"mappings\": \"A\""), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("not JSON"), HasSubstr("not JSON at byte"));
  EXPECT_THAT(refusal("[]"), HasSubstr("a list"));
  EXPECT_THAT(refusal("\"text\""), HasSubstr("without members"));
  EXPECT_THAT(refusal("null"), HasSubstr("without members"));
  EXPECT_THAT(refusal(R"({"version": 2, "mappings": "A"})"), HasSubstr("version 2; version 3 can be read"));
  EXPECT_THAT(refusal(R"({"sections": [{"offset": {"line": 4294967296}}]})"), HasSubstr("no place"));
  EXPECT_THAT(refusal("7"), HasSubstr("without members"));
}

// Lists in lists need no stack, and a list of very many texts is refused before it is stored.
TEST(SourceMapJson, sizes_are_bounded) {
  const std::string deep = "{\"x\":" + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}";
  EXPECT_EQ(read_source_map_json(deep).size(), 1u);
  std::string many = R"({"names": [""])";
  many.pop_back();
  for (int i = 0; i < (1 << 22); ++i) many += ",\"\"";
  EXPECT_THAT(refusal(many + "]}"), HasSubstr("more sources and names"));
}

}  // namespace
}  // namespace memprof::profile
