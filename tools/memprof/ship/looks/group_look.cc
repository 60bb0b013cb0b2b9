// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/looks/group_look.h"

#include <algorithm>
#include <utility>

#include "memprof/ship/looks/arena_stacks.h"
#include "memprof/ship/looks/shipped_profile.h"

namespace memprof::cli {

GroupLook::GroupLook(KnownStacks& known, std::string labels)
    : known_(known), labels_(std::move(labels)), group_(known.find(labels_)) {}

AllocTotals GroupLook::add(const ShippedProcess& process, StackTotals* before) {
  if (group_ == nullptr) return add(process.looks->look(false), before, true);
  const ArenaStacks arena(process.looks->process().arena);
  if (!arena.has_lasting_keys()) {
    group_->is_read_whole = true;
    return add(process.looks->look(false), before, true);
  }
  KnownProcess known = std::move(group_->processes[process.arena]);
  if (known.module_count > arena.module_count() || known.modules != arena.modules_hash(known.module_count)) {
    known = KnownProcess();
  }
  if (known.module_count != arena.module_count()) {
    known.module_count = arena.module_count();
    known.modules = arena.modules_hash(known.module_count);
  }
  const std::vector<ArenaStacks::Stack>& there = arena.stacks();
  std::vector<uint32_t> unknown;
  for (uint32_t i = 0; i < there.size(); ++i) {
    if (known.stacks.count(there[i].key) == 0) unknown.push_back(i);
  }
  if (!unknown.empty()) {
    profile::Profile places = arena.places_of(unknown);
    process.looks->name(&places);
    const std::vector<uint64_t> ids = arena.ids_of(unknown);
    const std::vector<uint32_t> rows = known_.rows_of(std::move(places), *group_);
    for (size_t i = 0; i < rows.size(); ++i) {
      known.stacks.emplace(there[unknown[i]].key, KnownProcess::Stack{ids[i], rows[i]});
    }
  }
  new_stacks_ += unknown.size();
  std::vector<StackLook> stacks;
  std::vector<uint32_t> rows;
  stacks.reserve(there.size());
  rows.reserve(there.size());
  for (const ArenaStacks::Stack& stack : there) {
    const KnownProcess::Stack& own = known.stacks.at(stack.key);
    stacks.push_back({own.id, stack.values});
    rows.push_back(own.row);
  }
  rate_bytes_ = std::max(rate_bytes_, arena.rate_bytes());
  const AllocTotals sum = take_increment(before, arena.sums(), &stacks);
  add_rows(rows, stacks, true);
  met_.emplace(process.arena, std::move(known));
  return sum;
}

AllocTotals GroupLook::add(profile::Profile profile, StackTotals* before, bool has_levels) {
  const AllocTotals sum = take_increment(before, &profile);
  if (group_ == nullptr) {
    if (!has_levels) {
      for (profile::Stack& stack : profile.stacks) drop_levels(&stack.values);
    }
    merger_.add(profile);
    return sum;
  }
  rate_bytes_ = std::max(rate_bytes_, profile.rate_bytes);
  std::vector<StackLook> stacks;
  for (const profile::Stack& stack : profile.stacks) stacks.push_back({0, stack.values});
  add_rows(known_.rows_of(std::move(profile), *group_), stacks, has_levels);
  return sum;
}

void GroupLook::add_rows(const std::vector<uint32_t>& rows, const std::vector<StackLook>& stacks,
                         bool has_levels) {
  for (size_t i = 0; i < rows.size(); ++i) {
    profile::MetricValues values = stacks[i].values;
    if (!has_levels) drop_levels(&values);
    const auto [place, is_new] = place_of_.emplace(rows[i], static_cast<uint32_t>(rows_.size()));
    if (is_new) {
      rows_.push_back(rows[i]);
      values_.push_back(values);
      continue;
    }
    profile::MetricValues& sum = values_[place->second];
    for (size_t m = 0; m < sum.size(); ++m) sum[m] += values[m];
  }
}

profile::Profile GroupLook::take() {
  if (group_ == nullptr) {
    profile::Profile profile = merger_.take();
    auto forwarders = profile::find_forwarders({&profile});
    known_.begin(labels_, profile, forwarders);
    return shipped_view(std::move(profile), std::move(forwarders));
  }
  group_->processes = std::move(met_);  // the others have ended
  profile::Profile profile = known_.profile_of(rows_, values_);
  profile.has_metric = group_->has_metric;
  profile.rate_bytes = rate_bytes_;
  return profile;
}

}  // namespace memprof::cli
