// SPDX-License-Identifier: Apache-2.0
// What the engine tells the runtimes of languages that live in the process (src/runtime, which defines these
// functions).
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstdint>

#include "format/runtime_frame.h"

namespace memprof::runtimes {

// MEMPROF_USE_* of memprof.h.
enum class Use : uint32_t {
  kAll = 0,
  kNothing = 1,     // the runtime is not looked for
  kStacksOnly = 2,  // for frames in stacks, but not for its objects
};
struct Settings {
  Use uses[kMaxRuntimes] = {};      // of the runtime of id i + 1
  bool native_interpreter = false;  // frames of evaluation loops stay in the stacks
};
// Before the profiler starts.
void configure(const Settings& settings);

// The variable of the environment that says how the runtime of this id is used: "0", "stacks", or "1" for all.
// nullptr: this build does not know it.
const char* variable_of(uint32_t id);

// The profiler is active: looks for runtimes in the process and attaches to them.  Idempotent.  Must not be
// called from a hook: takes the loader's lock.
void attach();

// The same for the module that `address` lies in, which a stack runs through for the first time.  In a hook's
// way: no lock, no allocation.
void module_was_entered(uint64_t address);

// In every event of a sampler, muted (core/hooks/sampled_call.h): a runtime may have put aside what was
// attached to it.
extern std::atomic<void (*)()> g_look;  // nullptr: none wants to look.  Relaxed: it is code
[[gnu::always_inline]] inline void look_in_event() {
  void (*const look)() = g_look.load(std::memory_order_relaxed);
  if (__builtin_expect(look != nullptr, 0)) {
    look();
  }
}
// After it: while a runtime begins its work the thread's next allocation is to be an event, too.
extern std::atomic<uint32_t> g_events_wanted;  // relaxed
void want_event();
[[gnu::always_inline]] inline void after_event() {
  if (__builtin_expect(g_events_wanted.load(std::memory_order_relaxed) != 0, 0)) {
    want_event();
  }
}

// Around a dlclose: what lies in a runtime's module is not to be touched in between, nor later if it is gone.
void before_unload();
void after_unload();

// Runs of garbage collectors are counted from now on, of each runtime that is in the process and can be asked. false: there
// is none. Must not be called from a hook.
bool count_collections();
// So many runs have begun since; a fork child goes on with its parent's.
uint64_t collections();

// In a fork child: no other thread is at work here, nor unloads anything.
void reset_in_child();

}  // namespace memprof::runtimes
