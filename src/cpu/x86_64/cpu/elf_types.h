// SPDX-License-Identifier: Apache-2.0
// What ELF calls the processor and the relocations of its dynamic loaders (elf.h has them for all processors).
#pragma once

#include <cstdint>

namespace memprof::cpu {

inline constexpr uint16_t kElfMachine = 62;  // EM_X86_64
inline constexpr uint32_t kJumpSlot = 7;     // R_X86_64_JUMP_SLOT
inline constexpr uint32_t kGlobDat = 6;      // R_X86_64_GLOB_DAT
inline constexpr uint32_t kAbsolute = 1;     // R_X86_64_64
inline constexpr uint32_t kCopy = 5;         // R_X86_64_COPY
inline constexpr uint32_t kRelative = 8;     // R_X86_64_RELATIVE

}  // namespace memprof::cpu
