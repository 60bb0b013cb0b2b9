// SPDX-License-Identifier: Apache-2.0
// An extension in C++ (pybind11) that keeps what it was given: native_leak.py finds it.
#include <pybind11/pybind11.h>

#include <memory>
#include <vector>

namespace {

std::vector<std::unique_ptr<std::vector<double>>> g_results;

// The leak: every call leaves a buffer behind.
__attribute__((noinline)) void keep_buffer(size_t count) {
  g_results.push_back(std::make_unique<std::vector<double>>(count, 1.0));
}

double process(size_t count) {
  std::vector<double> scratch(count, 2.0);  // freed with the call
  keep_buffer(count);
  return scratch[count / 2];
}

}  // namespace

PYBIND11_MODULE(native_leak, module) {
  module.def("process", &process);
}
