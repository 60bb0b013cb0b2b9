// SPDX-License-Identifier: Apache-2.0
#include "javascript_heap.h"

namespace memprof::node {
namespace {

constexpr size_t kSums = 8;
constexpr size_t kNumbersOfNode = 5;

const char* text_of(const std::vector<std::string>& texts, double index) {
  return texts.at(static_cast<size_t>(index)).c_str();
}

}  // namespace

std::unique_ptr<JavascriptHeap> JavascriptHeap::read(const Call& call, size_t texts, size_t numbers) {
  auto heap = std::make_unique<JavascriptHeap>();
  uint32_t text_count = 0;
  call.ok(napi_get_array_length(call.env(), call.at(texts), &text_count));
  heap->texts_.reserve(text_count);
  for (uint32_t i = 0; i < text_count; ++i) {
    const Scope scope(call);
    napi_value text = nullptr;
    call.ok(napi_get_element(call.env(), call.at(texts), i, &text));
    heap->texts_.push_back(call.text_of(text));
  }
  napi_typedarray_type kind = napi_int8_array;
  size_t count = 0;
  void* data = nullptr;
  call.ok(napi_get_typedarray_info(call.env(), call.at(numbers), &kind, &count, &data, nullptr, nullptr));
  if (kind != napi_float64_array || count < kSums || (count - kSums) % kNumbersOfNode != 0) {
    throw Error{MEMPROF_ERR_INVALID, "memprof: the JavaScript heap is not as it is to be given"};
  }
  const auto* const number = static_cast<const double*>(data);
  uint64_t* const sums[kSums] = {&heap->sums_.resident_bytes, &heap->sums_.used_bytes,
                                 &heap->sums_.live_bytes,     &heap->sums_.code_bytes,
                                 &heap->sums_.external_bytes, &heap->sums_.young_bytes,
                                 &heap->sums_.old_bytes,      &heap->sums_.large_bytes};
  for (size_t i = 0; i < kSums; ++i) {
    *sums[i] = static_cast<uint64_t>(number[i]);
  }
  for (const double* node = number + kSums; node != number + count; node += kNumbersOfNode) {
    heap->nodes_.push_back({text_of(heap->texts_, node[0]), text_of(heap->texts_, node[1]),
                            static_cast<uint64_t>(node[2]), static_cast<uint32_t>(node[3]),
                            static_cast<uint32_t>(node[4])});
  }
  return heap;
}

memprof_runtime_heap JavascriptHeap::get() const {
  memprof_runtime_heap heap = sums_;
  heap.struct_size = sizeof(heap);
  heap.runtime = MEMPROF_RUNTIME_V8;
  heap.nodes = nodes_.data();
  heap.node_count = nodes_.size();
  return heap;
}

}  // namespace memprof::node
