// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/loader_watch.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "platform/linux/inline_hooks/code/code_writer.h"
#include "platform/linux/inline_hooks/code/near_pages.h"
#include "platform/linux/inline_hooks/code/relocation.h"

namespace memprof::platform {
namespace {

#if defined(__x86_64__)
void (*g_changed)();
const r_debug* g_debug;

void on_loader_state() {
  if (g_debug->r_state == r_debug::RT_CONSISTENT) {
    g_changed();
  }
}

constexpr size_t kStubPage = 4096;

// mov $function, %rax; jmp *%rax
void write_stub(uint8_t* to, void (*function)()) {
  const auto address = reinterpret_cast<uint64_t>(function);
  to[0] = 0x48;
  to[1] = 0xb8;
  memcpy(to + 2, &address, sizeof(address));
  to[10] = 0x3e;
  to[11] = 0xff;
  to[12] = 0xe0;
}

constexpr uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
constexpr uint8_t kReturn[] = {0xc3};
constexpr uint8_t kLongReturn[] = {0xf3, 0xc3};

// The bytes of an empty function; 0: it is not empty.
size_t bytes_of_empty(const uint8_t* code) {
  const size_t entry = memcmp(code, kEndbr64, sizeof(kEndbr64)) == 0 ? sizeof(kEndbr64) : 0;
  return memcmp(code + entry, kReturn, sizeof(kReturn)) == 0           ? entry + sizeof(kReturn)
         : memcmp(code + entry, kLongReturn, sizeof(kLongReturn)) == 0 ? entry + sizeof(kLongReturn)
                                                                       : 0;
}

bool put_jump(uint64_t function) {
  const auto* code = reinterpret_cast<const uint8_t*>(function);
  const Relocation r = relocate(code, bytes_of_empty(code), function, function);
  const bool has_room = bytes_of_empty(code) != 0 && r.refusal == Refusal::kNone;
  void* page = has_room ? map_near(function, function, kStubPage) : nullptr;
  if (page == nullptr) {
    return false;
  }
  write_stub(static_cast<uint8_t*>(page), on_loader_state);
  const SignalsBlocked blocked;
  if (mprotect(page, kStubPage, PROT_READ | PROT_EXEC) == 0 &&
      write_jump(function + r.entry_bytes, reinterpret_cast<uint64_t>(page))) {
    return true;
  }
  munmap(page, kStubPage);
  return false;
}
#endif

}  // namespace

bool watch_loader([[maybe_unused]] void (*changed)()) {
#if defined(__x86_64__)
  g_debug = static_cast<const r_debug*>(dlsym(RTLD_DEFAULT, "_r_debug"));
  g_changed = changed;
  return g_debug != nullptr && g_debug->r_brk != 0 && put_jump(g_debug->r_brk);
#else
  return false;
#endif
}

}  // namespace memprof::platform
