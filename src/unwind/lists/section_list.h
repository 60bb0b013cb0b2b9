// SPDX-License-Identifier: Apache-2.0
// Sections of code that was made at run time, by their addresses: a list that readers look addresses up in without a
// lock, while one writer at a time changes it.
//
// Model: a snapshot lists all sections by their lowest address; it is never changed:
//
//     snapshot -> [ low, highest limit so far, section ] ...
//
// publish() makes a new one.  Old ones, and sections that are in none any more, are freed when no reader can have them
// (read_epochs.h).  Where two sections have a function at an address, the one with the higher serial is right.  A section
// is marked as gone without a lock, so that this cannot fail; the next publish() leaves it out.
//
//     struct Section { uint64_t low, limit;            of its code
//                      uint64_t serial;                ascending
//                      std::atomic<bool> is_gone;      sequentially consistent
//                      Function* find(uint64_t address); }
//
// Threads: readers any, they never wait; the writer has the Lock.
// Signals: reading is safe; writing is not.
// fork: reset_in_child; what another thread was just writing is lost.
// Allocates: pages of its own, kMaxBytes of block_pool.h.
// Failure: publish() returns false where there is no memory, or more than kMaxSections.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "platform/process.h"
#include "unwind/lists/block_pool.h"
#include "unwind/lists/read_epochs.h"

namespace memprof::unwind {

// Of `count` functions, which are sorted by their starts, the one that `address` lies in; nullptr: none.
template <typename Function>
Function* find_function(Function* functions, uint64_t count, uint64_t address) {
  Function* after = std::upper_bound(functions, functions + count, address,
                                     [](uint64_t a, const Function& f) { return a < f.start; });
  return after != functions && address - after[-1].start < after[-1].size_bytes ? after - 1 : nullptr;
}

template <typename Section>
class SectionList {
 private:
  struct Entry {
    uint64_t low;
    uint64_t limit_so_far;  // the highest of this and of those before
    Section* section;
  };
  // Behind it: the entries.
  struct Snapshot {
    uint64_t count;

    Entry* entries() { return reinterpret_cast<Entry*>(this + 1); }
    const Entry* entries() const { return reinterpret_cast<const Entry*>(this + 1); }
  };

 public:
  static constexpr uint32_t kMaxSections = 1 << 16;

  // What it found stays valid as long as it lives.
  class Reading {
   public:
    explicit Reading(SectionList& list)
        : list_(list),
          epoch_(list.snapshot_.load(std::memory_order_relaxed) != nullptr ? list.epochs_.begin()
                                                                           : ReadEpochs::kNone) {}
    ~Reading() {
      if (is_valid()) {
        list_.epochs_.end(epoch_);
      }
    }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

    // false: the list is empty, or changed too often meanwhile; nothing is found then.
    bool is_valid() const { return epoch_ != ReadEpochs::kNone; }

    // The section that has a function at `address`, and that one; false: none has.
    template <typename Function>
    bool find(uint64_t address, Section** found, Function** function) const {
      const Snapshot* const list = snapshot();
      if (list == nullptr) {
        return false;
      }
      const Entry* entry = std::upper_bound(list->entries(), list->entries() + list->count, address,
                                            [](uint64_t a, const Entry& e) { return a < e.low; });
      Section* latest = nullptr;
      while (entry != list->entries() && (--entry)->limit_so_far > address) {
        Section* const section = entry->section;
        if (address >= section->limit || (latest != nullptr && section->serial < latest->serial) ||
            section->is_gone.load(std::memory_order_seq_cst)) {
          continue;
        }
        if (Function* const here = section->find(address)) {
          latest = section;
          *function = here;
        }
      }
      *found = latest;
      return latest != nullptr;
    }

    // Those that are not gone.
    template <typename Visit>
    void for_each(const Visit& visit) const {
      const Snapshot* const list = snapshot();
      for (uint64_t i = 0; list != nullptr && i < list->count; ++i) {
        if (!list->entries()[i].section->is_gone.load(std::memory_order_relaxed)) {
          visit(list->entries()[i].section);
        }
      }
    }

   private:
    // Sequentially consistent, as what the epochs count.
    const Snapshot* snapshot() const {
      return is_valid() ? list_.snapshot_.load(std::memory_order_seq_cst) : nullptr;
    }

    SectionList& list_;
    uint32_t epoch_;
  };

  // Who has it writes.
  class Lock {
   public:
    // Tries so often, and lets other threads run in between.
    Lock(SectionList& list, int tries) : list_(list) {
      for (int i = 0; !is_held_ && i < tries; ++i) {
        is_held_ = !list_.is_locked_.exchange(true, std::memory_order_acquire);
        if (!is_held_ && i + 1 < tries) {
          platform::yield_thread();
        }
      }
    }
    ~Lock() {
      if (is_held_) {
        list_.is_locked_.store(false, std::memory_order_release);
      }
    }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    bool is_held() const { return is_held_; }

   private:
    SectionList& list_;
    bool is_held_ = false;
  };

  bool is_empty() const { return snapshot_.load(std::memory_order_relaxed) == nullptr; }

  // Sections that are not gone.
  uint32_t count() {
    uint32_t live = 0;
    Reading(*this).for_each([&](const Section*) { ++live; });
    return live;
  }

  // ---- With the lock

  void* take(size_t size_bytes) { return pool_.take(size_bytes); }
  // What was never published.
  void give(void* block) { pool_.give(BlockPool::header_of(block)); }
  size_t used_bytes() const { return pool_.used_bytes(); }

  template <typename Visit>
  void for_each(const Visit& visit) {
    const Snapshot* const list = snapshot_.load(std::memory_order_relaxed);
    for (uint64_t i = 0; list != nullptr && i < list->count; ++i) {
      if (!list->entries()[i].section->is_gone.load(std::memory_order_relaxed)) {
        visit(list->entries()[i].section);
      }
    }
  }

  // A list with `added`, and without those that are gone.
  bool publish(Section* added) {
    Snapshot* old = snapshot_.load(std::memory_order_relaxed);
    const uint64_t old_count = old != nullptr ? old->count : 0;
    uint64_t live = 0;
    for_each([&](const Section*) { ++live; });
    // One that is marked meanwhile is in it, or not.
    void* block = live < kMaxSections ? pool_.take(sizeof(Snapshot) + (live + 1) * sizeof(Entry)) : nullptr;
    if (block == nullptr) {
      return false;
    }
    auto* made = new (block) Snapshot;
    made->count = 0;
    uint64_t limit = 0;
    const auto enter = [&](Section* section) {
      limit = std::max(limit, section->limit);
      made->entries()[made->count++] = {section->low, limit, section};
    };
    bool is_entered = false;
    for (uint64_t i = 0; i < old_count; ++i) {
      Section* section = old->entries()[i].section;
      if (!is_entered && added->low < section->low) {
        enter(added);
        is_entered = true;
      }
      if (!section->is_gone.load(std::memory_order_relaxed)) {
        enter(section);
      }
    }
    if (!is_entered) {
      enter(added);
    }
    snapshot_.store(made, std::memory_order_seq_cst);
    // What is not in the new list nobody finds any more.  One that was marked since is in it.
    for (uint64_t i = 0, kept = 0; i < old_count; ++i) {
      kept += kept < made->count && made->entries()[kept].section == added;
      if (kept < made->count && made->entries()[kept].section == old->entries()[i].section) {
        ++kept;
      } else {
        retire(old->entries()[i].section);
      }
    }
    if (old != nullptr) {
      retire(old);
    }
    return true;
  }

  // Frees what no reader can have.
  void settle() {
    for (int i = 0; i < 2 && epochs_.is_left(); ++i) {
      while (waiting_ != nullptr) {
        BlockPool::Header* next = waiting_->next;
        pool_.give(waiting_);
        waiting_ = next;
      }
      if (fresh_ == nullptr) {
        return;
      }
      waiting_ = fresh_;
      fresh_ = nullptr;
      epochs_.change();
    }
  }

  void reset_in_child() {
    epochs_.reset_in_child();
    if (is_locked_.load(std::memory_order_relaxed)) {
      // A thread that is not here any more was inside: the list is whole, what it had besides is lost.
      pool_.reset_in_child();
      fresh_ = waiting_ = nullptr;
      is_locked_.store(false, std::memory_order_relaxed);
    }
  }

 private:
  void retire(void* block) {
    BlockPool::Header* header = BlockPool::header_of(block);
    header->next = fresh_;
    fresh_ = header;
  }

  std::atomic<Snapshot*> snapshot_{nullptr};
  ReadEpochs epochs_;
  std::atomic<bool> is_locked_{false};
  // Of who has the lock.
  BlockPool pool_;
  BlockPool::Header* fresh_ = nullptr;    // taken away since the readers' count was changed
  BlockPool::Header* waiting_ = nullptr;  // before that
};

}  // namespace memprof::unwind
