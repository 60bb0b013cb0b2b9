// SPDX-License-Identifier: Apache-2.0
// Loads library A, allocates there, unloads it, and does the same with B, which comes to the same address.
// Arguments: the two libraries, and the names of their allocating functions; "past": unloads as the C library
// does by itself, without a dlclose that others see.
#include <dlfcn.h>
#include <link.h>

#include "truth.h"

static void* g_kept[2];
static int (*g_unload)(void*) = dlclose;

static uintptr_t use(const char* path, size_t size, void** kept) {
  void* library = dlopen(path, RTLD_NOW);
  if (library == NULL) die(dlerror());
  void* (*allocate)(size_t) = (void* (*)(size_t))dlsym(library, "plugin_allocate");
  if (allocate == NULL) die(dlerror());
  *kept = allocate(size);
  struct link_map* map;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) die(dlerror());
  const uintptr_t base = map->l_addr;
  g_unload(library);
  return base;
}

int main(int argc, char** argv) {
  if (argc < 5) die("which libraries, and what are their functions called?");
  if (argc > 5) {
    void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    if (libc != NULL) g_unload = (int (*)(void*))dlsym(libc, "dlclose");
    if (libc == NULL || g_unload == NULL || g_unload == dlclose) die("no dlclose but the one in front");
  }
  const uintptr_t a = use(argv[1], 5001, &g_kept[0]);
  const uintptr_t b = use(argv[2], 5003, &g_kept[1]);
  printf("same address %d\n", a == b);
  tell(argv[3], "-", 2, 5001 + 64, 1, 5001);
  tell(argv[4], "-", 2, 5003 + 64, 1, 5003);
  return 0;
}
