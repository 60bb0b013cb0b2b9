// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/ids/stack_ids.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "format/pprof/comments.h"
#include "format/pprof/pprof_schema.h"
#include "profile/model/stack_sum.h"
#include "profile/names/interpreter_frames.h"

namespace memprof::profile {

namespace {

// Of a location that stands for frames: a file has no address there, and its id is made of the one that the stack
// has in the process.
std::optional<uint64_t> gap_key(const Profile& profile, const Location& location) {
  if (location.address != 0 || location.mapping != kNoMapping || location.lines.size() != 1 ||
      location.lines[0].function >= profile.functions.size()) {
    return std::nullopt;
  }
  const std::string& name = profile.functions[location.lines[0].function].system_name;
  for (uint64_t gap = 1; gap <= schema::kMaxGap; ++gap) {
    if (name == schema::kGapNames[gap]) return gap - 1;
  }
  return std::nullopt;
}

}  // namespace

std::vector<uint64_t> location_keys(const Profile& profile) {
  const LocationKeys<Mapping> of_mappings(profile.mappings.data(), profile.mappings.size());
  std::vector<uint64_t> keys;
  keys.reserve(profile.locations.size());
  for (const Location& location : profile.locations) {
    if (const auto gap = gap_key(profile, location)) {
      keys.push_back(*gap);
      continue;
    }
    const Function* function = runtime_function(profile, location);
    keys.push_back(function != nullptr
                       ? source_key(function->system_name.data(), function->system_name.size(),
                                    function->filename.data(), function->filename.size(),
                                    static_cast<uint64_t>(location.lines[0].line))
                       : of_mappings.key(location.address, location.mapping));
  }
  return keys;
}

std::vector<uint64_t> stack_ids(const Profile& profile) {
  const std::vector<uint64_t> keys = location_keys(profile);
  std::vector<uint64_t> ids;
  ids.reserve(profile.stacks.size());
  for (size_t first = 0; first < profile.stacks.size(); first += StackId::kTogether) {
    const Stack* const stacks = &profile.stacks[first];
    const size_t count = std::min(StackId::kTogether, profile.stacks.size() - first);
    StackId of_stacks[StackId::kTogether];
    StackId::add_locations(
        of_stacks, count, [stacks](size_t row) { return stacks[row].locations.size(); },
        [&keys, stacks](size_t row, size_t i) { return keys[stacks[row].locations[i]]; });
    for (size_t row = 0; row < count; ++row) {
      of_stacks[row].add_heap(stacks[row].heap.data(), stacks[row].heap.size());
      of_stacks[row].add_process(stacks[row].process.data(), stacks[row].process.size());
      ids.push_back(of_stacks[row].value());
    }
  }
  return ids;
}

std::vector<StackOfId> unite_stacks(Profile& profile, std::vector<uint32_t>* samples_of) {
  std::vector<StackOfId> by_id;
  by_id.reserve(profile.stacks.size());
  for (const uint64_t id : stack_ids(profile)) by_id.push_back({id, static_cast<uint32_t>(by_id.size())});
  std::sort(by_id.begin(), by_id.end(), [](const StackOfId& a, const StackOfId& b) {
    return a.id != b.id ? a.id < b.id : a.stack < b.stack;
  });
  std::vector<bool> is_gone(profile.stacks.size());
  for (size_t i = 0, first = 0; i < by_id.size(); ++i) {
    if (by_id[i].id != by_id[first].id) first = i;
    if (i == first) continue;
    const uint32_t stack = by_id[i].stack;
    const uint32_t into = by_id[first].stack;
    add_to_stack(profile.stacks[stack], &profile.stacks[into]);
    (*samples_of)[into] += (*samples_of)[stack];
    is_gone[stack] = true;
  }
  by_id.erase(std::remove_if(by_id.begin(), by_id.end(),
                             [&is_gone](const StackOfId& entry) { return is_gone[entry.stack]; }),
              by_id.end());
  std::vector<uint32_t> new_index(profile.stacks.size());
  uint32_t to = 0;  // so many stay
  for (size_t i = 0; i < profile.stacks.size(); ++i) {
    if (is_gone[i]) continue;
    if (to != i) {
      profile.stacks[to] = std::move(profile.stacks[i]);
      (*samples_of)[to] = (*samples_of)[i];
    }
    new_index[i] = to++;
  }
  profile.stacks.resize(to);
  samples_of->resize(to);
  for (StackOfId& entry : by_id) entry.stack = new_index[entry.stack];
  return by_id;
}

}  // namespace memprof::profile
