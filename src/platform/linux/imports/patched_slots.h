// SPDX-License-Identifier: Apache-2.0
// Slots that lead to the hooks, and what others have written into them since: tools that patch import tables,
// too, put back what they take for the original.
//
// Model: a slot that holds the real function again is nobody's, and gets its hook back. One that holds anything
// else is another tool's for as long as it holds that: it stays, or the two would write over each other for ever.
//
//     hook -> another tool's function -> the real function -> hook
//             `taken`: it stays          `lost`: written
//
// Remembered are slots of modules that are done with, but no variables, which the program may set. Those of the
// modules that the process began with can be looked at anywhere; those of later ones, while the loader is held.
//
// Threads: one at a time (the caller's flag).
// Allocates: pages of its own, for good.
// Failure: what does not fit is not looked at before the next pass over all modules.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "platform/linux/imports/import_table.h"
#include "platform/linux/imports/imported_module.h"
#include "platform/linux/imports/slot_writer.h"
#include "platform/memory.h"

namespace memprof::platform {

class PatchedSlots {
 public:
  struct Look {
    uint64_t lost;   // held the real function; they lead to the hooks again, but for `refused`
    uint64_t taken;  // hold something else
    uint64_t refused;
  };

  void clear() { count_ = 0; }
  size_t count() const { return count_; }

  void add(const ImportTable::Slot& slot, bool is_initial) {
    if (slots_ == nullptr) {
      slots_ = static_cast<Patched*>(reserve_pages(kMax * sizeof(Patched)));
    }
    if (slots_ != nullptr && count_ < kMax && !slot.is_variable) {
      slots_[count_++] = {slot.address, slot.name, is_initial};
    }
  }
  // Forgets those that were added since count() was this.
  void take_back(size_t count) { count_ = count; }

  // `all`: the modules of all of them are held.
  Look look(const ImportTargets& targets, SlotWriter* writer, bool all) const {
    Look found{};
    for (size_t i = 0; i < count_; ++i) {
      const Patched& slot = slots_[i];
      const uint64_t hook = hook_address(slot.name);
      const uint64_t value = all || slot.is_initial ? load_slot(slot.address) : hook;
      if (value == hook) {
        continue;
      }
      if (value != targets.target(slot.name)) {
        ++found.taken;
        continue;
      }
      ++found.lost;
      // Its module is relocated, also where the other tool has left the page writable.
      found.refused += writer->write(slot.address, value, hook, false) != Written::kYes;
    }
    writer->finish();
    return found;
  }

 private:
  struct Patched {
    uint64_t address;
    uint32_t name;
    bool is_initial;
  };
  static constexpr size_t kMax = 65536;

  Patched* slots_ = nullptr;
  size_t count_ = 0;
};

// For how long allocations may have gone past the hooks: from the last look that found all slots as they were to
// the one that finds them so again.
//
// Threads: note() and begin() one at a time; the others any.  Relaxed: who sees an old value looks once more.
class ImportGap {
 public:
  // `is_whole`: all slots were looked at.
  void note(const PatchedSlots::Look& look, bool is_whole, uint64_t now_ns) {
    const bool is_intact = look.lost + look.taken == 0;
    if (!is_intact && !is_open_) {
      is_open_ = true;
      since_ns_ = intact_ns_;
      slots_.fetch_add(look.taken, std::memory_order_relaxed);
    }
    slots_.fetch_add(look.lost, std::memory_order_relaxed);
    const uint64_t open_ns = is_open_ ? now_ns - since_ns_ : 0;
    if (is_open_ && is_whole && look.taken + look.refused == 0) {
      is_open_ = false;
      closed_ns_ += open_ns;
    }
    intact_ns_ = is_open_ ? intact_ns_ : now_ns;
    unseen_ns_.store(closed_ns_ + (is_open_ ? open_ns : 0), std::memory_order_relaxed);
    look_at_ns_.store(now_ns + kPauseNs, std::memory_order_relaxed);
  }

  // All slots were just patched, at a start: what was before is no gap.
  void begin(uint64_t now_ns) {
    closed_ns_ = unseen_ns();
    is_open_ = false;
    note({}, true, now_ns);
  }

  // Is it time for another look?
  bool is_due(uint64_t now_ns) const { return now_ns >= look_at_ns_.load(std::memory_order_relaxed); }
  // That were written to, each time that they were.
  uint64_t slots() const { return slots_.load(std::memory_order_relaxed); }
  uint64_t unseen_ns() const { return unseen_ns_.load(std::memory_order_relaxed); }

 private:
  static constexpr uint64_t kPauseNs = 5'000'000;

  bool is_open_ = false;
  uint64_t intact_ns_ = 0;
  uint64_t since_ns_ = 0;
  uint64_t closed_ns_ = 0;
  std::atomic<uint64_t> slots_{0};
  std::atomic<uint64_t> unseen_ns_{0};
  std::atomic<uint64_t> look_at_ns_{UINT64_MAX};
};

}  // namespace memprof::platform
