// SPDX-License-Identifier: Apache-2.0
// Coroutines of boost.context that allocate on stacks of their own: from malloc and from mmap with a guard
// page below.
#include <boost/context/fiber.hpp>
#include <boost/context/fixedsize_stack.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "truth.h"

namespace {

constexpr int kFibers = 50;
constexpr int kSwitches = 20;

}  // namespace

SITE void* in_fiber() {
  return keep(malloc(opaque(601)));
}

SITE void fiber_work(int depth) {
  volatile char frame[100];
  frame[0] = static_cast<char>(depth);
  if (depth > 0) {
    fiber_work(depth - 1);
  } else {
    free(in_fiber());
  }
  frame[1] = frame[0];
}

SITE void fiber_body(boost::context::fiber* back) {
  for (int i = 0; i < kSwitches; ++i) {
    fiber_work(3);
    *back = std::move(*back).resume();
  }
}

template <typename Stack>
static boost::context::fiber make() {
  return boost::context::fiber(std::allocator_arg, Stack(64 * 1024), [](boost::context::fiber&& back) {
    fiber_body(&back);
    return std::move(back);
  });
}

int main() {
  {
    std::vector<boost::context::fiber> fibers;
    for (int i = 0; i < kFibers; ++i) {
      fibers.push_back(i % 2 == 0 ? make<boost::context::fixedsize_stack>()
                                  : make<boost::context::protected_fixedsize_stack>());
    }
    for (int round = 0; round <= kSwitches; ++round) {
      for (auto& fiber : fibers) fiber = std::move(fiber).resume();
    }
  }
  const uint64_t count = uint64_t{kFibers} * kSwitches;
  tell("in_fiber", "fiber_work<fiber_work<fiber_work<fiber_work<fiber_body", count, count * 601, 0, 0);
  return 0;
}
