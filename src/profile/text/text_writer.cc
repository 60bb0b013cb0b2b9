// SPDX-License-Identifier: Apache-2.0
#include "profile/text/text_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <utility>

#include "profile/names/characters/character_width.h"
#include "profile/names/short_name.h"

namespace memprof::profile {
namespace {

constexpr Signs kUtf8Signs = {"±", "→", "←", "├ ", "└ ", "│ ", "  "};
constexpr Signs kAsciiSigns = {"+-", "->", "<-", "|-", "`-", "| ", "  "};

// Of the tones; a sequence of the terminal is one of them between kBegin and 'm'.
constexpr std::string_view kCodes[] = {"", "1", "2", "31", "32", "36"};
constexpr std::string_view kBegin = "\x1b[";
constexpr std::string_view kEnd = "\x1b[0m";

// Columns of a word that may have colour codes.
size_t visible_width(const std::string& word) {
  size_t width = 0;
  for (const TonedText& part : toned_parts(word)) width += text_width(part.text);
  return width;
}

// Length of the UTF-8 character at `at`, which is well-formed and no control character; 0: it is not.
size_t character_length(std::string_view text, size_t at) {
  const Character character = character_at(text, at);
  const uint32_t code = character.code;
  const bool is_control = code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
                          (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
                          (code >= 0x2066 && code <= 0x2069);
  return character.is_broken || is_control ? 0 : character.length;
}

// One column stays one column.
std::string ascii(const std::string& text) {
  constexpr std::string_view kEllipsis = "…";
  std::string result;
  for (size_t i = 0; i < text.size();) {
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      result += text[i++];
      continue;
    }
    result += text.compare(i, kEllipsis.size(), kEllipsis) == 0 ? '~' : '?';
    do ++i;
    while (i < text.size() && (static_cast<unsigned char>(text[i]) & 0xc0) == 0x80);
  }
  return result;
}

}  // namespace

const Signs& TextWriter::signs() const {
  return options_.has_utf8 ? kUtf8Signs : kAsciiSigns;
}

void TextWriter::line(const std::string& text) {
  text_ += text + "\n";
}

void TextWriter::blank() {
  const bool is_there = text_.size() > 1 && text_.compare(text_.size() - 2, 2, "\n\n") == 0;
  if (!is_there) text_ += '\n';
}

void TextWriter::sentence(const std::string& text) {
  size_t column = 0;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = std::min(text.find(' ', begin + 1), text.size());
    // `95 %` stays together.
    if (text.compare(end, 2, " %") == 0) end = std::min(text.find(' ', end + 1), text.size());
    std::string word = text.substr(begin, end - begin);
    const size_t width = visible_width(word);
    if (options_.width != 0 && column != 0 && column + width > options_.width) {
      word.replace(0, 1, "\n  ");
      column = 1;
    }
    text_ += word;
    column += width;
    begin = end;
  }
  text_ += '\n';
}

std::string TextWriter::toned(Tone tone, const std::string& text) const {
  if (tone == Tone::kPlain || text.empty() || !options_.has_color) return text;
  return fmt::format("{}{}m{}{}", kBegin, kCodes[static_cast<size_t>(tone)], text, kEnd);
}

std::vector<TonedText> toned_parts(const std::string& line) {
  std::vector<TonedText> parts;
  Tone tone = Tone::kPlain;
  for (size_t at = 0; at < line.size();) {
    const size_t begin = std::min(line.find(kBegin, at), line.size());
    if (begin > at) parts.push_back({tone, line.substr(at, begin - at)});
    const size_t code = begin + kBegin.size();
    const size_t end = line.find('m', code);
    if (end == std::string::npos) break;
    const auto known = std::find(std::begin(kCodes), std::end(kCodes), line.substr(code, end - code));
    tone = known == std::end(kCodes) ? Tone::kPlain : static_cast<Tone>(known - std::begin(kCodes));
    at = end + 1;
  }
  return parts;
}

std::string TextWriter::take() {
  const std::string text = std::exchange(text_, {});
  return options_.has_utf8 ? text : ascii(text);
}

std::string printable(const std::string& text) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    const size_t length = character_length(text, i);
    if (length == 0) {
      result += '?';
    } else {
      result.append(text, i, length);
    }
    i += std::max<size_t>(length, 1);
  }
  return result;
}

}  // namespace memprof::profile
