// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/handle_scope.h"

#include <atomic>
#include <cstring>

namespace memprof::v8 {
namespace {

// V8 14.6 has them 650 bytes from the start of an isolate, whose size is that of many pages.
constexpr size_t kLookedAt = 256;

// Bytes from the start of an isolate; 0: not known.  The same for all isolates of an engine; of the thread that asked first.
std::atomic<size_t> g_place_bytes{0};  // relaxed

size_t place_bytes() {
  return g_place_bytes.load(std::memory_order_relaxed);
}

HandleScopeData* data_of(void* isolate) {
  return reinterpret_cast<HandleScopeData*>(static_cast<uint8_t*>(isolate) + place_bytes());
}

// Other threads may write to some of them.
void copy_words(const void* isolate, uint64_t* words) {
  for (size_t i = 0; i < kLookedAt; ++i) {
    words[i] = __atomic_load_n(static_cast<const uint64_t*>(isolate) + i, __ATOMIC_RELAXED);
  }
}

HandleScopeData data_at(const uint64_t* words) {
  HandleScopeData data{};
  memcpy(&data, words, sizeof(data));
  return data;
}

}  // namespace

bool has_handle_scopes(const HeapFunctions& heap, void* isolate) {
  if (heap.begin_scope != nullptr || place_bytes() != 0) {
    return true;
  }
  uint64_t words_before[kLookedAt];
  uint64_t words_sealed[kLookedAt];
  SealHandleScope seal{};
  copy_words(isolate, words_before);
  heap.begin_seal(&seal, isolate);
  copy_words(isolate, words_sealed);
  heap.end_seal(&seal);
  size_t places = 0;
  size_t place = 0;
  for (size_t i = 1; i + sizeof(HandleScopeData) / sizeof(uint64_t) <= kLookedAt; ++i) {
    const HandleScopeData before = data_at(words_before + i);
    const HandleScopeData sealed = data_at(words_sealed + i);
    const bool is_it = before.next != before.limit && before.level > 0 && before.limit == seal.limit &&
                       before.sealed_level == seal.sealed_level && sealed.next == before.next &&
                       sealed.level == before.level && sealed.limit == before.next &&
                       sealed.sealed_level == before.level;
    places += is_it ? 1 : 0;
    place = is_it ? i : place;
  }
  g_place_bytes.store(places == 1 ? place * sizeof(uint64_t) : 0, std::memory_order_relaxed);
  return places == 1;
}

Scope::Scope(const HeapFunctions& heap, void* isolate) : heap_(heap), isolate_(isolate) {
  if (heap_.begin_scope != nullptr) {
    heap_.begin_scope(&scope_, isolate);
    return;
  }
  before_ = *data_of(isolate);
  ++data_of(isolate)->level;
}

Scope::~Scope() {
  if (heap_.begin_scope != nullptr) {
    heap_.end_scope(&scope_);
    return;
  }
  HandleScopeData* const data = data_of(isolate_);
  data->next = before_.next;
  --data->level;
  if (data->limit != before_.limit) {
    data->limit = before_.limit;
    heap_.delete_extensions(&scope_, isolate_);
  }
}

}  // namespace memprof::v8
