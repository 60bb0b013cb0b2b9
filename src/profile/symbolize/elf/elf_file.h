// SPDX-License-Identifier: Apache-2.0
// One ELF file, opened for reading: its build id, its segments, and a way to its symbol tables.  Files are
// not trusted: what lies outside the file, or is not what it says, is as if it were not there.
//
// Threads: one object, one thread.
// Owns: the mapped file, until the object is destroyed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/symbolize/files/debug_link.h"
#include "profile/symbolize/files/opened_file.h"

struct Elf;  // libelf's

namespace memprof::profile {

inline constexpr const char kNoElf[] = "not an ELF file";

class ElfFile {
 public:
  // nullptr: it cannot be used, and *why says so ("no such file", "permission denied", "not an ELF file"
  // ...). Never blocks, whatever the path is (pipe, device).
  static std::unique_ptr<ElfFile> open(const std::string& path, std::string* why);

  // The same of a file that is open; nullptr: not an ELF file.
  static std::unique_ptr<ElfFile> of_file(OpenedFile file);

  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  const std::string& path() const { return file_.path; }
  // Lower-case hex; empty: the file has none.
  const std::string& build_id() const { return build_id_; }
  // As OpenedFile has them.
  bool is_trusted() const { return file_.is_trusted; }
  uint64_t changed_unix_ns() const { return file_.changed_unix_ns; }
  const std::string& identity() const { return file_.identity; }

  // The address, as symbols count, of the code at an offset in the file; nothing where no segment is loaded.
  std::optional<uint64_t> vaddr_of_offset(uint64_t file_offset) const;

  std::optional<DebugLink> debug_link() const;

  // Where what several debug files have in common was moved to (by dwz).
  struct AlternateLink {
    std::string path;  // absolute, or from the folder of this file
    std::string build_id;
  };
  std::optional<AlternateLink> alternate_link() const;

  // Whether it has lines and functions, not just symbols.
  bool has_debug_info() const { return !section(".debug_info").empty() || !section(".zdebug_info").empty(); }

  // The bytes of a section as they are in the file; empty: there is none.
  std::string_view section(const char* wanted) const;

  // Where a section lies in memory, and where in the file; nothing: there is none.
  struct Place {
    uint64_t vaddr = 0;
    uint64_t file_offset = 0;
  };
  std::optional<Place> place_of_section(const char* wanted) const;

  // Checksum over the whole file, as a debug link has it.
  uint32_t checksum() const;

  Elf* handle() const { return elf_; }

 private:
  struct Segment {
    uint64_t offset;
    uint64_t size;
    uint64_t vaddr;
  };

  ElfFile(OpenedFile file, Elf* elf);
  void read_segments();
  void read_build_id();

  OpenedFile file_;
  Elf* elf_;
  std::string build_id_;
  std::vector<Segment> segments_;  // executable ones first
};

}  // namespace memprof::profile
