// SPDX-License-Identifier: Apache-2.0
#include "profile/text/markup/csv_text.h"

#include "profile/names/characters/character_width.h"

namespace memprof::profile {

std::string csv_field(std::string_view text) {
  std::string field;
  for (size_t at = 0; at < text.size();) {
    const Character character = character_at(text, at);
    if (character.is_broken || character.code == 0) {
      field += kReplacementCharacter;
    } else {
      if (character.code == '"') field += '"';
      field += text.substr(at, character.length);
    }
    at += character.length;
  }
  return text.find_first_of(",\"\r\n") == std::string_view::npos ? field : '"' + field + '"';
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (size_t i = 0; i < fields.size(); ++i) line += (i == 0 ? "" : ",") + csv_field(fields[i]);
  return line + '\n';
}

}  // namespace memprof::profile
