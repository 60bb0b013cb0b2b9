// SPDX-License-Identifier: Apache-2.0
// What ELF calls the processor and the relocations of its dynamic loaders (elf.h has them for all processors).
#pragma once

#include <cstdint>

namespace memprof::cpu {

inline constexpr uint16_t kElfMachine = 183;  // EM_AARCH64
inline constexpr uint32_t kJumpSlot = 1026;   // R_AARCH64_JUMP_SLOT
inline constexpr uint32_t kGlobDat = 1025;    // R_AARCH64_GLOB_DAT
inline constexpr uint32_t kAbsolute = 257;    // R_AARCH64_ABS64
inline constexpr uint32_t kCopy = 1024;       // R_AARCH64_COPY
inline constexpr uint32_t kRelative = 1027;   // R_AARCH64_RELATIVE

}  // namespace memprof::cpu
