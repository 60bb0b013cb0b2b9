/* SPDX-License-Identifier: Apache-2.0
 *
 * What every interposer costs: each function is one indirect jump to the real one.  The yardstick of the CPU
 * ratios: a profiler cannot be preloaded for less.
 *
 * The pointers are glibc's own names, bound by the loader before any call, so no lookup is in the way.
 */
#include <stddef.h>

#define NOOP __attribute__((visibility("default")))

/* The names under which glibc exports its functions besides the usual ones. */
void* __libc_malloc(size_t size);                     /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
void __libc_free(void* block);                        /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
void* __libc_calloc(size_t count, size_t size);       /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
void* __libc_realloc(void* block, size_t size);       /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */
void* __libc_memalign(size_t alignment, size_t size); /* NOLINT(bugprone-reserved-identifier,cert-dcl37-c) */

/* volatile: the compiler must not see through the pointers. */
static void* (*volatile real_malloc)(size_t) = __libc_malloc;
static void (*volatile real_free)(void*) = __libc_free;
static void* (*volatile real_calloc)(size_t, size_t) = __libc_calloc;
static void* (*volatile real_realloc)(void*, size_t) = __libc_realloc;
static void* (*volatile real_memalign)(size_t, size_t) = __libc_memalign;

NOOP void* malloc(size_t size) {
  return real_malloc(size);
}

NOOP void free(void* block) {
  real_free(block);
}

NOOP void* calloc(size_t count, size_t size) {
  return real_calloc(count, size);
}

NOOP void* realloc(void* block, size_t size) {
  return real_realloc(block, size);
}

NOOP void* memalign(size_t alignment, size_t size) {
  return real_memalign(alignment, size);
}

NOOP void* aligned_alloc(size_t alignment, size_t size) {
  return real_memalign(alignment, size);
}
