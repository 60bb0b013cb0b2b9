// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/programs/sibling_library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/linux/libc/c_library.h"

namespace memprof::platform {
namespace {

constexpr char kMuslFolder[] = "/memprof/musl";
constexpr char kSibling[] = "/libmemprof.so";

char g_path[1024];

bool is_there(const char* path) {
  const int saved_errno = errno;
  const bool is_readable = syscall(SYS_faccessat, AT_FDCWD, path, R_OK) == 0;
  errno = saved_errno;
  return is_readable;
}

// `path[0..length]` and what follows it.
void set_path(const char* path, size_t length, const char* folder) {
  const size_t folder_length = strlen(folder);
  if (length + folder_length + sizeof(kSibling) > sizeof(g_path)) {
    return;
  }
  memcpy(g_path, path, length);
  memcpy(g_path + length, folder, folder_length);
  memcpy(g_path + length + folder_length, kSibling, sizeof(kSibling));
}

void look_beside(const char* own) {
  const char* const slash = strrchr(own, '/');
  if (slash == nullptr) {
    return;
  }
  const auto length = static_cast<size_t>(slash - own);
  constexpr size_t kMuslLength = sizeof(kMuslFolder) - 1;
  if (libc::kOwn == Libc::kGlibc) {
    set_path(own, length, kMuslFolder);
  } else if (length >= kMuslLength && memcmp(slash - kMuslLength, kMuslFolder, kMuslLength) == 0) {
    set_path(own, length - kMuslLength, "");
  }
}

}  // namespace

void find_sibling_library(const char* own) {
  g_path[0] = '\0';
  const char* const named =
      getenv(libc::kOwn == Libc::kGlibc ? "MEMPROF_MUSL_LIBRARY" : "MEMPROF_GLIBC_LIBRARY");
  if (named == nullptr) {
    look_beside(own);
  } else if (strlen(named) < sizeof(g_path)) {
    memcpy(g_path, named, strlen(named) + 1);
  }
  const bool can_be_listed =
      strchr(g_path, ' ') == nullptr && strchr(g_path, ':') == nullptr && strchr(g_path, '$') == nullptr;
  if (!can_be_listed || !is_there(g_path)) {
    g_path[0] = '\0';
  }
}

const char* sibling_library() {
  return g_path;
}

}  // namespace memprof::platform
