// SPDX-License-Identifier: Apache-2.0
// Where V8 keeps the table of ends of baseline code (baseline.h): a pointer in the object around the code, or in
// one that this points to.  Where, depends on the version: it is looked for once, by what is found there.
//
// Threads: one at a time.
// Allocates: never.  Failure: false; every read goes through the system, so that none can fault.
#pragma once

#include <cstdint>

#include "runtime/v8/code/baseline.h"

namespace memprof::v8 {

inline constexpr uint64_t kWord = 8;  // bytes; V8 without compressed pointers

class CodeObjects {
 public:
  // Calls try_table(start, size_bytes) with what may be a table, until it says that it is one.
  template <typename Try>
  bool find_table(uint64_t code_start, const Try& try_table) {
    return find(kPlaces, [&](uint32_t place) {
      uint64_t object = 0;
      uint64_t start = 0;
      uint32_t bytes = 0;
      return object_at(code_start, place, &object) && read_table(object, &start, &bytes) &&
             try_table(start, bytes);
    });
  }
  // The same of a table that an object there points to: try_list(object, start, size_bytes).
  template <typename Try>
  bool find_list(uint64_t code_start, const Try& try_list) {
    return find(kPlaces * kWordsInside, [&](uint32_t place) {
      uint64_t owner = 0;
      uint64_t object = 0;
      uint64_t start = 0;
      uint32_t bytes = 0;
      return object_at(code_start, place / kWordsInside, &owner) &&
             read_object(owner + kWord * (1 + place % kWordsInside), &object) &&
             read_table(object, &start, &bytes) && try_list(owner, start, bytes);
    });
  }

  // Whether the place is known: it need not be looked for.
  bool is_found() const { return found_ != 0; }
  // Where it was looked for in vain, too.
  void try_again() { failures_ = 0; }

  // The object that a word of V8's points to; false: none.
  static bool read_object(uint64_t address, uint64_t* object);

 private:
  static constexpr uint32_t kWordsBefore = 16;
  static constexpr uint32_t kWordsInside = 16;
  static constexpr uint32_t kPlaces = kWordsBefore * (1 + kWordsInside);
  static constexpr uint32_t kMaxFailures = 32;

  static bool read_table(uint64_t object, uint64_t* start, uint32_t* size_bytes);
  // Place: which word before the code, and then which word of the object that it points to.
  static bool object_at(uint64_t code_start, uint32_t place, uint64_t* object);

  template <typename Try>
  bool find(uint32_t places, const Try& try_place) {
    if (found_ != 0) {
      return try_place(found_ - 1);
    }
    for (uint32_t place = 0; place < places && failures_ < kMaxFailures; ++place) {
      if (try_place(place)) {
        found_ = place + 1;
        return true;
      }
    }
    ++failures_;
    return false;
  }

  uint32_t found_ = 0;  // the place + 1
  uint32_t failures_ = 0;
};

}  // namespace memprof::v8
