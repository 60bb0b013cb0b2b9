// SPDX-License-Identifier: Apache-2.0
// Calls a function with known values in all registers, and says which of them it changed: what a compiler that sees the
// function and its callers together may know of it.
//
// The registers of vectors and of the x87 go in and out by XRSTOR and XSAVE, in the form with fixed places.
#pragma once

#include <cpuid.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <string>

namespace memprof::platform {

struct AllRegisters {
  static constexpr uint32_t kAreaBytes = 2752;
  static constexpr uint32_t kGeneral = 15;  // all but rsp
  static constexpr const char* kNames[kGeneral] = {"rax", "rcx", "rdx", "rbx", "rsi", "rdi", "r8", "r9",
                                                   "r10", "r11", "r12", "r13", "r14", "r15", "rbp"};
  alignas(64) uint8_t area[kAreaBytes] = {};
  uint64_t general[kGeneral] = {};
  uint64_t flags = 0;
};

inline constexpr uint32_t kX87Control = 0;  // offsets in the area
inline constexpr uint32_t kMxcsr = 24;
inline constexpr uint32_t kRegistersX87 = 32;
inline constexpr uint32_t kRegistersSse = 160;
inline constexpr uint32_t kEndSse = 416;
inline constexpr uint32_t kComponents = 512;
inline constexpr uint32_t kEndHeader = 576;

// x87, SSE, AVX and the three of AVX-512, as far as this machine has them.
inline uint32_t components_here() {
  uint32_t a;
  uint32_t b;
  uint32_t c;
  uint32_t d;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & bit_OSXSAVE) == 0) {
    return 0;
  }
  asm volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
  return a & 0xe7;
}

inline AllRegisters random_registers(uint64_t seed, uint32_t components) {
  std::mt19937_64 random(seed);
  AllRegisters r;
  for (uint64_t& value : r.general) {
    value = random();
  }
  const auto fill = [&](uint32_t from, uint32_t to) {
    for (uint32_t i = from; i < to; ++i) {
      r.area[i] = static_cast<uint8_t>(random());
    }
  };
  fill(kRegistersX87, kEndSse);
  for (uint32_t i = kRegistersX87; i < kRegistersSse; i += 16) {
    memset(r.area + i + 10, 0, 6);
  }
  for (uint32_t i = 2; i < 32; ++i) {
    uint32_t size = 0;
    uint32_t offset = 0;
    uint32_t c;
    uint32_t d;
    if ((components >> i & 1) != 0 && __get_cpuid_count(0xd, i, &size, &offset, &c, &d) != 0) {
      fill(offset, offset + size);
    }
  }
  const uint16_t control = 0x0f7f;  // rounds to zero
  memcpy(r.area + kX87Control, &control, sizeof(control));
  r.area[4] = 0xff;               // each register of the x87 is in use, as that of a program in MMX
  const uint32_t mxcsr = 0x7fa2;  // rounds to zero; two exceptions are noted
  memcpy(r.area + kMxcsr, &mxcsr, sizeof(mxcsr));
  const uint64_t present = components;
  memcpy(r.area + kComponents, &present, sizeof(present));
  return r;
}

// asm: in, out, function, bytes below an aligned stack, components.
__attribute__((naked, noinline)) inline void call_with_all_registers(const AllRegisters*, AllRegisters*,
                                                                     void (*)(), uint64_t, uint64_t) {
  asm(R"(
    pushq %rbx
    pushq %rbp
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, %rax
    subq $64, %rsp
    andq $-16, %rsp
    subq $16, %rsp
    subq %rcx, %rsp
    movq %rax, 8(%rsp)
    pushq %r8
    pushq %rsi
    pushq %rdx
    # 0: function  8: out  16: components  32: the stack of before
    movq %rdi, %r11
    movq %r8, %rax
    xorl %edx, %edx
    xrstor64 (%r11)
    movq 2752(%r11), %rax
    movq 2760(%r11), %rcx
    movq 2768(%r11), %rdx
    movq 2776(%r11), %rbx
    movq 2784(%r11), %rsi
    movq 2792(%r11), %rdi
    movq 2800(%r11), %r8
    movq 2808(%r11), %r9
    movq 2816(%r11), %r10
    movq 2832(%r11), %r12
    movq 2840(%r11), %r13
    movq 2848(%r11), %r14
    movq 2856(%r11), %r15
    movq 2864(%r11), %rbp
    movq 2824(%r11), %r11
    call *(%rsp)
    pushq %rax
    movq 16(%rsp), %rax
    popq 2752(%rax)
    movq %rcx, 2760(%rax)
    movq %rdx, 2768(%rax)
    movq %rbx, 2776(%rax)
    movq %rsi, 2784(%rax)
    movq %rdi, 2792(%rax)
    movq %r8, 2800(%rax)
    movq %r9, 2808(%rax)
    movq %r10, 2816(%rax)
    movq %r11, 2824(%rax)
    movq %r12, 2832(%rax)
    movq %r13, 2840(%rax)
    movq %r14, 2848(%rax)
    movq %r15, 2856(%rax)
    movq %rbp, 2864(%rax)
    pushfq
    popq 2872(%rax)
    cld
    movq %rax, %r11
    movq 16(%rsp), %rax
    xorl %edx, %edx
    xsave64 (%r11)
    fninit
    movl $0x1f80, (%rsp)
    ldmxcsr (%rsp)
    movq 32(%rsp), %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbp
    popq %rbx
    ret
  )");
}

// What a call of `function` changed, in words; "": nothing.  The flags are any function's but for the direction.
inline std::string changed_by(void (*function)(), const AllRegisters& in, uint64_t below_aligned,
                              uint32_t components, AllRegisters* out) {
  call_with_all_registers(&in, out, function, below_aligned, components);
  std::string changed;
  for (uint32_t i = 0; i < AllRegisters::kGeneral; ++i) {
    changed += in.general[i] != out->general[i] ? std::string(AllRegisters::kNames[i]) + " " : "";
  }
  const auto compare = [&](uint32_t from, uint32_t to, const std::string& what) {
    changed += memcmp(in.area + from, out->area + from, to - from) != 0 ? what + " " : "";
  };
  compare(kX87Control, kX87Control + 5, "x87 control");
  compare(kMxcsr, kMxcsr + 4, "mxcsr");
  for (uint32_t i = 0; i < 8; ++i) {
    compare(kRegistersX87 + 16 * i, kRegistersX87 + 16 * i + 10, "st" + std::to_string(i));
  }
  for (uint32_t i = 0; i < 16; ++i) {
    compare(kRegistersSse + 16 * i, kRegistersSse + 16 * i + 16, "xmm" + std::to_string(i));
  }
  for (uint32_t i = 2; i < 32; ++i) {
    uint32_t size = 0;
    uint32_t offset = 0;
    uint32_t c;
    uint32_t d;
    if ((components >> i & 1) == 0 || __get_cpuid_count(0xd, i, &size, &offset, &c, &d) == 0) {
      continue;
    }
    // What XSAVE leaves out is as it is at first.
    const bool is_there = (out->area[kComponents + i / 8] >> i % 8 & 1) != 0;
    changed += !is_there || memcmp(in.area + offset, out->area + offset, size) != 0
                   ? "component " + std::to_string(i) + " "
                   : "";
  }
  constexpr uint64_t kDirection = 0x400;
  changed += (out->flags & kDirection) != 0 ? "direction " : "";
  return changed;
}

}  // namespace memprof::platform
