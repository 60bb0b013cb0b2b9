// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/code/stubs.h"

#include <cstring>

#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "platform/linux/inline_hooks/code/register_gate.h"

namespace memprof::platform {
namespace {

enum Register : uint8_t { kRax = 0, kRcx = 1, kRdx = 2, kRsi = 6, kRdi = 7, kR8 = 8 };
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
  // mov $value, %rax
  void load_rax(uint64_t value) {
    byte(0x48);
    byte(0xb8);
    long_word(value);
  }
  // mov %rax, place(%rsp), and back.  Below the stack pointer: signal handlers leave 128 bytes there alone.
  void save_rax(int8_t place) { move_rax(0x89, place); }
  void restore_rax(int8_t place) { move_rax(0x8b, place); }
  // jmp *word(%rip), also where indirect jumps must lead to an endbr64
  void jump_to(const void* word_address) {
    byte(0x3e);
    byte(0xff);
    byte(0x25);
    word(distance_to(word_address));
  }
  void jump(const uint8_t* target) {
    byte(0xe9);
    word(distance_to(target));
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
  // mov %block, %eax (32 bits); shr $10, %eax; add filter(%rip), %rax; cmpb $0, (%rax)
  void probe(Register block, const uint64_t* filter) {
    if (block >= 8) {
      byte(0x44);
    }
    byte(0x89);
    byte(0xc0 | ((block & 7) << 3));
    byte(0xc1);
    byte(0xe8);
    byte(SampledFilter::kGranuleBits);
    byte(0x48);
    byte(0x03);
    byte(0x05);
    word(distance_to(filter));
    byte(0x80);
    byte(0x38);
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
  // From the end of the four bytes that come next.
  uint32_t distance_to(const void* target) const {
    return static_cast<uint32_t>(reinterpret_cast<uint64_t>(target) - (address() + 4));
  }
  void move_rax(unsigned opcode, int8_t place) {
    byte(0x48);
    byte(opcode);
    byte(0x44);
    byte(0x24);
    byte(static_cast<uint8_t>(place));
  }

  uint8_t* at_;
};

constexpr unsigned kIfBelow = 0x82;
constexpr unsigned kIfNotEqual = 0x85;
constexpr unsigned kIfOverflow = 0x80;

// Where thread-local data lies elsewhere in each thread, the fast path cannot find the count; a free needs none.
#if defined(MEMPROF_DYNAMIC_TLS)
constexpr bool kHasFixedCount = false;
#else
constexpr bool kHasFixedCount = true;
#endif

bool is_always_slow(AllocatorCall call) {
  return (!kHasFixedCount && call != AllocatorCall::kFree) || call == AllocatorCall::kResizeInPlace ||
         call == AllocatorCall::kDestroyHeap || call == AllocatorCall::kThrowingReallocate;
}

// rax of the caller while the fast path computes in it.
constexpr int8_t kScratchRax = -8;

void go_slow(Assembler& code, const HookSite* site, CallPath path, uint64_t marks) {
  code.save_rax(kSavedRax);
  code.load_rax(reinterpret_cast<uint64_t>(site) | static_cast<uint64_t>(path) | marks);
  code.jump_to(&site->gate);
}

// What completes a fast path.
struct Exits {
  uint8_t* slow[2];   // jumps to the slow path, one with the mark of a clock that ran out
  uint8_t* overflow;  // a jump to the original, with rax in its place
};

// Falls through to the original.
void write_fast_path(Assembler& code, const HookSite& site, Exits* exits) {
  const AllocatorSignature& s = site.signature;
  if (s.call != AllocatorCall::kFree) {
    Register size = kArguments[s.size];
    const bool is_product = s.count != kNoArgument;
    if (is_product) {
      code.save_rax(kScratchRax);
      code.multiply(kArguments[s.count], size);
      exits->overflow = code.jump_if(kIfOverflow);
      size = kRax;
    }
    code.tick(size);
    if (is_product) {
      code.restore_rax(kScratchRax);  // flags stay
    }
    exits->slow[0] = code.jump_if(kIfBelow);
  }
  if (s.block != kNoArgument) {
    code.save_rax(kScratchRax);
    code.probe(kArguments[s.block], &site.filter);
    code.restore_rax(kScratchRax);
    exits->slow[1] = code.jump_if(kIfNotEqual);
  }
}

}  // namespace

Refusal write_stub(HookSite* site, const uint8_t* function, size_t size_bytes, uint8_t* at, uint64_t gate) {
  Assembler code(at);
  site->stub = code.address();
  site->gate = gate;
  site->filter = reinterpret_cast<uint64_t>(g_sampled_filter.memory());
  code.jump_to(&site->target);
  code.align();
  site->fast = code.address();
  Exits exits = {};
  const bool has_fast_path = !is_always_slow(site->signature.call);
  if (has_fast_path) {
    write_fast_path(code, *site, &exits);
  }
  site->original = code.address();
  const Relocation r = relocate(function, size_bytes, site->address, code.address());
  if (r.refusal != Refusal::kNone) {
    return r.refusal;
  }
  for (uint32_t i = 0; i < r.copy_bytes; ++i) {
    code.byte(r.copy[i]);
  }
  code.align();
  for (uint32_t i = 0; i < 2; ++i) {
    if (exits.slow[i] != nullptr) {
      Assembler::land(exits.slow[i], code.here());
      go_slow(code, site, CallPath::kSlow, i == 0 ? kRanOut : 0);
    }
  }
  if (exits.overflow != nullptr) {
    Assembler::land(exits.overflow, code.here());
    code.restore_rax(kScratchRax);
    code.jump(reinterpret_cast<const uint8_t*>(site->original));
  }
  site->always = code.address();
  go_slow(code, site, CallPath::kAlways, 0);
  site->first = code.address();
  go_slow(code, site, CallPath::kFirst, 0);
  site->fast = has_fast_path ? site->fast : site->always;
  site->entry_bytes = static_cast<uint8_t>(r.entry_bytes);
  site->window_bytes = static_cast<uint8_t>(r.window_bytes > kJumpBytes ? r.window_bytes : kJumpBytes);
  return Refusal::kNone;
}

}  // namespace memprof::platform
