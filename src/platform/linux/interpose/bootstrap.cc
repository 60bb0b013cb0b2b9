// SPDX-License-Identifier: Apache-2.0
// Memory for those who allocate while the real functions are being looked up.
#include "platform/linux/interpose/bootstrap.h"

#include <errno.h>

#include <atomic>

#include "core/sampling/sampled_filter.h"

namespace memprof::interpose {
namespace {

// dlsym wants some dozen bytes for its errors; a thread that dlopens meanwhile, some hundred KiB at most.
constexpr size_t kRegionBytes = 512 * 1024;
constexpr size_t kMinAlignment = 16;

alignas(4096) char g_region[kRegionBytes];  // zero pages until they are used
std::atomic<size_t> g_used{0};
std::atomic<bool> g_is_marked{false};

// In front of each block.
struct alignas(16) BlockHeader {
  size_t size_bytes;
};

}  // namespace

void* bootstrap_allocate(size_t size_bytes, size_t alignment) {
  if (alignment < kMinAlignment) {
    alignment = kMinAlignment;
  }
  // Before any block is given out: another thread may free the second one before we have the first.  Twice
  // does no harm.  Release pairs with acquire: a thread that sees the mark may free the block.
  if (!g_is_marked.load(std::memory_order_acquire)) {
    g_sampled_filter.mark_permanently(reinterpret_cast<uintptr_t>(g_region), kRegionBytes);
    g_is_marked.store(true, std::memory_order_release);
  }
  size_t used = g_used.load(std::memory_order_relaxed);
  for (;;) {
    const size_t block = (used + sizeof(BlockHeader) + alignment - 1) & ~(alignment - 1);
    if (size_bytes > kRegionBytes || block > kRegionBytes - size_bytes) {
      errno = ENOMEM;
      return nullptr;
    }
    // Relaxed: the range is this thread's alone.
    if (g_used.compare_exchange_weak(used, block + size_bytes, std::memory_order_relaxed)) {
      reinterpret_cast<BlockHeader*>(g_region + block)[-1].size_bytes = size_bytes;
      return g_region + block;
    }
  }
}

bool is_bootstrap(const void* block) {
  return reinterpret_cast<uintptr_t>(block) - reinterpret_cast<uintptr_t>(g_region) < kRegionBytes;
}

size_t bootstrap_size(const void* block) {
  return static_cast<const BlockHeader*>(block)[-1].size_bytes;
}

}  // namespace memprof::interpose
