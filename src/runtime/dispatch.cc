// SPDX-License-Identifier: Apache-2.0
// What the engine and the platform ask of runtimes goes to each of the registry.
#include "core/engine/runtimes.h"

#include "core/engine/ending.h"
#include "core/reader/runtime_code.h"
#include "core/sampling/sampler.h"
#include "runtime/registry.h"
#include "runtime/runtime.h"

namespace memprof::runtimes {

std::atomic<void (*)()> g_look{nullptr};
std::atomic<uint32_t> g_events_wanted{0};
std::atomic<FindThread> g_find_thread{nullptr};
std::atomic<void (*)(uint64_t*, uint32_t)> g_name_code{nullptr};

namespace {

std::atomic<uint64_t> g_collections{0};  // relaxed

// By ids; relaxed: set before the profiler starts.
std::atomic<uint32_t> g_uses[kMaxRuntimes];
std::atomic<uint32_t> g_lookers{0};  // a bit for each runtime that wants to look in events

Use use_of(const Runtime& runtime) {
  return static_cast<Use>(g_uses[runtime.id - 1].load(std::memory_order_relaxed));
}

uint32_t bit_of(const Runtime& runtime) {
  return uint32_t{1} << (runtime.id - 1);
}

template <typename Function>
void for_each(const Function& function) {
  for (uint32_t i = 0; i < kRegistrySize; ++i) {
    function(*kRegistry[i]);
  }
}

bool find_in_each(RunningThread* thread) {
  for (uint32_t i = 0; i < kRegistrySize; ++i) {
    if (kRegistry[i]->find_thread(thread)) {
      return true;
    }
  }
  return false;
}

// Threads may find two runtimes at once: whoever is second sees that there is another.
void note_here(const Runtime& runtime) {
  FindThread expected = nullptr;
  if (!g_find_thread.compare_exchange_strong(expected, runtime.find_thread, std::memory_order_relaxed) &&
      expected != runtime.find_thread) {
    g_find_thread.store(find_in_each, std::memory_order_relaxed);
  }
}

void look_of_each() {
  const uint32_t lookers = g_lookers.load(std::memory_order_relaxed);
  for_each([lookers](const Runtime& runtime) {
    if ((lookers & bit_of(runtime)) != 0) {
      runtime.look();
    }
  });
}

void (*look_of(uint32_t lookers))() {
  for (uint32_t i = 0; i < kRegistrySize; ++i) {
    if (lookers == bit_of(*kRegistry[i])) {
      return kRegistry[i]->look;
    }
  }
  return lookers != 0 ? look_of_each : nullptr;
}

// `ask`: attach() or enter_module() of a runtime.
template <typename Ask>
void look_for_runtimes(const Ask& ask) {
  for_each([&](const Runtime& runtime) {
    const Use use = use_of(runtime);
    if (use != Use::kNothing && ask(runtime, use == Use::kAll)) {
      note_here(runtime);
      if (runtime.is_ending != nullptr) {
        profiler::watch_runtime_end(runtime.is_ending);
      }
    }
  });
}

}  // namespace

const Runtime* find_runtime(uint32_t id) {
  for (uint32_t i = 0; i < kRegistrySize; ++i) {
    if (kRegistry[i]->id == id) {
      return kRegistry[i];
    }
  }
  return nullptr;
}

void look_in_events(const Runtime& runtime, bool on) {
  const uint32_t bit = bit_of(runtime);
  on ? g_lookers.fetch_or(bit) : g_lookers.fetch_and(~bit);
  // Another runtime may come in between; whoever is last must leave what is right for all of them, hence
  // sequential consistency: each store is followed by a look for a later change.
  uint32_t lookers;
  do {
    lookers = g_lookers.load();
    g_look.store(look_of(lookers));
  } while (g_lookers.load() != lookers);
}

void name_code_in_stacks(const Runtime& runtime) {
  g_name_code.store(runtime.name_code, std::memory_order_relaxed);
}

void configure(const Settings& settings) {
  for (uint32_t i = 0; i < kMaxRuntimes; ++i) {
    g_uses[i].store(static_cast<uint32_t>(settings.uses[i]), std::memory_order_relaxed);
  }
  for_each([&](const Runtime& runtime) {
    if (runtime.keep_loop_frames != nullptr) {
      runtime.keep_loop_frames(settings.native_interpreter);
    }
  });
}

void attach() {
  look_for_runtimes([](const Runtime& runtime, bool with_objects) { return runtime.attach(with_objects); });
}

void module_was_entered(uint64_t address) {
  look_for_runtimes([address](const Runtime& runtime, bool with_objects) {
    return runtime.enter_module(address, with_objects);
  });
}

// Threads may count one event together: no harm.
void want_event() {
  const uint32_t left = g_events_wanted.load(std::memory_order_relaxed);
  if (left != 0) {
    g_events_wanted.store(left - 1, std::memory_order_relaxed);
    sampler_forget();
  }
}

void reset_in_child() {
  for_each([](const Runtime& runtime) { runtime.reset_in_child(); });
  // Another thread of the parent may have found a runtime and not noted it yet.
  FindThread expected = nullptr;
  g_find_thread.compare_exchange_strong(expected, find_in_each, std::memory_order_relaxed);
}

void before_unload() {
  for_each([](const Runtime& runtime) { runtime.before_unload(); });
}

void after_unload() {
  for_each([](const Runtime& runtime) { runtime.after_unload(); });
}

bool count_collections() {
  bool is_any = false;
  for_each([&](const Runtime& runtime) {
    if (runtime.count_collections != nullptr && use_of(runtime) != Use::kNothing) {
      is_any = runtime.count_collections() || is_any;
    }
  });
  return is_any;
}

void note_collection() {
  g_collections.fetch_add(1, std::memory_order_relaxed);
}

uint64_t collections() {
  return g_collections.load(std::memory_order_relaxed);
}

const char* variable_of(uint32_t id) {
  const Runtime* const runtime = find_runtime(id);
  return runtime != nullptr ? runtime->variable : nullptr;
}

const char* name_of(uint32_t id) {
  const Runtime* const runtime = find_runtime(id);
  return runtime != nullptr ? runtime->name : "";
}

const char* unknown_code_name(uint32_t id) {
  const Runtime* const runtime = find_runtime(id);
  return runtime != nullptr ? runtime->unknown_code : "[unknown code]";
}

uint32_t line_of(uint32_t id, const uint8_t* lines, uint64_t lines_bytes, uint32_t first_line,
                 uint32_t position_bytes) {
  const Runtime* const runtime = find_runtime(id);
  return runtime != nullptr ? runtime->line_at(lines, lines_bytes, first_line, position_bytes) : 0;
}

}  // namespace memprof::runtimes
