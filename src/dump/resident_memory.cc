// SPDX-License-Identifier: Apache-2.0
#include "dump/resident_memory.h"

#include <algorithm>
#include <atomic>

#include "core/counts/counted_heap.h"
#include "core/engine/ending.h"
#include "core/engine/profiler.h"
#include "core/mappings/mappings.h"
#include "dump/dump.h"
#include "dump/pages.h"
#include "memprof.h"
#include "platform/clock.h"
#include "platform/files.h"
#include "platform/memory_areas.h"
#include "platform/process.h"
#include "platform/resident.h"
#include "resident/read_resident.h"

namespace memprof {
namespace {

// So much processor time: one part in fifty of what the program used since the last look, but at least 50 ms, and of its own
// not so much that somebody would notice. On a busy machine that may last ten times as long as the most that it can be.
constexpr uint64_t kMinOwnTimeNs = 50'000'000;
constexpr uint64_t kMinOtherTimeNs = 200'000'000;  // which is not the program's
constexpr uint64_t kMaxOwnTimeNs = 300'000'000;
constexpr uint64_t kMaxOtherTimeNs = 3'000'000'000;
constexpr uint64_t kShare = 50;
constexpr uint64_t kBusy = 10;

// What this process had used at its last look at itself.  Relaxed: looks at once have the time twice.
std::atomic<uint64_t> g_looked_at_cpu_ns{0};

struct Looking {
  platform::MemoryView view;
  uint64_t time_ns = 0;
  uint64_t start_ns = platform::monotonic_ns();
  uint64_t start_cpu_ns = platform::thread_cpu_ns();

  void take_time() {
    const uint64_t now_ns = platform::cpu_ns_of(view);
    const uint64_t before_ns =
        view.is_own ? g_looked_at_cpu_ns.exchange(now_ns, std::memory_order_relaxed) : 0;
    const uint64_t used_ns = now_ns > before_ns ? now_ns - before_ns : 0;
    time_ns = view.is_own ? std::clamp(used_ns / kShare, kMinOwnTimeNs, kMaxOwnTimeNs)
                          : std::clamp(used_ns / kShare, kMinOtherTimeNs, kMaxOtherTimeNs);
  }
  static bool read(void* context, uint64_t address, void* bytes, size_t size_bytes) {
    return platform::read_memory_of(static_cast<Looking*>(context)->view, address, bytes, size_bytes);
  }
  static uint64_t in_memory(void* context, resident::Pages what, uint64_t start, uint64_t limit) {
    const auto of =
        what == resident::Pages::kPrivate ? platform::PagesOf::kPrivate : platform::PagesOf::kFile;
    return platform::pages_in_memory(static_cast<Looking*>(context)->view, of, start, limit);
  }
  static size_t read_map(void* context, char* text, size_t size_bytes) {
    auto& self = *static_cast<Looking*>(context);
    const size_t got = platform::read_memory_map(self.view, text, size_bytes);
    if (got == 0 && !self.view.is_own) {
      // The sums in the map of another process, which the kernel makes, take as long as they take.
      self.start_cpu_ns = platform::thread_cpu_ns();
      self.start_ns = platform::monotonic_ns();
    }
    return got;
  }
  uint64_t used_ns() const {
    const uint64_t passed = platform::monotonic_ns() - start_ns;
    return passed < time_ns / 10 || passed >= kBusy * (view.is_own ? kMaxOwnTimeNs : kMaxOtherTimeNs)
               ? passed
               : std::min(passed, platform::thread_cpu_ns() - start_cpu_ns);
  }
  static bool has_time(void* context) {
    const auto& self = *static_cast<Looking*>(context);
    return self.used_ns() < self.time_ns;
  }
  static unsigned used_percent(void* context) {
    const auto& self = *static_cast<Looking*>(context);
    return static_cast<unsigned>(std::min<uint64_t>(100, 100 * self.used_ns() / self.time_ns));
  }
  resident::MemorySource source() {
    return {this, read, in_memory, read_map, has_time, used_percent, platform::page_bytes()};
  }
};

resident::Block block_at(const void* context, size_t index) {
  const auto& s = *static_cast<const Snapshot*>(context);
  const SnapshotRecord& r = s.records.data[index];
  return {r.address, r.size_bytes, r.weight_bytes, r.weight_count, &s.resident_shares.data[index]};
}

int read_view(Looking* looking, Snapshot* s) {
  const Pages scratch(resident::scratch_bytes());
  if (scratch.as<void>() == nullptr || !s->make_resident_shares()) {
    return MEMPROF_ERR_NO_MEMORY;
  }
  // Before the sums are read, for it takes pages.
  for (uint64_t i = 0; i < s->records.size; ++i) {
    s->resident_shares.data[i] = -1;
  }
  platform::MemoryTotals totals;
  if (const int error = platform::read_memory_totals(looking->view, &totals); error < 0) {
    platform::set_last_error(error);
    return MEMPROF_ERR_SYSTEM;
  }
  const auto pages_at = [](const void* start, uint64_t size_bytes) {
    const auto address = reinterpret_cast<uint64_t>(start);
    return resident::OwnPages{address, address + size_bytes};
  };
  const resident::OwnPages own[] = {pages_at(s, s->mapping_bytes()),
                                    pages_at(scratch.as<void>(), scratch.size_bytes()),
                                    pages_at(s->resident_shares.data, s->records.size * sizeof(float))};
  s->resident = resident::read_resident(looking->source(),
                                        {totals.resident_bytes, totals.anonymous_bytes, totals.file_bytes,
                                         totals.shared_bytes, totals.swap_bytes},
                                        {s->records.size, block_at, s}, scratch.as<void>(), own,
                                        looking->view.is_own ? sizeof(own) / sizeof(own[0]) : 0);
  counts::claim_counted(s->allocator_counts, &s->resident);
  add_counts(s->allocator_counts, looking->start_ns, &s->resident);
  if (s->peak.is_open) {  // the peak is now
    s->peak.is_resident_before = false;
    s->peak.resident_bytes = totals.resident_bytes;
    s->peak.files_bytes = totals.file_bytes + totals.shared_bytes;
  }
  return MEMPROF_OK;
}

// A process measures its own mappings when it takes a snapshot of itself.
void measure_mappings(Looking* looking, Snapshot* s) {
  uint64_t resident_bytes = 0;
  for (uint64_t i = 0; i < s->mappings.size; ++i) {
    if (!Looking::has_time(looking)) {
      return;
    }
    SnapshotMapping& m = s->mappings.data[i];
    m.resident_bytes = Looking::in_memory(looking, resident::Pages::kPrivate, m.start, m.limit);
    resident_bytes += m.resident_bytes;
  }
  s->has_mappings = s->has_mappings || resident_bytes >= mappings::kWorthShowingBytes;
  s->has_resident_mappings = true;
}

void keep_at_end() {
  Snapshot* snapshot = nullptr;
  if (!platform::is_sandboxed() && take_snapshot(&snapshot, Snapshot::Content::kRecords) == MEMPROF_OK &&
      read_resident_memory(snapshot, 0) == MEMPROF_OK) {
    profiler::keep_resident(*snapshot);
  }
  Snapshot::release(snapshot);
}

}  // namespace

int read_resident_memory(Snapshot* snapshot, uint64_t process_id) {
  Looking looking;
  if (const int error = platform::open_memory(process_id, &looking.view); error < 0) {
    platform::set_last_error(error);
    return MEMPROF_ERR_SYSTEM;
  }
  looking.take_time();
  const int result = read_view(&looking, snapshot);
  if (result == MEMPROF_OK && !looking.view.is_own) {
    measure_mappings(&looking, snapshot);
  }
  platform::close_memory(&looking.view);
  return result;
}

void watch_resident_memory() {
  profiler::watch_end(keep_at_end);
}

}  // namespace memprof
