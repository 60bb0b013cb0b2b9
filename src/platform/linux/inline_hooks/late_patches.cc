// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/late_patches.h"

#include <string.h>

#include "platform/linux/inline_hooks/code/code_writer.h"
#include "platform/memory.h"

namespace memprof::platform {
namespace {

constexpr uint32_t kMaxPatches = 4096;

}  // namespace

LatePatch code_patch(uint64_t address, uint32_t window_bytes, const uint8_t* new_bytes) {
  LatePatch patch{};
  patch.address = address;
  patch.window_bytes = static_cast<uint16_t>(window_bytes);
  patch.written_bytes = kJumpBytes;
  memcpy(patch.old_bytes, reinterpret_cast<const void*>(address), window_bytes);
  memcpy(patch.new_bytes, new_bytes, kJumpBytes);
  return patch;
}

LatePatch data_patch(uint64_t address, uint32_t bytes, const void* new_bytes) {
  LatePatch patch{};
  patch.address = address;
  patch.written_bytes = static_cast<uint16_t>(bytes);
  memcpy(patch.old_bytes, reinterpret_cast<const void*>(address), bytes);
  memcpy(patch.new_bytes, new_bytes, bytes);
  return patch;
}

bool LatePatches::make_room(uint32_t more) {
  if (all_ == nullptr) {
    all_ = static_cast<LatePatch*>(reserve_pages(kMaxPatches * sizeof(LatePatch)));
  }
  return all_ != nullptr && more <= kMaxPatches - count_;
}

bool LatePatches::add_group(const LatePatch* patches, uint32_t count) {
  if (!make_room(count)) {
    return false;
  }
  for (uint32_t i = 0; i < count; ++i) {
    all_[count_] = patches[i];
    all_[count_++].group = groups_;
  }
  ++groups_;
  return true;
}

bool LatePatches::add_module(const InnerModule& module) {
  uint32_t wanted = module.heap_count;
  each_hooked(module, [&](const InnerHeap&, const HookSite&) { ++wanted; });
  if (!make_room(wanted)) {
    return false;
  }
  each_hooked(module, [&](const InnerHeap&, const HookSite& site) {
    const uint64_t at = site.address + site.entry_bytes;
    uint8_t jump[kJumpBytes];
    encode_jump(at, site.stub, jump);
    all_[count_] = code_patch(at, site.window_bytes, jump);
    all_[count_++].group = groups_;
  });
  constexpr InnerState kNext = InnerState::kUntried;
  for (uint32_t h = 0; h < module.heap_count; ++h) {
    const InnerHeap& heap = module.heaps[h];
    if (heap.state.load(std::memory_order_relaxed) == InnerState::kPrepared) {
      all_[count_] = data_patch(reinterpret_cast<uint64_t>(&heap.state), sizeof(kNext), &kNext);
      all_[count_++].group = groups_;
    }
  }
  ++groups_;
  return true;
}

void LatePatches::forget(const InnerModule& module) {
  const auto start = reinterpret_cast<uint64_t>(&module);
  for (uint32_t i = 0; i < count_; ++i) {
    if (all_[i].window_bytes != 0 || all_[i].address - start >= module.region_bytes) {
      continue;
    }
    for (uint32_t k = 0; k < count_; ++k) {
      if (all_[k].group == all_[i].group) {
        all_[k].written_bytes = 0;
      }
    }
  }
}

}  // namespace memprof::platform
