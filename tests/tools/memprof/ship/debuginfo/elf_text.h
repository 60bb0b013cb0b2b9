// SPDX-License-Identifier: Apache-2.0
// Small ELF files for tests: a build id, and what else is wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace memprof::cli::testing_tools {

struct ElfText {
  std::string id;           // bytes
  bool has_symbols = true;  // else as stripped
  std::string link;         // the name of a debug file
  size_t more_bytes = 0;    // at its end
  bool is_in_segment = false;

  // Of 64 bits, little endian: header, [a segment], names, note, link, sections.
  std::string bytes() const {
    std::string note = number(4, 4) + number(id.size(), 4) + number(3, 4) + std::string("GNU\0", 4) + id;
    note.resize((note.size() + 3) & ~size_t{3});
    std::string link_bytes = link + '\0';
    link_bytes.resize((link_bytes.size() + 3) & ~size_t{3});
    link_bytes += number(0x12345678, 4);
    const std::string names("\0.gnu_debuglink\0.note\0", 22);
    const uint64_t names_at = 64 + 56, note_at = names_at + names.size(), link_at = note_at + note.size();
    const std::string segment = number(4, 4) + number(4, 4) + number(note_at, 8) + number(0, 16) +
                                number(note.size(), 8) + number(0, 16);
    std::string sections = section(0, 0, 0, 0) + section(0, 3, names_at, names.size());
    if (!is_in_segment) sections += section(16, 7, note_at, note.size());
    if (!link.empty()) sections += section(1, 1, link_at, link_bytes.size());
    if (has_symbols) sections += section(0, 2, 0, 0);
    std::string header("\177ELF\2\1\1", 7);
    header.resize(16);
    header += number(3, 2) + number(62, 2) + number(1, 4) + number(0, 8) + number(64, 8) +
              number(link_at + link_bytes.size(), 8) + number(0, 4) + number(64, 2) + number(56, 2) +
              number(is_in_segment ? 1 : 0, 2) + number(64, 2) + number(sections.size() / 64, 2) +
              number(1, 2);
    return header + segment + names + note + link_bytes + sections + std::string(more_bytes, 'x');
  }

 private:
  static std::string number(uint64_t value, size_t size) {
    std::string bytes;
    for (size_t i = 0; i < size; ++i) bytes += static_cast<char>(i < 8 ? value >> (8 * i) : 0);
    return bytes;
  }
  static std::string section(uint64_t name, uint64_t type, uint64_t at, uint64_t size) {
    return number(name, 4) + number(type, 4) + number(0, 16) + number(at, 8) + number(size, 8) +
           number(0, 24);
  }
};

}  // namespace memprof::cli::testing_tools
