// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/code/codes.h"

#include <algorithm>
#include <cstring>

#include "format/hash.h"
#include "runtime/v8/code/code_name.h"

namespace memprof::v8 {
namespace {

// FNV-1a of two pieces, as if they were one.
uint64_t hash_of(std::string_view a, std::string_view b) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const std::string_view piece : {a, b}) {
    for (const char c : piece) {
      hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3ull;
    }
  }
  return hash * kGolden;
}

}  // namespace

uint32_t Codes::intern(std::string_view name) {
  name = head(name, kMaxNameBytes);
  const TierMark mark = find_tier_mark(name);
  // Node 18 calls the tiers of one function by other words.
  const std::string_view before = is_function_code(name) ? "JS:" : head(name, mark.at);
  const std::string_view after = tail(
      name, mark.size_bytes != 0 || !is_function_code(name) ? mark.at + mark.size_bytes : name.find(':') + 1);
  const auto size = static_cast<uint32_t>(before.size() + after.size());
  uint32_t slot = static_cast<uint32_t>(hash_of(before, after) >> 32) % kHashSlots;
  for (; hash_[slot] != 0; slot = (slot + 1) % kHashSlots) {
    const std::string_view known = this->name(hash_[slot] - 1);
    if (known.size() == size && head(known, before.size()) == before && tail(known, before.size()) == after) {
      return hash_[slot] - 1;
    }
  }
  if (names_used_ == kMaxNames || kMaxTextBytes - text_used_ < size) {
    return kNone;
  }
  memcpy(text_ + text_used_, before.data(), before.size());
  memcpy(text_ + text_used_ + before.size(), after.data(), after.size());
  names_[names_used_] = {text_used_, size, 0, 0, 0, 0};
  text_used_ += size;
  hash_[slot] = ++names_used_;
  return names_used_ - 1;
}

void Codes::release(const Code& code) {
  Record& record = records_[code.record];
  if (names_[record.name].bytecode == code.record + 1) {
    names_[record.name].bytecode = 0;
  }
  record.name = free_record_;
  record.lacks_inlined = false;
  free_record_ = code.record + 1;
}

uint32_t Codes::add(CodeKind kind, uint64_t start, uint32_t size_bytes, std::string_view name) {
  const uint32_t name_index = size_bytes != 0 ? intern(name) : kNone;
  if (name_index == kNone) {
    is_full_ = is_full_ || size_bytes != 0;
    return kNone;
  }
  const Code* const known = map_.find(start);
  if (known != nullptr && known->start == start && known->size_bytes == size_bytes &&
      records_[known->record].name == name_index && records_[known->record].kind == kind) {
    return known->record;
  }
  Code old{};
  while (map_.take_overlapping(start, start + size_bytes, &old)) {
    release(old);
  }
  uint32_t record = 0;
  if (free_record_ != 0) {
    record = free_record_ - 1;
    free_record_ = records_[record].name;
  } else if (records_used_ < kMaxRecords) {
    record = records_used_++;
  } else {
    is_full_ = true;
    return kNone;
  }
  records_[record] = {start, size_bytes, name_index, 0, 0, kind, is_internal_code(name), false};
  if (!map_.insert({start, size_bytes, record})) {
    is_full_ = true;
    release({start, size_bytes, record});
    return kNone;
  }
  return record;
}

void Codes::move(uint64_t from, uint64_t to) {
  Code code{};
  if (from == to || !map_.take(from, &code)) {
    return;
  }
  Code old{};
  while (map_.take_overlapping(to, to + code.size_bytes, &old)) {
    release(old);
  }
  code.start = to;
  records_[code.record].start = to;
  if (!map_.insert(code)) {
    is_full_ = true;
    release(code);
  }
}

void Codes::set_lines(uint32_t record, const PositionLine* lines, uint32_t count) {
  Record& to = records_[record];
  if (kMaxLines - lines_used_ < count) {
    is_full_ = true;
    return;
  }
  memcpy(lines_ + lines_used_, lines, count * sizeof(PositionLine));
  to.first_line = lines_used_;
  to.line_count = count;
  lines_used_ += count;
  if (to.kind == CodeKind::kBytecode) {
    names_[to.name].bytecode = record + 1;
  }
}

bool Codes::find_lacking(uint32_t first, Code* code) const {
  for (uint32_t i = first; i < records_used_; ++i) {
    if (records_[i].lacks_inlined) {
      *code = {records_[i].start, records_[i].size_bytes, i};
      return true;
    }
  }
  return false;
}

bool Codes::own_bytecode(uint32_t record, Code* code) const {
  const uint32_t bytecode = names_[records_[record].name].bytecode;
  if (bytecode == 0) {
    return false;
  }
  const Record& own = records_[bytecode - 1];
  *code = {own.start, own.size_bytes, bytecode - 1};
  return true;
}

const PositionLine* Codes::own_lines(uint32_t record, uint32_t* count) const {
  Code bytecode{};
  *count = 0;
  if (!own_bytecode(record, &bytecode)) {
    return nullptr;
  }
  *count = records_[bytecode.record].line_count;
  return lines_ + records_[bytecode.record].first_line;
}

bool Codes::find(uint64_t address, bool is_return, FoundCode* found) const {
  const uint64_t place = address - (is_return ? 1 : 0);
  const Code* const code = map_.find(place);
  if (code == nullptr || code->record >= kMaxRecords) {
    return false;
  }
  const Record& record = records_[code->record];
  if (record.name >= kMaxNames || record.first_line > kMaxLines ||
      record.line_count > kMaxLines - record.first_line) {
    return false;
  }
  *found = {record.name, 0, record.kind == CodeKind::kBytecode, record.is_internal, 0, record.lacks_inlined};
  const PositionLine* const lines = lines_ + record.first_line;
  const PositionLine* const end = lines + record.line_count;
  const PositionLine* const above =
      std::upper_bound(lines, end, place - code->start,
                       [](uint64_t offset, const PositionLine& line) { return offset < line.offset; });
  // Before the first position is the function's head.
  if (above != lines) {
    found->line = above[-1].line;
    found->inlined = found->is_bytecode ? 0 : above[-1].position;
  }
  return true;
}

uint32_t Codes::add_inlined(uint32_t record, uint32_t line, uint32_t callee) {
  if (inlined_used_ == kMaxInlined) {
    is_full_ = true;
    return 0;
  }
  inlined_[inlined_used_++] = {record != kNone ? records_[record].name : kNone, line, 0};
  if (callee != 0) {
    inlined_[callee - 1].caller = inlined_used_;
  }
  return inlined_used_;
}

bool Codes::inlined(uint32_t index, InlinedFrame* frame) const {
  if (index == 0 || index > kMaxInlined) {
    return false;
  }
  *frame = inlined_[index - 1];
  return frame->name < kMaxNames || frame->name == kNone;
}

uint32_t Codes::bytecode_at(uint64_t address) const {
  const Code* const code = map_.find(address);
  return code != nullptr && code->start == address && records_[code->record].kind == CodeKind::kBytecode
             ? code->record
             : kNone;
}

std::string_view Codes::name(uint32_t index) const {
  const NameEntry& entry = names_[index % kMaxNames];
  return entry.text <= kMaxTextBytes && entry.size_bytes <= kMaxTextBytes - entry.text
             ? std::string_view(text_ + entry.text, entry.size_bytes)
             : std::string_view();
}

uint64_t Codes::kept(uint32_t index, uint32_t tables) const {
  const NameEntry& entry = names_[index % kMaxNames];
  return entry.kept_for == tables ? entry.kept : 0;
}

void Codes::keep(uint32_t index, uint32_t tables, uint64_t word) {
  NameEntry& entry = names_[index % kMaxNames];
  entry.kept = word;
  entry.kept_for = tables;
}

void Codes::clear() {
  is_full_ = false;
  records_used_ = 0;
  free_record_ = 0;
  names_used_ = 0;
  text_used_ = 0;
  lines_used_ = 0;
  inlined_used_ = 0;
  map_.clear();
  memset(hash_, 0, sizeof(hash_));
}

void resolve_inlined(PositionLine* lines, uint32_t count, const PositionLine* own, uint32_t own_count) {
  const auto line_of = [&](uint32_t position) {
    for (uint32_t i = 0; i < own_count; ++i) {
      if (own[i].position == position) {
        return own[i].line;
      }
    }
    return uint32_t{0};
  };
  uint32_t last = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t line = line_of(lines[i].position);
    last = line != 0 ? line : last;
    lines[i].line = last;
    lines[i].position = 0;
  }
  for (uint32_t i = count; i-- > 0;) {
    if (lines[i].line != 0) {
      last = lines[i].line;
    } else {
      lines[i].line = last;
    }
  }
}

}  // namespace memprof::v8
