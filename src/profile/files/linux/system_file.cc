// SPDX-License-Identifier: Apache-2.0
#include "profile/files/system_file.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace memprof::profile {
namespace {

std::string link_to(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

uint64_t unix_ns(const timespec& time) {
  return time.tv_sec < 0
             ? 0
             : static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

int find_place(const std::string& path, bool follows) {
  return ::open(path.c_str(), O_PATH | O_CLOEXEC | (follows ? 0 : O_NOFOLLOW));
}

int open_place(int place, int flags) {
  return ::open(link_to(place).c_str(), flags);
}

uint64_t written_unix_ns(const struct stat& status) {
  return unix_ns(status.st_mtim);
}

uint64_t changed_unix_ns(const struct stat& status) {
  return std::max(unix_ns(status.st_mtim), unix_ns(status.st_ctim));
}

std::string path_of_descriptor(int fd) {
  std::string path(PATH_MAX, '\0');
  const ssize_t size = readlink(link_to(fd).c_str(), path.data(), path.size());
  path.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return path;
}

bool find_own_program(struct stat* status) {
  return ::stat("/proc/self/exe", status) == 0;
}

int rename_to_new_name(const char* from, const char* to) {
  // By number: glibc has a function for it since 2.28 only.
  return ::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0 ? 0 : errno;
}

}  // namespace memprof::profile
