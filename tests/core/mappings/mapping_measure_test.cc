// SPDX-License-Identifier: Apache-2.0
#include "core/mappings/mapping_measure.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "platform/memory_areas.h"
#include "tests/support/arena.h"

namespace memprof::mapping_measure_test {
namespace {

using testing_support::ScopedArena;

bool hold(uint32_t) {
  return true;
}
void release(uint32_t) {}

bool has_areas() {
  return platform::each_memory_area([](const platform::MemoryArea&, void*) {}, nullptr);
}

struct Mapping {
  explicit Mapping(size_t size_bytes)
      : size(size_bytes),
        start(static_cast<char*>(
            mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    EXPECT_NE(MAP_FAILED, static_cast<void*>(start));
    madvise(start, size, MADV_NOHUGEPAGE);
  }
  ~Mapping() { munmap(start, size); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  const size_t size;
  char* const start;
};

uint64_t part(const MappingMeasure& m, MemoryPart p) {
  return m.parts[static_cast<uint32_t>(p)].load();
}

TEST(MappingMeasure, ResidentBytesOfRangesThatShareAnArea) {
  constexpr size_t kPieces = 8;
  constexpr size_t kPieceBytes = size_t{1} << 20;
  const Mapping memory(kPieces * kPieceBytes);
  ScopedArena arena;
  MappingTable table(arena.arena, {hold, release});
  // The last piece is nobody's; the one before is an allocator's.
  for (uint64_t i = 0; i + 1 < kPieces; ++i) {
    MappedRange r;
    r.start = reinterpret_cast<uint64_t>(memory.start) + i * kPieceBytes;
    r.limit = r.start + kPieceBytes;
    r.ticket = i + 1;
    r.stack = kNoMappingStack;
    r.by = i + 2 == kPieces ? MappedBy::kAllocator : MappedBy::kProgram;
    table.add(r);
  }
  for (size_t i = 0; i < kPieces; ++i) {
    memset(memory.start + i * kPieceBytes, 1, i * 4096);  // i pages of piece i
  }
  MappingMeasure& m = arena.arena.header().mappings.measure;
  measure_mappings(table, &m);
  if (!has_areas()) {
    EXPECT_EQ(0u, m.time_ns.load());
    return;
  }
  EXPECT_NE(0u, m.time_ns.load());
  uint64_t pages = 0;
  uint64_t i = 0;
  table.each([&](const MappingNode& n) {
    EXPECT_EQ(i * 4096, n.resident_bytes.load()) << i;
    pages += i++;
  });
  EXPECT_EQ(kPieces - 1, i);
  EXPECT_EQ((pages - (kPieces - 2)) * 4096, part(m, MemoryPart::kMapped));
  EXPECT_EQ((kPieces - 2) * 4096, part(m, MemoryPart::kAllocator));
  EXPECT_GE(m.resident_bytes.load(), pages * 4096);
}

// All of them together are what the system says is anonymous.
TEST(MappingMeasure, PartsAddUp) {
  if (!has_areas()) {
    return;
  }
  const Mapping memory(size_t{8} << 20);
  memset(memory.start, 1, memory.size);
  ScopedArena arena;
  const MappingTable table(arena.arena, {hold, release});
  MappingMeasure& m = arena.arena.header().mappings.measure;
  uint64_t anonymous = 0;
  const auto sum = [](const platform::MemoryArea& area, void* context) {
    *static_cast<uint64_t*>(context) += area.anonymous_bytes;
  };
  ASSERT_TRUE(platform::each_memory_area(sum, &anonymous));
  measure_mappings(table, &m);
  uint64_t parts = 0;
  for (const auto& p : m.parts) {
    parts += p.load();
  }
  // A page or two came between the two looks.
  EXPECT_NEAR(static_cast<double>(anonymous), static_cast<double>(parts),
              0.02 * static_cast<double>(anonymous));
  EXPECT_GE(part(m, MemoryPart::kUnseen), memory.size);  // nobody told of it
}

TEST(MappingMeasure, PagesOfRangesWhereNoAreasAreListed) {
  const Mapping memory(size_t{8} << 20);
  memset(memory.start + (1 << 20), 1, 3 << 20);
  ScopedArena arena;
  MappingTable table(arena.arena, {hold, release});
  MappedRange r;
  r.start = reinterpret_cast<uint64_t>(memory.start);
  r.limit = r.start + (2 << 20);
  r.stack = kNoMappingStack;
  table.add(r);
  r.start = r.limit;
  r.limit = r.start + (6 << 20);
  table.add(r);
  MappingMeasure m{};
  m.resident_bytes = 7;  // of a measurement before
  m.parts[0] = 7;
  measure_mapped_pages(table, &m);
  EXPECT_NE(0u, m.time_ns.load());
  EXPECT_EQ(0u, m.resident_bytes.load());
  EXPECT_EQ(0u, part(m, MemoryPart::kMapped));
  const MappingNode& first = table.at(table.first());
  const MappingNode& second = table.at(table.following(table.first()));
  for (const MappingNode* node : {&first, &second}) {
    EXPECT_EQ(platform::resident_bytes_in(node->start.load(), node->limit.load()),
              node->resident_bytes.load());
  }
  if (has_areas()) {  // else the reference system, which says 0 of all
    EXPECT_EQ(uint64_t{1} << 20, first.resident_bytes.load());
    EXPECT_EQ(uint64_t{2} << 20, second.resident_bytes.load());
  }
  // Not of terabytes.
  r.start = uint64_t{1} << 40;
  r.limit = uint64_t{2} << 40;
  table.add(r);
  measure_mapped_pages(table, &m);
  EXPECT_EQ(0u, m.time_ns.load());
}

}  // namespace
}  // namespace memprof::mapping_measure_test
