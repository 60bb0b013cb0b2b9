// SPDX-License-Identifier: Apache-2.0
// Room in full tables of modules and code (and so of names): entries that no stack names are given to others, and
// where that is not enough, stacks forget the names of old ones, and never the bytes.
//
// Model: a sweep is many small steps, one for each new stack, and begins when one of the tables has little room:
//     choose   unloaded modules that could go.  If the sweep before freed too few entries, also entries that stacks
//              still name: a quarter of the table of modules and a quarter of the table of code, the next quarter in
//              the next sweep.  Code through which a new stack of this sweep or of the one before ran stays
//     mark     what the frames of all stacks name, and then the callers that they share, of which it empties those that
//              nobody uses.  Frames of what is taken from them become [older modules], or the [older functions] of the
//              file
//     free     what could go, is not marked, and is still as it was
// A stack that is written meanwhile marks what its frames name (StackTable).  So no stack names an entry of
// another module than its own: frames in modules have no bits for more.  For code they have (core/tables/code_table.h),
// so what a thread remembers across a sweep is seen to be gone.  What runtimes remember of code is of the sweep
// in which they looked (profiler::tables_epoch).
//
// Threads: one at a time makes a step, the others go on.  A thread that never comes back from one (siglongjmp out
// of a handler) ends all sweeps; full tables then leave frames without names.
// Allocates, waits: never.  A step looks at kSlice entries, or at so many stacks that a sweep has 1024 steps.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/tables/code_table.h"
#include "core/tables/module_table.h"
#include "core/tables/stack_table.h"

namespace memprof {

class TableSweep {
 public:
  static constexpr uint64_t kSlice = 128;
  static constexpr uint64_t kMinStacks = 32;
  static constexpr uint64_t kSteps = 1024;

  // From now on for these tables.  No other thread uses them yet.
  void attach(const Arena& arena, StackTable* stacks, ModuleTable* modules, CodeTable* codes);

  // After each new stack, and after modules were unloaded.
  void step();

  // After a stack was written, which readers find from now on.
  void watch(const uint64_t* frames, uint32_t depth) {
    // Not just a load: a sweep that begins to mark later finds the stack; one that marks waits for who is in here.
    if (__builtin_expect((marking_.fetch_add(kWatcher, std::memory_order_acq_rel) & kIsMarking) != 0, 0)) {
      mark_frames(frames, depth);
    }
    marking_.fetch_sub(kWatcher, std::memory_order_release);
  }

 private:
  enum class Phase : uint32_t { kIdle, kChoose, kMark, kMarkCallers, kFree };
  struct Candidate {  // an unloaded primary module
    uint64_t start;
    uint64_t limit;
    uint32_t entry;
  };
  class Bits {
   public:
    void clear(uint64_t size_bits);
    bool has(uint64_t i) const { return (words_[i / 64].load(std::memory_order_relaxed) >> i % 64 & 1) != 0; }
    void set(uint64_t i);

   private:
    std::atomic<uint64_t> words_[CodeTable::kMaxCodes / 64] = {};
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr uint32_t kIsMarking = 1;  // what follows is as this sweep chose it
  static constexpr uint32_t kWatcher = 2;    // times those who are in watch()

  bool has_few_modules() const;
  bool has_few_codes() const;
  void begin();
  void choose();
  uint64_t choose_module(uint64_t i);
  void choose_code(uint64_t i);
  void mark();
  void mark_stack(uint32_t id);
  void mark_callers();
  void forget_or_mark(uint64_t* frames, uint32_t count, bool is_held);
  void mark_frames(const uint64_t* frames, uint32_t depth);
  void mark_frame(uint64_t frame);
  void free_some();
  void end();
  void go_on_with(Phase phase);
  Phase phase() const { return phase_.load(std::memory_order_relaxed); }
  uint32_t module_of(uint64_t frame) const;
  // Where it is taken from its stack, what it becomes; else itself.
  uint64_t forget(uint64_t frame);
  uint64_t older_code(uint32_t entry, uint64_t frame);

  Arena arena_;
  StackTable* stacks_ = nullptr;
  ModuleTable* modules_ = nullptr;
  CodeTable* codes_ = nullptr;
  std::atomic<bool> is_busy_{false};        // a thread makes a step; acquire, release
  std::atomic<uint32_t> marking_{0};        // kIsMarking and kWatcher; acquire, release
  std::atomic<Phase> phase_{Phase::kIdle};  // relaxed, as the next one
  std::atomic<uint64_t> shortages_{0};      // SweepState::shortages when it began
  // Of the thread that makes a step.
  uint64_t next_ = 0;  // what this phase looks at next
  uint64_t idle_steps_ = 0;
  uint64_t idle_steps_wanted_ = 0;  // before the next sweep
  uint64_t freed_ = 0;
  uint32_t number_ = 0;
  bool has_modules_ = false;  // this sweep is for modules, for code
  bool has_codes_ = false;
  bool takes_modules_ = false;  // the one before was not enough
  bool takes_codes_ = false;
  uint64_t modules_left_ = 0;  // that may still be taken
  uint64_t codes_left_ = 0;
  uint64_t first_module_ = 0;  // where choosing begins
  uint64_t first_code_ = 0;
  uint64_t module_hand_ = 0;  // behind the last one that was taken
  uint64_t code_hand_ = 0;
  uint64_t modules_seen_ = 0;  // those that there were when it began
  uint64_t pieces_seen_ = 0;   // of callers, when marking these began
  // Written while choosing, read while marking.
  uint64_t candidates_ = 0;
  Candidate candidate_[kMaxModules] = {};  // ordered by start
  uint32_t unloads_[kMaxModules] = {};     // of what could go; 0: it stays
  Bits taken_modules_;
  Bits taken_codes_;
  Bits named_modules_;
  Bits named_codes_;
  Bits forgotten_modules_;  // that were taken from a stack
  Bits forgotten_codes_;
  uint32_t older_[CodeTable::kMaxCodes] = {};  // of those: the code that stands for them
};

}  // namespace memprof
