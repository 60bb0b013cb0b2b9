// SPDX-License-Identifier: Apache-2.0
#include "profile/text/markup/csv_text.h"

#include "profile/names/characters/character_width.h"

namespace memprof::profile {
namespace {

constexpr char kReplacement[] = "\xEF\xBF\xBD";

}  // namespace

std::string csv_field(std::string_view text) {
  std::string field;
  for (size_t at = 0; at < text.size();) {
    const size_t length = character_at(text, at).length;
    const bool is_broken = length == 1 && (static_cast<unsigned char>(text[at]) >= 0x80 || text[at] == '\0');
    if (is_broken) {
      field += kReplacement;
    } else {
      if (text[at] == '"') field += '"';
      field += text.substr(at, length);
    }
    at += length;
  }
  return text.find_first_of(",\"\r\n") == std::string_view::npos ? field : '"' + field + '"';
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (size_t i = 0; i < fields.size(); ++i) line += (i == 0 ? "" : ",") + csv_field(fields[i]);
  return line + '\n';
}

}  // namespace memprof::profile
