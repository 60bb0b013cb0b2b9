// SPDX-License-Identifier: Apache-2.0
#include "core/engine/facts.h"

#include <atomic>

#include "core/engine/ownership.h"
#include "platform/imports.h"
#include "platform/process.h"

namespace memprof::profiler {
namespace {

std::atomic<bool> g_hooks{false};                // relaxed: set before main
RuntimeFacts g_runtimes[kMaxRuntimes];           // relaxed
std::atomic<uint64_t> g_bypassing_libraries{0};  // relaxed

// Not on the stack of a hook, which may be small.  Who sets the flag (acquire, pairs with the release behind) has it; a
// fork in between leaves the child without.
std::atomic<bool> g_is_command_line_taken{false};
char g_command_line[kMaxCommandLineBytes];

}  // namespace

void store_facts(ArenaHeader* header) {
  Statistics& s = header->statistics;
  const platform::Imports imports = platform::imports();
  s.hooks.store(g_hooks.load(std::memory_order_relaxed) ? kHooksInterposed
                : imports.patched != 0                  ? kHooksImports
                                                        : kHooksNone,
                std::memory_order_relaxed);
  s.import_modules.store(imports.modules, std::memory_order_relaxed);
  s.import_patched.store(imports.patched, std::memory_order_relaxed);
  s.import_refused.store(imports.refused, std::memory_order_relaxed);
  s.import_foreign.store(imports.foreign, std::memory_order_relaxed);
  s.import_unbound.store(imports.unbound, std::memory_order_relaxed);
  header->later_statistics.import_taken.store(imports.taken, std::memory_order_relaxed);
  header->later_statistics.import_unseen_ns.store(imports.unseen_ns, std::memory_order_relaxed);
  header->later_statistics.bypassing_libraries.store(g_bypassing_libraries.load(std::memory_order_relaxed),
                                                     std::memory_order_relaxed);
  for (uint32_t i = 0; i < kMaxRuntimes; ++i) {
    RuntimeFacts& to = header->runtime(i);
    to.version_and_objects.store(g_runtimes[i].version_and_objects.load(std::memory_order_relaxed),
                                 std::memory_order_relaxed);
    to.stacks.store(g_runtimes[i].stacks.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
}

void note_imports() {
  if (is_following()) {
    store_facts(&g_arena.header());
  }
}

void note_bypassing_libraries(uint64_t libraries) {
  g_bypassing_libraries.store(libraries, std::memory_order_relaxed);
  note_imports();
}

void note_runtime(uint32_t id, uint32_t version, uint32_t objects) {
  g_runtimes[id - 1].version_and_objects.store(uint64_t{version} << 32 | objects, std::memory_order_relaxed);
  note_imports();
}

void note_runtime_stacks(uint32_t id, uint32_t stacks) {
  g_runtimes[id - 1].stacks.store(stacks, std::memory_order_relaxed);
  if (is_following()) {
    g_arena.header().runtime(id - 1).stacks.store(stacks, std::memory_order_relaxed);
  }
}

bool note_runtime_heap(const RuntimeHeapTable& heap, const RuntimeHeapSums& sums) {
  return is_following() && heap.publish(g_arena, sums);
}

void announce_hooks() {
  g_hooks.store(true, std::memory_order_relaxed);
}

bool has_hooks() {
  return g_hooks.load(std::memory_order_relaxed);
}

void store_command_line() {
  ArenaHeader& header = g_arena.header();
  // Of memory that only this process has there is no reader who needs it.
  if (header.is_file == 0 || g_is_command_line_taken.exchange(true, std::memory_order_acquire)) {
    return;
  }
  size_t size = platform::process_name(g_command_line, sizeof(g_command_line) - 1);
  g_command_line[size++] = kCommandLineEnd;
  const size_t arguments = platform::program_arguments(g_command_line + size, sizeof(g_command_line) - size);
  for (const size_t end = size + arguments; size < end; ++size) {
    if (g_command_line[size] == '\0') {
      g_command_line[size] = kCommandLineEnd;
    }
  }
  if (const uint32_t name = g_names.intern(g_command_line, size); name != NameTable::kNone) {
    // release pairs with the acquire in snapshot.cc.
    const uint32_t before = header.command_line.exchange(name + 1, std::memory_order_acq_rel);
    if (before != 0) {
      g_names.release(before - 1);
    }
  }
  g_is_command_line_taken.store(false, std::memory_order_release);
}

}  // namespace memprof::profiler
