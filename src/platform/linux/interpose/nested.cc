// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/interpose/nested.h"

#include "core/sampling/sampler.h"
#include "platform/linux/interpose/real.h"
#include "platform/linux/modules/elf_image.h"

namespace memprof::interpose {
namespace {

Real g_nesting;  // the functions that are behind the muted ones

void* muted_malloc(size_t size) {
  const MuteScope mute;
  return g_nesting.malloc(size);
}

void* muted_calloc(size_t count, size_t size) {
  const MuteScope mute;
  return g_nesting.calloc(count, size);
}

void* muted_realloc(void* block, size_t size) {
  const MuteScope mute;
  return g_nesting.realloc(block, size);
}

int muted_posix_memalign(void** block, size_t alignment, size_t size) {
  const MuteScope mute;
  return g_nesting.posix_memalign(block, alignment, size);
}

void* muted_aligned_alloc(size_t alignment, size_t size) {
  const MuteScope mute;
  return g_nesting.aligned_alloc(alignment, size);
}

void* muted_memalign(size_t alignment, size_t size) {
  const MuteScope mute;
  return g_nesting.memalign(alignment, size);
}

void* muted_valloc(size_t size) {
  const MuteScope mute;
  return g_nesting.valloc(size);
}

// An allocator may lack a function; the next one's is found then, and free is not for its blocks.
bool serves_free(const void* function) {
  platform::ElfImage allocator;
  platform::ElfImage other;
  return platform::find_elf(reinterpret_cast<uint64_t>(g_real.free), &allocator) &&
         platform::find_elf(reinterpret_cast<uint64_t>(function), &other) &&
         allocator.map_start == other.map_start;
}

// Does an allocation by `allocate` come back to a hook?
template <typename Allocate>
bool nests(const Allocate& allocate) {
  const uint64_t before = t_sampler.count;
  void* block = allocate();
  const bool moved = t_sampler.count != before;
  g_real.free(block);
  return moved;
}

template <typename Function, typename Allocate>
void mute_if_nested(Function*& slot, Function*& behind, Function* muted, const Allocate& allocate) {
  if (serves_free(reinterpret_cast<const void*>(slot)) && nests(allocate)) {
    behind = slot;
    __atomic_store_n(&slot, muted, __ATOMIC_RELEASE);  // the hooks of other threads read it
  }
}

}  // namespace

void mute_nested_calls() {
  constexpr size_t kSize = 64;
  constexpr size_t kAlignment = 64;
  mute_if_nested(g_real.malloc, g_nesting.malloc, muted_malloc, [] { return g_real.malloc(kSize); });
  mute_if_nested(g_real.calloc, g_nesting.calloc, muted_calloc, [] { return g_real.calloc(1, kSize); });
  mute_if_nested(g_real.realloc, g_nesting.realloc, muted_realloc,
                 [] { return g_real.realloc(nullptr, kSize); });
  mute_if_nested(g_real.posix_memalign, g_nesting.posix_memalign, muted_posix_memalign, []() -> void* {
    void* block = nullptr;
    return g_real.posix_memalign(&block, kAlignment, kSize) == 0 ? block : nullptr;
  });
  mute_if_nested(g_real.aligned_alloc, g_nesting.aligned_alloc, muted_aligned_alloc,
                 [] { return g_real.aligned_alloc(kAlignment, kSize); });
  mute_if_nested(g_real.memalign, g_nesting.memalign, muted_memalign,
                 [] { return g_real.memalign(kAlignment, kSize); });
  mute_if_nested(g_real.valloc, g_nesting.valloc, muted_valloc, [] { return g_real.valloc(kSize); });
}

}  // namespace memprof::interpose
