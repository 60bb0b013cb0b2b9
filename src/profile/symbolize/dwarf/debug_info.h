// SPDX-License-Identifier: Apache-2.0
// What the debug info (DWARF 2 to 5) of one file says about addresses: function, file and line, and the
// inlined calls that they lie in.
//
// Model: address -> unit (UnitTable) -> function and inlined calls (InlineChain) -> names (EntryNames); the
// line is that of the line table for the innermost frame and that of the call for those around it.
//
// Threads: one object, one thread.
// Memory, time: in proportion to the units that the addresses lie in, which are taken one after the other.
// Owns: nothing; the files must live as long as it does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profile/symbolize/dwarf/entry_name.h"

struct Dwarf;
struct Elf;  // libelf's

namespace memprof::profile {

class UnitTable;

struct SourceFrame {
  EntryName name;  // both empty: no function is known, only the line
  std::string file;
  int64_t line = 0;  // 0: unknown
  // Code of the function itself, whose symbol is its name if the debug info has no linkage name; 0: it was
  // only inlined.
  uint64_t code = 0;
};

class DebugInfo {
 public:
  // nullptr: the file has none.  `is_trusted`: files that it names may be opened (OpenedFile::is_trusted).  `alternate`
  // (or nullptr) has what dwz moved out of it.  It is asked for `vaddrs`.
  static std::unique_ptr<DebugInfo> open(Elf* file, bool is_trusted, Elf* alternate,
                                         const std::vector<uint64_t>& vaddrs);

  ~DebugInfo();
  DebugInfo(const DebugInfo&) = delete;
  DebugInfo& operator=(const DebugInfo&) = delete;

  // The frames of each address, innermost first; none where the debug info does not know it.  Addresses are
  // as symbols count; of a call, an address inside of the instruction.  In any order; of those that open() had.
  std::vector<std::vector<SourceFrame>> frames_of(const std::vector<uint64_t>& vaddrs);

  // Whether some of those frames are of files beside this one (-gsplit-dwarf), or would be if these were there.
  bool has_split_units() const { return has_split_units_; }

 private:
  DebugInfo(Elf* file, bool is_trusted, Elf* alternate);
  bool begin();
  void end();
  void resolve_unit(uint64_t root_offset, const std::vector<uint64_t>& addresses,
                    std::vector<std::vector<SourceFrame>>* frames);

  Elf* file_;
  bool is_trusted_;
  Elf* alternate_;
  Dwarf* dwarf_ = nullptr;
  Dwarf* alternate_dwarf_ = nullptr;
  std::unique_ptr<UnitTable> units_;
  std::unique_ptr<EntryNames> names_;
  size_t lines_read_ = 0;  // since begin()
  bool has_split_units_ = false;
};

}  // namespace memprof::profile
