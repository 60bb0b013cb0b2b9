// SPDX-License-Identifier: Apache-2.0
#include "profile/files/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "profile/files/system_file.h"

namespace memprof::profile {
namespace {

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) {
    return ".";
  }
  return slash == 0 ? "/" : path.substr(0, slash);
}

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw Error(fmt::format("{}: {}", path, why));
}

[[noreturn]] void fail_with_errno(const std::string& path, int error) {
  switch (error) {
    case ENOENT:
      fail(path, fmt::format("cannot write it: the folder {} does not exist", folder_of(path)));
    case ENOTDIR:
      fail(path, fmt::format("cannot write it: {} is not a folder", folder_of(path)));
    case EACCES:
    case EPERM:
    case EROFS:
      fail(path, fmt::format("cannot write it: no permission to write in {} ({})", folder_of(path),
                             std::strerror(error)));
    case ENOSPC:
    case EDQUOT:
      fail(path, fmt::format("cannot write it: the disk is full ({})", std::strerror(error)));
    default:
      fail(path, fmt::format("cannot write it: {}", std::strerror(error)));
  }
}

[[noreturn]] void fail_exists(const std::string& path) {
  fail(path, "file already exists; --force replaces it, or choose another name");
}

// Symbolic links followed; the path itself where it is not there.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real != nullptr ? real.get() : path;
}

// Gives `from` the name `to`, which must not be there.  0 or an errno.
int rename_to_new(const char* from, const char* to) {
  const int failed = rename_to_new_name(from, to);
  if (failed != EINVAL && failed != ENOSYS) {
    return failed;
  }
  // A name that is made exclusively is ours to replace.
  const int claim = ::open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (claim < 0) {
    return errno;
  }
  ::close(claim);
  if (::rename(from, to) == 0) {
    return 0;
  }
  const int error = errno;
  ::unlink(to);
  return error;
}

}  // namespace

AtomicFile::AtomicFile(std::string path, IfExists if_exists)
    : path_(std::move(path)), target_(resolved(path_)), if_exists_(if_exists) {
  struct stat status{};
  if (path_.empty()) {
    fail("(empty path)", "cannot write it: a file name is needed");
  }
  if (::stat(path_.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) {
      fail(path_, "cannot write it: it is a folder");
    }
    if (!S_ISREG(status.st_mode)) {
      fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
      if (fd_ < 0) {
        fail_with_errno(path_, errno);
      }
      return;
    }
    if (if_exists_ == IfExists::kRefuse) {
      fail_exists(path_);
    }
  } else if (path_.back() == '/') {
    fail(path_, "cannot write it: it names a folder");
  } else if (::lstat(path_.c_str(), &status) == 0) {
    fail(path_, "cannot write it: it is a symbolic link to nothing");
  }
  // A short name of its own: the target's may be as long as names can be.
  std::string name = folder_of(target_) + "/.memprof-XXXXXX";
  fd_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (fd_ < 0) {
    fail_with_errno(path_, errno);
  }
  temporary_ = std::move(name);
}

AtomicFile::~AtomicFile() {
  discard();
}

void AtomicFile::discard() noexcept {
  if (fd_ >= 0) {
    ::close(fd_);
    fd_ = -1;
  }
  if (!temporary_.empty()) {
    ::unlink(temporary_.c_str());
    temporary_.clear();
  }
}

void AtomicFile::write(std::string_view data) {
  while (!data.empty()) {
    const ssize_t written = ::write(fd_, data.data(), data.size());
    if (written < 0) {
      const int error = errno;
      if (error == EINTR) {
        continue;
      }
      discard();
      fail_with_errno(path_, error);
    }
    data.remove_prefix(static_cast<size_t>(written));
  }
}

Sink AtomicFile::sink() {
  return {[](void* context, const void* data, size_t size) {
            static_cast<AtomicFile*>(context)->write({static_cast<const char*>(data), size});
            return true;
          },
          this};
}

void AtomicFile::commit() {
  const int closed = ::close(fd_);
  const int close_error = errno;
  fd_ = -1;
  if (closed != 0 && close_error != EINTR) {  // some file systems say only now that the disk is full
    discard();
    fail_with_errno(path_, close_error);
  }
  if (temporary_.empty()) {
    return;
  }
  int error = 0;
  if (if_exists_ == IfExists::kRefuse) {
    error = rename_to_new(temporary_.c_str(), target_.c_str());
  } else if (::rename(temporary_.c_str(), target_.c_str()) != 0) {
    error = errno;
  }
  if (error != 0) {
    discard();
    if (error == EEXIST) {
      fail_exists(path_);
    }
    fail_with_errno(path_, error);
  }
  temporary_.clear();
}

void write_file_atomically(const std::string& path, std::string_view data, IfExists if_exists) {
  AtomicFile file(path, if_exists);
  file.write(data);
  file.commit();
}

}  // namespace memprof::profile
