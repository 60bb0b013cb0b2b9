// SPDX-License-Identifier: Apache-2.0
#include "core/tables/code_table.h"

#include <cstring>

namespace memprof {

CodeTable::CodeTable(const Arena& arena, NameTable* names)
    : arena_(arena),
      index_(arena, kCodeIndexSection, &arena.header().code_levels),
      names_(names),
      entries_(arena.at<CodeEntry>(kCodeSection)) {}

uint32_t CodeTable::make(const CodeEntry& entry, const uint8_t* lines) {
  const uint64_t lines_offset = arena_.allocate(kTextSection, entry.lines_bytes);
  if (lines_offset == Arena::kNoOffset) {
    return kNone;
  }
  const uint64_t offset = arena_.allocate(kCodeSection, sizeof(CodeEntry));
  if (offset == Arena::kNoOffset) {
    return kNone;
  }
  memcpy(arena_.at<uint8_t>(kTextSection, lines_offset), lines, entry.lines_bytes);
  CodeEntry& made = *arena_.at<CodeEntry>(kCodeSection, offset);
  made = entry;
  made.lines_offset = lines_offset;
  return static_cast<uint32_t>(offset / sizeof(CodeEntry));
}

uint32_t CodeTable::intern(const CodeFacts& facts) {
  CodeEntry wanted{};
  wanted.function = names_->intern(facts.function, facts.function_bytes);
  wanted.file = names_->intern(facts.file, facts.file_bytes);
  if (wanted.function == NameTable::kNone || wanted.file == NameTable::kNone) {
    return kNone;
  }
  wanted.lines_bytes =
      static_cast<uint32_t>(facts.lines_bytes < kMostLinesBytes ? facts.lines_bytes : kMostLinesBytes);
  wanted.first_line = facts.first_line;
  wanted.runtime = facts.runtime;
  // One after the other: parts that are equal must not cancel each other out.
  wanted.hash = hash_bytes(facts.lines, wanted.lines_bytes);
  wanted.hash = mix_hash(wanted.hash ^ (uint64_t{wanted.function} << 32 | wanted.file));
  wanted.hash = mix_hash(wanted.hash ^ (uint64_t{wanted.first_line} << 32 | wanted.runtime));
  return index_.find_or_insert(
      wanted.hash,
      [&](uint32_t id) {
        const CodeEntry& e = entries_[id];
        return e.hash == wanted.hash && e.function == wanted.function && e.file == wanted.file &&
               e.first_line == wanted.first_line && e.runtime == wanted.runtime &&
               e.lines_bytes == wanted.lines_bytes &&
               memcmp(arena_.at<uint8_t>(kTextSection, e.lines_offset), facts.lines, wanted.lines_bytes) == 0;
      },
      [&] { return make(wanted, facts.lines); });
}

}  // namespace memprof
