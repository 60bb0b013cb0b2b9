// SPDX-License-Identifier: Apache-2.0
// Rows of numbers, a name and a place, laid out for the width of a terminal.
//
// Model: numbers are never cut.  Where they leave too little room for names, columns are left out in the
// order given; then places and names are shortened.  Where there is no terminal nothing is cut.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "profile/text/text_writer.h"

namespace memprof::profile {

struct TextRow {
  std::vector<std::string> numbers;
  std::vector<Tone> tones;         // of the numbers; those beyond its end are plain
  std::string guide;               // of a tree, before the name
  std::vector<std::string> names;  // a run of calls; one: a name; none: `name_text`
  std::string name_text;           // goes where names would, as it is
  std::string place;
  std::vector<std::string> notes;  // one of them stands after the place: the first for which there is room
};

class TextTable {
 public:
  // Titles of the columns; a group is a second title over several of them (text, number of columns).
  explicit TextTable(TextRow titles, std::vector<std::pair<std::string, size_t>> groups = {});

  // Columns that are left out on a narrow terminal, in this order; `last_resort`: on a tiny one, too.
  void set_optional(std::vector<size_t> columns, std::vector<size_t> last_resort = {}) {
    optional_ = std::move(columns);
    last_resort_ = std::move(last_resort);
  }
  // Between the names of a run.
  void set_arrow(std::string arrow) { arrow_ = std::move(arrow); }
  void add(TextRow row) { rows_.push_back(std::move(row)); }
  void write(TextWriter* writer);

 private:
  void measure(const TextRow& row);
  void drop_columns(size_t width);
  void fit(size_t width);
  size_t numbers_width() const;
  const std::string* note_of(const TextRow& row, bool is_cut) const;
  std::string name_of(const TextRow& row, size_t width, const TextWriter& writer) const;
  std::string joined(const TextRow& row, Tone place_tone, const TextWriter& writer) const;
  std::string group_line() const;

  TextRow titles_;
  std::vector<std::pair<std::string, size_t>> groups_;
  std::vector<size_t> optional_;
  std::vector<size_t> last_resort_;
  std::string arrow_;
  std::vector<TextRow> rows_;
  std::vector<bool> is_shown_;  // columns
  std::vector<size_t> widths_;
  size_t name_width_ = 0;
  size_t place_width_ = 0;
  size_t file_width_ = 0;  // of the last parts of places: …/app.py:12
  size_t note_width_ = 0;  // 0: none are shown
  bool has_places_ = true;
};

// A run of calls in at most `width` columns (0: no limit).  Calls in the middle are left out first, `(+3)` in
// their place; the last call is kept longest, then the first.
std::string run_text(const std::vector<std::string>& names, const std::string& arrow, size_t width);

}  // namespace memprof::profile
