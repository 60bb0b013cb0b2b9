// SPDX-License-Identifier: Apache-2.0
// The text of the comments that carry a memprof profile's statistics through pprof, and the id that ties a
// comment to its stack.  Shared by the writer in the profiled process, the one outside, and the reader.
//
// Format: docs/profile-format.md, "Comments".
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "format/birth.h"
#include "format/hash.h"
#include "format/lifetime_class.h"
#include "format/load/load_clock.h"
#include "format/pprof/comment_text.h"
#include "format/profile_facts.h"
#include "format/programs/command_line.h"
#include "format/rate_use.h"
#include "format/resident.h"
#include "format/runtime_frame.h"
#include "format/walk.h"

namespace memprof::profile {

inline constexpr char kToolCommentPrefix[] = "#memprof.";
inline constexpr char kProfileComment[] = "#memprof.profile";
inline constexpr char kStackComment[] = "#memprof.stack";
inline constexpr char kStacksComment[] = "#memprof.stacks";  // those of many stacks, which the command writes
inline constexpr char kRatesComment[] = "#memprof.rates";    // more than one rate was in force
inline constexpr char kLoadComment[] = "#memprof.load";      // when the process was busy
inline constexpr char kResidentComment[] = "#memprof.resident";
inline constexpr char kCommandLineComment[] = "#memprof.command_line";  // never in a file that memprof named
inline constexpr char kToldApartComment[] = "#memprof.told_apart";  // what tells it from others of its run
inline constexpr uint64_t kCommentVersion = 1;

// What tells a location: its address; and, in the 16 bits above it, the id (index + 1) of its mapping where
// the address alone would mean another one: the first that contains it.  Mappings rarely overlap: then, and
// only then, an address is looked for among them.  Members of Mapping: start, limit.  A file with more
// mappings than the engine ever writes is not asked: whoever made it must not hold up its reader.
template <typename Mapping>
class LocationKeys {
 public:
  // The mappings must outlive this.
  LocationKeys(const Mapping* mappings, size_t count)
      : mappings_(mappings), count_(count), overlap_(find_overlap()) {}

  bool overlap() const { return overlap_; }

  uint64_t key(uint64_t address, size_t mapping) const {
    if (overlap_ && mapping < count_) {
      for (size_t i = 0; i < mapping; ++i) {
        if (mappings_[i].start <= address && address < mappings_[i].limit) {
          return address ^ told(mapping + 1);
        }
      }
    }
    return address;
  }

  // Of a key: the id of the mapping; 0: the first that contains the address.
  size_t mapping_id(uint64_t key) const { return overlap_ ? static_cast<size_t>(key >> kAddressBits) : 0; }
  uint64_t address(uint64_t key) const { return key ^ told(mapping_id(key)); }

 private:
  static constexpr int kAddressBits = 48;
  static uint64_t told(size_t mapping_id) { return uint64_t{mapping_id} << kAddressBits; }

  bool find_overlap() const {
    constexpr size_t kMaxMappings = 4096;  // kMaxModules of the engine
    if (count_ > kMaxMappings) {
      return false;
    }
    for (size_t i = 0; i < count_; ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (mappings_[i].start < mappings_[j].limit && mappings_[j].start < mappings_[i].limit) {
          return true;
        }
      }
    }
    return false;
  }

  const Mapping* mappings_;
  size_t count_;
  bool overlap_;
};

// What tells a location that has no address: code that a language's runtime executes.  FNV-1a over the
// function's name, a zero, its file, a zero and the line as a word; with the highest bit set, which no
// address has.
inline uint64_t source_key(const char* name, size_t name_size, const char* file, size_t file_size,
                           uint64_t line) {
  Fnv1a hash;
  hash.bytes(name, name_size);
  hash.byte(0);
  hash.bytes(file, file_size);
  hash.byte(0);
  hash.word(line);
  return hash.value() | uint64_t{1} << 63;
}

// FNV-1a over the keys of locations, leaf first, each as a word, and the bytes of the heap's name where it
// has one; then, in a profile of several processes, a zero and the process's name.
class StackId {
 public:
  void add(uint64_t location_key) { hash_.word(location_key); }
  void add_heap(const char* name, size_t size) { hash_.bytes(name, size); }
  void add_process(const char* name, size_t size) {
    if (size != 0) {
      hash_.byte(0);
      hash_.bytes(name, size);
    }
  }
  uint64_t value() const { return hash_.value(); }

  // Of the keys: a row of them that many stacks have is added at once.
  Fnv1a& hash() { return hash_; }

  // The locations of neighbouring stacks, whose multiplications need not wait for each other.  depth_of(row): how many
  // row has; key_of(row, i): the key of its location i.
  static constexpr size_t kTogether = 4;
  template <typename DepthOf, typename KeyOf>
  static void add_locations(StackId (&ids)[kTogether], size_t count, const DepthOf& depth_of,
                            const KeyOf& key_of) {
    Fnv1a rows[kTogether];
    size_t depths[kTogether] = {};
    for (size_t row = 0; row < count; ++row) {
      depths[row] = depth_of(row);
    }
    size_t together = depths[0];
    for (const size_t depth : depths) {
      together = depth < together ? depth : together;  // of a group that is not full: 0
    }
    for (size_t i = 0; i < together; ++i) {
      uint64_t keys[kTogether];
      for (size_t row = 0; row < kTogether; ++row) {
        keys[row] = key_of(row, i);
      }
      Fnv1a::add_words(rows, keys);
    }
    for (size_t row = 0; row < count; ++row) {
      ids[row].hash_ = rows[row];
      for (size_t i = together; i < depths[row]; ++i) {
        ids[row].add(key_of(row, i));
      }
    }
  }

 private:
  Fnv1a hash_;
};

// How the fields of a runtime are called, by its id; what the first is called stands in many files.
struct RuntimeKeys {
  const char* version;
  const char* objects;
  const char* stacks;
  const char* name;  // nullptr: every reader knows it
};
#define MEMPROF_RUNTIME_KEYS(id) \
  {"runtime" #id, "runtime" #id "_objects", "runtime" #id "_stacks", "runtime" #id "_name"}
inline constexpr RuntimeKeys kRuntimeKeys[] = {
    {"python", "python_objects", "python_stacks", nullptr},
    MEMPROF_RUNTIME_KEYS(2),
    MEMPROF_RUNTIME_KEYS(3),
    MEMPROF_RUNTIME_KEYS(4),
    MEMPROF_RUNTIME_KEYS(5),
    MEMPROF_RUNTIME_KEYS(6),
    MEMPROF_RUNTIME_KEYS(7),
    MEMPROF_RUNTIME_KEYS(8),
    MEMPROF_RUNTIME_KEYS(9),
    MEMPROF_RUNTIME_KEYS(10),
    MEMPROF_RUNTIME_KEYS(11),
    MEMPROF_RUNTIME_KEYS(12),
    MEMPROF_RUNTIME_KEYS(13),
    MEMPROF_RUNTIME_KEYS(14),
    MEMPROF_RUNTIME_KEYS(15),
    MEMPROF_RUNTIME_KEYS(16),
};
#undef MEMPROF_RUNTIME_KEYS
static_assert(sizeof(kRuntimeKeys) / sizeof(kRuntimeKeys[0]) == kMaxRuntimes);

inline constexpr size_t kMaxProgram = 400;  // longer than any file name
inline constexpr size_t kMaxRuntimeName = 20;

// Facts is RawProfile or Profile.
template <typename Facts>
void profile_comment(CommentText& text, const char* program, size_t program_size, const Facts& facts) {
  text.literal(kProfileComment);
  text.decimal("version", kCommentVersion);
  text.text("program", {program, program_size}, kMaxProgram);
  text.decimal("pid", facts.pid);
  bool has_imports = false;
  for (const ProfileFact& fact : kProfileFacts) {
    if (fact.part == FactPart::kSamples) text.decimal(fact.key, fact.of(facts));
    has_imports = has_imports || (fact.part == FactPart::kImports && fact.of(facts) != 0);
  }
  for (size_t i = 0; i < kWalkReasons; ++i) {
    text.decimal(kWalkNames[i].key, facts.walks[i]);
  }
  for (const ProfileFact& fact : kProfileFacts) {
    if (fact.part == FactPart::kImports ? has_imports
                                        : fact.part != FactPart::kSamples && fact.of(facts) != 0) {
      text.decimal(fact.key, fact.of(facts));
    }
  }
  for (size_t i = 0; i < kMaxRuntimes; ++i) {
    const auto& runtime = facts.runtimes[i];
    const RuntimeKeys& keys = kRuntimeKeys[i];
    if (runtime.version != 0) {
      text.decimal(keys.version, runtime.version);
      text.decimal(keys.objects, runtime.objects);
      text.decimal(keys.stacks, runtime.stacks);
      if (keys.name != nullptr) text.text(keys.name, runtime.name, kMaxRuntimeName);
    }
  }
}

// The longest that this comment can be.
inline constexpr size_t max_of_profile_comment() {
  constexpr size_t kDigits = 20;
  constexpr size_t kEscaped = 3;  // %XX
  const auto field = [](std::string_view key, size_t value) { return 1 + key.size() + 1 + value; };
  size_t max = sizeof(kProfileComment) - 1 + field("version", kDigits) +
               field("program", kEscaped * kMaxProgram) + field("pid", kDigits);
  for (const ProfileFact& fact : kProfileFacts) max += field(fact.key, fact.flag != nullptr ? 1 : kDigits);
  for (const WalkName& walk : kWalkNames) max += field(walk.key, kDigits);
  constexpr size_t kDigits32 = 10;
  for (const RuntimeKeys& keys : kRuntimeKeys) {
    max += field(keys.version, kDigits32) + field(keys.objects, kDigits32) + field(keys.stacks, kDigits32);
    if (keys.name != nullptr) max += field(keys.name, kEscaped * kMaxRuntimeName);
  }
  return max;
}
static_assert(max_of_profile_comment() <= CommentText::kCapacity);

// Rate, bytes that its samples stand for and nanoseconds, of each rate.
inline constexpr size_t kMaxRates = 32;
inline void rates_comment(CommentText& text, const RateUse* rates, size_t count) {
  text.literal(kRatesComment);
  text.key("used");
  for (size_t i = 0; i < count && i < kMaxRates; ++i) {
    if (i != 0) text.literal(",");
    text.number(rates[i].rate_bytes);
    text.literal(":");
    text.number(rates[i].weight_bytes);
    text.literal(":");
    text.number(rates[i].time_ns);
  }
}
static_assert(sizeof(kRatesComment) + sizeof("used=") + kMaxRates * 3 * 21 <= CommentText::kCapacity);

// What of the process was in memory; what is 0 is left out.
inline void resident_comment(CommentText& text, const ResidentMemory& memory) {
  text.literal(kResidentComment);
  for (const ResidentField& field : kResidentFields) {
    if (memory.*field.member != 0) text.decimal(field.key, memory.*field.member);
  }
}
static_assert(sizeof(kResidentComment) + sizeof(kResidentFields) / sizeof(kResidentFields[0]) * 32 <=
              CommentText::kCapacity);

// Bytes of load, and when each sixteenth of it began and the last one ended, in nanoseconds after the start.
inline void load_comment(CommentText& text, const LoadTimes& load) {
  text.literal(kLoadComment);
  text.decimal("bytes", load.bytes);
  text.key("at");
  for (uint32_t i = 0; i <= kBirthParts; ++i) {
    if (i != 0) text.literal(",");
    text.number(load.at_ns[i]);
  }
}
static_assert(sizeof(kLoadComment) + 32 + (kBirthParts + 1) * 21 <= CommentText::kCapacity);

// As format/programs/command_line.h has it.
inline void command_line_comment(CommentText& text, std::string_view command_line) {
  text.literal(kCommandLineComment);
  text.text("text", command_line, kMaxCommandLineBytes);
}
static_assert(sizeof(kCommandLineComment) + sizeof("text=") + 3 * kMaxCommandLineBytes <=
              CommentText::kCapacity);

inline constexpr size_t kMaxToldApart = 400;
inline void told_apart_comment(CommentText& text, std::string_view part) {
  text.literal(kToldApartComment);
  text.text("by", part, kMaxToldApart);
}

// How totals are called in a stack's comment.
struct TotalsKeys {
  const char* samples;
  const char* size_bytes;
  const char* weight_bytes;
  const char* weight_count;
  const char* variance_bytes;
  const char* variance_count;
  const char* max_missed_bytes;
  const char* max_missed_count;
};
inline constexpr TotalsKeys kAllocatedKeys{"n", "s", "wb", "wc", "vb", "vc", "mb", "mc"};
inline constexpr TotalsKeys kPeakKeys{"pn", "ps", "pwb", "pwc", "pvb", "pvc", "pmb", "pmc"};

// Totals is RawTotals or Totals.
template <typename Totals>
void totals_fields(CommentText& text, const TotalsKeys& keys, const Totals& totals) {
  text.decimal(keys.samples, totals.samples);
  text.decimal(keys.size_bytes, totals.size_bytes);
  text.real(keys.weight_bytes, totals.weight_bytes);
  text.real(keys.weight_count, totals.weight_count);
  text.real(keys.variance_bytes, totals.variance_bytes);
  text.real(keys.variance_count, totals.variance_count);
  text.real(keys.max_missed_bytes, totals.max_missed_bytes);
  text.real(keys.max_missed_count, totals.max_missed_count);
}

// Part, samples, bytes and blocks of each.
template <typename Births>
void births_field(CommentText& text, const char* key, const Births& births) {
  bool is_first = true;
  for (const Birth& birth : births) {
    is_first ? text.key(key) : text.literal(",");
    is_first = false;
    text.number(birth.part);
    text.literal(":");
    text.number(birth.samples);
    text.literal(":");
    text.short_real(birth.weight_bytes);
    text.literal(":");
    text.short_real(birth.weight_count);
  }
}

// StackFacts is RawStack or Stack.
template <typename StackFacts>
void stack_comment(CommentText& text, uint64_t id, const StackFacts& facts) {
  text.literal(kStackComment);
  text.hex16("id", id);
  text.decimal("walk", static_cast<uint64_t>(facts.walk));
  totals_fields(text, kAllocatedKeys, facts.allocated);
  text.decimal("fn", facts.freed.samples);
  text.decimal("fs", facts.freed.size_bytes);
  text.real("fwb", facts.freed.weight_bytes);
  text.real("fwc", facts.freed.weight_count);
  text.real("life", facts.lifetime_ns);
  // Class, samples, sizes and, unless they stand for themselves, weights of bytes and of blocks.
  bool is_first = true;
  for (const Lifetime& lifetime : facts.lifetimes) {
    is_first ? text.key("lt") : text.literal(",");
    is_first = false;
    text.number(lifetime.lifetime_class);
    text.literal(":");
    text.number(lifetime.samples);
    text.literal(":");
    text.number(lifetime.size_bytes);
    if (lifetime.weight_count != static_cast<double>(lifetime.samples)) {
      text.literal(":");
      text.short_real(lifetime.weight_bytes);
      text.literal(":");
      text.short_real(lifetime.weight_count);
    }
  }
  births_field(text, "lb", facts.births);
  births_field(text, "lo", facts.load_births);
  if (facts.peak.samples != 0) {
    totals_fields(text, kPeakKeys, facts.peak);
  }
}

}  // namespace memprof::profile
