// SPDX-License-Identifier: Apache-2.0
#include "resident/read_resident.h"

#include <algorithm>
#include <new>
#include <type_traits>

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
constexpr size_t kMaxBlocksLookedAt = 32768;
// What is larger may take all the time that there is, so it comes last.
constexpr uint64_t kLargeBytes = uint64_t{1} << 30;

uint64_t rounded(double bytes) {
  return bytes > 0 ? static_cast<uint64_t>(bytes + 0.5) : 0;
}

// What an allocator other than glibc's gives for `size_bytes`: jemalloc and mimalloc have four classes from a power of
// two to the next one, CPython's has each multiple of 16 to 512.
uint64_t class_bytes(uint64_t size_bytes) {
  uint64_t step = 16;
  for (uint64_t size = size_bytes == 0 ? 1 : size_bytes; step < size / 8; step *= 2) {
  }
  return size_bytes == 0 ? 16 : (size_bytes + step - 1) / step * step;
}

class Reader {
 public:
  Reader(const MemorySource& source, const Totals& totals, Block* blocks, size_t block_count, void* scratch)
      : source_(source),
        totals_(totals),
        blocks_(blocks),
        block_count_(block_count),
        text_(static_cast<char*>(scratch)),
        mappings_(reinterpret_cast<MappingEntry*>(text_ + kMapTextBytes), kMaxMappings),
        mapped_bytes_(
            reinterpret_cast<double*>(text_ + kMapTextBytes + kMaxMappings * sizeof(MappingEntry))) {}

  ResidentMemory read(const OwnPages* own, size_t own_count) {
    std::sort(blocks_, blocks_ + block_count_,
              [](const Block& a, const Block& b) { return a.address < b.address; });
    read_map();
    find_static_data();
    find_glibc_heaps();
    count_pages([](const MappingEntry& m) { return m.limit - m.start <= kLargeBytes; });
    look_at_blocks();
    find_pools(own, own_count);
    count_pages([](const MappingEntry& m) { return m.limit - m.start > kLargeBytes; });
    sum_others();
    for (size_t i = 0; i < own_count; ++i) {
      take_out(own[i]);
    }
    sum_kinds();
    read_free();
    sum_.total_bytes = totals_.resident_bytes;
    sum_.swap_bytes = totals_.swap_bytes;
    sum_.runtime = static_cast<uint64_t>(mappings_.runtime());
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
        sum_.state |= kResidentCut;
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
      }
    }
  }

  // Where the map has no sizes: of anonymous mappings page by page.
  void count_pages(bool (*is_meant)(const MappingEntry&)) {
    for (MappingEntry& m : mappings_) {
      if (m.has_resident || !m.is_accessible || !is_meant(m)) {
        continue;
      }
      has_all_ = false;
      if (!source_.may_go_on()) {
        sum_.state |= kResidentCut;
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
      }
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

  void take_out(const OwnPages& own) {
    MappingEntry* const m = mappings_.find(own.start);
    if (m != nullptr && own.limit <= m->limit) {
      const uint64_t bytes =
          std::min(m->resident_bytes, source_.count(Pages::kPrivate, own.start, own.limit));
      m->resident_bytes -= bytes;
      sum_.memprof_bytes += bytes;
    }
  }

  void look_at_blocks() {
    const size_t step = block_count_ / kMaxBlocksLookedAt + 1;
    double live = 0;
    double seen = 0;
    double absent = 0;
    double slack = 0;
    for (size_t i = 0; i < block_count_; ++i) {
      const Block& b = blocks_[i];
      live += b.weight_bytes;
      MappingEntry* const m = mappings_.find(b.address);
      if (i % step != 0 || m == nullptr || (i / step % 64 == 63 && !source_.may_go_on())) {
        continue;
      }
      bool is_mapped = false;
      const uint64_t chunk = glibc_chunk_bytes(source_, b.address, b.size_bytes, &is_mapped);
      const uint64_t whole = chunk != 0 ? chunk : class_bytes(b.size_bytes);
      const uint64_t end = b.address + std::max<uint64_t>(b.size_bytes, 1);
      const double share = share_in_memory(b.address, end);
      if (b.share != nullptr) {
        *b.share = static_cast<float>(share);
      }
      seen += b.weight_bytes;
      absent += b.weight_bytes * (1 - share);
      const auto more = static_cast<double>(whole - b.size_bytes);
      slack += b.weight_count * more;
      if (is_mapped) {
        add_mapped(m, b, chunk);
      } else if (m->is_anonymous) {
        m->kind = MappingKind::kHeap;
      }
    }
    const double scale = seen > 0 ? live / seen : 0;
    sum_.live_bytes = rounded(live);
    sum_.absent_bytes = rounded(absent * scale);
    sum_.slack_bytes = rounded(slack * scale);
    mapped_scale_ = scale > 0 ? scale : 1;
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
  void find_pools(const OwnPages* own, size_t own_count) {
    for (const MappingEntry& m : mappings_) {
      // An arena that was mapped right behind a library's .bss is one mapping with it.
      const bool may_have = m.kind == MappingKind::kAnonymous || m.kind == MappingKind::kFiles;
      if (!mappings_.has_python() || !may_have || !m.is_accessible || !m.is_anonymous) {
        continue;
      }
      for (uint64_t at = m.start; at < m.limit;) {
        const OwnPages* next = nullptr;
        for (const OwnPages* o = own; o != own + own_count; ++o) {
          next =
              o->limit > at && o->start < m.limit && (next == nullptr || o->start < next->start) ? o : next;
        }
        const PoolSums pools = read_pools(source_, at, next != nullptr ? next->start : m.limit);
        mapped_bytes_[&m - mappings_.begin()] += static_cast<double>(pools.resident_bytes) / mapped_scale_;
        pool_free_bytes_ += pools.free_bytes;
        at = next != nullptr ? next->limit : m.limit;
      }
    }
  }

  double share_in_memory(uint64_t start, uint64_t end) const {
    constexpr uint64_t kPage = 4096;
    const uint64_t first = start / kPage * kPage;
    const uint64_t last = (end + kPage - 1) / kPage * kPage;
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
      sum_.heap_bytes += blocks;
      sum_.of(kind) += m.resident_bytes - blocks;
    }
  }

  void read_free() {
    uint64_t bins = 0;
    uint64_t break_start = 0;
    bool is_found = false;
    for (const MappingEntry& m : mappings_) {
      if (m.is_break && break_start == 0) {
        break_start = m.start;
      }
      is_found = is_found || (m.is_c_library && find_main_arena(source_, m.start, m.limit, text_, &bins));
    }
    if (!is_found) {
      sum_.free_bytes = std::min(pool_free_bytes_, sum_.heap_bytes);
      return;
    }
    ReadAhead ahead(source_, text_, kMapTextBytes);
    const GlibcFree free = read_glibc_free(ahead.source(), bins, break_start);
    sum_.free_bytes = std::min(free.free_resident_bytes + pool_free_bytes_, sum_.heap_bytes);
    sum_.state |= (free.is_known ? kResidentFreeKnown : 0) | (free.is_cut ? kResidentFreeCut : 0);
  }

  const MemorySource& source_;
  const Totals& totals_;
  Block* blocks_;
  size_t block_count_;
  char* text_;
  MappingList mappings_;
  double* mapped_bytes_;  // by mapping: what chunks in it that are mappings of their own stand for, and pools
  double mapped_scale_ = 1;
  uint64_t pool_free_bytes_ = 0;
  bool has_all_ = true;  // the map has all sizes
  uint64_t anonymous_ = 0;
  uint64_t own_files_ = 0;
  ResidentMemory sum_;
};

}  // namespace

size_t scratch_bytes() {
  return kMapTextBytes + kMaxMappings * (sizeof(MappingEntry) + sizeof(double));
}

ResidentMemory read_resident(const MemorySource& source, const Totals& totals, Block* blocks,
                             size_t block_count, void* scratch, const OwnPages* own, size_t own_count) {
  return totals.resident_bytes != 0
             ? Reader(source, totals, blocks, block_count, scratch).read(own, own_count)
             : ResidentMemory{};
}

}  // namespace memprof::resident
