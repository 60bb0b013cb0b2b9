// SPDX-License-Identifier: Apache-2.0
#include "core/engine/live_samples.h"

#include "core/counts/allocator_counts.h"
#include "core/engine/ownership.h"
#include "core/engine/reported.h"
#include "core/sampling/sampled_filter.h"
#include "platform/clock.h"
#include "platform/probes.h"

namespace memprof::profiler {
namespace {

std::atomic<uint64_t>& live_weight() {
  return g_arena.header().statistics.live_weight_bytes;
}

}  // namespace

bool take(uint64_t address, HeapMap::Token token, LiveSample* freed, const KeptFrom& kept) {
  if (!g_live.erase(address, token, freed, kept)) {
    return false;
  }
  g_stacks.prefetch_freed(stack_id_of(freed->stack_id));
  g_peaks.prefetch(stack_id_of(freed->stack_id));
  g_sampled_filter.unmark(freed->address);
  return true;
}

void account_live(const LiveSample& sample, const Weight& weight) {
  g_peaks.add(sample);
  const uint64_t bytes = rounded_bytes(weight);
  raise(g_arena.header().statistics.peak_weight_bytes,
        live_weight().fetch_add(bytes, std::memory_order_relaxed) + bytes);
}

void account_refused(const LiveSample& sample, const Weight& weight) {
  g_sampled_filter.unmark(sample.address);
  g_peaks.take(sample, sample.time_ns);
  live_weight().fetch_sub(rounded_bytes(weight), std::memory_order_relaxed);
  g_stacks.release(stack_id_of(sample.stack_id));
}

void account_freed(const LiveSample& freed, const KeptFrom& kept) {
  const uint32_t stack = stack_id_of(freed.stack_id);
  const uint64_t now = platform::monotonic_ns();
  const uint64_t lifetime_ns = now > freed.time_ns ? now - freed.time_ns : 0;
  // What is freed because the process ends had no lifetime that the program gave it.
  const bool stays = is_kept(freed, kept);
  StackTotals* const sums = stays ? g_stacks.freed_at_end(stack)
                                  : g_stacks.freed_sums(stack, lifetime_ns);  // its line comes meanwhile
  const Weight weight = weigh(freed.size_bytes, freed.rate_bytes);
  g_peaks.take(freed, now);
  add_totals(sums, freed.size_bytes, weight);
  live_weight().fetch_sub(rounded_bytes(weight), std::memory_order_relaxed);
  if (!stays) {
    g_stacks.release(stack);
  }
  platform::probe_free(reported::address_of(freed.address), freed.size_bytes, rounded_bytes(weight),
                       lifetime_ns);
  if ((freed.address & reported::kBit) == 0) counts::look(now, {__builtin_frame_address(0)});
}

void account_thinned(const LiveSample& thinned, uint64_t now_ns) {
  const uint32_t stack = stack_id_of(thinned.stack_id);
  const Weight weight = weigh(thinned.size_bytes, thinned.rate_bytes);
  g_peaks.take(thinned, now_ns);
  g_stacks.add_thinned(stack, thinned.size_bytes, weight);
  live_weight().fetch_sub(rounded_bytes(weight), std::memory_order_relaxed);
  g_stacks.release(stack);
  platform::probe_thin(reported::address_of(thinned.address), thinned.size_bytes, rounded_bytes(weight));
}

void account_new_rate(const LiveSample& before, const LiveSample& now, bool is_first_kept, uint64_t now_ns) {
  const Weight old_weight = weigh(before.size_bytes, before.rate_bytes);
  const Weight new_weight = weigh(now.size_bytes, now.rate_bytes);
  g_peaks.take(before, now_ns);
  g_peaks.add(now);
  if (is_first_kept) {
    g_stacks.add_new_weight(stack_id_of(now.stack_id), old_weight, new_weight);
  } else {
    g_stacks.replace_weight(stack_id_of(now.stack_id), old_weight, new_weight);
  }
  live_weight().fetch_add(rounded_bytes(new_weight) - rounded_bytes(old_weight), std::memory_order_relaxed);
}

void account_moved(const LiveSample& sample, uint64_t first_rate, uint32_t to) {
  const uint32_t from = stack_id_of(sample.stack_id);
  g_stacks.begin_move(from, to);
  g_stacks.move_sample(from, to, sample.size_bytes, weigh(sample.size_bytes, first_rate),
                       weigh(sample.size_bytes, sample.rate_bytes));
  g_peaks.move(sample, to);
  g_stacks.end_move();
}

void record_free_where(bool (*is_freed)(uint64_t address, const void* context), const void* context) {
  if (!is_following()) {
    return;
  }
  constexpr uint64_t kLast = reported::kBit - 1;
  uint64_t address;
  for (uint64_t slot = 0; g_live.next_between(1, kLast, &slot, &address);) {
    if ((address & kKeptBits) == 0 && is_freed(address, context)) {
      LiveSample freed;
      if (take(address, g_live.find(address), &freed)) {
        account_freed(freed);
      }
    }
  }
}

}  // namespace memprof::profiler
