// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/dwarf/unit_table.h"

#include <dwarf.h>
#include <elfutils/libdw.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace memprof::profile {

UnitTable::UnitTable(Dwarf* dwarf) {
  read_roots(dwarf);
  finish();
}

UnitTable::UnitTable(Dwarf* dwarf, std::vector<uint64_t> addresses)
    : is_for_all_(false), addresses_(std::move(addresses)) {
  std::sort(addresses_.begin(), addresses_.end());
  addresses_.erase(std::unique(addresses_.begin(), addresses_.end()), addresses_.end());
  if (!has_all_in_aranges(dwarf)) read_roots(dwarf);
  finish();
}

void UnitTable::add(uint64_t begin, uint64_t end, uint64_t root_offset) {
  if (begin == 0 || begin >= end) return;
  has_code_ = true;
  if (!is_for_all_) {
    const auto address = std::lower_bound(addresses_.begin(), addresses_.end(), begin);
    if (address == addresses_.end() || *address >= end) return;
  }
  ranges_.push_back({begin, end, root_offset, 0});
}

bool UnitTable::has_all_in_aranges(Dwarf* dwarf) {
  Dwarf_Aranges* table = nullptr;
  size_t count = 0;
  if (dwarf_getaranges(dwarf, &table, &count) != 0) return false;
  for (size_t i = 0; i < count; ++i) {
    Dwarf_Addr begin = 0;
    Dwarf_Word size = 0;
    Dwarf_Off root_offset = 0;
    if (dwarf_getarangeinfo(dwarf_onearange(table, i), &begin, &size, &root_offset) == 0) {
      add(begin, begin + size, root_offset);
    }
  }
  finish();
  const bool has_all = std::all_of(addresses_.begin(), addresses_.end(),
                                   [this](uint64_t address) { return unit_of(address) != kNone; });
  if (!has_all) ranges_.clear();
  return has_all;
}

void UnitTable::read_roots(Dwarf* dwarf) {
  std::unordered_set<uint64_t> without_ranges;
  Dwarf_Off offset = 0;
  Dwarf_Off next = 0;
  size_t header_bytes = 0;
  while (dwarf_next_unit(dwarf, offset, &next, &header_bytes, nullptr, nullptr, nullptr, nullptr, nullptr,
                         nullptr) == 0) {
    Dwarf_Die root;
    if (dwarf_offdie(dwarf, offset + header_bytes, &root) != nullptr) {
      const int tag = dwarf_tag(&root);
      if (tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit) {
        Dwarf_Addr base = 0;
        Dwarf_Addr begin = 0;
        Dwarf_Addr end = 0;
        ptrdiff_t at = 0;
        bool has_ranges = false;
        while ((at = dwarf_ranges(&root, at, &base, &begin, &end)) > 0) {
          has_ranges = true;
          add(begin, end, offset + header_bytes);
        }
        if (!has_ranges) without_ranges.insert(offset + header_bytes);
      }
    }
    if (next <= offset) break;
    offset = next;
  }
  Dwarf_Aranges* table = nullptr;
  size_t count = 0;
  if (!without_ranges.empty() && dwarf_getaranges(dwarf, &table, &count) == 0) {
    for (size_t i = 0; i < count; ++i) {
      Dwarf_Addr begin = 0;
      Dwarf_Word size = 0;
      Dwarf_Off root_offset = 0;
      if (dwarf_getarangeinfo(dwarf_onearange(table, i), &begin, &size, &root_offset) != 0) continue;
      if (without_ranges.count(root_offset) != 0) add(begin, begin + size, root_offset);
    }
  }
}

void UnitTable::finish() {
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  uint64_t reach = 0;
  for (Range& range : ranges_) range.reach = reach = std::max(reach, range.end);
}

uint64_t UnitTable::unit_of(uint64_t vaddr) const {
  const auto above = std::upper_bound(ranges_.begin(), ranges_.end(), vaddr,
                                      [](uint64_t address, const Range& r) { return address < r.begin; });
  for (auto i = static_cast<size_t>(above - ranges_.begin()); i-- > 0 && ranges_[i].reach > vaddr;) {
    if (ranges_[i].end > vaddr) return ranges_[i].root_offset;
  }
  return kNone;
}

}  // namespace memprof::profile
