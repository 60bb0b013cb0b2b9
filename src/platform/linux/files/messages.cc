// SPDX-License-Identifier: Apache-2.0
// Messages of the seam (platform/messages.h), by system calls as files.cc.
//
// Model: descriptor 2 is standard error when the program begins.  A program may close it, and the next file that it
// opens has its number then: a line of ours would be written into its data.  So what it was is remembered when this
// library is loaded, and a line goes there only while it still is that.
//
// Threads: any; remembered by who is first, before the program can change it.  Between the look and the write another
// thread can change it still.
#include "platform/messages.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "platform/linux/files/write_signals.h"
#include "platform/posix/message_pieces.h"
#include "platform/process.h"

namespace memprof::platform {
namespace {

// Which file a descriptor stands for.
struct Identity {
  uint64_t device;
  uint64_t node;
  uint64_t kind;  // and of a device which one; 0: it is closed
};

Identity identity_of(int descriptor) {
  struct stat status;
  if (syscall(SYS_fstat, descriptor, &status) != 0) {
    return {0, 0, 0};
  }
  return {status.st_dev, status.st_ino, (status.st_mode & S_IFMT) | uint64_t{status.st_rdev} << 16};
}

bool is_same(const Identity& a, const Identity& b) {
  return a.kind != 0 && a.device == b.device && a.node == b.node && a.kind == b.kind;
}

enum : int { kUnknown, kBusy, kRemembered, kDoubted };
std::atomic<int> g_state{kUnknown};  // release after g_error is written; read acquire
Identity g_error;

void remember_once() {
  int unknown = kUnknown;
  if (g_state.compare_exchange_strong(unknown, kBusy, std::memory_order_relaxed)) {
    g_error = identity_of(STDERR_FILENO);
    g_state.store(kRemembered, std::memory_order_release);
  }
}

__attribute__((constructor)) void on_load() {
  const int saved_errno = errno;
  remember_once();
  errno = saved_errno;
}

bool is_standard_error() {
  const Identity now = identity_of(STDERR_FILENO);
  switch (g_state.load(std::memory_order_acquire)) {
    case kRemembered:
      return is_same(now, g_error);
    case kDoubted:
      return (now.kind & S_IFMT) == S_IFCHR || is_same(now, identity_of(STDOUT_FILENO));
    default:
      return false;
  }
}

}  // namespace

void remember_standard_error() {
  g_state.store(kUnknown, std::memory_order_relaxed);
  remember_once();
}

void doubt_standard_error() {
  g_state.store(kDoubted, std::memory_order_relaxed);
}

void message(const char* const* parts) {
  if (is_sandboxed()) {
    return;  // the program may write, but not by these calls
  }
  const MessagePieces pieces(parts);
  const int saved_errno = errno;
  remember_once();  // a library that is initialised before this one has allocated
  if (is_standard_error()) {
    const WriteSignalsHeld held;
    const long ignored =
        syscall(SYS_writev, STDERR_FILENO, pieces.data(), pieces.count());  // nobody is left to tell
    static_cast<void>(ignored);
  }
  errno = saved_errno;
}

}  // namespace memprof::platform
