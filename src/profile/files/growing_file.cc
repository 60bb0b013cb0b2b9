// SPDX-License-Identifier: Apache-2.0
#include "profile/files/growing_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace memprof::profile {

GrowingFile::GrowingFile(std::string path, std::string_view beginning, IfExists if_exists)
    : path_(std::move(path)) {
  write_file_atomically(path_, beginning, if_exists);
  size_ = beginning.size();
  open_at_end();
}

namespace {

struct flock whole_file(short type) {
  struct flock lock{};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

GrowingFile::~GrowingFile() {
  if (fd_ >= 0) ::close(fd_);
}

void GrowingFile::open_at_end() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (fd_ < 0) throw Error(path_ + ": cannot write it: " + std::strerror(errno));
  // Where that fails, readers take the file for one that does not grow.
  struct flock lock = whole_file(F_WRLCK);
  static_cast<void>(::fcntl(fd_, F_OFD_SETLK, &lock));
}

void GrowingFile::append(std::string_view piece) {
  size_t written = 0;
  while (written < piece.size()) {
    const ssize_t count = ::write(fd_, piece.data() + written, piece.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      const int error = count < 0 ? errno : ENOSPC;
      // What is left of the piece; where that fails, readers leave it out.
      static_cast<void>(!::ftruncate(fd_, static_cast<off_t>(size_)));
      throw Error(path_ + ": cannot write it: " + std::strerror(error));
    }
    written += static_cast<size_t>(count);
  }
  size_ += piece.size();
}

void GrowingFile::replace(std::string_view content) {
  write_file_atomically(path_, content, IfExists::kReplace);
  size_ = content.size();
  open_at_end();
}

bool is_growing(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  struct flock lock = whole_file(F_RDLCK);
  const bool is_locked = ::fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  ::close(fd);
  return is_locked;
}

}  // namespace memprof::profile
