// SPDX-License-Identifier: Apache-2.0
#include "core/tables/table_sweep.h"

#include "platform/files.h"
#include "platform/stack.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/reader/counters.h"
#include "core/sampling/weight.h"
#include "format/runtime_frame.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::table_sweep_test {
namespace {

using testing_support::counters_of;
using testing_support::kThreadSanitizer;
using testing_support::run_threads;
using testing_support::ScopedArena;
using testing_support::take;

// No code lies there: i stands for stack i, and is never tagged with a module.
constexpr uint64_t kNumbers = 0x10000000;
constexpr uint32_t kRuntime = 1;

struct Tables : ScopedArena {
  explicit Tables(const Limits& limits, const char* path = nullptr)
      : ScopedArena(limits, path), codes(arena, &names) {
    sweep->attach(arena, &stacks, &modules, &codes);
  }

  // A sample of a stack, as the recorder enters one.
  void sample(uint64_t* frames, uint32_t depth) {
    modules.tag(frames, depth);
    bool is_new = false;
    const uint32_t id = stacks.intern(frames, depth, platform::Walk::kRoot, &is_new);
    ASSERT_NE(StackTable::kNone, id);
    if (is_new) {
      modules.note(frames, depth);
      sweep->step();
    }
    stacks.add_allocated(id, 100, weigh(100, 0));
    stacks.add_freed(id, 100, weigh(100, 0), 1);
    stacks.release(id);
  }

  uint32_t intern(uint64_t i) {
    const std::string function = "f" + std::to_string(i);
    const std::string file = "file" + std::to_string(i % 3) + ".py";
    const uint8_t lines[4] = {static_cast<uint8_t>(i), 0x81, 1, 0};
    return codes.intern({function.data(), static_cast<uint32_t>(function.size()), file.data(),
                         static_cast<uint32_t>(file.size()), lines, sizeof(lines), 1, kRuntime});
  }
  void sample_code(uint64_t i) {
    const uint32_t id = intern(i);
    uint64_t frames[] = {runtime_frame(id == CodeTable::kNone ? unknown_code(kRuntime) : id, 0),
                         kNumbers + i};
    sample(frames, 2);
  }

  CodeTable codes;
  std::unique_ptr<TableSweep> sweep = std::make_unique<TableSweep>();
};

struct Found {
  uint64_t right = 0;
  uint64_t older = 0;
  uint64_t wrong = 0;
  uint64_t samples = 0;
  uint64_t newest_right = 0;
};

// What stacks say of their functions: f<i> of stack i, or nothing that is not so.
Found look_at_codes(const Snapshot& s, uint64_t newest_from = UINT64_MAX) {
  Found found;
  for (uint64_t i = 0; i < s.stacks.size; ++i) {
    const SnapshotStack& stack = s.stacks.data[i];
    found.samples += stack.allocated.samples;
    if (stack.frame_count != 2 || !is_runtime_frame(s.frames.data[stack.first_frame]) ||
        s.frames.data[stack.first_frame + 1] <= platform::kLastGap) {
      continue;  // shortened ones among them
    }
    const uint64_t number = (s.frames.data[stack.first_frame + 1] & 0xffffffffffff) - kNumbers;
    const SnapshotRuntimeFrame& frame = s.runtime_frames.data[s.frames.data[stack.first_frame] & UINT32_MAX];
    const std::string name = s.strings.data + frame.name_offset;
    const std::string file = s.strings.data + frame.file_offset;
    const bool is_file_right = file == "file" + std::to_string(number % 3) + ".py";
    if (name == "f" + std::to_string(number) && is_file_right) {
      ++found.right;
      found.newest_right += number >= newest_from;
    } else if ((name == "[older functions]" && is_file_right) || file.empty()) {
      ++found.older;
    } else {
      ++found.wrong;
    }
  }
  return found;
}

TEST(TableSweep, FunctionsWithoutEndKeepTheNewestWholeAndTheFileOfOlderOnes) {
  constexpr uint64_t kFunctions = 30'000;
  Tables t({1024, 4096, 64});  // as many functions as stacks
  for (uint64_t i = 0; i < kFunctions; ++i) {
    t.sample_code(i);
  }
  const auto s = take(t.arena);
  const Found found = look_at_codes(*s, kFunctions - 1000);
  EXPECT_EQ(kFunctions, found.samples);
  EXPECT_EQ(1000u, found.newest_right);
  EXPECT_EQ(0u, found.wrong);
  EXPECT_GT(s->counters.folded_functions, 0u);
  EXPECT_LT(s->counters.folded_functions, kFunctions);
  EXPECT_LE(t.codes.in_use(), 4096u);
}

// What runs now and then stays known, however many others come.
TEST(TableSweep, AFunctionThatRunsKeepsItsName) {
  Tables t({1024, 2048, 64});
  for (uint64_t i = 0; i < 20'000; ++i) {
    t.sample_code(i + 1);
    t.sample_code(0);
  }
  const auto s = take(t.arena);
  uint64_t of_first = 0;
  for (uint64_t i = 0; i < s->stacks.size; ++i) {
    const SnapshotStack& stack = s->stacks.data[i];
    if (stack.frame_count == 2 && is_runtime_frame(s->frames.data[stack.first_frame]) &&
        (s->frames.data[stack.first_frame + 1] & 0xffffffffffff) == kNumbers) {
      const auto& frame = s->runtime_frames.data[s->frames.data[stack.first_frame] & UINT32_MAX];
      of_first += std::string("f0") == s->strings.data + frame.name_offset ? stack.allocated.samples : 0;
    }
  }
  EXPECT_EQ(20'000u, of_first);
}

// Of a live sample's stack: it stays, whatever comes, as long as others can go.
TEST(TableSweep, AFunctionThatAStackNamesStaysWhileOthersCanGo) {
  Tables t({1024, 2048, 64});
  bool is_new = false;
  const uint32_t first = t.intern(0);
  const uint64_t kept[] = {runtime_frame(first, 0), kNumbers};
  t.stacks.intern(kept, 2, platform::Walk::kRoot, &is_new);  // held
  for (uint64_t i = 1; i < 2000; ++i) {
    EXPECT_NE(CodeTable::kNone, t.intern(i));  // of no stack
    uint64_t frames[] = {kNumbers + i};
    t.sample(frames, 1);
  }
  for (uint64_t i = 2000; i < 20'000; ++i) {
    ASSERT_NE(CodeTable::kNone, t.intern(i));
    uint64_t frames[] = {kNumbers + i};
    t.sample(frames, 1);
  }
  EXPECT_TRUE(t.codes.has(first));
  EXPECT_EQ(first, t.intern(0));
  EXPECT_EQ(0u, counters_of(t.arena).folded_functions);
}

TEST(TableSweep, LongNamesAreShortenedWhereThereIsNoText) {
  Tables t({1024, 256, 64});
  const std::string file = "a.py";
  std::string last;
  uint32_t id = 0;
  for (uint64_t i = 0; i < 1000 && id != CodeTable::kNone; ++i) {
    last = std::to_string(i) + std::string(2000, 'x');
    id = t.codes.intern(
        {last.data(), static_cast<uint32_t>(last.size()), file.data(), 4, nullptr, 0, 1, kRuntime});
    const uint64_t frame = runtime_frame(id, 0);
    bool is_new = false;
    t.stacks.release(t.stacks.intern(&frame, 1, platform::Walk::kRoot, &is_new));
    if (id != CodeTable::kNone && take(t.arena)->runtime_frames.size != 0 && i > 300) {
      break;
    }
  }
  ASSERT_NE(CodeTable::kNone, id);
  const auto s = take(t.arena);
  bool is_there = false;
  for (uint64_t i = 0; i < s->runtime_frames.size; ++i) {
    const std::string name = s->strings.data + s->runtime_frames.data[i].name_offset;
    is_there |= name.size() < 64 && name.size() > 3 && name.substr(name.size() - 3) == "..." &&
                last.compare(0, name.size() - 3, name, 0, name.size() - 3) == 0;
  }
  EXPECT_TRUE(is_there);
}

// libc stands for a library that is loaded, becomes another one (by its build id) and is unloaded.
struct Libraries {
  uint64_t libc = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")) + 1;

  static void name(ModuleEntry* e, uint64_t i) {
    memset(e->build_id, 0, sizeof(e->build_id));
    memcpy(e->build_id, &i, sizeof(i));
  }
  void load_and_unload(Tables* t, uint64_t i, uint32_t samples = 1) const {
    uint32_t entry = 0;
    for (uint32_t sample = 0; sample < samples; ++sample) {
      uint64_t frames[] = {libc, kNumbers + i * samples + sample};
      t->sample(frames, 2);
      entry = ModuleTable::entry_of(frames[0]);
    }
    entry = entry == UINT32_MAX ? 0 : entry;
    if (entry < kMaxModules) {
      name(t->arena.at<ModuleEntry>(kModuleSection) + entry, i + 1);
    }
    t->modules.retire_unloaded();
    t->sweep->step();
  }
};

Found look_at_modules(const Snapshot& s, uint64_t newest_from) {
  Found found;
  for (uint64_t i = 0; i < s.stacks.size; ++i) {
    const SnapshotStack& stack = s.stacks.data[i];
    found.samples += stack.allocated.samples;
    if (stack.frame_count != 2 || s.frames.data[stack.first_frame + 1] <= platform::kLastGap) {
      continue;  // shortened ones among them
    }
    const uint64_t number = s.frames.data[stack.first_frame + 1] - kNumbers;
    const uint32_t module = s.frame_modules.data[stack.first_frame];
    uint64_t build_id = 0;
    if (module != Snapshot::kNoModule) {
      memcpy(&build_id, s.modules.data[module].build_id, sizeof(build_id));
    }
    if (s.frames.data[stack.first_frame] == platform::kOlderModules && module == Snapshot::kNoModule) {
      ++found.older;
    } else if (build_id == number + 1) {
      ++found.right;
      found.newest_right += number >= newest_from;
    } else {
      ++found.wrong;
    }
  }
  return found;
}

void load_many(const Limits& limits, uint64_t count, bool has_forgotten) {
  Tables t(limits);
  const Libraries libraries;
  for (uint64_t i = 0; i < count; ++i) {
    libraries.load_and_unload(&t, i);
  }
  const auto s = take(t.arena);
  const Found found = look_at_modules(*s, count - 1000);
  EXPECT_EQ(count, found.samples);
  EXPECT_EQ(0u, found.wrong);
  EXPECT_EQ(std::min<uint64_t>(1000, limits.max_stacks / 2),
            std::min(found.newest_right, limits.max_stacks / 2));
  EXPECT_EQ(has_forgotten, s->counters.folded_modules != 0);
  EXPECT_EQ(has_forgotten, found.older != 0);
  EXPECT_EQ(s->counters.modules, t.modules.in_use());
}

TEST(TableSweep, ModulesThatNoStackNamesMakeRoomForOthers) {
  load_many({1024, 1024, 64}, 20'000, false);
}

TEST(TableSweep, WhereStacksNameThemAllTheOldestAreForgotten) {
  load_many({1024, 16384, 64}, 12'000, true);
}

// Who loads what is there already, in the middle of a sweep, keeps it.
TEST(TableSweep, AModuleThatComesBackIsNotFreed) {
  Tables t({1024, 1024, 64});
  const Libraries libraries;
  for (uint64_t i = 0; i < 9000; ++i) {
    libraries.load_and_unload(&t, i);
    if (i == 0) {
      continue;
    }
    // The very first one is loaded again, and unloaded.
    ModuleEntry& first = *t.arena.at<ModuleEntry>(kModuleSection);
    const ModuleEntry& libc = first;
    uint8_t kept[platform::kMaxBuildIdBytes];
    platform::ModuleInfo info{};
    ASSERT_TRUE(platform::find_module(libraries.libc, &info));
    memcpy(kept, libc.build_id, sizeof(kept));
    memcpy(first.build_id, info.build_id, sizeof(kept));
    uint64_t frames[] = {libraries.libc, kNumbers};
    t.sample(frames, 2);
    ASSERT_EQ(UINT32_MAX, ModuleTable::entry_of(frames[0])) << i;  // it is the entry that it was
    memcpy(first.build_id, kept, sizeof(kept));
    t.modules.retire_unloaded();
  }
  EXPECT_EQ(0u, look_at_modules(*take(t.arena), 8000).wrong);
}

// Where names have no room left but that of short ones.
TEST(TableSweep, OlderFunctionsAreNamedWhole) {
  Tables t({1024, 1024, 64});
  t.sample_code(0);
  for (uint64_t i = 0; i < 100'000; ++i) {
    const std::string name = "n" + std::to_string(i);
    const uint32_t id = t.names.intern(name.data(), name.size());
    ASSERT_NE(NameTable::kNone, id);
    t.names.release(id);
  }
  for (uint64_t i = 1; i < 20'000; ++i) {
    t.sample_code(i);
  }
  const Found found = look_at_codes(*take(t.arena));
  EXPECT_GT(found.older, 0u);
  EXPECT_EQ(0u, found.wrong);
}

// Threads enter functions without end, and readers, of memory and of the file, look meanwhile.
TEST(TableSweep, ReadersFindEachFunctionRightOrOlder) {
  constexpr uint64_t kEach = kThreadSanitizer ? 3'000 : 30'000;
  constexpr int kThreads = 3;
  const std::string path = testing::TempDir() + "memprof_table_sweep_" + std::to_string(getpid());
  Tables t({1024, 1024, 64}, path.c_str());
  ASSERT_EQ(1u, t.header().is_file);
  std::atomic<int> left{kThreads};
  uint64_t looks = 0;
  uint64_t right = 0;
  run_threads(kThreads + 1, [&](int thread) {
    if (thread < kThreads) {
      for (uint64_t i = 0; i < kEach; ++i) {
        t.sample_code(i * kThreads + static_cast<uint64_t>(thread));
      }
      left.fetch_sub(1);
      return;
    }
    uint64_t file_bytes = 0;
    const int fd = platform::file_open(path.c_str(), &file_bytes);
    ASSERT_GE(fd, 0);
    while (left.load() != 0 || looks < 2) {
      bool is_arena = false;
      const testing_support::SnapshotPointer of_file(
          Snapshot::read_file(fd, t.header().total_bytes, &is_arena));
      const auto of_memory = take(t.arena);
      for (const Snapshot* s : {of_file.get(), of_memory.get()}) {
        ASSERT_NE(nullptr, s);
        const Found found = look_at_codes(*s);
        ASSERT_EQ(0u, found.wrong);
        right += found.right;
      }
      ++looks;
    }
    platform::file_close(fd);
  });
  platform::file_remove(path.c_str());
  EXPECT_GT(right, 0u);
  const Found found = look_at_codes(*take(t.arena), 0);
  EXPECT_EQ(kThreads * kEach, found.samples);
  EXPECT_EQ(0u, found.wrong);
}

TEST(TableSweep, AFullTableOfLoadedModulesIsCountedAndHarmless) {
  Tables t({1024, 1024, 64});
  while (t.arena.allocate(kModuleSection, sizeof(ModuleEntry)) != Arena::kNoOffset) {
  }
  for (uint64_t i = 0; i < 5000; ++i) {
    uint64_t frames[] = {reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")) + 1,
                         kNumbers + i};
    t.sample(frames, 2);
  }
  const auto s = take(t.arena);
  EXPECT_EQ(0u, s->modules.size);
  EXPECT_GT(s->counters.folded_modules, 0u);
}

}  // namespace
}  // namespace memprof::table_sweep_test
