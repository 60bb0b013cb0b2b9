// SPDX-License-Identifier: Apache-2.0
// Loads library A, allocates there, unloads it, and does the same with B, which comes to the same address.
// Arguments: the two libraries, and the names of their allocating functions.
#include <dlfcn.h>
#include <link.h>

#include "truth.h"

static void* g_kept[2];

static uintptr_t use(const char* path, size_t size, void** kept) {
  void* library = dlopen(path, RTLD_NOW);
  if (library == NULL) die(dlerror());
  void* (*allocate)(size_t) = (void* (*)(size_t))dlsym(library, "plugin_allocate");
  if (allocate == NULL) die(dlerror());
  *kept = allocate(size);
  struct link_map* map;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) die(dlerror());
  const uintptr_t base = map->l_addr;
  dlclose(library);
  return base;
}

int main(int argc, char** argv) {
  if (argc < 5) die("which libraries, and what are their functions called?");
  const uintptr_t a = use(argv[1], 5001, &g_kept[0]);
  const uintptr_t b = use(argv[2], 5003, &g_kept[1]);
  printf("same address %d\n", a == b);
  tell(argv[3], "-", 2, 5001 + 64, 1, 5001);
  tell(argv[4], "-", 2, 5003 + 64, 1, 5003);
  return 0;
}
