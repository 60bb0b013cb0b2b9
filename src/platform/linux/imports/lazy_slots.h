// SPDX-License-Identifier: Apache-2.0
// Slots that were taken while they were not bound: a thread that was just binding one writes the real
// function over the hook when the loader has found it.
//
// Model: the pass that took them waits for such threads, and looks at all of them again.  A thread that got
// no processor all that time writes later: so they are looked at again by samples, at growing intervals,
// until kWatchNs after the last one was taken; there only those of modules that the process began with, which
// stay.
//
//     taken ── threads left ── looked at ── recording begins ── looked at by samples ── forgotten
//
// Threads: one at a time (the caller's flag), but is_due().
// Allocates: pages of its own, for good.
// Failure: what does not fit is not looked at again before the next pass over all modules.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "platform/clock.h"
#include "platform/linux/imports/import_table.h"
#include "platform/linux/imports/imported_module.h"
#include "platform/linux/imports/slot_writer.h"
#include "platform/memory.h"

namespace memprof::platform {

class LazySlots {
 public:
  // Where modules were loaded or unloaded since, those of later ones may be gone.
  void forget_later_ones() {
    size_t kept = 0;
    for (size_t i = 0; i < count_; ++i) {
      if (slots_[i].is_initial) {
        slots_[kept++] = slots_[i];
      }
    }
    count_ = kept;
  }

  void add(const ImportTable::Slot& slot, bool is_initial) {
    if (slots_ == nullptr) {
      slots_ = static_cast<Taken*>(reserve_pages(kMax * sizeof(Taken)));
    }
    if (slots_ != nullptr && count_ < kMax && !has(slot.address)) {
      slots_[count_++] = {slot.address, slot.name, is_initial};
      last_taken_ns_ = monotonic_ns();
      next_look_ns_.store(last_taken_ns_, std::memory_order_relaxed);
    }
  }

  size_t count() const { return count_; }

  // Takes back those that were lost, and says how many.  `all`: the modules of all of them are held.
  size_t look_again(const ImportTargets& targets, bool all) {
    size_t taken_back = 0;
    for (size_t i = 0; i < count_; ++i) {
      const Taken& slot = slots_[i];
      uint64_t target = targets.target(slot.name);
      // Relaxed: as the loader's own store.  Who writes there meanwhile writes the same.
      if ((all || slot.is_initial) && target != 0 && load_slot(slot.address) == target) {
        taken_back +=
            __atomic_compare_exchange_n(reinterpret_cast<uint64_t*>(slot.address), &target,
                                        hook_address(slot.name), false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
      }
    }
    return taken_back;
  }

  // Relaxed: who sees an old value looks once more, or at the next sample.
  bool is_due(uint64_t now_ns) const { return now_ns >= next_look_ns_.load(std::memory_order_relaxed); }

  // After a look: the next one is after a quarter of the time since.
  void plan(uint64_t now_ns) {
    const uint64_t age_ns = now_ns - last_taken_ns_;
    next_look_ns_.store(age_ns < kWatchNs ? now_ns + age_ns / 4 : UINT64_MAX, std::memory_order_relaxed);
  }

 private:
  struct Taken {
    uint64_t address;
    uint32_t name;
    bool is_initial;
  };
  static constexpr size_t kMax = 16384;
  static constexpr uint64_t kWatchNs = 60'000'000'000;

  bool has(uint64_t address) const {
    for (size_t i = count_; i > 0; --i) {
      if (slots_[i - 1].address == address) {
        return true;
      }
    }
    return false;
  }

  Taken* slots_ = nullptr;
  size_t count_ = 0;
  uint64_t last_taken_ns_ = 0;
  std::atomic<uint64_t> next_look_ns_{UINT64_MAX};
};

}  // namespace memprof::platform
