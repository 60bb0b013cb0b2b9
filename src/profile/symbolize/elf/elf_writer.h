// SPDX-License-Identifier: Apache-2.0
// Writes what is known of an object file of another format as an ELF file in memory, for the readers of symbols and of debug info,
// which read ELF.
//
// Threads: pure.  Memory: in proportion to what is written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memprof::profile {

struct ObjectFacts {
  struct Segment {  // of code: where in the file, where in memory
    uint64_t file_offset = 0;
    uint64_t vaddr = 0;
    uint64_t size = 0;
  };
  struct Section {  // with functions in it
    uint64_t vaddr = 0;
    uint64_t size = 0;
  };
  struct Symbol {
    uint64_t vaddr = 0;
    uint64_t size = 0;
    std::string_view name;
    size_t section = 0;  // index into code
    bool is_local = false;
  };
  struct DebugSection {
    std::string name;  // as ELF calls it: .debug_info
    std::string_view bytes;
  };

  bool is_aarch64 = false;
  std::string build_id;  // bytes
  std::vector<Segment> segments;
  std::vector<Section> code;
  std::vector<Symbol> symbols;
  std::vector<DebugSection> debug;
};

std::vector<char> write_elf(const ObjectFacts& facts);

}  // namespace memprof::profile
