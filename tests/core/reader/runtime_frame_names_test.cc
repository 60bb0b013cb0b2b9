// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/sampling/weight.h"
#include "core/tables/code_table.h"
#include "format/runtime_frame.h"
#include "platform/stack.h"
#include "runtime/cpython/interpreter.h"
#include "tests/support/arena.h"

namespace memprof::runtime_frame_names_test {
namespace {

using platform::Walk;
using testing_support::ScopedArena;
using testing_support::take;

// Eight code units on the first line, then eight on the one after the next.
constexpr char kLines[] = "\x87\x01\xdf\x01\x01\x01\x01";  // the second entry: kind 11, one line on

class SnapshotRuntimeTest : public testing::Test {
 protected:
  uint32_t code(const std::string& function, const std::string& file = "a.py", uint32_t first_line = 10) {
    return codes_.intern({function.data(), static_cast<uint32_t>(function.size()), file.data(),
                          static_cast<uint32_t>(file.size()), reinterpret_cast<const uint8_t*>(kLines),
                          sizeof(kLines) - 1, first_line, cpython::kRuntimeId});
  }
  void add(const std::vector<uint64_t>& frames) {
    bool is_new = false;
    const uint32_t id =
        a_.stacks.intern(frames.data(), static_cast<uint32_t>(frames.size()), Walk::kRoot, &is_new);
    a_.stacks.add_allocated(id, 100, weigh(100, 1));
  }

  ScopedArena a_{{1024, 1u << 16, 64}};
  CodeTable codes_{a_.arena, &a_.names};
};

TEST_F(SnapshotRuntimeTest, FramesBecomeFunctionsAndLines) {
  const uint32_t f = code("f");
  add({0x401000, runtime_frame(f, 0), runtime_frame(f, 16), 0x402000});
  const auto s = take(a_.arena);
  ASSERT_EQ(4u, s->frames.size);
  ASSERT_EQ(2u, s->runtime_frames.size);
  EXPECT_EQ(0x401000u, s->frames.data[0]);
  EXPECT_EQ(kRuntimeFrame | 0, s->frames.data[1]);
  EXPECT_EQ(kRuntimeFrame | 1, s->frames.data[2]);
  EXPECT_EQ(0x402000u, s->frames.data[3]);
  for (uint64_t i = 0; i < 2; ++i) {
    const SnapshotRuntimeFrame& frame = s->runtime_frames.data[i];
    EXPECT_STREQ("f", s->strings.data + frame.name_offset);
    EXPECT_STREQ("a.py", s->strings.data + frame.file_offset);
    EXPECT_EQ(10u, frame.function_line);
    EXPECT_EQ(10u + i, frame.line);
    EXPECT_EQ(cpython::kRuntimeId, frame.runtime);
  }
  EXPECT_EQ(Snapshot::kNoModule, s->frame_modules.data[1]);
}

TEST_F(SnapshotRuntimeTest, InstructionsOfOneLineAreOnePlace) {
  const uint32_t f = code("f");
  add({runtime_frame(f, 0), runtime_frame(f, 4), runtime_frame(f, 14)});
  const auto s = take(a_.arena);
  EXPECT_EQ(1u, s->runtime_frames.size);
  EXPECT_EQ(s->frames.data[0], s->frames.data[1]);
  EXPECT_EQ(s->frames.data[0], s->frames.data[2]);
}

TEST_F(SnapshotRuntimeTest, UnknownCodeIsOfItsRuntime) {
  constexpr uint32_t kOther = kMaxRuntimes;
  add({runtime_frame(unknown_code(cpython::kRuntimeId), 4), runtime_frame(unknown_code(kOther), 4)});
  const auto s = take(a_.arena);
  ASSERT_EQ(2u, s->runtime_frames.size);
  const SnapshotRuntimeFrame* frames = s->runtime_frames.data;
  EXPECT_EQ(cpython::kRuntimeId, frames[0].runtime);
  EXPECT_STREQ("[unknown Python code]", s->strings.data + frames[0].name_offset);
  EXPECT_EQ(kOther, frames[1].runtime);
  EXPECT_STREQ("[unknown code]", s->strings.data + frames[1].name_offset);
}

TEST_F(SnapshotRuntimeTest, AnArenaOfTheVersionBeforeHasTheFactsOfOneRuntime) {
  ArenaHeader& h = a_.arena.header();
  for (uint32_t i = 0; i < kMaxRuntimes; ++i) {
    h.runtime(i).version_and_objects = uint64_t{0x100 + i} << 32 | 3;
    h.runtime(i).stacks = 2;
  }
  EXPECT_EQ(0x100u + kMaxRuntimes - 1, take(a_.arena)->counters.runtimes[kMaxRuntimes - 1].version);
  h.version = kFirstVersionOfRuntimes - 1;
  bool is_arena = false;
  EXPECT_EQ(nullptr, Snapshot::read(a_.arena.base(), h.total_bytes, &is_arena))
      << "its header is another one";
  h.header_bytes = kVersion7HeaderBytes;
  h.section_count = kVersion7Sections;
  const auto s = take(a_.arena);
  ASSERT_NE(nullptr, s);
  EXPECT_EQ(0x100u, s->counters.runtimes[0].version);
  EXPECT_EQ(3u, s->counters.runtimes[0].objects);
  EXPECT_EQ(2u, s->counters.runtimes[0].stacks);
  EXPECT_EQ(0u, s->counters.runtimes[1].version) << "whatever lies there";
}

TEST_F(SnapshotRuntimeTest, AnArenaOfVersion10HasTheFactsOfFourRuntimes) {
  ArenaHeader& h = a_.arena.header();
  for (uint32_t i = 0; i < kMaxRuntimes; ++i) {
    h.runtime(i).version_and_objects = uint64_t{0x100 + i} << 32 | 3;
  }
  h.version = kFirstVersionOfMoreRuntimes - 1;
  h.header_bytes = kVersion10HeaderBytes;
  h.section_count = kVersion10Sections;
  const auto s = take(a_.arena);
  ASSERT_NE(nullptr, s);
  EXPECT_EQ(0x103u, s->counters.runtimes[3].version);
  EXPECT_EQ(0u, s->counters.runtimes[4].version) << "whatever lies there";
}

TEST_F(SnapshotRuntimeTest, CodeThatFoundNoRoomSaysSo) {
  add({runtime_frame(kUnknownCode, 4), runtime_frame(77, 4)});
  const auto s = take(a_.arena);
  ASSERT_EQ(2u, s->runtime_frames.size);
  for (uint64_t i = 0; i < 2; ++i) {
    EXPECT_STREQ("[unknown Python code]", s->strings.data + s->runtime_frames.data[i].name_offset);
    EXPECT_STREQ("", s->strings.data + s->runtime_frames.data[i].file_offset);
    EXPECT_EQ(0u, s->runtime_frames.data[i].line);
  }
}

TEST_F(SnapshotRuntimeTest, NamesAreThereWithAndWithoutSymbols) {
  add({runtime_frame(code("first"), 0), runtime_frame(code("second", "b.py"), 0)});
  const auto s = take(a_.arena);
  EXPECT_EQ(2, s->resolve_symbols());
  EXPECT_STREQ("first", s->strings.data + s->symbols.data[0].name_offset);
  EXPECT_STREQ("second", s->strings.data + s->symbols.data[1].name_offset);
  EXPECT_STREQ("second", s->strings.data + s->runtime_frames.data[1].name_offset);
}

TEST_F(SnapshotRuntimeTest, ManyPlacesKeepTheirNames) {
  constexpr uint32_t kCodes = 3000;
  std::vector<uint64_t> frames;
  for (uint32_t i = 0; i < kCodes; ++i) {
    const uint32_t id = code("f" + std::to_string(i), "a.py", i + 1);
    ASSERT_NE(CodeTable::kNone, id) << i;
    frames.push_back(runtime_frame(id, 0));
    if (frames.size() == 50) {
      add(frames);
      frames.clear();
    }
  }
  const auto s = take(a_.arena);
  ASSERT_EQ(kCodes, s->runtime_frames.size);
  for (uint32_t i = 0; i < kCodes; ++i) {
    const SnapshotRuntimeFrame& frame = s->runtime_frames.data[s->frames.data[i] ^ kRuntimeFrame];
    EXPECT_EQ("f" + std::to_string(i), s->strings.data + frame.name_offset);
    EXPECT_EQ(i + 1, frame.line);
  }
}

TEST_F(SnapshotRuntimeTest, DamagedCodeIsNotBelieved) {
  const uint32_t f = code("f");
  add({runtime_frame(f, 0)});
  CodeEntry& e = *a_.arena.at<CodeEntry>(kCodeSection, f * sizeof(CodeEntry));
  e.lines = TextPiece::place(UINT64_MAX) - 3;
  e.function = 0xfffffff0;
  e.file = UINT32_MAX;
  const auto s = take(a_.arena);
  ASSERT_EQ(1u, s->runtime_frames.size);
  EXPECT_STREQ("[unknown Python code]", s->strings.data + s->runtime_frames.data[0].name_offset);
  EXPECT_EQ(0u, s->runtime_frames.data[0].line);
}

}  // namespace
}  // namespace memprof::runtime_frame_names_test
