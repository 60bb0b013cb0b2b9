// SPDX-License-Identifier: Apache-2.0
// Which ranges of addresses the program has mapped itself, and by which stack: a skip list, ordered by address,
// of ranges that do not overlap.  Its nodes lie in the arena, so that a reader from outside finds them by looking
// at all of them.
//
//     node   start 0: free, else [start, limit)     next[0..3]: the next one at each level, 0: none
//     head   next[0..3] of the list, and the free nodes, linked by next[0]
//
// A range keeps the ticket that was drawn when its mapping was known: unmap() takes out what is older than the
// call that unmaps it, so that a call that ends late does not take what another thread was given meanwhile.
//
// Threads: one at a time changes it (core/mappings/mapping_log.h); readers from outside look at `changes`, which is
// odd while somebody does.
// Allocates: nodes of its section.
// Failure: a full table first joins neighbours of one stack, then drops what is to be added, and counts it.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/arena/arena.h"

namespace memprof {

// Who mapped a range.
enum class MappedBy : uint32_t {
  kProgram,    // the program, or an allocator that nobody sees: recorded with its stack
  kAllocator,  // an allocator whose blocks are seen: no stack
};

struct MappedRange {
  uint64_t start = 0;
  uint64_t limit = 0;
  uint64_t ticket = 0;
  uint64_t time_ns = 0;  // monotonic
  uint32_t stack = 0;    // StackTable::ref(); kNoMappingStack
  uint32_t thread_id = 0;
  MappedBy by = MappedBy::kProgram;
};
inline constexpr uint32_t kNoMappingStack = UINT32_MAX;

// MappingState::is_on.
inline constexpr uint64_t kRecordedNot = 0;
inline constexpr uint64_t kRecordedAsked = 1;
inline constexpr uint64_t kRecordedUnasked = 2;  // shown only where they are much (core/mappings/mappings.h)

inline constexpr uint32_t kMappingLevels = 4;

// All relaxed but `start`, whose release publishes the others.
struct alignas(64) MappingNode {
  std::atomic<uint64_t> start;
  std::atomic<uint64_t> limit;
  std::atomic<uint64_t> ticket_and_by;  // the lowest bit: MappedBy
  std::atomic<uint64_t> time_ns;
  std::atomic<uint64_t> resident_bytes;  // when it was last measured
  std::atomic<uint32_t> stack;
  std::atomic<uint32_t> thread_id;
  std::atomic<uint32_t> next[kMappingLevels];
};
static_assert(sizeof(MappingNode) == 64);

class MappingTable {
 public:
  // As many as the kernel gives a process by default (vm.max_map_count).
  static constexpr uint32_t kMaxRanges = 1u << 16;

  // Of the stacks that ranges hold a use of.
  struct Uses {
    bool (*hold)(uint32_t stack) = nullptr;
    void (*release)(uint32_t stack) = nullptr;
  };

  MappingTable() = default;
  MappingTable(const Arena& arena, const Uses& uses) : arena_(arena), uses_(uses) {}

  // [start, limit) is this mapping now, whatever was there.  Takes over the use of its stack.
  void add(const MappedRange& range);
  // The same of what of [start, limit) is no mapping yet; the rest stays as it is.
  void fill(const MappedRange& range);
  // [start, limit) is mapped no more by the program: what is older than `ticket`.
  void remove(uint64_t start, uint64_t limit, uint64_t ticket);
  // What is known of [from, from + old_bytes) is at [to, to + new_bytes) now.  Where that is longer, and its end was
  // known, the rest is `tail`'s, which takes over the use of its stack in any case.  `keeps_old`: it is at both.
  void move(uint64_t from, uint64_t old_bytes, uint64_t to, uint64_t new_bytes, uint64_t ticket,
            const MappedRange& tail, bool keeps_old);

  // visit(node) of each range in the order of addresses.
  template <typename Visit>
  void each(const Visit& visit) const {
    for (uint32_t id = state().head[0].load(std::memory_order_relaxed); id != 0; id = next(node(id), 0)) {
      visit(node(id));
    }
  }

  // The same step by step; 0: there is none.
  uint32_t first() const { return state().head[0].load(std::memory_order_relaxed); }
  uint32_t following(uint32_t id) const { return next(node(id), 0); }
  MappingNode& at(uint32_t id) const { return node(id); }
  static MappedBy by_of(const MappingNode& n) {
    return static_cast<MappedBy>(n.ticket_and_by.load(std::memory_order_relaxed) & 1);
  }

  // Around every change.
  void begin_change() const { state().changes.fetch_add(1, std::memory_order_acq_rel); }
  void end_change() const { state().changes.fetch_add(1, std::memory_order_release); }

 private:
  struct Path {
    uint32_t before[kMappingLevels];  // the last node of each level that begins before; 0: the head
  };
  MappingState& state() const { return arena_.header().mappings; }
  MappingNode& node(uint32_t id) const { return arena_.at<MappingNode>(kMappingSection)[id]; }
  static uint32_t next(const MappingNode& n, uint32_t level) {
    return n.next[level].load(std::memory_order_relaxed);
  }
  std::atomic<uint32_t>& link(uint32_t id, uint32_t level) const {
    return id == 0 ? state().head[level] : node(id).next[level];
  }
  // Where a range that begins at `start` belongs.
  Path find(uint64_t start) const;
  // The first range that ends behind `start`; 0: there is none.
  uint32_t first_behind(uint64_t start) const;
  uint32_t take_node();
  bool fill_gaps(const MappedRange& range);
  bool insert(const MappedRange& range);
  void erase(uint32_t id);
  void drop(const MappedRange& range);
  bool join_neighbours();
  static MappedRange read(const MappingNode& n);

  Arena arena_;
  Uses uses_;
  uint64_t random_ = 0x9e3779b97f4a7c15;
  uint64_t joined_at_ = UINT64_MAX;  // the counter of mappings when neighbours were last joined
};

}  // namespace memprof
