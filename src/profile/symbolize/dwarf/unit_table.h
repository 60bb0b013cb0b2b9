// SPDX-License-Identifier: Apache-2.0
// Which compilation unit of a file's debug info an address belongs to.
//
// Model: the ranges of each unit's root, one entry a unit; .debug_aranges for units whose root has none.
// Nothing else of a unit is read.  A table for some addresses takes their units from .debug_aranges and reads roots only
// where these do not have all of them: each root that is read costs some KB, and a file may have ten thousand.  Code that the linker threw away keeps its debug info, at address 0: such
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
  // For these addresses, in any order.
  UnitTable(Dwarf* dwarf, std::vector<uint64_t> addresses);

  static constexpr uint64_t kNone = UINT64_MAX;

  // Offset of the root entry in .debug_info, of the innermost if there are several; kNone: no unit.
  uint64_t unit_of(uint64_t vaddr) const;

  // Of the addresses that it is for.
  size_t size() const { return ranges_.size(); }
  // Whether the file describes any code.
  bool has_code() const { return has_code_; }

 private:
  void add(uint64_t begin, uint64_t end, uint64_t root_offset);
  bool has_all_in_aranges(Dwarf* dwarf);
  void read_roots(Dwarf* dwarf);
  void finish();

  struct Range {
    uint64_t begin;
    uint64_t end;
    uint64_t root_offset;
    uint64_t reach;  // the largest end up to here
  };

  const bool is_for_all_ = true;
  bool has_code_ = false;
  std::vector<uint64_t> addresses_;  // ascending
  std::vector<Range> ranges_;        // by begin
};

}  // namespace memprof::profile
