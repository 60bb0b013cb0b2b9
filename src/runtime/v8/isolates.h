// SPDX-License-Identifier: Apache-2.0
// The isolates of the process, one for each thread that runs JavaScript, and how we come to know their code.
//
// Model: V8 tells a handler what code there is, once one is set.  To set it V8 may allocate, also on its own
// heap, so this never happens in a hook.  A hook asks V8 for an interrupt (v8::Isolate::RequestInterrupt): V8
// calls install() at the next place where JavaScript looks for interrupts, where any of its functions may be
// called.  The request itself takes two of V8's locks; it is made only while JavaScript has called native code
// of the program (kStateExternal), where the thread holds none of them.
//
//     first sample in native code under JavaScript  ->  new code is told from then on
//     a stack has functions of the program, and some that were there before  ->  all code is told, once
//
// The second costs some 10 ms (V8 walks its heap and collects source positions) and is left out by programs
// that end before they have such a stack.
//
// Threads: an isolate belongs to the thread that install() ran on.  V8's garbage collector calls the handler on
// its own threads, too, while the isolate's waits.
// Signals: a hook in a signal handler asks nothing.
// fork: a child has the isolate of the thread that forked.
// Allocates: install() takes zeroed pages, of which those are touched that are used; a hook never.
// Failure: no pages, or more than kMostIsolates at once: native frames only.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/v8/codes.h"
#include "runtime/v8/engine.h"

namespace memprof::v8 {

inline constexpr uint32_t kMostIsolates = 128;

class Isolate {
 public:
  bool is_of(const void* isolate) const { return isolate_.load(std::memory_order_acquire) == isolate; }
  Codes* codes() const { return codes_; }
  // In V8's own functions, which are part of its library?
  bool is_embedded(uint64_t address) const { return address - embedded_start_ < embedded_bytes_; }
  bool knows_all_code() const { return knows_all_code_.load(std::memory_order_relaxed); }
  uint64_t last_use() const { return last_use_.load(std::memory_order_relaxed); }
  void note_use();

  // Of the thread that installs.  false: no pages.
  bool begin(const Engine& engine, void* isolate);
  void note_all_code();
  void tell(const Engine& engine, const JitCodeEvent& event);

 private:
  class Writing;
  static constexpr uint32_t kMostPending = 1u << 15;

  void add_code(const Engine& engine, const JitCodeEvent& event);
  uint32_t add_locked(const JitCodeEvent& event, bool* wants_lines);
  void find_lines(const Engine& engine, const JitCodeEvent& event, uint32_t record);

  std::atomic<void*> isolate_{nullptr};      // release in begin(), acquire
  std::atomic<uint64_t> last_use_{0};        // relaxed
  std::atomic<bool> knows_all_code_{false};  // relaxed
  std::atomic<bool> is_writing_{false};      // acquire and release
  Codes* codes_ = nullptr;
  PositionLine* pending_ = nullptr;  // the positions of the next code
  uint32_t pending_count_ = 0;
  uint64_t pending_start_ = 0;  // of that code; 0: not known yet
  uint64_t embedded_start_ = 0;
  uint64_t embedded_bytes_ = 0;
};

// That of the calling thread, if it is `isolate`; nullptr: install() was not there yet.
Isolate* isolate_of_thread(const void* isolate);

// What install() is to do.
enum class Wish : uintptr_t { kNewCode, kAllCode };
// Asks V8 to call install(); the calling thread is in a hook, and in kStateExternal of `isolate`.  Asks once
// until install() ran, but again after many samples, should V8 have forgotten.
void ask(const Engine& engine, void* isolate, Wish wish);

void reset_isolates_in_child();

// As V8 calls them.
void install(void* isolate, void* wish);
void on_code_event(const JitCodeEvent* event);

}  // namespace memprof::v8
