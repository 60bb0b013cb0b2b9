// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/code/stubs.h"

#include <cstring>

#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"

namespace memprof::platform {

#if defined(__x86_64__)
namespace {

enum Register : uint8_t { kRax = 0, kRcx = 1, kRdx = 2, kRsi = 6, kRdi = 7, kR8 = 8, kR9 = 9, kR11 = 11 };
constexpr Register kArguments[kMaxAllocatorArguments] = {kRdi, kRsi, kRdx, kRcx, kR8};

class Assembler {
 public:
  explicit Assembler(uint8_t* at) : at_(at) {}

  uint8_t* here() const { return at_; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(at_); }
  void align() {
    while (address() % 16 != 0) {
      byte(0xcc);
    }
  }
  void byte(unsigned value) { *at_++ = static_cast<uint8_t>(value); }
  void word(uint32_t value) {
    memcpy(at_, &value, sizeof(value));
    at_ += sizeof(value);
  }
  void long_word(uint64_t value) {
    memcpy(at_, &value, sizeof(value));
    at_ += sizeof(value);
  }
  // mov $value, %to
  void load(Register to, uint64_t value) {
    byte(0x48 | (to >> 3));
    byte(0xb8 | (to & 7));
    long_word(value);
  }
  // jmp *%rax, also where indirect jumps must lead to an endbr64
  void jump_rax() {
    byte(0x3e);
    byte(0xff);
    byte(0xe0);
  }
  // cmp $1, %size; sbb %size, %fs:count: sampler_tick
  void tick(Register size) {
    byte(0x48 | (size >> 3));
    byte(0x83);
    byte(0xf8 | (size & 7));
    byte(1);
    byte(0x64);
    byte(0x48 | (size >> 3 << 2));
    byte(0x19);
    byte(0x04 | ((size & 7) << 3));
    byte(0x25);
    word(count_offset());
  }
  // mov %block, %eax (32 bits); shr $10, %eax; mov $filter, %r11; cmpb $0, (%r11, %rax)
  void probe(Register block) {
    if (block >= 8) {
      byte(0x44);
    }
    byte(0x89);
    byte(0xc0 | ((block & 7) << 3));
    byte(0xc1);
    byte(0xe8);
    byte(SampledFilter::kGranuleBits);
    load(kR11, reinterpret_cast<uint64_t>(g_sampled_filter.memory()));
    byte(0x41);
    byte(0x80);
    byte(0x3c);
    byte(0x03);
    byte(0);
  }
  // mov %count, %rax; imul %size, %rax
  void multiply(Register count, Register size) {
    byte(0x48 | (count >> 3 << 2));
    byte(0x89);
    byte(0xc0 | ((count & 7) << 3));
    byte(0x48 | (size >> 3));
    byte(0x0f);
    byte(0xaf);
    byte(0xc0 | (size & 7));
  }
  // A conditional jump that land() completes: its opcode after 0f.
  uint8_t* jump_if(unsigned condition) {
    byte(0x0f);
    byte(condition);
    word(0);
    return at_;
  }
  static void land(uint8_t* behind_jump, const uint8_t* target) {
    const auto distance = static_cast<int32_t>(target - behind_jump);
    memcpy(behind_jump - sizeof(distance), &distance, sizeof(distance));
  }

 private:
  // From the thread pointer to the thread's count: the same in all threads (initial-exec).
  static uint32_t count_offset() {
    uint64_t thread;
    asm("movq %%fs:0, %0" : "=r"(thread));
    return static_cast<uint32_t>(reinterpret_cast<uint64_t>(&t_sampler.count) - thread);
  }

  uint8_t* at_;
};

constexpr unsigned kIfBelow = 0x82;
constexpr unsigned kIfNotEqual = 0x85;
constexpr unsigned kIfOverflow = 0x80;

bool is_always_slow(AllocatorCall call) {
  return call == AllocatorCall::kResizeInPlace || call == AllocatorCall::kDestroyHeap ||
         call == AllocatorCall::kThrowingReallocate;
}

void go_slow(Assembler& code, uint64_t site, uint64_t path) {
  code.load(kR9, site);
  code.load(kRax, path);
  code.jump_rax();
}

// Falls through to the original; the jumps to the slow path are in `slow`, one with the mark of a clock that ran out.
void write_fast_path(Assembler& code, const AllocatorSignature& s, uint8_t* (&slow)[2], uint8_t** original) {
  const bool frees = s.call == AllocatorCall::kFree;
  if (!frees) {
    Register size = kArguments[s.size];
    if (s.count != kNoArgument) {
      code.multiply(kArguments[s.count], size);
      *original = code.jump_if(kIfOverflow);
      size = kRax;
    }
    code.tick(size);
    slow[0] = code.jump_if(kIfBelow);
  }
  if (s.block != kNoArgument) {
    code.probe(kArguments[s.block]);
    slow[1] = code.jump_if(kIfNotEqual);
  }
}

}  // namespace

Refusal write_stub(HookSite* site, const uint8_t* function, size_t size_bytes, uint8_t* at,
                   const SlowPaths& paths) {
  Assembler code(at);
  const auto self = reinterpret_cast<uint64_t>(site);
  site->stub = code.address();
  // The stub: jmp *target(%rip)
  code.byte(0xff);
  code.byte(0x25);
  code.word(static_cast<uint32_t>(reinterpret_cast<uint64_t>(&site->target) - (code.address() + 4)));
  code.align();
  site->fast = code.address();
  uint8_t* slow[2] = {};
  uint8_t* to_original = nullptr;
  const bool has_fast_path = !is_always_slow(site->signature.call);
  if (has_fast_path) {
    write_fast_path(code, site->signature, slow, &to_original);
  }
  site->original = code.address();
  if (to_original != nullptr) {
    Assembler::land(to_original, code.here());
  }
  const Relocation r = relocate(function, size_bytes, site->address, code.address());
  if (r.refusal != Refusal::kNone) {
    return r.refusal;
  }
  for (uint32_t i = 0; i < r.copy_bytes; ++i) {
    code.byte(r.copy[i]);
  }
  code.align();
  if (has_fast_path) {
    for (uint32_t i = 0; i < 2; ++i) {
      if (slow[i] != nullptr) {
        Assembler::land(slow[i], code.here());
        go_slow(code, self | (i == 0 ? kRanOut : 0), paths.slow);
      }
    }
  }
  site->always = code.address();
  go_slow(code, self, paths.always);
  site->first = code.address();
  go_slow(code, self, paths.first);
  site->fast = has_fast_path ? site->fast : site->always;
  site->entry_bytes = static_cast<uint8_t>(r.entry_bytes);
  site->window_bytes = static_cast<uint8_t>(r.window_bytes > kJumpBytes ? r.window_bytes : kJumpBytes);
  return Refusal::kNone;
}

#else

Refusal write_stub(HookSite*, const uint8_t*, size_t, uint8_t*, const SlowPaths&) {
  return Refusal::kUnsupported;
}

#endif

}  // namespace memprof::platform
