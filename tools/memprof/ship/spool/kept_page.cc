// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/spool/kept_page.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"

namespace memprof::cli {

KeptPage::KeptPage(std::string path) : path_(std::move(path)) {
  fd_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  struct stat facts{};
  if (fd_ < 0 || fstat(fd_, &facts) != 0) {
    const int error = errno;
    if (fd_ >= 0) close(fd_);
    throw Failure(path_ + ": cannot open it: " + error_text(error));
  }
  if (!S_ISREG(facts.st_mode)) {
    close(fd_);
    throw Failure(path_ + ": is no regular file");
  }
  // The room for all that is ever written.
  if (facts.st_size == 0 && !write("")) {
    const int error = errno;
    close(fd_);
    throw Failure(path_ + ": cannot write it: " + error_text(error));
  }
}

KeptPage::~KeptPage() {
  close(fd_);
}

bool KeptPage::lock() {
  return flock(fd_, LOCK_EX | LOCK_NB) == 0;
}

std::string KeptPage::read() const {
  std::string text(kBytes, ' ');
  const ssize_t got = pread(fd_, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  text.erase(text.find_last_not_of(std::string(" \n\0", 3)) + 1);
  return text;
}

bool KeptPage::write(std::string_view text) {
  if (text.size() >= kBytes) {
    errno = EFBIG;
    return false;
  }
  std::string page(text);
  page.resize(kBytes - 1, ' ');
  page += '\n';
  return pwrite(fd_, page.data(), page.size(), 0) == static_cast<ssize_t>(page.size());
}

}  // namespace memprof::cli
