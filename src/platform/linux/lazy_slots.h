// SPDX-License-Identifier: Apache-2.0
// Slots that were taken while they were not bound: a thread that was just binding one writes over the hook,
// some microseconds later.  So they are looked at again when all else is done, while the modules still are
// held.
//
// Allocates: pages of its own.
// Failure: what does not fit is looked at in the next pass only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/platform.h"
#include "platform/linux/import_table.h"
#include "platform/linux/imported_module.h"
#include "platform/linux/slot_writer.h"

namespace memprof::platform {

class LazySlots {
 public:
  LazySlots() : slots_(static_cast<ImportTable::Slot*>(reserve_pages(kMost * sizeof(ImportTable::Slot)))) {}
  ~LazySlots() {
    if (slots_ != nullptr) {
      release_pages(slots_, kMost * sizeof(ImportTable::Slot));
    }
  }
  LazySlots(const LazySlots&) = delete;
  LazySlots& operator=(const LazySlots&) = delete;

  void add(const ImportTable::Slot& slot) {
    if (slots_ != nullptr && count_ < kMost) {
      slots_[count_++] = slot;
    }
  }

  void look_again(const ImportTargets& targets, SlotWriter& writer) {
    for (size_t i = 0; i < count_; ++i) {
      const ImportTable::Slot& slot = slots_[i];
      const uint64_t target = targets.target(slot.name);
      if (load_slot(slot.address) == target) {
        writer.write(slot.address, target, hook_address(slot.name), slot.in_relro);
      }
    }
    writer.finish();
    count_ = 0;
  }

 private:
  static constexpr size_t kMost = 65536;
  ImportTable::Slot* const slots_;
  size_t count_ = 0;
};

}  // namespace memprof::platform
