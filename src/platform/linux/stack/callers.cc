// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/modules/elf_image.h"
#include "platform/linux/stack/native_walk.h"
#include "platform/stack.h"

namespace memprof::platform {
namespace {

constexpr uint32_t kInnermost = 64;

bool is_in_module(uint64_t address) {
  ElfImage module;
  return find_elf(address, &module);
}

}  // namespace

bool may_be_called_by(const Entry& entry, const KnownCode& code) {
  uint64_t frames[kInnermost];
  const WalkResult walk = walk_native(entry, frames, kInnermost);
  for (uint32_t i = 0; i < walk.depth; ++i) {
    // A return address may be the next function's first byte.
    if (code.contains(code.owner, frames[i] - 1)) {
      return true;
    }
  }
  switch (walk.reason) {
    case Walk::kRoot:
    case Walk::kMiddleLeftOut:
    case Walk::kDepthLimit:
      return walk.depth == 0;
    default:
      return walk.depth == 0 || is_in_module(frames[walk.depth - 1]);
  }
}

}  // namespace memprof::platform
