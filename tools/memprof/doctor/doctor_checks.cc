// SPDX-License-Identifier: Apache-2.0
#include "memprof/doctor/doctor_checks.h"

#include <algorithm>

#include "profile/text/text_writer.h"

namespace memprof::cli {
namespace {

constexpr size_t kNameColumn = 6;   // behind "note  "
constexpr size_t kTextColumn = 20;  // behind the longest name, "address space"
constexpr size_t kMinText = 20;     // however narrow the terminal is

const char* word_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kYes:
      return "yes";
    case Verdict::kNote:
      return "note";
    case Verdict::kNo:
      break;
  }
  return "no";
}

const char* color_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kYes:
      return "\033[32m";
    case Verdict::kNote:
      return "\033[33m";
    case Verdict::kNo:
      break;
  }
  return "\033[31m";
}

std::string padded(std::string text, size_t columns) {
  if (text.size() < columns) text.append(columns - text.size(), ' ');
  return text;
}

// `text` in lines of at most `width` characters; those after the first are indented.  A word that is too long
// keeps its length.
std::string wrapped(const std::string& text, size_t width, size_t indent) {
  if (width == 0) return text + "\n";
  const size_t room = std::max(width > indent ? width - indent : 0, kMinText);
  std::string lines;
  size_t column = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const size_t length = end - begin;
    if (column != 0 && column + 1 + length > room) {
      lines += "\n" + std::string(indent, ' ');
      column = 0;
    } else if (column != 0) {
      lines += ' ';
      ++column;
    }
    lines += text.substr(begin, length);
    column += length;
    begin = end + 1;
  }
  return lines + "\n";
}

}  // namespace

void Checks::yes(const std::string& name, const std::string& found) {
  all_.push_back({Verdict::kYes, name, found, ""});
}

void Checks::note(const std::string& name, const std::string& found, const std::string& to_do) {
  all_.push_back({Verdict::kNote, name, found, to_do});
}

void Checks::no(const std::string& name, const std::string& found, const std::string& to_do) {
  all_.push_back({Verdict::kNo, name, found, to_do});
}

size_t Checks::count(Verdict verdict) const {
  return static_cast<size_t>(std::count_if(
      all_.begin(), all_.end(), [verdict](const Check& check) { return check.verdict == verdict; }));
}

std::string Checks::text(size_t width, bool has_color) const {
  std::string text;
  for (const Check& check : all_) {
    const std::string word = padded(word_of(check.verdict), kNameColumn);
    text += has_color ? color_of(check.verdict) + word + "\033[0m" : word;
    text += padded(check.name, kTextColumn - kNameColumn);
    text += wrapped(profile::printable(check.found), width, kTextColumn);
    if (check.to_do.empty()) continue;
    text +=
        std::string(kTextColumn, ' ') + wrapped("-> " + profile::printable(check.to_do), width, kTextColumn);
  }
  const size_t stops = count(Verdict::kNo);
  const size_t notes = count(Verdict::kNote);
  text += "\n";
  if (stops == 0) {
    text += "memprof works here";
  } else {
    text += std::to_string(stops) + (stops == 1 ? " problem stops memprof" : " problems stop memprof");
  }
  if (notes != 0) text += "; " + std::to_string(notes) + (notes == 1 ? " note" : " notes");
  return text + "\n";
}

}  // namespace memprof::cli
