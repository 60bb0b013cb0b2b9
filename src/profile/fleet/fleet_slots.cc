// SPDX-License-Identifier: Apache-2.0
#include "profile/fleet/fleet_slots.h"

#include <algorithm>
#include <tuple>

#include "profile/fleet/fleet.h"
#include "profile/model/metric.h"

namespace memprof::profile {
namespace {

constexpr double kMinShareOfLook = 1.0 / 5000;
constexpr size_t kMinUnmerged = 1024;

template <typename Act>
void for_each_series(std::map<std::string, SlotService>* services, const Act& act) {
  for (auto& [name, service] : *services) {
    for (auto& [host, all] : service.hosts) {
      for (auto& [key, series] : all) act(series);
    }
  }
}

}  // namespace

FleetSlots::FleetSlots(std::string version_label, uint64_t cycle_ns, size_t max_sums)
    : version_label_(std::move(version_label)), max_sums_(max_sums), slot_ns_(cycle_ns / kSlots) {
  row_of("(all)");
}

uint32_t FleetSlots::row_of(const std::string& function) {
  const auto [place, is_new] = indices_.emplace(function, static_cast<uint32_t>(rows_.size()));
  if (is_new) rows_.push_back(function);
  return place->second;
}

bool FleetSlots::add(const Profile& profile) {
  auto labels = shipped_labels(profile);
  if (!labels) return false;
  ++looks_;
  const uint64_t time = profile.time_unix_ns;
  first_ns_ = std::min(first_ns_, time);
  last_ns_ = std::max(last_ns_, time);
  if (is_full_) return true;
  SlotService& service = services_[label_of(*labels, "service_name")];
  service.rate_bytes = std::max(service.rate_bytes, profile.rate_bytes);
  const std::string host = label_of(*labels, "host");
  uint64_t& first =
      service.versions[label_of(*labels, version_label_)].first_ns.emplace(host, time).first->second;
  first = std::min(first, time);
  // Of a host that gets another version, what it holds goes on.
  labels->erase(version_label_);
  SlotSeries& series = service.hosts[host][labels_key(*labels)];
  series.times.push_back(time);
  double all = 0;
  std::map<std::string, double> functions;
  for (const Stack& stack : profile.stacks) {
    const double live = stack.values[metric_index(Metric::kInuseSpace)];
    if (live == 0) continue;
    all += live;
    functions[innermost_function(profile, stack)] += live;
  }
  const auto slot = static_cast<uint32_t>(time / slot_ns_);
  const size_t before = series.sums.size();
  series.sums.push_back({slot, kAllRow, all});
  for (const auto& [function, bytes] : functions) {
    if (bytes >= kMinShareOfLook * all) series.sums.push_back({slot, row_of(function), bytes});
  }
  sums_ += series.sums.size() - before;
  if (series.sums.size() > 2 * series.merged + kMinUnmerged) merge(&series);
  if (sums_ > max_sums_) make_room();
  return true;
}

void FleetSlots::merge(SlotSeries* series) {
  std::vector<SlotSum>& sums = series->sums;
  std::sort(sums.begin(), sums.end(), [](const SlotSum& a, const SlotSum& b) {
    return std::tie(a.slot, a.row) < std::tie(b.slot, b.row);
  });
  size_t kept = 0;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (kept > 0 && sums[kept - 1].slot == sums[i].slot && sums[kept - 1].row == sums[i].row) {
      sums[kept - 1].bytes += sums[i].bytes;
    } else {
      sums[kept++] = sums[i];
    }
  }
  sums_ -= sums.size() - kept;
  sums.resize(kept);
  series->merged = kept;
}

void FleetSlots::make_room() {
  for_each_series(&services_, [&](SlotSeries& series) { merge(&series); });
  // A good part of it, so that this is not done again soon.
  while (sums_ > max_sums_ / 4 * 3 && slots_ > kMinSlots) {
    slots_ /= 2;
    slot_ns_ *= 2;
    for_each_series(&services_, [&](SlotSeries& series) {
      for (SlotSum& sum : series.sums) sum.slot /= 2;
      merge(&series);
    });
  }
  if (sums_ <= max_sums_ / 4 * 3) return;
  is_full_ = true;
  services_.clear();
  sums_ = 0;
}

std::map<std::string, SlotService>& FleetSlots::services() {
  for_each_series(&services_, [&](SlotSeries& series) {
    merge(&series);
    series.sums.shrink_to_fit();
    // A host that has two versions at a time has one look then.
    std::sort(series.times.begin(), series.times.end());
    series.times.erase(std::unique(series.times.begin(), series.times.end()), series.times.end());
  });
  return services_;
}

}  // namespace memprof::profile
