// SPDX-License-Identifier: Apache-2.0
// The unwind tables that code made at run time brought: sections of .eh_frame that a JIT has registered
// (__register_frame), by the addresses of the code that they describe.
//
// Model: what is registered is copied, with a sorted index of its functions, because a JIT may free or write
// over its own without a word.  A snapshot lists all sections by their lowest address; it is never changed:
//
//     snapshot -> [ low, highest limit so far, name, section ] ...      section -> index, copy of .eh_frame
//
// add() publishes a new one.  Old ones are freed when no walk can be reading them (read_epochs.h).  Where two
// sections describe an address, the one that was added last is right.  remove() marks a section, which the
// next add() leaves out: that needs no lock, and so cannot fail.
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

#include "unwind/tables/block_pool.h"
#include "unwind/tables/eh_frame.h"
#include "unwind/tables/read_epochs.h"
#include "unwind/tables/rule.h"

namespace memprof::unwind {

class RegisteredTables {
 public:
  static constexpr uint32_t kMaxSections = 1 << 16;
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
  size_t used_bytes() const { return pool_.used_bytes(); }

  // In a fork child.
  void reset_in_child();

  struct Snapshot;
  // Looks addresses up; what it found stays valid as long as it lives.
  class Reading {
   public:
    explicit Reading(RegisteredTables& tables);
    ~Reading();
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

    // false: nothing is registered, or the list changed too often meanwhile; nothing is found then.
    bool is_valid() const { return epoch_ != ReadEpochs::kNone; }
    Found find_row(uint64_t address, Row* row) const;

   private:
    friend class RegisteredTables;
    const Snapshot* snapshot() const;

    RegisteredTables& tables_;
    uint32_t epoch_;
  };

 private:
  struct Function;
  struct Section;
  struct Entry;
  struct Extent {  // how far a section reaches
    uint64_t size_bytes;
    uint32_t entries;
  };
  class Lock;

  // In registered_extent.cc.
  static Extent measure(uint64_t begin);
  Section* make_section(uint64_t begin, const Extent& extent);
  bool publish(Section* added);
  void retire(void* block);
  void settle();

  std::atomic<Snapshot*> snapshot_{nullptr};
  ReadEpochs epochs_;
  std::atomic<bool> is_locked_{false};
  // Of who has the lock.
  BlockPool pool_;
  BlockPool::Header* fresh_ = nullptr;    // taken away since the readers' count was changed
  BlockPool::Header* waiting_ = nullptr;  // before that
  uint64_t serial_ = 0;
};

// The process's: zero-initialised, so valid before any code of ours ran.
extern RegisteredTables g_registered_tables __attribute__((visibility("hidden")));

// The rule for an address in no module.  false: nobody registered one.  `row`: room for what it is made of.
bool find_registered_rule(uint64_t address, Row* row, Rule* rule);

}  // namespace memprof::unwind
