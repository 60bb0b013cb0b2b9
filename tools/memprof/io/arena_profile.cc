// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/arena_profile.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <optional>

#include "format/files/arena_name.h"
#include "memprof.h"
#include "memprof/console/console.h"
#include "memprof/host/process/arena_files.h"
#include "memprof/host/system/memory_file.h"
#include "profile/model/error.h"

namespace memprof::cli {
namespace {

struct FreeSnapshot {
  void operator()(memprof_snapshot* snapshot) const { memprof_free_snapshot(snapshot); }
};

class MemoryFile {
 public:
  MemoryFile() : fd_(make_memory_file()) {}
  ~MemoryFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  int fd() const { return fd_; }

  // Mapped, not copied: of a large arena it is hundreds of megabytes.  Nothing: it cannot be mapped.
  std::optional<ProfileBytes> content() const {
    const off_t size = lseek(fd_, 0, SEEK_END);
    if (size <= 0) return std::nullopt;
    const auto bytes = static_cast<size_t>(size);
    void* const pages = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd_, 0);
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

ArenaContent read_arena(const std::string& path, ResidentReads* resident) {
  memprof_snapshot* opened = nullptr;
  if (const int error = memprof_snapshot_open(path.c_str(), &opened); error != MEMPROF_OK) fail(path, error);
  const std::unique_ptr<memprof_snapshot, FreeSnapshot> snapshot(opened);
  memprof_snapshot_info info{};
  info.struct_size = sizeof(info);
  int error = memprof_snapshot_get_info(opened, &info);
  const MemoryFile file;
  if (error == MEMPROF_OK && info.end_ns == 0 && resident != nullptr) read_resident(opened, resident);
  if (error == MEMPROF_OK) {
    error = file.fd() >= 0 ? memprof_snapshot_write_fd(opened, file.fd()) : MEMPROF_ERR_SYSTEM;
  }
  if (error != MEMPROF_OK) fail(path, error);
  std::optional<ProfileBytes> content = file.content();
  if (!content) fail(path, MEMPROF_ERR_NO_MEMORY);
  return {std::move(*content), info.end_ns != 0, info.start_ns};
}

bool is_arena_path(const std::string& path) {
  constexpr size_t kLength = sizeof(kArenaSuffix) - 1;
  return path.size() > kLength && path.compare(path.size() - kLength, kLength, kArenaSuffix) == 0;
}

}  // namespace memprof::cli
