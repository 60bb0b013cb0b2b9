// SPDX-License-Identifier: Apache-2.0
#include "unwind/frame_pointer.h"

#include <cstring>

#include "unwind/frame_list.h"

namespace memprof::unwind {
namespace {

constexpr uint64_t kWord = sizeof(uint64_t);
constexpr uint64_t kFrameBytes = 2 * kWord;

uint64_t read_word(uint64_t address) {
  uint64_t value;
  memcpy(&value, reinterpret_cast<const void*>(address), sizeof(value));
  return value;
}

#if defined(__aarch64__)
// Pointer authentication signs return addresses in their top bits; which, depends on the kernel.  The
// instruction (xpaclri, a hint that does nothing on processors without it) knows.
uint64_t strip(uint64_t address) {
  register uint64_t x30 asm("x30") = address;
  asm("hint #7" : "+r"(x30));
  return x30;
}
#else
uint64_t strip(uint64_t address) {
  return address;
}
#endif

}  // namespace

#if defined(__x86_64__)
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

bool is_signal_return(const uint8_t* code) {
  static const uint8_t kSigreturn[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};  // mov $15,%rax; syscall
  return memcmp(code, kSigreturn, sizeof(kSigreturn)) == 0;
}
#elif defined(__aarch64__)
bool follows_call(const uint8_t* end) {
  uint32_t instruction;
  memcpy(&instruction, end - 4, sizeof(instruction));
  return (instruction & 0xfc000000u) == 0x94000000u ||  // bl
         (instruction & 0xfefff800u) == 0xd63f0800u ||  // blraa, blrab and their zero forms
         (instruction & 0xfffffc1fu) == 0xd63f0000u;    // blr
}

bool is_signal_return(const uint8_t* code) {
  uint32_t words[2];
  memcpy(words, code, sizeof(words));
  return words[0] == 0xd2801168u && words[1] == 0xd4000001u;  // mov x8, #139; svc #0
}
#else
#error "memprof: no stack walk for this processor yet"
#endif

platform::WalkResult walk_frame_pointers(uint64_t frame, const StackBounds& bounds, const Code& code,
                                         uint64_t* frames, uint32_t max_depth) {
  using platform::Walk;
  FrameList list(frames, max_depth);
  bool in_hook = true;
  for (;;) {
    if (frame % kWord != 0 || frame < bounds.low || bounds.high < kFrameBytes ||
        frame > bounds.high - kFrameBytes) {
      return list.end(frame % kWord != 0 ? Walk::kBadFrame : Walk::kLeftStack);
    }
    const uint64_t return_address = strip(read_word(frame + kWord));
    const uint64_t next = read_word(frame);
    if (return_address == 0) {
      return list.end(next == 0 ? Walk::kRoot : Walk::kBadFrame);
    }
    if (in_hook && !code.is_hook(return_address)) {
      in_hook = false;
    } else if (!in_hook && !code.is_call_site(return_address)) {
      return list.end(Walk::kNoRule);
    }
    if (!in_hook) {
      if (!list.add(return_address)) {
        return list.end(Walk::kDepthLimit);
      }
      if (next == 0 || code.is_root(return_address, bounds.high - frame)) {
        return list.end(Walk::kRoot);
      }
    }
    if (next <= frame) {
      return list.end(Walk::kBadFrame);
    }
    frame = next;
  }
}

}  // namespace memprof::unwind
