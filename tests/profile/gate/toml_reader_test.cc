// SPDX-License-Identifier: Apache-2.0
#include "profile/gate/toml_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <functional>

#include "profile/model/error.h"

namespace memprof::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(TomlReader, TheTextOfAFile) {
  const std::string path = ::testing::TempDir() + "memprof-toml-reader-test.toml";
  std::ofstream(path) << "a = 1\n\xff";
  EXPECT_EQ(text_of_file(path), "a = 1\n\xff");
  std::remove(path.c_str());
  EXPECT_EQ(text_of_file(path), std::nullopt);
  EXPECT_EQ(text_of_file(::testing::TempDir()), std::nullopt) << "a folder";
}

constexpr char kText[] = R"(
text = "a"
whole = 12
part = 1.5
flag = true
words = ["x", "y"]
counts = [1, 20]

[[list]]
name = "first"

[[list]]
name = "second"
)";

std::string error_of(const std::function<void(const TomlReader&)>& use) {
  try {
    use(TomlReader::parse(kText, "limits.toml"));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TomlReader, GivesValuesByType) {
  const TomlReader table = TomlReader::parse(kText, "limits.toml");
  EXPECT_EQ(table.text("text"), "a");
  EXPECT_EQ(table.number("whole"), 12);
  EXPECT_EQ(table.number("part"), 1.5);
  EXPECT_TRUE(table.boolean("flag"));
  EXPECT_EQ(table.text_or_number("text"), "a");
  EXPECT_EQ(table.text_or_number("whole"), "12");
  EXPECT_EQ(table.text_or_number("part"), "1.5");
  EXPECT_THAT(table.texts("words", TomlReader::Lists::kOnly), ElementsAre("x", "y"));
  EXPECT_THAT(table.texts("text", TomlReader::Lists::kToo), ElementsAre("a"));
  EXPECT_THAT(table.counts("counts"), ElementsAre(1, 20));
  EXPECT_THAT(table.counts("whole"), ElementsAre(12));
  EXPECT_TRUE(table.has("flag"));
  EXPECT_FALSE(table.has("flags"));
  const auto list = table.tables("list");
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1].text("name"), "second");
  EXPECT_EQ(list[1].line_of("name"), 13);
  EXPECT_EQ(list[1].line(), 12);
  EXPECT_TRUE(table.tables("none").empty());
}

TEST(TomlReader, WhatIsOfAnotherTypeIsNamedWithItsLine) {
  using Lists = TomlReader::Lists;
  EXPECT_EQ(error_of([](const TomlReader& t) { t.text("whole"); }),
            "limits.toml:3: whole: give a text in quotes");
  EXPECT_THAT(error_of([](const TomlReader& t) { t.number("text"); }),
              StartsWith("limits.toml:2: text: give a"));
  EXPECT_THAT(error_of([](const TomlReader& t) { t.boolean("text"); }), HasSubstr("true or false"));
  EXPECT_THAT(error_of([](const TomlReader& t) { t.text_or_number("flag"); }),
              HasSubstr("limits.toml:5: flag"));
  EXPECT_THAT(error_of([](const TomlReader& t) { t.texts("text", Lists::kOnly); }),
              HasSubstr("a list of texts"));
  EXPECT_THAT(error_of([](const TomlReader& t) { t.texts("counts", Lists::kToo); }),
              HasSubstr("limits.toml:7"));
  EXPECT_THAT(error_of([](const TomlReader& t) { t.counts("words"); }), HasSubstr("whole numbers"));
  EXPECT_THAT(error_of([](const TomlReader& t) { t.tables("text"); }), HasSubstr("[[text]]"));
  EXPECT_THAT(error_of([](const TomlReader& t) { t.tables("words"); }), HasSubstr("[[words]]"));
  EXPECT_EQ(error_of([](const TomlReader& t) { t.refuse("", "why"); }), "limits.toml:1: why");
}

TEST(TomlReader, KeysThatAreNotKnownAreRefused) {
  const std::vector<std::string> known = {"text", "whole", "part", "flag", "words", "counts", "lists"};
  EXPECT_EQ(error_of([&](const TomlReader& t) { t.require_known(known, "here"); }),
            "limits.toml:9: 'list' is no key here; did you mean 'lists'?");
  EXPECT_THAT(error_of([&](const TomlReader& t) { t.require_known({"something"}, "here"); }),
              HasSubstr("there are something"));
}

TEST(TomlReader, WhatIsNotTomlHasALine) {
  try {
    TomlReader::parse("a = 1\nb = = 2\n", "limits.toml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), StartsWith("limits.toml:2: not TOML: "));
  }
  EXPECT_THROW(TomlReader::parse("a = 1\na = 2\n", "x"), Error);
  EXPECT_THROW(TomlReader::parse("a = \"\xff\"\n", "x"), Error);
}

}  // namespace
}  // namespace memprof::profile
