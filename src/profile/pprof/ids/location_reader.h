// SPDX-License-Identifier: Apache-2.0
// The locations of one sample of a pprof file after the other.  Files are mostly in an order in which a sample has its
// outermost frames in common with the one before: these are neither decoded nor hashed again.
//
//   sample before:  [ leaf ids      | ids in common, root last ]    packed varints: compared from their end
//   this sample:    [ own leaf ids  | the same bytes           ]
//
// Threads: one reader's own.  Owns: nothing of the file, which must stay.
// Failure: throws Error; protozero's exceptions for damaged bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace memprof::profile {

class LocationReader {
 public:
  // `index_of`: of an id; throws Error where there is none.
  explicit LocationReader(std::function<uint32_t(uint64_t)> index_of) : index_of_(std::move(index_of)) {}

  // A sample begins.  Its ids follow in any number of calls, packed or not.
  void start();
  void add_packed(std::string_view ids);
  void add(uint64_t id);
  // It has ended.
  void finish();

  // Of the last sample: leaf first.
  const std::vector<uint32_t>& locations() const { return locations_; }
  // stack_hash_of() of these.
  uint64_t hash() const;

 private:
  void add_one(uint64_t id, std::vector<uint32_t>* to) const;
  void take_after_leaf(size_t leaf_before);

  const std::function<uint32_t(uint64_t)> index_of_;
  std::vector<uint32_t> locations_;
  std::vector<uint64_t> hashes_;  // [i]: of the outermost i + 1
  std::string_view packed_;       // what they were made of; empty: of something else
  bool is_begun_ = false;         // this sample has ids
  bool is_split_ = false;         // in more than one field
  std::vector<uint32_t> leaf_;    // the new ones; of a sample that is split, all
};

// From the root on, so that stacks share the beginning of the computation.
uint64_t stack_hash_of(const std::vector<uint32_t>& leaf_first);

}  // namespace memprof::profile
