// SPDX-License-Identifier: Apache-2.0
// The unwind tables that code made at run time brought: sections of .eh_frame that a JIT has registered
// (__register_frame), by the addresses of the code that they describe.
//
// Model: what is registered is copied, with a sorted index of its functions, because a JIT may free or write
// over its own without a word.  The copies are in a list that is read without a lock (unwind/lists/section_list.h).
// Where two sections describe an address, the one that was added last is right.  remove() marks a section, which
// needs no lock, and so cannot fail.
//
// Threads: any.  Readers never wait.  One writer at a time changes the list; add() gives up where another
// thread stays in it, the tables are then not kept.
// Signals: reading is safe; add() and remove() are not, as the functions of libgcc that lead to them.
// fork: reset_in_child; what other threads were just adding is lost.
// Allocates: pages of its own, kMaxBytes of block_pool.h.
// Failure: sections that cannot be read, are empty, larger than kMaxSectionBytes or more than kMaxSections
// are not kept: their code is left as code without tables is.
#pragma once

#include <atomic>
#include <cstdint>

#include "unwind/lists/section_list.h"
#include "unwind/tables/eh_frame.h"
#include "unwind/tables/rule.h"

namespace memprof::unwind {

class RegisteredTables {
 private:
  struct Function;
  struct Section;

 public:
  static constexpr uint32_t kMaxSections = SectionList<Section>::kMaxSections;
  static constexpr uint64_t kMaxSectionBytes = uint64_t{64} << 20;

  // A section of .eh_frame at `begin`, which ends with a length of 0, or before what cannot be read.  What is
  // there already, byte for byte, is not added again; another one with the same `begin` is replaced.
  void add(uint64_t begin) { add(begin, begin); }
  // One of several that go together, by a name that they have in common.
  void add(uint64_t begin, uint64_t name);
  // Of this name, or at this place: they describe nothing any more.
  void remove(uint64_t name);

  // Sections that describe something.
  uint32_t count();
  // Of all blocks, those that wait for readers included.  For tests.
  size_t used_bytes() const { return list_.used_bytes(); }

  // In a fork child.
  void reset_in_child() { list_.reset_in_child(); }

  // Looks addresses up; what it found stays valid as long as it lives.
  class Reading {
   public:
    explicit Reading(RegisteredTables& tables) : list_(tables.list_) {}

    // false: nothing is registered, or the list changed too often meanwhile; nothing is found then.
    bool is_valid() const { return list_.is_valid(); }
    Found find_row(uint64_t address, Row* row) const;

   private:
    SectionList<Section>::Reading list_;
  };

 private:
  using List = SectionList<Section>;
  struct Extent {  // how far a section reaches
    uint64_t size_bytes;
    uint32_t entries;
  };

  // In registered_extent.cc.
  static Extent measure(uint64_t begin);
  Section* make_section(uint64_t begin, const Extent& extent);

  List list_;
  uint64_t serial_ = 0;  // of who has the list's lock
};

// The process's: zero-initialised, so valid before any code of ours ran.
extern RegisteredTables g_registered_tables __attribute__((visibility("hidden")));

// The rule for an address in no module.  false: nobody registered one.  `row`: room for what it is made of.
bool find_registered_rule(uint64_t address, Row* row, Rule* rule);

}  // namespace memprof::unwind
