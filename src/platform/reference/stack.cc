// SPDX-License-Identifier: Apache-2.0
// A stack of one frame (platform/stack.h): the caller of the hook.
#include "platform/stack.h"

namespace memprof::platform {

bool is_frame_gone(uint64_t, uint64_t) {
  return false;
}

bool has_stack_for_walk(const Entry&, size_t) {
  return true;
}

// By the frame record that the hook was compiled with: the caller's frame, the return address.
WalkResult capture_stack(const Entry& entry, uint64_t* frames, uint32_t max_depth) {
  if (max_depth == 0) {
    return {0, Walk::kDepthLimit};
  }
  frames[0] = static_cast<const uint64_t*>(entry.frame_address)[1];
  return {1, Walk::kNoRule};
}

bool may_be_called_by(const Entry& entry, const KnownCode& code) {
  return code.contains(code.owner, static_cast<const uint64_t*>(entry.frame_address)[1] - 1);
}

bool is_called_by(const Entry& entry, const KnownCode& code) {
  return may_be_called_by(entry, code);
}

void forget_code() {}

}  // namespace memprof::platform
