// SPDX-License-Identifier: Apache-2.0
#include "core/counts/runtime_heap.h"

#include <cstring>

#include "format/hash.h"
#include "platform/memory.h"

namespace memprof {
namespace {

constexpr uint32_t kMaxTextBytes = kMaxRuntimeHeapEntries * kMeanRuntimeHeapText;
constexpr uint32_t kIndexSlots =
    4 * kMaxRuntimeHeapEntries;  // names and files: at most half of them is taken
static_assert(sizeof(RuntimeHeapEntry) == 24 && sizeof(RuntimeHeapHead) == 72, "arenas have this layout");

// By words: readers of this process see each whole.
void store_words(void* to, const void* from, uint64_t size_bytes) {
  for (uint64_t i = 0; i < size_bytes; i += sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, static_cast<const uint8_t*>(from) + i, sizeof(word));
    __atomic_store_n(reinterpret_cast<uint64_t*>(static_cast<uint8_t*>(to) + i), word, __ATOMIC_RELAXED);
  }
}

}  // namespace

struct RuntimeHeapTable::Pages {
  uint32_t entry_count;
  uint32_t text_bytes;
  uint32_t index[kIndexSlots];  // places of texts; 0: free
  RuntimeHeapEntry entries[kMaxRuntimeHeapEntries];
  uint32_t moved[kMaxRuntimeHeapEntries];  // of a tree that is appended: where its entries are here
  char texts[kMaxTextBytes];
};

RuntimeHeapTable::~RuntimeHeapTable() {
  if (pages_ != nullptr) {
    platform::release_pages(pages_, sizeof(Pages));
  }
}

bool RuntimeHeapTable::begin() {
  if (pages_ == nullptr) {
    pages_ = static_cast<Pages*>(platform::reserve_pages(sizeof(Pages)));
  } else {
    memset(pages_->index, 0, sizeof(pages_->index));
  }
  if (pages_ == nullptr) {
    return false;
  }
  pages_->entry_count = 0;
  pages_->texts[0] = '\0';
  pages_->text_bytes = 1;
  return true;
}

uint32_t RuntimeHeapTable::text(const char* bytes, size_t size_bytes) {
  Pages& p = *pages_;
  if (size_bytes == 0 || size_bytes >= kMaxTextBytes) {
    return 0;
  }
  uint32_t* slot = nullptr;
  for (uint64_t at = hash_bytes(bytes, size_bytes);; ++at) {
    slot = &p.index[at % kIndexSlots];
    if (*slot == 0) {
      break;
    }
    if (strncmp(p.texts + *slot, bytes, size_bytes) == 0 && p.texts[*slot + size_bytes] == '\0') {
      return *slot;
    }
  }
  if (size_bytes >= kMaxTextBytes - p.text_bytes) {
    return 0;
  }
  *slot = p.text_bytes;
  memcpy(p.texts + p.text_bytes, bytes, size_bytes);
  p.texts[p.text_bytes + size_bytes] = '\0';
  p.text_bytes += static_cast<uint32_t>(size_bytes) + 1;
  return *slot;
}

uint32_t RuntimeHeapTable::add(const RuntimeHeapEntry& entry) {
  Pages& p = *pages_;
  if (p.entry_count == kMaxRuntimeHeapEntries) {
    return kNone;
  }
  p.entries[p.entry_count] = entry;
  if (entry.parent == kNone) {
    p.entries[p.entry_count].parent = p.entry_count;
  }
  return p.entry_count++;
}

void RuntimeHeapTable::add_bytes(uint32_t entry, uint64_t bytes) {
  pages_->entries[entry].bytes += bytes;
}

uint64_t RuntimeHeapTable::append(const RuntimeHeapTable& other) {
  Pages& p = *pages_;
  const Pages& from = *other.pages_;
  uint64_t without_room = 0;
  const auto copied = [&](uint32_t place) {
    const char* const bytes = from.texts + place;
    return text(bytes, strlen(bytes));
  };
  for (uint32_t i = 0; i < from.entry_count; ++i) {
    RuntimeHeapEntry entry = from.entries[i];
    const uint32_t parent = entry.parent == i ? kNone : p.moved[entry.parent];
    if (p.entry_count < kMaxRuntimeHeapEntries - 1) {
      entry.function = copied(entry.function);
      entry.file = copied(entry.file);
      entry.parent = parent;
      p.moved[i] = add(entry);
      continue;
    }
    p.moved[i] = parent;
    if (parent != kNone) {
      add_bytes(parent, entry.bytes);
    } else {
      without_room += entry.bytes;
    }
  }
  return without_room;
}

bool RuntimeHeapTable::publish(const Arena& arena, const RuntimeHeapSums& sums) const {
  const Pages& p = *pages_;
  const uint64_t entries_bytes = p.entry_count * sizeof(RuntimeHeapEntry);
  const uint64_t text_bytes = (p.text_bytes + 7) / 8 * 8;
  static_assert(kMaxTextBytes % 8 == 0);
  if (!arena.use_up_to(kRuntimeHeapSection,
                       sizeof(RuntimeHeapHead) + entries_bytes + text_bytes + sizeof(RuntimeHeapSpaces))) {
    return false;
  }
  auto* const head = arena.at<RuntimeHeapHead>(kRuntimeHeapSection);
  RuntimeHeapHead next{};
  next.runtime = sums.runtime | kHasSpaces << 32;
  next.resident_bytes = sums.resident_bytes;
  next.used_bytes = sums.used_bytes;
  next.live_bytes = sums.live_bytes;
  next.code_bytes = sums.code_bytes;
  next.external_bytes = sums.external_bytes;
  next.entry_count = p.entry_count;
  next.text_bytes = p.text_bytes;
  const uint64_t changes = head->changes.load(std::memory_order_relaxed) | 1;
  head->changes.store(changes, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);  // readers that see a word see that it changes
  store_words(&head->runtime, &next.runtime, sizeof(next) - offsetof(RuntimeHeapHead, runtime));
  store_words(head + 1, p.entries, entries_bytes);
  auto* const texts = reinterpret_cast<uint8_t*>(head + 1) + entries_bytes;
  store_words(texts, p.texts, text_bytes);
  store_words(texts + text_bytes, &sums.spaces, sizeof(sums.spaces));
  head->changes.store(changes + 1, std::memory_order_release);
  return true;
}

}  // namespace memprof
