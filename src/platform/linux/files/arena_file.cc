// SPDX-License-Identifier: Apache-2.0
// Files of the seam (platform/memory.h) that an arena lives in, for whom it writes.
//
// Model: a sparse file, of which pieces are mapped shared; the mapping keeps it, no descriptor does.  On a
// full file system the touch of a page raises SIGBUS, so each page is committed before the first access: by madvise,
// or, where the kernel does not know how, by an atomic "add nothing" that the kernel does for us and that
// fails where a touch would end the program.  Both leave alone what is in a page already.
//
// System calls, not functions of libc: none of them is a point where a thread is cancelled, and no library of
// the program stands in between.
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/arena/arena.h"
#include "format/files/arena_name.h"
#include "platform/linux/files/arena_file.h"
#include "platform/linux/files/write_signals.h"
#include "platform/linux/memory/sparse_pages.h"
#include "platform/memory.h"
#include "platform/process.h"

namespace memprof::platform {
namespace {

constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14

class Descriptor {
 public:
  Descriptor(const char* path, int flags)
      : fd_(syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0600)) {}
  ~Descriptor() {
    if (fd_ >= 0) {
      syscall(SYS_close, fd_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return static_cast<int>(fd_); }

 private:
  long fd_;
};

// true: the page has its memory.
bool commit_page(uint8_t* page) {
  uint32_t mine = 0;
  constexpr int kAddNothing = FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0);
  return syscall(SYS_futex, &mine, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, nullptr, page, kAddNothing) >= 0;
}

}  // namespace

const char* arena_folder() {
  if (is_privileged()) {
    return "";
  }
  return usual_arena_folder(access(kSharedMemoryFolder, W_OK | X_OK) == 0, environment("TMPDIR"));
}

void* map_pieces(const char* path, size_t size_bytes, const Piece* pieces, uint32_t count) {
  if (path != nullptr && is_privileged()) {
    errno = EPERM;  // the file may belong to the user who started the process
    return nullptr;
  }
  if (path == nullptr) {
    return place_pieces(-1, size_bytes, pieces, count);
  }
  const WriteSignalsHeld held;
  const Descriptor file(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW);
  if (file.get() < 0) {
    return nullptr;
  }
  void* start = nullptr;
  if (syscall(SYS_fchmod, file.get(), 0600) == 0 &&
      syscall(SYS_ftruncate, file.get(), size_bytes) == 0) {  // whatever the umask
    start = place_pieces(file.get(), size_bytes, pieces, count);
  }
  if (start == nullptr) {
    const int error = errno;
    syscall(SYS_unlinkat, AT_FDCWD, path, 0);
    errno = error;
  }
  return start;
}

bool commit_pages(void* start, size_t size_bytes) {
  if (madvise(start, size_bytes, kPopulateWrite) == 0) {
    return true;
  }
  return errno == EINVAL && commit_pages_singly(start, size_bytes);
}

void drop_pages(void* start, size_t size_bytes) {
  madvise(start, size_bytes, MADV_REMOVE);
}

bool commit_pages_singly(void* start, size_t size_bytes) {
  uint8_t* const first = static_cast<uint8_t*>(start);
  for (size_t offset = 0; offset < size_bytes; offset += kPageBytes) {
    if (!commit_page(first + offset)) {
      return false;
    }
  }
  return true;
}

}  // namespace memprof::platform
