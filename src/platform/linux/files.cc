// SPDX-License-Identifier: Apache-2.0
// Files and messages of the seam (core/platform.h).  System calls, not functions of libc: a profile can be
// written inside malloc (capi/dump.cc), where no thread may be cancelled, and no library of the program
// stands in between.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/platform.h"
#include "platform/linux/write_signals.h"

namespace memprof::platform {

static_assert(kFileExists == -EEXIST);

int file_create(const char* path) {
  const long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  return fd < 0 ? -errno : static_cast<int>(fd);
}

int file_write(int fd, const void* data, size_t size_bytes) {
  const WriteSignalsHeld held;
  const char* at = static_cast<const char*>(data);
  while (size_bytes > 0) {
    const long written = syscall(SYS_write, fd, at, size_bytes);
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return -errno;
    }
    at += written;
    size_bytes -= static_cast<size_t>(written);
  }
  return 0;
}

int file_close(int fd) {
  return syscall(SYS_close, fd) == 0 || errno == EINTR ? 0 : -errno;
}

int file_rename(const char* from, const char* to, bool overwrite) {
  if (overwrite) {
    return syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to) == 0 ? 0 : -errno;
  }
  if (syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0) ==
      0) {  // fails where `to` is there, without a moment in between
    file_remove(from);
    return 0;
  }
  if (errno == EEXIST) {
    return -EEXIST;
  }
  // A file system without hard links.
  if (file_exists(to)) {
    return -EEXIST;
  }
  return syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to) == 0 ? 0 : -errno;
}

void file_remove(const char* path) {
  syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

bool file_exists(const char* path) {
  return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

const char* error_text(int error) {
  switch (-error) {
    case EACCES:
    case EPERM:
      return "permission denied";
    case ENOENT:
      return "no such folder";
    case ENOTDIR:
      return "a part of the path is not a folder";
    case EISDIR:
      return "it is a folder";
    case EEXIST:
      return "it is there already";
    case ENOSPC:
    case EDQUOT:
      return "no space left";
    case EROFS:
      return "the file system is read-only";
    case EFBIG:
      return "the file size limit is reached";
    case EMFILE:
    case ENFILE:
      return "too many open files";
    default:
      return "the system refused it";
  }
}

void set_last_error(int error) {
  errno = -error;
}

void message(const char* const* parts) {
  constexpr int kMostParts = 16;
  iovec pieces[kMostParts + 2];
  int count = 0;
  const auto append = [&](const char* text) {
    pieces[count].iov_base = const_cast<char*>(text);
    pieces[count++].iov_len = strlen(text);
  };
  append("memprof: ");
  for (int i = 0; i < kMostParts && parts[i] != nullptr; ++i) {
    append(parts[i]);
  }
  append("\n");
  const int saved_errno = errno;
  const WriteSignalsHeld held;
  const long ignored = syscall(SYS_writev, STDERR_FILENO, pieces, count);  // nobody is left to tell
  static_cast<void>(ignored);
  errno = saved_errno;
}

}  // namespace memprof::platform
