// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/code/callback_stub.h"

#include <cstring>

#include "platform/linux/inline_hooks/code/register_gate.h"
#include "unwind/walk/call_site.h"

namespace memprof::platform {
namespace {

constexpr uint8_t kReturn[] = {0xc3};
constexpr uint8_t kLongReturn[] = {0xf3, 0xc3};

}  // namespace

size_t bytes_of_empty(const uint8_t* code) {
  const size_t entry = unwind::entry_mark_bytes(code);
  return memcmp(code + entry, kReturn, sizeof(kReturn)) == 0           ? entry + sizeof(kReturn)
         : memcmp(code + entry, kLongReturn, sizeof(kLongReturn)) == 0 ? entry + sizeof(kLongReturn)
                                                                       : 0;
}

// mov %rax, place(%rsp); mov $function, %rax; jmp *gate(%rip), where the gate's address is behind it: a loader's own code may
// know that the function is empty, and what registers it leaves alone.
void write_callback_stub(uint8_t* to, void (*function)(), uint64_t gate) {
  const auto address = reinterpret_cast<uint64_t>(function);
  const uint8_t code[] = {0x48, 0x89, 0x44, 0x24, static_cast<uint8_t>(kSavedRax), 0x48, 0xb8};
  memcpy(to, code, sizeof(code));
  memcpy(to + sizeof(code), &address, sizeof(address));
  const uint8_t jump[] = {0x3e, 0xff, 0x25, 0, 0, 0, 0};
  uint8_t* at = to + sizeof(code) + sizeof(address);
  memcpy(at, jump, sizeof(jump));
  memcpy(at + sizeof(jump), &gate, sizeof(gate));
}

}  // namespace memprof::platform
