// SPDX-License-Identifier: Apache-2.0
// A program without a dynamic loader loads nothing.  glibc's archive has a loader for such programs, which takes libraries of
// the system that were made for another C library than the one in here, and that can crash.  These come in its place, for
// our own code and for elfutils', which both ask for libdebuginfod and go on without it.
extern "C" {

void* dlopen(const char* /*path*/, int /*mode*/) {
  return nullptr;
}

void* dlsym(void* /*library*/, const char* /*name*/) {
  return nullptr;
}

int dlclose(void* /*library*/) {
  return 0;
}

char* dlerror() {
  static char text[] = "this program is one static file, and loads no libraries";
  return text;
}
}
