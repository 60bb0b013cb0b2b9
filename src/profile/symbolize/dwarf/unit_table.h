// SPDX-License-Identifier: Apache-2.0
// Which compilation unit of a file's debug info an address belongs to.
//
// Model: the ranges of each unit's root, one entry a unit; .debug_aranges for units whose root has none.
// Nothing else of a unit is read.  Code that the linker threw away keeps its debug info, at address 0: such
// ranges are left out.
//
// Threads: immutable once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

struct Dwarf;

namespace memprof::profile {

class UnitTable {
 public:
  explicit UnitTable(Dwarf* dwarf);

  static constexpr uint64_t kNone = UINT64_MAX;

  // Offset of the root entry in .debug_info, of the innermost if there are several; kNone: no unit.
  uint64_t unit_of(uint64_t vaddr) const;

  size_t size() const { return ranges_.size(); }

 private:
  struct Range {
    uint64_t begin;
    uint64_t end;
    uint64_t root_offset;
    uint64_t reach;  // the largest end up to here
  };

  std::vector<Range> ranges_;  // by begin
};

}  // namespace memprof::profile
