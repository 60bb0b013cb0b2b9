// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pdb/module_symbols.h"

#include <algorithm>
#include <utility>

#include "profile/symbolize/files/binary_values.h"
#include "profile/symbolize/pdb/line_programs.h"

namespace memprof::profile {
namespace {

enum SymbolKind : uint16_t {
  kThunk = 0x1102,
  kLocalProcedure = 0x110f,
  kGlobalProcedure = 0x1110,
  kSeparatedCode = 0x1132,
  kLocalProcedureId = 0x1146,
  kGlobalProcedureId = 0x1147,
  kInlineSite1 = 0x114d,
  kLocalProcedureDpc = 0x1155,
  kLocalProcedureDpcId = 0x1156,
  kInlineSite2 = 0x115d,
};

constexpr uint32_t kSignatureBytes = 4;
constexpr size_t kMaxInlined = 256;

struct Record {
  uint16_t kind = 0;
  uint32_t next = 0;      // where the one behind it begins
  std::string_view data;  // without its length and its kind
};

// false: none begins there.
bool record_at(std::string_view records, uint32_t at, Record* record) {
  const uint32_t size = u16(records, at);
  const std::string_view whole = part(records, at + uint64_t{2}, size);
  if (whole.size() < 2) return false;
  record->kind = u16(whole, 0);
  record->next = at + 2 + size;
  record->data = whole.substr(2);
  return true;
}

struct Code {
  CodePlace begin;
  uint32_t size = 0;
  std::string_view name;
};

// false: it is no function.
bool code_of(const Record& record, Code* code) {
  switch (record.kind) {
    case kGlobalProcedure:
    case kLocalProcedure:
    case kGlobalProcedureId:
    case kLocalProcedureId:
    case kLocalProcedureDpc:
    case kLocalProcedureDpcId:
      *code = {{u16(record.data, 32), u32(record.data, 28)}, u32(record.data, 12), text_at(record.data, 35)};
      return true;
    case kThunk:
      *code = {{u16(record.data, 16), u32(record.data, 12)}, u16(record.data, 18), text_at(record.data, 21)};
      return true;
    default:
      return false;
  }
}

class ScopeReader {
 public:
  ScopeReader(std::string_view records, const std::vector<CodePlace>& places)
      : records_(records),
        places_(places),
        scopes_(places.size()),
        last_sites_(places.size()),
        is_separated_(places.size()) {}

  std::vector<CodeScope> read() {
    Record record;
    for (uint32_t at = kSignatureBytes; record_at(records_, at, &record);) {
      Code code;
      if (code_of(record, &code)) {
        at = read_function(code, record);
        continue;
      }
      if (record.kind == kSeparatedCode) note_separated(record);
      at = record.next;
    }
    name_separated();
    return std::move(scopes_);
  }

 private:
  struct Span {  // of places_
    size_t first;
    size_t last;
  };
  struct OpenSite {
    uint32_t end;     // where the records of it end
    uint32_t record;  // where its own begins
  };
  struct Separated {
    CodePlace parent;
    size_t place;
  };

  Span places_in(const CodePlace& begin, uint64_t size) const {
    const auto first = std::lower_bound(places_.begin(), places_.end(), begin);
    auto last = first;
    while (last != places_.end() && last->section == begin.section && last->offset - begin.offset < size)
      ++last;
    return {static_cast<size_t>(first - places_.begin()), static_cast<size_t>(last - places_.begin())};
  }

  // Where the records behind the function begin.
  uint32_t read_function(const Code& code, const Record& record) {
    const uint32_t end = u32(record.data, 4);
    const bool has_end = end >= record.next && end < records_.size();
    const Span span = places_in(code.begin, code.size);
    for (size_t i = span.first; i < span.last; ++i) {
      // Of functions that the linker folded into one, the first.
      if (scopes_[i].function.empty()) scopes_[i].function = code.name;
    }
    if (!has_end) return record.next;
    if (span.first < span.last && record.kind != kThunk)
      read_sites(code.begin.offset, span, record.next, end);
    return end;
  }

  void read_sites(uint32_t function, const Span& span, uint32_t begin, uint32_t end) {
    std::vector<OpenSite> open;
    Record record;
    for (uint32_t at = begin; at < end && record_at(records_, at, &record); at = record.next) {
      while (!open.empty() && at >= open.back().end) open.pop_back();
      if (record.kind != kInlineSite1 && record.kind != kInlineSite2) continue;
      const uint32_t outer_end = open.empty() ? end : open.back().end;
      const uint32_t parent = open.empty() ? 0 : open.back().record;
      const size_t depth = open.size();
      if (depth < kMaxInlined) add_site(record, function, span, depth, parent, at);
      open.push_back({std::clamp(u32(record.data, 4), at, outer_end), at});
    }
  }

  void add_site(const Record& record, uint32_t function, const Span& span, size_t depth, uint32_t parent,
                uint32_t at) {
    const size_t program_at = record.kind == kInlineSite1 ? 12 : 16;
    if (record.data.size() < program_at) return;
    size_t i = span.first;
    for (const InlineRange& range : inline_ranges(record.data.substr(program_at))) {  // they ascend
      while (i < span.last && places_[i].offset - function < range.begin) ++i;
      for (; i < span.last && places_[i].offset - function < range.end; ++i) {
        // In the call around it, and in none beside it.
        if (scopes_[i].sites.size() != depth || last_sites_[i] != parent) continue;
        scopes_[i].sites.push_back({u32(record.data, 8), range.file, range.line_delta});
        last_sites_[i] = at;
      }
    }
  }

  // Code that the compiler moved away from its function.
  void note_separated(const Record& record) {
    const Span span = places_in({u16(record.data, 24), u32(record.data, 16)}, u32(record.data, 8));
    for (size_t i = span.first; i < span.last; ++i) {
      if (std::exchange(is_separated_[i], 1) != 0) continue;
      separated_.push_back({{u16(record.data, 26), u32(record.data, 20)}, i});
    }
  }

  void name_separated() {
    if (separated_.empty()) return;
    Record record;
    for (uint32_t at = kSignatureBytes; record_at(records_, at, &record); at = record.next) {
      Code code;
      if (!code_of(record, &code)) continue;
      for (const Separated& one : separated_) {
        const bool is_parent = one.parent.section == code.begin.section &&
                               one.parent.offset >= code.begin.offset &&
                               one.parent.offset - code.begin.offset < code.size;
        std::string_view& name = scopes_[one.place].function;
        if (is_parent && name.empty()) name = code.name;
      }
    }
  }

  std::string_view records_;
  const std::vector<CodePlace>& places_;
  std::vector<CodeScope> scopes_;
  std::vector<uint32_t> last_sites_;  // of each place: the record of its innermost site
  std::vector<char> is_separated_;
  std::vector<Separated> separated_;  // one a place at most
};

}  // namespace

std::vector<CodeScope> scopes_of(std::string_view records, const std::vector<CodePlace>& places) {
  return ScopeReader(records, places).read();
}

}  // namespace memprof::profile
