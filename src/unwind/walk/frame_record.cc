// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk/frame_record.h"

#include "unwind/tables/registers.h"
#include "unwind/walk/frames.h"
#include "unwind/walk/table_walk.h"

namespace memprof::unwind {
namespace {

constexpr uint64_t kWordBytes = 8;
constexpr uint64_t kRecordBytes = 2 * kWordBytes;
// A stack whose end is unknown is followed so far without a gap; a frame pointer beyond leads elsewhere.
constexpr uint64_t kLongestStep = 256 * 1024;
// Code that was made at run time lies this close together: the JVM's code cache has 240 MiB.
constexpr uint64_t kCodeCacheBytes = uint64_t{256} << 20;

bool is_on(StackMemory& stack, uint64_t address) {
  const bool is_far = address > stack.high() && address - stack.high() > kLongestStep;
  return !is_far && stack.contains(address) && stack.contains(address + kWordBytes);
}

bool is_in_module(const Surroundings& surroundings, uint64_t address) {
  Image image;
  return surroundings.find_image(address, &image);
}

// The return address was pushed by code that was made at run time.
bool is_pushed(const Unruled& at, const Surroundings& surroundings, StackMemory& stack, uint64_t bp,
               const FrameRecord& record) {
  const uint64_t distance = record.pc > at.pc ? record.pc - at.pc : at.pc - record.pc;
  return !at.is_in_module && distance < kCodeCacheBytes && record.bp > bp && record.bp % kWordBytes == 0 &&
         is_on(stack, record.bp) && !is_in_module(surroundings, record.pc);
}

// The frame pointers end here.
bool is_last(const Unruled& at, const Surroundings& surroundings, const FrameRecord& record) {
  return at.is_in_module && record.bp == 0 && is_code_address(record.pc) &&
         is_in_module(surroundings, record.pc - 1);
}

// The call before the return address is not of the function that is left, which has not saved the frame pointer.
bool leads_elsewhere(const Unruled& at, const Surroundings& surroundings, uint64_t return_address) {
  Image left;
  Image caller;
  Image called;
  uint64_t target = 0;
  return at.is_in_module && surroundings.find_call_target != nullptr &&
         surroundings.find_image(at.pc - 1, &left) && surroundings.find_image(return_address - 1, &caller) &&
         left.index != caller.index && surroundings.find_call_target(return_address, &target) &&
         surroundings.find_image(target, &called) && called.index != left.index;
}

bool find_on_stack(const Unruled& at, const Surroundings& surroundings, StackMemory& stack,
                   FrameRecord* record) {
  uint64_t bp = at.bp;
  for (int i = 0; i < 2; ++i) {
    if (!stack.read(bp, &record->bp) || !stack.read(bp + kWordBytes, &record->pc)) {
      return false;
    }
    record->pc = strip(record->pc);
    record->limit = bp + kRecordBytes;
    record->is_elsewhere = false;
    if (record->pc == 0 || surroundings.is_call_site(record->pc)) {
      return record->pc == 0 || !leads_elsewhere(at, surroundings, record->pc);
    }
    if (record->bp != bp + kWordBytes) {
      break;
    }
    bp = record->bp;
  }
  return is_pushed(at, surroundings, stack, bp, *record) || is_last(at, surroundings, *record);
}

// From memory that may not be there.
bool read_record(const Surroundings& surroundings, uint64_t address, FrameRecord* record) {
  uint64_t words[2];
  if (address % kWordBytes != 0 || !is_code_address(address) ||
      !surroundings.read_memory(address, words, sizeof(words))) {
    return false;
  }
  *record = {words[0], strip(words[1]), address + kRecordBytes, true};
  return true;
}

bool read_followed_record(const Surroundings& surroundings, uint64_t address, FrameRecord* record) {
  if (!read_record(surroundings, address, record)) {
    return false;
  }
  if (!surroundings.is_call_site(record->pc) &&
      (record->bp != address + kWordBytes || !read_record(surroundings, record->bp, record))) {
    return false;
  }
  return surroundings.is_call_site(record->pc);
}

bool find_elsewhere(const Unruled& at, const Surroundings& surroundings, FrameRecord* record) {
  if (surroundings.read_memory == nullptr || !read_followed_record(surroundings, at.bp, record)) {
    return false;
  }
  // One such word could lie there by chance.
  FrameRecord caller;
  return read_followed_record(surroundings, record->bp, &caller) ||
         (read_record(surroundings, record->bp, &caller) && is_last(at, surroundings, caller));
}

}  // namespace

bool find_frame_record(const Unruled& at, const Surroundings& surroundings, StackMemory* stack, int* jumps,
                       FrameRecord* record) {
  if (at.bp % kWordBytes != 0 || at.bp > kAddressEnd) {
    return false;
  }
  if (at.bp >= at.sp && is_on(*stack, at.bp)) {
    return find_on_stack(at, surroundings, *stack, record);
  }
  const bool is_below = at.bp >= stack->low() && at.bp < at.sp;
  if (is_below || *jumps == kMaxStackJumps || !find_elsewhere(at, surroundings, record)) {
    return false;
  }
  ++*jumps;
  *stack = StackMemory(surroundings.find_stack(at.bp));
  return true;
}

}  // namespace memprof::unwind
