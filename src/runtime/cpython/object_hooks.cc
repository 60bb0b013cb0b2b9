// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/object_hooks.h"

#include <cerrno>

#include "core/hooks/sampled_call.h"
#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "platform/process.h"

namespace memprof::cpython {
namespace {

// Written before the hooks of a set are handed out; not changed while anybody has them.
HookSet g_sets[kMaxHookSets];
uint32_t g_set_count = 0;

}  // namespace
}  // namespace memprof::cpython

using memprof::g_sampled_filter;
using memprof::MuteScope;
using memprof::sampler_event;
using memprof::sampler_tick;
using memprof::cpython::HookSet;
using memprof::cpython::kPoolMaxBytes;
using memprof::cpython::Serving;

// Nothing but hooks is on the stack when the real function is called.
#define MEMPROF_IN_HOOK __attribute__((always_inline))

namespace {

// allocate(bytes): the real call.  A pool gets its own tables from malloc, which are no part of a block
// (`is_all`).
template <typename Allocate>
[[gnu::always_inline]] inline void* sample(size_t size, const HookSet* set, const void* frame,
                                           const Allocate& allocate, bool is_all) {
  const int errno_before = errno;
  const memprof::SamplingEvent event = sampler_event(size);
  const bool lends = set->serving == Serving::kLender && event.sampled && size <= kPoolMaxBytes;
  const size_t asked = lends ? kPoolMaxBytes + 1 : size;
  // A block that malloc's hooks did not see is one whose free they will not see.
  return memprof::sampled_call(
      event, errno_before, size, frame, [&]() MEMPROF_IN_HOOK { return allocate(asked); }, is_all || lends,
      [&] { return !lends || event.muted_bytes() >= asked; });
}

[[gnu::always_inline]] inline bool is_careful(const HookSet* set) {
  return set->serving == Serving::kCareful;
}

template <typename Reallocate>
[[gnu::always_inline]] inline void* follow(void* block, const Reallocate& reallocate) {
  return g_sampled_filter.may_contain(block) ? memprof::recorded_realloc(block, false, reallocate)
                                             : reallocate();
}

}  // namespace

MEMPROF_SLOW_PATH void* memprof_object_slow_malloc(void* ctx, size_t size, const HookSet* set) {
  const auto next = [=](size_t bytes) MEMPROF_IN_HOOK { return set->next.malloc(ctx, bytes); };
  return sample(size, set, __builtin_frame_address(0), next, is_careful(set));
}

MEMPROF_SLOW_PATH void* memprof_object_slow_calloc(void* ctx, size_t count, size_t size, const HookSet* set) {
  const auto next = [=](size_t bytes) MEMPROF_IN_HOOK {
    return bytes == count * size ? set->next.calloc(ctx, count, size) : set->next.calloc(ctx, 1, bytes);
  };
  return sample(count * size, set, __builtin_frame_address(0), next, is_careful(set));
}

MEMPROF_SLOW_PATH void memprof_object_slow_free(void* ctx, void* block, const HookSet* set) {
  memprof::record_marked_free(block);
  return set->next.free(ctx, block);
}

MEMPROF_SLOW_PATH void* memprof_object_slow_realloc(void* ctx, void* block, size_t size, const HookSet* set,
                                                    bool ran_out) {
  const auto reallocate = [=](size_t bytes) MEMPROF_IN_HOOK {
    return follow(block, [=]() MEMPROF_IN_HOOK { return set->next.realloc(ctx, block, bytes); });
  };
  return ran_out ? sample(size, set, __builtin_frame_address(0), reallocate, true) : reallocate(size);
}

// A lender's pool has served `block` by realloc, and the clock ran out: a sample moves on to malloc, before
// anybody has seen it.
MEMPROF_SLOW_PATH void* memprof_object_slow_lend(void* ctx, void* block, size_t size, const HookSet* set) {
  const int errno_before = errno;
  const memprof::SamplingEvent event = sampler_event(size);
  bool has_moved = false;
  const auto move = [&]() MEMPROF_IN_HOOK {
    void* moved = event.sampled ? set->next.realloc(ctx, block, kPoolMaxBytes + 1) : nullptr;
    has_moved = moved != nullptr && event.muted_bytes() > kPoolMaxBytes;
    return moved != nullptr ? moved : block;
  };
  return memprof::sampled_call(event, errno_before, size, __builtin_frame_address(0), move, true,
                               [&] { return has_moved; });
}

// The careful ones are not cold, and keep a frame on the stack: no sample may be taken while the real call
// runs, or it would show.
#define MEMPROF_CAREFUL extern "C" MEMPROF_HOOK __attribute__((noinline, visibility("hidden")))

MEMPROF_CAREFUL void* memprof_object_careful_malloc(void* ctx, size_t size, const HookSet* set) {
  if (__builtin_expect(sampler_tick(size), 0)) {
    return memprof_object_slow_malloc(ctx, size, set);
  }
  const MuteScope mute;
  return set->next.malloc(ctx, size);
}

MEMPROF_CAREFUL void* memprof_object_careful_calloc(void* ctx, size_t count, size_t size,
                                                    const HookSet* set) {
  size_t bytes;
  // An overflow fails in the real function, and is no allocation.
  const bool overflows = __builtin_mul_overflow(count, size, &bytes);
  if (__builtin_expect(!overflows && sampler_tick(bytes), 0)) {
    return memprof_object_slow_calloc(ctx, count, size, set);
  }
  const MuteScope mute;
  return set->next.calloc(ctx, count, size);
}

MEMPROF_CAREFUL void* memprof_object_careful_realloc(void* ctx, void* block, size_t size,
                                                     const HookSet* set) {
  if (__builtin_expect(sampler_tick(size), 0)) {
    return memprof_object_slow_realloc(ctx, block, size, set, true);
  }
  return follow(block, [=]() MEMPROF_IN_HOOK {
    const MuteScope mute;
    return set->next.realloc(ctx, block, size);
  });
}

namespace memprof::cpython {
namespace {

// The hooks of set number N; each knows its set by its own address alone.  Not templates: gcc leaves those
// out of a section.  What is counted has 1 to MOST bytes: a subtraction of 0 never runs out.
#define MEMPROF_HOOKS_THAT_GIVE(KIND, MOST, N)                                                   \
  MEMPROF_HOOK void* KIND##_malloc_##N(void* ctx, size_t size) {                                 \
    if (__builtin_expect(size <= (MOST), 1) && __builtin_expect(sampler_tick_some(size), 0)) {   \
      return memprof_object_slow_malloc(ctx, size, &g_sets[N]);                                  \
    }                                                                                            \
    return g_sets[N].next.malloc(ctx, size);                                                     \
  }                                                                                              \
  MEMPROF_HOOK void* KIND##_calloc_##N(void* ctx, size_t count, size_t size) {                   \
    size_t bytes;                                                                                \
    if (__builtin_expect(!__builtin_mul_overflow(count, size, &bytes), 1) &&                     \
        __builtin_expect(bytes <= (MOST), 1) && __builtin_expect(sampler_tick_some(bytes), 0)) { \
      return memprof_object_slow_calloc(ctx, count, size, &g_sets[N]);                           \
    }                                                                                            \
    return g_sets[N].next.calloc(ctx, count, size);                                              \
  }
#define MEMPROF_HOOKS_OF_SET(N)                                                        \
  MEMPROF_HOOKS_THAT_GIVE(pool, kPoolMaxBytes, N)                                      \
  MEMPROF_HOOKS_THAT_GIVE(whole, SIZE_MAX, N)                                          \
  MEMPROF_HOOK void* pool_realloc_##N(void* ctx, void* block, size_t size) {           \
    if (size - 1 < kPoolMaxBytes || g_sampled_filter.may_contain(block)) {             \
      return memprof_object_careful_realloc(ctx, block, size, &g_sets[N]);             \
    }                                                                                  \
    return g_sets[N].next.realloc(ctx, block, size);                                   \
  }                                                                                    \
  MEMPROF_HOOK void* whole_realloc_##N(void* ctx, void* block, size_t size) {          \
    const bool ran_out = sampler_tick(size);                                           \
    if (__builtin_expect(ran_out || g_sampled_filter.may_contain(block), 0)) {         \
      return memprof_object_slow_realloc(ctx, block, size, &g_sets[N], ran_out);       \
    }                                                                                  \
    return g_sets[N].next.realloc(ctx, block, size);                                   \
  }                                                                                    \
  MEMPROF_HOOK void* lend_##N(void* ctx, void* block, size_t size) {                   \
    if (size > kPoolMaxBytes) {                                                        \
      return g_sets[N].next.realloc(ctx, block, size);                                 \
    }                                                                                  \
    const uint64_t count = memprof::t_sampler.count;                                   \
    void* served = g_sets[N].next.realloc(ctx, block, size);                           \
    if (__builtin_expect(memprof::t_sampler.count == count, 1) && served != nullptr && \
        __builtin_expect(sampler_tick_some(size), 0)) {                                \
      return memprof_object_slow_lend(ctx, served, size, &g_sets[N]);                  \
    }                                                                                  \
    return served;                                                                     \
  }                                                                                    \
  MEMPROF_HOOK void free_##N(void* ctx, void* block) {                                 \
    if (__builtin_expect(g_sampled_filter.may_contain(block), 0)) {                    \
      return memprof_object_slow_free(ctx, block, &g_sets[N]);                         \
    }                                                                                  \
    return g_sets[N].next.free(ctx, block);                                            \
  }                                                                                    \
  MEMPROF_HOOK void* careful_malloc_##N(void* ctx, size_t size) {                      \
    return memprof_object_careful_malloc(ctx, size, &g_sets[N]);                       \
  }                                                                                    \
  MEMPROF_HOOK void* careful_calloc_##N(void* ctx, size_t count, size_t size) {        \
    return memprof_object_careful_calloc(ctx, count, size, &g_sets[N]);                \
  }                                                                                    \
  MEMPROF_HOOK void* careful_realloc_##N(void* ctx, void* block, size_t size) {        \
    return memprof_object_careful_realloc(ctx, block, size, &g_sets[N]);               \
  }

MEMPROF_HOOKS_OF_SET(0)
MEMPROF_HOOKS_OF_SET(1)
MEMPROF_HOOKS_OF_SET(2)
MEMPROF_HOOKS_OF_SET(3)
MEMPROF_HOOKS_OF_SET(4)
MEMPROF_HOOKS_OF_SET(5)
MEMPROF_HOOKS_OF_SET(6)
MEMPROF_HOOKS_OF_SET(7)

#define MEMPROF_SET(N)                                                                  \
  {                                                                                     \
      {nullptr, pool_malloc_##N, pool_calloc_##N, pool_realloc_##N, free_##N},          \
      {nullptr, pool_malloc_##N, pool_calloc_##N, lend_##N, nullptr},                   \
      {nullptr, whole_malloc_##N, whole_calloc_##N, whole_realloc_##N, free_##N},       \
      {nullptr, careful_malloc_##N, careful_calloc_##N, careful_realloc_##N, free_##N}, \
  }
// By set and Serving.
constexpr uint32_t kServings = 4;
const Allocator kHookSets[kMaxHookSets][kServings] = {MEMPROF_SET(0), MEMPROF_SET(1), MEMPROF_SET(2),
                                                      MEMPROF_SET(3), MEMPROF_SET(4), MEMPROF_SET(5),
                                                      MEMPROF_SET(6), MEMPROF_SET(7)};

}  // namespace

bool is_same_functions(const Allocator& a, const Allocator& b) {
  return a.malloc == b.malloc && a.calloc == b.calloc && a.realloc == b.realloc && a.free == b.free;
}

const HookSet* existing_hook_set(const Allocator& allocator, Serving serving) {
  for (uint32_t i = 0; i < g_set_count; ++i) {
    if (is_same_functions(g_sets[i].next, allocator) && g_sets[i].serving == serving) {
      return &g_sets[i];
    }
  }
  return nullptr;
}

const HookSet* hook_set_for(const Allocator& allocator, Serving serving) {
  if (const HookSet* existing = existing_hook_set(allocator, serving)) {
    return existing;
  }
  if (g_set_count == kMaxHookSets) {
    return nullptr;
  }
  HookSet& set = g_sets[g_set_count++];
  set.next = allocator;
  set.serving = serving;
  platform::order_all_threads();
  return &set;
}

void forget_hook_sets() {
  g_set_count = 0;
}

Allocator hooked(const Allocator& allocator, const HookSet& set) {
  Allocator made = kHookSets[&set - g_sets][static_cast<uint32_t>(set.serving)];
  made.ctx = allocator.ctx;
  made.free = set.serving == Serving::kLender ? set.next.free : made.free;
  return made;
}

const HookSet* set_of_hooks(const Allocator& allocator) {
  for (uint32_t i = 0; i < g_set_count; ++i) {
    if (is_same_functions(hooked(allocator, g_sets[i]), allocator)) {
      return &g_sets[i];
    }
  }
  return nullptr;
}

bool is_object_hook(uint64_t address) {
  for (uint32_t i = 0; i < g_set_count; ++i) {
    for (const Allocator& hooks : kHookSets[i]) {
      if (address == reinterpret_cast<uint64_t>(hooks.malloc)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace memprof::cpython
