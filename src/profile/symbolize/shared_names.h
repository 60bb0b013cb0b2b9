// SPDX-License-Identifier: Apache-2.0
// Names for many profiles of processes that run the same programs: each file is read once for all of them.
//
// Model: what several profiles have of one file (path, build id, offset in the file) is one mapping of a
// profile that has their addresses and no stacks; that is named, and each profile takes from it.
//     add() each profile, resolve(), then apply() to each
//
// Threads: one object, one thread.
// Memory: in proportion to the different addresses of all profiles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "profile/model/model.h"
#include "profile/symbolize/symbolizer.h"

namespace memprof::profile {

class SharedNames {
 public:
  void add(const Profile& profile);

  // Files only: JIT code is a matter of each process.  May be called again when more was added; a warning
  // comes once.
  SymbolizeSummary resolve(const SymbolizeOptions& options);

  // Names the locations of a profile that was added and that have none.
  void apply(Profile& profile) const;

  // The different places that it knows: what it takes is in proportion to them.
  size_t locations() const { return all_.locations.size(); }

 private:
  using File = std::tuple<std::string, std::string, uint64_t>;  // path, build id, offset in the file
  using Place = std::pair<uint32_t, uint64_t>;                  // mapping of `all_`, address in it

  // For each mapping of the profile the one of `all_`; kNoMapping: it is not known.
  std::vector<uint32_t> own_mappings(const Profile& profile) const;
  // false: in no file.
  static bool find_place(const Profile& profile, const std::vector<uint32_t>& own_mappings,
                         const Location& location, Place* place);

  Profile all_;
  size_t resolved_ = 0;  // locations of `all_` that were asked for
  std::set<std::string> said_;
  std::map<File, uint32_t> mappings_;
  std::map<Place, uint32_t> locations_;
};

}  // namespace memprof::profile
