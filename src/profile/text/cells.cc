// SPDX-License-Identifier: Apache-2.0
#include "profile/text/cells.h"

#include <algorithm>

#include "profile/names/characters/character_width.h"
#include "profile/names/short_name.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {
namespace {

constexpr size_t kLongestCell = 24;  // bytes: more marks over one character are left out

}  // namespace

std::string style_sequence(const Style& style, bool has_color) {
  static constexpr const char* kColors[] = {"", ";31", ";32", ";33", ";34", ";36"};
  std::string text = "\x1b[0";
  if (style.bold) text += ";1";
  if (style.faint && has_color) text += ";2";
  if (style.reverse) text += ";7";
  if (has_color) text += kColors[static_cast<size_t>(style.color)];
  return text + "m";
}

Cells::Cells(size_t width, size_t height) : width_(width), height_(height), cells_(width * height) {}

// Before `width` cells from `column` on are written.
void Cells::blank_halves(size_t row, size_t column, size_t width) {
  if (at(row, column).text.empty() && column > 0) at(row, column - 1).text = " ";
  const size_t after = column + width;
  if (after < width_ && at(row, after).text.empty()) at(row, after).text = " ";
}

size_t Cells::put(size_t row, size_t column, std::string_view text, const Style& style) {
  return put_until(row, column, width_, text, style);
}

size_t Cells::put_until(size_t row, size_t column, size_t end, std::string_view text, const Style& style) {
  end = std::min(end, width_);
  if (row >= height_) return column;
  const std::string safe = printable(std::string(text));
  size_t last = SIZE_MAX;  // the cell of the last character
  for (size_t i = 0; i < safe.size();) {
    const Character character = character_at(safe, i);
    const std::string_view bytes = std::string_view(safe).substr(i, character.length);
    i += character.length;
    if (character.width == 0) {
      if (last == SIZE_MAX) continue;
      std::string& under = at(row, last).text;
      if (under.size() + bytes.size() <= kLongestCell) under += bytes;
      continue;
    }
    if (column + character.width > end) return column;
    blank_halves(row, column, character.width);
    at(row, column) = {std::string(bytes), style};
    if (character.width == 2) at(row, column + 1) = {std::string(), style};
    last = column;
    column += character.width;
  }
  return column;
}

void Cells::put_right(size_t row, size_t end, std::string_view text, const Style& style) {
  const size_t width = text_width(printable(std::string(text)));
  put_until(row, end > width ? end - width : 0, end, text, style);
}

void Cells::set_style(size_t row, const Style& style) {
  if (row >= height_) return;
  for (size_t column = 0; column < width_; ++column) at(row, column).style = style;
}

std::string Cells::row_text(size_t row) const {
  std::string text;
  for (size_t column = 0; column < width_; ++column) text += at(row, column).text;
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

std::string Cells::text() const {
  std::string text;
  for (size_t row = 0; row < height_; ++row) text += row_text(row) + "\n";
  return text;
}

std::string Cells::row_sequence(size_t row, bool has_color) const {
  size_t end = width_;  // blanks without a style are cleared, not written
  while (end > 0 && at(row, end - 1).text == " " && !at(row, end - 1).style.reverse) --end;
  std::string text;
  Style now;
  for (size_t column = 0; column < end; ++column) {
    const Cell& cell = at(row, column);
    if (cell.style != now) text += style_sequence(cell.style, has_color);
    now = cell.style;
    text += cell.text;
  }
  if (now != Style()) text += style_sequence({}, has_color);
  return text;
}

}  // namespace memprof::profile
