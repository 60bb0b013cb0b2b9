// SPDX-License-Identifier: Apache-2.0
// A frame of text: rows and columns of a terminal, each cell with a character and a style.
//
// Model: text is written from a cell to the right and ends at the frame's edge; a wide character takes two
// cells, or none where only one is left.  What is written over one half of a wide character blanks the other.
// Control characters and what is not UTF-8 become `?`, so that no name can steer a terminal.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memprof::profile {

enum class Color : uint8_t { kNone, kRed, kGreen, kYellow, kBlue, kCyan };

struct Style {
  Color color = Color::kNone;
  bool bold = false;
  bool faint = false;
  bool reverse = false;  // text and ground change places
};

inline bool operator==(const Style& a, const Style& b) {
  return a.color == b.color && a.bold == b.bold && a.faint == b.faint && a.reverse == b.reverse;
}
inline bool operator!=(const Style& a, const Style& b) {
  return !(a == b);
}

// As an SGR sequence that begins with a reset.  Without colour: the rest of it.
std::string style_sequence(const Style& style, bool has_color);

class Cells {
 public:
  Cells(size_t width, size_t height);

  size_t width() const { return width_; }
  size_t height() const { return height_; }

  // Returns the column after it.  What lies outside of the frame is left out.
  size_t put(size_t row, size_t column, std::string_view text, const Style& style = {});
  // Ends before `end`, at which a column may begin.
  size_t put_until(size_t row, size_t column, size_t end, std::string_view text, const Style& style = {});
  // So that its last column is the one before `end`; from the frame's first column where it is longer.
  void put_right(size_t row, size_t end, std::string_view text, const Style& style = {});
  // Gives all cells of a row this style.
  void set_style(size_t row, const Style& style);

  // Without styles and without the blanks at its end.
  std::string row_text(size_t row) const;
  // All rows, each with a line break.
  std::string text() const;
  // A row with the sequences of its styles.  `has_color`: else bold and reverse alone.
  std::string row_sequence(size_t row, bool has_color) const;

 private:
  struct Cell {
    std::string text = " ";  // a character with what stands over it; empty: the right half of the one before
    Style style;
  };

  Cell& at(size_t row, size_t column) { return cells_[row * width_ + column]; }
  const Cell& at(size_t row, size_t column) const { return cells_[row * width_ + column]; }
  void blank_halves(size_t row, size_t column, size_t width);

  size_t width_;
  size_t height_;
  std::vector<Cell> cells_;
};

}  // namespace memprof::profile
