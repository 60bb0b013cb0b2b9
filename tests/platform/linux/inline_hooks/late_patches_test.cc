// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/late_patches.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace memprof::platform {
namespace {

// A module with two functions of an allocator that is hooked, and one of an allocator that is not.
struct Module {
  InnerModule module{};
  InnerHeap heaps[2] = {};
  HookSite sites[3] = {};
  uint8_t code[64] = {};

  Module() {
    for (size_t i = 0; i < sizeof(code); ++i) {
      code[i] = static_cast<uint8_t>(i);
    }
    module.heaps = heaps;
    module.heap_count = 2;
    module.region_bytes = sizeof(*this);
    heaps[0].sites = sites;
    heaps[0].site_count = 2;
    heaps[0].state = InnerState::kPrepared;
    heaps[1].sites = sites + 2;
    heaps[1].site_count = 1;
    heaps[1].reason = "is not wanted";
    heaps[1].state = InnerState::kRefused;
    for (HookSite& site : sites) {
      site.address = reinterpret_cast<uint64_t>(code) + 16 * static_cast<uint64_t>(&site - sites);
      site.entry_bytes = 4;
      site.window_bytes = 7;
      site.stub = site.address + 1000;
    }
  }
};

const LatePatch* list_of(const LatePatches& patches) {
  return reinterpret_cast<const LatePatch*>(patches.address());
}

TEST(LatePatches, CodeFirstThenWhatBeginsIt) {
  const Module m;
  LatePatches patches;
  ASSERT_TRUE(patches.add_module(m.module));
  ASSERT_EQ(patches.count(), 3u);
  const LatePatch* p = list_of(patches);
  for (uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ(p[i].address, m.sites[i].address + 4);
    EXPECT_EQ(p[i].window_bytes, 7u);
    EXPECT_EQ(p[i].written_bytes, kJumpBytes);
    EXPECT_EQ(memcmp(p[i].old_bytes, m.code + 16 * i + 4, 7), 0);
    const uint8_t jump[] = {0xe9, 1000 - 9 - 768, 3, 0, 0};
    EXPECT_EQ(memcmp(p[i].new_bytes, jump, sizeof(jump)), 0);
  }
  const auto* next = reinterpret_cast<const InnerState*>(p[2].new_bytes);
  const auto* before = reinterpret_cast<const InnerState*>(p[2].old_bytes);
  EXPECT_EQ(p[2].address, reinterpret_cast<uint64_t>(&m.heaps[0].state));
  EXPECT_EQ(p[2].window_bytes, 0u);
  EXPECT_EQ(*before, InnerState::kPrepared);
  EXPECT_EQ(*next, InnerState::kUntried);
}

TEST(LatePatches, AnUnloadedModuleIsWithdrawn) {
  const auto gone = std::make_unique<Module>();
  const auto kept = std::make_unique<Module>();
  LatePatches patches;
  ASSERT_TRUE(patches.add_module(gone->module) && patches.add_module(kept->module));
  const LatePatch* p = list_of(patches);
  EXPECT_NE(p[0].group, p[3].group);
  patches.forget(gone->module);
  for (uint32_t i = 0; i < 6; ++i) {
    EXPECT_EQ(p[i].written_bytes == 0, i < 3) << i;
  }
}

TEST(LatePatches, FullIsAllOrNothing) {
  LatePatches patches;
  const LatePatch some[1000] = {};
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(patches.add_group(some, 1000));
  }
  EXPECT_FALSE(patches.add_group(some, 1000));
  EXPECT_EQ(patches.count(), 4000u);
}

}  // namespace
}  // namespace memprof::platform
