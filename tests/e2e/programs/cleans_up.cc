// SPDX-License-Identifier: Apache-2.0
// Holds memory in a global, in a static of a function and from an exit handler's point of view, holds more
// for a while, and ends by returning from main, by exit or by _exit: `cleans_up return|exit|quick`.  All is
// freed at the end by destructors and handlers.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

struct Blocks {
  std::vector<void*> blocks;
  ~Blocks() {
    for (void* block : blocks) free(block);
  }
};

[[gnu::noinline]] void hold_in_global(Blocks* to) {
  for (int i = 0; i < 1000; ++i) to->blocks.push_back(malloc(1000));
}
[[gnu::noinline]] void hold_in_static() {
  static Blocks kept;
  for (int i = 0; i < 1000; ++i) kept.blocks.push_back(malloc(2000));
}
void* g_handled = nullptr;
[[gnu::noinline]] void hold_for_handler() {
  g_handled = malloc(500000);
  atexit([] {
    free(g_handled);
    // The end allocates, too: that was not there when it began.
    void* late = malloc(100000);
    memset(late, 1, 100);
  });
}
[[gnu::noinline]] void hold_for_a_while() {
  Blocks more;
  for (int i = 0; i < 1000; ++i) more.blocks.push_back(malloc(5000));
}

Blocks g_blocks;

}  // namespace

int main(int argc, char** argv) {
  g_blocks.blocks.reserve(1000);
  hold_in_global(&g_blocks);
  hold_in_static();
  hold_for_handler();
  hold_for_a_while();
  if (argc > 1 && strcmp(argv[1], "exit") == 0) exit(0);
  if (argc > 1 && strcmp(argv[1], "quick") == 0) _exit(0);
  if (argc > 1 && strcmp(argv[1], "kill") == 0) abort();
  return 0;
}
