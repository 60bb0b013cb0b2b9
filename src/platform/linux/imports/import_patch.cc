// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/imports/import_patch.h"

#include <pthread.h>

#include <atomic>

#include "core/engine/facts.h"
#include "core/engine/profiler.h"
#include "core/engine/runtimes.h"
#include "core/sampling/sampler.h"
#include "platform/clock.h"
#include "platform/imports.h"
#include "platform/linux/imports/import_describe.h"
#include "platform/linux/imports/import_table.h"
#include "platform/linux/imports/import_tables.h"
#include "platform/linux/imports/import_targets.h"
#include "platform/linux/imports/imported_module.h"
#include "platform/linux/imports/lazy_slots.h"
#include "platform/linux/imports/patched_slots.h"
#include "platform/linux/imports/seen_modules.h"
#include "platform/linux/imports/slot_writer.h"
#include "platform/linux/interpose/nested.h"
#include "platform/linux/interpose/real.h"
#include "platform/linux/process/other_threads.h"
#include "platform/object_format.h"
#include "platform/process.h"

namespace memprof::platform {
namespace {

constexpr int kMaxYields = 20000;  // some 100 ms, or more where others run
constexpr uint32_t kMaxLooks = 16;
constexpr size_t kNoteBytes = 4096;
// Threads that were binding slots get this long to end it, where others run on all processors.
constexpr uint64_t kMaxWaitNs = 100'000'000;

// What a pass counts of the modules that it looks at.
struct Counts {
  uint64_t modules, patched, refused, foreign, unbound;
  void add(const Counts& c) {
    modules += c.modules;
    patched += c.patched;
    refused += c.refused;
    foreign += c.foreign;
    unbound += c.unbound;
  }
};

// One pass at a time touches what follows, but for the atomics.
std::atomic<bool> g_busy{false};        // acquire and release
std::atomic<uint32_t> g_patched_by{0};  // acquire and release: the process that chose the targets
uint64_t g_patched_mark;                // its owner mark
std::atomic<uint64_t> g_counts[5];      // relaxed, one by one
ImportTables g_tables;
ImportTargets g_targets;
SeenModules g_seen;
LazySlots g_lazy;
PatchedSlots g_patched;
ImportGap g_gap;
Counts g_seen_counts;
uint64_t g_adds;
uint64_t g_subs;
char g_notes[2][kNoteBytes];      // by turns: a reader of the other one has until the next pass but one
std::atomic<uint32_t> g_note{0};  // the one that is valid
uint32_t g_looks_left;            // at modules that were being loaded
bool g_is_prepared;               // prepare_imports() was the last to look at all of them

bool try_enter() {
  return !g_busy.exchange(true, std::memory_order_acquire);
}

bool enter() {
  for (int i = 0; !try_enter(); ++i) {
    if (i == kMaxYields) {
      return false;
    }
    yield_thread();
  }
  return true;
}

void leave() {
  g_busy.store(false, std::memory_order_release);
}

// A child has only the thread that forked.  If it took longer (the thread forks in a callback of the loader
// that the pass waits for), the child goes without.
thread_local bool t_entered_for_fork MEMPROF_TLS_MODEL = false;

void before_fork() {
  t_entered_for_fork = enter();
}
void after_fork() {
  if (t_entered_for_fork) {
    leave();
  }
}

// ---- A pass

enum class Progress {
  kDone,
  kUnbound,  // a slot will be looked at when others are
  kUnready,  // the module is just being loaded: to be looked at again soon
};

// Variables of libraries that the executable has copies of.
void patch_copies(const ImportTable& table, SlotWriter& writer, Counts* counts) {
  table.each_copied_word([&](uint64_t address) {
    const uint64_t value = load_slot(address);
    for (uint32_t name = 0; value != 0 && name < interpose::g_hook_count; ++name) {
      if (value == hook_address(name)) {
        ++counts->patched;
      } else if (value == g_targets.target(name)) {
        const bool is_written = writer.write(address, value, hook_address(name), false) == Written::kYes;
        ++(is_written ? counts->patched : counts->refused);
      }
    }
  });
}

// Those that take blocks back come first: a block that is seen to come is seen to go.
Progress patch_module(const ImportTable& table, bool is_initial, SlotWriter& writer, Counts* counts) {
  ImportedModule module(table, g_targets, is_initial);
  module.ask_loader();
  Progress progress = Progress::kDone;
  const auto patch = [&](const ImportTable::Slot& slot) {
    const uint64_t value = load_slot(slot.address);
    const bool counted = is_counted(slot);
    switch (module.judge(slot, value)) {
      case Verdict::kNothing:
        break;
      case Verdict::kHooked:
        counts->patched += counted;
        g_patched.add(slot, is_initial);
        break;
      case Verdict::kForeign:
        ++counts->foreign;
        break;
      case Verdict::kUnbound:
        ++counts->unbound;
        progress = progress == Progress::kUnready ? progress : Progress::kUnbound;
        break;
      case Verdict::kUnrelocated:
        progress = Progress::kUnready;
        break;
      case Verdict::kTarget:
        switch (writer.write(slot.address, value, hook_address(slot.name), slot.in_relro)) {
          case Written::kYes:
            counts->patched += counted;
            g_patched.add(slot, is_initial);
            if (value != g_targets.target(slot.name)) {
              g_lazy.add(slot, is_initial);
            }
            break;
          case Written::kRefused:
            counts->refused += counted;
            break;
          case Written::kChanged:
          case Written::kNotReady:
            counts->unbound += counted;
            progress = Progress::kUnready;
            break;
        }
        break;
    }
  };
  table.each_slot([&](const ImportTable::Slot& slot) {
    if (is_release(slot.name)) {
      patch(slot);
    }
  });
  table.each_slot([&](const ImportTable::Slot& slot) {
    if (!is_release(slot.name)) {
      patch(slot);
    }
  });
  patch_copies(table, writer, counts);
  writer.finish();
  counts->modules = counts->patched + counts->refused + counts->foreign + counts->unbound != 0;
  return progress;
}

void publish(const Counts& c) {
  const uint64_t values[] = {c.modules, c.patched, c.refused, c.foreign, c.unbound};
  for (size_t i = 0; i < 5; ++i) {
    g_counts[i].store(values[i], std::memory_order_relaxed);
  }
  profiler::note_imports();
}

// What others have written since. `is_held`: the loader is, so all of them can be looked at.
void look_at_patched(bool is_held) {
  SlotWriter writer;
  g_lazy.look_again(g_targets, is_held);
  const PatchedSlots::Look look = g_patched.look(g_targets, &writer, is_held);
  g_gap.note(look, is_held, monotonic_ns());
  if (g_gap.slots() != 0) {
    profiler::note_imports();
  }
}

// Looks at all modules, or at those that were not seen.
void pass(bool all) {
  SlotWriter writer;
  hold_modules([&](const dl_phdr_info& first) {
    if (first.dlpi_subs != g_subs) {
      g_lazy.forget_later_ones();
    }
    if (all || first.dlpi_subs != g_subs) {
      all = true;
      look_at_patched(first.dlpi_subs == g_subs);
      g_seen.clear();
      g_seen_counts = {};
      g_patched.clear();
    }
    g_targets.survey_changes(g_tables, first.dlpi_adds, first.dlpi_subs);
    Counts unfinished{};
    bool is_unready = false;
    uint32_t place = 0;
    each_module([&](const dl_phdr_info& info) {
      const uint32_t here = place++;
      if (g_seen.contains(info)) {
        return false;
      }
      const ImportTable& table = g_tables.of(info);
      Counts c{};
      const size_t known = g_patched.count();
      const Progress progress =
          is_this_library(table, here)
              ? Progress::kDone
              : patch_module(table, all && g_targets.survey().is_initial(here), writer, &c);
      is_unready = is_unready || progress == Progress::kUnready;
      if (progress == Progress::kDone && g_seen.add(info)) {
        g_seen_counts.add(c);
      } else {
        unfinished.add(c);
        g_patched.take_back(known);
      }
      return false;
    });
    if (first.dlpi_adds != g_adds || all) {
      g_looks_left = kMaxLooks;
    }
    g_looks_left = is_unready && g_looks_left != 0 ? g_looks_left - 1 : 0;
    g_adds = first.dlpi_adds;
    g_subs = first.dlpi_subs;
    unfinished.add(g_seen_counts);
    publish(unfinished);
    g_lazy.look_again(g_targets, true);
  });
}

bool was_loaded_since() {
  bool is_new = false;
  hold_modules([&](const dl_phdr_info& info) { is_new = info.dlpi_adds != g_adds; });
  return is_new;
}

// Not from a hook.
void look_at_all() {
  const MuteScope mute;
  const auto look = [](const dl_phdr_info& first) { look_at_patched(first.dlpi_subs == g_subs); };
  hold_modules(look);
  if (was_loaded_since()) {
    pass(false);
    hold_modules(look);
  }
}

// Before recording begins: threads that were binding slots have written what they found, and it is undone.
void settle() {
  wait_for_other_threads(kMaxWaitNs);
  hold_modules([&](const dl_phdr_info& first) { g_lazy.look_again(g_targets, first.dlpi_subs == g_subs); });
}

// Is it this process whose tables are patched?  In a fork child the loader's lock may be held for ever.
bool may_look() {
  const uint32_t by = g_patched_by.load(std::memory_order_acquire);
  const uint64_t mark = sampler_mark();  // of this process; a child has another, or none
  return by != 0 && (mark != 0 ? mark == g_patched_mark : by == process_id());
}

// For those who may not wait for the loader.  Where nothing is missing, nothing is read.
void take_note() {
  const uint32_t next = 1 - g_note.load(std::memory_order_relaxed);
  TextSink sink(g_notes[next], kNoteBytes);
  if (const Imports now = imports(); now.refused + now.foreign + now.unbound != 0) {
    describe_modules(g_tables, g_targets, sink);
  }
  sink.finish();
  g_note.store(next, std::memory_order_release);  // pairs with the acquire in imports_note
}

bool patch(bool prepares) {
  // A child that is profiled on its own has its parent's tables.
  const bool is_child = g_patched_by.load(std::memory_order_acquire) != 0 && !may_look();
  if (is_child || !enter()) {
    return imports().patched != 0;
  }
  const MuteScope mute;  // the loader may allocate
  bool is_patched = g_patched_by.load(std::memory_order_relaxed) != 0;
  if (!is_patched && g_targets.choose(g_tables)) {
    pthread_atfork(before_fork, after_fork, after_fork);
    is_patched = true;
    g_patched_mark = sampler_mark();
    g_patched_by.store(process_id(), std::memory_order_release);
  }
  if (is_patched) {
    const size_t before = g_lazy.count();
    pass(!g_is_prepared);
    interpose::mute_nested_calls();  // musl's calloc calls malloc by a slot that is patched now
    if (g_lazy.count() > before && !prepares) {
      settle();
    }
    g_is_prepared = prepares;
    g_gap.begin(monotonic_ns());
    take_note();
  }
  leave();
  return imports().patched != 0;
}

}  // namespace

bool patch_imports() {
  return patch(false);
}

bool prepare_imports() {
  return patch(true);
}

void patch_new_imports() {
  if (!may_look() || profiler::state() != State::kActive || !try_enter()) {
    return;
  }
  const bool is_new = was_loaded_since();
  if (is_new || g_looks_left != 0) {
    const MuteScope mute;
    do {
      pass(false);
    } while (was_loaded_since());
    take_note();
  }
  if (g_gap.is_due(monotonic_ns())) {
    look_at_all();
  }
  leave();
  if (is_new) {
    runtimes::attach();
  }
}

void recheck_imports() {
  if (!may_look() || profiler::state() != State::kActive || !try_enter()) {
    return;
  }
  look_at_all();
  leave();
}

void watch_imports(uint64_t now_ns) {
  const bool is_look_due = g_gap.is_due(now_ns) && !is_sandboxed();
  if ((!g_lazy.is_due(now_ns) && !is_look_due) || !may_look() || !try_enter()) {
    return;
  }
  if (is_look_due) {
    look_at_patched(false);
  } else {
    g_lazy.look_again(g_targets, false);
  }
  g_lazy.plan(now_ns);
  leave();
}

uint64_t allocator_behind_hooks() {
  return reinterpret_cast<uint64_t>(interpose::g_real.free);  // malloc may be one of ours in front of it
}

Imports imports() {
  const auto get = [](size_t i) { return g_counts[i].load(std::memory_order_relaxed); };
  return {get(0), get(1), get(2), get(3), get(4), g_gap.slots(), g_gap.unseen_ns()};
}

const char* imports_note() {
  return g_notes[g_note.load(std::memory_order_acquire)];
}

size_t describe_imports(char* text, size_t size_bytes) {
  TextSink sink(text, size_bytes);
  if (may_look() && enter()) {
    describe_modules(g_tables, g_targets, sink);
    leave();
  }
  return sink.finish();
}

}  // namespace memprof::platform
