// SPDX-License-Identifier: Apache-2.0
// Columns of rows that are places in code: what they are called, and what stands beside them.
//
// Model: `place` gives of a row what has a name, a file, a line and a module (FrameGroup, ReportRow).  For people the
// place stands behind the numbers (place_fill, for write_columns()); for programs it is four columns.
//
// Threads: no state.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "profile/report/report_cells.h"
#include "profile/text/columns.h"
#include "profile/text/markup/notes_json.h"

namespace memprof::profile {

template <typename Row, typename Place>
std::vector<Column<Row>> place_columns(Place place) {
  using Json = nlohmann::ordered_json;
  return {
      value_column<Row>("name", [place](const Row& row) { return Json(place(row).name); }),
      value_column<Row>("file", [place](const Row& row) { return Json(place(row).file); }),
      value_column<Row>("line", [place](const Row& row) { return Json(place(row).line); }, {{"", "", true}}),
      value_column<Row>("module", [place](const Row& row) { return Json(place(row).module); })};
}

// Of rows that have `notes`.
template <typename Row>
std::vector<Column<Row>> note_columns() {
  const auto note = [](const char* which) {
    return [which](const Row& row) {
      nlohmann::ordered_json notes;
      add_notes(row.notes, &notes);
      return notes[which];
    };
  };
  return {value_column<Row>("through", note("through"), {{"_function", "/function"}, {"_module", "/module"}}),
          value_column<Row>("called_by", note("called_by"),
                            {{"_function", "/function"}, {"_file", "/file"}, {"_line", "/line", true}})};
}

// Puts one list behind another.
template <typename Row>
void add_columns(std::vector<Column<Row>> more, std::vector<Column<Row>>* columns) {
  columns->insert(columns->end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// What write_columns() puts behind the numbers.  An empty title of places: rows have none, and no notes.
template <typename Row, typename Place>
auto place_fill(std::string name_title, std::string place_title, Place place) {
  return [name_title = std::move(name_title), place_title = std::move(place_title), place](const Row* row,
                                                                                           TextRow* line) {
    if (row == nullptr) {
      line->name_text = name_title;
      line->place = place_title;
      return;
    }
    const auto& at = place(*row);
    line->names = {printable(at.name)};
    if (!place_title.empty()) line->place = printable(place_cell(at.name, at.file, at.line, at.module));
  };
}

// The same, with the row's notes.
template <typename Row, typename Place>
auto place_and_notes_fill(std::string name_title, std::string place_title, Place place) {
  return [fill = place_fill<Row>(std::move(name_title), std::move(place_title), place)](const Row* row,
                                                                                        TextRow* line) {
    fill(row, line);
    if (row == nullptr) return;
    for (const std::string& note : note_cells(row->notes)) line->notes.push_back(printable(note));
  };
}

}  // namespace memprof::profile
