// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/debuginfo/build_note.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "profile/files/regular_file.h"
#include "profile/symbolize/files/binary_values.h"

namespace memprof::cli {
namespace {

using profile::u16;
using profile::u32;
using profile::u64;

constexpr uint64_t kMaxTableBytes = uint64_t{1} << 20;
constexpr uint64_t kMaxNoteBytes = uint64_t{64} << 10;
constexpr size_t kHeaderBytes = 64;
// Of ELF; its header is Linux's, and this reads files of any size of words.
constexpr uint32_t kSectionSymbols = 2;
constexpr uint32_t kSectionNote = 7;
constexpr uint32_t kSectionWithoutBytes = 8;
constexpr uint32_t kSegmentNote = 4;
constexpr uint32_t kNoteBuildId = 3;

// Empty: it is not all there, or too much.
std::string bytes_at(int fd, uint64_t offset, uint64_t size, uint64_t max_size) {
  if (size == 0 || size > max_size || offset > uint64_t{INT64_MAX} - size) return "";
  std::string bytes(size, '\0');
  return profile::read_at(fd, offset, bytes.data(), size) ? bytes : "";
}

// Of the notes in a section or segment; empty: there is no build id.
std::string build_id_in(std::string_view notes) {
  constexpr uint64_t kNoteHeader = 12;
  const auto aligned = [](uint64_t size) { return (size + 3) & ~uint64_t{3}; };
  for (uint64_t at = 0; at + kNoteHeader <= notes.size();) {
    const uint64_t name_size = u32(notes, at), size = u32(notes, at + 4);
    const std::string_view name = profile::part(notes, at + kNoteHeader, name_size);
    const uint64_t data = at + kNoteHeader + aligned(name_size);
    if (u32(notes, at + 8) == kNoteBuildId && name == std::string_view("GNU\0", 4)) {
      return profile::hex_of(profile::part(notes, data, size));
    }
    at = data + aligned(size);
  }
  return "";
}

// The parts of headers that are wanted, whatever the size of words is.
class Headers {
 public:
  explicit Headers(int fd) : fd_(fd), header_(bytes_at(fd, 0, kHeaderBytes, kHeaderBytes)) {
    constexpr char kLittle = 1;
    if (header_.size() < kHeaderBytes || header_.compare(0, 4, "\177ELF") != 0 || header_[5] != kLittle) {
      header_.clear();
      return;
    }
    is_64_ = header_[4] == 2;
  }
  bool is_elf() const { return !header_.empty(); }

  void read_sections(BuildNote* note) const {
    const uint64_t offset = is_64_ ? u64(header_, 40) : u32(header_, 32);
    const uint64_t entry = u16(header_, is_64_ ? 58 : 46);
    const uint64_t count = u16(header_, is_64_ ? 60 : 48);
    const uint64_t names_index = u16(header_, is_64_ ? 62 : 50);
    if (entry < (is_64_ ? 64 : 40)) return;
    const std::string table = bytes_at(fd_, offset, count * entry, kMaxTableBytes);
    if (table.empty() || names_index >= count) return;
    const auto place = [&](uint64_t at, uint64_t max) {
      return bytes_at(fd_, is_64_ ? u64(table, at + 24) : u32(table, at + 16),
                      is_64_ ? u64(table, at + 32) : u32(table, at + 20), max);
    };
    const std::string names = place(names_index * entry, kMaxTableBytes);
    for (uint64_t at = 0; at + entry <= table.size(); at += entry) {
      const uint32_t type = u32(table, at + 4);
      if (type == kSectionWithoutBytes) continue;
      const std::string_view name = profile::text_at(names, u32(table, at));
      note->has_names |= type == kSectionSymbols || name == ".debug_info" || name == ".zdebug_info";
      if (type == kSectionNote && note->build_id.empty()) {
        note->build_id = build_id_in(place(at, kMaxNoteBytes));
      }
      if (name == ".gnu_debuglink") note->link = profile::parse_debug_link(place(at, kMaxNoteBytes));
    }
  }

  void read_segments(BuildNote* note) const {
    const uint64_t offset = is_64_ ? u64(header_, 32) : u32(header_, 28);
    const uint64_t entry = u16(header_, is_64_ ? 54 : 42);
    const uint64_t count = u16(header_, is_64_ ? 56 : 44);
    if (entry < (is_64_ ? 56 : 32)) return;
    const std::string table = bytes_at(fd_, offset, count * entry, kMaxTableBytes);
    for (uint64_t at = 0; at + entry <= table.size() && note->build_id.empty(); at += entry) {
      if (u32(table, at) != kSegmentNote) continue;
      note->build_id =
          build_id_in(bytes_at(fd_, is_64_ ? u64(table, at + 8) : u32(table, at + 4),
                               is_64_ ? u64(table, at + 32) : u32(table, at + 16), kMaxNoteBytes));
    }
  }

 private:
  const int fd_;
  std::string header_;
  bool is_64_ = false;
};

}  // namespace

BuildNote read_build_note(int fd) {
  BuildNote note;
  const Headers headers(fd);
  if (!headers.is_elf()) return note;
  headers.read_sections(&note);  // a debug file's segments are those of the module, elsewhere
  if (note.build_id.empty()) headers.read_segments(&note);
  return note;
}

}  // namespace memprof::cli
