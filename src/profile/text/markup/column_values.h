// SPDX-License-Identifier: Apache-2.0
// Columns (profile/text/columns.h) as JSON and CSV.
//
// Threads: no state.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "profile/text/columns.h"
#include "profile/text/markup/csv_text.h"

namespace memprof::profile {

// An object with the columns that have a name.
template <typename Row>
nlohmann::ordered_json json_row(const std::vector<Column<Row>>& columns, const Row& row) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const Column<Row>& column : columns) {
    if (!column.name.empty()) object[column.name] = column.value(row);
  }
  return object;
}

// An array of such objects, of at most so many rows.
template <typename Row>
nlohmann::ordered_json json_rows(const std::vector<Column<Row>>& columns, const std::vector<Row>& rows,
                                 size_t max_rows = SIZE_MAX) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (size_t i = 0; i < std::min(rows.size(), max_rows); ++i) all.push_back(json_row(columns, rows[i]));
  return all;
}

// null, and what is not there, is empty.
inline std::string csv_value(const nlohmann::ordered_json& value, const CsvField& field) {
  const nlohmann::ordered_json* one = &value;
  for (size_t begin = 1; begin <= field.at.size();) {
    const size_t end = std::min(field.at.find('/', begin), field.at.size());
    const auto found = one->find(field.at.substr(begin, end - begin));
    if (found == one->end()) return "";
    one = &*found;
    begin = end + 1;
  }
  if (one->is_null() || (field.zero_is_unknown && *one == 0)) return "";
  return one->is_string() ? one->get<std::string>() : one->dump();
}

template <typename Row>
std::string csv_titles(const std::vector<Column<Row>>& columns) {
  std::vector<std::string> titles;
  for (const Column<Row>& column : columns) {
    if (column.name.empty()) continue;
    if (column.fields.empty()) titles.push_back(column.name);
    for (const CsvField& field : column.fields) titles.push_back(column.name + field.suffix);
  }
  return csv_line(titles);
}

template <typename Row>
std::string csv_row(const std::vector<Column<Row>>& columns, const Row& row) {
  std::vector<std::string> line;
  for (const Column<Row>& column : columns) {
    if (column.name.empty()) continue;
    const nlohmann::ordered_json value = column.value(row);
    if (column.fields.empty()) line.push_back(csv_value(value, {}));
    for (const CsvField& field : column.fields) line.push_back(csv_value(value, field));
  }
  return csv_line(line);
}

}  // namespace memprof::profile
