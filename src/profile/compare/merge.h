// SPDX-License-Identifier: Apache-2.0
// Profiles of several processes as one, in which each stack says whose it is, or of any number of profiles as
// their sum.
//
// Model: what lies in the same place of the same file is one location, wherever the processes had it loaded.
// Apart: stacks are not added up: those of two processes differ by their label.  Processes that had one id,
// one after the other, are "NAME PID", "NAME PID #2" ...  Added up: a stack is one, whoever had it, unless
// the profile itself says whose it is; statistics add up, and so intervals are those of the sum.  Code in no
// file is the same where it has the same names and lines.  Memory is that of the sum.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "profile/model/model.h"
#include "profile/model/stack_sum.h"

namespace memprof::profile {

// Begins the comment of an increment (increment.h); its seconds follow.  A sum with an increment in it keeps the
// comment: what it has of allocations is not all, either.
inline constexpr char kIncrementComment[] = "increment: what was allocated is that of the last ";

enum class Processes : unsigned char { kApart, kAddedUp };

class Merger {
 public:
  explicit Merger(Processes processes = Processes::kApart) : processes_mode_(processes) {}
  Merger(const Merger&) = delete;  // sums_ refers to merged_
  Merger& operator=(const Merger&) = delete;

  // Names that the profile has are kept; it is best named before.
  void add(const Profile& profile);
  // The same where profiles are added up.  Returns which stack of sum() each of the profile's own is.
  std::vector<uint32_t> add_rows(const Profile& profile);
  // What was added so far; stacks keep their places.
  const Profile& sum() const { return merged_; }

  // Takes off what the process had allocated at an earlier look.  Only where profiles are added up.
  void subtract(const Profile& earlier);

  // All that was added.  Program and process id are those of the first; of a sum of several the id is 0, and
  // the rate the largest.
  Profile take();

 private:
  using File = std::tuple<std::string, std::string, uint64_t>;  // path, build id, offset
  using FunctionKey = std::tuple<std::string, std::string, std::string, int64_t>;
  using Place = std::tuple<uint32_t, uint64_t, std::string>;  // mapping, address, process (code in no file)

  // Returns what the process is called among the others.
  std::string add_facts(const Profile& profile);
  // The stacks of a profile, of places in the sum.
  std::vector<Stack> own_stacks(const Profile& profile, const std::string& process);
  uint32_t mapping_of(const Mapping& mapping);
  uint32_t function_of(const Function& function);
  uint32_t location_of(const Profile& profile, const Location& location, const std::string& process,
                       const std::vector<uint32_t>& mappings);

  const Processes processes_mode_;
  Profile merged_;
  size_t files_ = 0;
  std::map<File, uint32_t> mappings_;
  std::map<FunctionKey, uint32_t> functions_;
  std::map<Place, uint32_t> locations_;
  std::map<std::string, unsigned> processes_;  // how many have this label
  StackSums sums_{&merged_.stacks};            // only where they are added up
};

}  // namespace memprof::profile
