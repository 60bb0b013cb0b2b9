// SPDX-License-Identifier: Apache-2.0
// The profile without names that a process of a run left.  What the engine wrote is not made a model of: its samples pass
// into the file with names as they are (profile/pprof/passing/passing_profile.h).  What a process wrote itself is read
// whole.
//
// Threads: plain values.
// Failure: throws profile::Error.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "memprof/io/arena_profile.h"
#include "profile/memory/unseen_heap.h"
#include "profile/model/model.h"
#include "profile/pprof/passing/passing_profile.h"

namespace memprof::cli {

class LeftProfile {
 public:
  // `name` is for messages.
  LeftProfile(ProfileBytes pprof, const std::string& name);
  explicit LeftProfile(profile::Profile whole) : whole_(std::move(whole)) {}
  LeftProfile(const LeftProfile&) = delete;
  LeftProfile& operator=(const LeftProfile&) = delete;

  // Whether profile() has its stacks.
  bool is_whole() const { return !passing_; }
  // Names and facts may be changed.
  profile::Profile& profile() { return passing_ ? passing_->profile() : whole_; }
  double total(profile::Metric metric) const;

  // As write_profile(); returns what of the process's memory the profile does not tell.
  profile::UnseenHeap write(const std::string& path, bool force);

 private:
  ProfileBytes pprof_;
  std::optional<profile::PassingProfile> passing_;
  profile::Profile whole_;
};

}  // namespace memprof::cli
