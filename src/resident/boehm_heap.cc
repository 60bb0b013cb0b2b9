// SPDX-License-Identifier: Apache-2.0
#include "resident/boehm_heap.h"

#include <algorithm>

namespace memprof::resident {
namespace {

constexpr uint64_t kListWord = sizeof(uint64_t);
constexpr uint64_t kMaxSections = 8192;  // the most that any version has room for
constexpr uint64_t kMinHeapBytes = 65536;
// Each is a read. Most words of the collector's data are 0, or point to one and the same table.
constexpr uint64_t kMaxLists = 16384;
constexpr uint64_t kLooksBetweenClocks = 64;

class Finder {
 public:
  Finder(const MemorySource& source, MappingList& mappings) : source_(source), mappings_(mappings) {}

  // Of the list at `at` the longest beginning whose sum is one of the words before it.
  void try_list(uint64_t at, const uint64_t* words, uint64_t count) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < kMaxSections; ++i) {
      BoehmSection section;
      if (!source_.load(at + i * sizeof(section), &section) || !may_be(section)) {
        return;
      }
      sum += section.bytes;
      if (sum > largest_ && sum >= kMinHeapBytes && std::find(words, words + count, sum) != words + count) {
        largest_ = sum;
        found_ = {at, i + 1};
      }
    }
  }

  bool is_anonymous(uint64_t address) {
    const MappingEntry* const m = mappings_.find(address);
    return m != nullptr && m->is_anonymous;
  }

  const BoehmHeap& found() const { return found_; }

 private:
  bool may_be(const BoehmSection& s) {
    constexpr uint64_t kMaxBytes = uint64_t{1} << 46;
    return s.start != 0 && s.bytes != 0 && s.start % source_.page_bytes == 0 &&
           s.bytes % source_.page_bytes == 0 && s.bytes <= kMaxBytes && s.start <= UINT64_MAX - s.bytes &&
           is_anonymous(s.start) && is_anonymous(s.start + s.bytes - 1);
  }

  const MemorySource& source_;
  MappingList& mappings_;
  uint64_t largest_ = 0;
  BoehmHeap found_;
};

}  // namespace

BoehmHeap find_boehm_heap(const MemorySource& source, MappingList& mappings, uint64_t start, uint64_t limit,
                          void* room, size_t room_bytes) {
  const uint64_t size = std::min<uint64_t>(limit - start, room_bytes) / kListWord * kListWord;
  if (start >= limit || !source.read(source.context, start, room, size)) {
    return {};
  }
  const auto* const words = static_cast<const uint64_t*>(room);
  Finder finder(source, mappings);
  uint64_t before = 0;
  uint64_t lists = 0;
  for (uint64_t i = 0; i < size / kListWord && lists < kMaxLists; ++i) {
    const uint64_t word = words[i];
    if (word == 0 || word == before) {
      continue;
    }
    before = word;
    const bool may_point = word % kListWord == 0 && finder.is_anonymous(word);
    if (may_point) {
      finder.try_list(word, words, i);
    }
    const bool may_begin = word % source.page_bytes == 0 && finder.is_anonymous(word);
    if (may_begin) {
      finder.try_list(start + i * kListWord, words, i);
    }
    lists += may_point || may_begin ? 1 : 0;
    if ((may_point || may_begin) && lists % kLooksBetweenClocks == 0 && !source.may_go_on()) {
      break;
    }
  }
  return finder.found();
}

uint64_t take_out_boehm_heap(const MemorySource& source, MappingList& mappings, void* room,
                             size_t room_bytes) {
  BoehmHeap heap;
  const bool is_alone = mappings.runtime() == ResidentRuntime::kNone;
  for (const MappingEntry* m = mappings.begin(); is_alone && m != mappings.end() && heap.sections == 0; ++m) {
    if (m->is_boehm) {
      const MappingEntry* const next = m + 1;
      const bool has_bss = next != mappings.end() && next->start == m->limit && next->is_anonymous;
      heap = find_boehm_heap(source, mappings, m->start, has_bss ? next->limit : m->limit, room, room_bytes);
    }
  }
  uint64_t bytes = 0;
  BoehmSection section;
  for (uint64_t i = 0; i < heap.sections && source.load(heap.list + i * sizeof(section), &section); ++i) {
    const uint64_t limit = section.start + section.bytes;
    MappingEntry* m = mappings.find(section.start);
    for (; m != nullptr && m != mappings.end() && m->start < limit && section.start < limit; ++m) {
      if (m->is_anonymous && m->is_accessible) {
        const uint64_t from = std::max(section.start, m->start);
        const uint64_t to = std::min(limit, m->limit);
        const uint64_t in_memory = from < to ? source.count(Pages::kPrivate, from, to) : 0;
        const uint64_t taken = std::min(m->resident_bytes, in_memory);
        m->resident_bytes -= taken;
        bytes += taken;
      }
    }
  }
  return bytes;
}

}  // namespace memprof::resident
