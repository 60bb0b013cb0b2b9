// SPDX-License-Identifier: Apache-2.0
// The walk of a stack (platform/stack.h), by frame records: Apple's ABI for arm64 demands them, and its compilers and libraries
// keep them on x86-64.
//
// Model: from a frame of the library's outwards.  What of it, and of libmalloc, is at the leaf's end is left out.
// Inside the bounds of the thread's stack a record is read as it is, outside (coroutines, signal stacks) through the kernel.
// Threads: no state but the bounds.  Allocates: never.
#include "platform/stack.h"

#include <pthread.h>

#include "platform/darwin/modules/image_list.h"
#include "platform/darwin/system.h"
#include "platform/memory.h"

namespace memprof::platform {
namespace {

StackRange own_stack() {
  const pthread_t self = pthread_self();
  const uint64_t high = address_of(pthread_get_stackaddr_np(self));
  return {high - pthread_get_stacksize_np(self), high};
}

// Pointer authentication: the bits above the address are a signature.
uint64_t strip(uint64_t address) {
  constexpr uint64_t kAddressBits = 47;
  return address & ((uint64_t{1} << kAddressBits) - 1);
}

struct FrameRecord {
  uint64_t caller;
  uint64_t return_address;
};

bool read_record(const StackRange& bounds, uint64_t frame, FrameRecord* record) {
  if (frame % sizeof(uint64_t) != 0 || frame == 0) {
    return false;
  }
  if (bounds.contains(frame) && bounds.high - frame >= sizeof(*record)) {
    *record = *reinterpret_cast<const FrameRecord*>(frame);
    return true;
  }
  return read_memory(frame, record, sizeof(*record));
}

// Code lies above the first page.
constexpr uint64_t kMinCode = 4096;

// Calls visit(return address) from the leaf to the root, while it returns true.
template <typename Visit>
Walk walk(const Entry& entry, const Visit& visit) {
  const StackRange bounds = own_stack();
  uint64_t frame = address_of(entry.frame_address);
  bool is_inside = true;
  while (true) {
    FrameRecord record;
    if (!read_record(bounds, frame, &record)) {
      return Walk::kLeftStack;
    }
    const uint64_t address = strip(record.return_address);
    if (address < kMinCode) {
      return Walk::kRoot;
    }
    is_inside = is_inside && is_allocators_code(address - 1);
    if (!is_inside && !visit(address)) {
      return Walk::kDepthLimit;
    }
    if (record.caller == 0) {
      return Walk::kRoot;
    }
    // Callers lie above, on one stack.
    const bool is_on_stack = bounds.contains(frame);
    if (record.caller == frame || (is_on_stack && record.caller < frame && record.caller >= bounds.low)) {
      return Walk::kBadFrame;
    }
    frame = record.caller;
  }
}

constexpr uint32_t kLookedAt = 64;

}  // namespace

bool is_frame_gone(uint64_t frame, uint64_t here) {
  return own_stack().is_gone(frame, here);
}

bool has_stack_for_walk(const Entry&, size_t more_bytes) {
  constexpr uint64_t kWalkBytes = 8 * 1024;
  const uint64_t here = address_of(__builtin_frame_address(0));
  const StackRange bounds = own_stack();
  return here < bounds.low || here >= bounds.high || here - bounds.low > kWalkBytes + more_bytes;
}

WalkResult capture_stack(const Entry& entry, uint64_t* frames, uint32_t max_depth) {
  uint32_t depth = 0;
  const Walk reason = walk(entry, [&](uint64_t address) {
    if (depth == max_depth) {
      return false;
    }
    frames[depth++] = address;
    return true;
  });
  return {depth, reason};
}

bool may_be_called_by(const Entry& entry, const KnownCode& code) {
  uint32_t left = kLookedAt;
  bool is_found = false;
  const Walk reason = walk(entry, [&](uint64_t address) {
    is_found = code.contains(code.owner, address - 1);
    return !is_found && --left != 0;
  });
  return is_found || reason != Walk::kRoot;
}

bool is_called_by(const Entry& entry, const KnownCode& code) {
  uint32_t left = kLookedAt;
  bool is_found = false;
  walk(entry, [&](uint64_t address) {
    is_found = code.contains(code.owner, address - 1);
    return !is_found && --left != 0;
  });
  return is_found;
}

void forget_code() {}

}  // namespace memprof::platform
