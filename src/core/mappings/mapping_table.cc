// SPDX-License-Identifier: Apache-2.0
#include "core/mappings/mapping_table.h"

#include <algorithm>

namespace memprof {
namespace {

// Ranges that come before neighbours are joined again: the whole table is looked at.
constexpr uint64_t kBetweenJoins = 4096;

}  // namespace

MappedRange MappingTable::read(const MappingNode& n) {
  MappedRange r;
  r.start = n.start.load(std::memory_order_relaxed);
  r.limit = n.limit.load(std::memory_order_relaxed);
  const uint64_t ticket = n.ticket_and_by.load(std::memory_order_relaxed);
  r.ticket = ticket >> 1;
  r.by = static_cast<MappedBy>(ticket & 1);
  r.time_ns = n.time_ns.load(std::memory_order_relaxed);
  r.stack = n.stack.load(std::memory_order_relaxed);
  r.thread_id = n.thread_id.load(std::memory_order_relaxed);
  return r;
}

MappingTable::Path MappingTable::find(uint64_t start) const {
  Path path{};
  uint32_t at = 0;
  for (uint32_t level = kMappingLevels; level-- > 0;) {
    for (;;) {
      const uint32_t following = link(at, level).load(std::memory_order_relaxed);
      if (following == 0 || node(following).start.load(std::memory_order_relaxed) >= start) {
        break;
      }
      at = following;
    }
    path.before[level] = at;
  }
  return path;
}

uint32_t MappingTable::first_behind(uint64_t start) const {
  const uint32_t before = find(start).before[0];
  if (before != 0 && node(before).limit.load(std::memory_order_relaxed) > start) {
    return before;
  }
  return link(before, 0).load(std::memory_order_relaxed);
}

// 0: there is none.  Node 0 is never used: its number stands for the head.
uint32_t MappingTable::take_node() {
  MappingState& s = state();
  const uint32_t free = s.free.load(std::memory_order_relaxed);
  if (free != 0) {
    s.free.store(next(node(free), 0), std::memory_order_relaxed);
    return free;
  }
  const uint64_t used = arena_.section(kMappingSection).used_bytes.load(std::memory_order_relaxed);
  const uint64_t first = used == 0 ? 2 : 1;
  const uint64_t offset = arena_.allocate(kMappingSection, first * sizeof(MappingNode));
  return offset == Arena::kNoOffset ? 0 : static_cast<uint32_t>(offset / sizeof(MappingNode) + first - 1);
}

void MappingTable::drop(const MappedRange& range) {
  count(arena_.header().later_statistics.dropped_mappings);
  if (range.stack != kNoMappingStack) {
    uses_.release(range.stack);
  }
}

// Nothing is there.  It holds its stack.
bool MappingTable::insert(const MappedRange& range) {
  uint32_t id = take_node();
  if (id == 0 && join_neighbours()) {
    id = take_node();
  }
  if (id == 0) {
    drop(range);
    return false;
  }
  uint32_t height = 1;
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  for (uint64_t bits = random_ >> 20; height < kMappingLevels && bits % 16 == 0; bits /= 16) {
    ++height;
  }
  const Path path = find(range.start);
  MappingNode& n = node(id);
  n.limit.store(range.limit, std::memory_order_relaxed);
  n.ticket_and_by.store(range.ticket << 1 | static_cast<uint64_t>(range.by), std::memory_order_relaxed);
  n.time_ns.store(range.time_ns, std::memory_order_relaxed);
  n.resident_bytes.store(0, std::memory_order_relaxed);
  n.stack.store(range.stack, std::memory_order_relaxed);
  n.thread_id.store(range.thread_id, std::memory_order_relaxed);
  for (uint32_t level = 0; level < kMappingLevels; ++level) {
    if (level < height) {
      std::atomic<uint32_t>& before = link(path.before[level], level);
      n.next[level].store(before.load(std::memory_order_relaxed), std::memory_order_relaxed);
      before.store(id, std::memory_order_relaxed);
    } else {
      n.next[level].store(0, std::memory_order_relaxed);
    }
  }
  n.start.store(range.start, std::memory_order_release);
  count(state().ranges);
  return true;
}

void MappingTable::erase(uint32_t id) {
  MappingNode& n = node(id);
  const Path path = find(n.start.load(std::memory_order_relaxed));
  for (uint32_t level = 0; level < kMappingLevels; ++level) {
    std::atomic<uint32_t>& before = link(path.before[level], level);
    if (before.load(std::memory_order_relaxed) == id) {
      before.store(next(n, level), std::memory_order_relaxed);
    }
  }
  n.start.store(0, std::memory_order_release);
  n.next[0].store(state().free.load(std::memory_order_relaxed), std::memory_order_relaxed);
  state().free.store(id, std::memory_order_relaxed);
  count(state().ranges, UINT64_MAX);  // one less
}

void MappingTable::add(const MappedRange& range) {
  count(arena_.header().later_statistics.mappings);
  remove(range.start, range.limit, range.ticket);
  // What is younger stays: it was mapped over this one, by a thread that was faster to say so.
  fill_gaps(range);
}

void MappingTable::fill(const MappedRange& range) {
  if (fill_gaps(range)) {
    count(arena_.header().later_statistics.mappings);
  }
}

// Takes over the use of its stack.  false: there was no gap.
bool MappingTable::fill_gaps(const MappedRange& range) {
  bool has_gap = false;
  uint64_t from = range.start;
  for (uint32_t id = first_behind(from); from < range.limit; id = first_behind(from)) {
    const bool has_next = id != 0 && node(id).start.load(std::memory_order_relaxed) < range.limit;
    const uint64_t to = has_next ? node(id).start.load(std::memory_order_relaxed) : range.limit;
    const uint64_t after = has_next ? node(id).limit.load(std::memory_order_relaxed) : range.limit;
    has_gap = has_gap || from < to;
    if (from < to && (range.stack == kNoMappingStack || uses_.hold(range.stack))) {
      MappedRange piece = range;
      piece.start = from;
      piece.limit = to;
      insert(piece);
    }
    from = after;
  }
  if (range.stack != kNoMappingStack) {
    uses_.release(range.stack);
  }
  return has_gap;
}

void MappingTable::remove(uint64_t start, uint64_t limit, uint64_t ticket) {
  for (uint32_t id = first_behind(start); id != 0;) {
    MappingNode& n = node(id);
    const MappedRange r = read(n);
    if (r.start >= limit) {
      return;
    }
    uint32_t following = next(n, 0);
    if (r.ticket < ticket) {
      if (limit < r.limit) {
        if (r.start < start) {
          // In the middle: its end becomes a range of its own.
          n.limit.store(start, std::memory_order_relaxed);
          if (r.stack == kNoMappingStack || uses_.hold(r.stack)) {
            MappedRange end = r;
            end.start = limit;
            insert(end);
          }
          return;
        }
        n.start.store(limit, std::memory_order_relaxed);  // the order stays
        return;
      }
      if (r.start < start) {
        n.limit.store(start, std::memory_order_relaxed);
      } else {
        erase(id);
        if (r.stack != kNoMappingStack) {
          uses_.release(r.stack);
        }
      }
    }
    id = following;
  }
}

void MappingTable::move(uint64_t from, uint64_t old_bytes, uint64_t to, uint64_t new_bytes, uint64_t ticket,
                        const MappedRange& tail, bool keeps_old) {
  const uint64_t old_limit = from + old_bytes;
  const uint64_t kept_bytes = std::min(old_bytes, new_bytes);
  const auto known_at = [&](uint64_t address) {
    const uint32_t id = first_behind(address);
    return id != 0 && node(id).start.load(std::memory_order_relaxed) <= address &&
           node(id).ticket_and_by.load(std::memory_order_relaxed) >> 1 < ticket;
  };
  const bool is_end_known = old_bytes != 0 && known_at(old_limit - 1);
  if (to != from) {
    remove(to, to + new_bytes, tail.ticket);
    for (uint64_t at = from; at < from + kept_bytes;) {
      const uint32_t id = first_behind(at);
      MappedRange piece = id != 0 ? read(node(id)) : MappedRange{};
      if (id == 0 || piece.start >= from + kept_bytes) {
        break;
      }
      at = piece.limit;
      if (piece.ticket >= ticket || (piece.stack != kNoMappingStack && !uses_.hold(piece.stack))) {
        continue;
      }
      piece.start = std::max(piece.start, from) - from + to;
      piece.limit = std::min(piece.limit, from + kept_bytes) - from + to;
      piece.ticket = tail.ticket;
      insert(piece);
    }
  }
  if (!keeps_old) {
    // In place: only what it lost at its end.
    remove(to != from ? from : from + kept_bytes, old_limit, ticket);
  }
  if (new_bytes > old_bytes && is_end_known) {
    MappedRange rest = tail;
    rest.start = to + old_bytes;
    rest.limit = to + new_bytes;
    add(rest);
  } else if (tail.stack != kNoMappingStack) {
    uses_.release(tail.stack);
  }
}

// Neighbours of one stack and one origin become one range, with the time of the first.  true: there is room.
bool MappingTable::join_neighbours() {
  const uint64_t added = arena_.header().later_statistics.mappings.load(std::memory_order_relaxed);
  if (joined_at_ != UINT64_MAX && added - joined_at_ < kBetweenJoins) {
    return false;
  }
  joined_at_ = added;
  uint64_t joined = 0;
  for (uint32_t id = state().head[0].load(std::memory_order_relaxed); id != 0;) {
    MappingNode& n = node(id);
    const uint32_t following = next(n, 0);
    if (following == 0) {
      break;
    }
    const MappedRange a = read(n);
    const MappedRange b = read(node(following));
    if (a.limit == b.start && a.stack == b.stack && a.by == b.by) {
      erase(following);
      n.limit.store(b.limit, std::memory_order_relaxed);
      n.ticket_and_by.store(std::max(a.ticket, b.ticket) << 1 | static_cast<uint64_t>(a.by),
                            std::memory_order_relaxed);
      if (b.stack != kNoMappingStack) {
        uses_.release(b.stack);
      }
      ++joined;
    } else {
      id = following;
    }
  }
  count(state().joined, joined);
  return joined != 0;
}

}  // namespace memprof
