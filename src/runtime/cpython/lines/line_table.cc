// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/lines/line_table.h"

namespace memprof::cpython {
namespace {

constexpr uint8_t kEntryBegins = 0x80;
constexpr uint32_t kCodeUnitBytes = 2;
enum : uint8_t { kOneLine0 = 10, kOneLine2 = 12, kNoColumns = 13, kLong = 14, kNoLocation = 15 };

// Six bits a byte, least first, 0x40 says that more follow; the lowest bit of the whole is the sign.
int64_t read_signed(const uint8_t* table, uint64_t table_bytes, uint64_t at) {
  uint64_t value = 0;
  for (unsigned shift = 0; at < table_bytes && shift < 60; ++at, shift += 6) {
    value |= uint64_t{table[at] & 0x3fu} << shift;
    if ((table[at] & 0x40) == 0) {
      break;
    }
  }
  const auto magnitude = static_cast<int64_t>(value >> 1);
  return (value & 1) != 0 ? -magnitude : magnitude;
}

}  // namespace

uint32_t line_at(const uint8_t* table, uint64_t table_bytes, uint32_t first_line, uint32_t position_bytes) {
  int64_t line = first_line;
  uint64_t end = 0;
  for (uint64_t at = 0; at < table_bytes;) {
    const uint8_t head = table[at];
    if ((head & kEntryBegins) == 0) {
      return 0;
    }
    const uint8_t kind = head >> 3 & 15;
    if (kind == kNoColumns || kind == kLong) {
      line += read_signed(table, table_bytes, at + 1);
    } else if (kind >= kOneLine0 && kind <= kOneLine2) {
      line += kind - kOneLine0;
    }
    end += kCodeUnitBytes * ((head & 7u) + 1);
    if (position_bytes < end) {
      return kind != kNoLocation && line > 0 && line <= INT32_MAX ? static_cast<uint32_t>(line) : 0;
    }
    for (++at; at < table_bytes && (table[at] & kEntryBegins) == 0; ++at) {
    }
  }
  return 0;
}

}  // namespace memprof::cpython
