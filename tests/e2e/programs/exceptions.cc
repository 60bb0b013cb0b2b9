// SPDX-License-Identifier: Apache-2.0
// Exceptions thrown through frames that allocate: before the throw, in destructors while the stack is unwound
// (called from landing pads), in handlers, and after a rethrow.
#include <exception>
#include <stdexcept>

#include "truth.h"

namespace {

constexpr int kRounds = 300;
constexpr int kDepth = 7;

}  // namespace

SITE void* before_throw() {
  return keep(malloc(opaque(301)));
}
SITE void* in_destructor() {
  return keep(malloc(opaque(302)));
}
SITE void* in_handler() {
  return keep(malloc(opaque(303)));
}
SITE void* after_rethrow() {
  return keep(malloc(opaque(304)));
}

struct Guard {
  __attribute__((always_inline)) ~Guard() { free(in_destructor()); }
};

SITE void through(int depth) {
  Guard guard;
  free(before_throw());
  if (depth == 0) {
    throw std::runtime_error("longer than the string that fits in the exception itself");
  }
  through(depth - 1);
}

SITE void rethrows() {
  try {
    through(kDepth - 1);
  } catch (const std::exception&) {
    free(in_handler());
    throw;
  }
}

SITE void catches() {
  std::exception_ptr kept;
  try {
    rethrows();
  } catch (...) {
    kept = std::current_exception();
  }
  try {
    std::rethrow_exception(kept);
  } catch (const std::runtime_error&) {
    free(after_rethrow());
  }
}

int main() {
  for (int i = 0; i < kRounds; ++i) catches();
  const uint64_t deep = uint64_t{kRounds} * kDepth;
  tell("before_throw", "through", deep, deep * 301, 0, 0);
  tell("in_destructor", "through", deep, deep * 302, 0, 0);
  tell("in_handler", "rethrows<catches<main", kRounds, kRounds * 303, 0, 0);
  tell("after_rethrow", "catches<main", kRounds, kRounds * 304, 0, 0);
  return 0;
}
