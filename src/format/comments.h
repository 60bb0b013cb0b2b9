// SPDX-License-Identifier: Apache-2.0
// The text of the comments that carry a memprof profile's statistics through pprof, and the id that ties a
// comment to its stack.  Shared by the writer in the profiled process, the one outside, and the reader.
//
// Format: docs/profile-format.md, "Comments".
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "format/runtime_frame.h"

namespace memprof::profile {

inline constexpr char kToolCommentPrefix[] = "#memprof.";
inline constexpr char kProfileComment[] = "#memprof.profile";
inline constexpr char kStackComment[] = "#memprof.stack";
inline constexpr char kStacksComment[] = "#memprof.stacks";  // those of many stacks, which the command writes
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
    constexpr size_t kMostMappings = 4096;  // kMaxModules of the engine
    if (count_ > kMostMappings) {
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

// 64-bit FNV-1a.
class Fnv1a {
 public:
  void byte(uint64_t value) { hash_ = (hash_ ^ (value & 0xff)) * 0x100000001b3u; }
  void bytes(const char* data, size_t size) {
    for (size_t i = 0; i < size; ++i) {
      byte(static_cast<unsigned char>(data[i]));
    }
  }
  // 8 bytes, little-endian.
  void word(uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) {
      byte(value >> shift);
    }
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325u;
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

 private:
  Fnv1a hash_;
};

// Text in a fixed buffer; what does not fit is left out.
class CommentText {
 public:
  // Enough for either comment: 30 fields of at most 42 characters and the program's name of at most 1209; of
  // four runtimes 12 fields of at most 28, and three names of at most 74.  Signal handlers have it on their stack.
  static constexpr size_t kCapacity = 3072;

  const char* data() const { return text_; }
  size_t size() const { return size_; }

  void literal(const char* text) {
    while (*text != '\0') {
      character(*text++);
    }
  }

  void key(const char* name) {
    character(' ');
    literal(name);
    character('=');
  }

  void decimal(const char* name, uint64_t value) {
    key(name);
    char digits[20];
    size_t count = 0;
    do {
      digits[count++] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    while (count != 0) {
      character(digits[--count]);
    }
  }

  void hex16(const char* name, uint64_t value) {
    key(name);
    for (int shift = 60; shift >= 0; shift -= 4) {
      character(hex_digit(value >> shift & 15));
    }
  }

  void real(const char* name, double value) {
    uint64_t bits = 0;
    static_assert(sizeof(bits) == sizeof(value), "doubles travel as 64 bits");
    std::memcpy(&bits, &value, sizeof(bits));
    hex16(name, bits);
  }

  // Spaces, '%' and control characters become %XX.  What is longer than `most` characters is cut.
  void text(const char* name, std::string_view value, size_t most) {
    key(name);
    for (const char c : value.substr(0, most)) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte <= ' ' || byte == '%' || byte == 0x7f) {
        character('%');
        character(hex_digit(byte >> 4));
        character(hex_digit(byte & 15));
      } else {
        character(c);
      }
    }
  }

 private:
  static char hex_digit(uint64_t nibble) { return "0123456789abcdef"[nibble]; }

  void character(char c) {
    if (size_ < kCapacity) {
      text_[size_++] = c;
    }
  }

  char text_[kCapacity];
  size_t size_ = 0;
};

// How the fields of a runtime are called, by its id; what the first is called stands in many files.
struct RuntimeKeys {
  const char* version;
  const char* objects;
  const char* stacks;
  const char* name;  // nullptr: every reader knows it
};
inline constexpr RuntimeKeys kRuntimeKeys[] = {
    {"python", "python_objects", "python_stacks", nullptr},
    {"runtime2", "runtime2_objects", "runtime2_stacks", "runtime2_name"},
    {"runtime3", "runtime3_objects", "runtime3_stacks", "runtime3_name"},
    {"runtime4", "runtime4_objects", "runtime4_stacks", "runtime4_name"},
};
static_assert(sizeof(kRuntimeKeys) / sizeof(kRuntimeKeys[0]) == kMostRuntimes);

// ProfileFacts is RawProfile or Profile: both have these members.
template <typename ProfileFacts>
void profile_comment(CommentText& text, const char* program, size_t program_size, const ProfileFacts& facts) {
  text.literal(kProfileComment);
  text.decimal("version", kCommentVersion);
  constexpr size_t kMostProgram = 400;  // longer than any file name
  text.text("program", {program, program_size}, kMostProgram);
  text.decimal("pid", facts.pid);
  text.decimal("samples", facts.samples);
  text.decimal("live_samples", facts.live_samples);
  text.decimal("dropped_samples", facts.dropped_samples);
  text.decimal("dropped_weight_bytes", facts.dropped_weight_bytes);
  text.decimal("replaced_samples", facts.replaced_samples);
  text.decimal("walk_root", facts.walks[0]);
  text.decimal("walk_depth_limit", facts.walks[1]);
  text.decimal("walk_bad_frame", facts.walks[2]);
  text.decimal("walk_left_stack", facts.walks[3]);
  text.decimal("walk_no_rule", facts.walks[4]);
  text.decimal("walk_middle_left_out", facts.walks[5]);
  // Those that are mostly 0 are left out then.
  const auto decimal_unless_0 = [&text](const char* key, uint64_t value) {
    if (value != 0) text.decimal(key, value);
  };
  decimal_unless_0("peak_after_ns", facts.peak_after_ns);
  decimal_unless_0("peak_resident", facts.peak_resident_bytes);
  decimal_unless_0("max_resident", facts.max_resident_bytes);
  decimal_unless_0("seen_after_ns", facts.seen_after_ns);
  decimal_unless_0("ended", facts.has_ended ? 1 : 0);
  decimal_unless_0("before_end", facts.is_before_end ? 1 : 0);
  decimal_unless_0("muted_bytes", facts.muted_bytes);
  decimal_unless_0("folded_stacks", facts.folded_stacks);
  decimal_unless_0("thinned_samples", facts.thinned_samples);
  decimal_unless_0("unseen_processes", facts.unseen_processes);
  decimal_unless_0("uncollected_processes", facts.uncollected_processes);
  if (facts.import_refused + facts.import_foreign + facts.import_unbound != 0) {
    text.decimal("import_refused", facts.import_refused);
    text.decimal("import_foreign", facts.import_foreign);
    text.decimal("import_unbound", facts.import_unbound);
  }
  for (size_t i = 0; i < kMostRuntimes; ++i) {
    const auto& runtime = facts.runtimes[i];
    const RuntimeKeys& keys = kRuntimeKeys[i];
    if (runtime.version != 0) {
      text.decimal(keys.version, runtime.version);
      text.decimal(keys.objects, runtime.objects);
      text.decimal(keys.stacks, runtime.stacks);
      constexpr size_t kMostName = 20;
      if (keys.name != nullptr) text.text(keys.name, runtime.name, kMostName);
    }
  }
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
  if (facts.peak.samples != 0) {
    totals_fields(text, kPeakKeys, facts.peak);
  }
}

}  // namespace memprof::profile
