// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/shared_names.h"

#include <algorithm>

namespace memprof::profile {
namespace {

// Each file gets an address space of its own.
constexpr int kFileBits = 40;

}  // namespace

void SharedNames::add(const Profile& profile) {
  all_.from_memprof |= profile.from_memprof;
  // Of a file without a build id only its time tells whether it changed: since the first of the profiles.
  if (profile.time_unix_ns != 0 && (all_.time_unix_ns == 0 || profile.time_unix_ns < all_.time_unix_ns)) {
    all_.time_unix_ns = profile.time_unix_ns;
  }
  for (const Mapping& mapping : profile.mappings) {
    const auto [place, is_new] = mappings_.emplace(File(mapping.path, mapping.build_id, mapping.file_offset),
                                                   static_cast<uint32_t>(all_.mappings.size()));
    if (is_new) {
      Mapping own;
      own.path = mapping.path;
      own.build_id = mapping.build_id;
      own.file_offset = mapping.file_offset;
      own.start = (uint64_t{place->second} + 1) << kFileBits;
      own.limit = own.start;
      all_.mappings.push_back(own);
    }
    Mapping& own = all_.mappings[place->second];
    own.limit = std::max(own.limit, own.start + (mapping.limit - mapping.start));
  }
  const std::vector<uint32_t> mappings = own_mappings(profile);
  for (const Location& location : profile.locations) {
    Place place;
    if (!location.lines.empty() || !find_place(profile, mappings, location, &place)) continue;
    if (!locations_.emplace(place, static_cast<uint32_t>(all_.locations.size())).second) continue;
    Location own;
    own.mapping = place.first;
    own.address = all_.mappings[place.first].start + place.second;
    all_.locations.push_back(own);
  }
}

SymbolizeSummary SharedNames::resolve(const SymbolizeOptions& options) {
  if (resolved_ == all_.locations.size()) return {};
  resolved_ = all_.locations.size();
  SymbolizeOptions files_only = options;
  files_only.use_jit_files = false;
  SymbolizeSummary summary = Symbolizer().symbolize(all_, files_only);
  auto& warnings = summary.warnings;
  warnings.erase(std::remove_if(warnings.begin(), warnings.end(),
                                [this](const std::string& line) { return !said_.insert(line).second; }),
                 warnings.end());
  return summary;
}

void SharedNames::apply(Profile& profile) const {
  std::unordered_map<uint32_t, uint32_t> functions;  // of `all_` -> of `profile`
  const std::vector<uint32_t> mappings = own_mappings(profile);
  for (Location& location : profile.locations) {
    Place place;
    if (!location.lines.empty() || !find_place(profile, mappings, location, &place)) continue;
    const auto known = locations_.find(place);
    if (known == locations_.end()) continue;
    for (const Line& line : all_.locations[known->second].lines) {
      const auto [function, is_new] =
          functions.emplace(line.function, static_cast<uint32_t>(profile.functions.size()));
      if (is_new) profile.functions.push_back(all_.functions[line.function]);
      location.lines.push_back({function->second, line.line});
    }
    if (location.lines.empty()) continue;
    const Mapping& own = all_.mappings[place.first];
    Mapping& mapping = profile.mappings[location.mapping];
    mapping.has_functions = true;
    mapping.has_filenames |= own.has_filenames;
    mapping.has_line_numbers |= own.has_line_numbers;
    mapping.has_inline_frames |= own.has_inline_frames;
  }
}

std::vector<uint32_t> SharedNames::own_mappings(const Profile& profile) const {
  std::vector<uint32_t> own;
  own.reserve(profile.mappings.size());
  for (const Mapping& mapping : profile.mappings) {
    const auto known = mappings_.find(File(mapping.path, mapping.build_id, mapping.file_offset));
    own.push_back(known != mappings_.end() ? known->second : kNoMapping);
  }
  return own;
}

bool SharedNames::find_place(const Profile& profile, const std::vector<uint32_t>& own_mappings,
                             const Location& location, Place* place) {
  if (location.mapping >= profile.mappings.size()) return false;
  const Mapping& mapping = profile.mappings[location.mapping];
  if (location.address < mapping.start || location.address >= mapping.limit) return false;
  const uint32_t own = own_mappings[location.mapping];
  if (own == kNoMapping) return false;
  *place = {own, location.address - mapping.start};
  return true;
}

}  // namespace memprof::profile
