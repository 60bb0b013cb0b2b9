// SPDX-License-Identifier: Apache-2.0
// Preloaded into any program: loads memprof at run time, as a program itself would by dlopen, and starts it
// before main.  PATCHED_LIBRARY is libmemprof.so; the profile goes to PATCHED_PROFILE when the program ends.
// PATCHED_WHEN=late: the library is started by the first call of patched_start().
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memprof.h"

static void* g_library;
static pid_t g_pid;
static char g_profile[4096];  // as it was at the start: programs write their title over their environment

static void* function(const char* name) {
  void* found = dlsym(g_library, name);
  if (found == NULL) {
    fprintf(stderr, "patched: %s\n", dlerror());
    abort();
  }
  return found;
}

static void expect(int result, const char* what) {
  if (result != MEMPROF_OK) {
    const char* (*text)(int) = (const char* (*)(int))function("memprof_strerror");
    fprintf(stderr, "patched: %s: %s\n", what, text(result));
    if (getenv("PATCHED_MAY_FAIL") == NULL) abort();
  }
}

void patched_start(void) {
  expect(((int (*)(void))function("memprof_start"))(), "memprof_start");
}

__attribute__((constructor)) static void begin(void) {
  g_pid = getpid();
  const char* path = getenv("PATCHED_LIBRARY");
  g_library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (g_library == NULL) {
    fprintf(stderr, "patched: PATCHED_LIBRARY: %s\n", path != NULL ? dlerror() : "not set");
    abort();
  }
  expect(((int (*)(const memprof_options*))function("memprof_init"))(NULL), "memprof_init");
  const char* profile = getenv("PATCHED_PROFILE");
  if (profile != NULL) snprintf(g_profile, sizeof g_profile, "%s", profile);
  const char* when = getenv("PATCHED_WHEN");
  if (when == NULL || strcmp(when, "late") != 0) patched_start();
}

__attribute__((destructor)) static void end(void) {
  if (g_profile[0] == '\0' || getpid() != g_pid) return;
  expect(((int (*)(const char*, uint32_t))function("memprof_write_profile"))(g_profile, 0),
         "memprof_write_profile");
}
