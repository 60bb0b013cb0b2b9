// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/ids/location_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <protozero/varint.hpp>

#include "format/hash.h"
#include "profile/model/error.h"

namespace memprof::profile {
namespace {

constexpr size_t kDeepestStack = size_t{1} << 20;
constexpr uint64_t kHashOfNothing = 1;

// The last byte of a varint.
bool ends_id(char byte) {
  return static_cast<unsigned char>(byte) < 0x80;
}

// How many bytes before the end both are the same ids.
size_t common_end(std::string_view a, std::string_view b) {
  size_t common = static_cast<size_t>(
      std::mismatch(a.rbegin(), a.rbegin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())),
                    b.rbegin())
          .first -
      a.rbegin());
  const auto begins_id = [](std::string_view ids, size_t place) {
    return place == 0 || ends_id(ids[place - 1]);
  };
  while (common != 0 && !(begins_id(a, a.size() - common) && begins_id(b, b.size() - common))) --common;
  return common;
}

}  // namespace

uint64_t stack_hash_of(const std::vector<uint32_t>& leaf_first) {
  uint64_t hash = kHashOfNothing;
  for (auto location = leaf_first.rbegin(); location != leaf_first.rend(); ++location) {
    hash = hash_with(hash, *location);
  }
  return hash;
}

uint64_t LocationReader::hash() const {
  return hashes_.empty() ? kHashOfNothing : hashes_.back();
}

void LocationReader::start() {
  is_begun_ = false;
  is_split_ = false;
}

void LocationReader::add_one(uint64_t id, std::vector<uint32_t>* to) const {
  if (to->size() == kDeepestStack) {
    throw Error(fmt::format("damaged pprof profile: a stack of more than {} frames", kDeepestStack));
  }
  to->push_back(index_of_(id));
}

void LocationReader::add_packed(std::string_view ids) {
  if (is_begun_) {
    const char* at = ids.data();
    while (at != ids.data() + ids.size()) add(protozero::decode_varint(&at, ids.data() + ids.size()));
    return;
  }
  is_begun_ = true;
  if (ids == packed_ && !ids.empty()) return;
  const size_t common = common_end(ids, packed_);
  const std::string_view before = packed_.substr(0, packed_.size() - common);
  const size_t leaf_before = common == 0
                                 ? locations_.size()
                                 : static_cast<size_t>(std::count_if(before.begin(), before.end(), ends_id));
  leaf_.clear();
  const char* at = ids.data();
  const char* const end = ids.data() + (ids.size() - common);
  while (at != end) add_one(protozero::decode_varint(&at, end), &leaf_);
  packed_ = ids;
  take_after_leaf(leaf_before);
}

void LocationReader::add(uint64_t id) {
  if (!is_split_) {
    leaf_.clear();
    if (is_begun_) leaf_ = locations_;
    is_begun_ = is_split_ = true;
  }
  add_one(id, &leaf_);
}

void LocationReader::finish() {
  if (is_begun_ && !is_split_) return;
  if (!is_begun_) leaf_.clear();
  packed_ = {};
  take_after_leaf(locations_.size());
}

// Puts leaf_ in place of so many of the innermost.
void LocationReader::take_after_leaf(size_t leaf_before) {
  if (locations_.size() - leaf_before + leaf_.size() > kDeepestStack) {
    throw Error(fmt::format("damaged pprof profile: a stack of more than {} frames", kDeepestStack));
  }
  locations_.erase(locations_.begin(), locations_.begin() + static_cast<std::ptrdiff_t>(leaf_before));
  hashes_.resize(locations_.size());
  for (auto location = leaf_.rbegin(); location != leaf_.rend(); ++location) {
    hashes_.push_back(hash_with(hash(), *location));
  }
  locations_.insert(locations_.begin(), leaf_.begin(), leaf_.end());
}

}  // namespace memprof::profile
