// SPDX-License-Identifier: Apache-2.0
// Reads any bytes as an arena and goes over all that the snapshot gives.
//
// Input.  First byte odd: the rest are the bytes of an arena.  Even: damage to a real one, which the fuzzer
// makes itself (an arena is 50 KiB, of which few bytes matter):
//     1 byte    0
//     2 bytes   how many words are missing at its end
//     patches   1 byte: where (0 the header, 1 to 8 a section), 2 bytes: which word there, 1 byte: n - 1,
//               n bytes; little-endian, all taken modulo what there is
// The bytes lie in a buffer of exactly their length (rounded up to 64), followed by a page that cannot be
// touched.
//
// Corpus: corpus/arena_reader; found by the fuzzer from a few patches written by hand, and a small arena.
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/arena/arena.h"
#include "core/counts/runtime_heap.h"
#include "core/mappings/mapping_table.h"
#include "core/reader/counters.h"
#include "core/reader/snapshot.h"
#include "core/tables/code_table.h"
#include "core/tables/heap_map.h"
#include "core/tables/heap_names.h"
#include "core/tables/module_table.h"
#include "core/tables/name_table.h"
#include "core/tables/stack_table.h"
#include "format/runtime_frame.h"
#include "platform/stack.h"

namespace {

using namespace memprof;

constexpr size_t kPage = 4096;
constexpr size_t kMaxBytes = size_t{1} << 20;

#define MEMPROF_REQUIRE(CONDITION) require(static_cast<bool>(CONDITION), __LINE__, #CONDITION)

void require(bool condition, int line, const char* text) {
  if (!condition) {
    std::fprintf(stderr, "line %d: not so: %s\n", line, text);
    std::abort();
  }
}

void fill(const Arena& arena) {
  StackTable stacks(arena);
  NameTable names(arena);
  HeapMap live(arena);
  CodeTable codes(arena, &names);
  const uint8_t lines[] = {0x87, 1, 0xdf, 1, 1, 1, 1};
  const uint32_t functions[] = {codes.intern({"f", 1, "f.py", 4, lines, sizeof(lines), 10, 1}),
                                codes.intern({"Class.method", 12, "g.py", 4, lines, sizeof(lines), 20, 1})};
  for (uint64_t i = 0; i < 6; ++i) {
    uint64_t frames[22];
    for (uint64_t f = 0; f < 22; ++f) {
      frames[f] = f % 3 == 1 ? runtime_frame(functions[f / 3 % 2], static_cast<uint32_t>(i * 4))
                             : 0x10000 + i * 0x100 + f * 8;
    }
    bool is_new = false;
    const uint32_t id =
        stacks.intern(frames, static_cast<uint32_t>(1 + 4 * i), static_cast<platform::Walk>(i % 5), &is_new,
                      static_cast<uint32_t>(i % 3));
    stacks.add_allocated(id, 100 * i, weigh(100 * i, 4096));
    stacks.add_freed(id, 100 * i, weigh(100 * i, 4096), i);
    stacks.add_freed(id, 100 * i, weigh(100 * i, 4096), i * 10000000);
    live.insert({{0x7f0000000000 + i * 16, 64 + i % 3, 4096 + i % 2, i, id, 7}});
  }
  arena.use_up_to(kFoldSection, kPage);
  auto* folds = arena.at<FoldRecord>(kFoldSection);
  folds[0].number = 1;
  folds[0].entries = 1 | uint64_t{2} << 32;
  arena.header().fold.begun = arena.header().fold.done = 1;
  arena.allocate(kHeapSection, 64);
  for (uint32_t heap = 1; heap < 3; ++heap) {
    arena.at<HeapEntry>(kHeapSection)[heap].store(names.intern(heap == 1 ? "pool:a" : "pool:b", 6) + 1);
  }
  for (uint64_t i = 0; i < 3; ++i) {
    MappingNode& n =
        *arena.at<MappingNode>(kMappingSection, arena.allocate(kMappingSection, sizeof(MappingNode)));
    n.start = 0x7f1000000000 + i * 0x10000;
    n.limit = n.start + 0x8000;
    n.resident_bytes = 0x1000 * i;
    n.stack = static_cast<uint32_t>(i);
    n.thread_id = 7;
  }
  RuntimeHeapTable heap;
  MEMPROF_REQUIRE(heap.begin());
  const uint32_t root =
      heap.add({heap.text("main", 4), heap.text("/app.js", 7), 100, 1, RuntimeHeapTable::kNone});
  heap.add({heap.text("keep", 4), heap.text("/app.js", 7), 5000, 7, root});
  MEMPROF_REQUIRE(heap.publish(arena, {2, 9000, 8000, 0, 100, 50, {1000, 7000, 500}}));
  const char* const paths[] = {"/bin/program", "/lib/libc.so.6", ""};
  for (uint64_t i = 0; i < 4; ++i) {
    const uint64_t offset = arena.allocate(kModuleSection, sizeof(ModuleEntry));
    ModuleEntry& e = *arena.at<ModuleEntry>(kModuleSection, offset);
    const char* path = paths[i % 3];
    e.path = names.intern(path, std::strlen(path));
    e.start = 0x10000 + i % 3 * 0x100;
    e.limit = e.start + 0x100;
    e.build_id_size = i % 3 == 0 ? 0 : 20;
    std::memset(e.build_id, static_cast<int>(i), e.build_id_size);
    e.state.store(ModuleTable::kReady | ModuleTable::kPrimary);
  }
}

// The bytes of a real arena, without what its sections do not use.
std::vector<uint8_t> make_arena() {
  const Arena arena = Arena::create({1024, 256, 64});
  MEMPROF_REQUIRE(arena);
  fill(arena);
  const ArenaHeader& h = arena.header();
  const uint64_t used[kSectionCount] = {live_level_offset(h.live_levels.open),
                                        slots_before(h.stack_levels.open) * sizeof(uint64_t),
                                        h.section(kStackSection).used_bytes,
                                        h.section(kFrameSection).used_bytes,
                                        h.section(kModuleSection).used_bytes,
                                        slots_before(h.name_levels.open) * sizeof(uint64_t),
                                        h.section(kNameSection).used_bytes,
                                        h.section(kTextSection).used_bytes,
                                        h.section(kHeapSection).used_bytes,
                                        slots_before(h.code_levels.open) * sizeof(uint64_t),
                                        h.section(kCodeSection).used_bytes,
                                        h.section(kPeakSection).used_bytes,
                                        h.section(kFoldSection).used_bytes,
                                        h.section(kLifetimeSection).used_bytes,
                                        h.section(kMappingSection).used_bytes,
                                        h.section(kRuntimeHeapSection).used_bytes,
                                        slots_before(h.caller_levels.open) * sizeof(uint64_t),
                                        h.section(kCallerSection).used_bytes};
  std::vector<uint8_t> bytes(kPage);
  std::memcpy(bytes.data(), &h, sizeof(h));
  for (uint32_t id = 0; id < kSectionCount; ++id) {
    const uint64_t offset = bytes.size();
    const uint64_t capacity = (used[id] + kPage - 1) / kPage * kPage;
    bytes.resize(offset + capacity);
    std::memcpy(bytes.data() + offset, arena.at<uint8_t>(static_cast<SectionId>(id)), used[id]);
    Section& section = reinterpret_cast<ArenaHeader*>(bytes.data())->section(id);
    section.offset = offset;
    section.capacity_bytes = capacity;
  }
  ArenaHeader* compact = reinterpret_cast<ArenaHeader*>(bytes.data());
  compact->total_bytes = bytes.size();
  compact->process_id = 1;
  compact->start_ns = compact->start_unix_ns = 1;
  std::memset(compact->program, 0, sizeof(compact->program));
  std::strcpy(compact->program, "/bin/program");
  Arena::release(arena);
  return bytes;
}

// The end of a mapping, before a page that cannot be touched.
uint8_t* memory_of(size_t size) {
  static uint8_t* const end = [] {
    void* p = mmap(nullptr, kMaxBytes + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MEMPROF_REQUIRE(p != MAP_FAILED);
    uint8_t* e = static_cast<uint8_t*>(p) + kMaxBytes;
    MEMPROF_REQUIRE(mprotect(e, kPage, PROT_NONE) == 0);
    return e;
  }();
  return end - (size + 63) / 64 * 64;
}

struct Damaged {
  uint8_t* data;
  size_t size;
};

Damaged damage(const uint8_t* data, size_t size) {
  static const std::vector<uint8_t> arena = make_arena();
  const auto take = [&](size_t n) {
    uint64_t value = 0;
    for (size_t i = 0; i < n && i < size; ++i) {
      value |= uint64_t{data[i]} << (8 * i);
    }
    data += std::min(n, size);
    size -= std::min(n, size);
    return value;
  };
  const size_t missing = std::min<size_t>(take(2) * 8, arena.size());
  const size_t length = arena.size() - missing;
  uint8_t* bytes = memory_of(length);
  std::memcpy(bytes, arena.data(), length);
  const ArenaHeader& h = *reinterpret_cast<const ArenaHeader*>(arena.data());
  while (size > 0) {
    const auto where = static_cast<uint32_t>(take(1) % (1 + kSectionCount));
    const uint64_t start = where == 0 ? 0 : h.section(where - 1).offset;
    const uint64_t bytes_there = where == 0 ? sizeof(ArenaHeader) : h.section(where - 1).capacity_bytes;
    const uint64_t at = start + take(2) % (bytes_there / 8) * 8;
    const size_t n = static_cast<size_t>(1 + take(1));
    const size_t given = std::min(n, size);
    if (at < length) {
      std::memcpy(bytes + at, data, std::min(given, length - at));
    }
    data += given;
    size -= given;
  }
  return {bytes, length};
}

uint64_t walk_over(const Snapshot& s) {
  uint64_t sum = s.process_id + std::strlen(s.program());
  for (uint64_t i = 0; i < s.runtime_heap.node_count; ++i) {
    const RuntimeHeapNode& node = s.runtime_heap.nodes[i];
    MEMPROF_REQUIRE(node.parent <= i);
    sum += std::strlen(node.function) + std::strlen(node.file) + node.bytes;
  }
  for (uint64_t i = 0; i < s.records.size; ++i) {
    const SnapshotRecord& r = s.records.data[i];
    MEMPROF_REQUIRE(r.stack_id < s.stacks.size);
    MEMPROF_REQUIRE(i == 0 || s.records.data[i - 1].stack_id <= r.stack_id);
    sum += r.address + r.size_bytes + r.rate_bytes + r.time_ns + r.thread_id;
    MEMPROF_REQUIRE(r.weight_count >= 1);
    MEMPROF_REQUIRE(r.weight_bytes >= static_cast<double>(r.size_bytes));
  }
  for (uint64_t i = 0; i < s.stacks.size; ++i) {
    const SnapshotStack& stack = s.stacks.data[i];
    MEMPROF_REQUIRE(stack.walk < platform::kWalkReasons);
    MEMPROF_REQUIRE(stack.first_frame <= s.frames.size);
    MEMPROF_REQUIRE(stack.frame_count <= s.frames.size - stack.first_frame);
    sum += stack.allocated.samples + stack.freed.samples;
    for (uint64_t f = 0; f < stack.frame_count; ++f) {
      sum += s.frames.data[stack.first_frame + f];
    }
  }
  for (uint64_t i = 0; i < s.lifetimes.size; ++i) {
    const SnapshotLifetime& l = s.lifetimes.data[i];
    MEMPROF_REQUIRE(l.stack_id < s.stacks.size);
    MEMPROF_REQUIRE(l.lifetime_class < kLifetimeClasses);
    MEMPROF_REQUIRE(i == 0 || s.lifetimes.data[i - 1].stack_id <= l.stack_id);
    MEMPROF_REQUIRE(l.weight_count >= 1 && l.samples != 0);
    sum += l.size_bytes;
  }
  MEMPROF_REQUIRE(s.strings.size > 0 && s.strings.data[0] == '\0' &&
                  s.strings.data[s.strings.size - 1] == '\0');
  for (uint64_t i = 0; i < s.modules.size; ++i) {
    const SnapshotModule& m = s.modules.data[i];
    MEMPROF_REQUIRE(m.start < m.limit);
    MEMPROF_REQUIRE(m.path_offset < s.strings.size);
    MEMPROF_REQUIRE(m.build_id_size <= sizeof(m.build_id));
    sum += std::strlen(s.strings.data + m.path_offset);
    for (uint32_t b = 0; b < m.build_id_size; ++b) {
      sum += m.build_id[b];
    }
  }
  for (uint64_t i = 0; i < s.frames.size; ++i) {
    MEMPROF_REQUIRE(!is_runtime_frame(s.frames.data[i]) ||
                    (s.frames.data[i] ^ kRuntimeFrame) < s.runtime_frames.size);
  }
  for (uint64_t i = 0; i < s.runtime_frames.size; ++i) {
    const SnapshotRuntimeFrame& f = s.runtime_frames.data[i];
    MEMPROF_REQUIRE(f.name_offset < s.strings.size && f.file_offset < s.strings.size);
    sum += std::strlen(s.strings.data + f.name_offset) + std::strlen(s.strings.data + f.file_offset) + f.line;
  }
  MEMPROF_REQUIRE(s.stack_heaps.size == s.stacks.size && s.heaps.size > 0);
  for (uint64_t i = 0; i < s.stack_heaps.size; ++i) {
    MEMPROF_REQUIRE(s.stack_heaps.data[i] < s.heaps.size);
  }
  for (uint64_t i = 0; i < s.mappings.size; ++i) {
    const SnapshotMapping& m = s.mappings.data[i];
    MEMPROF_REQUIRE(m.start < m.limit && m.resident_bytes <= m.limit - m.start);
    MEMPROF_REQUIRE(m.stack_id == UINT32_MAX || m.stack_id < s.stacks.size);
  }
  for (uint64_t i = 0; i < s.heaps.size; ++i) {
    MEMPROF_REQUIRE(s.heaps.data[i].name_offset < s.strings.size);
    sum += std::strlen(s.strings.data + s.heaps.data[i].name_offset);
  }
  MEMPROF_REQUIRE(s.counters.state <= State::kTerminated);
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0 || size > kMaxBytes) {
    return 0;
  }
  Damaged arena{};
  if (data[0] % 2 != 0) {
    arena = {memory_of(size - 1), size - 1};
    std::memcpy(arena.data, data + 1, size - 1);
  } else {
    arena = damage(data + 1, size - 1);
  }
  bool is_arena = false;
  Snapshot* snapshot = Snapshot::read(arena.data, arena.size, &is_arena);
  MEMPROF_REQUIRE(snapshot == nullptr || is_arena);
  MEMPROF_REQUIRE(size != 1 || data[0] % 2 != 0 || snapshot != nullptr);  // the arena without damage
  if (snapshot != nullptr) {
    const volatile uint64_t sum = walk_over(*snapshot);  // volatile: it is read
    static_cast<void>(sum);
    Snapshot::release(snapshot);
  }
  return 0;
}
