// SPDX-License-Identifier: Apache-2.0
#include "dump/resident_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "core/engine/ending.h"
#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "core/mappings/mappings.h"
#include "dump/dump.h"
#include "memprof.h"
#include "platform/process.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/pprof/pprof_writer.h"
#include "tests/support/engine.h"
#include "tests/support/folder.h"

namespace memprof::resident_memory_test {
namespace {

using testing_support::FakeStack;
using testing_support::hooked_free;
using testing_support::in_child;
using testing_support::TemporaryFolder;

void start() {
  ASSERT_EQ(Status::kOk, profiler::initialize({1 << 16, 4096, 64}, 4096));
  ASSERT_EQ(Status::kOk, profiler::start());
}

TEST(ResidentMemory, IsInAProfileAndStaysThere) {
  in_child([] {
    const TemporaryFolder folder;
    start();
    const std::string path = folder.path("heap.pb");
    ASSERT_EQ(MEMPROF_OK, memprof_write_profile(path.c_str(), 0));
    const profile::Profile p = profile::read_pprof_file(path);
    ASSERT_TRUE(p.resident.is_known());
    EXPECT_GT(p.resident.files_bytes, 0u);
    EXPECT_LE(p.resident.files_bytes, p.resident.total_bytes);
    const profile::Profile again = profile::read_pprof(profile::write_pprof(p), "again");
    for (const ResidentField& field : kResidentFields) {
      EXPECT_EQ(p.resident.*field.member, again.resident.*field.member) << field.key;
    }
  });
}

TEST(ResidentMemory, TheMostThatItWasIsNotLessThanItIs) {
  in_child([] {
    const TemporaryFolder folder;
    start();
    const FakeStack stack(0x1000);
    profiler::record_allocation(reinterpret_cast<void*>(0x10000), 1 << 20, 0, stack.entry());  // a peak
    constexpr size_t kBytes = 64 << 20;
    void* const others = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(MAP_FAILED, others);
    memset(others, 1, kBytes);
    const std::string path = folder.path("heap.pb");
    ASSERT_EQ(MEMPROF_OK, memprof_write_profile(path.c_str(), 0));
    const profile::Profile p = profile::read_pprof_file(path);
    EXPECT_GE(p.max_resident_bytes, kBytes);
    EXPECT_GE(p.max_resident_bytes, p.resident.total_bytes);
  });
}

TEST(ResidentMemory, IsKeptWhenTheEndBegins) {
  in_child([] {
    start();
    constexpr size_t kBytes = 16 << 20;
    const FakeStack stack(0x1000);
    char* blocks[2];
    for (char*& block : blocks) {
      block = static_cast<char*>(malloc(kBytes));
      profiler::record_allocation(block, kBytes, 0, stack.entry());
    }
    memset(blocks[1], 1, kBytes);
    watch_resident_memory();
    profiler::note_end_begun();
    memset(blocks[0], 1, kBytes);  // too late
    hooked_free(blocks[1]);        // kept for readers
    profiler::note_end();
    Snapshot* snapshot = nullptr;
    ASSERT_EQ(MEMPROF_OK, take_snapshot(&snapshot));
    EXPECT_TRUE(snapshot->resident.is_known());
    ASSERT_EQ(2u, snapshot->records.size);
    ASSERT_EQ(2u, snapshot->resident_shares.size);
    for (int i = 0; i < 2; ++i) {
      const bool is_touched = snapshot->records.data[i].address == reinterpret_cast<uint64_t>(blocks[1]);
      EXPECT_EQ(is_touched, snapshot->resident_shares.data[i] > 0.9F);
      EXPECT_EQ(platform::thread_id(), snapshot->records.data[i].thread_id);
    }
    Snapshot::release(snapshot);
  });
}

TEST(ResidentMemory, OfMappingsOfAnotherProcess) {
  in_child([] {
    mappings::configure(mappings::Recording::kAlways);
    start();
    constexpr size_t kBytes = 16 << 20;
    void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(MAP_FAILED, memory);
    madvise(memory, kBytes, MADV_NOHUGEPAGE);  // the last one would reach over what is touched
    const FakeStack stack(0x1000);
    mappings::mapped(memory, kBytes, true, nullptr, stack.entry());
    Snapshot* snapshot = nullptr;
    ASSERT_EQ(MEMPROF_OK, take_snapshot(&snapshot));
    ASSERT_EQ(1u, snapshot->mappings.size);
    EXPECT_EQ(0u, snapshot->mappings.data[0].resident_bytes);
    memset(memory, 1, kBytes / 4);
    in_child([&] {
      snapshot->has_resident_mappings = false;  // as where the process has never measured
      ASSERT_EQ(MEMPROF_OK, read_resident_memory(snapshot, static_cast<uint64_t>(getppid())));
      EXPECT_EQ(kBytes / 4, snapshot->mappings.data[0].resident_bytes);
      EXPECT_TRUE(snapshot->has_resident_mappings);
    });
    Snapshot::release(snapshot);
  });
}

TEST(ResidentMemory, MappingsThatNobodyAskedForAreShownWhereTheyAreMuch) {
  for (const bool is_much : {false, true}) {
    in_child([is_much] {
      mappings::configure(mappings::Recording::kOnRequest);
      start();
      mappings::request();
      constexpr size_t kBytes = 2 * mappings::kWorthShowingBytes;
      void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      ASSERT_NE(MAP_FAILED, memory);
      madvise(memory, kBytes, MADV_NOHUGEPAGE);
      const FakeStack stack(0x1000);
      mappings::mapped(memory, kBytes, true, nullptr, stack.entry());
      memset(memory, 1, is_much ? mappings::kWorthShowingBytes : mappings::kWorthShowingBytes / 2);
      Snapshot* snapshot = nullptr;
      ASSERT_EQ(MEMPROF_OK, take_snapshot(&snapshot));
      EXPECT_EQ(is_much, snapshot->has_mappings) << "as the process itself says";
      in_child([&] {
        snapshot->has_mappings = false;  // as where the process has never measured
        ASSERT_EQ(MEMPROF_OK, read_resident_memory(snapshot, static_cast<uint64_t>(getppid())));
        EXPECT_EQ(is_much, snapshot->has_mappings) << "as another process says";
      });
      Snapshot::release(snapshot);
    });
  }
}

// The fields of a comment can be anything.
TEST(ResidentMemory, OfSeveralProcessesIsTheSum) {
  ResidentMemory sum;
  sum.total_bytes = 10;
  sum.heap_bytes = UINT64_MAX - 1;
  sum.runtime = 2;
  ResidentMemory more;
  more.total_bytes = 5;
  more.heap_bytes = 7;
  more.runtime = 1;
  more.state = 4;
  add_resident(more, &sum);
  EXPECT_EQ(15u, sum.total_bytes);
  EXPECT_EQ(UINT64_MAX, sum.heap_bytes);
  EXPECT_EQ(2u, sum.runtime);
  EXPECT_EQ(4u, sum.state);
  add_resident({}, &sum);
  EXPECT_FALSE(sum.is_known());
}

}  // namespace
}  // namespace memprof::resident_memory_test
