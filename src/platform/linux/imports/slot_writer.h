// SPDX-License-Identifier: Apache-2.0
// Writes words of modules, also in pages that the loader has made read-only; what a page allowed before it
// allows again afterwards.
//
// Model: what each page allows is read from the kernel's list when the first word is to be written.  A
// read-only range of the list (a module's RELRO, mostly) is made writable as a whole for as long as words of it are
// written one after the other, a large one by pages: each call makes all processors look.  A word that
// the loader will make read-only (RELRO) in a page that still is writable belongs to a module that is being
// relocated: it is not touched.
//
// Threads: one a writer; others may read the words, and bind lazy ones, meanwhile.  The caller keeps the
// modules from being unloaded.
// Allocates: pages of its own, given back at the end.
// Failure: Written::kRefused; nothing was changed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::platform {

enum class Written {
  kYes,
  kChanged,   // the word is not what was expected any more
  kNotReady,  // the module is still being relocated
  kRefused,   // the system does not let us
};

class SlotWriter {
 public:
  // `maps`: the kernel's list (tests give another one).
  explicit SlotWriter(const char* maps = "/proc/self/maps") : maps_(maps) {}
  ~SlotWriter();
  SlotWriter(const SlotWriter&) = delete;
  SlotWriter& operator=(const SlotWriter&) = delete;

  // Puts `value` where `expected` is (release: who loads it sees what was made for it).
  Written write(uint64_t address, uint64_t expected, uint64_t value, bool in_relro);

  // Puts the protection of the last range back.
  void finish();

 private:
  struct Range {
    uint64_t start;
    uint64_t limit;
    int protection;
  };

  void read_ranges();
  const Range* find(uint64_t address) const;

  const char* const maps_;
  Range* ranges_ = nullptr;
  size_t range_count_ = 0;
  bool was_read_ = false;
  Range open_{};  // what is writable now, and what it allows else; empty: nothing
};

}  // namespace memprof::platform
