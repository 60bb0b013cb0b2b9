// SPDX-License-Identifier: Apache-2.0
#include "core/arena/arena.h"

#include <cstring>

#include "platform/clock.h"
#include "platform/files.h"
#include "platform/memory.h"
#include "platform/process.h"

namespace memprof {
namespace {

// One step of growth.  Small, because committing is what costs (0.3 ms a MiB in a shared file).
constexpr uint64_t kCommitStepBytes = 16 * 1024;
// Address space is mapped ahead: as much as there is, at most so much.
constexpr uint64_t kMaxMapStepBytes = 1024 * 1024;
// That are mapped; the rest of the file's are a hole.
constexpr uint64_t kHeaderBytes = platform::kPieceBytes;
static_assert(kHeaderBytes >= kPageBytes);
constexpr Limits kMinLimits{1024, 256, 1};

// Of a limited address space (RLIMIT_AS) an arena takes this part at most: the rest is the program's, and a
// snapshot needs some of it.
constexpr uint64_t kMinShare = 4;

constexpr uint64_t round_up(uint64_t n, uint64_t unit) {
  return (n + unit - 1) / unit * unit;
}

constexpr uint64_t round_to_pieces(uint64_t size_bytes) {
  return round_up(size_bytes, platform::kPieceBytes);
}

uint64_t total_bytes(const Limits& limits) {
  uint64_t total = kHeaderBytes;
  for (uint32_t id = 0; id < kSectionCount; ++id) {
    total += round_to_pieces(section_capacity(static_cast<SectionId>(id), limits));
  }
  return total;
}

// The header and each section.
struct Pieces {
  static constexpr uint32_t kCount = 1 + kSectionCount;
  platform::Piece pieces[kCount];
};

Pieces first_pieces(const Limits& limits) {
  Pieces p{{{0, kHeaderBytes}}};
  uint64_t offset = kHeaderBytes;
  for (uint32_t id = 0; id < kSectionCount; ++id) {
    p.pieces[1 + id] = {offset, platform::kPieceBytes};
    offset += round_to_pieces(section_capacity(static_cast<SectionId>(id), limits));
  }
  return p;
}

Pieces pieces_of(const ArenaHeader& header) {
  Pieces p{{{0, kHeaderBytes}}};
  for (uint32_t id = 0; id < kSectionCount; ++id) {
    const Section& s = header.section(id);
    p.pieces[1 + id] = {s.offset, s.mapped_bytes.load(std::memory_order_relaxed)};
  }
  return p;
}

void fill_header(ArenaHeader& header, const Limits& limits, const Pieces& pieces, uint64_t total,
                 const ProcessIdentity& owner, uint64_t run_token, bool is_file) {
  header.version = kArenaVersion;
  header.run_token = run_token;
  header.header_bytes = sizeof(ArenaHeader);
  header.byte_order = kByteOrderMark;
  header.section_count = kSectionCount;
  header.total_bytes = total;
  header.process_id = owner.process_id;
  header.process_namespace = owner.process_namespace;
  header.is_file = is_file ? 1 : 0;
  header.start_ns = platform::monotonic_ns();
  header.start_unix_ns = platform::unix_ns();
  header.limits = limits;
  for (uint32_t id = 0; id < kSectionCount; ++id) {
    const platform::Piece& piece = pieces.pieces[1 + id];
    header.section(id).offset = piece.offset;
    header.section(id).capacity_bytes = section_capacity(static_cast<SectionId>(id), limits);
    header.section(id).mapped_bytes.store(piece.size_bytes, std::memory_order_relaxed);
  }
  header.thin.rate_before.store(ThinState::kNone, std::memory_order_relaxed);
  header.peak.seed = platform::random_seed();
  set_level_limits(limits, &header);
  const char* program = platform::program_path();
  const size_t length = strnlen(program, sizeof(header.program) - 1);
  memcpy(header.program, program, length);
  header.program[length] = '\0';
  header.magic.store(kArenaMagic, std::memory_order_release);  // pairs with the acquire in snapshot.cc
}

// A file whose header can be written.
void* map_file(const char* path, uint64_t total, const Pieces& p) {
  void* memory = platform::map_pieces(path, total, p.pieces, Pieces::kCount);
  if (memory != nullptr && !platform::commit_pages(memory, kPageBytes)) {
    platform::unmap_pieces(memory, total, p.pieces, Pieces::kCount);
    platform::file_remove(path);
    return nullptr;
  }
  return memory;
}

// Sets *is_file.  nullptr: it does not fit.
void* map_first(const char* path, uint64_t total, const Pieces& p, bool* is_file) {
  // Asked first: a file would have to be removed again.
  if (!platform::has_address_space(total * kMinShare)) {
    return nullptr;
  }
  void* memory = path != nullptr ? map_file(path, total, p) : nullptr;
  *is_file = memory != nullptr;
  return memory != nullptr ? memory : platform::map_pieces(nullptr, total, p.pieces, Pieces::kCount);
}

// May the program's limit on its address space be used up by so much more?
bool is_within_share(const ArenaHeader& header, uint64_t more) {
  uint64_t mapped = kHeaderBytes + more;
  for (uint32_t id = 0; id < kSectionCount; ++id) {
    const Section& s = header.section(id);
    mapped += s.mapped_bytes.load(std::memory_order_relaxed);
  }
  return mapped <= platform::address_space_limit() / kMinShare;
}

}  // namespace

uint64_t max_bytes(const Limits& limits) {
  return total_bytes(limits);
}

ProcessIdentity this_process() {
  return {platform::process_id(), platform::process_namespace(), platform::process_start()};
}

Arena Arena::create(const Limits& wanted, const char* path, const ProcessIdentity& owner,
                    uint64_t run_token) {
  Limits limits = wanted;
  for (;;) {
    const uint64_t total = total_bytes(limits);
    const Pieces pieces = first_pieces(limits);
    bool is_file = false;
    void* memory = map_first(path, total, pieces, &is_file);
    if (memory != nullptr) {
      ArenaHeader* header = static_cast<ArenaHeader*>(memory);
      fill_header(*header, limits, pieces, total, owner, run_token, is_file);
      return Arena(header);
    }
    if (limits.max_live_samples <= kMinLimits.max_live_samples &&
        limits.max_stacks <= kMinLimits.max_stacks) {
      return Arena();
    }
    if (limits.max_live_samples > kMinLimits.max_live_samples) {
      limits.max_live_samples /= 2;
    }
    if (limits.max_stacks > kMinLimits.max_stacks) {
      limits.max_stacks /= 2;
    }
  }
}

void Arena::release(const Arena& arena) {
  const Pieces p = pieces_of(arena.header());
  platform::unmap_pieces(arena.base(), arena.header().total_bytes, p.pieces, Pieces::kCount);
}

void Arena::give_back() const {
  for (uint32_t id = 0; id < kSectionCount; ++id) {
    const Section& s = header_->section(id);
    platform::drop_pages(base() + s.offset, s.mapped_bytes.load(std::memory_order_relaxed));
  }
}

// Memory first, then the place: whoever counts the entries of a section by used_bytes may read each of them.
uint64_t Arena::allocate(SectionId id, uint64_t size_bytes) const {
  Section& s = section(id);
  const uint64_t size = round_up(size_bytes, 8);
  uint64_t offset = s.used_bytes.load(std::memory_order_relaxed);
  // Relaxed: the offset is this thread's alone; its content is published by whoever publishes the id.
  do {
    if (offset > s.capacity_bytes || s.capacity_bytes - offset < size || !commit_up_to(id, offset + size)) {
      return kNoOffset;
    }
  } while (!s.used_bytes.compare_exchange_weak(offset, offset + size, std::memory_order_relaxed));
  return offset;
}

bool Arena::use_up_to(SectionId id, uint64_t size_bytes) const {
  Section& s = section(id);
  if (size_bytes > s.capacity_bytes || !commit_up_to(id, size_bytes)) {
    return false;
  }
  raise(s.used_bytes, size_bytes);
  return true;
}

bool Arena::commit_up_to(SectionId id, uint64_t end) const {
  Section& s = section(id);
  // acquire pairs with the release below: the step that another thread committed can be touched.
  uint64_t committed = s.committed_bytes.load(std::memory_order_acquire);
  while (committed < end) {
    const uint64_t wanted = round_up(end, kCommitStepBytes);
    const uint64_t next = wanted < s.capacity_bytes ? wanted : s.capacity_bytes;
    if (!commit(id, committed, next - committed)) {
      return false;
    }
    if (s.committed_bytes.compare_exchange_strong(committed, next, std::memory_order_release,
                                                  std::memory_order_acquire)) {
      break;
    }
  }
  return true;
}

void Arena::commit_next(SectionId id, uint64_t end) const {
  const uint64_t committed = section(id).committed_bytes.load(std::memory_order_relaxed);
  if (committed < end) {
    commit_up_to(id, committed + kCommitStepBytes < end ? committed + kCommitStepBytes : end);
  }
}

void Arena::commit_ahead(SectionId id, uint64_t size_bytes) const {
  const Section& s = section(id);
  const uint64_t end = s.used_bytes.load(std::memory_order_relaxed) + size_bytes;
  commit_up_to(id, end < s.capacity_bytes ? end : s.capacity_bytes);
}

bool Arena::commit(SectionId id, uint64_t offset_in_section, uint64_t size_bytes) const {
  if (platform::is_sandboxed()) {
    return false;
  }
  // Private memory: the kernel gives pages when they are touched.
  return map(id, offset_in_section + size_bytes) &&
         (header_->is_file == 0 ||
          platform::commit_pages(base() + section(id).offset + offset_in_section, size_bytes));
}

// Makes the first `size_bytes` of a section memory.  Every thread takes the same steps, so that who was
// slower finds what it wanted.
bool Arena::map(SectionId id, uint64_t size_bytes) const {
  Section& s = section(id);
  const uint64_t room = round_to_pieces(s.capacity_bytes);
  if (size_bytes > room) {
    return false;
  }
  // acquire pairs with the release below.
  uint64_t mapped = s.mapped_bytes.load(std::memory_order_acquire);
  while (mapped < size_bytes) {
    const uint64_t ahead = mapped < kMaxMapStepBytes ? mapped : kMaxMapStepBytes;
    const uint64_t next = mapped + ahead < room ? mapped + ahead : room;
    if (!is_within_share(*header_, next - mapped) ||
        !platform::extend_piece(base() + s.offset, mapped, next, room)) {
      const uint64_t now = s.mapped_bytes.load(std::memory_order_acquire);
      if (now == mapped) {
        return false;
      }
      mapped = now;  // others were faster, by more than one step
      continue;
    }
    if (s.mapped_bytes.compare_exchange_strong(mapped, next, std::memory_order_release,
                                               std::memory_order_acquire)) {
      mapped = next;
    }
  }
  return true;
}

}  // namespace memprof
