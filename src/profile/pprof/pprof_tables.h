// SPDX-License-Identifier: Apache-2.0
// The tables of a pprof file that its samples refer to: strings, mappings, functions and locations.  Ids
// become indices, and every reference is checked.
//
// Threads: one reader's own.
// Failure: throws Error, or protozero's exceptions for damaged bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/files/read_budget.h"
#include "profile/model/model.h"

namespace memprof::profile {

class PprofTables {
 public:
  // Places go into `profile`; strings stay views of the file.
  PprofTables(Profile& profile, ReadBudget& budget) : profile_(profile), budget_(budget) {}

  // Each reads one field of the outermost message, if it is of its kind, and says whether it was.  Call them
  // for all fields of the file in this order, because later ones refer to earlier ones.
  bool read_string(protozero::pbf_reader& reader);
  bool read_mapping_or_function(protozero::pbf_reader& reader);
  bool read_location(protozero::pbf_reader& reader);

  bool has_strings() const { return !strings_.empty() && strings_[0].empty(); }
  std::string_view string(uint64_t index) const;
  std::string copy(uint64_t index);

  // Index of the location with this id.
  uint32_t location(uint64_t id) const;

 private:
  // The ids of one kind, which are any numbers but 0, as indices in the order of the file.
  class Ids {
   public:
    explicit Ids(const char* kind) : kind_(kind) {}

    void add(uint64_t id, ReadBudget& budget);
    uint32_t find(uint64_t id) const;

   private:
    const char* kind_;
    // Of ids that are 1, 2, 3 ..., as memprof's are: so many, and no map.
    uint32_t counted_ = 0;
    std::unordered_map<uint64_t, uint32_t> index_of_;  // of others, all of them
  };

  void read_mapping(protozero::pbf_reader reader);
  void read_function(protozero::pbf_reader reader);
  Line read_line(protozero::pbf_reader reader) const;

  Profile& profile_;
  ReadBudget& budget_;
  std::vector<std::string_view> strings_;
  Ids mapping_ids_{"mapping"};
  Ids function_ids_{"function"};
  Ids location_ids_{"location"};
};

}  // namespace memprof::profile
