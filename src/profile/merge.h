// SPDX-License-Identifier: Apache-2.0
// Profiles of several processes as one, in which each stack says whose it is.
//
// Processes that had one id, one after the other, are "NAME PID", "NAME PID #2" ...
//
// Model: what lies in the same place of the same file is one location, wherever the processes had it loaded.
// Stacks are not added up: those of two processes differ by their label.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "profile/model.h"

namespace memprof::profile {

class Merger {
 public:
  // Names that the profile has are kept; it is best named before.
  void add(const Profile& profile);

  // All that was added.  Program and process id are those of the first.
  Profile take();

 private:
  using File = std::tuple<std::string, std::string, uint64_t>;  // path, build id, offset
  using FunctionKey = std::tuple<std::string, std::string, std::string, int64_t>;
  using Place = std::tuple<uint32_t, uint64_t, std::string>;  // mapping, address, process (code in no file)

  void add_facts(const Profile& profile);
  uint32_t mapping_of(const Mapping& mapping);
  uint32_t function_of(const Function& function);
  uint32_t location_of(const Profile& profile, const Location& location, const std::string& process,
                       const std::vector<uint32_t>& mappings);

  Profile merged_;
  bool has_first_ = false;
  std::map<File, uint32_t> mappings_;
  std::map<FunctionKey, uint32_t> functions_;
  std::map<Place, uint32_t> locations_;
  std::map<std::string, unsigned> processes_;  // how many have this label
};

// "NAME PID", the label of a process.
std::string process_label(const Profile& profile);

}  // namespace memprof::profile
