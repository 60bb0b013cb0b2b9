// SPDX-License-Identifier: Apache-2.0
#include "profile/text/text_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "profile/names/short_name.h"

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;

std::string run(const std::vector<std::string>& names, size_t width) {
  return run_text(names, "→", width);
}

TEST(TextTable, ARunOfCallsKeepsItsEndsLongest) {
  const std::vector<std::string> names = {"_start", "libc_main", "main", "parse", "node"};
  EXPECT_EQ(run(names, 0), "_start → libc_main → main → parse → node");
  EXPECT_EQ(run(names, 40), "_start → libc_main → main → parse → node");
  EXPECT_EQ(run(names, 39), "_start → (+1) → main → parse → node");
  EXPECT_EQ(run(names, 34), "_start → (+2) → parse → node");
  EXPECT_EQ(run(names, 27), "_start → (+3) → node");
  EXPECT_EQ(run(names, 20), "_start → (+3) → node");
  EXPECT_EQ(run(names, 19), "(+3) → parse → node");
  EXPECT_EQ(run(names, 14), "(+4) → node");
  EXPECT_EQ(run(names, 10), "node");
  EXPECT_EQ(run(names, 3), "n…e");
  for (size_t width = 1; width < 60; ++width) EXPECT_LE(text_width(run(names, width)), width);
}

std::string table_text(size_t width, const std::string& name, const std::string& place) {
  TextRow titles;
  titles.numbers = {"bytes", "%", "other"};
  titles.name_text = "function";
  titles.place = place.empty() ? "" : "place";
  TextTable table(titles, {{"self", 2}, {"more", 1}});
  table.set_optional({2, 1});
  TextRow row;
  row.numbers = {"1000000", "50%", "123456789"};
  row.names = {name};
  row.place = place;
  table.add(row);
  TextOptions options;
  options.width = width;
  TextWriter writer(options);
  table.write(&writer);
  return writer.take();
}

TEST(TextTable, IsLaidOut) {
  EXPECT_EQ(table_text(0, "f(int)", "/src/f.cc:3"),
            "        self       more\n"
            "  bytes    %      other  function  place\n"
            "1000000  50%  123456789  f(int)    /src/f.cc:3\n");
}

TEST(TextTable, NamesAreCutBeforeNamesOfFiles) {
  const std::string name = "a_function_with_a_long_name_and_more";
  EXPECT_THAT(table_text(72, name, "/long/path/to/the/sources/interpreter.cc:1234"),
              HasSubstr("interpreter.cc:1234\n"));
  EXPECT_THAT(table_text(64, name, "/src/a_file_whose_name_is_longer_than_half_of_the_line.cc:1234"),
              HasSubstr("a_functi"));
}

TEST(TextTable, ANarrowTerminalDoesWithoutColumns) {
  EXPECT_EQ(table_text(55, "f", ""),
            "        self\n"
            "  bytes    %  function\n"
            "1000000  50%  f\n");
  EXPECT_EQ(table_text(49, "f", ""),
            "   self\n"
            "  bytes  function\n"
            "1000000  f\n");
}

TEST(TextTable, FitsAnyTerminalThatIsNotTiny) {
  const std::string name = "std::map<std::string, std::vector<int>>::insert(std::pair<std::string, int>)";
  for (size_t width = 40; width < 200; ++width) {
    std::istringstream lines(table_text(width, name, "/a/long/path/to/the/sources/of/something/map.h:1234"));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(text_width(line), width) << line;
  }
}

TEST(TextTable, WithoutATerminalNothingIsCut) {
  const std::string name(5000, 'n');
  const std::string place(5000, 'p');
  EXPECT_NE(table_text(0, name, place).find(name + "  " + place), std::string::npos);
}

TEST(TextTable, DeepInATreeTheDepthStandsForItsLines) {
  TextRow titles;
  titles.numbers = {"b"};
  titles.name_text = "function";
  TextTable table(titles);
  TextRow row;
  row.numbers = {"1"};
  row.names = {"name_of_it"};
  for (size_t i = 0; i < 20; ++i) row.guide += "│ ";
  table.add(row);
  TextOptions options;
  options.width = 43;
  TextWriter writer(options);
  table.write(&writer);
  EXPECT_EQ(writer.take(), "b  function\n1  [21] name_of_it\n");
}

std::string table_with_note(size_t width, const std::string& name, const std::string& place) {
  TextRow titles;
  titles.numbers = {"b"};
  titles.name_text = "function";
  titles.place = "place";
  TextTable table(titles);
  TextRow row;
  row.numbers = {"1"};
  row.names = {name};
  row.place = place;
  table.add(row);
  row.notes = {"for prices (app.py:4) through PyArray_Empty", "for prices (app.py:4)"};
  table.add(row);
  TextOptions options;
  options.width = width;
  TextWriter writer(options);
  table.write(&writer);
  return writer.take();
}

TEST(TextTable, ANoteStandsBehindThePlaceWhereThereIsRoom) {
  const std::string row = "1  f         a.py:3";
  const std::string start = "b  function  place\n" + row + "\n" + row;
  EXPECT_EQ(table_with_note(0, "f", "a.py:3"), start + "  for prices (app.py:4) through PyArray_Empty\n");
  EXPECT_EQ(table_with_note(200, "f", "a.py:3"), table_with_note(0, "f", "a.py:3"));
  EXPECT_EQ(table_with_note(95, "f", "a.py:3"), start + "\n");
  const std::string long_place = "/a/long/path/to/the/sources/of/something/map.py:1234";
  const std::string cut = table_with_note(100, "a_function_with_a_name", long_place);
  EXPECT_NE(cut.find("  for prices (app.py:4)\n"), std::string::npos) << cut;
  for (size_t width = 40; width < 200; ++width) {
    std::istringstream lines(table_with_note(width, "a_function_with_a_name", long_place));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(text_width(line), width) << line;
  }
}

}  // namespace
}  // namespace memprof::profile
