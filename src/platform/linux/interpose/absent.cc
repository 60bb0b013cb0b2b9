// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/interpose/absent.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

namespace memprof::interpose {
namespace {

// All of them go through g_real, which holds what complete() was given before a caller can come here.

void absent_free_sized(void* block, size_t) {
  (g_front.free != nullptr ? g_front.free : g_real.free)(block);
}
void absent_free_aligned_sized(void* block, size_t, size_t) {
  absent_free_sized(block, 0);
}

size_t absent_malloc_usable_size(void*) {
  return 0;
}

void* absent_calloc(size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  void* block = g_real.malloc(bytes);
  return block != nullptr ? memset(block, 0, bytes) : nullptr;
}

void* absent_realloc(void* block, size_t size) {
  if (block == nullptr) {
    return g_real.malloc(size);
  }
  errno = ENOMEM;  // how large the block is, only its allocator knows
  return nullptr;
}

// Which of its functions an allocator gives aligned blocks by.  As types, so that what stands in needs no
// variable that would have to be published with it.
struct ByPosixMemalign {
  static void* allocate(size_t alignment, size_t size) {
    void* block = nullptr;
    const size_t min = alignment < sizeof(void*) ? sizeof(void*) : alignment;
    const int error = g_real.posix_memalign(&block, min, size);
    if (error != 0) {
      errno = error;
      return nullptr;
    }
    return block;
  }
};

struct ByMemalign {
  static void* allocate(size_t alignment, size_t size) { return g_real.memalign(alignment, size); }
};

struct ByAlignedAlloc {
  static void* allocate(size_t alignment, size_t size) {
    // C11 wants a multiple of the alignment.
    const size_t rounded = (size + alignment - 1) / alignment * alignment;
    if (rounded < size) {
      errno = ENOMEM;
      return nullptr;
    }
    return g_real.aligned_alloc(alignment, rounded);
  }
};

struct ByNothing {
  static void* allocate(size_t, size_t) {
    errno = ENOMEM;
    return nullptr;
  }
};

bool is_power_of_two(size_t x) {
  return x != 0 && (x & (x - 1)) == 0;
}

template <typename By>
void* absent_aligned(size_t alignment, size_t size) {
  if (!is_power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return By::allocate(alignment, size);
}

template <typename By>
int absent_posix_memalign(void** block, size_t alignment, size_t size) {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) {
    return EINVAL;
  }
  const int saved_errno = errno;  // it is not touched: the result says what failed
  void* found = By::allocate(alignment, size);
  errno = saved_errno;
  if (found == nullptr) {
    return ENOMEM;
  }
  *block = found;
  return 0;
}

size_t page_bytes() {
  return getauxval(AT_PAGESZ);
}

template <typename By>
void* absent_valloc(size_t size) {
  return By::allocate(page_bytes(), size);
}

template <typename By>
void* absent_pvalloc(size_t size) {
  const size_t page = page_bytes();
  const size_t rounded = (size + page - 1) & ~(page - 1);
  if (rounded < size) {
    errno = ENOMEM;
    return nullptr;
  }
  return By::allocate(page, rounded);
}

template <typename Function>
void set_if_absent(Function*& slot, Function* function) {
  slot = slot != nullptr ? slot : function;
}

template <typename By>
void complete_aligned(Real* real) {
  set_if_absent(real->posix_memalign, &absent_posix_memalign<By>);
  set_if_absent(real->memalign, &absent_aligned<By>);
  set_if_absent(real->aligned_alloc, &absent_aligned<By>);
  set_if_absent(real->valloc, &absent_valloc<By>);
  set_if_absent(real->pvalloc, &absent_pvalloc<By>);
}

}  // namespace

void complete(Real* real) {
  set_if_absent(real->calloc, &absent_calloc);
  set_if_absent(real->realloc, &absent_realloc);
  set_if_absent(real->malloc_usable_size, &absent_malloc_usable_size);
  set_if_absent(real->free_sized, &absent_free_sized);
  set_if_absent(real->free_aligned_sized, &absent_free_aligned_sized);
  if (real->posix_memalign != nullptr) {
    complete_aligned<ByPosixMemalign>(real);
  } else if (real->memalign != nullptr) {
    complete_aligned<ByMemalign>(real);
  } else if (real->aligned_alloc != nullptr) {
    complete_aligned<ByAlignedAlloc>(real);
  } else {
    complete_aligned<ByNothing>(real);
  }
}

}  // namespace memprof::interpose
