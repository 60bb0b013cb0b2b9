// SPDX-License-Identifier: Apache-2.0
// The text of /proc/PID/maps or smaps, as it comes in pieces, as mappings.  The text need not be trusted: names in
// it are the program's.
//
// Threads: one's own.
// Allocates: never.
// Failure: a line that is none is skipped; of a line that is too long the beginning and the end of the name stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace memprof::resident {

struct Mapping {
  uint64_t start = 0;
  uint64_t limit = 0;
  bool is_readable = false;
  bool is_writable = false;
  bool is_executable = false;
  bool is_shared = false;
  uint64_t file_offset = 0;
  uint64_t inode = 0;  // 0: it has no file
  uint64_t resident_bytes = 0;
  uint64_t swap_bytes = 0;
  bool has_resident = false;  // smaps
  std::string_view name;      // a path, "[heap]", "[anon:NAME]", ""
};

class MapParser {
 public:
  using Use = void (*)(void* context, const Mapping& mapping);
  MapParser(Use use, void* context) : use_(use), context_(context) {}

  void feed(const char* text, size_t size);
  // The text has ended: gives the last mapping.
  void finish();

 private:
  static constexpr size_t kMaxLine = 1024;  // longer ones lose bytes in their middle
  void end_line();
  bool parse_mapping(std::string_view line);
  void give();

  Use use_;
  void* context_;
  Mapping mapping_;
  bool has_mapping_ = false;
  size_t size_ = 0;  // of the line
  char line_[kMaxLine];
  char name_[kMaxLine];
};

}  // namespace memprof::resident
