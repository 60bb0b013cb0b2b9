// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/looks/known_stacks.h"

#include <iterator>
#include <utility>

#include "memprof/ship/looks/shipped_profile.h"

namespace memprof::cli {
namespace {

constexpr size_t kRestLooks = 600;

// Stacks that become one row keep what each was: as parts with a label each.
void label_stacks(profile::Profile* profile) {
  for (size_t i = 0; i < profile->stacks.size(); ++i) {
    profile::LabeledValues part;
    part.labels.push_back({"stack", "", static_cast<int64_t>(i), ""});
    profile->stacks[i].parts = {std::move(part)};
  }
}

// Numbers what is used of a table, in the order of use.
class Used {
 public:
  explicit Used(size_t count) : index_(count, kUnused) {}

  template <typename Take>
  uint32_t index(uint32_t of, const Take& take) {
    if (index_[of] == kUnused) index_[of] = take();
    return index_[of];
  }

 private:
  static constexpr uint32_t kUnused = UINT32_MAX;
  std::vector<uint32_t> index_;
};

template <typename Thing>
uint32_t add_to(std::vector<Thing>* things, Thing thing) {
  things->push_back(std::move(thing));
  return static_cast<uint32_t>(things->size() - 1);
}

}  // namespace

void KnownStacks::forget() {
  groups_.clear();
  rows_ = std::make_unique<profile::Merger>(profile::Processes::kAddedUp);
  cells_ = 0;
}

void KnownStacks::begin_look() {
  if (rest_ != 0) --rest_;
  if (cells_ > max_cells_) {
    forget();
    rest_ = kRestLooks;
  }
  for (auto group = groups_.begin(); group != groups_.end();) {
    const bool stays = std::exchange(group->second.is_met, false);
    group = stays ? std::next(group) : groups_.erase(group);
  }
}

KnownGroup* KnownStacks::find(const std::string& labels) {
  const auto known = groups_.find(labels);
  if (known == groups_.end()) return nullptr;
  Group& group = known->second;
  group.is_met = true;
  return group.looks++ < kLooks && !group.is_read_whole ? &group : nullptr;
}

void KnownStacks::begin(const std::string& labels, const profile::Profile& profile,
                        std::shared_ptr<const profile::Forwarders> forwarders) {
  if (rest_ != 0) return;
  Group& known = groups_[labels];
  known.is_met = true;
  if (known.is_read_whole && known.looks < kLooks) return;
  known = Group();
  known.forwarders = std::move(forwarders);
  known.has_metric = profile.has_metric;
  // Its sampling makes other stacks of it at each look.
  known.is_read_whole = profile.has_metric[static_cast<size_t>(profile::Metric::kJsSpace)];
}

std::vector<uint32_t> KnownStacks::rows_of(profile::Profile profile, const KnownGroup& group) {
  std::vector<uint32_t> rows(profile.stacks.size());
  label_stacks(&profile);
  profile::Profile shown = shipped_view(std::move(profile), group.forwarders);
  std::vector<std::vector<profile::LabeledValues>> parts;
  for (profile::Stack& stack : shown.stacks) {
    parts.push_back(std::exchange(stack.parts, {}));
    stack.values = {};
  }
  const size_t before = rows_->sum().stacks.size();
  const std::vector<uint32_t> of_shown = rows_->add_rows(shown);
  for (size_t i = 0; i < of_shown.size(); ++i) {
    for (const profile::LabeledValues& part : parts[i]) {
      rows[static_cast<size_t>(part.labels.front().number)] = of_shown[i];
    }
  }
  for (size_t i = before; i < rows_->sum().stacks.size(); ++i) {
    cells_ += kRowCells + rows_->sum().stacks[i].locations.size();
  }
  return rows;
}

profile::Profile KnownStacks::profile_of(const std::vector<uint32_t>& rows,
                                         const std::vector<profile::MetricValues>& values) {
  const profile::Profile& all = rows_->sum();
  profile::Profile profile;
  Used mappings(all.mappings.size());
  Used functions(all.functions.size());
  Used locations(all.locations.size());
  const auto take_location = [&](uint32_t index) {
    profile::Location location = all.locations[index];
    if (location.mapping != profile::kNoMapping) {
      location.mapping = mappings.index(location.mapping, [&, from = location.mapping] {
        return add_to(&profile.mappings, all.mappings[from]);
      });
    }
    for (profile::Line& line : location.lines) {
      line.function = functions.index(line.function, [&, from = line.function] {
        return add_to(&profile.functions, all.functions[from]);
      });
    }
    return add_to(&profile.locations, std::move(location));
  };
  profile.stacks.reserve(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const profile::Stack& row = all.stacks[rows[i]];
    profile::Stack& stack = profile.stacks.emplace_back();
    stack.heap = row.heap;
    stack.values = values[i];
    stack.locations.reserve(row.locations.size());
    for (const uint32_t location : row.locations) {
      stack.locations.push_back(locations.index(location, [&] { return take_location(location); }));
    }
  }
  return profile;
}

}  // namespace memprof::cli
