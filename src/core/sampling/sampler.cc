// SPDX-License-Identifier: Apache-2.0
#include "core/sampling/sampler.h"

#include <cstddef>

#include "estimate/math.h"
#include "format/hash.h"
#include "platform/clock.h"
#include "platform/stack.h"

namespace memprof {

#if !defined(MEMPROF_THREAD_SLOT)
__thread ThreadSampler t_sampler MEMPROF_TLS_MODEL;
#endif
static_assert(offsetof(ThreadSampler, count) ==
              0);  // memprof_abi1_count (capi/include/memprof.h) is where t_sampler is

namespace {

// In an event: after so many bytes it is looked whether there still is one.  Few events have as much in them.
constexpr uint64_t kEventCount = uint64_t{1} << 24;
// Times that an event of which nothing can be told runs out before it is given up.
constexpr uint32_t kMaxRunOuts = 16;

std::atomic<uint64_t> g_rate_bytes{kDefaultRateBytes};
std::atomic<uint64_t> g_part_bytes{0};       // relaxed; 0: distances are whole
std::atomic<uint64_t> g_measures_one_in{0};  // relaxed; 0: none

// Stands in until a mark exists (the system refused one): the same for parent and child, so children sample
// in lockstep with their parent, but nothing else is lost.
const uint64_t kNoMark = 1;
// Of a generator that is to be replaced although the clock is as good as any; no process has it.
constexpr uint64_t kForgottenMark = 3;
// Of a thread whose clock is to be drawn at its next allocation (and its generator seeded).
constexpr uint64_t kForgottenClock = 4;
std::atomic<const std::atomic<uint64_t>*> g_mark{nullptr};

// splitmix64, to spread one seed over the state of the generator.
uint64_t spread(uint64_t* state) {
  *state += kGolden;
  uint64_t z = *state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

uint64_t rotate_left(uint64_t x, int bits) {
  return (x << bits) | (x >> (64 - bits));
}

// xoroshiro128++ 1.0 (Blackman and Vigna, 2019).
uint64_t next_random(uint64_t* s) {
  const uint64_t s0 = s[0];
  uint64_t s1 = s[1];
  const uint64_t result = rotate_left(s0 + s1, 17) + s0;
  s1 ^= s0;
  s[0] = rotate_left(s0, 49) ^ s1 ^ (s1 << 21);
  s[1] = rotate_left(s1, 28);
  return result;
}

// A fork child reads a mark of 0, which never equals a seed_mark that was taken in the parent; 0 itself
// stands for "never seeded", so the child's threads remember 2 instead.
uint64_t mark_for_seeding() {
  const uint64_t mark = sampler_mark();
  return mark != 0 ? mark : 2;
}

// Returns the whole distance.
uint64_t draw(ThreadSampler& thread) {
  const uint64_t rate = sampler_rate();
  thread.rate_bytes = rate;
  return exponential_distance(rate, next_random(thread.random));
}

struct Parts {
  uint64_t count;
  uint64_t rest;
};

Parts parts_of(uint64_t distance) {
  const uint64_t max = g_part_bytes.load(std::memory_order_relaxed);
  return max == 0 || distance <= max ? Parts{distance, 0} : Parts{max, distance - max};
}

void set_next(SamplingEvent* event, uint64_t distance) {
  const Parts parts = parts_of(distance);
  event->next_count = parts.count;
  event->next_rest = parts.rest;
}

// Bits that the draw of this event hardly depends on.
bool is_measured(const ThreadSampler& thread) {
  const uint64_t one_in = sampler_measures_one_in();
  return one_in != 0 && thread.random[1] % one_in == 0;
}

// true: the thread never had a clock.  A clock that a child inherited by fork is as good as any, so when it
// runs out that is an event like another (only the generator is replaced).
bool ensure_seeded(ThreadSampler& thread) {
  const uint64_t mark = mark_for_seeding();
  if (thread.seed_mark == mark) {
    return false;
  }
  const bool first = thread.seed_mark == 0 || thread.seed_mark == kForgottenClock;
  uint64_t seed = platform::random_seed();
  thread.random[0] = spread(&seed);
  thread.random[1] = spread(&seed);
  if ((thread.random[0] | thread.random[1]) == 0) {
    thread.random[0] = 1;  // the one state that the generator cannot leave
  }
  thread.seed_mark = mark;
  thread.thread_id = 0;
  return first;
}

}  // namespace

uint64_t exponential_distance(uint64_t rate_bytes, uint64_t random) {
  if (rate_bytes <= 1) {
    return 0;
  }
  // Uniform in (0, 1]: every value of `random` counts, also the smallest, which make the long draws.
  const double uniform = (static_cast<double>(random) + 0.5) * 0x1p-64;
  const double distance = -static_cast<double>(rate_bytes) * natural_log(uniform);
  return distance > 0 ? static_cast<uint64_t>(distance) : 0;
}

namespace {

uint64_t bytes_in_event() {
  return t_sampler.muted_bytes + kEventCount - t_sampler.count;
}

void begin_event(ThreadSampler& thread, uint64_t frame) {
  thread.muted_bytes = 0;
  thread.event_run_outs = 0;
  thread.event_frame = frame;
  asm volatile("" ::: "memory");  // a signal handler in between finds a count that ran out
  thread.count = kEventCount;
}

bool is_given_up(ThreadSampler& thread, uint64_t here) {
  return platform::is_frame_gone(thread.event_frame, here) || ++thread.event_run_outs > kMaxRunOuts;
}

}  // namespace

SamplingEvent sampler_event(uint64_t size_bytes) {
  ThreadSampler& thread = t_sampler;
  if (thread.muted != 0) {
    thread.count = kMutedCount;
    return {false, 0, kMutedCount, bytes_in_event(), thread.event_frame, thread.rest};
  }
  const uint64_t here = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  uint64_t lost_bytes = 0;
  if (thread.event_frame != 0) {
    const uint64_t bytes = bytes_in_event();
    if (!is_given_up(thread, here)) {
      thread.muted_bytes = bytes;
      thread.count = kEventCount;
      return {false, 0, kEventCount, bytes, thread.event_frame, thread.rest};
    }
    lost_bytes = bytes - (size_bytes + (size_bytes == 0));
    thread.seed_mark = kForgottenClock;
  }
  const uint64_t line_bytes = size_bytes + (size_bytes == 0);
  SamplingEvent event{true, thread.rate_bytes, 0, uint64_t{0} - lost_bytes, 0};
  if (__builtin_expect(is_measured(thread), 0)) {
    event.begun_ns = platform::monotonic_ns();
  }
  if (ensure_seeded(thread)) {
    const uint64_t distance = draw(thread);
    event.rate_bytes = thread.rate_bytes;
    if (distance >= line_bytes) {
      event.sampled = false;
      set_next(&event, distance - line_bytes);
      begin_event(thread, here);
      return event;
    }
  } else if (thread.rest != 0) {
    // What the count lacks, the rest may have.
    const uint64_t left = thread.count + thread.rest;
    if (static_cast<int64_t>(left) >= 0) {
      event.sampled = false;
      set_next(&event, thread.rate_bytes == sampler_rate() ? left : draw(thread));
      begin_event(thread, here);
      return event;
    }
  }
  set_next(&event, draw(thread));
  begin_event(thread, here);
  return event;
}

SamplingEvent sampler_no_event() {
  const SamplingEvent event{false, 0, t_sampler.count, 0, t_sampler.event_frame, t_sampler.rest};
  begin_event(t_sampler, reinterpret_cast<uint64_t>(__builtin_frame_address(0)));
  return event;
}

uint64_t SamplingEvent::muted_bytes() const {
  constexpr uint64_t kMax = uint64_t{1} << 62;  // more where the clock was drawn anew meanwhile
  const uint64_t bytes = bytes_in_event() - muted_before;
  return bytes < kMax ? bytes : 0;
}

void sampler_redraw() {
  ThreadSampler& thread = t_sampler;
  if (thread.mute_depth != 0) {
    ensure_seeded(thread);
    const Parts parts = parts_of(draw(thread));
    thread.rest = parts.rest;
    thread.kept_count = parts.count;  // what sampler_unmute goes on with
  } else if (thread.muted == 0) {
    ensure_seeded(thread);
    const Parts parts = parts_of(draw(thread));
    thread.rest = parts.rest;
    thread.count = parts.count;
  }
}

void sampler_forget() {
  ThreadSampler& thread = t_sampler;
  if (thread.muted == 0) {
    thread.seed_mark = kForgottenClock;
    thread.count = 0;
  }
}

void sampler_reseed() {
  t_sampler.seed_mark = kForgottenMark;
  sampler_redraw();
}

uint64_t sampler_rate() {
  return g_rate_bytes.load(std::memory_order_relaxed);
}

void sampler_set_rate(uint64_t rate_bytes) {
  g_rate_bytes.store(rate_bytes, std::memory_order_relaxed);
}

void sampler_watch(uint64_t part_bytes) {
  g_part_bytes.store(part_bytes, std::memory_order_relaxed);
}

void sampler_measure_one_in(uint64_t events) {
  g_measures_one_in.store(events, std::memory_order_relaxed);
}

uint64_t sampler_measures_one_in() {
  return g_measures_one_in.load(std::memory_order_relaxed);
}

// release pairs with the acquire in sampler_mark: the page behind the pointer is set up.
void sampler_set_mark(const std::atomic<uint64_t>* mark) {
  g_mark.store(mark, std::memory_order_release);
}

uint64_t sampler_mark() {
  const std::atomic<uint64_t>* mark = g_mark.load(std::memory_order_acquire);
  // acquire pairs with the release of a fork child that takes the mark for its own (core/engine/ownership.cc).
  return mark != nullptr ? mark->load(std::memory_order_acquire) : kNoMark;
}

MuteScope::MuteScope() : saved_count_(t_sampler.count) {
  ++t_sampler.muted;
  t_sampler.count = kMutedCount;
}

MuteScope::~MuteScope() {
  --t_sampler.muted;
  t_sampler.count = saved_count_;
}

}  // namespace memprof
