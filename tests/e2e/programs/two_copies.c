// SPDX-License-Identifier: Apache-2.0
// Loads two copies of the library (two files): the second one is refused, the first one works on.
#include <dlfcn.h>

#include "memprof.h"
#include "truth.h"

struct copy {
  int (*init)(const memprof_options*);
  int (*start)(void);
  int (*get_stats)(memprof_stats*);
  const char* (*text)(int);
};

static struct copy load(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) die(dlerror());
  struct copy c;
  c.init = (int (*)(const memprof_options*))dlsym(library, "memprof_init");
  c.start = (int (*)(void))dlsym(library, "memprof_start");
  c.get_stats = (int (*)(memprof_stats*))dlsym(library, "memprof_get_stats");
  c.text = (const char* (*)(int))dlsym(library, "memprof_strerror");
  return c;
}

static unsigned long long samples(struct copy c) {
  memprof_stats s = {.struct_size = sizeof(s)};
  if (c.get_stats(&s) != MEMPROF_OK) die("memprof_get_stats");
  return s.samples;
}

int main(int argc, char** argv) {
  if (argc < 3) die("which libraries?");
  memprof_options options = {.struct_size = sizeof(options)};  // rate 0
  struct copy first = load(argv[1]);
  struct copy second = load(argv[2]);
  printf("first init %d", first.init(&options));
  printf(" start %d\n", first.start());
  printf("second init %d: %s\n", second.init(&options), second.text(second.init(&options)));
  printf("second start %d\n", second.start());
  const unsigned long long before = samples(first);
  for (int i = 0; i < 100; ++i) free(keep(malloc(opaque(100))));
  printf("first %llu second %llu\n", samples(first) - before, samples(second));
  return 0;
}
