// SPDX-License-Identifier: Apache-2.0
// The mappings of a process by purpose, as far as /proc/PID/smaps shows it.
//
// Model: names of mappings and their neighbours tell: what follows a file's writable part is its static data, a
// writable mapping behind a small inaccessible one is a thread's stack.  Which anonymous mappings are an allocator's
// the blocks in them tell (resident/read_resident.cc).
//
// Threads: one's own.
// Allocates: never; the entries are the caller's.
// Failure: beyond the entries that there is room for, mappings are counted and not kept.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/resident.h"
#include "resident/map_parser.h"

namespace memprof::resident {

struct MappingEntry {
  uint64_t start = 0;
  uint64_t limit = 0;
  uint64_t resident_bytes = 0;
  uint64_t swap_bytes = 0;
  uint64_t file_start = 0;  // of kFiles without a file: where the first mapping of the file before it begins
  MappingKind kind = MappingKind::kAnonymous;
  bool has_resident = false;  // the map has its size
  bool is_counted = false;    // its pages were counted, all of them
  bool is_accessible = false;
  bool is_anonymous = false;  // private, without a file: its pages can be counted by mincore
  bool is_break = false;      // [heap]
  bool is_glibc = false;      // a heap of an arena of glibc's
  bool is_c_library = false;  // writable data of libc
  bool is_own_file = false;   // memprof's arena
  bool is_boehm = false;      // writable data of the library of Boehm's collector
};

class MappingList {
 public:
  MappingList(MappingEntry* entries, size_t room) : entries_(entries), room_(room) {}

  // In the order of addresses, as the map has them.
  void add(const Mapping& mapping);

  const MappingEntry* begin() const { return entries_; }
  const MappingEntry* end() const { return entries_ + size_; }
  MappingEntry* begin() { return entries_; }
  MappingEntry* end() { return entries_ + size_; }
  // nullptr: none has the address.
  MappingEntry* find(uint64_t address);
  size_t left_out() const { return left_out_; }
  ResidentRuntime runtime() const { return runtime_; }
  bool has_python() const { return has_python_; }

 private:
  enum class Before : uint8_t { kNothing, kFileData, kMemprofData, kGuard };
  MappingKind kind_of(const Mapping& mapping);
  void note_runtime(const Mapping& mapping);

  MappingEntry* entries_;
  size_t room_;
  size_t size_ = 0;
  size_t left_out_ = 0;
  ResidentRuntime runtime_ = ResidentRuntime::kNone;
  bool has_python_ = false;
  Before before_ = Before::kNothing;  // what the last mapping was, if it ends at before_limit_
  uint64_t before_limit_ = 0;
  uint64_t file_ = 0;  // the inode of the last file, and where its mappings begin
  uint64_t file_start_ = 0;
};

}  // namespace memprof::resident
