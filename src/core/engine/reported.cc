// SPDX-License-Identifier: Apache-2.0
#include "core/engine/reported.h"

#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"

namespace memprof::reported {
namespace {

constexpr int kTokenSlotShift = 32;

uint64_t token_of(HeapMap::Token token) {
  return token ? (token.slot + 1) << kTokenSlotShift | token.generation : 0;
}

HeapMap::Token from_token(uint64_t token) {
  HeapMap::Token t;
  if (token != 0) {
    t.slot = (token >> kTokenSlotShift) - 1;
    t.generation = static_cast<uint32_t>(token);
  }
  return t;
}

// `before` runs inside the event, where the thread is muted, before the block is recorded.
template <typename Before>
void event(const void* block, uint64_t size_bytes, uint32_t heap, const platform::Entry& entry, Of of,
           const Before& before) {
  const SamplingEvent sampling = sampler_event(size_bytes);
  budget::Meter meter(sampling.begun_ns);
  before();
  const uint32_t known_heap = profiler::has_heap(heap) ? heap : 0;
  const bool recorded =
      sampling.sampled && block != nullptr &&
      profiler::record_allocation(key(block, of), size_bytes, sampling.rate_bytes, entry, known_heap);
  profiler::count_cold_path(recorded, sampling.muted_bytes());
  if (__builtin_expect(meter.is_on(), 0)) {
    profiler::note_cost(&meter);
  }
  sampler_resume(sampling);
}

}  // namespace

void allocated(const void* block, uint64_t size_bytes, uint32_t heap, const platform::Entry& entry, Of of) {
  event(block, size_bytes, heap, entry, of, [] {});
}

void freed(const void* block, Of of) {
  if (g_sampled_filter.may_be(block)) {
    profiler::record_free(key(block, of));
  }
}

void freed_range(const void* start, uint64_t size_bytes) {
  const uint64_t first = reinterpret_cast<uint64_t>(key(start));
  const uint64_t after = UINT64_MAX - first;  // addresses behind the first
  if (size_bytes != 0) {
    profiler::record_free_range(first, size_bytes - 1 < after ? first + (size_bytes - 1) : UINT64_MAX);
  }
}

uint64_t begin_reallocation(const void* block, Of of) {
  return g_sampled_filter.may_be(block) ? token_of(profiler::begin_realloc(key(block, of))) : 0;
}

void reallocated(uint64_t token, const void* old_block, const void* block, uint64_t size_bytes, uint32_t heap,
                 bool ran_out, const platform::Entry& entry, Of of) {
  const auto free_old = [=] {
    if (token != 0 && (block != nullptr || size_bytes == 0)) {
      profiler::commit_realloc(key(old_block, of), from_token(token));
    } else if (token != 0) {
      profiler::cancel_realloc(from_token(token));
    }
  };
  if (ran_out) {
    event(block, size_bytes, heap, entry, of, free_old);
  } else {
    free_old();
  }
}

void backing(const void* chunk) {
  if (g_sampled_filter.may_be(chunk)) {
    profiler::record_free(chunk);
  }
}

}  // namespace memprof::reported
