// SPDX-License-Identifier: Apache-2.0
// C++ on musl: operators, threads, exceptions. musl_test.py has the numbers.
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define SITE __attribute__((noinline))

namespace {

void* volatile g_sink;

}  // namespace

extern "C" {
SITE void keep_new() {
  g_sink = ::operator new(1009);
}
SITE void keep_aligned_new() {
  g_sink = ::operator new(1013, std::align_val_t{128});
}
SITE void keep_array() {
  g_sink = new char[1019];
}
SITE void throw_one() {
  throw std::runtime_error("thrown");
}
}

int main() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 500; ++i) {
        keep_new();
        keep_aligned_new();
        keep_array();
        delete static_cast<std::string*>(new std::string(100, 'x'));
        try {
          throw_one();
        } catch (const std::exception&) {
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}
