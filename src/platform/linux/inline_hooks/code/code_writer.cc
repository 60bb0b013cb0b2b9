// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/code/code_writer.h"
#include "platform/memory_areas.h"

#include <string.h>
#include <sys/mman.h>

namespace memprof::platform {
namespace {}  // namespace

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() {
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

void encode_jump(uint64_t at, uint64_t target, uint8_t (&jump)[kJumpBytes]) {
  const auto distance = static_cast<int32_t>(target - (at + kJumpBytes));
  jump[0] = 0xe9;
  memcpy(jump + 1, &distance, sizeof(distance));
}

bool write_jump(uint64_t at, uint64_t target) {
  uint8_t jump[kJumpBytes];
  encode_jump(at, target, jump);
  const uint64_t start = at & ~(kSmallestPage - 1);
  const uint64_t bytes = ((at + kJumpBytes + kSmallestPage - 1) & ~(kSmallestPage - 1)) - start;
  auto* pages = reinterpret_cast<void*>(start);
  // Executable all the while: a policy that does not let changed code be executed refuses here, before it is changed.
  if (mprotect(pages, bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
    return false;
  }
  memcpy(reinterpret_cast<void*>(at), jump, sizeof(jump));
  mprotect(pages, bytes, PROT_READ | PROT_EXEC);  // where it fails, it stays writable
  return true;
}

}  // namespace memprof::platform
