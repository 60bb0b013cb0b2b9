// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/kept_arena.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

// An arena is mostly holes.  Returns 0, or the errno.
int copy_data(int from, int to, off_t size) {
  std::vector<char> buffer(size_t{1} << 20);
  if (ftruncate(to, size) != 0) return errno;
  for (off_t at = lseek(from, 0, SEEK_DATA); at >= 0 && at < size; at = lseek(from, at, SEEK_DATA)) {
    const off_t end = lseek(from, at, SEEK_HOLE);
    while (at < end) {
      const ssize_t got =
          pread(from, buffer.data(), std::min<size_t>(buffer.size(), static_cast<size_t>(end - at)), at);
      if (got <= 0) return got < 0 ? errno : EIO;
      if (pwrite(to, buffer.data(), static_cast<size_t>(got), at) != got) return errno != 0 ? errno : EIO;
      at += got;
    }
  }
  return 0;
}

}  // namespace

KeptArena::KeptArena(std::string path)
    : path_(std::move(path)), file_(open(path_.c_str(), O_RDONLY | O_CLOEXEC)) {}

KeptArena::~KeptArena() {
  if (file_ >= 0) close(file_);
}

bool KeptArena::is_replaced() const {
  struct stat kept{};
  struct stat there{};
  return file_ >= 0 && fstat(file_, &kept) == 0 && stat(path_.c_str(), &there) == 0 &&
         (kept.st_ino != there.st_ino || kept.st_dev != there.st_dev);
}

std::string KeptArena::copy() {
  if (!copy_.empty()) return copy_;
  folder_.emplace();
  const std::string path = folder_->path() + path_.substr(path_.rfind('/'));
  const int to = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  struct stat facts{};
  int error = to < 0 || fstat(file_, &facts) != 0 ? errno : 0;
  if (error == 0) error = copy_data(file_, to, facts.st_size);
  if (to >= 0) close(to);
  if (error != 0)
    throw Failure(path + ": the data of the process could not be kept: " + error_text(error), 1);
  return copy_ = path;
}

}  // namespace memprof::cli
