// SPDX-License-Identifier: Apache-2.0
// Walks of aarch64 over stacks that are written word by word, through code that exists only in a table.  What
// real code does is in tests/cross.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/stack.h"
#include "tests/support/engine.h"
#include "tests/unwind/hand_made_tables.h"
#include "tests/unwind/hand_made_world.h"
#include "unwind/tables/rule_cache.h"
#include "unwind/walk/table_walk.h"

namespace memprof::table_walk_aarch64_test {
namespace {

using namespace unwind;       // NOLINT(google-build-using-namespace)
using namespace unwind_test;  // NOLINT(google-build-using-namespace)
using platform::Walk;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing_support::GuardedMemory;
using testing_support::Random;
using testing_support::scaled;

// The functions of the module: 64 bytes each, in this order.
enum Function : uint64_t {
  kLeaf,        // nothing saved
  kPair,        // CFA = sp + 32; x29, x30 at CFA - 32
  kFramed,      // CFA = x29 + 16; x29, x30 at CFA - 16
  kLink,        // CFA = sp + 16; x30 at CFA - 16, x29 as it was
  kTrampoline,  // signal frame
  kFirst,       // return address undefined
  kApart,       // CFA = sp + 32; x29 at CFA - 32, x30 at CFA - 8: needs all registers
  kOddCfa,      // CFA = x19 + 16; x19, x30 at CFA - 16: needs all registers
  kSaves19,     // CFA = sp + 32; x29, x30 at CFA - 32, x19 at CFA - 16
  kBadRow,      // a corrupt program
  kFunctions,
  kGap = kFunctions,  // in the module, without a table
  kElsewhere          // in no module
};

struct World : WorldOfAny {
  uint64_t signal_return = 0;
};
World* g_world;

bool find_image(uint64_t address, Image* image) {
  *image = g_world->image;
  return address - g_world->tables.code(0) < 64 * (kGap + 1);
}
bool is_call_site(uint64_t) {
  return g_world->call_sites;
}
StackBounds find_stack(uint64_t) {
  return g_world->other_stack;
}
bool is_hook(uint64_t address) {
  return address - g_world->tables.code(0) < 64 * g_world->hooks_below;
}
bool is_signal_return(uint64_t address) {
  return address == g_world->signal_return;
}
constexpr Surroundings kSurroundings{find_image, is_call_site, find_stack,      is_hook,
                                     nullptr,    nullptr,      is_signal_return};

class TableWalkAarch64 : public HandMadeWorld<World> {
 protected:
  TableWalkAarch64() {
    g_world = &world_;
    Cie cie;
    cie.code_alignment = 4;
    cie.return_register = {30};
    cie.program = {0x0c, 31, 0};
    const Blob programs[kFunctions] = {
        {},
        {0x0e, 32, 0x9d, 4, 0x9e, 3},
        {0x0c, 29, 16, 0x9d, 2, 0x9e, 1},
        {0x0e, 16, 0x9e, 2},
        {},
        {0x07, 30},
        {0x0e, 32, 0x9d, 4, 0x9e, 1},
        {0x0c, 19, 16, 0x93, 2, 0x9e, 1},
        {0x0e, 32, 0x9d, 4, 0x9e, 3, 0x93, 2},
        {0x17},
    };
    add_functions(programs, kTrampoline, cie);
  }
  ~TableWalkAarch64() override { g_world = nullptr; }

  static uint64_t signed_(uint64_t address) { return address | uint64_t{0x2a5f} << 48; }
  // An rt_sigframe at the word: what the interrupted code had in its registers.
  void put_signal_frame(uint64_t word, uint64_t pc, uint64_t sp, uint64_t x29, uint64_t x30,
                        uint64_t x19 = 0) {
    put(word, std::vector<uint64_t>(72, 0x5555));
    put(word + 39 + 29, {x29, x30, sp, pc});
    world_.words[word + 39 + 19] = x19;
  }
  StackBounds bounds(uint64_t low = 0, uint64_t high = 512) const { return {at(low), at(high), nullptr}; }

  Walked walk(const Start& start, const StackBounds& stack, uint32_t max_depth = 64) const {
    return walked_by_tables(start, stack, kSurroundings, max_depth);
  }
  // The same from a frame inside us: kLink, two words below.
  Walked walk_full(const Start& start, const StackBounds& stack, uint64_t x19 = 0, uint32_t max_depth = 64) {
    const uint64_t inside = start.sp - 16;
    memcpy(reinterpret_cast<void*>(inside), &start.pc, 8);
    RegisterFile registers{};
    registers.set(kX19, x19);
    registers.set(kX29, start.bp);
    registers.set(kSp, inside);
    registers.set(kReturnAddress, in(kLink));
    return walked_with_all_registers(registers, start.sp, stack, kSurroundings, max_depth);
  }

  // The cold walk, the warm one, and the one with all registers see the same.
  void expect_walk(const Start& start, uint64_t low, const std::vector<uint64_t>& frames, Walk reason,
                   const StackBounds* stack = nullptr) {
    const uint64_t high = stack != nullptr ? stack->high : at(512);
    for (int round = 0; round < 2; ++round) {
      const Walked w = walk(start, {at(low), high, nullptr});
      EXPECT_THAT(w.frames, ElementsAreArray(frames));
      EXPECT_EQ(reason, w.reason);
      EXPECT_FALSE(w.needs_all);
    }
    const Walked full = walk_full(start, {at(low - 2), high, nullptr});
    EXPECT_THAT(full.frames, ElementsAreArray(frames));
    EXPECT_EQ(reason, full.reason);
  }
};

TEST_F(TableWalkAarch64, EachKindOfFrame) {
  put(10, {at(20), in(kFramed), 7, 7});  // kPair at 10
  put(20, {at(40), in(kLink)});          // kFramed with x29 at 20: CFA 22
  put(22, {in(kPair, 60), 7});           // kLink at 22
  put(24, {at(50), in(kFirst), 7, 7});   // kPair at 24
  expect_walk({in(kPair), at(10), at(1)}, 10, {in(kPair), in(kFramed), in(kLink), in(kPair, 60), in(kFirst)},
              Walk::kRoot);
}

TEST_F(TableWalkAarch64, SignaturesAreTakenOff) {
  put(10, {at(20), signed_(in(kFramed)), 7, 7});
  put(20, {at(40), signed_(in(kLink))});
  put(22, {signed_(in(kFirst)), 7});
  expect_walk({in(kPair), at(10), at(1)}, 10, {in(kPair), in(kFramed), in(kLink), in(kFirst)}, Walk::kRoot);
}

TEST_F(TableWalkAarch64, FramesThatDoNotFitNeedAllRegisters) {
  put(10, {at(30), in(kApart), at(40), 7});  // kSaves19 at 10: x19 becomes 40
  put(14, {at(30), 7, 7, in(kOddCfa)});      // kApart at 14
  put(40, {at(44), in(kOddCfa)});            // CFA = 42; x19 becomes 44
  put(44, {5, in(kFirst)});
  const Start start{in(kSaves19), at(10), at(20)};
  const Walked first = walk(start, bounds(10));
  EXPECT_TRUE(first.needs_all);
  EXPECT_THAT(first.frames, ElementsAre(in(kSaves19), in(kApart)));
  const Walked second = walk_full(start, bounds(8));
  EXPECT_THAT(second.frames, ElementsAre(in(kSaves19), in(kApart), in(kOddCfa), in(kOddCfa), in(kFirst)));
  EXPECT_EQ(Walk::kRoot, second.reason);
}

TEST_F(TableWalkAarch64, OnlyAnInterruptedFunctionHasItsReturnAddressInARegister) {
  put(10, {at(20), in(kLeaf), 7, 7});
  expect_walk({in(kPair), at(10), at(1)}, 10, {in(kPair), in(kLeaf)}, Walk::kBadFrame);
}

TEST_F(TableWalkAarch64, ASignalInterruptsALeaf) {
  for (const bool has_table : {true, false}) {
    const uint64_t trampoline = has_table ? in(kTrampoline, 0) + 32 : in(kElsewhere);
    world_.signal_return = has_table ? 0 : trampoline;
    put(10, {at(20), trampoline, 7, 7});
    put_signal_frame(14, in(kLeaf, 0), at(200), at(220), signed_(in(kPair)));  // at its first instruction
    put(200, {at(220), in(kFramed), 7, 7});
    put(220, {0, in(kFirst)});
    expect_walk({in(kPair), at(10), at(1)}, 10,
                {in(kPair), trampoline, in(kLeaf, 1), in(kPair), in(kFramed), in(kFirst)}, Walk::kRoot);
    // A leaf that was called has lost what was in the register.
    put_signal_frame(14, in(kLeaf, 0), at(200), at(220), in(kLeaf));
    expect_walk({in(kPair), at(10), at(1)}, 10, {in(kPair), trampoline, in(kLeaf, 1), in(kLeaf)},
                Walk::kBadFrame);
  }
}

TEST_F(TableWalkAarch64, AHandlerOnAStackOfItsOwn) {
  put(10, {at(20), in(kTrampoline), 7, 7});
  put_signal_frame(14, in(kPair), at(300), at(1), 0);
  put(300, {at(320), in(kFirst), 7, 7});
  world_.other_stack = bounds(300, 400);
  const StackBounds own = bounds(10, 120);
  expect_walk({in(kPair), at(10), at(1)}, 10, {in(kPair), in(kTrampoline), in(kPair) + 1, in(kFirst)},
              Walk::kRoot, &own);
  // Not one word of it is read beyond its end.
  world_.other_stack = bounds(300, 301);
  expect_walk({in(kPair), at(10), at(1)}, 10, {in(kPair), in(kTrampoline), in(kPair) + 1}, Walk::kLeftStack,
              &own);
}

TEST_F(TableWalkAarch64, AllRegistersComeFromTheSignalFrame) {
  put(10, {at(20), in(kTrampoline), 7, 7});
  put_signal_frame(14, in(kOddCfa), at(200), at(1), 0, at(210));
  put(210, {0, in(kFirst)});
  const Start start{in(kPair), at(10), at(1)};
  EXPECT_TRUE(walk(start, bounds(10)).needs_all);
  EXPECT_THAT(walk_full(start, bounds(8)).frames,
              ElementsAre(in(kPair), in(kTrampoline), in(kOddCfa) + 1, in(kFirst)));
}

TEST_F(TableWalkAarch64, BehindCodeWithoutATableTheStackPointerIsFoundAgain) {
  put(10, {at(30), in(kElsewhere), 7, 7});  // kPair at 10
  put(30, {at(50), in(kElsewhere, 8)});     // twice through code without a table: records at 30 and 50
  put(50, {at(70), in(kPair)});             // kPair: its pair is at 70, so its CFA is 74
  put(70, {at(90), in(kLink), 7, 7});
  put(74, {in(kFramed), 7});  // kLink at 74
  put(90, {0, in(kFirst)});
  const std::vector<uint64_t> expected = {in(kPair), in(kElsewhere), in(kElsewhere, 8), in(kPair),
                                          in(kLink), in(kFramed),    in(kFirst)};
  expect_walk({in(kPair), at(10), at(1)}, 10, expected, Walk::kRoot);
  // Where x29 is no frame record, or leads to what is no call, nothing is believed.
  world_.call_sites = false;
  put(30, {at(29)});  // unwind/walk/frame_record.h: what is believed nevertheless
  expect_walk({in(kPair), at(10), at(1)}, 10, {in(kPair), in(kElsewhere)}, Walk::kNoRule);
  put(30, {at(50)});
  world_.call_sites = true;
  for (const uint64_t x29 : {uint64_t{0}, at(5), at(13), at(30) + 4, at(511), at(512), ~uint64_t{7}}) {
    put(10, {x29, in(kElsewhere), 7, 7});
    expect_walk({in(kPair), at(10), at(1)}, 10, {in(kPair), in(kElsewhere)}, Walk::kNoRule);
  }
}

TEST_F(TableWalkAarch64, WithoutAStackPointerAFrameWithoutARecordIsNotLeft) {
  put(10, {at(30), in(kElsewhere), 7, 7});
  put(30, {at(50), in(kLink)});
  EXPECT_EQ(Walk::kNoRule, walk({in(kPair), at(10), at(1)}, bounds(10)).reason);
  EXPECT_THAT(walk({in(kPair), at(10), at(1)}, bounds(10)).frames,
              ElementsAre(in(kPair), in(kElsewhere), in(kLink)));
  EXPECT_EQ(Walk::kBadFrame, walk_full({in(kPair), at(10), at(1)}, bounds(8)).reason);
}

TEST_F(TableWalkAarch64, WithoutAStackPointerASignalFrameIsNotFound) {
  put(10, {at(30), in(kElsewhere), 7, 7});
  put(30, {at(50), in(kTrampoline)});
  put_signal_frame(32, in(kPair), at(200), at(220), 0);  // where it would be if the frame ended there
  put(200, {at(220), in(kFirst), 7, 7});
  const Start start{in(kPair), at(10), at(1)};
  EXPECT_EQ(Walk::kNoRule, walk(start, bounds(10)).reason);
  EXPECT_THAT(walk(start, bounds(10)).frames, ElementsAre(in(kPair), in(kElsewhere), in(kTrampoline)));
  EXPECT_EQ(Walk::kNoRule, walk_full(start, bounds(8)).reason);
  EXPECT_EQ(3u, walk_full(start, bounds(8)).frames.size());
}

TEST_F(TableWalkAarch64, EndReasons) {
  const auto reason_after = [&](uint64_t next, const StackBounds& stack) {
    put(10, {at(40), next, 7, 7});
    const Walked w = walk({in(kPair), at(10), at(1)}, stack);
    const Walked full = walk_full({in(kPair), at(10), at(1)}, {at(8), stack.high, stack.grow});
    EXPECT_EQ(w.reason, full.reason);
    EXPECT_EQ(w.frames, full.frames);
    return w.reason;
  };
  EXPECT_EQ(Walk::kRoot, reason_after(in(kFirst), bounds(10)));
  EXPECT_EQ(Walk::kRoot, reason_after(0, bounds(10)));
  EXPECT_EQ(Walk::kBadFrame, reason_after(4095, bounds(10)));
  EXPECT_EQ(Walk::kNoRule, reason_after(in(kBadRow), bounds(10)));
  EXPECT_EQ(Walk::kLeftStack, reason_after(in(kPair), bounds(10, 15)));
  EXPECT_EQ(Walk::kLeftStack, reason_after(in(kPair), bounds(10, 14)));
  EXPECT_EQ(Walk::kLeftStack, reason_after(in(kLink), bounds(10, 14)));
  EXPECT_EQ(Walk::kRoot, reason_after(in(kGap), bounds(10, 14))) << "nothing is left above it";
}

TEST_F(TableWalkAarch64, TheCallerOfAHookIsFoundByOurOwnTables) {
  world_.hooks_below = kLink;              // kLeaf, kPair, kFramed are hooks
  put(10, {in(kLink), 7});                 // kLink at 10, ours
  put(12, {in(kPair), 7});                 // kLink at 12, ours, called by the hook
  put(14, {at(30), in(kLink, 40), 7, 7});  // the hook, kPair at 14: its record is there
  const Start found = find_caller({in(kLink), at(10), at(14)}, at(14), bounds(10), kSurroundings);
  EXPECT_EQ(in(kLink, 40), found.pc);
  EXPECT_EQ(at(18), found.sp);
  EXPECT_EQ(at(30), found.bp);
  EXPECT_TRUE(found.has_sp);
  // Through code of ours that has no table, by the hook's record, and without the stack pointer.
  put(10, {in(kElsewhere), 7});
  const Start guessed = find_caller({in(kLink), at(10), at(14)}, at(14), bounds(10), kSurroundings);
  EXPECT_EQ(in(kLink, 40), guessed.pc);
  EXPECT_EQ(at(16), guessed.sp);
  EXPECT_EQ(at(30), guessed.bp);
  EXPECT_FALSE(guessed.has_sp);
}

// Whatever lies on the stack: every read is inside it (its neighbours are inaccessible), and each walk ends.
TEST_F(TableWalkAarch64, RandomStacksAreSurvived) {
  constexpr uint64_t kWords = 512;
  GuardedMemory memory(kWords * 8);
  auto* words = reinterpret_cast<uint64_t*>(memory.data());
  const uint64_t low = reinterpret_cast<uint64_t>(words);
  const StackBounds stack{low, low + 8 * kWords, nullptr};
  world_.other_stack = stack;
  world_.signal_return = in(kElsewhere, 12);
  Random random(20261121);
  uint64_t reasons[platform::kWalkReasons] = {};
  uint64_t frames = 0;
  for (uint64_t round = 0; round < scaled(20000); ++round) {
    for (uint64_t i = 0; i < kWords; ++i) {
      const uint64_t kind = random.below(8);
      words[i] = kind < 4   ? in(random.below(kElsewhere + 1), 4 * random.below(16))
                 : kind < 7 ? low + 8 * (i + random.below(24))
                            : random.next();
    }
    Start start{in(random.below(kElsewhere), 20), low + 8 * (2 + random.below(100)),
                low + 8 * random.below(kWords)};
    start.has_sp = random.below(4) != 0;
    const uint32_t max_depth = 1 + static_cast<uint32_t>(random.below(6));
    const Walked w = walk(start, stack, max_depth);
    ++reasons[static_cast<int>(w.reason)];
    frames += w.frames.size();
    walk_full(start, stack, low + 8 * random.below(kWords), max_depth);
  }
  for (const Walk reason :
       {Walk::kRoot, Walk::kDepthLimit, Walk::kBadFrame, Walk::kLeftStack, Walk::kNoRule}) {
    EXPECT_GT(reasons[static_cast<int>(reason)], scaled(20)) << static_cast<int>(reason);
  }
  EXPECT_GT(frames, scaled(30000));
}

}  // namespace
}  // namespace memprof::table_walk_aarch64_test
