// SPDX-License-Identifier: Apache-2.0
#include "core/tables/heap_names.h"

#include <cstring>

#include "core/tables/name_table.h"

namespace memprof {

// Returns what its slot becomes; 0: the pool is used up.
uint32_t HeapNames::write(const char* name, uint32_t size_bytes) {
  uint32_t place = pool_used_.load(std::memory_order_relaxed);
  do {
    if (kPoolBytes - place < size_bytes + 1) {
      return 0;
    }
  } while (!pool_used_.compare_exchange_weak(place, place + size_bytes + 1, std::memory_order_relaxed));
  memcpy(pool_ + place, name, size_bytes);
  pool_[place + size_bytes] = '\0';
  return place + 1;
}

// Idempotent, but for the count.
uint32_t HeapNames::share() {
  shared_.fetch_add(1, std::memory_order_relaxed);
  uint32_t slot = slots_[kOthers].load(std::memory_order_acquire);
  if (slot == 0) {
    for (uint32_t i = 0; i < sizeof(kOthersName); ++i) {
      __atomic_store_n(pool_ + kPoolBytes + i, kOthersName[i], __ATOMIC_RELAXED);  // by others as well
    }
    slots_[kOthers].compare_exchange_strong(slot, kPoolBytes + 1, std::memory_order_seq_cst);
  }
  return kOthers;
}

uint32_t HeapNames::find_or_add(const char* name, uint32_t size_bytes) {
  uint32_t written = 0;
  for (uint32_t id = 1; id < kOthers; ++id) {
    uint32_t slot = slots_[id].load(std::memory_order_seq_cst);
    if (slot == 0) {
      if (written == 0 && (written = write(name, size_bytes)) == 0) {
        return share();
      }
      // Where another thread was faster, its name is compared like any other.
      if (slots_[id].compare_exchange_strong(slot, written, std::memory_order_seq_cst)) {
        return id;
      }
    }
    const char* other = pool_ + slot - 1;
    if (strlen(other) == size_bytes && memcmp(other, name, size_bytes) == 0) {
      return id;
    }
  }
  return share();
}

void HeapNames::publish(uint32_t id) const {
  ArenaHeader* header = arena_.load(std::memory_order_seq_cst);
  if (header == nullptr) {
    return;
  }
  const Arena arena(header);
  raise(header->later_statistics.folded_heaps, shared_.load(std::memory_order_relaxed));
  NameTable names(arena);
  const uint32_t name_id = names.intern(name(id), strlen(name(id)));
  if (name_id != NameTable::kNone) {
    arena.at<HeapEntry>(kHeapSection)[id].store(name_id + 1, std::memory_order_release);
  }
}

void HeapNames::attach(const Arena& arena) {
  if (arena.allocate(kHeapSection, (kMaxHeaps + 1) * sizeof(HeapEntry)) == Arena::kNoOffset) {
    return;  // no memory: the heaps stay apart, without their names
  }
  arena_.store(&arena.header(), std::memory_order_seq_cst);
  publish_all();
}

void HeapNames::publish_all() const {
  for (uint32_t id = 1; id < kOthers && slots_[id].load(std::memory_order_seq_cst) != 0; ++id) {
    publish(id);
  }
  if (slots_[kOthers].load(std::memory_order_seq_cst) != 0) {
    publish(kOthers);
  }
}

}  // namespace memprof
