// SPDX-License-Identifier: Apache-2.0
#include "profile/files/regular_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "profile/files/descriptor.h"
#include "profile/files/system_file.h"

namespace memprof::profile {
namespace {

constexpr int kReading = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

int open_regular_file(const std::string& path, Links links, struct stat* status) {
  const int no_link = links == Links::kRefuse ? O_NOFOLLOW : 0;
  const Descriptor place(find_place(path, links == Links::kFollow));
  if (place.get() < 0 || fstat(place.get(), status) != 0) return -1;
  if (!S_ISREG(status->st_mode)) {
    errno = EINVAL;
    return -1;
  }
  Descriptor file(open_place(place.get(), kReading));
  if (file.get() >= 0 || errno != ENOENT) return file.release();
  // By its name again.
  Descriptor named(::open(path.c_str(), kReading | no_link));
  struct stat opened{};
  if (named.get() < 0 || fstat(named.get(), &opened) != 0) return -1;
  if (!is_same(opened, *status)) {
    errno = EINVAL;
    return -1;
  }
  return named.release();
}

bool read_at(int fd, uint64_t offset, void* to, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t got =
        pread(fd, static_cast<char*>(to) + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

bool is_trusted(const struct stat& status) {
  // A user's own group has nobody else in it, on most systems, and is let write by their usual umask.
  const bool is_own_group = status.st_gid == 0 || status.st_gid == getegid();
  const mode_t others = is_own_group ? S_IWOTH : S_IWGRP | S_IWOTH;
  return (status.st_uid == 0 || status.st_uid == geteuid()) && (status.st_mode & others) == 0;
}

}  // namespace memprof::profile
