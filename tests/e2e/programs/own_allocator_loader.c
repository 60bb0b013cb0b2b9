// SPDX-License-Identifier: Apache-2.0
// Loads a library with an allocator at run time, whose inline forms must find the count and the filter there.
#include <dlfcn.h>

#include "truth.h"

int main(int argc, char** argv) {
  if (argc != 2) die("usage: own_allocator_loader LIBRARY");
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) die(dlerror());
  int (*run_check)(const char*) = (int (*)(const char*))dlsym(library, "run_check");
  if (run_check == NULL) die("no run_check");
  return run_check("alloc_and_free:inline");
}
