// SPDX-License-Identifier: Apache-2.0
// One replaced form of operator new or delete, the one with the number FORM: an object file each.  It notes that it was
// called.  POOL: blocks of calls that are told are of its module's pool; else all are malloc's.
#include <stdlib.h>

#include "operators.h"

#ifdef POOL
static const int is_pool = 1;
#else
static const int is_pool = 0;
#endif

static inline void* allocate(size_t size, size_t alignment, int nothrow, const char* form) {
  op_note(op_module, form);
  void* block = NULL;
  if (size != OP_REFUSED) {
    if (is_pool && op_is_armed()) {
      block = op_pool_allocate(size, alignment);
    } else if (alignment > 16) {
      block = aligned_alloc(alignment, (size + alignment) & ~(alignment - 1));
    } else {
      block = malloc(size + !size);
    }
  }
  if (block == NULL && !nothrow && op_throw != NULL) op_throw();
  return block;
}

static inline void release(void* block, const char* form) {
  op_note(op_module, form);
  if (is_pool && op_pool_has(block)) return;
  if (is_pool && block != NULL) op_note(op_module, "not_mine");
  free(block);
}

#define NEW(name, parameters, alignment, nothrow)     \
  void* name parameters;                              \
  OP_SHARED void* name parameters {                   \
    return allocate(size, alignment, nothrow, #name); \
  }
#define DELETE(name, parameters)   \
  void name parameters;            \
  OP_SHARED void name parameters { \
    release(block, #name);         \
  }
#define UNUSED __attribute__((unused))

#if FORM == 0
NEW(_Znwm, (size_t size), 16, 0)
#elif FORM == 1
NEW(_Znam, (size_t size), 16, 0)
#elif FORM == 2
NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void* tag UNUSED), 16, 1)
#elif FORM == 3
NEW(_ZnamRKSt9nothrow_t, (size_t size, const void* tag UNUSED), 16, 1)
#elif FORM == 4
NEW(_ZnwmSt11align_val_t, (size_t size, size_t alignment), alignment, 0)
#elif FORM == 5
NEW(_ZnamSt11align_val_t, (size_t size, size_t alignment), alignment, 0)
#elif FORM == 6
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, const void* tag UNUSED), alignment, 1)
#elif FORM == 7
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment, const void* tag UNUSED), alignment, 1)
#elif FORM == 8
DELETE(_ZdlPv, (void* block))
#elif FORM == 9
DELETE(_ZdaPv, (void* block))
#elif FORM == 10
DELETE(_ZdlPvm, (void* block, size_t size UNUSED))
#elif FORM == 11
DELETE(_ZdaPvm, (void* block, size_t size UNUSED))
#elif FORM == 12
DELETE(_ZdlPvRKSt9nothrow_t, (void* block, const void* tag UNUSED))
#elif FORM == 13
DELETE(_ZdaPvRKSt9nothrow_t, (void* block, const void* tag UNUSED))
#elif FORM == 14
DELETE(_ZdlPvSt11align_val_t, (void* block, size_t alignment UNUSED))
#elif FORM == 15
DELETE(_ZdaPvSt11align_val_t, (void* block, size_t alignment UNUSED))
#elif FORM == 16
DELETE(_ZdlPvmSt11align_val_t, (void* block, size_t size UNUSED, size_t alignment UNUSED))
#elif FORM == 17
DELETE(_ZdaPvmSt11align_val_t, (void* block, size_t size UNUSED, size_t alignment UNUSED))
#elif FORM == 18
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void* block, size_t alignment UNUSED, const void* tag UNUSED))
#else
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void* block, size_t alignment UNUSED, const void* tag UNUSED))
#endif
