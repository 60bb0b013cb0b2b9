// SPDX-License-Identifier: Apache-2.0
// JavaScript's own heap, as lib/javascript_heap.js has asked V8 for it, in the form that the library takes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "values.h"

namespace memprof::node {

class JavascriptHeap {
 public:
  // Of two arguments of a call: an array of strings, and a Float64Array of the sums of memprof_runtime_heap and then,
  // for each node, the index of its function and its file among the strings, its bytes, line and parent.
  // Throws Pending, Error.
  static std::unique_ptr<JavascriptHeap> read(const Call& call, size_t texts, size_t numbers);

  // Valid as long as this is.
  memprof_runtime_heap get() const;

 private:
  std::vector<std::string> texts_;
  std::vector<memprof_runtime_heap_node> nodes_;
  memprof_runtime_heap sums_{};
};

}  // namespace memprof::node
