// SPDX-License-Identifier: Apache-2.0
// Names by address, as lists change.  Each test is a process of its own: names are interned in the engine's tables.
#include "runtime/jit/jit_code.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/engine/profiler.h"
#include "format/runtime_frame.h"
#include "tests/runtime/jit/listed_objects.h"
#include "tests/support/engine.h"

namespace memprof::jit::jit_code_test {
namespace {

using jit_fixture::Entry;
using jit_fixture::Listing;
using jit_fixture::make_object;
using testing_support::in_child;

constexpr uint64_t kCode = 0x70000000;
constexpr Limits kLimits{4096, 1024, 64};

void start() {
  ASSERT_EQ(Status::kOk, profiler::initialize(kLimits, 0, {}));
  ASSERT_EQ(Status::kOk, profiler::start());
}

struct Followed {
  Listing listing;
  std::unique_ptr<JitCode> code = std::make_unique<JitCode>();

  Followed() { EXPECT_TRUE(code->add_list(listing.descriptor())); }
  bool has(uint64_t address) {
    code->follow();
    return code->frame_at(address) != 0;
  }
};

TEST(JitCode, AFunctionHasOneFrame) {
  in_child([] {
    start();
    Followed f;
    EXPECT_FALSE(f.has(kCode));
    f.listing.add(make_object(kCode, {{"first", 0, 32}, {"second", 64, 100}}));
    f.code->follow();
    const uint64_t first = f.code->frame_at(kCode);
    const uint64_t second = f.code->frame_at(kCode + 64);
    EXPECT_TRUE(is_runtime_frame(first) && is_runtime_frame(second));
    EXPECT_NE(first, second);
    EXPECT_EQ(first, f.code->frame_at(kCode + 31));
    EXPECT_EQ(0u, f.code->frame_at(kCode + 32));
    EXPECT_EQ(second, f.code->frame_at(kCode + 163));
    EXPECT_EQ(0u, f.code->frame_at(kCode + 164));
    EXPECT_EQ(0u, f.code->frame_at(kCode - 1));
    EXPECT_EQ(1u, f.code->files());
  });
}

TEST(JitCode, WhatIsNotListedAnyMoreHasNoName) {
  in_child([] {
    start();
    Followed f;
    Entry* const a = f.listing.add(make_object(kCode, {{"a", 0, 32}}));
    Entry* const b = f.listing.add(make_object(kCode + 4096, {{"b", 0, 32}}));
    EXPECT_TRUE(f.has(kCode) && f.has(kCode + 4096));
    f.listing.remove(a);
    EXPECT_FALSE(f.has(kCode));
    EXPECT_TRUE(f.has(kCode + 4096));
    // Other code at the same place.
    f.listing.add(make_object(kCode, {{"c", 16, 32}}));
    EXPECT_FALSE(f.has(kCode));
    EXPECT_TRUE(f.has(kCode + 16));
    f.listing.remove(b);
    EXPECT_FALSE(f.has(kCode + 4096));
    EXPECT_TRUE(f.has(kCode + 16));
  });
}

TEST(JitCode, OfTwoFilesAtAPlaceTheLastOneIsRight) {
  in_child([] {
    start();
    Followed f;
    f.listing.add(make_object(kCode, {{"old", 0, 64}}));
    EXPECT_TRUE(f.has(kCode));
    const uint64_t old = f.code->frame_at(kCode + 8);
    Entry* const newer = f.listing.add(make_object(kCode, {{"new", 0, 16}}));
    EXPECT_TRUE(f.has(kCode));
    EXPECT_NE(old, f.code->frame_at(kCode + 8));
    EXPECT_EQ(old, f.code->frame_at(kCode + 16));
    f.listing.remove(newer);
    EXPECT_TRUE(f.has(kCode));
    EXPECT_EQ(old, f.code->frame_at(kCode + 8));
  });
}

TEST(JitCode, ListsAreKeptWhileTheirModulesAre) {
  in_child([] {
    start();
    Followed f;
    Listing other;
    f.listing.add(make_object(kCode, {{"a", 0, 32}}));
    other.add(make_object(kCode + 4096, {{"b", 0, 32}}));
    EXPECT_TRUE(f.code->add_list(other.descriptor()));
    EXPECT_TRUE(f.code->add_list(other.descriptor()));
    EXPECT_TRUE(f.has(kCode) && f.has(kCode + 4096));
    f.code->keep_lists([&](uint64_t descriptor) { return descriptor == other.descriptor(); });
    EXPECT_FALSE(f.has(kCode));
    EXPECT_TRUE(f.has(kCode + 4096));
    EXPECT_TRUE(f.code->has_lists());
    f.code->keep_lists([](uint64_t) { return false; });
    EXPECT_FALSE(f.has(kCode + 4096));
    EXPECT_FALSE(f.code->has_lists());
    for (uint64_t i = 0; i < JitCode::kMaxLists; ++i) {
      EXPECT_TRUE(f.code->add_list(64 + i));
    }
    EXPECT_FALSE(f.code->add_list(128));
  });
}

TEST(JitCode, TheNewestOfManyFilesHaveNames) {
  in_child([] {
    start();
    Followed f;
    for (uint64_t i = 0; i < 2 * JitCode::kMaxFilesAtOnce; ++i) {
      f.listing.add(make_object(kCode + i * 4096, {{"f" + std::to_string(i), 0, 32}}));
    }
    EXPECT_FALSE(f.has(kCode));
    EXPECT_TRUE(f.has(kCode + (2 * JitCode::kMaxFilesAtOnce - 1) * 4096));
    EXPECT_TRUE(f.has(kCode + JitCode::kMaxFilesAtOnce * 4096));
    EXPECT_EQ(JitCode::kMaxFilesAtOnce, f.code->files());
  });
}

TEST(JitCode, WhatIsNoObjectFileIsLeftOut) {
  in_child([] {
    start();
    Followed f;
    f.listing.add("no file");
    f.listing.add(std::string(4096, '\0'));
    f.listing.add(make_object(kCode, {}));
    EXPECT_FALSE(f.has(kCode));
    EXPECT_EQ(0u, f.code->files());
  });
}

// One thread changes the list all the time, others look addresses up: what they find is the function's frame or none.
TEST(JitCode, ThreadsFindWhileTheListChanges) {
  in_child([] {
    start();
    Followed f;
    f.listing.add(make_object(kCode, {{"stays", 0, 32}}));
    EXPECT_TRUE(f.has(kCode));
    const uint64_t stays = f.code->frame_at(kCode);
    std::atomic<bool> is_over{false};
    std::vector<std::thread> readers;
    for (int i = 0; i < 3; ++i) {
      readers.emplace_back([&] {
        while (!is_over) {
          const uint64_t found = f.code->frame_at(kCode + 8);
          EXPECT_TRUE(found == stays || found == 0);
        }
      });
    }
    for (int i = 0; i < 2000; ++i) {
      Entry* const e = f.listing.add(make_object(kCode + 4096, {{"comes and goes", 0, 32}}));
      EXPECT_TRUE(f.has(kCode + 4096));
      f.listing.remove(e);
      EXPECT_FALSE(f.has(kCode + 4096));
    }
    is_over = true;
    for (std::thread& reader : readers) {
      reader.join();
    }
    EXPECT_EQ(stays, f.code->frame_at(kCode));
  });
}

}  // namespace
}  // namespace memprof::jit::jit_code_test
