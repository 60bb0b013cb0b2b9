// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/code/stubs.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <new>

#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "platform/linux/inline_hooks/code/near_pages.h"
#include "platform/linux/inline_hooks/code/register_gate.h"

#include "all_registers.h"

namespace memprof::platform {
namespace {

constexpr size_t kBytes = 2 * 4096;
constexpr uint64_t kOfOriginal = 100;
uint64_t g_tagged;
uint64_t g_last_argument;

// All that a slow path does here is to tell that it was reached.
bool note_slow(GatedCall* call) {
  g_tagged = call->site;
  g_last_argument = call->at_entry.arguments[4];
  call->original = reinterpret_cast<HookSite*>(call->site & ~(kPathBits | kRanOut))->original;
  return false;
}
void nothing_follows(GatedCall*) {}
GateNext all_is_full(GatedCall*) {
  return GateNext::kFull;
}
bool also_after(GatedCall*) {
  return true;
}

// mov $100, %eax; ret; padding
const uint8_t kReturns100[] = {0xb8, 100,  0,    0,    0,    0xc3, 0x90, 0x90,
                               0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};

// A function of five arguments behind a stub, as if its callers were sent there.
class Stubs : public ::testing::Test {
 protected:
  void SetUp() override {
    pages_ = static_cast<uint8_t*>(
        map_near(reinterpret_cast<uint64_t>(kReturns100), reinterpret_cast<uint64_t>(kReturns100), kBytes));
    ASSERT_NE(pages_, nullptr);
    site_ = new (pages_) HookSite();
    // The code that is moved: where it may be run, too.
    memcpy(code(), kReturns100, sizeof(kReturns100));
  }
  void TearDown() override { munmap(pages_, kBytes); }

  uint8_t* code() const { return pages_ + 4096; }
  uint8_t* stub() const { return pages_ + 4096 + 64; }

  void write(const AllocatorSignature& signature) {
    site_->address = reinterpret_cast<uint64_t>(code());
    site_->signature = signature;
    ASSERT_TRUE(prepare_gate({all_is_full, also_after, note_slow, nothing_follows}));
    ASSERT_EQ(write_stub(site_, code(), sizeof(kReturns100), stub(), gate_of_functions()), Refusal::kNone);
    ASSERT_EQ(mprotect(code(), 4096, PROT_READ | PROT_EXEC), 0);
    site_->target.store(site_->fast);
  }
  uint64_t call(uint64_t a, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0, uint64_t e = 0) const {
    g_tagged = 0;
    return reinterpret_cast<AnyCall>(stub())(a, b, c, d, e);
  }
  uint64_t tagged(CallPath path) const {
    return reinterpret_cast<uint64_t>(site_) | static_cast<uint64_t>(path);
  }
  // What a call takes off the clock of 1,000,000 bytes; it must go on to the function.
  uint64_t taken(uint64_t a, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0, uint64_t e = 0) const {
    const uint64_t before = t_sampler.count;
    t_sampler.count = 1'000'000;
    const uint64_t result = call(a, b, c, d, e);
    const uint64_t left = t_sampler.count;
    t_sampler.count = before;
    EXPECT_EQ(result, kOfOriginal);
    EXPECT_EQ(g_tagged, 0u);
    return 1'000'000 - left;
  }

  uint8_t* pages_ = nullptr;
  HookSite* site_ = nullptr;
};

AllocatorSignature signature(AllocatorCall call, uint8_t size, uint8_t count = kNoArgument,
                             uint8_t block = kNoArgument) {
  AllocatorSignature s;
  s.call = call;
  s.size = size;
  s.count = count;
  s.block = block;
  return s;
}

TEST_F(Stubs, TargetDecides) {
  write(signature(AllocatorCall::kAllocate, 0));
  EXPECT_EQ(taken(64), 64u);
  site_->target.store(site_->original);
  EXPECT_EQ(taken(64), 0u);
  site_->target.store(site_->always);
  EXPECT_EQ(call(64), kOfOriginal);
  EXPECT_EQ(g_tagged, tagged(CallPath::kAlways));
  site_->target.store(site_->first);
  EXPECT_EQ(call(64), kOfOriginal);
  EXPECT_EQ(g_tagged, tagged(CallPath::kFirst));
}

TEST_F(Stubs, EachArgumentCanBeTheSize) {
  for (uint8_t size = 0; size < kMaxAllocatorArguments; ++size) {
    TearDown();
    SetUp();
    write(signature(AllocatorCall::kAllocate, size));
    uint64_t a[5] = {1, 1, 1, 1, 1};
    a[size] = 5000;
    EXPECT_EQ(taken(a[0], a[1], a[2], a[3], a[4]), 5000u) << int{size};
    a[size] = 0;
    EXPECT_EQ(taken(a[0], a[1], a[2], a[3], a[4]), 1u);  // size 0 counts as 1
  }
}

TEST_F(Stubs, ACountAndASize) {
  for (uint8_t count = 0; count < kMaxAllocatorArguments; ++count) {
    for (uint8_t size = 0; size < kMaxAllocatorArguments; ++size) {
      if (count == size) {
        continue;
      }
      TearDown();
      SetUp();
      write(signature(AllocatorCall::kAllocate, size, count));
      uint64_t a[5] = {1, 1, 1, 1, 1};
      a[count] = 30;
      a[size] = 7;
      EXPECT_EQ(taken(a[0], a[1], a[2], a[3], a[4]), 210u) << int{count} << ' ' << int{size};
      a[count] = uint64_t{1} << 62;
      a[size] = 8;
      EXPECT_EQ(taken(a[0], a[1], a[2], a[3], a[4]), 0u);  // it fails, and is no allocation
    }
  }
}

TEST_F(Stubs, TheClockRunsOut) {
  write(signature(AllocatorCall::kAllocate, 1));
  const uint64_t before = t_sampler.count;
  t_sampler.count = 10;
  EXPECT_EQ(call(1, 11, 3, 4, 5), kOfOriginal);
  t_sampler.count = before;
  EXPECT_EQ(g_tagged, tagged(CallPath::kSlow) | kRanOut);
  EXPECT_EQ(g_last_argument, 5u);
}

TEST_F(Stubs, AMarkedBlockIsNoticed) {
  alignas(16) static char block[16];
  const auto address = reinterpret_cast<uint64_t>(block);
  for (uint8_t argument = 0; argument < kMaxAllocatorArguments; ++argument) {
    TearDown();
    SetUp();
    write(signature(AllocatorCall::kFree, kNoArgument, kNoArgument, argument));
    uint64_t a[5] = {0, 0, 0, 0, 0};
    a[argument] = address;
    EXPECT_EQ(call(a[0], a[1], a[2], a[3], a[4]), kOfOriginal);
    EXPECT_EQ(g_tagged, 0u);
    g_sampled_filter.mark(address);
    EXPECT_EQ(call(a[0], a[1], a[2], a[3], a[4]), kOfOriginal);
    EXPECT_EQ(g_tagged, tagged(CallPath::kSlow)) << int{argument};
    g_sampled_filter.unmark(address);
  }
}

TEST_F(Stubs, AReallocationIsBoth) {
  alignas(16) static char block[16];
  const auto address = reinterpret_cast<uint64_t>(block);
  write(signature(AllocatorCall::kReallocate, 1, kNoArgument, 0));
  EXPECT_EQ(taken(address, 77), 77u);
  g_sampled_filter.mark(address);
  const uint64_t before = t_sampler.count;
  t_sampler.count = 1000;
  EXPECT_EQ(call(address, 77), kOfOriginal);
  EXPECT_EQ(g_tagged, tagged(CallPath::kSlow));
  t_sampler.count = 10;
  EXPECT_EQ(call(address, 77), kOfOriginal);
  EXPECT_EQ(g_tagged, tagged(CallPath::kSlow) | kRanOut);
  t_sampler.count = before;
  g_sampled_filter.unmark(address);
}

// Whatever the fast path and the slow one do: the function returns 100 in eax, and nothing else is changed.
TEST_F(Stubs, RegistersAreThoseThatTheFunctionLeaves) {
  const uint32_t components = components_here();
  if (components == 0) {
    GTEST_SKIP() << "the test needs XSAVE";
  }
  constexpr uint32_t kPlaces[kMaxAllocatorArguments] = {5, 4, 2, 1, 6};  // of rdi, rsi, rdx, rcx, r8
  alignas(16) static char block[16];
  const auto address = reinterpret_cast<uint64_t>(block);
  const uint64_t count = t_sampler.count;
  const AllocatorSignature signatures[] = {signature(AllocatorCall::kAllocate, 0),
                                           signature(AllocatorCall::kAllocate, 1, 0),
                                           signature(AllocatorCall::kReallocate, 1, 3, 0),
                                           signature(AllocatorCall::kFree, kNoArgument, kNoArgument, 4),
                                           signature(AllocatorCall::kReallocate, 4, 3, 2),
                                           signature(AllocatorCall::kFree, kNoArgument, kNoArgument, 0),
                                           signature(AllocatorCall::kResizeInPlace, 1, kNoArgument, 0)};
  for (const AllocatorSignature& s : signatures) {
    TearDown();
    SetUp();
    write(s);
    const uint64_t targets[] = {site_->fast, site_->always, site_->first, site_->original};
    for (const uint64_t target : targets) {
      for (const bool is_slow : {false, true}) {
        for (const bool overflows : {false, true}) {
          for (const uint64_t below : {0, 8}) {
            AllRegisters in = random_registers(target + below, components);
            const auto set = [&](uint8_t argument, uint64_t value) {
              if (argument != kNoArgument) {
                in.general[kPlaces[argument]] = value;
              }
            };
            set(s.size, 64);
            set(s.count, overflows ? uint64_t{1} << 60 : 2);
            set(s.block, address);
            if (is_slow) {
              g_sampled_filter.mark(address);
            }
            site_->target.store(target);
            t_sampler.count = is_slow ? 1 : 1'000'000;
            AllRegisters out;
            const std::string changed =
                changed_by(reinterpret_cast<void (*)()>(stub()), in, below, components, &out);
            t_sampler.count = count;
            if (is_slow) {
              g_sampled_filter.unmark(address);
            }
            EXPECT_EQ(changed, "rax ") << static_cast<int>(s.call) << ' ' << is_slow << ' ' << overflows;
            EXPECT_EQ(out.general[0], kOfOriginal);
          }
        }
      }
    }
  }
}

// A function of which the caller knows that it leaves rax alone, too.
TEST_F(Stubs, ReturningNothingLeavesRaxAlone) {
  const uint32_t components = components_here();
  if (components == 0) {
    GTEST_SKIP() << "the test needs XSAVE";
  }
  memset(code(), 0x90, 8);
  code()[8] = 0xc3;
  alignas(16) static char block[16];
  const auto address = reinterpret_cast<uint64_t>(block);
  site_->address = reinterpret_cast<uint64_t>(code());
  site_->signature = signature(AllocatorCall::kFree, kNoArgument, kNoArgument, 0);
  ASSERT_TRUE(prepare_gate({all_is_full, also_after, note_slow, nothing_follows}));
  ASSERT_EQ(write_stub(site_, code(), 9, stub(), gate_of_functions()), Refusal::kNone);
  ASSERT_EQ(mprotect(code(), 4096, PROT_READ | PROT_EXEC), 0);
  site_->target.store(site_->fast);
  AllRegisters in = random_registers(1, components);
  in.general[5] = address;
  AllRegisters out;
  EXPECT_EQ(changed_by(reinterpret_cast<void (*)()>(stub()), in, 8, components, &out), "");
  g_sampled_filter.mark(address);
  EXPECT_EQ(changed_by(reinterpret_cast<void (*)()>(stub()), in, 8, components, &out), "");
  g_sampled_filter.unmark(address);
  EXPECT_EQ(g_tagged, tagged(CallPath::kSlow));
}

TEST_F(Stubs, NoStubIsLongerThanItsRoom) {
  // The window that grows most, and all that a fast path can have.
  const uint8_t jumps[] = {0x70, 0x40, 0x71, 0x40, 0x72, 0x40, 0xc3, 0x90, 0x90};
  memset(stub(), 0xaa, 2 * kStubBytes);
  site_->address = reinterpret_cast<uint64_t>(code());
  site_->signature = signature(AllocatorCall::kReallocate, 4, 3, 2);
  ASSERT_EQ(write_stub(site_, jumps, sizeof(jumps), stub(), gate_of_functions()), Refusal::kNone);
  for (size_t i = kStubBytes; i < 2 * kStubBytes; ++i) {
    ASSERT_EQ(stub()[i], 0xaa);
  }
}

}  // namespace
}  // namespace memprof::platform
