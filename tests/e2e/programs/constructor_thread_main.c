// SPDX-License-Identifier: Apache-2.0
// Uses constructor_thread: linked (no argument), or by dlopen of the argument.
#include <dlfcn.h>

#include "truth.h"

#ifdef LINKED
void* constructor_thread_block(void);
#endif

int main(int argc, char** argv) {
  (void)argv;
#ifdef LINKED
  (void)argc;
  if (constructor_thread_block() == NULL) die("no block");
#else
  if (argc < 2) die("which library?");
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) die(dlerror());
#endif
  tell("in_constructor_thread", "run", 101, 101 * 3001, 1, 3001);
  return 0;
}
