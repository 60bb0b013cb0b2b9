// SPDX-License-Identifier: Apache-2.0
// capture_stack of the seam: by the unwind tables, and by frame pointers where there are none; within the
// bounds of the stack, code read through the kernel.  Where the thread runs code of a language runtime, its
// frames are merged in (runtime/runtime.h).
#include <atomic>

#include "core/arena/levels.h"
#include "core/engine/frame_rooms.h"
#include "core/sampling/sampler.h"
#include "cpu/facts.h"
#include "platform/linux/memory/stack_bounds.h"
#include "platform/linux/modules/elf_image.h"
#include "platform/linux/stack/hook_caller.h"
#include "platform/linux/stack/hook_section.h"
#include "platform/linux/stack/native_walk.h"
#include "platform/linux/stack/operator_frames.h"
#include "platform/linux/stack/untabled_code.h"
#include "platform/memory.h"
#include "platform/posix/fork_handler.h"
#include "platform/stack.h"
#include "runtime/runtime.h"
#include "unwind/walk/call_site.h"
#include "unwind/walk/frame_list.h"
#include "unwind/walk/step.h"
#include "unwind/walk/table_walk.h"
#include "unwind/walk/walk_memory.h"

namespace memprof::platform {
namespace {

// Return addresses that were seen to be one (call_site.h), so that each costs system calls only once.  A
// direct-mapped cache of single words: a lost entry is asked for again.  An entry of a library that was
// unloaded meanwhile can let a wrong address pass, never a crash.
constexpr uint32_t kCallSites = 4096;
std::atomic<uint64_t> g_call_sites[kCallSites];

bool is_call_site(uint64_t return_address) {
  if (return_address < 4096 || return_address >> 56 != 0) {
    return false;
  }
  std::atomic<uint64_t>& cached = g_call_sites[mix_hash(return_address) % kCallSites];
  if (cached.load(std::memory_order_relaxed) == return_address) {
    return true;
  }
  uint8_t code[8 + 9];
  // The bytes after the address are only wanted for a signal trampoline, and may not be there.
  const bool both = read_memory(return_address - 8, code, sizeof(code));
  if (!both && !read_memory(return_address - 8, code, 8)) {
    return false;
  }
  if (!unwind::follows_call(code + 8) && !unwind::begins_behind_traps(return_address, code + 8) &&
      !(both && unwind::is_signal_return(code + 8))) {
    return false;
  }
  cached.store(return_address, std::memory_order_relaxed);
  return true;
}

// Of code that no table describes, where its caller is in another module: that is rare, so that nothing is kept.
bool find_call_target(uint64_t return_address, uint64_t* target) {
  uint8_t code[8];
  return read_memory(return_address - sizeof(code), code, sizeof(code)) &&
         unwind::find_call_target(return_address, code + sizeof(code), target) &&
         read_memory(*target, code, sizeof(code)) && !unwind::is_jump(code);
}

// Asked of every address that no table describes; what is a call site is no trampoline.
bool is_trampoline(uint64_t address) {
  if (address < 4096 || address >= unwind::kAddressEnd ||
      g_call_sites[mix_hash(address) % kCallSites].load(std::memory_order_relaxed) == address) {
    return false;
  }
  uint8_t code[8];
  return read_memory(address, code, sizeof(code)) && unwind::is_signal_return(code);
}

const unwind::Surroundings kSurroundings{find_unwind_image,
                                         is_call_site,
                                         stack_bounds,
                                         is_left_out,
                                         read_memory,
                                         find_call_target,
                                         cpu::kHasBareTrampoline ? is_trampoline : is_untabled_signal_return,
                                         cpu::kFollowsCode ? find_untabled_rule : nullptr};

WalkResult walk_native(const Entry& entry, uint64_t* frames, uint32_t max_depth,
                       unwind::StackPointers* pointers) {
  const uint64_t frame = reinterpret_cast<uint64_t>(entry.frame_address);
  const unwind::Start start = start_of(entry, kSurroundings);
  const unwind::StackBounds bounds = stack_bounds(frame);
  bool needs_all_registers = false;
  WalkResult result =
      unwind::walk_by_tables(start, bounds, kSurroundings, frames, max_depth, &needs_all_registers, pointers);
  if (pointers != nullptr && pointers->memory != nullptr) {
    pointers->memory->end(needs_all_registers ? 0 : result.depth);
  }
  if (needs_all_registers) {
    const unwind::RegisterFile registers = own_registers();
    // Our own frames lie below the hook's; nothing deeper than this one is read.
    const unwind::StackBounds all{registers.values[unwind::kStackPointer], bounds.high, bounds.grow};
    const WalkResult full =
        unwind::walk_with_all_registers(registers, start.sp, all, kSurroundings, frames, max_depth, pointers);
    // The second walk repeats the first up to the frame that stopped it; it never knows less.
    result = full.depth >= result.depth ? full : result;
  }
  return result;
}

uint64_t function_bytes(uint64_t address) {
  unwind::Image image;
  unwind::FunctionRange range;
  return find_unwind_image(address, &image) &&
                 unwind::find_function(image, address, &range) == unwind::Found::kYes
             ? range.limit - range.start
             : 0;
}

const runtimes::NativeCode kNativeCode{function_bytes, __start_memprof_hooks, __stop_memprof_hooks};

[[gnu::always_inline]] inline WalkResult merge_at(const runtimes::RunningThread& thread, const Entry& entry,
                                                  const uint64_t* native_frames,
                                                  const unwind::StackPointers& pointers, WalkResult walk,
                                                  uint64_t* frames, uint32_t max_depth) {
  const uint64_t high = stack_bounds(reinterpret_cast<uint64_t>(entry.frame_address)).high;
  const runtimes::NativeStack native{native_frames, pointers.values, walk, pointers.has_gaps,
                                     high,          &kNativeCode};
  return thread.runtime()->merge(thread, native, frames, max_depth);
}

// Into rooms of the stack, where the memory is warm, or, of a deep one, elsewhere.
[[gnu::noinline]] WalkResult capture_in_rooms(const runtimes::RunningThread& thread, const Entry& entry,
                                              uint64_t* frames, uint32_t max_depth) {
  constexpr uint32_t kUsualFrames = 64;
  uint64_t usual[2 * kUsualFrames];
  unwind::StackPointers pointers{usual + kUsualFrames, false};
  WalkResult walk = walk_native(entry, usual, kUsualFrames, &pointers);
  if (walk.reason == Walk::kDepthLimit) {
    const FrameRoom deep;
    const FrameRoom deep_pointers;
    if (deep.frames() != nullptr && deep_pointers.frames() != nullptr) {
      pointers.values = deep_pointers.frames();
      walk = walk_native(entry, deep.frames(), unwind::FrameList::kMaxFrames, &pointers);
      return merge_at(thread, entry, deep.frames(), pointers, walk, frames, max_depth);
    }
    // All are taken: half the stack is better than none.
  }
  return merge_at(thread, entry, usual, pointers, walk, frames, max_depth);
}

// A signal handler that leaves from in here (siglongjmp) leaves the memory taken: there are others, and rooms.
[[gnu::noinline]] WalkResult capture_mixed(const runtimes::RunningThread& thread, const Entry& entry,
                                           uint64_t* frames, uint32_t max_depth) {
  unwind::WalkMemory* memory = nullptr;
  if constexpr (unwind::kHasWalkMemory) {
    memory = unwind::WalkMemory::take(reinterpret_cast<uint64_t>(&t_sampler));
  }
  if (memory == nullptr) {
    return capture_in_rooms(thread, entry, frames, max_depth);
  }
  unwind::WalkMemory::Bank& bank = memory->now();
  unwind::StackPointers pointers{bank.stack_pointers, false, memory};
  const WalkResult walk = walk_native(entry, bank.frames, unwind::WalkMemory::kFrames, &pointers);
  const WalkResult result = merge_at(thread, entry, bank.frames, pointers, walk, frames, max_depth);
  memory->give_back();
  return result;
}

}  // namespace

WalkResult walk_native(const Entry& entry, uint64_t* frames, uint32_t max_depth) {
  return walk_native(entry, frames, max_depth, nullptr);
}

bool has_stack_for_walk(const Entry& entry, size_t more_bytes) {
  // From the hook's frame down, as measured (-fstack-usage), and what the allocator may take.
  constexpr uint64_t kOfWalk = 4096;
  constexpr uint64_t kOfMixedWalk = kOfWalk + 1536;
  // Between the two frames, in that; a gate of hooks inside modules (register_gate.h) may have taken more.
  constexpr uint64_t kUsual = 1024;
  const auto frame = reinterpret_cast<uint64_t>(entry.frame_address);
  const uint64_t used = frame - reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  const uint64_t more_used = used > kUsual ? used - kUsual : 0;
  more_bytes += more_used < kOfWalk ? more_used : kOfWalk;
  const uint64_t left = stack_left(frame);
  runtimes::RunningThread thread;
  return left >= kOfMixedWalk + more_bytes ||
         (left >= kOfWalk + more_bytes && !runtimes::find_running_thread(&thread));
}

WalkResult capture_stack(const Entry& entry, uint64_t* frames, uint32_t max_depth) {
  runtimes::RunningThread thread;
  const WalkResult result = runtimes::find_running_thread(&thread)
                                ? capture_mixed(thread, entry, frames, max_depth)
                                : walk_native(entry, frames, max_depth);
  const auto name_code = runtimes::g_name_code.load(std::memory_order_relaxed);
  if (__builtin_expect(name_code != nullptr, 0)) {
    name_code(frames, result.depth);
  }
  return result;
}

}  // namespace memprof::platform
