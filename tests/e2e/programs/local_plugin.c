// SPDX-License-Identifier: Apache-2.0
// A C program, without a C++ library, that loads a C++ library into a scope of its own.
#include <dlfcn.h>

#include "truth.h"

int main(int argc, char** argv) {
  if (argc < 2) die("which library?");
  void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) die(dlerror());
  int (*work)(void) = (int (*)(void))dlsym(library, "plugin_work");
  if (work == NULL) die(dlerror());
  const int result = work();
  tell("plugin_new", "plugin_work<main", 11, 11 * 4001, 1, 4001);
  return result;
}
