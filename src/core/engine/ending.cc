// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ending.h"

#include <atomic>

#include "core/engine/facts.h"
#include "core/engine/ownership.h"
#include "core/mappings/mappings.h"
#include "platform/clock.h"

namespace memprof::profiler {
namespace {

// Of a language's runtime; nullptr: there is none, or it is ending.  Relaxed: it is code.
std::atomic<bool (*)()> g_is_runtime_ending{nullptr};

// Relaxed: it is code.
std::atomic<void (*)()> g_on_end{nullptr};

// After a runtime of a language has begun to end, for how long the end of the process is waited for: a
// program that goes on ends later, and by itself.
constexpr uint64_t kRuntimeEndNs = kRuntimeEndSeconds * 1000000000;

void begin_end(EndBegun by) {
  Ending& ending = g_arena.header().ending;
  const uint64_t now = platform::monotonic_ns();
  uint64_t begun = ending.begun_by.load(std::memory_order_acquire);
  const bool is_first = begun == static_cast<uint64_t>(EndBegun::kNot) ||
                        (begun == static_cast<uint64_t>(EndBegun::kByRuntime) && by == EndBegun::kByExit &&
                         now - ending.begun_ns.load(std::memory_order_relaxed) > kRuntimeEndNs);
  if (is_first) {
    mappings::note_end();
    store_command_line();
    ending.begun_ns.store(now, std::memory_order_relaxed);
    ending.begun_climb.store(g_arena.header().peak.climb.load(std::memory_order_relaxed),
                             std::memory_order_relaxed);
    // release pairs with the acquire loads here and in snapshot.cc.
    ending.begun_by.store(static_cast<uint64_t>(by), std::memory_order_release);
    if (void (*const on_end)() = g_on_end.load(std::memory_order_relaxed); on_end != nullptr) {
      on_end();
    }
  }
}

// The first event after a runtime has begun to end finds it out: before, nothing was freed.
void look_for_end() {
  bool (*const is_ending)() = g_is_runtime_ending.load(std::memory_order_relaxed);
  if (is_ending != nullptr && is_ending()) {
    begin_end(EndBegun::kByRuntime);
    g_is_runtime_ending.store(nullptr, std::memory_order_relaxed);
  }
}

}  // namespace

KeptFrom kept_from() {
  look_for_end();
  const Ending& ending = g_arena.header().ending;
  const auto by = static_cast<EndBegun>(ending.begun_by.load(std::memory_order_acquire));
  if (__builtin_expect(by == EndBegun::kNot, 1)) {
    return {};
  }
  const uint64_t begun_ns = ending.begun_ns.load(std::memory_order_relaxed);
  if (by == EndBegun::kByExit) {
    return {kKeptByExitBit, begun_ns};
  }
  return platform::monotonic_ns() - begun_ns > kRuntimeEndNs ? KeptFrom{}
                                                             : KeptFrom{kKeptByRuntimeBit, begun_ns};
}

void note_end_begun() {
  if (is_following()) {
    begin_end(EndBegun::kByExit);
  }
}

void watch_runtime_end(bool (*is_ending)()) {
  g_is_runtime_ending.store(is_ending, std::memory_order_relaxed);
}

void note_runtime_end_begun() {
  if (is_following()) {
    begin_end(EndBegun::kByRuntime);
  }
}

void watch_end(void (*on_end)()) {
  g_on_end.store(on_end, std::memory_order_relaxed);
}

void keep_resident(const Snapshot& found) {
  const ResidentMemory& memory = found.resident;
  ResidentState& kept = g_arena.header().resident;
  kept.is_kept.store(0, std::memory_order_relaxed);
  for (uint64_t i = 0; i < found.resident_shares.size && i < found.records.size; ++i) {
    const uint64_t address = found.records.data[i].address;
    const uint32_t code = ResidentShare::code(found.resident_shares.data[i]);
    if (!g_live.set_resident(address, code)) {
      g_live.set_resident(address | reported::kBit, code);
    }
  }
  for (size_t i = 0; i < kKeptResidentFields; ++i) {
    kept.fields[i].store(memory.*kResidentFields[i].member, std::memory_order_relaxed);
  }
  // release pairs with the acquire in snapshot.cc.
  kept.is_kept.store(1, std::memory_order_release);
}

void note_end() {
  if (is_following()) {
    mappings::note_end();
    g_peaks.note_end();
    g_arena.header().end_ns.store(platform::monotonic_ns(), std::memory_order_relaxed);
  }
}

}  // namespace memprof::profiler
