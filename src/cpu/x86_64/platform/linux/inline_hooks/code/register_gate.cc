// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/code/register_gate.h"

#include <cpuid.h>

#include "core/hooks/hook.h"
#include "format/hash.h"

namespace memprof::platform {
namespace {

constexpr uint32_t kRooms = 64;
// x87, SSE, AVX, AVX-512 (masks, upper halves, upper registers), APX: 2688.
constexpr size_t kAreaBytes = 2752;
constexpr uint32_t kX87AndSse = 0x3;
constexpr uint32_t kAvx = 0x4;
// AVX-512 and APX.  Not: bounds (no kernel has them any more), protection keys, tiles (nothing of ours changes them).
constexpr uint32_t kWanted = kX87AndSse | kAvx | 0xe0 | 1u << 19;

struct alignas(64) Room {
  uint8_t area[kAreaBytes];  // what XSAVE does not write of its header stays 0
  uint32_t is_taken;
};
Room g_rooms[kRooms];

constexpr uint32_t kLegacyBytes = 512;
constexpr uint32_t kHeaderBytes = 64;

uint64_t enabled_components() {
  uint32_t low;
  uint32_t high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

// In the form with fixed places, which is never the shorter one.
uint32_t bytes_of(uint32_t components) {
  uint32_t bytes = kLegacyBytes + kHeaderBytes;
  for (uint32_t i = 2; i < 32; ++i) {
    uint32_t size = 0;
    uint32_t offset = 0;
    uint32_t c;
    uint32_t d;
    if ((components >> i & 1) != 0 && __get_cpuid_count(0xd, i, &size, &offset, &c, &d) != 0) {
      bytes = offset + size > bytes ? offset + size : bytes;
    }
  }
  return bytes;
}

static_assert(offsetof(GatedCall, frame) == kGateFrameBytes && kGateFrameBytes % 16 == 0);
static_assert(offsetof(GatedCall, at_entry) == 112 && offsetof(GatedCall, at_return) == 184);
static_assert(offsetof(GatedCall, original) == 256 && offsetof(GatedCall, room) == 264);
static_assert(offsetof(GatedCall, site) == 272 && offsetof(GatedCall, entry_rax) == 280);
static_assert(kX87AndSse == 3 && kAvx == 4 && kAreaBytes == 2752);

}  // namespace

// What the assembly below goes by.
extern "C" {
enum : uint32_t { kByFxsave, kByXsave, kByXsavec };
[[gnu::visibility("hidden")]] uint32_t memprof_gate_way = kByFxsave;
[[gnu::visibility("hidden")]] uint32_t memprof_gate_components = kX87AndSse;
[[gnu::visibility("hidden")]] uint32_t memprof_gate_mxcsr = 0x1f80;  // as a thread begins
[[gnu::visibility("hidden")]] GateHandlers memprof_gate_handlers = {};

// clang-format off
// What sanitizers would call may change any register.
#if defined(__clang__)
#define MEMPROF_PLAIN __attribute__((disable_sanitizer_instrumentation, noinline, used, visibility("hidden")))
#else
#define MEMPROF_PLAIN __attribute__((no_sanitize("address", "thread", "undefined"), noinline, used, visibility("hidden")))
#endif
#define MEMPROF_GATE MEMPROF_HOOK MEMPROF_PLAIN __attribute__((naked))

// Both run while the registers of vectors hold the program's values.
#define MEMPROF_NO_VECTORS MEMPROF_PLAIN __attribute__((target("general-regs-only")))

// nullptr: all are taken.
MEMPROF_NO_VECTORS void* memprof_gate_take_room() {
  uint64_t thread;
  asm("movq %%fs:0, %0" : "=r"(thread));
  const uint64_t first = thread * kGolden >> 58;
  for (uint64_t i = 0; i < kRooms; ++i) {
    Room& room = g_rooms[(first + i) % kRooms];
    if (__atomic_load_n(&room.is_taken, __ATOMIC_RELAXED) == 0 &&
        __atomic_exchange_n(&room.is_taken, 1, __ATOMIC_ACQUIRE) == 0) {
      return room.area;
    }
  }
  return nullptr;
}

MEMPROF_NO_VECTORS void memprof_gate_give_room(void* area) {
  const uint64_t offset = reinterpret_cast<uint64_t>(area) - reinterpret_cast<uint64_t>(g_rooms);
  if (offset < sizeof(g_rooms)) {
    __atomic_store_n(&g_rooms[offset / sizeof(Room)].is_taken, 0, __ATOMIC_RELEASE);
  }
}

// rbp points at GatedCall::frame; see the static_asserts.
#define MEMPROF_SAVE_REGISTERS(at)        \
  "movq %rdi, " #at "(%rbp)\n\t"          \
  "movq %rsi, " #at "+8(%rbp)\n\t"        \
  "movq %rdx, " #at "+16(%rbp)\n\t"       \
  "movq %rcx, " #at "+24(%rbp)\n\t"       \
  "movq %r8, " #at "+32(%rbp)\n\t"        \
  "movq %r9, " #at "+40(%rbp)\n\t"        \
  "movq %r10, " #at "+48(%rbp)\n\t"       \
  "movq %r11, " #at "+56(%rbp)\n\t"       \
  "pushfq\n\t"                            \
  "popq " #at "+64(%rbp)\n\t"             \
  "cld\n\t"

// Of the flags, only the direction is anybody's.  POPF would take longer than all the rest.
#define MEMPROF_RESTORE_REGISTERS(at)     \
  "testl $0x400, " #at "+64(%rbp)\n\t"    \
  "je 9f\n\t"                             \
  "std\n"                                \
  "9:\n\t"                                \
  "movq " #at "(%rbp), %rdi\n\t"          \
  "movq " #at "+8(%rbp), %rsi\n\t"        \
  "movq " #at "+16(%rbp), %rdx\n\t"       \
  "movq " #at "+24(%rbp), %rcx\n\t"       \
  "movq " #at "+32(%rbp), %r8\n\t"        \
  "movq " #at "+40(%rbp), %r9\n\t"        \
  "movq " #at "+48(%rbp), %r10\n\t"       \
  "movq " #at "+56(%rbp), %r11\n\t"

#define MEMPROF_AT_ENTRY -176
#define MEMPROF_AT_RETURN -104
#define MEMPROF_SAVE(at) MEMPROF_SAVE_REGISTERS(at)
#define MEMPROF_RESTORE(at) MEMPROF_RESTORE_REGISTERS(at)

// Leaves rsp aligned to 16.  A part of the stack that stands in for a room has its header cleared; a room's always is.
#define MEMPROF_SAVE_VECTORS              \
  "andq $-16, %rsp\n\t"                   \
  "call memprof_gate_take_room\n\t"       \
  "testq %rax, %rax\n\t"                  \
  "jne 1f\n\t"                            \
  "subq $2752, %rsp\n\t"                  \
  "andq $-64, %rsp\n\t"                   \
  "leaq 512(%rsp), %rdi\n\t"              \
  "movl $8, %ecx\n\t"                     \
  "rep stosq\n\t"                         \
  "movq %rsp, %rax\n"                     \
  "1:\n\t"                                \
  "movq %rax, -24(%rbp)\n\t"              \
  "movq %rax, %rdi\n\t"                   \
  "movl memprof_gate_components(%rip), %eax\n\t" \
  "xorl %edx, %edx\n\t"                   \
  "cmpl $1, memprof_gate_way(%rip)\n\t"   \
  "jb 2f\n\t"                             \
  "je 3f\n\t"                             \
  "xsavec64 (%rdi)\n\t"                   \
  "jmp 4f\n"                              \
  "2:\n\t"                                \
  "fxsave64 (%rdi)\n\t"                   \
  "jmp 5f\n"                              \
  "3:\n\t"                                \
  "xsave64 (%rdi)\n"                      \
  "4:\n\t"                                \
  "testb $4, %al\n\t"                     \
  "je 5f\n\t"                             \
  "vzeroupper\n"                          \
  "5:\n\t"                                \
  "ldmxcsr memprof_gate_mxcsr(%rip)\n\t"

// What was taken of the stack is given back, too.
#define MEMPROF_RESTORE_VECTORS           \
  "movq -24(%rbp), %rdi\n\t"              \
  "movl memprof_gate_components(%rip), %eax\n\t" \
  "xorl %edx, %edx\n\t"                   \
  "cmpl $0, memprof_gate_way(%rip)\n\t"   \
  "je 1f\n\t"                             \
  "xrstor64 (%rdi)\n\t"                   \
  "jmp 2f\n"                              \
  "1:\n\t"                                \
  "fxrstor64 (%rdi)\n"                    \
  "2:\n\t"                                \
  "call memprof_gate_give_room\n\t"       \
  "leaq -288(%rbp), %rsp\n\t"

#define MEMPROF_ENTER                     \
  "endbr64\n\t"                           \
  "pushq %rbp\n\t"                        \
  ".cfi_def_cfa_offset 16\n\t"            \
  ".cfi_offset %rbp, -16\n\t"             \
  "movq %rsp, %rbp\n\t"                   \
  ".cfi_def_cfa_register %rbp\n\t"        \
  "subq $288, %rsp\n\t"                   \
  "movq %rax, -16(%rbp)\n\t"              \
  MEMPROF_SAVE(MEMPROF_AT_ENTRY)

#define MEMPROF_CALL_HANDLER(offset)      \
  "leaq -288(%rbp), %rdi\n\t"             \
  "andq $-16, %rsp\n\t"                   \
  "call *memprof_gate_handlers+" #offset "(%rip)\n\t"

// The original's address lies in the red zone when it is jumped to.
MEMPROF_GATE void memprof_gate_of_functions() {
  asm(MEMPROF_ENTER
      MEMPROF_CALL_HANDLER(0)
      "cmpl $1, %eax\n\t"
      "je 7f\n\t"
      "jb 6f\n\t"
      MEMPROF_SAVE_VECTORS
      MEMPROF_CALL_HANDLER(16)
      "movl %eax, -40(%rbp)\n\t"  // in at_return, which is not used yet
      MEMPROF_RESTORE_VECTORS
      "cmpb $0, -40(%rbp)\n\t"
      "jne 7f\n"
      "6:\n\t"
      MEMPROF_RESTORE(MEMPROF_AT_ENTRY)
      "movq -8(%rbp), %rax\n\t"
      ".cfi_remember_state\n\t"
      "leave\n\t"
      ".cfi_def_cfa %rsp, 8\n\t"
      "notrack jmp *-40(%rsp)\n"
      "7:\n\t"
      ".cfi_restore_state\n\t"
      "andq $-16, %rsp\n\t"
      // A function whose callers know that may change rbp.  Not where one that is no allocator has arguments on the stack.
      "subq $80, %rsp\n\t"
      "movq %rbp, 64(%rsp)\n\t"
      MEMPROF_RESTORE(MEMPROF_AT_ENTRY)
      "movq -8(%rbp), %rax\n\t"
      "notrack call *-32(%rbp)\n\t"
      "movq 64(%rsp), %rbp\n\t"
      "movq %rax, -32(%rbp)\n\t"
      MEMPROF_SAVE(MEMPROF_AT_RETURN)
      MEMPROF_CALL_HANDLER(8)
      "testb %al, %al\n\t"
      "je 8f\n\t"
      MEMPROF_SAVE_VECTORS
      MEMPROF_CALL_HANDLER(24)
      MEMPROF_RESTORE_VECTORS
      "8:\n\t"
      MEMPROF_RESTORE(MEMPROF_AT_RETURN)
      "movq -32(%rbp), %rax\n\t"
      "leave\n\t"
      ".cfi_def_cfa %rsp, 8\n\t"
      "ret\n\t");
}

MEMPROF_GATE void memprof_gate_of_callbacks() {
  asm(MEMPROF_ENTER
      MEMPROF_SAVE_VECTORS
      "call *-16(%rbp)\n\t"
      MEMPROF_RESTORE_VECTORS
      MEMPROF_RESTORE(MEMPROF_AT_ENTRY)
      "movq -8(%rbp), %rax\n\t"
      "leave\n\t"
      ".cfi_def_cfa %rsp, 8\n\t"
      "ret\n\t");
}
// clang-format on
}

bool prepare_gate(const GateHandlers& handlers) {
  memprof_gate_handlers = handlers;
  uint32_t a;
  uint32_t b;
  uint32_t c;
  uint32_t d;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) {
    return true;  // FXSAVE, which each x86-64 has
  }
  const auto components = static_cast<uint32_t>(enabled_components()) & kWanted;
  if (bytes_of(components) > kAreaBytes) {
    return false;
  }
  constexpr uint32_t kHasXsavec = 0x2;
  const bool has_xsavec = __get_cpuid_count(0xd, 1, &a, &b, &c, &d) != 0 && (a & kHasXsavec) != 0;
  memprof_gate_components = components;
  memprof_gate_way = has_xsavec ? kByXsavec : kByXsave;
  return true;
}

uint64_t gate_of_functions() {
  return reinterpret_cast<uint64_t>(memprof_gate_of_functions);
}

uint64_t gate_of_callbacks() {
  return reinterpret_cast<uint64_t>(memprof_gate_of_callbacks);
}

}  // namespace memprof::platform
