// SPDX-License-Identifier: Apache-2.0
// What a profile says besides its stacks: the facts of format/counters.h that files have, as a struct and as a
// table.  The writer in the profiled process, the profile outside of it, and reports have this struct as
// their base, so that a fact is declared and copied in one place.
//
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/counters.h"
#include "format/memory_part.h"

namespace memprof::profile {

// What a fact tells.  Comments have the first always, imports if one of them is not 0, each other fact if it
// is not 0.
enum class FactPart : uint8_t {
  kSamples,     // how many there are
  kMoments,     // times, and memory then; 0: unknown
  kEnds,        // flags
  kFullTables,  // detail that is missing because a table was full; no bytes are
  kBudget,      // what sampling may cost and does
  kMemory,      // who holds the anonymous memory of the process; 0: not measured
  kMissing,     // bytes that are missing
  kImports      // slots that do not lead to memprof, where import tables were patched
};

// How the facts of two profiles become one.
enum class FactMerge : uint8_t {
  kSum,
  kMax,          // of a flag: true if it is true of one
  kAll,          // a flag: true if it is true of all
  kOfOneProcess  // 0 as soon as there are two
};

struct ProfileFacts {
#define MEMPROF_MEMBER(name, ...) uint64_t name = 0;
#define MEMPROF_TYPED_MEMBER(type, name, ...) type name{};
  MEMPROF_COUNTERS(MEMPROF_NO_FACT, MEMPROF_MEMBER, MEMPROF_TYPED_MEMBER)
#undef MEMPROF_MEMBER
#undef MEMPROF_TYPED_MEMBER
};

// One of them.
struct ProfileFact {
  const char* key;   // in the comment
  const char* json;  // nullptr: not in JSON
  FactPart part;
  FactMerge merge;
  bool is_reported;                 // in the JSON of a report
  uint64_t ProfileFacts::* number;  // or
  bool ProfileFacts::* flag;        // this one; the other is nullptr

  uint64_t of(const ProfileFacts& facts) const {
    return number != nullptr ? facts.*number : uint64_t{facts.*flag};
  }
  void set(ProfileFacts* facts, uint64_t value) const {
    if (number != nullptr) {
      facts->*number = value;
    } else {
      facts->*flag = value != 0;
    }
  }
};

inline constexpr bool kReported = true;
inline constexpr bool kUnreported = false;

namespace profile_facts {
inline constexpr ProfileFact fact(const char* key, const char* json, FactPart part, FactMerge merge,
                                  bool is_reported, uint64_t ProfileFacts::* member) {
  return {key, json, part, merge, is_reported, member, nullptr};
}
inline constexpr ProfileFact fact(const char* key, const char* json, FactPart part, FactMerge merge,
                                  bool is_reported, bool ProfileFacts::* member) {
  return {key, json, part, merge, is_reported, nullptr, member};
}
}  // namespace profile_facts

// In the order of the comment.
inline constexpr ProfileFact kProfileFacts[] = {
#define MEMPROF_FILED(name, place, part, merge, report) \
  profile_facts::fact(#name, #name, FactPart::part, FactMerge::merge, report, &ProfileFacts::name),
#define MEMPROF_FACT(type, name, key, json, part, merge, report) \
  profile_facts::fact(key, json, FactPart::part, FactMerge::merge, report, &ProfileFacts::name),
    MEMPROF_COUNTERS(MEMPROF_NO_FACT, MEMPROF_FILED, MEMPROF_FACT)
#undef MEMPROF_FILED
#undef MEMPROF_FACT
};

// `parts`: bytes, in the order of MemoryPart.
inline void set_memory_parts(const uint64_t* parts, ProfileFacts* facts) {
  uint64_t ProfileFacts::* const members[] = {
      &ProfileFacts::anonymous_mapped_bytes,  &ProfileFacts::anonymous_allocator_bytes,
      &ProfileFacts::anonymous_malloc_bytes,  &ProfileFacts::anonymous_stacks_bytes,
      &ProfileFacts::anonymous_modules_bytes, &ProfileFacts::anonymous_own_bytes,
      &ProfileFacts::anonymous_unseen_bytes};
  static_assert(sizeof(members) / sizeof(members[0]) == static_cast<uint32_t>(MemoryPart::kCount));
  for (uint32_t i = 0; i < static_cast<uint32_t>(MemoryPart::kCount); ++i) {
    facts->*members[i] = parts[i];
  }
}

// The facts of one more profile into those of others.
inline void merge_facts(const ProfileFacts& more, ProfileFacts* sum) {
  for (const ProfileFact& fact : kProfileFacts) {
    const uint64_t a = fact.of(*sum);
    const uint64_t b = fact.of(more);
    switch (fact.merge) {
      case FactMerge::kSum:
        fact.set(sum, a + b);
        break;
      case FactMerge::kMax:
        fact.set(sum, a < b ? b : a);
        break;
      case FactMerge::kAll:
        fact.set(sum, a & b);
        break;
      case FactMerge::kOfOneProcess:
        fact.set(sum, 0);
        break;
    }
  }
}

}  // namespace memprof::profile
