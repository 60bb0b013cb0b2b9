// SPDX-License-Identifier: Apache-2.0
#include "profile/text/columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace memprof::profile {
namespace {

using ::testing::ElementsAre;

struct Fruit {
  std::string name;
  int weight = 0;
};

std::vector<Column<Fruit>> fruit_columns() {
  return {
      value_column<Fruit>("name", [](const Fruit& fruit) { return fruit.name; }),
      text_column<Fruit>("grams", kStays, [](const Fruit& fruit) { return std::to_string(fruit.weight); }),
      text_column<Fruit>("late", 2, [](const Fruit&) { return std::string("second"); }),
      text_column<Fruit>("early", 1, [](const Fruit&) { return std::string("first"); }),
      text_column<Fruit>("tiny", kLast, [](const Fruit&) { return std::string("last"); }),
  };
}

std::string text_at(size_t width) {
  TextOptions options;
  options.width = width;
  TextWriter writer(options);
  const std::vector<Fruit> fruits = {{"a pear with a long name", 180}};
  const auto fill = [](const Fruit* fruit, TextRow* line) {
    line->name_text = fruit == nullptr ? "fruit" : fruit->name;
  };
  write_columns(fruit_columns(), fruits.begin(), fruits.end(), fill, &writer);
  return writer.take();
}

TEST(Columns, OfTextAreThoseThatHaveACell) {
  EXPECT_THAT(column_titles(fruit_columns()), ElementsAre("grams", "late", "early", "tiny"));
  EXPECT_THAT(column_cells(fruit_columns(), Fruit{"pear", 180}),
              ElementsAre("180", "second", "first", "last"));
}

TEST(Columns, LeaveByTheirRankAsTheTerminalGetsNarrower) {
  // By the words that are left, from a wide terminal to a tiny one.
  std::vector<std::string> seen;
  for (size_t width = 200; width >= 8; --width) {
    const std::string text = text_at(width);
    std::string left;
    for (const char* word : {"180", "first", "second", "last"}) {
      if (text.find(word) != std::string::npos) left += std::string(left.empty() ? "" : " ") + word;
    }
    if (seen.empty() || seen.back() != left) seen.push_back(left);
  }
  EXPECT_THAT(seen, ElementsAre("180 first second last", "180 second last", "180 last", "180"));
}

}  // namespace
}  // namespace memprof::profile
