// SPDX-License-Identifier: Apache-2.0
#include "resident/pymalloc.h"

namespace memprof::resident {
namespace {

struct PoolHeader {
  uint32_t count;
  uint32_t padding;
  uint64_t free_block;
  uint64_t next_pool;
  uint64_t previous_pool;
  uint32_t arena_index;
  uint32_t size_class;
  uint32_t next_offset;
  uint32_t max_next_offset;
};
static_assert(sizeof(PoolHeader) == 48);

constexpr uint32_t kSizeClasses = 32;
constexpr uint64_t kArenaBytes = 1 << 20;
constexpr uint64_t kProbes = 4;
constexpr uint64_t kLarge = 64 << 20;

bool is_pool(const PoolHeader& h) {
  if (h.size_class >= kSizeClasses) {
    return false;
  }
  const uint64_t size = (h.size_class + 1) * uint64_t{16};
  return h.max_next_offset == kPoolBytes - size && h.next_offset >= sizeof(PoolHeader) + size &&
         h.next_offset <= kPoolBytes && (h.next_offset - sizeof(PoolHeader)) % size == 0 &&
         h.count <= (h.next_offset - sizeof(PoolHeader)) / size && h.arena_index < (1U << 24);
}

}  // namespace

PoolSums read_pools(const MemorySource& source, uint64_t start, uint64_t limit, unsigned until_percent) {
  PoolSums sums;
  const bool is_large = limit - start > kLarge;
  uint64_t at = (start + kPoolBytes - 1) / kPoolBytes * kPoolBytes;
  while (at < limit && limit - at >= kPoolBytes) {
    if (!source.may_go_on_until(until_percent)) {
      sums.is_cut = true;
      break;
    }
    // In a large mapping, which may be a large array, a quarter of an arena is left out where a few places have no pool.
    uint64_t found = 0;
    uint64_t looked = 0;
    const uint64_t piece =
        limit - at < kArenaBytes / 4 ? limit / kPoolBytes * kPoolBytes : at + kArenaBytes / 4;
    // What is not in memory is not read: that would bring it there.
    const uint64_t in_memory = source.count(Pages::kPrivate, at, piece);
    if (in_memory == 0) {
      at = piece;
      continue;
    }
    const bool is_whole = in_memory == piece - at;
    for (; at < piece; at += kPoolBytes) {
      const uint64_t here = is_whole ? kPoolBytes : source.count(Pages::kPrivate, at, at + kPoolBytes);
      PoolHeader header;
      ++looked;
      if (here != 0 && source.load(at, &header) && is_pool(header)) {
        ++found;
        const uint64_t used = header.count * (header.size_class + 1) * uint64_t{16};
        sums.resident_bytes += here;
        sums.free_bytes += here > used + sizeof(header) ? here - used - sizeof(header) : 0;
      } else if (is_large && found == 0 && looked >= kProbes) {
        at = piece;
        break;
      }
    }
  }
  return sums;
}

}  // namespace memprof::resident
