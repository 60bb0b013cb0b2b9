// SPDX-License-Identifier: Apache-2.0
// Each hook has a fast path that ends in a jump to the real function, and a slow path in a function of its own.  A program can
// ask for an exception where there is no memory (HEAP_GENERATE_EXCEPTIONS): it is raised outside of the sample.  A heap that was
// made with that flag raises it inside; a later event of the thread finds the frame gone (core/sampling/sampler.h).
#include "platform/windows/hooks/heap_hooks.h"

#include <atomic>
#include <cerrno>
#include <iterator>

#include "core/hooks/sampled_call.h"
#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "platform/messages.h"
#include "platform/windows/hooks/heap_owners.h"
#include "platform/windows/hooks/patches.h"
#include "platform/windows/modules/module_list.h"
#include "platform/windows/process/thread_data.h"
#include "platform/windows/stack/callers.h"
#include "platform/windows/system.h"

using memprof::g_sampled_filter;
using memprof::sampler_tick;

namespace {

using memprof::platform::Patch;

// What a function of ntdll goes on to: the moved instructions of it.  Written before any hook runs.
struct {
  uint64_t allocate;
  uint64_t reallocate;
  uint64_t free;
  uint64_t destroy;
} g_real;

void* real_allocate(void* heap, uint32_t flags, size_t size) {
  return reinterpret_cast<void* (*)(void*, uint32_t, size_t)>(g_real.allocate)(heap, flags, size);
}
void* real_reallocate(void* heap, uint32_t flags, void* block, size_t size) {
  return reinterpret_cast<void* (*)(void*, uint32_t, void*, size_t)>(g_real.reallocate)(heap, flags, block,
                                                                                        size);
}
// Of what it returns, older systems define more bits than newer ones.
uint64_t real_free(void* heap, uint32_t flags, void* block) {
  return reinterpret_cast<uint64_t (*)(void*, uint32_t, void*)>(g_real.free)(heap, flags, block);
}

constexpr uint32_t kRaises = HEAP_GENERATE_EXCEPTIONS;

// The code of the functions that are hooked: a heap that allocates for itself calls them, and no program gets that block.
struct HeapCode {
  uint64_t start;
  uint64_t limit;
};
HeapCode g_heap_code[4];

bool is_heap_code(const void*, uint64_t address) {
  for (const HeapCode& code : g_heap_code) {
    if (code.start <= address && address < code.limit) {
      return true;
    }
  }
  return false;
}

HeapCode g_ntdll;

bool is_for_a_heap() {
  return memprof::platform::is_called_within(g_ntdll.start, g_ntdll.limit, {is_heap_code, nullptr});
}

// errno is the thread's last error here (platform/windows/library/runtime.cc).
template <typename Allocate>
[[gnu::always_inline]] inline void* sample(void* heap, size_t size, const void* frame,
                                           const Allocate& allocate) {
  const int error = errno;
  memprof::SamplingEvent event = memprof::sampler_event(size);
  event.sampled = event.sampled && !is_for_a_heap();
  const bool is_sampled = event.sampled;
  const auto allocate_and_note = [=]() -> void* {
    void* block = allocate();
    if (is_sampled && block != nullptr) {
      memprof::platform::note_heap_of(block, heap);
    }
    return block;
  };
  // All that the heap allocates meanwhile is for this block.
  return memprof::sampled_call(event, error, size, frame, allocate_and_note, true);
}

}  // namespace

MEMPROF_SLOW_PATH void* memprof_slow_allocate_heap(void* heap, uint32_t flags, size_t size) {
  const uint32_t quiet = flags & ~kRaises;
  void* block =
      sample(heap, size, __builtin_frame_address(0), [=] { return real_allocate(heap, quiet, size); });
  return block != nullptr || quiet == flags ? block : real_allocate(heap, flags, size);
}

MEMPROF_HOOK static void* allocate_heap(void* heap, uint32_t flags, size_t size) {
  if (__builtin_expect(sampler_tick(size), 0)) {
    return memprof_slow_allocate_heap(heap, flags, size);
  }
  return real_allocate(heap, flags, size);
}

// The block may go by RtlFreeHeap inside, whose hook takes its record out then.
MEMPROF_SLOW_PATH void* memprof_slow_reallocate_heap(void* heap, uint32_t flags, void* block, size_t size) {
  const uint32_t quiet = flags & ~kRaises;
  void* moved = sample(heap, size, __builtin_frame_address(0), [=] {
    return memprof::recorded_realloc(block, false, [=] { return real_reallocate(heap, quiet, block, size); });
  });
  return moved != nullptr || quiet == flags ? moved : real_reallocate(heap, flags, block, size);
}

MEMPROF_SLOW_PATH void* memprof_slow_marked_reallocate_heap(void* heap, uint32_t flags, void* block,
                                                            size_t size) {
  return memprof::recorded_realloc(block, false, [=] { return real_reallocate(heap, flags, block, size); });
}

MEMPROF_HOOK static void* reallocate_heap(void* heap, uint32_t flags, void* block, size_t size) {
  if (__builtin_expect(sampler_tick(size), 0)) {
    return memprof_slow_reallocate_heap(heap, flags, block, size);
  }
  if (__builtin_expect(g_sampled_filter.may_contain(block), 0)) {
    return memprof_slow_marked_reallocate_heap(heap, flags, block, size);
  }
  return real_reallocate(heap, flags, block, size);
}

MEMPROF_SLOW_PATH uint64_t memprof_slow_free_heap(void* heap, uint32_t flags, void* block) {
  memprof::record_marked_free(block);
  return real_free(heap, flags, block);
}

MEMPROF_HOOK static uint64_t free_heap(void* heap, uint32_t flags, void* block) {
  if (__builtin_expect(g_sampled_filter.may_contain(block), 0)) {
    return memprof_slow_free_heap(heap, flags, block);
  }
  return real_free(heap, flags, block);
}

MEMPROF_HOOK static void* destroy_heap(void* heap) {
  const int error = errno;
  memprof::platform::free_all_of(heap);
  errno = error;
  return reinterpret_cast<void* (*)(void*)>(g_real.destroy)(heap);
}

namespace memprof::platform {
namespace {

// Without a constructor: nobody would call it (library/library.cc).
Patch g_patches[] = {
    {"RtlAllocateHeap", nullptr, &g_real.allocate},
    {"RtlReAllocateHeap", nullptr, &g_real.reallocate},
    {"RtlFreeHeap", nullptr, &g_real.free},
    {"RtlDestroyHeap", nullptr, &g_real.destroy},
};
constexpr auto kPatches = static_cast<uint32_t>(std::size(g_patches));

void set_hooks() {
  g_patches[0].hook = reinterpret_cast<const void*>(allocate_heap);
  g_patches[1].hook = reinterpret_cast<const void*>(reallocate_heap);
  g_patches[2].hook = reinterpret_cast<const void*>(free_heap);
  g_patches[3].hook = reinterpret_cast<const void*>(destroy_heap);
}

std::atomic<bool> g_are_hooked{false};  // relaxed: changed under the loader's lock, or by one thread

bool note_heap_code() {
  const KnownModule* const module = wait_for_module_at(g_patches[0].function);
  if (module == nullptr) {
    return false;
  }
  const PeImage& ntdll = module->image;
  g_ntdll = {ntdll.start(), ntdll.start() + ntdll.size_bytes()};
  for (uint32_t i = 0; i < kPatches; ++i) {
    const auto offset = static_cast<uint32_t>(g_patches[i].function - ntdll.start());
    const FunctionRange* range = find_function(ntdll.functions(), ntdll.function_count(), offset);
    g_heap_code[i] = {ntdll.start() + range->begin, ntdll.start() + range->end};
  }
  return true;
}

// A call comes to its hook: a block's bytes are counted down.
bool is_seen() {
  void* const heap = GetProcessHeap();
  const uint64_t before = t_sampler.count;
  void* const block = HeapAlloc(heap, 0, 1);
  const bool is_counted = t_sampler.count != before;
  HeapFree(heap, 0, block);
  return is_counted;
}

void complain(const char* subject, const char* reason) {
  const char* const parts[] = {"not profiling: ", subject, " ", reason, nullptr};
  message(parts);
}

}  // namespace

bool are_heaps_hooked() {
  return g_are_hooked.load(std::memory_order_relaxed);
}

bool hook_heaps() {
  if (are_heaps_hooked()) {
    return true;
  }
  if (!has_own_thread_data() || !make_heap_owners()) {
    complain("the process", "has no memory, or no slot of TlsAlloc, left");
    return false;
  }
  set_hooks();
  const char* culprit = "";
  if (const char* reason = install_patches(L"ntdll.dll", g_patches, kPatches, &culprit)) {
    complain(culprit, reason);
    return false;
  }
  g_are_hooked.store(true, std::memory_order_relaxed);
  // With a muted clock, which a byte does not run out: nothing is recorded of the trial.
  const bool is_right = note_heap_code() && [] {
    const MuteScope muted;
    return is_seen();
  }();
  if (!is_right) {
    complain("RtlAllocateHeap", "is hooked, and its calls are not seen");
    unhook_heaps();
  }
  return is_right;
}

bool unhook_heaps() {
  if (!are_heaps_hooked()) {
    return true;
  }
  const bool all = remove_patches(g_patches, kPatches);
  g_are_hooked.store(!all, std::memory_order_relaxed);
  return all;
}

}  // namespace memprof::platform
