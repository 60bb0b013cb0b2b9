// SPDX-License-Identifier: Apache-2.0
// The isolates of the process, one for each thread that runs JavaScript, and how we come to know their code.
//
// Model: V8 tells a handler what code there is, once one is set.  To set it V8 may allocate, also on its own
// heap, so this never happens in a hook.  A hook adds a function of ours to those that V8 calls before native
// code calls JavaScript (v8::Isolate::AddBeforeCallEnteredCallback: an entry in a vector, under no lock), and
// there all of V8 may be called.  In Node that is before the program's script, and before each callback of the
// event loop.
//     the thread is seen to be in the isolate         ->  at the next call: new code is told from then on
//     a stack has functions that were there before it ->  at the next call: all code is told, once
// The second costs some 10 ms (V8 walks its heap and collects source positions), and is left out by programs
// that end before they have such a stack.
//
// Threads: an isolate belongs to the thread that before_call() ran on.  V8's garbage collector calls the handler on
// its own threads, too, while the isolate's waits.
// Signals: a hook in a signal handler asks nothing.
// fork: a child has the isolate of the thread that forked.
// Allocates: before_call() takes zeroed pages, of which those are touched that are used; a hook never.
// Failure: no pages, or more than kMaxIsolates at once: native frames only.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/v8/code/code_object.h"
#include "runtime/v8/code/codes.h"
#include "runtime/v8/code/inlining.h"
#include "runtime/v8/engine.h"

namespace memprof::v8 {

inline constexpr uint32_t kMaxIsolates = 128;

// Where V8's machine code lies: functions that are part of its library, and what it compiles, with copies of the
// former.
struct MachineCode {
  uint64_t embedded_start = 0;
  uint64_t embedded_bytes = 0;
  uint64_t compiled_start = 0;
  uint64_t compiled_bytes = 0;

  static MachineCode of(const Engine& engine, void* isolate);
  bool contains(uint64_t address) const {
    return address - embedded_start < embedded_bytes || address - compiled_start < compiled_bytes;
  }
  // Where V8 has no range for what it compiles, that lies anywhere.
  bool may_contain(uint64_t address) const { return compiled_bytes == 0 || contains(address); }
};

class Isolate {
 public:
  bool is_of(const void* isolate) const { return isolate_.load(std::memory_order_acquire) == isolate; }
  Codes* codes() const { return codes_; }
  const MachineCode& machine_code() const { return machine_code_; }
  // In a hook of its thread: all code is to be told at the next call.
  void want_all_code() { wants_all_code_.store(true, std::memory_order_relaxed); }
  bool wants_all_code() const { return wants_all_code_.load(std::memory_order_relaxed); }
  bool knows_all_code() const { return knows_all_code_.load(std::memory_order_relaxed); }
  uint64_t last_use() const { return last_use_.load(std::memory_order_relaxed); }
  void note_use();
  // Of its thread, at a call: V8 says from now on when it collects garbage there. Once for each begin().
  void count_collections(const Engine& engine, uint32_t place);
  bool counts_collections() const { return counts_collections_.load(std::memory_order_relaxed); }
  uint32_t begins() const { return begins_.load(std::memory_order_relaxed); }

  // Of the thread that installs.  false: no pages.
  bool begin(const Engine& engine, void* isolate);
  void set_handler(const Engine& engine, void* isolate);
  void tell(const Engine& engine, const JitCodeEvent& event);
  // Whoever wrote stayed with the parent.
  void reset_in_child() { is_writing_.store(false, std::memory_order_release); }

 private:
  class Writing;
  static constexpr uint32_t kMaxPending = 1u << 16;
  static constexpr uint32_t kScratchBytes = Inlining::kScratchBytes;
  static constexpr uint32_t kMaxPendingCodes = 256;
  // Positions that were told of code, of which the name is told later: V8 compiles several functions together.
  struct PendingCode {
    uint64_t start;
    uint32_t first;  // of pending_
    uint32_t count;
  };

  // What an isolate needs while it is told of code: processes without V8 have 128 places for isolates, too.
  struct Work {
    PendingCode pending_codes[kMaxPendingCodes];
    Inlining inlining;
  };

  void add_code(const Engine& engine, const JitCodeEvent& event);
  uint32_t add_locked(const JitCodeEvent& event);
  void find_lines(const Engine& engine, const JitCodeEvent& event, uint32_t record, const PendingCode& code);
  bool find_optimised_lines(const Engine& engine, const Code& code);
  void find_lacking_lines(const Engine& engine);
  void find_baseline_lines(const Engine& engine, const JitCodeEvent& event, uint32_t record);
  void begin_positions();
  void end_positions(uint64_t start);
  bool take_pending(uint64_t start, PendingCode* taken);

  std::atomic<void*> isolate_{nullptr};  // release in begin(), acquire
  std::atomic<uint64_t> last_use_{0};    // relaxed
  Codes* codes_ = nullptr;
  PositionLine* pending_ = nullptr;
  uint8_t* scratch_ = nullptr;
  Work* work_ = nullptr;
  MachineCode machine_code_;
  CodeObjects code_objects_;
  uint32_t pending_count_ = 0;
  uint32_t pending_first_ = 0;  // of the code that V8 is at
  uint32_t pending_codes_count_ = 0;
  std::atomic<bool> wants_all_code_{false};      // relaxed
  std::atomic<bool> knows_all_code_{false};      // relaxed
  std::atomic<bool> counts_collections_{false};  // relaxed
  std::atomic<uint32_t> begins_{0};              // relaxed
  std::atomic<bool> is_writing_{false};          // acquire and release
};

// That of the calling thread, if it is `isolate`; nullptr: before_call() was not there yet.
Isolate* isolate_of_thread(const void* isolate);

// From the next call on that each isolate's thread makes, for good.
void count_collections_of_isolates();

void reset_isolates_in_child();

// As V8 calls them.
void before_call(void* isolate);
void on_code_event(const JitCodeEvent* event);

}  // namespace memprof::v8
