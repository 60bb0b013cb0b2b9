// SPDX-License-Identifier: Apache-2.0
// What the stacks of an arena hold and allocated, by their ids, without the profile that a report is made of: for who
// knows most of the stacks from an earlier look.
//
// Model: a stack has a key, by which the same process's next look knows it.  Its id (profile/pprof/ids/stack_ids.h), which
// takes longer, and its values are those that a profile of the same arena has; places_of() has what names are made of.
//
// Threads: one command's own.
// Failure: the constructor throws profile::Error "PATH: what is wrong".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "memprof/io/arena_profile.h"
#include "memprof/ship/looks/alloc_totals.h"
#include "profile/model/model.h"

namespace memprof::cli {

class ArenaStacks {
 public:
  explicit ArenaStacks(const std::string& path);

  struct Stack {
    uint64_t key = 0;
    profile::MetricValues values{};
  };

  // Each key once; those that hold and allocated nothing are left out.
  const std::vector<Stack>& stacks() const { return stacks_; }
  // Of all of them together, rounded once.
  const MetricSums& sums() const { return sums_; }
  uint64_t rate_bytes() const { return rate_bytes_; }

  // Whether a key means the same code at the next look: false where code lies in no file, which the process may replace.
  bool has_lasting_keys() const { return has_lasting_keys_; }
  // Of the first `count` modules, which a process that loads more of them keeps.
  uint64_t modules_hash(size_t count) const;
  size_t module_count() const { return modules_.size(); }

  // Of some of stacks(), as indices.
  std::vector<uint64_t> ids_of(const std::vector<uint32_t>& stacks) const;
  // One stack for each of them, in their order, without values.  Native code has no names yet.
  profile::Profile places_of(const std::vector<uint32_t>& stacks) const;

 private:
  // A module, in the order of a profile: the main program comes first.
  struct Module {
    uint64_t start = 0;
    uint64_t limit = 0;
    uint32_t index = 0;  // in the arena
  };
  template <typename T>
  struct Span {
    const T* data = nullptr;
    uint64_t size = 0;
  };

  void order_modules();
  void read_values();
  void add_keys();
  void unite(const std::vector<uint32_t>& used);
  void round_values();
  const char* text(uint64_t offset) const { return strings_.data + offset; }
  uint32_t module_of(uint64_t frame) const;  // index into modules_; profile::kNoMapping: none

  OpenSnapshot snapshot_;
  Span<memprof_stack> arena_stacks_;
  Span<uint64_t> frames_;
  Span<uint32_t> frame_modules_;
  Span<memprof_module> arena_modules_;
  Span<memprof_runtime_frame> runtime_frames_;
  Span<uint32_t> stack_heaps_;
  Span<memprof_heap> heaps_;
  Span<char> strings_;
  std::vector<Module> modules_;
  std::vector<uint32_t> module_order_;  // by index in the arena: the one in modules_
  std::vector<Stack> stacks_;
  std::vector<uint32_t> arena_index_;  // of each of stacks_
  MetricSums sums_{};
  uint64_t rate_bytes_ = 0;
  uint64_t time_unix_ns_ = 0;
  bool has_lasting_keys_ = true;
};

}  // namespace memprof::cli
