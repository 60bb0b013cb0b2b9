// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/interpose/loader_calls.h"

#include <errno.h>

#include <cstddef>

#include "platform/linux/interpose/forwarding_hook.h"

MemprofRealLoader memprof_real_loader;

static_assert(offsetof(MemprofRealLoader, dlopen) == 0 && offsetof(MemprofRealLoader, dlmopen) == 8 &&
              offsetof(MemprofRealLoader, dlsym) == 16 && offsetof(MemprofRealLoader, dlvsym) == 24 &&
              offsetof(MemprofRealLoader, dladdr) == 32);

extern "C" void memprof_before_loader_call() {
  const int saved_errno = errno;
  memprof::platform::patch_new_imports();
  errno = saved_errno;
}

extern "C" __attribute__((visibility("hidden"))) void memprof_before_dlmopen_call(long space) {
  memprof_before_loader_call();
  if (space != 0) {  // LM_ID_BASE
    memprof::interpose::before_open_apart();
  }
}

MEMPROF_LOADER_HOOK(dlopen, 0, memprof_before_loader_call);
MEMPROF_LOADER_HOOK(dlmopen, 8, memprof_before_dlmopen_call);
MEMPROF_LOADER_HOOK(dlsym, 16, memprof_before_loader_call);
MEMPROF_LOADER_HOOK(dlvsym, 24, memprof_before_loader_call);
MEMPROF_LOADER_HOOK(dladdr, 32, memprof_before_loader_call);
