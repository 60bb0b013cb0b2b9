// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/code/mapping_code.h"

#include "core/mappings/mappings.h"

namespace memprof::platform {

void note_mapping_code(const InnerHeap& heap) {
  for (uint32_t i = 0; i < heap.site_count; ++i) {
    mappings::add_allocator_function(heap.sites[i].address, heap.sites[i].address + heap.sites[i].size_bytes);
  }
  for (uint32_t i = 0; i < heap.mapping_count; ++i) {
    mappings::add_allocator_function(heap.mapping[i].start, heap.mapping[i].limit);
  }
}

void forget_mapping_code(const InnerHeap& heap) {
  for (uint32_t i = 0; i < heap.site_count; ++i) {
    mappings::remove_allocator_function(heap.sites[i].address);
  }
  for (uint32_t i = 0; i < heap.mapping_count; ++i) {
    mappings::remove_allocator_function(heap.mapping[i].start);
  }
}

}  // namespace memprof::platform
