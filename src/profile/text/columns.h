// SPDX-License-Identifier: Apache-2.0
// A column of a table, declared once: what people read of it, and its name and value for programs.
//
// Model: a table is a list of columns, from left to right.  write_columns() makes text of those that have a cell;
// column_titles() and column_cells() are for Markdown and HTML; markup/column_values.h makes JSON and CSV of those that
// have a name.  A column whose place in JSON is another than in text stands in the list twice.
//
// Threads: plain values.
#pragma once

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "profile/text/text_table.h"

namespace memprof::profile {

// When a column is left out of a narrower terminal: 1 first; those from kLast on only of a tiny one.
inline constexpr int kStays = 0;
inline constexpr int kLast = 100;

// A field of CSV, of a value that has several.
struct CsvField {
  std::string suffix;  // of its title, behind the column's name
  std::string at;      // in the value: "/low", "/inuse_space/low"; empty: all of it
  bool zero_is_unknown = false;
};

template <typename Row>
struct Column {
  // For people.
  std::string title{};
  int left_out = kStays;
  std::function<std::string(const Row&)> cell{};  // none: not in text
  std::function<Tone(const Row&)> tone{};         // else plain
  // For programs.
  std::string name{};  // empty: not in JSON and CSV
  std::function<nlohmann::ordered_json(const Row&)> value{};
  std::vector<CsvField> fields{};  // none: the value is one
};

// For people alone.
template <typename Row>
Column<Row> text_column(std::string title, int left_out, std::function<std::string(const Row&)> cell,
                        std::function<Tone(const Row&)> tone = {}) {
  return {std::move(title), left_out, std::move(cell), std::move(tone), {}, {}, {}};
}

// For programs alone.
template <typename Row>
Column<Row> value_column(std::string name, std::function<nlohmann::ordered_json(const Row&)> value,
                         std::vector<CsvField> fields = {}) {
  return {{}, kStays, {}, {}, std::move(name), std::move(value), std::move(fields)};
}

template <typename Row>
std::vector<std::string> column_titles(const std::vector<Column<Row>>& columns) {
  std::vector<std::string> titles;
  for (const Column<Row>& column : columns) {
    if (column.cell) titles.push_back(column.title);
  }
  return titles;
}

template <typename Row>
std::vector<std::string> column_cells(const std::vector<Column<Row>>& columns, const Row& row) {
  std::vector<std::string> cells;
  for (const Column<Row>& column : columns) {
    if (column.cell) cells.push_back(column.cell(row));
  }
  return cells;
}

// A line of text for each row of [first, last); `fill(row, line)` adds names and places to titles (of no row) and lines.
template <typename Row, typename Iterator, typename Fill>
TextTable table_of_columns(const std::vector<Column<Row>>& columns, Iterator first, Iterator last,
                           const Fill& fill, std::vector<std::pair<std::string, size_t>> groups = {}) {
  TextRow titles;
  titles.numbers = column_titles(columns);
  fill(static_cast<const Row*>(nullptr), &titles);
  TextTable table(std::move(titles), std::move(groups));
  std::vector<std::pair<int, size_t>> ranks;
  size_t place = 0;
  for (const Column<Row>& column : columns) {
    if (!column.cell) continue;
    if (column.left_out != kStays) ranks.emplace_back(column.left_out, place);
    ++place;
  }
  std::sort(ranks.begin(), ranks.end());
  std::vector<size_t> optional;
  std::vector<size_t> last_resort;
  for (const auto& [rank, at] : ranks) (rank < kLast ? optional : last_resort).push_back(at);
  table.set_optional(std::move(optional), std::move(last_resort));
  for (; first != last; ++first) {
    const Row& row = *first;
    TextRow line;
    line.numbers = column_cells(columns, row);
    for (const Column<Row>& column : columns) {
      if (column.cell) line.tones.push_back(column.tone ? column.tone(row) : Tone::kPlain);
    }
    fill(&row, &line);
    table.add(std::move(line));
  }
  return table;
}

template <typename Row, typename Iterator, typename Fill>
void write_columns(const std::vector<Column<Row>>& columns, Iterator first, Iterator last, const Fill& fill,
                   TextWriter* writer, std::vector<std::pair<std::string, size_t>> groups = {}) {
  table_of_columns(columns, first, last, fill, std::move(groups)).write(writer);
}

}  // namespace memprof::profile
