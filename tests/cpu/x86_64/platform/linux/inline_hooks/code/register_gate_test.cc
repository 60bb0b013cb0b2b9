// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/code/register_gate.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "all_registers.h"

extern "C" {
extern uint32_t memprof_gate_way;
extern uint32_t memprof_gate_components;
void* memprof_gate_take_room();
void memprof_gate_give_room(void*);
uint64_t g_gate_site = 0x5050;
uint64_t g_gate_target;
uint64_t g_stub;
}

namespace memprof::platform {
namespace {

constexpr uint32_t kByFxsave = 0;
constexpr uint32_t kByXsave = 1;
constexpr uint32_t kX87AndSse = 3;

// What a stub does.
__attribute__((naked)) void stub() {
  asm("movq %rax, -16(%rsp)\n\tmovq g_gate_site(%rip), %rax\n\tjmp *g_gate_target(%rip)");
}
// Of a program that breaks the ABI: strings go down.
__attribute__((naked)) void stub_going_down() {
  asm("std\n\tjmp *g_stub(%rip)");
}
__attribute__((naked)) void changes_nothing() {
  asm("ret");
}
// As a function may that no ABI describes.
__attribute__((naked)) void changes_some() {
  asm("movl $100, %eax\n\tmovl $7, %edx\n\tmovl $8, %r10d\n\tpcmpeqd %xmm5, %xmm5\n\tret");
}
// As LLVM makes local functions that nobody relies upon to keep registers (-enable-ipra).
__attribute__((naked)) void changes_what_calls_keep() {
  asm("movl $1, %ebx\n\tmovl $2, %ebp\n\tmovl $3, %r12d\n\tmovl $4, %r13d\n\tmovl $5, %r14d\n\tmovl $6, %r15d\n\tret");
}
[[noreturn]] void throws() {
  throw std::runtime_error("thrown");
}

// Our code may change all of this.
__attribute__((noinline)) void clobber(uint32_t components) {
  static AllRegisters other = random_registers(99, kX87AndSse);
  static AllRegisters kept = random_registers(98, kX87AndSse);
  memset(other.area + kComponents, 0, 8);
  other.area[kComponents] = 3;
  // As a function would leave them: the control words of its caller.
  other.area[4] = 0;
  asm volatile("fnstcw %0\n\tstmxcsr %1"
               : "=m"(*reinterpret_cast<uint16_t*>(other.area + kX87Control)),
                 "=m"(*reinterpret_cast<uint32_t*>(other.area + kMxcsr)));
  asm volatile(
      "xrstor64 (%2)\n\tmovq $-1, %%rcx\n\tmovq $-1, %%rsi\n\tmovq $-1, %%rdi\n\tmovq $-1, %%r8\n\t"
      "movq $-1, %%r9\n\tmovq $-1, %%r10\n\tmovq $-1, %%r11\n\tmovq $-1, %%rax\n\tmovq $-1, %%rdx"
      : "+a"(components)
      : "d"(0), "b"(other.area)
      : "rcx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
  asm volatile("" : : "m"(kept));
}

struct Seen {
  int before;
  int after;
  uint64_t site;
  CallRegisters at_entry;
  uint64_t entry_rax;
  uint64_t result;
  uint64_t rsp_in_ours;
  uint32_t mxcsr_in_ours;
  bool goes_down_in_ours;
};
Seen g_seen;
bool g_wants_after;
void (*g_original)();
uint32_t g_components;

void note_environment() {
  g_seen.rsp_in_ours = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
  g_seen.mxcsr_in_ours = __builtin_ia32_stmxcsr();
  g_seen.goes_down_in_ours = g_seen.goes_down_in_ours || (__builtin_ia32_readeflags_u64() & 0x400) != 0;
}

bool before(GatedCall* call) {
  note_environment();
  ++g_seen.before;
  g_seen.site = call->site;
  g_seen.at_entry = call->at_entry;
  g_seen.entry_rax = call->entry_rax;
  call->original = reinterpret_cast<uint64_t>(g_original);
  memset(call->kept, 0x77, sizeof(call->kept));
  clobber(g_components);
  return g_wants_after;
}

void after(GatedCall* call) {
  note_environment();
  ++g_seen.after;
  g_seen.result = call->original;
  for (const unsigned char byte : call->kept) {
    EXPECT_EQ(byte, 0x77);
  }
  EXPECT_EQ(memcmp(&call->at_entry, &g_seen.at_entry, sizeof(CallRegisters)), 0);
  clobber(g_components);
}

// Without registers of vectors, which hold the program's values; what a sanitizer calls may change them.
#if defined(__clang__)
#define NO_VECTORS __attribute__((target("general-regs-only"), disable_sanitizer_instrumentation))
#else
#define NO_VECTORS __attribute__((target("general-regs-only"), no_sanitize("address", "thread", "undefined")))
#endif
GateNext g_next = GateNext::kFull;
bool g_is_after_wanted = true;
int g_lights;
NO_VECTORS GateNext first_of_all(GatedCall* call) {
  ++g_lights;
  call->original = reinterpret_cast<uint64_t>(g_original);
  return g_next;
}
NO_VECTORS bool last_of_all(GatedCall*) {
  ++g_lights;
  return g_is_after_wanted;
}

void callback() {
  note_environment();
  ++g_seen.before;
  clobber(g_components);
}

class RegisterGate : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(prepare_gate({first_of_all, last_of_all, before, after}));
    g_components = components_here();
    if (g_components == 0) {
      GTEST_SKIP() << "the test needs XSAVE";
    }
    g_gate_target = gate_of_functions();
    best_way_ = memprof_gate_way;
  }
  void TearDown() override { EXPECT_TRUE(prepare_gate({first_of_all, last_of_all, before, after})); }

  // XSAVE leaves of a room's header what XSAVEC wrote, and would be restored as XSAVEC's: in a process there is one way only.
  static void clear_rooms() {
    std::vector<void*> rooms;
    while (void* room = memprof_gate_take_room()) {
      memset(static_cast<uint8_t*>(room) + kComponents, 0, 64);
      rooms.push_back(room);
    }
    for (void* room : rooms) memprof_gate_give_room(room);
  }

  // Every way to save registers, and every alignment of the stack that callers leave.
  template <typename Check>
  void each_way(const Check& check) {
    for (uint32_t way = kByFxsave; way <= best_way_; ++way) {
      memprof_gate_way = way;
      clear_rooms();
      memprof_gate_components = way == kByFxsave ? kX87AndSse : components_here();
      g_components = memprof_gate_components;
      for (const uint64_t below : {0, 8}) {
        SCOPED_TRACE(testing::Message() << "way " << way << ", " << below << " below an aligned stack");
        g_seen = {};
        check(below);
        EXPECT_EQ(g_seen.rsp_in_ours % 16, 0u);
        EXPECT_EQ(g_seen.mxcsr_in_ours & 0xffc0, 0x1f80u);  // rounds as ever, no exception stops it
      }
    }
  }

  uint32_t best_way_ = 0;
};

TEST_F(RegisterGate, AFunctionThatIsJumpedToFindsAndLeavesAllRegisters) {
  g_wants_after = false;
  g_original = changes_nothing;
  each_way([&](uint64_t below) {
    const AllRegisters in = random_registers(1, g_components);
    AllRegisters out;
    EXPECT_EQ(changed_by(stub, in, below, g_components, &out), "");
    EXPECT_EQ(g_seen.before, 1);
    EXPECT_EQ(g_seen.after, 0);
    EXPECT_EQ(g_seen.site, g_gate_site);
    const CallRegisters& r = g_seen.at_entry;
    const uint64_t arguments[] = {in.general[5], in.general[4], in.general[2], in.general[1], in.general[6]};
    EXPECT_EQ(memcmp(r.arguments, arguments, sizeof(arguments)), 0);
    EXPECT_EQ(g_seen.entry_rax, in.general[0]);
  });
}

TEST_F(RegisterGate, AFunctionThatIsCalledToo) {
  g_wants_after = true;
  g_original = changes_nothing;
  each_way([&](uint64_t below) {
    const AllRegisters in = random_registers(2, g_components);
    AllRegisters out;
    EXPECT_EQ(changed_by(stub, in, below, g_components, &out), "");
    EXPECT_EQ(g_seen.after, 1);
    EXPECT_EQ(g_seen.result, in.general[0]);
  });
}

TEST_F(RegisterGate, WhatTheFunctionChangesIsChanged) {
  g_original = changes_some;
  for (const bool wants_after : {false, true}) {
    g_wants_after = wants_after;
    each_way([&](uint64_t below) {
      const AllRegisters in = random_registers(3, g_components);
      AllRegisters out;
      EXPECT_EQ(changed_by(stub, in, below, g_components, &out), "rax rdx r10 xmm5 ");
      EXPECT_EQ(out.general[0], 100u);
      EXPECT_EQ(out.general[2], 7u);
      EXPECT_EQ(g_seen.result, wants_after ? 100u : 0u);
    });
  }
}

TEST_F(RegisterGate, WhereALightHandlerIsEnoughNoVectorIsSaved) {
  g_original = changes_some;
  g_is_after_wanted = false;
  for (const GateNext next : {GateNext::kJump, GateNext::kCall}) {
    g_next = next;
    for (const uint64_t below : {0, 8}) {
      g_seen = {};
      g_lights = 0;
      AllRegisters out;
      EXPECT_EQ(changed_by(stub, random_registers(11, g_components), below, g_components, &out),
                "rax rdx r10 xmm5 ");
      EXPECT_EQ(g_lights, next == GateNext::kJump ? 1 : 2);
      EXPECT_EQ(g_seen.before + g_seen.after, 0);
    }
  }
  g_next = GateNext::kFull;
  g_is_after_wanted = true;
}

TEST_F(RegisterGate, AFunctionThatKeepsNoRegisterReturnsToItsCaller) {
  g_original = changes_what_calls_keep;
  g_wants_after = true;
  each_way([&](uint64_t below) {
    AllRegisters out;
    // rbp is as the caller had it, which the caller does not rely upon.
    EXPECT_EQ(changed_by(stub, random_registers(10, g_components), below, g_components, &out),
              "rbx r12 r13 r14 r15 ");
    EXPECT_EQ(g_seen.after, 1);
  });
}

TEST_F(RegisterGate, TheDirectionFlagIsOursAndTheProgramsAgain) {
  g_stub = reinterpret_cast<uint64_t>(stub);
  g_original = changes_nothing;
  g_wants_after = true;
  each_way([&](uint64_t below) {
    AllRegisters out;
    EXPECT_EQ(changed_by(stub_going_down, random_registers(9, g_components), below, g_components, &out),
              "direction ");
    EXPECT_FALSE(g_seen.goes_down_in_ours);
    EXPECT_EQ(g_seen.after, 1);
  });
}

TEST_F(RegisterGate, ACallbackInThePlaceOfAnEmptyFunction) {
  g_gate_target = gate_of_callbacks();
  g_gate_site = reinterpret_cast<uint64_t>(callback);
  each_way([&](uint64_t below) {
    AllRegisters out;
    EXPECT_EQ(changed_by(stub, random_registers(4, g_components), below, g_components, &out), "");
    EXPECT_EQ(g_seen.before, 1);
  });
  g_gate_site = 0x5050;
}

TEST_F(RegisterGate, WhereAllRoomsAreTakenItIsTheStack) {
  std::vector<void*> rooms;
  while (void* room = memprof_gate_take_room()) {
    rooms.push_back(room);
  }
  EXPECT_EQ(rooms.size(), 64u);
  g_original = changes_some;
  g_wants_after = true;
  each_way([&](uint64_t below) {
    AllRegisters out;
    EXPECT_EQ(changed_by(stub, random_registers(5, g_components), below, g_components, &out),
              "rax rdx r10 xmm5 ");
  });
  for (void* room : rooms) {
    memprof_gate_give_room(room);
  }
}

TEST_F(RegisterGate, RoomsAreGivenBack) {
  g_original = changes_nothing;
  g_wants_after = true;
  AllRegisters out;
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(changed_by(stub, random_registers(6, g_components), 0, g_components, &out), "");
  }
  void* room = memprof_gate_take_room();
  EXPECT_NE(room, nullptr);
  memprof_gate_give_room(room);
}

TEST_F(RegisterGate, ExceptionsPass) {
  g_original = throws;
  for (const bool wants_after : {false, true}) {
    g_wants_after = wants_after;
    bool is_caught = false;
    void (*volatile called)() = stub;  // gcc sees that the stub itself throws nothing
    try {
      called();
    } catch (const std::runtime_error&) {
      is_caught = true;
    }
    EXPECT_TRUE(is_caught);
  }
}

// The harness finds what a function changes.
TEST_F(RegisterGate, ADifferenceIsFound) {
  AllRegisters out;
  EXPECT_EQ(changed_by(changes_some, random_registers(7, g_components), 0, g_components, &out),
            "rax rdx r10 xmm5 ");
  EXPECT_EQ(changed_by(changes_nothing, random_registers(8, g_components), 8, g_components, &out), "");
}

}  // namespace
}  // namespace memprof::platform
