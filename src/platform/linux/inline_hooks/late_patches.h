// SPDX-License-Identifier: Apache-2.0
// The list of what a tracer is to write to this process while all of its threads are stopped (format/allocators/late_patches.h).
//
// Threads: one at a time; the tracer reads the list while all are stopped.
// Allocates: pages, once.
#pragma once

#include <cstdint>

#include "format/allocators/late_patches.h"
#include "platform/linux/inline_hooks/inner_module.h"

namespace memprof::platform {

// `new_bytes`: of a jump; `window_bytes`: of the instructions in whose place it is.
LatePatch code_patch(uint64_t address, uint32_t window_bytes, const uint8_t* new_bytes);
// `bytes`: 1 to LatePatch::kMaxWrittenBytes.
LatePatch data_patch(uint64_t address, uint32_t bytes, const void* new_bytes);

class LatePatches {
 public:
  // false: there is no room; nothing of it is in the list.
  bool add_group(const LatePatch* patches, uint32_t count);
  // The functions of a module that was prepared, and its heaps.
  bool add_module(const InnerModule& module);
  // The module is unloaded: nothing of it may be written any more.
  void forget(const InnerModule& module);

  uint32_t count() const { return count_; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(all_); }

 private:
  bool make_room(uint32_t more);

  LatePatch* all_ = nullptr;
  uint32_t count_ = 0;
  uint32_t groups_ = 0;
};

}  // namespace memprof::platform
