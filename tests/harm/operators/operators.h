/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a generated program know of each other (kinds/operators.py). */
#pragma once
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OP_HIDDEN __attribute__((visibility("hidden")))
#define OP_SHARED __attribute__((visibility("default")))

/* log.c */
OP_SHARED void op_arm(void);
OP_SHARED int op_is_armed(void);
OP_SHARED void op_note(const char* module, const char* form);
OP_SHARED void op_tell(const char* caller, const char* call, const char* result);

/* module.c, in each module: what it is called, and a pool of its own. */
OP_HIDDEN extern const char op_module[];
OP_HIDDEN void* op_pool_allocate(size_t size, size_t alignment);
OP_HIDDEN int op_pool_has(const void* block);

/* throw.cc, in modules that need the standard library. */
OP_HIDDEN void op_throw(void) __attribute__((weak));

/* exercise.cc: some calls that are not told. */
OP_HIDDEN void op_warm_up(void) __attribute__((weak));

/* A replaced operator refuses this size. */
#define OP_REFUSED 7777777

#ifdef __cplusplus
}
#endif
