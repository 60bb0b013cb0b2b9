// SPDX-License-Identifier: Apache-2.0
// A program or library as it lies in another process's memory: its code, its exported functions, its unwind tables.
// Its file may be gone, replaced, or in another namespace.  The memory is not trusted: what is broken is as if it
// were not there.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "memprof/attach/linux/target/target_memory.h"

namespace memprof::cli {

struct CodeRange {
  uint64_t start = 0;
  uint64_t end = 0;
  bool contains(uint64_t address) const { return address >= start && address < end; }
};

struct ImageFunction {
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  std::string name;
};

struct TargetImage {
  std::string path;
  uint64_t start = 0;  // of its memory
  uint64_t end = 0;
  std::vector<CodeRange> code;
  std::vector<ImageFunction> functions;  // exported
  std::unordered_map<std::string, uint64_t> addresses;

  // 0: it exports no such function.
  uint64_t function(const std::string& name) const {
    const auto found = addresses.find(name);
    return found != addresses.end() ? found->second : 0;
  }
};

// The image that begins at `start`; false: no ELF file of 64 bits lies there.
bool read_image(const TargetMemory& memory, const std::vector<MemoryRange>& ranges, uint64_t start,
                TargetImage* image);

// All, in order of addresses.
std::vector<TargetImage> read_images(const TargetMemory& memory, const std::vector<MemoryRange>& ranges);

// A small ELF file with the unwind tables of the image, at its addresses: what an unwinder needs.  "": it has none,
// or they cannot be read.
std::string read_unwind_image(const TargetMemory& memory, const TargetImage& image);

}  // namespace memprof::cli
