// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/source_maps/source_map.h"

#include <gtest/gtest.h>

#include <string>

#include "profile/model/error.h"

namespace memprof::profile {
namespace {

// "source:line", "many", or "none".
std::string place(const SourceMap& map, int64_t line) {
  SourceLine found;
  switch (map.find(line, &found)) {
    case SourceMap::Answer::kNone:
      return "none";
    case SourceMap::Answer::kMany:
      return "many";
    case SourceMap::Answer::kOne:
      break;
  }
  return *found.source + ":" + std::to_string(found.line);
}

TEST(SourceMap, lines_of_a_script_are_lines_of_its_sources) {
  // The second line is of the compiler's own, the third of lines 3 and 4, the fifth of another source.
  const SourceMap map(
      R"({"sourceRoot": "/src", "sources": ["a.ts", "b.ts"], "mappings": "AAAA,EAAE;A;AAEA,EACA;;ACAA"})",
      "");
  EXPECT_EQ(place(map, 1), "/src/a.ts:1");
  EXPECT_EQ(place(map, 2), "none");
  EXPECT_EQ(place(map, 3), "/src/a.ts:3");
  EXPECT_EQ(place(map, 4), "none");
  EXPECT_EQ(place(map, 5), "/src/b.ts:4");
  for (const int64_t line : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{6}, INT64_MAX})
    EXPECT_EQ(place(map, line), "none");
}

TEST(SourceMap, a_minified_line_is_of_many) {
  EXPECT_EQ(place(SourceMap(R"({"sources": ["a.ts", "b.ts"], "mappings": "AAAA,ECAA"})", ""), 1), "many");
  // 16 lines apart and 17: `gB` is 16, `iB` 17.
  EXPECT_EQ(place(SourceMap(R"({"sources": ["a.ts"], "mappings": "AAAA,EAgBA"})", ""), 1), "a.ts:1");
  EXPECT_EQ(place(SourceMap(R"({"sources": ["a.ts"], "mappings": "AAAA,EAiBA"})", ""), 1), "many");
}

TEST(SourceMap, sections_are_where_they_begin) {
  const SourceMap map(
      R"({"sections": [{"offset": {"line": 1, "column": 0}, "map": {"sources": ["a.ts"], "mappings": "AAAA;AACA"}},
                          {"offset": {"line": 10, "column": 0}, "map": {"sources": ["b.ts"], "mappings": "AAIA"}}]})",
      "");
  EXPECT_EQ(place(map, 1), "none");
  EXPECT_EQ(place(map, 2), "a.ts:1");
  EXPECT_EQ(place(map, 3), "a.ts:2");
  EXPECT_EQ(place(map, 11), "b.ts:5");
}

TEST(SourceMap, a_source_that_is_not_in_the_list_is_none) {
  EXPECT_EQ(place(SourceMap(R"({"sources": ["a.ts"], "mappings": "ACAA"})", ""), 1), "none");
  EXPECT_EQ(place(SourceMap(R"({"sources": [null], "mappings": "AAAA"})", ""), 1), "none");
  EXPECT_EQ(place(SourceMap(R"({"mappings": "AAAA"})", ""), 1), "none");
  EXPECT_EQ(place(SourceMap("{}", ""), 1), "none");
  EXPECT_THROW(SourceMap(R"({"mappings": "AAA"})", ""), Error);
}

TEST(SourceMap, names_of_functions_are_those_of_the_sources) {
  // function scratch2() {}       names[0] at column 9
  // scratch2(); e(); e();        names[0], names[1], names[2]
  const char* const script = "function scratch2() {}\nscratch2(); e(); e();\n\xc3\xa4; x();\n";
  const SourceMap map(
      R"({"sources": ["a.ts"], "names": ["scratch", "first", "second", "after"], "mappings": "SAAAA;AAAAA,YAAAC,KAAAC;GAAAC"})",
      script);
  ASSERT_NE(map.source_name("scratch2"), nullptr);
  EXPECT_EQ(*map.source_name("scratch2"), "scratch");
  EXPECT_EQ(map.source_name("e"), nullptr) << "two functions of this name";
  EXPECT_EQ(map.source_name("x"), nullptr) << "columns after other characters than ASCII are not known";
  EXPECT_EQ(map.source_name("scratch"), nullptr);
  EXPECT_EQ(map.source_name(""), nullptr);
}

}  // namespace
}  // namespace memprof::profile
