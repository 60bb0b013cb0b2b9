// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/modules/elf_image.h"
#include "platform/linux/stack/native_walk.h"
#include "platform/stack.h"

namespace memprof::platform {
namespace {

constexpr uint32_t kFrames = 64;

bool is_in_module(uint64_t address) {
  ElfImage module;
  return find_elf(address, &module);
}

// `is_unknown`: what it is where the frames cannot be told.
bool is_among_callers(const Entry& entry, const KnownCode& code, bool is_unknown) {
  uint64_t frames[kFrames];
  const WalkResult walk = walk_native(entry, frames, kFrames);
  for (uint32_t i = 0; i < walk.depth; ++i) {
    // A return address may be the next function's first byte.
    if (code.contains(code.owner, frames[i] - 1)) {
      return true;
    }
  }
  const bool is_done = !is_cut(walk.reason) || walk.reason == Walk::kDepthLimit;
  return is_unknown && (walk.depth == 0 || (!is_done && is_in_module(frames[walk.depth - 1])));
}

}  // namespace

bool may_be_called_by(const Entry& entry, const KnownCode& code) {
  return is_among_callers(entry, code, true);
}

bool is_called_by(const Entry& entry, const KnownCode& code) {
  return is_among_callers(entry, code, false);
}

}  // namespace memprof::platform
