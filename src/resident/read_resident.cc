// SPDX-License-Identifier: Apache-2.0
#include "resident/read_resident.h"

#include <algorithm>
#include <new>
#include <type_traits>

#include "resident/boehm_heap.h"
#include "resident/glibc_heap.h"
#include "resident/map_parser.h"
#include "resident/mapping_list.h"
#include "resident/pymalloc.h"
#include "resident/read_ahead.h"
#include "resident/static_data.h"

namespace memprof::resident {
namespace {

constexpr size_t kMapTextBytes = kGlibcScratchBytes;
constexpr size_t kTextAt = 4096;  // behind the parser
// What is larger may take all the time that there is, so it comes last.
constexpr uint64_t kLargeBytes = uint64_t{1} << 30;
// Parts of the time, in percent, after which each has to leave the rest to what comes behind it.
constexpr unsigned kUntilPages = 40;
constexpr unsigned kUntilBlocks = 60;
constexpr unsigned kUntilPools = 75;
constexpr unsigned kToTheEnd = 100;
// Blocks are looked at in so many rounds, each through the whole heap: the first rounds stand for the others.
constexpr size_t kRounds = 64;
constexpr size_t kEnoughBlocks = 1024;  // shares of them are within 3 % of those of all
constexpr size_t kBlocksBetweenClocks = 32;

uint64_t rounded(double bytes) {
  return bytes > 0 ? static_cast<uint64_t>(bytes + 0.5) : 0;
}

class Reader {
 public:
  Reader(const MemorySource& source, const Totals& totals, const BlockList& blocks, void* scratch,
         const OwnPages* own, size_t own_count)
      : source_(source),
        totals_(totals),
        blocks_(blocks),
        own_(own),
        own_count_(own_count),
        text_(static_cast<char*>(scratch)),
        mappings_(reinterpret_cast<MappingEntry*>(text_ + kMapTextBytes), kMaxMappings),
        mapped_bytes_(
            reinterpret_cast<double*>(text_ + kMapTextBytes + kMaxMappings * sizeof(MappingEntry))) {}

  ResidentMemory read() {
    read_map();
    for (const MappingEntry& m : mappings_)
      break_start_ = m.is_break && break_start_ == 0 ? m.start : break_start_;
    find_static_data();
    find_glibc_heaps();
    // Before anything else takes memory, and the time: without the mappings nothing has a size.
    count_pages(kUntilPages, [](const MappingEntry& m) { return m.limit - m.start <= kLargeBytes; });
    look_at_blocks();
    find_pools();
    count_pages(kToTheEnd, [](const MappingEntry&) { return true; });
    sum_others();
    const auto count = static_cast<size_t>(mappings_.end() - mappings_.begin());
    const size_t room_bytes = (kMaxMappings - count) * sizeof(double);  // what no mapping needs
    const uint64_t collected = take_out_boehm_heap(source_, mappings_, mapped_bytes_ + count, room_bytes);
    sum_.runtime_bytes = collected;
    sum_.runtime = static_cast<uint64_t>(collected != 0 ? ResidentRuntime::kBoehm : mappings_.runtime());
    sum_kinds();
    read_free();
    sum_.total_bytes = totals_.resident_bytes;
    sum_.swap_bytes = totals_.swap_bytes;
    return sum_;
  }

 private:
  static void add_mapping(void* context, const Mapping& mapping) {
    static_cast<MappingList*>(context)->add(mapping);
  }

  void read_map() {
    // Not on the stack: a signal handler may have little.
    auto& parser = *new (text_) MapParser(add_mapping, &mappings_);
    static_assert(std::is_trivially_destructible_v<MapParser> && kTextAt >= sizeof(MapParser));
    char* const text = text_ + kTextAt;
    for (size_t got = 0; (got = source_.read_map(source_.context, text, kMapTextBytes - kTextAt)) != 0;) {
      parser.feed(text, got);
      if (!source_.may_go_on()) {
        sum_.state |= kResidentCut | kResidentHeapCut;
        break;
      }
    }
    parser.finish();
    sum_.state |= mappings_.left_out() != 0 ? kResidentCut : 0;
  }

  // The map's neighbours say what may be static data, the file whether it is.
  void find_static_data() {
    for (MappingEntry& m : mappings_) {
      if (m.file_start != 0 && !is_static_data(source_, m.file_start, m.start, m.limit)) {
        m.kind = MappingKind::kAnonymous;
      }
    }
  }

  void find_glibc_heaps() {
    for (MappingEntry& m : mappings_) {
      if (m.is_anonymous && m.is_accessible && !m.is_break && m.kind != MappingKind::kCode &&
          is_glibc_heap(source_, m.start, m.limit)) {
        m.kind = MappingKind::kHeap;
        m.is_glibc = true;
      }
    }
  }

  // Where the map has no sizes: of anonymous mappings page by page.
  void count_pages(unsigned until, bool (*is_meant)(const MappingEntry&)) {
    for (MappingEntry& m : mappings_) {
      if (m.has_resident || m.is_counted || !m.is_accessible || !is_meant(m)) {
        continue;
      }
      has_all_ = false;
      if (!source_.may_go_on_until(until)) {
        sum_.state |= until == kToTheEnd ? kResidentCut : 0;
        break;
      }
      if (m.is_anonymous) {
        m.resident_bytes = source_.count(Pages::kPrivate, m.start, m.limit);
        anonymous_ += m.resident_bytes;
      } else if (m.is_own_file) {
        m.resident_bytes = source_.count(Pages::kFile, m.start, m.limit);
        own_files_ += m.resident_bytes;
      }
      if (m.limit - m.start > kLargeBytes && !source_.may_go_on()) {
        sum_.state |= kResidentCut;  // perhaps in the middle of it
        continue;
      }
      m.is_counted = true;
      take_out_own(&m);
    }
  }

  // Of files and of shared memory the system has sums.
  void sum_others() {
    if (has_all_) {
      return;
    }
    // Written pages of files' private mappings count as anonymous.
    const bool is_cut = (sum_.state & kResidentCut) != 0;
    const uint64_t written =
        totals_.anonymous_bytes > anonymous_ && !is_cut ? totals_.anonymous_bytes - anonymous_ : 0;
    sum_.files_bytes += totals_.file_bytes + written;
    // memprof's arena lies in /dev/shm, or on a disk.
    const uint64_t in_shared = std::min(own_files_, totals_.shared_bytes);
    sum_.shared_bytes += totals_.shared_bytes - in_shared;
    sum_.files_bytes -= std::min(own_files_ - in_shared, sum_.files_bytes);
  }

  void take_out_own(MappingEntry* m) {
    for (size_t i = 0; i < own_count_ && m->is_anonymous; ++i) {
      if (own_[i].start >= m->start && own_[i].limit <= m->limit) {
        const uint64_t bytes =
            std::min(m->resident_bytes, source_.count(Pages::kPrivate, own_[i].start, own_[i].limit));
        m->resident_bytes -= bytes;
        sum_.memprof_bytes += bytes;
      }
    }
  }

  // Large ones first, of which each may be much that was never touched.
  void look_at_blocks() {
    Block* const room = choice_room();
    const BlockChoice chosen =
        choose_blocks(blocks_, room, [this] { return source_.may_go_on_until(kUntilBlocks); });
    seen_[0].live = chosen.small_live, seen_[0].live_blocks = chosen.small_live_blocks;
    seen_[1].live = chosen.large_live, seen_[1].live_blocks = chosen.large_live_blocks;
    bool has_time = true;
    for (size_t i = 0; i < chosen.large_count && has_time; ++i) {
      has_time = look_at(room[i], &seen_[1]);
    }
    const Block* const small = room + kMaxLargeChosen;
    for (size_t round = 0; round < kRounds && has_time; ++round) {
      for (size_t i = round; i < chosen.small_count && has_time; i += kRounds) {
        has_time = look_at(small[i], &seen_[0]);
      }
    }
    has_time = has_time && chosen.is_whole;
    are_few_ = !has_time && seen_[0].count < kEnoughBlocks;
    sum_.state |= are_few_ ? kResidentCut : 0;
    sum_.state |= blocks_.count != 0 && looked_ == 0 ? kResidentCut | kResidentHeapCut : 0;
    double absent = 0;
    double slack = 0;
    for (const BlocksSeen& of : seen_) {
      const double scale = of.seen > 0 ? of.live / of.seen : 0;
      absent += of.absent * scale;
      slack += of.chunks_seen > 0 ? of.slack * of.live_blocks / of.chunks_seen : 0;
    }
    const double live = seen_[0].live + seen_[1].live;
    const double seen = seen_[0].seen + seen_[1].seen;
    sum_.live_bytes = rounded(live);
    sum_.absent_bytes = rounded(absent);
    sum_.slack_bytes = rounded(slack);
    mapped_scale_ = seen > 0 ? live / seen : 1;
  }

  // false: there is no time for more.
  bool look_at(const Block& b, BlocksSeen* of) {
    if (++looked_ % kBlocksBetweenClocks == 0 && !source_.may_go_on_until(kUntilBlocks)) {
      return false;
    }
    MappingEntry* const m = mappings_.find(b.address);
    if (m == nullptr) {
      return true;
    }
    const uint64_t mapped_bytes = look_at_chunk(*m, b, of);
    const uint64_t end = b.address + std::max<uint64_t>(b.size_bytes, 1);
    const double share = share_in_memory(*m, b.address, end);
    if (b.share != nullptr) {
      *b.share = static_cast<float>(share);
    }
    ++of->count;
    of->seen += b.weight_bytes;
    of->absent += b.weight_bytes * (1 - share);
    if (mapped_bytes != 0) {
      add_mapped(m, b, mapped_bytes);
    } else if (m->is_anonymous) {
      m->kind = MappingKind::kHeap;
    }
    return true;
  }

  // How large the chunk is, if it is a mapping of its own; else 0.
  uint64_t look_at_chunk(const MappingEntry& m, const Block& b, BlocksSeen* of) {
    const bool is_in_heap = m.is_break || m.is_glibc;
    // A chunk that is a mapping of its own begins with a page; where it was aligned, it is large.
    const bool may_be_mapped = is_large_block(b) || b.address % source_.page_bytes == 16;
    if (is_in_heap && !may_be_mapped && of->chunks >= kEnoughBlocks) {
      return 0;
    }
    bool is_mapped = false;
    const uint64_t chunk =
        is_in_heap || may_be_mapped ? glibc_chunk_bytes(source_, b.address, b.size_bytes, &is_mapped) : 0;
    const uint64_t whole = chunk != 0 ? chunk : class_bytes(b.size_bytes);
    ++of->chunks;
    of->chunks_seen += b.weight_count;
    of->slack += b.weight_count * static_cast<double>(whole - b.size_bytes);
    return is_mapped ? chunk : 0;
  }

  // Of a chunk that is a mapping of its own, which madvise may have split into several, and which others may lie beside.
  void add_mapped(const MappingEntry* m, const Block& b, uint64_t chunk) {
    uint64_t at = b.address - 16;
    const uint64_t end = at + chunk;
    for (; m != mappings_.end() && m->start < end && m->is_anonymous; ++m) {
      const uint64_t limit = std::min(end, m->limit);
      if (at >= m->start && at < limit) {
        mapped_bytes_[m - mappings_.begin()] +=
            b.weight_count * static_cast<double>(source_.count(Pages::kPrivate, at, limit));
        at = limit;
      }
    }
  }

  // In what is not known to be an allocator's, and not memprof's own.
  void find_pools() {
    for (const MappingEntry& m : mappings_) {
      // An arena that was mapped right behind a library's .bss is one mapping with it.
      const bool may_have = m.kind == MappingKind::kAnonymous || m.kind == MappingKind::kFiles;
      if (!mappings_.has_python() || !may_have || !m.is_accessible || !m.is_anonymous) {
        continue;
      }
      for (uint64_t at = m.start; at < m.limit;) {
        const OwnPages* next = nullptr;
        for (const OwnPages* o = own_; o != own_ + own_count_; ++o) {
          next =
              o->limit > at && o->start < m.limit && (next == nullptr || o->start < next->start) ? o : next;
        }
        const PoolSums pools = read_pools(source_, at, next != nullptr ? next->start : m.limit, kUntilPools);
        sum_.state |= pools.is_cut ? kResidentCut : 0;
        mapped_bytes_[&m - mappings_.begin()] += static_cast<double>(pools.resident_bytes) / mapped_scale_;
        pool_free_bytes_ += pools.free_bytes;
        at = next != nullptr ? next->limit : m.limit;
      }
    }
  }

  // Asked once for each MiB.
  bool is_all_in_memory(uint64_t start, uint64_t end) {
    constexpr uint64_t kPieceBytes = uint64_t{1} << 20;
    constexpr size_t kSlots = kGlibcWindowBytes / sizeof(uint64_t);
    auto* const known = static_cast<uint64_t*>(window());  // piece + 1, and whether all of it is in memory
    for (uint64_t piece = start / kPieceBytes; piece <= (end - 1) / kPieceBytes; ++piece) {
      uint64_t& slot = known[piece % kSlots];
      if (slot / 2 != piece + 1) {
        const uint64_t bytes = source_.count(Pages::kPrivate, piece * kPieceBytes, (piece + 1) * kPieceBytes);
        slot = (piece + 1) * 2 + (bytes == kPieceBytes ? 1 : 0);
      }
      if (slot % 2 == 0) {
        return false;
      }
    }
    return true;
  }

  double share_in_memory(const MappingEntry& m, uint64_t start, uint64_t end) {
    // Of most heaps all is in memory.
    if (m.is_anonymous && end <= m.limit && is_all_in_memory(start, end)) {
      return 1;
    }
    const uint64_t first = source_.page_of(start);
    const uint64_t last = source_.page_behind(end);
    const auto whole = static_cast<double>(last - first);
    return std::min(1.0, static_cast<double>(source_.count(Pages::kPrivate, start, end)) / whole);
  }

  void sum_kinds() {
    for (const MappingEntry& m : mappings_) {
      MappingKind kind = m.kind;
      if (kind == MappingKind::kAnonymous && mappings_.runtime() != ResidentRuntime::kNone) {
        kind = MappingKind::kRuntime;
      }
      uint64_t blocks = 0;
      if (kind != MappingKind::kHeap) {
        blocks = std::min(m.resident_bytes, rounded(mapped_bytes_[&m - mappings_.begin()] * mapped_scale_));
      }
      // What was not counted may be the heap's, unless all blocks lie elsewhere.
      const bool has_blocks = kind == MappingKind::kHeap || mapped_bytes_[&m - mappings_.begin()] > 0;
      const bool has_size = m.has_resident || m.is_counted || !m.is_anonymous || !m.is_accessible;
      sum_.state |= has_blocks && !has_size ? kResidentCut | kResidentHeapCut : 0;
      sum_.heap_bytes += blocks;
      sum_.of(kind) += m.resident_bytes - blocks;
      other_heap_bytes_ += kind == MappingKind::kHeap && !m.is_break && !m.is_glibc ? m.resident_bytes : 0;
    }
    // Whose the rest is more blocks would have told.
    const bool may_be_heaps = sum_.anonymous_bytes + sum_.runtime_bytes > sum_.heap_bytes / 4;
    sum_.state |= are_few_ && may_be_heaps ? kResidentHeapCut : 0;
  }

  void read_free() {
    uint64_t bins = 0;
    bool is_found = false;
    uint64_t if_not = (sum_.state & kResidentCut) == 0 ? kResidentNoGlibc : 0;
    for (const MappingEntry& m : mappings_) {
      if_not = m.is_c_library ? kResidentOtherHeap : if_not;
      is_found = is_found || (m.is_c_library && find_main_arena(source_, m.start, m.limit, text_, &bins));
    }
    if (!is_found) {
      sum_.free_bytes = std::min(pool_free_bytes_, sum_.heap_bytes);
      sum_.state |= if_not;
      return;
    }
    ReadAhead ahead(source_, text_, kMapTextBytes);
    const GlibcFree free = read_glibc_free(ahead.source(), bins, break_start_, window());
    sum_.free_bytes = std::min(free.free_resident_bytes + pool_free_bytes_, sum_.heap_bytes);
    sum_.state |= (free.is_known ? kResidentFreeKnown : 0) | (free.is_cut ? kResidentFreeCut : 0);
    // glibc's lists do not tell what another allocator keeps, whose blocks lie beside glibc's.
    if (free.is_known && !free.is_cut && other_heap_bytes_ > sum_.heap_bytes / 4) {
      sum_.state |= kResidentFreeCut | kResidentOtherHeap;
    }
  }

  // Behind all else in the scratch memory.
  void* window() { return mapped_bytes_ + kMaxMappings; }
  Block* choice_room() { return reinterpret_cast<Block*>(static_cast<char*>(window()) + kGlibcWindowBytes); }

  const MemorySource& source_;
  const Totals& totals_;
  const BlockList& blocks_;
  const OwnPages* own_;
  size_t own_count_;
  char* text_;
  MappingList mappings_;
  double* mapped_bytes_;  // by mapping: what chunks in it that are mappings of their own stand for, and pools
  BlocksSeen seen_[2];    // small ones, large ones
  size_t looked_ = 0;
  bool are_few_ = false;  // ... for want of time
  uint64_t break_start_ = 0;
  double mapped_scale_ = 1;
  uint64_t pool_free_bytes_ = 0;
  uint64_t other_heap_bytes_ = 0;  // of mappings that have blocks, and are not glibc's
  bool has_all_ = true;            // the map has all sizes
  uint64_t anonymous_ = 0;
  uint64_t own_files_ = 0;
  ResidentMemory sum_;
};

}  // namespace

size_t scratch_bytes() {
  return kMapTextBytes + kMaxMappings * (sizeof(MappingEntry) + sizeof(double)) + kGlibcWindowBytes +
         kMaxChosen * sizeof(Block);
}

ResidentMemory read_resident(const MemorySource& source, const Totals& totals, const BlockList& blocks,
                             void* scratch, const OwnPages* own, size_t own_count) {
  return totals.resident_bytes != 0 ? Reader(source, totals, blocks, scratch, own, own_count).read()
                                    : ResidentMemory{};
}

}  // namespace memprof::resident
