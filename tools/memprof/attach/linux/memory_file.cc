// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/memory_file.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "memprof/console/console.h"
#include "memprof/host/linux/process/proc_path.h"

namespace memprof::cli {
namespace {

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags) : fd_(open(path.c_str(), flags | O_CLOEXEC)) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

// The errno, or 0.
int copy_and_seal(int from, int to) {
  const int error = copy_file(from, to);
  if (error != 0) return error;
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  return fcntl(to, F_ADD_SEALS, kSeals) == 0 ? 0 : errno;
}

}  // namespace

int copy_file(int from, int to) {
  struct stat facts{};
  if (fstat(from, &facts) != 0) return errno;
  off_t at = 0;
  while (at < facts.st_size) {
    const ssize_t sent = sendfile(to, from, &at, static_cast<size_t>(facts.st_size - at));
    if (sent < 0) return errno;
    if (sent == 0) return EIO;
  }
  return 0;
}

bool sees_file(uint64_t pid, const std::string& path) {
  struct stat ours{};
  struct stat its{};
  return stat(path.c_str(), &ours) == 0 && stat((proc_path(pid, "root") + path).c_str(), &its) == 0 &&
         ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
}

std::string fill_memory_file(uint64_t pid, int64_t fd, const std::string& library) {
  const Descriptor to(proc_path(pid, "fd/" + std::to_string(fd)), O_RDWR);
  if (to.get() < 0) return "the memory file that it made cannot be opened: " + error_text(errno);
  const Descriptor from(library, O_RDONLY);
  if (from.get() < 0) return library + ": cannot read it: " + error_text(errno);
  const int error = copy_and_seal(from.get(), to.get());
  return error == 0 ? "" : "memprof's library could not be copied into it: " + error_text(error);
}

}  // namespace memprof::cli
