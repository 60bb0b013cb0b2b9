// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/toy/toy_runtime.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "core/engine/profiler.h"
#include "core/engine/runtimes.h"
#include "memprof.h"
#include "runtime/cpython/runtime.h"
#include "tests/runtime/toy/toy_code.h"
#include "tests/support/engine.h"
#include "tests/support/python_fixtures.h"

namespace memprof::toy_runtime_test {
namespace {

using testing_support::in_child;

void start() {
  ASSERT_EQ(Status::kOk, profiler::initialize({1024, 256, 64}, 0));
  ASSERT_EQ(Status::kOk, profiler::start());
  runtimes::attach();
}

memprof_stats stats_now() {
  memprof_stats stats{};
  stats.struct_size = sizeof(stats);
  EXPECT_EQ(MEMPROF_OK, memprof_get_stats(&stats));
  return stats;
}

// Of the stack that allocated: "leaf inner.toy:42" for a frame of the toy, "*" for native ones in a row.
std::string stack_of_block() {
  memprof_snapshot* snapshot = nullptr;
  EXPECT_EQ(MEMPROF_OK, memprof_get_snapshot(&snapshot));
  uint64_t count = 0;
  const memprof_record* records = memprof_snapshot_records(snapshot, &count);
  std::string text;
  for (uint64_t i = 0; i < count; ++i) {
    if (records[i].size_bytes != sizeof(toy::g_block)) {
      continue;
    }
    const memprof_stack& stack = memprof_snapshot_stacks(snapshot, nullptr)[records[i].stack_id];
    const uint64_t* frames = memprof_snapshot_frames(snapshot, nullptr) + stack.first_frame;
    const char* strings = memprof_snapshot_strings(snapshot, nullptr);
    for (uint32_t k = 0; k < stack.frame_count; ++k) {
      if ((frames[k] & MEMPROF_RUNTIME_FRAME) == 0) {
        text += text.empty() || text.back() != '*' ? " *" : "";
        continue;
      }
      const memprof_runtime_frame& frame =
          memprof_snapshot_runtime_frames(snapshot, nullptr)[frames[k] ^ MEMPROF_RUNTIME_FRAME];
      EXPECT_EQ(toy::kRuntimeId, frame.runtime);
      text += " " + std::string(strings + frame.name_offset) + " " + (strings + frame.file_offset) + ":" +
              std::to_string(frame.line);
    }
  }
  memprof_free_snapshot(snapshot);
  return text;
}

TEST(ToyRuntime, ItsFramesStandBetweenNativeOnes) {
  in_child([] {
    start();
    toy::run(toy::kMain);
    EXPECT_EQ(" * leaf inner.toy:42 * fill outer.toy:25 main outer.toy:2 *", stack_of_block());
  });
}

TEST(ToyRuntime, ItSpeaksInTheStatistics) {
  in_child([] {
    start();
    const memprof_runtime_stats before = stats_now().runtimes[toy::kRuntimeId - 1];
    EXPECT_EQ(toy::kVersion, before.version);
    EXPECT_EQ(uint32_t{MEMPROF_OBJECTS_BY_MALLOC}, before.objects);
    EXPECT_EQ(uint32_t{MEMPROF_STACKS_NONE}, before.stacks);
    toy::run(toy::kMain);
    EXPECT_EQ(uint32_t{MEMPROF_STACKS_READ}, stats_now().runtimes[toy::kRuntimeId - 1].stacks);
    EXPECT_EQ(0u, stats_now().python_version);
    EXPECT_STREQ("Toy", memprof_runtime_name(toy::kRuntimeId));
    EXPECT_STREQ("CPython", memprof_runtime_name(MEMPROF_RUNTIME_CPYTHON));
    EXPECT_STREQ("", memprof_runtime_name(toy::kRuntimeId - 1));
  });
}

TEST(ToyRuntime, ItIsLeftAloneWhenItIsNotWanted) {
  in_child([] {
    runtimes::Settings settings;
    settings.uses[toy::kRuntimeId - 1] = runtimes::Use::kNothing;
    runtimes::configure(settings);
    start();
    toy::run(toy::kMain);
    EXPECT_EQ(" *", stack_of_block());
    EXPECT_EQ(0u, stats_now().runtimes[toy::kRuntimeId - 1].version);
  });
}

TEST(ToyRuntime, BesideAnotherRuntimeEachIsAsked) {
  in_child([] {
    const testing_support::PythonFixture python;
    start();
    EXPECT_NE(toy::kRuntime.find_thread, runtimes::g_find_thread.load());
    EXPECT_NE(cpython::kRuntime.find_thread, runtimes::g_find_thread.load());
    runtimes::RunningThread thread;
    EXPECT_FALSE(runtimes::find_running_thread(&thread));
    toy::run(toy::kMain);
    EXPECT_EQ(" * leaf inner.toy:42 * fill outer.toy:25 main outer.toy:2 *", stack_of_block());
  });
}

TEST(ToyRuntime, CodeThatFindsNoRoomIsTheToysAllTheSame) {
  in_child([] {
    ASSERT_EQ(Status::kOk, profiler::initialize({1024, 256, 64}, 0));
    // As many codes as there may be with so few stacks.
    uint32_t codes = 0;
    const uint8_t line = 0;
    for (std::string name = "f"; codes < (1u << 17); ++codes) {
      const std::string numbered = name + std::to_string(codes);
      if (profiler::intern_code({numbered.data(), static_cast<uint32_t>(numbered.size()), "a", 1, &line, 1, 1,
                                 toy::kRuntimeId}) == CodeTable::kNone) {
        break;
      }
    }
    ASSERT_LT(codes, 1u << 17);
    ASSERT_EQ(Status::kOk, profiler::start());
    runtimes::attach();
    toy::run(toy::kMain);
    EXPECT_EQ(" * [unknown Toy code] :0 * [unknown Toy code] :0 [unknown Toy code] :0 *", stack_of_block());
  });
}

}  // namespace
}  // namespace memprof::toy_runtime_test
