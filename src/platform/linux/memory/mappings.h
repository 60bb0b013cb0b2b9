// SPDX-License-Identifier: Apache-2.0
// Reads /proc/self/maps, the kernel's list of what is mapped where (proc(5)), line by line.
//
// Threads: one a reader.
// Signals, fork: safe; system calls only, none of them a point of cancellation.
// Allocates: never.
// Failure: is_open() is false, or the list ends early; a line that is not understood is left out.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::platform {

struct Mapping {
  uint64_t start;
  uint64_t limit;
  uint64_t file_offset;
  uint64_t device;  // major and minor, as one number
  uint64_t inode;   // 0: no file
  bool is_readable;
  bool is_writable;
  bool is_executable;
  const char* path;  // "" or the rest of the line, without " (deleted)"; valid until the next call
};

// Takes a line apart (`end`: where it ends; that byte is overwritten).  false: it is no such line.
bool parse_mapping(const char* line, char* end, Mapping* mapping);

class MappingReader {
 public:
  static constexpr size_t kMinBufferBytes = 8192;  // a line has a path of up to 4096 bytes

  // Reads `path` through [buffer, buffer + size_bytes).
  MappingReader(const char* path, char* buffer, size_t size_bytes);
  ~MappingReader();
  MappingReader(const MappingReader&) = delete;
  MappingReader& operator=(const MappingReader&) = delete;

  bool is_open() const { return fd_ >= 0; }
  bool next(Mapping* mapping);

 private:
  bool fill();

  int fd_;
  char* const buffer_;
  const size_t size_bytes_;
  char* at_;
  char* end_;
};

}  // namespace memprof::platform
