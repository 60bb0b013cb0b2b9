// SPDX-License-Identifier: Apache-2.0
// The Poisson clock of a thread: says which allocations are sampled.
//
// Model (core/sampling/weight.h has the probabilities): each thread counts down bytes to its next sampling
// point.  The distance is drawn as floor(X), X exponential with mean R.  A block of s bytes is sampled when
// fewer than s bytes are left, so with probability P(floor(X) < s) = P(X < s) = 1 - e^(-s/R) exactly.  After
// that the clock is drawn anew: the exponential has no memory, so where in the block the point fell does not
// matter, nor does it matter when a clock is thrown away and redrawn, as long as that is decided without
// looking at it.  Hence
//  - the clock always runs, recording or not: a start or stop touches no other thread and biases nothing;
//  - the rate may change at any time: a sample carries the rate that its clock was drawn with;
//  - a long distance may be cut into parts (sampler_watch): where a part ends and no point has come, what is
//    left goes on if the rate is the same, and is drawn anew at the new rate if it is another one.
//
// Fast path: sampler_tick, one subtraction.  Slow path: sampler_event, when the count ran out.
//
// Threads: all state is thread-local; the rate is one relaxed atomic.
// Signals: a handler that allocates between the tick and the event of its thread finds a count that wrapped
// to almost 2^64 and is not sampled: the muted state.  A handler that jumps out of an event (siglongjmp)
// leaves its thread muted: an event remembers its stack frame, and when so many bytes went by that the muted
// count ran out too, it is looked whether that frame is still there.  Where it cannot be told (another
// stack), an event is given up after it was asked several times; if it did go on, the next
// event begins inside it, which is harmless for both.
// fork: the owner mark reads 0 in a child; the generator is then seeded anew.  Forked workers would still
// meet their first sampling point at the same byte, so the fork handler of the platform calls sampler_reseed.
// Allocates: never.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/sampling/count_down.h"
#include "platform/object_format.h"
#if defined(MEMPROF_THREAD_SLOT)
#include "platform/thread_slot.h"
#endif

namespace memprof {

inline constexpr uint64_t kDefaultRateBytes = 512 * 1024;
inline constexpr uint64_t kMaxRateBytes = uint64_t{1} << 50;

// All zeros is a valid state: the first allocation runs out of count and the event seeds the thread.
struct ThreadSampler {
  uint64_t count;       // bytes left before the next sampling point
  uint64_t rate_bytes;  // the rate that the count was drawn with
  uint64_t random[2];   // xoroshiro128++; valid while seed_mark equals the process's mark
  uint64_t seed_mark;
  uint32_t thread_id;       // 0: not asked yet
  uint32_t muted;           // depth of MuteScope and of sampler_mute
  uint64_t kept_count;      // of sampler_mute: what count was before
  uint64_t mute_depth;      // of sampler_mute
  uint64_t event_frame;     // an address in the frame of who began the event; 0: there is none
  uint64_t muted_bytes;     // of the event, before its count ran out
  uint32_t event_run_outs;  // how often it did
  uint64_t rest;            // bytes from where the count runs out to the sampling point; 0: it is there
};

// The count of a muted thread: larger than any allocation that can succeed and than any sum of them inside one scope.
inline constexpr uint64_t kMutedCount = uint64_t{1} << 63;

#if defined(MEMPROF_THREAD_SLOT)
static_assert(sizeof(ThreadSampler) <= platform::kThreadDataBytes);
[[gnu::always_inline]] inline ThreadSampler& thread_sampler() {
  return *static_cast<ThreadSampler*>(platform::thread_data());
}
#define t_sampler thread_sampler()
#else
// __thread and not thread_local: no initialisation wrapper.  Its symbol is that of the public interface, for its first member.
extern __thread ThreadSampler t_sampler MEMPROF_PUBLIC_THREAD_DATA("memprof_abi1_count") MEMPROF_TLS_MODEL;
#endif

// Advances the calling thread's clock by one allocation.  true: the count ran out; call sampler_event.
[[gnu::always_inline]] inline bool sampler_tick(uint64_t size_bytes) {
  return count_down(&t_sampler.count, size_bytes);
}

// The same for a size that is not 0, or is not to be counted if it is 0: then false.
[[gnu::always_inline]] inline bool sampler_tick_some(uint64_t size_bytes) {
  return count_down_some(&t_sampler.count, size_bytes);
}

struct SamplingEvent {
  bool sampled;
  uint64_t rate_bytes;        // of this sample
  uint64_t next_count;        // for sampler_resume
  uint64_t muted_before = 0;  // of an event inside another
  uint64_t outer_frame = 0;   // likewise
  uint64_t next_rest = 0;     // ThreadSampler::rest of next_count
  uint64_t begun_ns = 0;      // monotonic; 0: its time is not measured

  // Bytes that were allocated on this thread since the event began: by the allocator itself, or by a signal
  // handler. They are in no sample.
  uint64_t muted_bytes() const;
};

// After sampler_tick(size_bytes) returned true.  Mutes the thread (its nested allocations are not sampled)
// until sampler_resume.  A thread whose clock was not drawn yet gets its first draw here and then goes
// through the same comparison as everybody.
SamplingEvent sampler_event(uint64_t size_bytes);

// An event in which nothing is sampled and the clock keeps its count.
SamplingEvent sampler_no_event();

// Ends an event: nested allocations moved neither the clock nor the generator.
inline void sampler_resume(const SamplingEvent& event) {
  // In this order: a signal handler in between finds itself muted.
  t_sampler.event_frame = event.outer_frame;
  t_sampler.rest = event.next_rest;
  asm volatile("" ::: "memory");
  t_sampler.count = event.next_count;
}

// Draws the calling thread's clock anew at the current rate.
void sampler_redraw();

// Throws the calling thread's clock away: its next allocation draws a new one, as a thread's first does.
void sampler_forget();

// sampler_redraw with a new generator, in a fork child: the mark tells a child from its parent, but reads 0
// in the child of a child too.
void sampler_reseed();

// The rate for new draws.  Read relaxed by every event, written by sampler_set_rate; pairs with nothing: a
// stale rate is a valid rate.
uint64_t sampler_rate();
void sampler_set_rate(uint64_t rate_bytes);

// Has clocks that are drawn from now on run out after so many bytes at the latest, whatever the rate (0: never
// before their sampling point), so that a thread soon takes up a new rate.
void sampler_watch(uint64_t part_bytes);

// Has one event in so many, chosen at random, say when it began: kMeasuredEvents, or 1 where there are few events; 0: none.
inline constexpr uint64_t kMeasuredEvents = 8;
void sampler_measure_one_in(uint64_t events);
uint64_t sampler_measures_one_in();

// The mark of this process (platform/process.h, OwnerPage), set once before threads exist or never.
void sampler_set_mark(const std::atomic<uint64_t>* mark);
uint64_t sampler_mark();

// While one lives, the allocations of its thread are not sampled.  Nests.
class MuteScope {
 public:
  MuteScope();
  ~MuteScope();
  MuteScope(const MuteScope&) = delete;
  MuteScope& operator=(const MuteScope&) = delete;

 private:
  uint64_t saved_count_;
};

// The same where no scope of C++ can be: from sampler_mute to the sampler_unmute that ends it.  Nests; one
// sampler_unmute too many does nothing.
inline void sampler_mute() {
  ThreadSampler& thread = t_sampler;
  if (thread.mute_depth++ == 0) {
    ++thread.muted;
    thread.kept_count = thread.count;
    thread.count = kMutedCount;
  }
}

inline void sampler_unmute() {
  ThreadSampler& thread = t_sampler;
  if (thread.mute_depth == 0) {
    return;
  }
  if (--thread.mute_depth == 0) {
    --thread.muted;
    thread.count = thread.kept_count;
  }
}

// Exponential distance with mean `rate_bytes`, rounded down; 0 when rate_bytes is 0 or 1.  `random` is
// uniform over 64 bits.  Not clamped: the largest draw is 45.05 R, and kMaxRateBytes keeps that inside 64
// bits.
uint64_t exponential_distance(uint64_t rate_bytes, uint64_t random);

}  // namespace memprof
