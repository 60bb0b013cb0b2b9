// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/dwarf/debug_info.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <sys/stat.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "profile/files/regular_file.h"
#include "profile/symbolize/dwarf/inline_chains.h"
#include "profile/symbolize/dwarf/unit_table.h"

namespace memprof::profile {
namespace {

// libdw keeps the lines of each unit that it read, at about 64 bytes a row, until it is closed.
constexpr size_t kMaxLines = 4'000'000;

std::string text_of(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  const char* text = dwarf_formstring(dwarf_attr(&die, name, &attribute));
  return text != nullptr ? text : "";
}

// The file of a split unit; empty: the unit is not split.
std::string split_name(Dwarf_Die& root) {
  const std::string name = text_of(root, DW_AT_dwo_name);
  return name.empty() ? text_of(root, DW_AT_GNU_dwo_name) : name;
}

// libdw opens the file of a split unit itself, whatever it is, and reads it in place.
bool is_split_file_safe(Dwarf_Die& root) {
  const std::string name = split_name(root);
  const std::string folder = text_of(root, DW_AT_comp_dir);
  for (const std::string& path : {name, folder + "/" + name}) {
    struct stat status{};
    if (stat(path.c_str(), &status) == 0 && (!S_ISREG(status.st_mode) || !is_trusted(status))) return false;
  }
  return true;
}

// The entries of a unit whose debug info is in a file of its own (-gsplit-dwarf), else `root` itself.
Dwarf_Die entries_of(Dwarf_Die& root, bool is_trusted_file) {
  if (!is_trusted_file || !is_split_file_safe(root)) return root;
  Dwarf_Die split{};
  uint8_t type = 0;
  if (dwarf_cu_info(root.cu, nullptr, &type, nullptr, &split, nullptr, nullptr, nullptr) == 0 &&
      type == DW_UT_skeleton && split.addr != nullptr) {
    return split;
  }
  return root;
}

void set_line(Dwarf_Die& root, uint64_t address, SourceFrame* frame) {
  Dwarf_Line* line = dwarf_getsrc_die(&root, address);
  if (line == nullptr) return;
  int number = 0;
  if (dwarf_lineno(line, &number) == 0 && number > 0) frame->line = number;
  if (const char* file = dwarf_linesrc(line, nullptr, nullptr)) frame->file = file;
}

// Where an inlined call stands.
void set_call(Dwarf_Die& call, Dwarf_Files* files, size_t file_count, SourceFrame* frame) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  if (dwarf_formudata(dwarf_attr(&call, DW_AT_call_line, &attribute), &value) == 0 && value <= INT32_MAX) {
    frame->line = static_cast<int64_t>(value);
  }
  if (dwarf_formudata(dwarf_attr(&call, DW_AT_call_file, &attribute), &value) == 0 && value < file_count) {
    if (const char* file = dwarf_filesrc(files, value, nullptr, nullptr)) frame->file = file;
  }
}

}  // namespace

std::unique_ptr<DebugInfo> DebugInfo::open(Elf* file, bool is_trusted, Elf* alternate,
                                           const std::vector<uint64_t>& vaddrs) {
  std::unique_ptr<DebugInfo> info(new DebugInfo(file, is_trusted, alternate));
  if (!info->begin()) return nullptr;
  info->units_ = std::make_unique<UnitTable>(info->dwarf_, vaddrs);
  if (!info->units_->has_code()) return nullptr;
  return info;
}

DebugInfo::DebugInfo(Elf* file, bool is_trusted, Elf* alternate)
    : file_(file), is_trusted_(is_trusted), alternate_(alternate) {}

DebugInfo::~DebugInfo() {
  end();
}

bool DebugInfo::begin() {
  dwarf_ = dwarf_begin_elf(file_, DWARF_C_READ, nullptr);
  if (dwarf_ == nullptr) return false;
  if (alternate_ != nullptr) {
    alternate_dwarf_ = dwarf_begin_elf(alternate_, DWARF_C_READ, nullptr);
    if (alternate_dwarf_ != nullptr) dwarf_setalt(dwarf_, alternate_dwarf_);
  }
  names_ = std::make_unique<EntryNames>();
  lines_read_ = 0;
  return true;
}

void DebugInfo::end() {
  names_.reset();  // keys are places in memory of libdw's
  dwarf_end(dwarf_);
  dwarf_end(alternate_dwarf_);
  dwarf_ = alternate_dwarf_ = nullptr;
}

std::vector<std::vector<SourceFrame>> DebugInfo::frames_of(const std::vector<uint64_t>& vaddrs) {
  std::vector<std::vector<SourceFrame>> frames(vaddrs.size());
  // Unit by unit, and in ascending order inside of each.
  std::vector<uint64_t> unit_of(vaddrs.size());
  for (size_t i = 0; i < vaddrs.size(); ++i) unit_of[i] = units_->unit_of(vaddrs[i]);
  std::vector<uint32_t> order(vaddrs.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return unit_of[a] != unit_of[b] ? unit_of[a] < unit_of[b] : vaddrs[a] < vaddrs[b];
  });
  for (size_t first = 0; first < order.size();) {
    const uint64_t unit = unit_of[order[first]];
    if (unit == UnitTable::kNone) break;  // the greatest: all that follow have none
    size_t last = first;
    std::vector<uint64_t> addresses;
    while (last < order.size() && unit_of[order[last]] == unit) addresses.push_back(vaddrs[order[last++]]);
    if (lines_read_ > kMaxLines) {
      end();
      if (!begin()) break;
    }
    std::vector<std::vector<SourceFrame>> of_unit(addresses.size());
    resolve_unit(unit, addresses, &of_unit);
    for (size_t i = first; i < last; ++i) frames[order[i]] = std::move(of_unit[i - first]);
    first = last;
  }
  return frames;
}

void DebugInfo::resolve_unit(uint64_t root_offset, const std::vector<uint64_t>& addresses,
                             std::vector<std::vector<SourceFrame>>* frames) {
  Dwarf_Die root;
  if (dwarf_offdie(dwarf_, root_offset, &root) == nullptr) return;
  has_split_units_ |= !split_name(root).empty();
  Dwarf_Die entries = entries_of(root, is_trusted_);
  Dwarf_Lines* lines = nullptr;
  size_t line_count = 0;
  if (dwarf_getsrclines(&root, &lines, &line_count) == 0) lines_read_ += line_count;
  Dwarf_Files* files = nullptr;
  size_t file_count = 0;
  if (dwarf_getsrcfiles(&entries, &files, &file_count) != 0) file_count = 0;

  std::vector<InlineChain> chains = inline_chains(entries, addresses);
  std::unordered_map<const void*, uint64_t> code;
  for (InlineChain& chain : chains) {
    for (size_t level = 1; level < chain.size(); ++level) {
      if (names_->name_of(chain[level]).linkage_name.empty()) code[EntryNames::place_of(chain[level])] = 0;
    }
  }
  if (!code.empty()) find_code(entries, &code);
  for (size_t i = 0; i < addresses.size(); ++i) {
    SourceFrame innermost;
    set_line(root, addresses[i], &innermost);
    std::vector<SourceFrame>& result = (*frames)[i];
    if (chains[i].empty()) {
      if (innermost.line != 0) result.push_back(std::move(innermost));
      continue;
    }
    SourceFrame next = std::move(innermost);
    for (size_t level = chains[i].size(); level-- > 0;) {
      Dwarf_Die& entry = chains[i][level];
      next.name = names_->name_of(entry);
      if (level == 0) {
        next.code = addresses[i];
      } else if (next.name.linkage_name.empty()) {
        next.code = code[EntryNames::place_of(entry)];
      }
      result.push_back(std::move(next));
      next = {};
      if (level > 0) set_call(entry, files, file_count, &next);
    }
  }
}

}  // namespace memprof::profile
