/* SPDX-License-Identifier: Apache-2.0
 *
 * The inline forms of memprof.h, each alone in a function: fast_path.py counts their instructions.
 */
#include "memprof.h"

void inline_alloc(const void* block, size_t size, memprof_heap_id heap);
void inline_free(const void* block);
void inline_realloc(const void* old_block, const void* block, size_t size, memprof_heap_id heap);

void inline_alloc(const void* block, size_t size, memprof_heap_id heap) {
  memprof_report_alloc_inline(block, size, heap);
}

void inline_free(const void* block) {
  memprof_report_free_inline(block);
}

void inline_realloc(const void* old_block, const void* block, size_t size, memprof_heap_id heap) {
  memprof_report_realloc_inline(old_block, block, size, heap);
}
