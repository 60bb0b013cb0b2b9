// SPDX-License-Identifier: Apache-2.0
#include "profile/text/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "profile/names/short_name.h"

namespace memprof::profile {
namespace {

constexpr size_t kGap = 2;             // between columns
constexpr size_t kMinTextWidth = 24;   // before the last of them, and places
constexpr size_t kMinNameWidth = 12;   // come what may
constexpr size_t kGoodTextWidth = 36;  // before columns are left out
constexpr size_t kMinNoteWidth = 20;   // before there are no notes
constexpr size_t kNoNotesBelow = 96;   // of a terminal: names, places and numbers need it
constexpr size_t kFilePadWidth = 100;  // of names where no terminal limits a line: longer ones stick out

std::string padding(size_t width, const std::string& text) {
  const size_t used = text_width(text);
  return std::string(width > used ? width - used : 0, ' ');
}

}  // namespace

std::string run_text(const std::vector<std::string>& names, const std::string& arrow, size_t width) {
  const std::string between = " " + arrow + " ";
  std::string whole = fmt::format("{}", fmt::join(names, between));
  if (width == 0 || text_width(whole) <= width) return whole;
  const std::string& last = names.back();
  if (names.size() == 1) return short_name(last, width);

  const auto left_out = [&](size_t count) { return fmt::format("(+{})", count) + between; };
  std::string tail = last;
  size_t begin = names.size() - 1;  // of the names in `tail`
  const std::string head = names.front() + between;
  if (text_width(head + left_out(begin - 1) + last) <= width) {
    while (begin > 2 && text_width(head + left_out(begin - 2) + names[begin - 1] + between + tail) <= width) {
      tail = names[--begin] + between + tail;
    }
    return head + left_out(begin - 1) + tail;
  }
  // No room for the first: those nearest to the end.
  while (begin > 1 && text_width(left_out(begin - 1) + names[begin - 1] + between + tail) <= width) {
    tail = names[--begin] + between + tail;
  }
  const std::string mark = left_out(begin);
  const size_t mark_width = text_width(mark);
  if (mark_width + text_width(tail) <= width) return mark + tail;
  return mark_width + kMinNameWidth <= width ? mark + short_name(last, width - mark_width)
                                             : short_name(last, width);
}

TextTable::TextTable(TextRow titles, std::vector<std::pair<std::string, size_t>> groups)
    : titles_(std::move(titles)),
      groups_(std::move(groups)),
      is_shown_(titles_.numbers.size(), true),
      widths_(titles_.numbers.size()) {}

void TextTable::measure(const TextRow& row) {
  for (size_t i = 0; i < widths_.size(); ++i) widths_[i] = std::max(widths_[i], text_width(row.numbers[i]));
  const size_t name = row.names.size() == 1 ? text_width(row.names[0]) : text_width(row.name_text);
  name_width_ = std::max(name_width_, text_width(row.guide) + name);
  place_width_ = std::max(place_width_, text_width(row.place));
  // With what stands for the folders that are left out.
  const size_t slash = row.place.rfind('/');
  if (slash != std::string::npos)
    file_width_ = std::max(file_width_, text_width(row.place.substr(slash)) + 1);
  if (!row.notes.empty()) note_width_ = std::max(note_width_, text_width(row.notes.front()));
}

size_t TextTable::numbers_width() const {
  size_t width = 0;
  for (size_t i = 0; i < widths_.size(); ++i) width += is_shown_[i] ? widths_[i] + kGap : 0;
  return width;
}

void TextTable::drop_columns(size_t width) {
  if (width < kNoNotesBelow) note_width_ = 0;
  const size_t good = kGoodTextWidth + (note_width_ != 0 ? kMinNoteWidth + 2 * kGap : 0);
  for (const size_t column : optional_) {
    if (numbers_width() + good <= width) return;
    is_shown_[column] = false;
  }
  for (const size_t column : last_resort_) {
    if (numbers_width() + kMinTextWidth <= width) return;
    is_shown_[column] = false;
  }
}

// Shares what a terminal leaves beside the numbers.
void TextTable::fit(size_t width) {
  const size_t used = numbers_width();
  const size_t room = std::max(width > used ? width - used : 0, kMinNameWidth);
  if (room < kMinTextWidth) place_width_ = 0;
  has_places_ = place_width_ != 0;
  if (!has_places_) {
    name_width_ = room;
    note_width_ = 0;
    return;
  }
  size_t text_room = room - kGap;
  // Two fifths at most, or what names and places leave.
  if (note_width_ != 0) {
    const size_t left = text_room - std::min(text_room, name_width_ + place_width_);
    const size_t most = std::max(2 * text_room / 5, left) - kGap;
    note_width_ = most < kMinNoteWidth ? 0 : std::min(note_width_, most);
    if (note_width_ != 0) text_room -= note_width_ + kGap;
  }
  if (name_width_ + place_width_ <= text_room) return;
  // A third, or the names of files and their lines, which tell more than the ends of long names.
  const size_t least = std::max(text_room / 3, std::min(file_width_, text_room / 2));
  place_width_ = std::max(std::min(place_width_, least), text_room - std::min(text_room, name_width_));
  name_width_ = text_room - place_width_;
}

const std::string* TextTable::note_of(const TextRow& row, bool is_cut) const {
  if (row.notes.empty() || note_width_ == 0) return nullptr;
  for (const std::string& note : row.notes) {
    if (!is_cut || text_width(note) <= note_width_) return &note;
  }
  return &row.notes.back();
}

std::string TextTable::name_of(const TextRow& row, size_t width, const TextWriter& writer) const {
  const bool is_cut = writer.options().width != 0;
  std::string guide = row.guide;
  // Deep in a tree the name needs the room more than its lines do.
  if (is_cut && text_width(guide) > width / 2) guide = fmt::format("[{}] ", text_width(guide) / 2 + 1);
  const size_t room = is_cut ? width - std::min(width - 1, text_width(guide)) : 0;
  if (row.names.empty()) return guide + (is_cut ? short_name(row.name_text, room) : row.name_text);
  return guide + run_text(row.names, arrow_, room);
}

std::string TextTable::joined(const TextRow& row, Tone place_tone, const TextWriter& writer) const {
  std::string text;
  for (size_t i = 0; i < widths_.size(); ++i) {
    if (!is_shown_[i]) continue;
    const Tone tone = i < row.tones.size() ? row.tones[i] : Tone::kPlain;
    text += padding(widths_[i], row.numbers[i]) + writer.toned(tone, row.numbers[i]) + std::string(kGap, ' ');
  }
  const std::string name = name_of(row, name_width_, writer);
  text += name;
  if (has_places_ && !row.place.empty()) {
    const bool is_cut = writer.options().width != 0;
    text += padding(name_width_ + kGap, name);
    if (text_width(name) > name_width_) text.append(kGap, ' ');
    const std::string place = is_cut ? short_path(row.place, place_width_) : row.place;
    text += writer.toned(place_tone, place);
    if (const std::string* const note = note_of(row, is_cut)) {
      const size_t width = std::min(place_width_, kFilePadWidth);
      text += padding(width + kGap, place);
      if (text_width(place) > width) text.append(kGap, ' ');
      text += writer.toned(place_tone, is_cut ? short_name(*note, note_width_) : *note);
    }
  }
  return text;
}

// Titles of groups over the right ends of their columns.
std::string TextTable::group_line() const {
  std::string line;
  size_t column = 0;
  size_t end = 0;
  for (const auto& [title, count] : groups_) {
    const size_t before = end;
    for (const size_t last = column + count; column < last; ++column) {
      end += is_shown_[column] ? widths_[column] + kGap : 0;
    }
    if (end == before) continue;  // none of its columns is shown
    const size_t width = end - kGap;
    if (line.size() + title.size() < width) line.append(width - title.size() - line.size(), ' ');
    line += (line.empty() || line.back() == ' ' ? "" : " ") + title;
  }
  return line;
}

void TextTable::write(TextWriter* writer) {
  measure(titles_);
  for (const TextRow& row : rows_) measure(row);
  if (const size_t width = writer->options().width; width != 0) {
    drop_columns(width);
    fit(width);
  } else {
    name_width_ = std::min(name_width_, kFilePadWidth);
  }
  if (!groups_.empty()) writer->line(writer->faint(group_line()));
  writer->line(writer->bold(joined(titles_, Tone::kPlain, *writer)));
  for (const TextRow& row : rows_) writer->line(joined(row, Tone::kFaint, *writer));
}

}  // namespace memprof::profile
