// SPDX-License-Identifier: Apache-2.0
// Which groups of one profile are those of another: by what a person would call the same, and never by where
// it was loaded.
//
// Model: groups that are alike in all are one.  Of the others: code without a name is matched by the build id
// of its file and the place in it, and by nothing else where it has one; a function by its name, with its
// file or module if there are several of it; a line by its function, and then by the one shift of its lines
// that matches most (code above it came or went) unless the module is the same build; a file by the end of
// its path; a module without its version, and the program itself even if it is called otherwise; a process by
// its name, in the order of ids.
//
// Threads: one comparison's own.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "profile/model/model.h"
#include "profile/names/frame_grouping.h"

namespace memprof::profile {

class RowMatching {
 public:
  explicit RowMatching(GroupBy by) : by_(by) {}

  // The rows of the groups of one more profile, in their order; new ones where there was no such row.
  std::vector<uint32_t> add(const Profile& profile, const std::vector<FrameGroup>& groups);

  // As the last profile that has them calls them.
  const std::vector<FrameGroup>& rows() const { return rows_; }

 private:
  using Key = std::vector<std::string>;
  // Row or kNone, for each group.
  using Found = std::vector<uint32_t>;
  static constexpr uint32_t kNone = UINT32_MAX;

  struct Open {
    std::map<Key, std::vector<uint32_t>> groups;  // without a row
    std::map<Key, std::vector<uint32_t>> rows;    // without a group of this profile
  };

  // Pairs groups and rows whose key is unique on both sides; with `in_order`, also several with one key, in order.
  template <typename KeyOf>
  void match(const std::vector<FrameGroup>& groups, Found* found, bool in_order, const KeyOf& key_of);
  void match_lines(const std::vector<FrameGroup>& groups, Found* found);
  void match_versions(const Profile& profile, const std::vector<FrameGroup>& groups, Found* found);
  template <typename KeyOf>
  Open open_ones(const std::vector<FrameGroup>& groups, const Found& found, const KeyOf& key_of) const;
  bool is_same_build(const std::string& module) const { return same_builds_.count(module) != 0; }
  void learn_builds(const Profile& profile);

  GroupBy by_;
  std::vector<FrameGroup> rows_;
  std::map<std::string, std::string> builds_;  // by module, of the profiles before
  std::set<std::string> same_builds_;          // modules of this profile that are a build known before
  std::set<std::string> programs_;             // modules that are the program itself
};

}  // namespace memprof::profile
