// SPDX-License-Identifier: Apache-2.0
// Allocates below functions that an exception takes down.  known_stacks_test.py has the numbers.
#include <cstdlib>

#define SITE extern "C" __attribute__((noinline))

static void* volatile g_kept;
static volatile int g_sink;

SITE void in_destructor(int size) {
  g_kept = std::malloc(static_cast<size_t>(size));
  g_sink = g_sink + 1;
}

struct Guard {
  ~Guard() { in_destructor(117); }
};

SITE void through(int depth) {
  const Guard guard;
  if (depth == 0) throw depth;
  through(depth - 1);
  g_sink = g_sink + 1;
}

SITE void catches() {
  try {
    through(4);
  } catch (int) {
    in_destructor(119);
  }
  g_sink = g_sink + 1;
}

int main() {
  catches();
  return 0;
}
