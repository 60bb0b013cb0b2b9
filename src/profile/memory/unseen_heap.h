// SPDX-License-Identifier: Apache-2.0
// Anonymous memory of a process that no sample tells of: the heap of a runtime that maps its memory itself, an
// allocator that is not hooked. Where it is more than half, readers are told so before they read rows.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/profile_facts.h"
#include "format/resident.h"
#include "profile/model/estimate.h"
#include "profile/model/model.h"

namespace memprof::profile {

// A runtime whose objects are not malloc's.
struct RuntimeHeap {
  const char* file;     // how the name of its program or library begins
  const char* name;     // "LuaJIT's heap"
  const char* way_out;  // what shows its objects; one sentence without its dot
};
// By the files of a process, the program first, as paths; nullptr: none is known.
const RuntimeHeap* runtime_heap_of(const std::vector<std::string>& files);

// Of the program, or of a library of it, whose objects may lie in mappings that nobody else is known to have; empty: none
// is known.
std::string likely_runtime_heap(const Profile& profile);

struct UnseenHeap {
  uint64_t unseen_bytes = 0;     // 0: the profile tells of half of the next or more, or that is not known
  uint64_t anonymous_bytes = 0;  // at the end, or at the peak of the heap where that was more
  std::string owner;             // empty: unknown
  std::string way_out;

  bool is_known() const { return unseen_bytes != 0; }
};

// `seen_bytes`: what blocks may have been at the peak, the upper end of the estimate, and mappings that were recorded.
// `files`: as above.
UnseenHeap find_unseen_heap(const ProfileFacts& facts, const ResidentMemory& resident, double seen_bytes,
                            const std::vector<std::string>& files, bool has_mappings, bool has_js);
// Of a whole profile.
UnseenHeap unseen_heap(const Profile& profile);
// The same where the sum of its stacks is known.
UnseenHeap unseen_heap(const Profile& profile, const Accumulator& sum);

// "what 2 libraries allocate with another malloc (opened by dlmopen or with RTLD_DEEPBIND)"; empty: there is none.
std::string bypassing_text(uint64_t libraries);

// What a process had in memory of which nothing was sampled, code and files included, as nothing more is known: "96.7 MiB in
// memory, code and files included (LuaJIT's heap is not malloc's; WAY OUT)".  Empty: it is little.  `has_mappings`: those of
// the program were recorded.
std::string unsampled_memory_text(uint64_t max_resident_bytes, const std::string& program, bool has_mappings);

// "52.3 MiB of 55.1 MiB anonymous memory (LuaJIT's heap is not malloc's; WAY OUT)"; empty: nothing is unseen.
std::string unseen_heap_text(const UnseenHeap& unseen);

}  // namespace memprof::profile
