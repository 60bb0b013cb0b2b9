// SPDX-License-Identifier: Apache-2.0
// The processor, as far as a walk must know it: the registers that a called function keeps, the stack pointer
// and the return address, and what the tables (DWARF) and the kernel's signal frame call them.
//
// Signals, fork: pure.
// Allocates: never.
#pragma once

#include <cstdint>

namespace memprof::unwind {

enum Register : uint8_t { kRbx, kRbp, kRsp, kR12, kR13, kR14, kR15, kReturnAddress, kRegisters };
inline constexpr Register kStackPointer = kRsp;
inline constexpr Register kFrameRegister = kRbp;
inline constexpr uint64_t kReturnColumn = 16;
inline constexpr uint64_t kAddressEnd = uint64_t{1} << 47;  // code lies below

// kRegisters: one that is not followed.
inline uint8_t to_register(uint64_t dwarf) {
  switch (dwarf) {
    case 3:
      return kRbx;
    case 6:
      return kRbp;
    case 7:
      return kRsp;
    case 12:
      return kR12;
    case 13:
      return kR13;
    case 14:
      return kR14;
    case 15:
      return kR15;
    case 16:
      return kReturnAddress;
    default:
      return kRegisters;
  }
}

// A return address is as it was written.
inline uint64_t strip(uint64_t address) {
  return address;
}

// A signal handler returns to a trampoline with sp at the ucontext: the places of the interrupted registers
// (asm/sigcontext.h behind uc_flags, uc_link, uc_stack).
struct SignalPlace {
  Register r;
  uint16_t offset;
};
inline constexpr uint64_t kContextRegisters = 40;
inline constexpr SignalPlace kSignalPlaces[] = {
    {kRbx, kContextRegisters + 11 * 8}, {kRbp, kContextRegisters + 10 * 8},
    {kRsp, kContextRegisters + 15 * 8}, {kR12, kContextRegisters + 4 * 8},
    {kR13, kContextRegisters + 5 * 8},  {kR14, kContextRegisters + 6 * 8},
    {kR15, kContextRegisters + 7 * 8}};
inline constexpr uint64_t kSignalPc = kContextRegisters + 16 * 8;

// Does a call leave the return address in a register?
inline constexpr bool kHasLinkRegister = false;
// May code sign return addresses, and say so in its tables?
inline constexpr bool kSignsAddresses = false;

}  // namespace memprof::unwind
