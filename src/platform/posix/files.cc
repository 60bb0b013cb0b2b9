// SPDX-License-Identifier: Apache-2.0
// Files of the seam (platform/files.h), for systems whose functions of libc need not be avoided.
#include "platform/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/posix/file_calls.h"

namespace memprof::platform {

int file_create(const char* path) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  return fd < 0 ? -errno : fd;
}

int file_write(int fd, const void* data, size_t size_bytes) {
  return write_all(data, size_bytes, [fd](const char* at, size_t size) { return write(fd, at, size); });
}

int file_close(int fd) {
  return close(fd) == 0 || errno == EINTR ? 0 : -errno;
}

int file_open(const char* path, uint64_t* size_bytes) {
  struct stat status;
  // Looked at before: what is opened may be a device, of which the opening is an act.
  if (lstat(path, &status) != 0) {
    return -errno;
  }
  if (!S_ISREG(status.st_mode)) {
    return -EINVAL;
  }
  const int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) {
    return -errno;
  }
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(fd);
    return -EINVAL;
  }
  *size_bytes = static_cast<uint64_t>(status.st_size);
  return fd;
}

void* file_map(const char* path, size_t size_bytes) {
  const int fd = open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
  if (fd < 0) {
    return nullptr;
  }
  struct stat status;
  void* start = MAP_FAILED;
  if (fstat(fd, &status) == 0 && is_own_file(status, geteuid(), size_bytes)) {
    start = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  close(fd);
  return start != MAP_FAILED ? start : nullptr;
}

bool file_read(int fd, uint64_t offset, void* bytes, size_t size_bytes) {
  return read_all(offset, bytes, size_bytes, [fd](char* at, size_t size, uint64_t from) {
    return pread(fd, at, size, static_cast<off_t>(from));
  });
}

// Where a file has holes, POSIX cannot say everywhere: all of it counts as there.
uint64_t file_data_end(int fd, uint64_t offset) {
  struct stat status;
  if (fstat(fd, &status) != 0) {
    return offset;
  }
  const uint64_t size = static_cast<uint64_t>(status.st_size);
  return size < offset ? offset : size;
}

int file_rename(const char* from, const char* to, bool overwrite) {
  if (overwrite) {
    return rename(from, to) == 0 ? 0 : -errno;
  }
  if (link(from, to) == 0) {  // fails where `to` is there, without a moment in between
    file_remove(from);
    return 0;
  }
  // A file system without hard links.
  return errno == EEXIST || file_exists(to) ? kFileExists : rename(from, to) == 0 ? 0 : -errno;
}

bool file_remove(const char* path) {
  return unlink(path) == 0;
}

bool file_exists(const char* path) {
  return access(path, F_OK) == 0;
}

}  // namespace memprof::platform
