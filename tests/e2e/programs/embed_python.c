// SPDX-License-Identifier: Apache-2.0
// A program that loads a libpython late, as a plugin does, and initializes it repeatedly:
//   embed_python LIBPYTHON TIMES [global]
// Each time Python makes and holds 20,000 ints of 32 bytes. Prints what memprof says lives more with them
// than without: "bytes B state S", for each time.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memprof.h"

#define GET(handle, name) __typeof__(name)* p_##name = (__typeof__(name)*)dlsym(handle, #name)

void Py_InitializeEx(int signals);
int Py_FinalizeEx(void);
int PyRun_SimpleString(const char* text);

static double live_bytes(void) {
  GET(RTLD_DEFAULT, memprof_get_snapshot);
  GET(RTLD_DEFAULT, memprof_snapshot_get_info);
  GET(RTLD_DEFAULT, memprof_free_snapshot);
  memprof_snapshot* snapshot = NULL;
  memprof_snapshot_info info = {.struct_size = sizeof(info)};
  if (p_memprof_get_snapshot(&snapshot) != 0 || p_memprof_snapshot_get_info(snapshot, &info) != 0) {
    exit(3);
  }
  p_memprof_free_snapshot(snapshot);
  return info.live_weight_bytes;
}

int main(int argc, char** argv) {
  void* python = dlopen(argv[1], RTLD_NOW | (argc > 3 ? RTLD_GLOBAL : RTLD_LOCAL));
  if (python == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 2;
  }
  GET(python, Py_InitializeEx);
  GET(python, Py_FinalizeEx);
  GET(python, PyRun_SimpleString);
  GET(RTLD_DEFAULT, memprof_get_stats);
  for (int i = 0; i < atoi(argv[2]); ++i) {
    p_Py_InitializeEx(0);
    p_PyRun_SimpleString("keep = [None] * 20000\nk = 0\n");
    const double before = live_bytes();
    p_PyRun_SimpleString("for k in range(20000): keep[k] = (1 << 40) + k\n");
    const double after = live_bytes();
    memprof_stats stats = {.struct_size = sizeof(stats)};
    p_memprof_get_stats(&stats);
    printf("bytes %.0f state %u\n", after - before, stats.python_objects);
    fflush(stdout);
    p_Py_FinalizeEx();
  }
  return 0;
}
