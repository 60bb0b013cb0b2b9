// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/stacks.h"

#include <atomic>

#include "core/engine/facts.h"
#include "runtime/cpython/codes.h"
#include "runtime/cpython/memory.h"

namespace memprof::cpython {
namespace {

constexpr uint32_t kMaking = 100;  // one thread fills the layout
constexpr uint32_t kMaxFailures = 3;

// Written by compare-exchange; acquire where the layout is read, pairs with the releases in prepare() and
// settle().
std::atomic<uint32_t> g_stack_state{static_cast<uint32_t>(StackState::kNone)};
std::atomic<bool> g_has_tail_calls{false};         // relaxed: before kRead
std::atomic<uint32_t> g_failures{0};               // relaxed
std::atomic<bool> g_shows_evaluation_loop{false};  // relaxed
Layout g_layout;
std::atomic<uint32_t> g_version{0};  // that the layout is of; relaxed: before kUnchecked

uint32_t raw(StackState state) {
  return static_cast<uint32_t>(state);
}

void prepare(const Interpreter& interpreter) {
  uint32_t expected = raw(StackState::kNone);
  if (!g_stack_state.compare_exchange_strong(expected, kMaking, std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
    return;
  }
  const bool is_known = interpreter.gil_state_thread_state != nullptr && interpreter.code_type != nullptr &&
                        interpreter.unicode_type != nullptr && interpreter.bytes_type != nullptr &&
                        find_layout(interpreter, &g_layout);
  g_version.store(interpreter.version, std::memory_order_relaxed);
  const StackState state = is_known ? StackState::kUnchecked : StackState::kUnknownVersion;
  g_stack_state.store(raw(state), std::memory_order_release);
  profiler::note_runtime_stacks(kRuntimeId, raw(state));
}

uint64_t to_address(const void* pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

struct ThreadState {
  uint64_t address;
  bool is_attached;
};

// The thread state that is attached is of the (sub-)interpreter that runs.  Where none is, the thread has
// left the interpreter for a while, and is known by the one that it came with.
ThreadState find_thread(const Interpreter& interpreter) {
  const uint64_t own = to_address(interpreter.gil_state_thread_state());
  if (interpreter.unchecked_thread_state == nullptr) {
    return {own, false};
  }
  const uint64_t attached = to_address(interpreter.unchecked_thread_state());
  if (interpreter.is_at_least(3, 12)) {  // it is this thread's
    return attached != 0 ? ThreadState{attached, true} : ThreadState{own, false};
  }
  // The one of whoever holds the GIL.  Not ours: its memory may go at any moment.
  if (attached == own) {
    return {own, true};
  }
  uint64_t id = 0;
  uint64_t attached_id = 0;
  return attached != 0 && own != 0 && CheckedMemory::read(own + g_layout.thread_id, &id) &&
                 CheckedMemory::read(attached + g_layout.thread_id, &attached_id) && id == attached_id
             ? ThreadState{attached, true}
             : ThreadState{own, false};
}

}  // namespace

StackState stack_state() {
  const uint32_t state = g_stack_state.load(std::memory_order_relaxed);
  return state == kMaking ? StackState::kNone : static_cast<StackState>(state);
}

RunningThread running_thread() {
  const Interpreter* interpreter = cpython::interpreter();
  if (interpreter == nullptr) {
    return {};
  }
  uint32_t state = g_stack_state.load(std::memory_order_acquire);
  if (state == raw(StackState::kNone)) {
    prepare(*interpreter);
    state = g_stack_state.load(std::memory_order_acquire);
  }
  // Another version that was loaded later is laid out in another way.
  if ((state != raw(StackState::kRead) && state != raw(StackState::kUnchecked)) ||
      g_version.load(std::memory_order_relaxed) != interpreter->version) {
    return {};
  }
  watch_codes(*interpreter, g_layout);
  const ThreadState thread = find_thread(*interpreter);
  const RunningThread running{interpreter,
                              &g_layout,
                              thread.address,
                              state == raw(StackState::kRead),
                              g_has_tail_calls.load(std::memory_order_relaxed),
                              thread.is_attached};
  return thread.address == 0 || may_be_gone(running) ? RunningThread{} : running;
}

bool may_be_gone(const RunningThread& thread) {
  return !thread.is_attached &&
         (thread.interpreter->is_finalizing == nullptr || thread.interpreter->is_finalizing() != 0);
}

void reset_stacks_in_child() {
  uint32_t expected = kMaking;
  g_stack_state.compare_exchange_strong(expected, raw(StackState::kNone), std::memory_order_release,
                                        std::memory_order_relaxed);
}

void settle(bool is_good, bool has_tail_calls) {
  uint32_t expected = raw(StackState::kUnchecked);
  StackState state = StackState::kUnknownLayout;
  if (is_good) {
    state = StackState::kRead;
    g_has_tail_calls.store(has_tail_calls, std::memory_order_relaxed);
  } else if (g_failures.fetch_add(1, std::memory_order_relaxed) + 1 < kMaxFailures) {
    return;
  }
  if (g_stack_state.compare_exchange_strong(expected, raw(state), std::memory_order_release)) {
    profiler::note_runtime_stacks(kRuntimeId, raw(state));
  }
}

void show_evaluation_loop(bool on) {
  g_shows_evaluation_loop.store(on, std::memory_order_relaxed);
}

bool shows_evaluation_loop() {
  return g_shows_evaluation_loop.load(std::memory_order_relaxed);
}

}  // namespace memprof::cpython
