// SPDX-License-Identifier: Apache-2.0
// What the tables take of an arena: the capacities of its sections (core/arena/arena.h).
#include "core/arena/arena.h"
#include "core/arena/runtime_heap.h"
#include "core/mappings/mapping_table.h"
#include "core/tables/caller_table.h"
#include "core/tables/code_table.h"
#include "core/tables/heap_map.h"
#include "core/tables/heap_names.h"
#include "core/tables/module_table.h"
#include "core/tables/name_table.h"
#include "core/tables/peak.h"
#include "core/tables/stack_table.h"

namespace memprof {
namespace {

// Frames of its own that a stack is dimensioned for: its eight, and more where it shares none.
constexpr uint64_t kMeanOwnFrames = 12;
// Pieces of callers for two stacks: where they share none, for 28 frames a stack.
constexpr uint64_t kPiecesOfTwoStacks = 5;
constexpr uint64_t kMeanNameBytes = 64;
constexpr uint64_t kMeanLinesBytes = 192;

// As many functions as stacks, within bounds: a process with little room has small tables of all kinds.
uint64_t max_codes(const Limits& limits) {
  constexpr uint64_t kMinCodes = 1024;
  return limits.max_stacks < kMinCodes              ? kMinCodes
         : limits.max_stacks < CodeTable::kMaxCodes ? limits.max_stacks
                                                    : uint64_t{CodeTable::kMaxCodes};
}

uint64_t max_pieces(const Limits& limits) {
  return 1 + (limits.max_stacks * kPiecesOfTwoStacks + 1) / 2;
}

// As many mappings as stacks, within bounds.
uint64_t max_ranges(const Limits& limits) {
  return limits.max_stacks < MappingTable::kMaxRanges ? limits.max_stacks
                                                      : uint64_t{MappingTable::kMaxRanges};
}

// A path for each module, a name and a file for each function.
uint64_t max_names(const Limits& limits) {
  return kMaxModules + 2 * max_codes(limits);
}

}  // namespace

uint64_t section_capacity(SectionId id, const Limits& limits) {
  switch (id) {
    case kLiveSection:
      return slots_before(live_levels_for(limits.max_live_samples)) * (sizeof(uint64_t) + sizeof(LiveRecord));
    case kStackIndexSection:
      return slots_before(intern_levels_for(limits.max_stacks)) * sizeof(uint64_t);
    case kStackSection:
      return limits.max_stacks * sizeof(StackEntry);
    case kFrameSection:
      return (limits.max_stacks * kMeanOwnFrames + kMaxDepth) * sizeof(uint64_t);
    case kModuleSection:
      return kMaxModules * sizeof(ModuleEntry);
    case kNameIndexSection:
      return slots_before(intern_levels_for(max_names(limits))) * sizeof(uint64_t);
    case kNameSection:
      return max_names(limits) * sizeof(NameEntry);
    case kTextSection:
      return max_names(limits) * kMeanNameBytes + max_codes(limits) * kMeanLinesBytes;
    case kPeakSection:
      return limits.max_stacks * sizeof(StackPeak);
    case kFoldSection:
      return kFoldLogPlaces * sizeof(FoldRecord);
    case kLifetimeSection:
      return limits.max_stacks * kMeanUnits * sizeof(LifetimeUnit);
    case kMappingSection:
      return (max_ranges(limits) + 1) * sizeof(MappingNode);
    case kRuntimeHeapSection:
      return max_runtime_heap_bytes(limits.max_stacks);
    case kCallerIndexSection:
      return slots_before(intern_levels_for(max_pieces(limits))) * sizeof(uint64_t);
    case kCallerSection:
      return max_pieces(limits) * sizeof(CallerPiece);
    case kHeapSection:
      return (HeapNames::kMaxHeaps + 1) * sizeof(HeapEntry);
    case kCodeIndexSection:
      return slots_before(intern_levels_for(max_codes(limits))) * sizeof(uint64_t);
    case kCodeSection:
      return max_codes(limits) * sizeof(CodeEntry);
    case kSectionCount:
      break;
  }
  return 0;
}

void set_level_limits(const Limits& limits, ArenaHeader* header) {
  header->live_levels.limit = live_levels_for(limits.max_live_samples);
  header->stack_levels.limit = intern_levels_for(limits.max_stacks);
  header->name_levels.limit = intern_levels_for(max_names(limits));
  header->code_levels.limit = intern_levels_for(max_codes(limits));
  header->caller_levels.limit = intern_levels_for(max_pieces(limits));
}

uint64_t used_bytes(const ArenaHeader& header) {
  uint64_t used = kPageBytes;
  for (uint32_t id = 0; id < kSectionCount; ++id) {
    const Section& s = header.section(id);
    used += s.used_bytes.load(std::memory_order_relaxed);
  }
  const auto slots = [](const LevelsHead& levels) {
    const uint32_t open = levels.open.load(std::memory_order_relaxed);
    return slots_before(open < kMaxLevels ? open : kMaxLevels);
  };
  used += slots(header.live_levels) * (sizeof(uint64_t) + sizeof(LiveRecord));
  used +=
      (slots(header.stack_levels) + slots(header.name_levels) + slots(header.code_levels)) * sizeof(uint64_t);
  used += header.version >= kFirstVersionOfCallers ? slots(header.caller_levels) * sizeof(uint64_t) : 0;
  return used;
}

}  // namespace memprof
