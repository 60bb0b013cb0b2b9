// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk/call_site.h"

#include <cstring>

namespace memprof::unwind {

bool follows_call(const uint8_t* end) {
  uint32_t instruction;
  memcpy(&instruction, end - 4, sizeof(instruction));
  return (instruction & 0xfc000000u) == 0x94000000u ||  // bl
         (instruction & 0xfefff800u) == 0xd63f0800u ||  // blraa, blrab and their zero forms
         (instruction & 0xfffffc1fu) == 0xd63f0000u;    // blr
}

bool find_call_target(uint64_t address, const uint8_t* end, uint64_t* target) {
  uint32_t instruction;
  memcpy(&instruction, end - 4, sizeof(instruction));
  const auto words = static_cast<int32_t>(instruction << 6) >> 6;
  *target = address - 4 + static_cast<uint64_t>(int64_t{words} * 4);
  return (instruction & 0xfc000000u) == 0x94000000u;  // bl
}

bool is_jump(const uint8_t* code) {
  uint32_t words[2];
  memcpy(words, code, sizeof(words));
  const uint32_t first = words[0] == 0xd503245fu ? words[1] : words[0];                   // behind bti c
  return (first & 0xfc000000u) == 0x14000000u || (first & 0xfffffc1fu) == 0xd61f0000u ||  // b, br
         (first & 0x9f00001fu) == 0x90000010u;                                            // adrp x16
}

bool begins_behind_traps(uint64_t, const uint8_t*) {
  return false;  // what gaps are filled with there is not known
}

bool is_signal_return(const uint8_t* code) {
  uint32_t words[2];
  memcpy(words, code, sizeof(words));
  return words[0] == 0xd2801168u && words[1] == 0xd4000001u;  // mov x8, #139; svc #0
}

}  // namespace memprof::unwind
