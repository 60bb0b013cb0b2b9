// SPDX-License-Identifier: Apache-2.0
#include "memprof/help/help_text.h"

#include <algorithm>

namespace memprof::cli {
namespace {

constexpr size_t kWidth = 80;
constexpr size_t kIndentation = 2;
constexpr size_t kMaxHeading = 16;  // longer ones have a line of their own

using Shown = OptionText::Shown;

// Columns of a terminal: bytes that do not continue a character of UTF-8.
size_t columns(const std::string& text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// The lines of a text, broken between words.  A line that begins with a space stays as it is.
std::vector<std::string> broken(const std::string& text, size_t width) {
  std::vector<std::string> lines;
  for (const std::string& line : split(text, '\n')) {
    lines.emplace_back();
    if (!line.empty() && line[0] == ' ') {
      lines.back() = line;
      continue;
    }
    for (const std::string& word : split(line, ' ')) {
      if (!lines.back().empty() && columns(lines.back()) + 1 + columns(word) > width) lines.emplace_back();
      lines.back() += (lines.back().empty() ? "" : " ") + word;
    }
  }
  return lines;
}

struct Line {
  std::string heading;
  std::string text;
};

// Headings at the left, texts in one column beside them.
std::string two_columns(const std::vector<Line>& lines) {
  size_t widest = 0;
  for (const Line& line : lines) {
    if (line.heading.size() <= kMaxHeading) widest = std::max(widest, line.heading.size());
  }
  const size_t column = kIndentation + widest + 2;
  std::string out;
  for (const Line& line : lines) {
    std::string begin = std::string(kIndentation, ' ') + line.heading;
    if (line.heading.size() > widest) {
      out += begin + "\n";
      begin.clear();
    }
    for (const std::string& text : broken(line.text, kWidth - column)) {
      out += begin + std::string(text.empty() ? 0 : column - begin.size(), ' ') + text + "\n";
      begin.clear();
    }
  }
  return out;
}

std::string usage(const Description& description) {
  std::string out;
  for (const std::string& line : split(description.help.usage, '\n')) {
    out += (out.empty() ? "usage: " : "       ") + line + "\n";
  }
  return out;
}

// Those that another command's help explains: by name.
std::string named_only(const Description& description) {
  std::string names;
  std::string home;
  for (const OptionText& option : description.options) {
    if (option.shown != Shown::kInHelp || !is_explained_elsewhere(description, option)) continue;
    home = option.home;
    names += (names.empty() ? "" : ", ") + names_of(option).front();
    if (!option.value.empty()) names += "\xc2\xa0" + option.value;  // not broken there
  }
  if (names.empty()) return "";
  std::string out = "\nAs in `memprof " + home + "` (its --help explains them):\n";
  for (std::string line : broken(names, kWidth - kIndentation)) {
    for (size_t at = line.find("\xc2\xa0"); at != std::string::npos; at = line.find("\xc2\xa0"))
      line.replace(at, 2, " ");
    out += std::string(kIndentation, ' ') + line + "\n";
  }
  return out;
}

}  // namespace

std::vector<std::string> names_of(const OptionText& option) {
  return split(option.names, ',');
}

std::string heading_of(const OptionText& option) {
  std::string heading;
  for (const std::string& name : names_of(option)) heading += (heading.empty() ? "" : ", ") + name;
  return option.value.empty() ? heading : heading + " " + option.value;
}

std::string first_sentence(const std::string& text) {
  for (size_t at = text.find('.'); at != std::string::npos; at = text.find('.', at + 1)) {
    const bool is_last = at + 1 == text.size() || text[at + 1] == ' ' || text[at + 1] == '\n';
    // "1M ... or 0" goes on.
    if (is_last && at != 0 && text[at - 1] != '.' && text[at - 1] != ' ') return text.substr(0, at);
  }
  return text;
}

bool is_explained_elsewhere(const Description& description, const OptionText& option) {
  return !option.home.empty() && option.home != description.command;
}

std::string help_of(const Description& description) {
  std::vector<Line> lines;
  for (const OptionText& option : description.options) {
    const bool is_elsewhere = is_explained_elsewhere(description, option);
    if (option.shown == Shown::kNowhere || (is_elsewhere && option.shown != Shown::kInBoth)) continue;
    lines.push_back({heading_of(option), is_elsewhere ? first_sentence(option.text) : option.text});
  }
  const HelpText& help = description.help;
  std::string out = usage(description) + "\n" + help.brief;
  if (!help.more.empty()) out += "\n" + help.more;
  if (!lines.empty()) out += "\n" + two_columns(lines);
  out += named_only(description);
  if (!help.end.empty()) out += "\n" + help.end;
  return out;
}

std::string brief_help_of(const Description& description) {
  std::vector<Line> lines;
  bool is_all = description.help.more.empty() && description.help.end.empty();
  for (const OptionText& option : description.options) {
    if (option.shown == Shown::kInBoth) {
      lines.push_back({heading_of(option), first_sentence(option.text)});
    } else if (option.shown == Shown::kInHelp) {
      is_all = false;
    }
  }
  std::string out = usage(description) + "\n" + description.help.brief;
  if (!lines.empty()) out += "\n" + two_columns(lines);
  if (!is_all) out += "\nAll options: memprof " + description.command + " --help\n";
  return out;
}

}  // namespace memprof::cli
