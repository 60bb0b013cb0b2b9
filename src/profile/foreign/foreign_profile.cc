// SPDX-License-Identifier: Apache-2.0
#include "profile/foreign/foreign_profile.h"

#include "profile/foreign/heap_text.h"
#include "profile/foreign/v8_heap.h"

namespace memprof::profile {

bool is_foreign(std::string_view begin) {
  return is_heap_text(begin) || is_v8_heap(begin);
}

Profile read_foreign(std::string_view data, const std::string& name, uint64_t max_model_bytes) {
  return is_heap_text(data.substr(0, kForeignBeginning)) ? read_heap_text(data, name, max_model_bytes)
                                                         : read_v8_heap(data, name, max_model_bytes);
}

}  // namespace memprof::profile
