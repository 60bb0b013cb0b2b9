// SPDX-License-Identifier: Apache-2.0
// The modules that a pass over the import tables is done with.
//
// Model: a set of hashes of what tells two modules apart that are loaded at the same time: load address and
// program headers.  After an unload another module can have the same: the owner clears the set then.
//
// Threads: the caller's.
// Allocates: never.
// Failure: add() returns false when the set is full; the module is looked at again each time.
#pragma once

#include <link.h>
#include <string.h>

#include <cstdint>

#include "core/arena/levels.h"

namespace memprof::platform {

class SeenModules {
 public:
  static constexpr uint32_t kMax = 1024;

  void clear() {
    count_ = 0;
    memset(slots_, 0, sizeof(slots_));
  }

  bool contains(const dl_phdr_info& module) const {
    const uint64_t key = key_of(module);
    for (uint64_t i = key;; ++i) {
      const uint64_t found = slots_[i % kSlots];
      if (found == key || found == 0) {
        return found == key;
      }
    }
  }

  bool add(const dl_phdr_info& module) {
    if (count_ == kMax) {
      return false;
    }
    const uint64_t key = key_of(module);
    uint64_t i = key;
    while (slots_[i % kSlots] != 0 && slots_[i % kSlots] != key) {
      ++i;
    }
    count_ += slots_[i % kSlots] == 0;
    slots_[i % kSlots] = key;
    return true;
  }

 private:
  static constexpr uint32_t kSlots = 2 * kMax;

  static uint64_t key_of(const dl_phdr_info& module) {
    return mix_hash(module.dlpi_addr ^ mix_hash(reinterpret_cast<uint64_t>(module.dlpi_phdr))) | 1;
  }

  uint32_t count_ = 0;
  uint64_t slots_[kSlots] = {};
};

}  // namespace memprof::platform
