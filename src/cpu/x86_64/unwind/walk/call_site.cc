// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk/call_site.h"

#include <cstring>

namespace memprof::unwind {

bool follows_call(const uint8_t* end) {
  if (end[-5] == 0xe8) {  // call rel32
    return true;
  }
  // call r/m64: FF /2, with 0 to 5 bytes of address after the ModRM byte (and maybe a SIB byte).  The length
  // that ModRM implies must be the length that is there.
  for (int length = 2; length <= 7; ++length) {
    const uint8_t* p = end - length;
    if (p[0] != 0xff || ((p[1] >> 3) & 7) != 2) {
      continue;
    }
    const int mode = p[1] >> 6;
    const int base = p[1] & 7;
    const bool has_sib = mode != 3 && base == 4;
    int expected = 2 + (has_sib ? 1 : 0);
    if (mode == 1) {
      expected += 1;
    } else if (mode == 2 || (mode == 0 && base == 5) ||
               (mode == 0 && has_sib && length > 2 && (p[2] & 7) == 5)) {
      expected += 4;
    }
    if (expected == length) {
      return true;
    }
  }
  return false;
}

bool find_call_target(uint64_t address, const uint8_t* end, uint64_t* target) {
  int32_t distance;
  memcpy(&distance, end - sizeof(distance), sizeof(distance));
  *target = address + static_cast<uint64_t>(int64_t{distance});
  return end[-5] == 0xe8;
}

size_t entry_mark_bytes(const uint8_t* code) {
  static const uint8_t kEndbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
  return memcmp(code, kEndbr64, sizeof(kEndbr64)) == 0 ? sizeof(kEndbr64) : 0;
}

bool is_jump(const uint8_t* code) {
  const uint8_t* at = code + entry_mark_bytes(code);
  at += *at == 0xf2 ? 1 : 0;  // bnd
  return *at == 0xe9 || *at == 0xeb || (*at == 0xff && ((at[1] >> 3) & 7) == 4);
}

bool begins_behind_traps(uint64_t address, const uint8_t* code) {
  constexpr uint64_t kAlignment = 64;
  uint64_t before;
  memcpy(&before, code - sizeof(before), sizeof(before));
  return address % kAlignment == 0 && before == 0xcccccccccccccccc;  // int3
}

bool is_signal_return(const uint8_t* code) {
  static const uint8_t kSigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};  // mov $15,%rax; syscall
  return memcmp(code, kSigreturn, sizeof(kSigreturn)) == 0;
}

}  // namespace memprof::unwind
