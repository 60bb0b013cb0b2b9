// SPDX-License-Identifier: Apache-2.0
// What a language runtime gives to the profiler: one Runtime, a table of functions.  The engine and the
// platform call them through core/engine/runtimes.h, core/reader/runtime_code.h and the functions below, which
// ask each runtime of the registry (runtime/registry.h).  src/runtime/README.md says how to write one.
//
// Threads: any, unless a function says otherwise.
// Signals: what a hook calls may be interrupted by itself on one thread.
// fork: reset_in_child() is the first of them that a child calls.
// Allocates: never, none of them.
// Failure: a runtime that cannot do its work gives native stacks, and says why in its facts
// (core/engine/facts.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "platform/stack.h"
#include "runtime/native_stack.h"

namespace memprof::runtimes {

class RunningThread;

// What may be nullptr says so.
struct Runtime {
  uint32_t id;               // MEMPROF_RUNTIME_*, 1 to kMaxRuntimes: it is written to profiles
  const char* name;          // as its users call it
  const char* variable;      // of the environment: "0" leaves the runtime alone, "stacks" its objects
  const char* unknown_code;  // the name of a function whose code found no room in the table of code

  // Looks for the runtime in the process and attaches to it; `with_objects`: to its allocators, too.  true: it
  // is there.  Idempotent.  Must not be called from a hook: takes the loader's lock.
  bool (*attach)(bool with_objects);
  // The same for the module that `address` lies in, which a stack runs through for the first time.  true: it
  // is there now, and was not before.  Called from hooks.
  bool (*enter_module)(uint64_t address, bool with_objects);
  // In every sampling event, muted, after it called look_in_events().  nullptr: it never does.
  void (*look)();
  // Around an unload of modules: the runtime's own may be among them.  Nests; several threads may be in it at once.
  void (*before_unload)();
  void (*after_unload)();
  void (*reset_in_child)();
  // Has it begun to take itself apart, though the process goes on?  Called from hooks.  nullptr: it never
  // does.
  bool (*is_ending)();
  // The native frames of its evaluation loop stay in the stacks.  nullptr: they always do.
  void (*keep_loop_frames)(bool on);

  // Does the calling thread run code of it, whose frames can be read?  Called from hooks, for every sample.
  bool (*find_thread)(RunningThread* thread);
  // Writes the frames of both, leaf first (runtime/merge.h).  Called from hooks.
  platform::WalkResult (*merge)(const RunningThread& thread, const NativeStack& native, uint64_t* frames,
                                uint32_t max_depth);
  // The line of a position in code that it interned (profiler::intern_code); 0: unknown.  In whichever process
  // reads the profile: `lines` is not to be believed.
  uint32_t (*line_at)(const uint8_t* lines, uint64_t lines_bytes, uint32_t first_line,
                      uint32_t position_bytes);

  // Names return addresses among `frames`, leaf first, that lie in machine code which no module has: each becomes a
  // frame of this runtime.  Called from hooks, for every stack, after name_code_in_stacks().  nullptr: it names none.
  void (*name_code)(uint64_t* frames, uint32_t depth);

  // Has each of its garbage collector's runs counted from now on (note_collection()). false: it is not in the process.
  // Idempotent. Must not be called from a hook. nullptr: it has no collector that can be counted.
  bool (*count_collections)();
};

// tests/checks/symbols.py follows those that hooks call.
static_assert(offsetof(Runtime, attach) == 32 && offsetof(Runtime, name_code) == 32 + 11 * sizeof(void*) &&
              offsetof(Runtime, count_collections) == 32 + 12 * sizeof(void*));

// The calling thread, as its runtime found it.
class RunningThread {
 public:
  // nullptr: it runs none.
  const Runtime* runtime() const { return runtime_; }

  // What the runtime itself wants to know of it, a plain struct, is made in its place here by make().
  template <typename Own, typename Make>
  const Own& set(const Runtime& runtime, const Make& make) {
    static_assert(std::is_trivially_copyable_v<Own> && sizeof(Own) <= kOwnBytes &&
                  alignof(Own) <= kAlignment);
    runtime_ = &runtime;
    return *new (own_) Own(make());
  }
  // Of the type that it was set with.
  template <typename Own>
  const Own& own() const {
    return *std::launder(reinterpret_cast<const Own*>(own_));
  }

 private:
  static constexpr uint32_t kOwnBytes = 40;
  static constexpr uint32_t kAlignment = 8;
  const Runtime* runtime_ = nullptr;
  alignas(kAlignment) unsigned char own_[kOwnBytes];
};

// The runtime of this id; nullptr: there is none.
const Runtime* find_runtime(uint32_t id);

// find_thread() of the runtime that was found in this process, or a function that asks several; nullptr: none
// was found yet.  Relaxed: it is code.
using FindThread = bool (*)(RunningThread* thread);
extern std::atomic<FindThread> g_find_thread;

// The runtime whose code the calling thread runs: of several, the first of the registry.  false: none.
[[gnu::always_inline]] inline bool find_running_thread(RunningThread* thread) {
  const FindThread find = g_find_thread.load(std::memory_order_relaxed);
  return find != nullptr && find(thread);
}

// Has the runtime's look() called in events, or no longer.
void look_in_events(const Runtime& runtime, bool on);

// A run of a garbage collector begins.
void note_collection();

// Has the runtime's name_code() called for each stack from now on.  One runtime may.
void name_code_in_stacks(const Runtime& runtime);
extern std::atomic<void (*)(uint64_t* frames, uint32_t depth)>
    g_name_code;  // nullptr: none.  Relaxed: it is code

}  // namespace memprof::runtimes
