// SPDX-License-Identifier: Apache-2.0
// The memory of another process, and what is mapped in it.
//
// Model: an open /proc/PID/mem belongs to the program that the process executed then.  When the process executes
// another one, reads and writes fail: nothing is ever written into a program that was not looked at.
//
// Threads: no state but the descriptor.
// Owns: a descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace memprof::cli {

// A line of /proc/PID/maps.
struct MemoryRange {
  uint64_t start = 0;
  uint64_t end = 0;
  uint64_t offset = 0;
  bool is_writable = false;
  bool is_code = false;
  std::string path;  // as the process sees it; "[stack]" and the like; "": anonymous
};

// In order of addresses.  *error: the errno where nothing can be read.
std::vector<MemoryRange> memory_ranges(uint64_t pid, int* error);
const MemoryRange* range_at(const std::vector<MemoryRange>& ranges, uint64_t address);

// What the kernel told the program at its start, as bytes; "": not to be read.
std::string auxiliary_vector(uint64_t pid);
// Tells the program from one that the process executes later, also where both lie at the same addresses: the auxiliary
// vector, and the random bytes that the kernel gives to each.  "": not to be read, or it has just executed another.
std::string program_identity(uint64_t pid);
// An entry of it (AT_BASE ...); 0: none.
uint64_t auxiliary_value(const std::string& vector, uint64_t type);

class TargetMemory {
 public:
  enum class Access { kRead, kReadAndWrite };
  TargetMemory() = default;
  // error(): 0, or why it cannot be opened.
  TargetMemory(uint64_t pid, Access access);
  ~TargetMemory();
  TargetMemory(TargetMemory&& other) noexcept;
  TargetMemory& operator=(TargetMemory&& other) noexcept;
  TargetMemory(const TargetMemory&) = delete;
  TargetMemory& operator=(const TargetMemory&) = delete;

  int error() const { return error_; }

  // All `size` bytes, or false.
  bool read(uint64_t address, void* to, size_t size) const;
  // As many as can be read.
  size_t read_some(uint64_t address, void* to, size_t size) const;
  bool write(uint64_t address, const void* from, size_t size) const;

 private:
  int fd_ = -1;
  int error_ = 0;
};

}  // namespace memprof::cli
