// SPDX-License-Identifier: Apache-2.0
#include "core/reader/snapshot.h"

#include <algorithm>
#include <cstring>

#include "core/mappings/mapping_table.h"
#include "core/reader/snapshot_source.h"
#include "core/sampling/weight.h"
#include "core/tables/heap_map.h"
#include "core/tables/heap_names.h"
#include "core/tables/module_table.h"
#include "core/tables/name_table.h"
#include "core/tables/stack_table.h"
#include "platform/clock.h"
#include "platform/memory.h"

namespace memprof {
namespace {

// What a table may grow by while it is read, beyond twice its size.  The copy takes address space for as
// much, of which the program may have little; under mlockall it takes memory.
constexpr uint64_t kGrowthBytes = 1 << 20;
// So many stacks as that is need a part of it for their own frames, and for callers that are new.
constexpr uint64_t kCallersShare = 2;

}  // namespace

bool Snapshot::Source::open(const void* arena, uint64_t length) {
  base = static_cast<const uint8_t*>(arena);
  length_bytes = length;
  if (base == nullptr || reinterpret_cast<uintptr_t>(base) % alignof(StackEntry) != 0 ||
      length < kPageBytes) {
    return false;
  }
  const ArenaHeader& h = header();
  // acquire pairs with the release in arena.cc: the header behind the magic is written.
  if (h.magic.load(std::memory_order_acquire) != kArenaMagic || h.byte_order != kByteOrderMark) {
    return false;
  }
  const uint32_t version = load_once(h.version);
  const uint64_t header_bytes = load_once(h.header_bytes);
  const struct {
    uint64_t header_bytes;
    uint32_t version;
    uint32_t sections;
  } known[] = {{kVersion6HeaderBytes, kOldestArenaVersion, kFirstSections},
               {kVersion7HeaderBytes, 7, kVersion7Sections},
               {kVersion8HeaderBytes, 8, kVersion8Sections},
               {kFirstVersion9HeaderBytes, 9, kVersion9Sections},
               {kVersion9HeaderBytes, 9, kVersion9Sections},
               {kVersion10HeaderBytes, 10, kVersion10Sections},
               {kVersion11HeaderBytes, 11, kVersion10Sections},
               {kVersion12HeaderBytes, 12, kVersion10Sections},
               {sizeof(ArenaHeader), kArenaVersion, kSectionCount}};
  // Files that the libraries before left stay readable: what was the last layout becomes a line above.
  static_assert(sizeof(ArenaHeader) == 4088 && kVersion12HeaderBytes == 4000 &&
                    kVersion11HeaderBytes == 3720 && kVersion10HeaderBytes == 3528 &&
                    kVersion9HeaderBytes == 3488 && kFirstVersion9HeaderBytes == 3312,
                "another layout");
  for (const auto& layout : known) {
    if (version == layout.version && header_bytes == layout.header_bytes &&
        h.section_count == layout.sections) {
      section_count = layout.sections;
      has_counts = header_bytes >= kVersion9HeaderBytes;
    }
  }
  if (section_count == 0) {
    return false;
  }
  for (uint32_t id = 0; id < section_count; ++id) {
    const uint64_t offset = load_once(h.section(id).offset);
    const uint64_t capacity = load_once(h.section(id).capacity_bytes);
    if (offset % kPageBytes != 0 || offset < kPageBytes || offset > length || capacity > length - offset) {
      return false;
    }
    offsets[id] = offset;
    capacities[id] = capacity;
  }
  refresh();
  live_levels = h.live_levels.open.load(std::memory_order_acquire);
  if (live_levels > kMaxLevels || live_level_offset(live_levels) > capacities[kLiveSection]) {
    return false;
  }
  for (uint32_t id = 0; id < kSectionCount; ++id) {
    const bool is_of_callers = id == kCallerSection || (id == kFrameSection && has_callers());
    capacities[id] =
        std::min(capacities[id], 2 * used[id] + kGrowthBytes / (is_of_callers ? kCallersShare : 1));
  }
  return true;
}

void Snapshot::Source::refresh() {
  if (file >= 0) {
    copy_part(0, kPageBytes);
  }
  for (uint32_t id = 0; id < section_count; ++id) {
    const Section& section = header().section(id);
    // What has no memory is not read: in a file on a full file system that would be the reader's end.
    // acquire pairs with the release in arena.cc.
    const uint64_t committed = section.committed_bytes.load(std::memory_order_acquire);
    used[id] = std::min({section.used_bytes.load(std::memory_order_acquire), committed, capacities[id]});
    if (file >= 0 && used[id] != 0) {
      if (used[id] > filled[id]) {
        filled[id] = filled_bytes(id);
      }
      used[id] = std::min(used[id], filled[id]);
    }
  }
}

Snapshot* Snapshot::read(const void* base, uint64_t length_bytes, bool* is_arena, Content content) {
  Source source;
  *is_arena = source.open(base, length_bytes);
  return *is_arena ? read(&source, content) : nullptr;
}

Snapshot* Snapshot::read_file(int fd, uint64_t length_bytes, bool* is_arena, Content content) {
  Source source;
  bool has_memory = false;
  if (!source.open_file(fd, length_bytes, &has_memory)) {
    *is_arena = !has_memory;
    return nullptr;
  }
  Snapshot* snapshot = read(&source, content);
  *is_arena = !source.is_cut;
  if (source.is_cut) {
    release(snapshot);
    return nullptr;
  }
  return snapshot;
}

Snapshot* Snapshot::read(Source* from, Content content) {
  Source& source = *from;
  // Stacks and names may grow while the records are read: what they can grow to bounds the copy.  Reserved,
  // not touched: what is resident is what is copied.
  const uint64_t max_records = slots_before(source.live_levels);
  const uint64_t max_stacks = source.capacities[kStackSection] / sizeof(StackEntry);
  const uint64_t max_frames = source.capacities[kFrameSection] / sizeof(uint64_t);
  const uint64_t max_modules = std::min(source.capacities[kModuleSection] / sizeof(ModuleEntry), kMaxModules);
  const uint64_t max_heaps = HeapNames::kMaxHeaps + 1;
  // Names of runtimes are copied once each.
  const uint64_t max_text = 1 + (max_modules + max_heaps + 1) * (NameTable::kMaxNameBytes + 1) +
                            2 * source.capacities[kTextSection] + kUnknownCodeNameBytes;
  const uint64_t records_at = (sizeof(Snapshot) + 63) / 64 * 64;
  const uint64_t stacks_at = records_at + max_records * sizeof(SnapshotRecord);
  const uint64_t peaks_at = stacks_at + max_stacks * sizeof(SnapshotStack);
  const uint64_t max_lifetimes = source.capacities[kLifetimeSection] / sizeof(LifetimeUnit) * kUnitClasses;
  const uint64_t lifetimes_at = peaks_at + max_stacks * sizeof(SnapshotTotals);
  const uint64_t lifetime_places_at = lifetimes_at + max_lifetimes * sizeof(SnapshotLifetime);
  const uint64_t frames_at = lifetime_places_at + max_stacks * sizeof(LifetimePlace);
  const uint64_t max_callers = source.capacities[kCallerSection] / sizeof(CallerPiece);
  const uint64_t max_caller_frames = max_callers * kPieceFrames;
  const uint64_t caller_frames_at = frames_at + max_frames * sizeof(uint64_t);
  const uint64_t stack_frames_at = caller_frames_at + max_caller_frames * sizeof(uint64_t);
  const uint64_t modules_at = stack_frames_at + max_stacks * sizeof(SnapshotStackFrames);
  const uint64_t frame_modules_at = modules_at + max_modules * sizeof(SnapshotModule);
  const uint64_t module_of_entry_at = frame_modules_at + max_frames * sizeof(uint32_t);
  const uint64_t caller_modules_at = module_of_entry_at + max_modules * sizeof(uint32_t);
  const uint64_t caller_callers_at = caller_modules_at + max_caller_frames * sizeof(uint32_t);
  const uint64_t stack_heaps_at = caller_callers_at + max_callers * sizeof(uint32_t);
  const uint64_t heaps_at = (stack_heaps_at + max_stacks * sizeof(uint32_t) + 7) / 8 * 8;
  const uint64_t mappings_at = heaps_at + max_heaps * sizeof(SnapshotHeap);
  const uint64_t max_mappings = source.capacities[kMappingSection] / sizeof(MappingNode);
  const uint64_t strings_at = mappings_at + max_mappings * sizeof(SnapshotMapping);
  const uint64_t caller_depths_at = (strings_at + max_text + 7) / 8 * 8;
  const uint64_t total = caller_depths_at + max_callers * sizeof(uint16_t);
  uint8_t* memory = static_cast<uint8_t*>(platform::reserve_pages(total));
  if (memory == nullptr) {
    return nullptr;
  }
  Snapshot* s = new (memory) Snapshot;
  s->mapping_bytes_ = total;
  s->max_text_ = max_text;
  s->max_frames_ = max_frames;
  s->max_callers_ = max_callers;
  s->max_lifetimes_ = max_lifetimes;
  s->records.data = reinterpret_cast<SnapshotRecord*>(memory + records_at);
  s->stacks.data = reinterpret_cast<SnapshotStack*>(memory + stacks_at);
  s->peaks.data = reinterpret_cast<SnapshotTotals*>(memory + peaks_at);
  s->lifetimes.data = reinterpret_cast<SnapshotLifetime*>(memory + lifetimes_at);
  s->lifetime_places_.data = reinterpret_cast<LifetimePlace*>(memory + lifetime_places_at);
  s->own_frames.data = reinterpret_cast<uint64_t*>(memory + frames_at);
  s->caller_frames.data = reinterpret_cast<uint64_t*>(memory + caller_frames_at);
  s->stack_frames.data = reinterpret_cast<SnapshotStackFrames*>(memory + stack_frames_at);
  s->modules.data = reinterpret_cast<SnapshotModule*>(memory + modules_at);
  s->own_frame_modules.data = reinterpret_cast<uint32_t*>(memory + frame_modules_at);
  s->caller_frame_modules.data = reinterpret_cast<uint32_t*>(memory + caller_modules_at);
  s->caller_callers.data = reinterpret_cast<uint32_t*>(memory + caller_callers_at);
  s->caller_depths.data = reinterpret_cast<uint16_t*>(memory + caller_depths_at);
  s->stack_heaps.data = reinterpret_cast<uint32_t*>(memory + stack_heaps_at);
  s->heaps.data = reinterpret_cast<SnapshotHeap*>(memory + heaps_at);
  s->mappings.data = reinterpret_cast<SnapshotMapping*>(memory + mappings_at);
  s->strings.data = reinterpret_cast<char*>(memory + strings_at);
  s->strings.data[s->strings.size++] = '\0';  // offset 0: the empty text

  const ArenaHeader& header = source.header();
  s->process_id = header.process_id;
  s->process_namespace = header.process_namespace;
  s->start_ns = header.start_ns;
  s->end_ns = header.end_ns.load(std::memory_order_relaxed);
  // A file may be older than this boot of the machine, from which the clock counts.
  s->time_ns = std::max(s->end_ns != 0 ? s->end_ns : platform::monotonic_ns(), s->start_ns);
  s->time_unix_ns = header.start_unix_ns + (s->time_ns - s->start_ns);
  memcpy(s->program_, header.program, sizeof(s->program_));
  s->program_[sizeof(s->program_) - 1] = '\0';
  s->find_end(source);
  // What modules there are before the stacks that name them.
  Span<uint32_t> module_of_entry{reinterpret_cast<uint32_t*>(memory + module_of_entry_at), 0};
  source.load(kModuleSection);
  s->note_module_states(source, &module_of_entry);
  if (content == Content::kRecords) {
    s->copy_records(source);
    s->take_shares();
    s->copy_allocator_counts(source);
    return s;
  }
  if (source.file < 0) {
    s->copy_records(source);
  } else if (!s->copy_records_of_file(from)) {
    release(s);
    return nullptr;
  }
  s->copy_mappings(from);
  s->copy_stacks_and_peaks(from);
  s->finish_lifetimes();
  s->finish_frames();
  s->match_records(source);
  s->take_shares();
  s->match_mappings(source);
  s->finish_peaks(source);
  source.refresh();
  // What is named comes after what names it, which may be given to others meanwhile (core/tables/table_sweep.h): it is
  // looked at before and after.
  for (const SectionId id : {kHeapSection, kModuleSection, kCodeSection, kNameSection, kTextSection}) {
    source.load(id);
  }
  // acquire pairs with the release in facts.cc.
  if (const uint32_t name = header.command_line.load(std::memory_order_acquire); name != 0) {
    s->command_line_ = s->copy_name(source, name - 1);
  }
  s->copy_heaps(source);
  s->copy_modules(source, module_of_entry);
  source.load(kModuleSection);
  s->check_modules(source, &module_of_entry);
  s->find_frame_modules(module_of_entry);
  if (!s->copy_runtime_frames(from) || !s->copy_runtime_heap(from)) {
    release(s);
    return nullptr;
  }
  s->counters = read_counters(header, source.at<StackEntry>(kStackSection), s->stacks.size);
  s->rate_bytes = s->counters.rate_bytes;
  s->copy_rates(source);
  s->copy_load(source);
  if (content == Content::kAll) {
    s->frames = s->flat_frames();
    s->frame_modules = s->flat_frame_modules();
    if (s->frames.data == nullptr) {
      release(s);
      return nullptr;
    }
  }
  return s;
}

void Snapshot::copy_records(const Source& source) {
  for (uint32_t level = 0; level < source.live_levels; ++level) {
    const auto* keys = source.at<std::atomic<uint64_t>>(kLiveSection, live_level_offset(level));
    const auto* live =
        source.at<LiveRecord>(kLiveSection, live_level_offset(level) + level_slots(level) * sizeof(uint64_t));
    for (uint64_t slot = 0; slot < level_slots(level); ++slot) {
      LiveSample sample;
      if (HeapMap::read(keys[slot], live[slot], &sample)) {
        add_record(sample);
      }
    }
  }
}

void Snapshot::add_record(const LiveSample& sample) {
  const uint64_t kept = sample.address & kKeptBits;
  if ((kept & ~kept_bit_) != 0 || (end_begun_ns != 0 && sample.time_ns >= end_begun_ns)) {
    return;
  }
  const Weight weight = weigh(sample.size_bytes, sample.rate_bytes);
  SnapshotRecord& record = records.data[records.size++];
  record = {sample, weight.bytes, weight.count};
  record.address = reported::address_of(sample.address & ~kKeptBits);
  // Until match_records() and take_shares(): the stack by its reference, and beside the thread how much is resident.
  record.thread_id = ResidentShare::word(sample.thread_id, sample.resident);
}

// The name's offset in `strings`; 0: there is none.
uint64_t Snapshot::copy_name(const Source& source, uint32_t id) {
  if (id >= source.count<NameEntry>(kNameSection)) {
    return 0;
  }
  const NameEntry& entry = source.at<NameEntry>(kNameSection)[id];
  const uint64_t from = TextPiece::place(load_once(entry.piece));
  const uint64_t size = load_once(entry.size_bytes);
  if (size > NameTable::kMaxNameBytes || from > source.used[kTextSection] ||
      size > source.used[kTextSection] - from || size + kUnknownCodeNameBytes >= max_text_ - strings.size) {
    return 0;
  }
  const uint64_t offset = strings.size;
  load_bytes(strings.data + strings.size, source.at<char>(kTextSection, from), size);
  strings.size += size;
  strings.data[strings.size++] = '\0';
  return offset;
}

// After the stacks: a heap has its name before it has a stack.
void Snapshot::copy_heaps(const Source& source) {
  heaps.data[heaps.size++] = {0};
  const uint64_t count = std::min<uint64_t>(source.count<HeapEntry>(kHeapSection), HeapNames::kMaxHeaps + 1);
  const HeapEntry* entries = source.at<HeapEntry>(kHeapSection);
  for (uint32_t id = 1; id < count; ++id) {
    // acquire pairs with the release in heap_names.cc.
    const uint32_t name = entries[id].load(std::memory_order_acquire);
    heaps.data[id] = {name != 0 ? copy_name(source, name - 1) : 0};
    heaps.size = heaps.data[id].name_offset != 0 ? id + 1 : heaps.size;
  }
  for (uint64_t i = 0; i < stack_heaps.size; ++i) {
    if (stack_heaps.data[i] >= heaps.size) {
      stack_heaps.data[i] = HeapNames::kUnnamed;
    }
  }
}

void Snapshot::release(Snapshot* snapshot) {
  if (snapshot == nullptr) {
    return;
  }
  if (snapshot->symbol_mapping_ != nullptr) {
    platform::release_pages(snapshot->symbol_mapping_, snapshot->symbol_mapping_bytes_);
  }
  if (uint64_t* const flat = snapshot->flat_frames_.load(std::memory_order_acquire); flat != nullptr) {
    platform::release_pages(flat, flat_bytes(snapshot->flat_count_));
  }
  if (snapshot->runtime_mapping_ != nullptr) {
    platform::release_pages(snapshot->runtime_mapping_, snapshot->runtime_mapping_bytes_);
  }
  if (snapshot->runtime_heap_mapping_ != nullptr) {
    platform::release_pages(snapshot->runtime_heap_mapping_, snapshot->runtime_heap_mapping_bytes_);
  }
  if (snapshot->resident_shares.data != nullptr) {
    platform::release_pages(snapshot->resident_shares.data, snapshot->resident_shares_bytes_);
  }
  platform::release_pages(snapshot, snapshot->mapping_bytes_);
}

// Of records what was found of them when the end began; what else was is of another time.
void Snapshot::take_shares() {
  const bool are_kept = resident.is_known() && make_resident_shares();
  for (uint64_t i = 0; i < records.size; ++i) {
    uint32_t& word = records.data[i].thread_id;
    if (are_kept) {
      resident_shares.data[i] = ResidentShare::share(ResidentShare::code_of(word));
    }
    word = ResidentShare::thread_of(word);
  }
}

bool Snapshot::make_resident_shares() {
  if (resident_shares.data == nullptr) {
    resident_shares_bytes_ = (records.size + 1) * sizeof(float);
    resident_shares.data = static_cast<float*>(platform::reserve_pages(resident_shares_bytes_));
    resident_shares.size = resident_shares.data != nullptr ? records.size : 0;
  }
  return resident_shares.data != nullptr;
}

}  // namespace memprof
