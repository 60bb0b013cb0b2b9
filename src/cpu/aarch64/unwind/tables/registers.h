// SPDX-License-Identifier: Apache-2.0
// The processor, as far as a walk must know it: the registers that a called function keeps, the stack pointer
// and the return address, and what the tables (DWARF) and the kernel's signal frame call them.
//
// Signals, fork: pure.
// Allocates: never.
#pragma once

#include <cstdint>

namespace memprof::unwind {

// x30, the link register, has the column of the return address.
enum Register : uint8_t {
  kX19,
  kX20,
  kX21,
  kX22,
  kX23,
  kX24,
  kX25,
  kX26,
  kX27,
  kX28,
  kX29,
  kReturnAddress,
  kSp,
  kRegisters
};
inline constexpr Register kStackPointer = kSp;
inline constexpr Register kFrameRegister = kX29;
inline constexpr uint64_t kReturnColumn = 30;
inline constexpr uint64_t kAddressEnd = uint64_t{1} << 48;

inline uint8_t to_register(uint64_t dwarf) {
  return dwarf - 19 < kRegisters ? static_cast<uint8_t>(dwarf - 19) : static_cast<uint8_t>(kRegisters);
}

// Pointer authentication signs return addresses in the bits above those of addresses; which ones depends on
// the kernel, but what a program gets without asking for more lies below kAddressEnd.
inline uint64_t strip(uint64_t address) {
  return address & (kAddressEnd - 1);
}

// The trampoline is entered with sp at the rt_sigframe: siginfo (128 bytes), then the ucontext, whose
// mcontext begins, aligned to 16, behind 128 bytes of signal mask: fault address, x0 to x30, sp, pc.
struct SignalPlace {
  Register r;
  uint16_t offset;
};
inline constexpr uint64_t kContextRegisters = 128 + 176 + 8;
inline constexpr SignalPlace kSignalPlaces[] = {
    {kX19, kContextRegisters + 19 * 8}, {kX20, kContextRegisters + 20 * 8},
    {kX21, kContextRegisters + 21 * 8}, {kX22, kContextRegisters + 22 * 8},
    {kX23, kContextRegisters + 23 * 8}, {kX24, kContextRegisters + 24 * 8},
    {kX25, kContextRegisters + 25 * 8}, {kX26, kContextRegisters + 26 * 8},
    {kX27, kContextRegisters + 27 * 8}, {kX28, kContextRegisters + 28 * 8},
    {kX29, kContextRegisters + 29 * 8}, {kReturnAddress, kContextRegisters + 30 * 8},
    {kSp, kContextRegisters + 31 * 8}};
inline constexpr uint64_t kSignalPc = kContextRegisters + 32 * 8;

// Does a call leave the return address in a register?
inline constexpr bool kHasLinkRegister = true;
// May code sign return addresses, and say so in its tables?
inline constexpr bool kSignsAddresses = true;

}  // namespace memprof::unwind
