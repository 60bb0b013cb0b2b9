// SPDX-License-Identifier: Apache-2.0
// Files of the seam (platform/files.h).  System calls, not functions of libc: a
// profile can be written inside malloc (dump/dump.cc), where no thread may be cancelled, and no library of
// the program stands in between.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/files.h"
#include "platform/linux/files/write_signals.h"
#include "platform/linux/memory/own_pages.h"
#include "platform/posix/file_calls.h"

namespace memprof::platform {

int file_create(const char* path) {
  const long fd = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  return fd < 0 ? -errno : static_cast<int>(fd);
}

int file_write(int fd, const void* data, size_t size_bytes) {
  const WriteSignalsHeld held;
  return write_all(data, size_bytes,
                   [fd](const char* at, size_t size) { return syscall(SYS_write, fd, at, size); });
}

int file_close(int fd) {
  return syscall(SYS_close, fd) == 0 || errno == EINTR ? 0 : -errno;
}

int file_open(const char* path, uint64_t* size_bytes) {
  struct stat status;
  // Looked at before: what is opened may be a device, of which the opening is an act.
  if (syscall(SYS_newfstatat, AT_FDCWD, path, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return -errno;
  }
  if (!S_ISREG(status.st_mode)) {
    return -EINVAL;
  }
  const long fd =
      syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) {
    return -errno;
  }
  if (syscall(SYS_fstat, fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    syscall(SYS_close, fd);
    return -EINVAL;
  }
  *size_bytes = static_cast<uint64_t>(status.st_size);
  return static_cast<int>(fd);
}

void* file_map(const char* path, size_t size_bytes) {
  const long fd =
      syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) {
    return nullptr;
  }
  struct stat status;
  void* start = MAP_FAILED;
  if (syscall(SYS_fstat, fd, &status) == 0 &&
      is_own_file(status, static_cast<uid_t>(syscall(SYS_geteuid)), size_bytes)) {
    start = map_own(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, static_cast<int>(fd), 0);
  }
  syscall(SYS_close, fd);
  return start != MAP_FAILED ? start : nullptr;
}

bool file_read(int fd, uint64_t offset, void* bytes, size_t size_bytes) {
  return read_all(offset, bytes, size_bytes, [fd](char* at, size_t size, uint64_t from) {
    return syscall(SYS_pread64, fd, at, size, from);
  });
}

uint64_t file_data_end(int fd, uint64_t offset) {
  const long end = syscall(SYS_lseek, fd, offset, SEEK_HOLE);
  if (end >= 0) {
    return static_cast<uint64_t>(end);
  }
  // A file system that knows no holes; what it has given to the file is a bound.
  struct stat status;
  if (errno != EINVAL || syscall(SYS_fstat, fd, &status) != 0) {
    return offset;
  }
  const uint64_t given = static_cast<uint64_t>(status.st_blocks) * 512;
  const uint64_t size = static_cast<uint64_t>(status.st_size);
  return size < offset ? offset : size - offset < given ? size : offset + given;
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

bool file_remove(const char* path) {
  return syscall(SYS_unlinkat, AT_FDCWD, path, 0) == 0;
}

bool file_exists(const char* path) {
  return syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
}

}  // namespace memprof::platform
