// SPDX-License-Identifier: Apache-2.0
// Names of code that JITs made, by address: from the object files that they list for debuggers (jit_list.h).
//
// Model: an event that finds a list changed takes up what is new in it, a bounded number of files, and copies their
// functions and names (unwind/lists/section_list.h).  Another thread that is at it leaves its own frames without names.
// After each change a file is asked for anew before one of its names is given: what is not listed any more names nothing.
//
// Threads: any.  Signals: safe where no handler interrupts an event of the same thread.
// fork: reset_in_child.
// Allocates: pages of its own.
// Failure: code has no name: no memory, more than kMaxFilesAtOnce new files between two events (the oldest), files that
// cannot be read.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/jit/jit_list.h"
#include "runtime/jit/object_file.h"
#include "unwind/lists/section_list.h"

namespace memprof::jit {

class JitCode {
 private:
  struct Function;
  struct File;

 public:
  static constexpr uint32_t kMaxLists = 4;
  static constexpr uint32_t kMaxFilesAtOnce = 256;

  // A list that may be known; false: there are too many, or another thread is at it.
  bool add_list(uint64_t descriptor);
  bool has_lists() const;  // for tests
  // Forgets those of which this is not so.
  template <typename IsThere>
  void keep_lists(const IsThere& is_there) {
    for (JitList& list : lists_) {
      const uint64_t descriptor = list.descriptor();
      if (descriptor != 0 && !is_there(descriptor)) {
        list.set(0);
      }
    }
  }

  // Takes up what changed.
  void follow();
  // The frame of the function that `address` lies in (format/runtime_frame.h); 0: it is of no file.
  uint64_t frame_at(uint64_t address);

  bool has_files() const { return !files_.is_empty(); }
  uint32_t files();  // for tests
  void reset_in_child() { files_.reset_in_child(); }

 private:
  using Files = unwind::SectionList<File>;

  uint64_t state() const;
  void take_up(const JitList& list);
  bool is_known(const JitList& list, const ListedFile& listed);
  File* fill_file(const ObjectFile& object, const char* symbols);
  File* make_file(const JitList& list, const ListedFile& listed);
  bool is_listed(File* file) const;
  static uint64_t frame_of(const File& file, Function& function);

  JitList lists_[kMaxLists];
  std::atomic<uint64_t> state_{0};    // of the lists, when they were taken up; relaxed
  std::atomic<uint64_t> changes_{1};  // relaxed
  Files files_;
  uint64_t serial_ = 0;  // of who has the lock of the files
};

}  // namespace memprof::jit
