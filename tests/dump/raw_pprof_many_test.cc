// SPDX-License-Identifier: Apache-2.0
// What the writer does with many stacks only.
#include <gtest/gtest.h>

#include <vector>

#include "dump/raw_pprof.h"
#include "profile/pprof/pprof_reader.h"
#include "tests/dump/raw_fixture.h"

namespace memprof::profile {
namespace {

// Stacks that share callers: each one's comment is found by an id, which is made of steps over pieces; and the locations
// that most have get the shortest ids.
TEST(RawPprofOfMany, many_stacks_of_shared_callers_keep_their_statistics) {
  constexpr uint32_t kPieces = 60;
  constexpr uint32_t kStacks = 3000;
  RawFixture raw;
  raw.stacks.clear();
  raw.live.clear();
  std::vector<uint64_t> callers(size_t{kPieces} * RawCallers::kCount);
  std::vector<uint32_t> modules(callers.size());
  std::vector<uint32_t> links(kPieces);
  for (uint32_t piece = 1; piece < kPieces; ++piece) {
    links[piece] = piece < 4 ? piece - 1 : piece / 4;
    for (uint32_t i = 0; i < RawCallers::kCount; ++i) {
      callers[piece * RawCallers::kCount + i] = 0x410001 + (piece * RawCallers::kCount + i) * 16;
    }
  }
  raw.profile.callers = {callers.data(), modules.data(), links.data(), kPieces};
  std::vector<uint64_t> own(2 * size_t{kStacks});
  std::vector<uint32_t> own_modules(own.size());
  for (uint32_t i = 0; i < kStacks; ++i) {
    own[2 * i] = 0x450001 + i;
    own[2 * i + 1] = 0x440001 + i % 5;
    RawStack stack;
    stack.frames = &own[2 * i];
    stack.modules = &own_modules[2 * i];
    stack.depth = 2;
    stack.callers = i % kPieces;
    add_samples(stack.allocated, 64, 1 + i % 7);
    raw.stacks.push_back(stack);
  }
  raw.point();
  const std::string written = write_raw(raw.profile);
  const Profile profile = read_pprof(written, "raw");
  ASSERT_EQ(profile.stacks.size(), kStacks);
  std::vector<uint64_t> uses(profile.locations.size());
  for (const Stack& stack : profile.stacks) {
    EXPECT_TRUE(stack.has_statistics);
    for (const uint32_t location : stack.locations) ++uses[location];
  }
  EXPECT_GT(profile.locations.size(), kStacks);
  const auto address_uses = [&](size_t at) { return std::pair(uses[at], profile.locations[at].address); };
  for (size_t i = 0; i < 127; ++i) {
    EXPECT_GT(uses[i], 1u) << address_uses(i).second;
  }
  // The root's pieces, and the callers of all, are among the first.
  for (size_t i = 127; i < uses.size(); ++i) {
    EXPECT_LT(uses[i], kStacks / 5) << address_uses(i).second;
  }
}

// Then tables become as large as the scratch memory was made for.
TEST(RawPprofOfMany, there_is_room_for_callers_that_are_all_different) {
  constexpr uint32_t kPieces = 1024;
  RawFixture raw;
  raw.stacks.clear();
  raw.live.clear();
  std::vector<uint64_t> callers(size_t{kPieces} * RawCallers::kCount);
  std::vector<uint32_t> modules(callers.size());
  const std::vector<uint32_t> links(kPieces);
  for (size_t i = 0; i < callers.size(); ++i) callers[i] = 0x410001 + i;
  raw.profile.callers = {callers.data(), modules.data(), links.data(), kPieces};
  std::vector<uint64_t> own(kPieces);
  for (uint32_t piece = 1; piece < kPieces; ++piece) {
    own[piece] = 0x450001 + piece;
    RawStack stack;
    stack.frames = &own[piece];
    stack.modules = &modules[piece];
    stack.depth = 1;
    stack.callers = piece;
    add_samples(stack.allocated, 64, 1);
    raw.stacks.push_back(stack);
  }
  raw.point();
  const Profile profile = read_pprof(write_raw(raw.profile), "raw");
  EXPECT_EQ(profile.stacks.size(), kPieces - 1);
  EXPECT_EQ(profile.locations.size(), (kPieces - 1) * size_t{1 + RawCallers::kCount});
}

}  // namespace
}  // namespace memprof::profile
