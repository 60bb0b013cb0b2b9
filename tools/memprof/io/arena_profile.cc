// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/arena_profile.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "format/files/arena_name.h"
#include "memprof/console/console.h"
#include "memprof/host/process/arena_files.h"
#include "memprof/host/system/memory_file.h"
#include "profile/model/error.h"

namespace memprof::cli {
namespace {

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int fd() const { return fd_; }

  // Mapped, not copied: of a large arena it is hundreds of megabytes.  Nothing: it cannot be mapped.
  std::optional<ProfileBytes> content(int flags) const {
    const off_t size = lseek(fd_, 0, SEEK_END);
    if (size <= 0) return std::nullopt;
    const auto bytes = static_cast<size_t>(size);
    void* const pages = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | flags, fd_, 0);
    if (pages == MAP_FAILED) return std::nullopt;
    return ProfileBytes(pages, bytes);
  }

 private:
  int fd_;
};

// Where it cannot be read, the profile does without.
void read_resident(memprof_snapshot* snapshot, ResidentReads* reads) {
  using Clock = std::chrono::steady_clock;
  constexpr int kPause = 50;
  const auto before = Clock::now();
  if (before < reads->next && !reads->is_always) return;
  static_cast<void>(memprof_snapshot_read_resident(snapshot, static_cast<uint32_t>(reads->pid)));
  const auto now = Clock::now();
  reads->next = now + kPause * (now - before);
}

[[noreturn]] void fail(const std::string& path, int error) {
  const int system = errno;
  if (error == MEMPROF_ERR_FORMAT && is_arena_path(path) && !is_begun(path)) {
    throw profile::Error(path +
                         ": nothing was recorded: its process has only started, or was killed while starting "
                         "(memprof list shows which; memprof clean removes the file)");
  }
  if (error == MEMPROF_ERR_SYSTEM && system == EINVAL) throw profile::Error(path + ": not a regular file");
  throw profile::Error(path + ": " +
                       (error == MEMPROF_ERR_SYSTEM ? error_text(system) : memprof_strerror(error)));
}

}  // namespace

ProfileBytes::~ProfileBytes() {
  if (pages_ != nullptr) munmap(const_cast<void*>(pages_), size_);
}

ProfileBytes map_profile(const std::string& path) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::optional<ProfileBytes> content;
  if (file.fd() >= 0) content = file.content(0);
  if (!content) throw profile::Error(path + ": cannot read it: " + error_text(errno));
  return std::move(*content);
}

OpenSnapshot open_arena(const std::string& path) {
  memprof_snapshot* opened = nullptr;
  if (const int error = memprof_snapshot_open(path.c_str(), &opened); error != MEMPROF_OK) fail(path, error);
  return OpenSnapshot(opened);
}

ArenaFacts write_arena(const std::string& path, int fd, ResidentReads* resident) {
  const OpenSnapshot snapshot = open_arena(path);
  memprof_snapshot_info info{};
  info.struct_size = sizeof(info);
  int error = memprof_snapshot_get_info(snapshot.get(), &info);
  if (error == MEMPROF_OK && info.end_ns == 0 && resident != nullptr) read_resident(snapshot.get(), resident);
  if (error == MEMPROF_OK)
    error = fd >= 0 ? memprof_snapshot_write_fd(snapshot.get(), fd) : MEMPROF_ERR_SYSTEM;
  if (error != MEMPROF_OK) fail(path, error);
  return {info.end_ns != 0, info.start_ns};
}

ArenaContent read_arena(const std::string& path, ResidentReads* resident) {
  const File file(make_memory_file());
  const ArenaFacts facts = write_arena(path, file.fd(), resident);
  std::optional<ProfileBytes> content = file.content(MAP_POPULATE);
  if (!content) fail(path, MEMPROF_ERR_NO_MEMORY);
  return {facts, std::move(*content)};
}

bool is_arena_path(const std::string& path) {
  constexpr size_t kLength = sizeof(kArenaSuffix) - 1;
  return path.size() > kLength && path.compare(path.size() - kLength, kLength, kArenaSuffix) == 0;
}

}  // namespace memprof::cli
