// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/verification.h"

#include <cstring>
#include <initializer_list>

#include "core/engine/profiler.h"
#include "core/sampling/sampler.h"
#include "platform/linux/inline_hooks/code/mapping_code.h"
#include "platform/linux/inline_hooks/complaints.h"
#include "platform/linux/inline_hooks/slow_paths.h"
#include "platform/linux/memory/mappings.h"
#include "platform/memory.h"

namespace memprof::platform {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 40;  // no first block of a program is that large
constexpr uint64_t kAlignment = 64;
constexpr uint64_t kUnknownSize = 0;  // also what tcmalloc says before it is set up
constexpr uint64_t kSizes[] = {8, 100, 1500, 40'000, 300'000};
constexpr uint64_t kMaxSmall = 100;
constexpr uint64_t kOldSize = 100;
constexpr size_t kBufferBytes = 64 * 1024;

bool gives_memory(AllocatorCall call) {
  return call == AllocatorCall::kAllocate || call == AllocatorCall::kThrowingAllocate ||
         call == AllocatorCall::kAllocateInto;
}

bool is_writable(uint64_t start, uint64_t size_bytes) {
  auto* buffer = static_cast<char*>(reserve_pages(kBufferBytes));
  if (buffer == nullptr) {
    return false;
  }
  bool is_whole = false;
  {
    MappingReader reader("/proc/self/maps", buffer, kBufferBytes);
    const uint64_t limit = start + size_bytes;
    uint64_t at = start;
    Mapping m;
    while (at < limit && reader.next(&m) && m.start <= at) {
      at = m.limit > at && m.is_readable && m.is_writable ? m.limit : at;
    }
    is_whole = at >= limit;
  }
  release_pages(buffer, kBufferBytes);
  return is_whole;
}

// Which of a program's functions end a block of which: each pair of operators may have blocks of its own, and malloc
// others.  For operators their names begin alike up to here: "_Znw", and for aligned ones with the type behind it.
struct Kind {
  bool is_operator;
  bool is_array;
  bool is_aligned;
  bool operator==(const Kind& o) const {
    return is_operator == o.is_operator && is_array == o.is_array && is_aligned == o.is_aligned;
  }
};

Kind kind_of(const HookSite& site) {
  const char* const name = site.name;
  const bool is_operator = strncmp(name, "_Zn", 3) == 0 || strncmp(name, "_Zd", 3) == 0;
  return {is_operator, is_operator && name[3] == 'a', is_operator && site.signature.alignment != kNoArgument};
}

// What the trial of a function found.
struct Trial {
  uint32_t calls = 0;
  uint32_t nested = 0;     // came to a function of the allocator
  uint32_t in_malloc = 0;  // came to a hook that counts
  bool is_good = true;
  bool gave_nothing = false;  // why it is not good
};

class Trier {
 public:
  explicit Trier(const InnerHeap& heap) : heap_(heap) {
    using DefaultHeap = uint64_t (*)();
    default_heap_ = heap.default_heap != 0 ? reinterpret_cast<DefaultHeap>(heap.default_heap)() : 0;
  }

  // A function whose compiler knew all its callers is right for their calls only: a check of a size that none of them asks
  // for is left out, an argument that is the same in all of them is not passed.  A program's own malloc and operators may
  // count their calls, which the program shows.
  bool can_try(const HookSite& site) const {
    return heap_.is_known && !site.is_local && (site.signature.heap == kNoArgument || default_heap_ != 0) &&
           free_of(site) != nullptr;
  }

  Trial try_site(const HookSite& site) const {
    Trial trial;
    for (const uint64_t wanted : kSizes) {
      if (site.signature.is_small && wanted > kMaxSmall) {
        break;
      }
      // aligned_alloc may refuse sizes that are no multiple of the alignment.
      const bool is_aligned = site.signature.alignment != kNoArgument;
      const uint64_t size = is_aligned ? (wanted + kAlignment - 1) / kAlignment * kAlignment : wanted;
      trial.is_good =
          trial.is_good && (gives_memory(site.signature.call) ? try_allocation(site, size, &trial)
                                                              : try_reallocation(site, size, &trial));
    }
    return trial;
  }

 private:
  uint64_t call(const HookSite& site, uint64_t size, void* block, uint64_t old_size, void** result) const {
    uint64_t a[kMaxAllocatorArguments] = {};
    const AllocatorSignature& s = site.signature;
    const auto set = [&](uint8_t argument, uint64_t value) {
      if (argument != kNoArgument) {
        a[argument] = value;
      }
    };
    set(s.size, size);
    set(s.count, 1);
    set(s.alignment, kAlignment);
    set(s.old_size, old_size);
    set(s.block, reinterpret_cast<uint64_t>(block));
    set(s.heap, default_heap_);
    set(s.result, reinterpret_cast<uint64_t>(result));
    return site.call()(a[0], a[1], a[2], a[3], a[4]);
  }

  // What ends a block that the function gave, with the fewest arguments; nullptr: none that is hooked.
  const HookSite* free_of(const HookSite& giver) const {
    const HookSite* found = nullptr;
    for (uint32_t i = 0; i < heap_.site_count; ++i) {
      const HookSite& site = heap_.sites[i];
      if (site.signature.call == AllocatorCall::kFree && site.refusal == Refusal::kNone && !site.is_local &&
          kind_of(site) == kind_of(giver) &&
          (found == nullptr || site.signature.arguments < found->signature.arguments)) {
        found = &site;
      }
    }
    return found;
  }

  void release(const HookSite& giver, void* block, uint64_t size) const {
    call(*free_of(giver), size, block, size, nullptr);
  }

  bool is_block(const void* block, uint64_t size, bool is_aligned) const {
    const auto address = reinterpret_cast<uint64_t>(block);
    if (block == nullptr || address % (is_aligned ? kAlignment : 8) != 0) {
      return false;
    }
    using UsableSize = uint64_t (*)(const void*);
    const uint64_t usable =
        heap_.usable_size != 0 ? reinterpret_cast<UsableSize>(heap_.usable_size)(block) : kUnknownSize;
    return usable == kUnknownSize || usable >= size;
  }

  template <typename Call>
  static uint64_t watch(Trial* trial, const Call& call) {
    const uint32_t calls = calls_while_trying();
    const uint64_t count = t_sampler.count;
    const uint64_t result = call();
    ++trial->calls;
    trial->nested += calls_while_trying() != calls;
    trial->in_malloc += t_sampler.count != count;
    return result;
  }

  bool try_allocation(const HookSite& site, uint64_t size, Trial* trial) const {
    void* stored = nullptr;
    const uint64_t result = watch(trial, [&] { return call(site, size, nullptr, 0, &stored); });
    const bool is_stored = site.signature.call == AllocatorCall::kAllocateInto;
    void* block = is_stored && static_cast<uint32_t>(result) != 0 ? nullptr
                  : is_stored                                     ? stored
                                                                  : reinterpret_cast<void*>(result);
    if (block == nullptr) {
      trial->gave_nothing = true;
      return false;
    }
    if (!is_block(block, size, site.signature.alignment != kNoArgument) ||
        !is_writable(reinterpret_cast<uint64_t>(block), size)) {
      return false;
    }
    memset(block, 0xa5, size);
    release(site, block, size);
    return true;
  }

  bool try_reallocation(const HookSite& site, uint64_t size, Trial* trial) const {
    const HookSite* giver = giver_;
    void* stored = nullptr;
    const uint64_t given = call(*giver, kOldSize, nullptr, 0, &stored);
    auto* old_block =
        giver->signature.call == AllocatorCall::kAllocateInto ? stored : reinterpret_cast<void*>(given);
    if (old_block == nullptr) {
      return false;
    }
    memset(old_block, 0x5a, kOldSize);
    const uint64_t result = watch(trial, [&] { return call(site, size, old_block, kOldSize, nullptr); });
    auto* block = reinterpret_cast<uint8_t*>(result);
    if (!is_block(block, size, false)) {
      return false;
    }
    for (uint64_t i = 0; i < kOldSize && i < size; ++i) {
      if (block[i] != 0x5a) {
        return false;
      }
    }
    release(site, block, size);
    return true;
  }

 public:
  // A function that gives blocks which are reallocated in a trial.
  void set_giver(const HookSite* giver) { giver_ = giver; }
  bool can_give_to(const HookSite& site) const {
    return can_try(*giver_) && kind_of(site) == kind_of(*giver_) &&
           (site.signature.alignment == kNoArgument) == (giver_->signature.alignment == kNoArgument);
  }

 private:
  const InnerHeap& heap_;
  const HookSite* giver_ = nullptr;
  uint64_t default_heap_ = 0;
};

bool is_hooked(const HookSite& site) {
  return site.refusal == Refusal::kNone;
}

bool frees_any(const InnerHeap& heap) {
  for (uint32_t i = 0; i < heap.site_count; ++i) {
    if (is_hooked(heap.sites[i]) && heap.sites[i].signature.call == AllocatorCall::kFree) {
      return true;
    }
  }
  return false;
}

// What a call of the site does from now on.
// One that is not tried may get another way later (slow_paths.cc).
uint64_t way_of(const HookSite& site, const Trial& trial, bool was_tried) {
  switch (site.signature.call) {
    case AllocatorCall::kFree:
      return site.fast;
    case AllocatorCall::kAllocate:
    case AllocatorCall::kThrowingAllocate:
    case AllocatorCall::kAllocateInto:
    case AllocatorCall::kReallocate:
      return was_tried && trial.nested == 0 && trial.in_malloc == 0 ? site.fast : site.always;
    default:
      return site.always;
  }
}

// An allocation function that refuses what it is asked for in the trial stays as it is: who frees a block of its own frees
// an address that nobody knows. One that takes blocks back or resizes them must be seen, or records would stay.
bool may_leave_out(const HookSite& site, const Trial& trial) {
  return !trial.is_good && trial.gave_nothing && gives_memory(site.signature.call);
}

const char* try_all(InnerHeap* heap, const HookSite* first, uint64_t (&ways)[InnerHeap::kMaxSites],
                    bool* is_mallocs) {
  Trier trier(*heap);
  if (!frees_any(*heap)) {
    return "none of its functions that free could be hooked";
  }
  uint32_t calls = 0;
  uint32_t in_malloc = 0;
  trier.set_giver(first);
  for (const bool wants_memory : {true, false}) {
    for (uint32_t i = 0; i < heap->site_count; ++i) {
      const HookSite& site = heap->sites[i];
      const bool reallocates = site.signature.call == AllocatorCall::kReallocate;
      if (!is_hooked(site) ||
          (wants_memory ? !gives_memory(site.signature.call) : gives_memory(site.signature.call))) {
        continue;
      }
      Trial trial;
      const bool can_try = (wants_memory || (reallocates && trier.can_give_to(site))) && trier.can_try(site);
      if (can_try) {
        trial = trier.try_site(site);
        if (may_leave_out(site, trial)) {
          heap->sites[i].is_left_out = true;
          ways[i] = site.original;
          continue;
        }
        if (!trial.is_good) {
          heap->culprit = site.name;
          return "is no function of an allocator by what it does";
        }
      }
      calls += wants_memory ? trial.calls : 0;
      in_malloc += wants_memory ? trial.in_malloc : 0;
      ways[i] = way_of(site, trial, can_try && heap->is_known);
    }
  }
  *is_mallocs = calls != 0 && in_malloc == calls;
  return nullptr;
}

void set_targets(InnerHeap* heap, const uint64_t* ways) {
  // Those that take blocks back come first: a block that is seen to come is seen to go.
  for (const bool gives : {false, true}) {
    for (uint32_t i = 0; i < heap->site_count; ++i) {
      HookSite& site = heap->sites[i];
      if (is_hooked(site) && gives_memory(site.signature.call) == gives) {
        site.target.store(ways != nullptr ? ways[i] : site.original, std::memory_order_release);
      }
    }
  }
}

}  // namespace

bool try_allocator(const HookSite* site, const void* block, uint64_t size_bytes) {
  InnerHeap* heap = site->heap;
  InnerState expected = InnerState::kUntried;
  if (!heap->state.compare_exchange_strong(expected, InnerState::kTrying, std::memory_order_acq_rel)) {
    return false;
  }
  const MuteScope mute;
  set_trying(heap);
  const auto address = reinterpret_cast<uint64_t>(block);
  const char* reason = nullptr;
  bool is_mallocs = false;
  uint64_t ways[InnerHeap::kMaxSites] = {};
  if (size_bytes >= kMaxBytes || address % (size_bytes < 8 ? 1 : 8) != 0 || address >> 47 != 0 ||
      !is_writable(address, size_bytes == 0 ? 1 : size_bytes)) {
    heap->culprit = site->name;
    reason = "gave no memory of the size that it was called with";
  } else {
    reason = try_all(heap, site, ways, &is_mallocs);
  }
  set_trying(nullptr);
  const bool is_seen = reason == nullptr && !is_mallocs;
  if (is_seen && !heap->is_mallocs) {
    heap->id = profiler::register_heap(heap->name, static_cast<uint32_t>(strlen(heap->name)));
  }
  heap->reason = reason;
  set_targets(heap, is_seen ? ways : nullptr);
  heap->state.store(is_seen      ? InnerState::kSeen
                    : is_mallocs ? InnerState::kThroughMalloc
                                 : InnerState::kRefused,
                    std::memory_order_release);
  if (!is_seen) {  // what it maps from now on is the program's
    forget_mapping_code(*heap);
  }
  if (reason != nullptr) {  // the rest was said when they were hooked
    complain_of(*heap);
  } else if (is_seen) {
    complain_of_left_out(*heap);
  }
  return is_seen;
}

}  // namespace memprof::platform
