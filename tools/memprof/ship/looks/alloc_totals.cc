// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/looks/alloc_totals.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "profile/model/estimate.h"
#include "profile/model/metric.h"
#include "profile/pprof/ids/stack_ids.h"
#include "profile/text/markup/json_text.h"

namespace memprof::cli {
namespace {

using profile::Metric;
using profile::metric_index;
using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr size_t kEntryBytes = 3 * sizeof(uint64_t);

int64_t whole(double value) {
  return static_cast<int64_t>(std::llround(value));
}

StackTotals totals_of(const std::vector<StackLook>& stacks) {
  StackTotals totals;
  totals.reserve(stacks.size());
  for (const StackLook& stack : stacks) {
    AllocTotals& sum = totals[stack.id];
    sum.objects += whole(stack.values[metric_index(Metric::kAllocObjects)]);
    sum.bytes += whole(stack.values[metric_index(Metric::kAllocSpace)]);
  }
  return totals;
}

int64_t bytes_of(const StackTotals& totals) {
  int64_t bytes = 0;
  for (const auto& [id, sum] : totals) bytes += sum.bytes;
  return bytes;
}

// The sums that a report has, rounded once.
MetricSums sums_of(const profile::Profile& profile) {
  MetricSums sums{};
  for (const Metric metric : profile::kMetrics) {
    if (profile.has_metric[metric_index(metric)])
      sums[metric_index(metric)] = whole(profile::estimated_total(profile, metric));
  }
  return sums;
}

// What rounding each stack by itself makes of a sum goes to the largest stack.
void settle_levels(const MetricSums& sums, std::vector<StackLook>* stacks) {
  for (const Metric metric : profile::kMetrics) {
    const size_t i = metric_index(metric);
    if (metric == Metric::kAllocObjects || metric == Metric::kAllocSpace) continue;
    int64_t sum = 0;
    StackLook* largest = nullptr;
    for (StackLook& stack : *stacks) {
      sum += whole(stack.values[i]);
      if (largest == nullptr || stack.values[i] > largest->values[i]) largest = &stack;
    }
    if (largest == nullptr || largest->values[i] <= 0) continue;
    largest->values[i] = std::max(0.0, largest->values[i] + static_cast<double>(sums[i] - sum));
  }
}

// The same for increments, so that all of them add up to `total`.
void settle_increment(int64_t AllocTotals::* number, int64_t total, StackTotals* known,
                      std::unordered_map<uint64_t, AllocTotals>* increments) {
  int64_t sum = 0;
  for (const auto& [id, one] : *known) sum += one.*number;
  const auto largest =
      std::max_element(increments->begin(), increments->end(),
                       [&](const auto& a, const auto& b) { return a.second.*number < b.second.*number; });
  // Where there is nothing to take it from, the next look will have it.
  if (largest == increments->end() || largest->second.*number <= 0) return;
  const int64_t more = std::max(total - sum, -(largest->second.*number));
  largest->second.*number += more;
  (*known)[largest->first].*number += more;
}

void make_plain(profile::Stack* stack) {
  stack->has_statistics = false;
  stack->parts.clear();
  stack->live.clear();
  stack->lifetimes.clear();
  stack->births.clear();
  stack->load_births.clear();
  stack->allocated = stack->freed = stack->peak = stack->temporary = profile::Totals();
}

}  // namespace

AllocTotals take_increment(StackTotals* before, const MetricSums& sums, std::vector<StackLook>* stacks) {
  const StackTotals now = totals_of(*stacks);
  // But for a byte or two of rounding, which settles.
  const auto rounding = static_cast<int64_t>(now.size() + before->size());
  if (bytes_of(now) + rounding < bytes_of(*before)) before->clear();
  std::unordered_map<uint64_t, AllocTotals> increments;
  increments.reserve(now.size());
  for (const auto& [id, total] : now) {
    AllocTotals& known = (*before)[id];
    const AllocTotals more = {std::max<int64_t>(0, total.objects - known.objects),
                              std::max<int64_t>(0, total.bytes - known.bytes)};
    known.objects += more.objects;
    known.bytes += more.bytes;
    increments.emplace(id, more);
  }
  settle_increment(&AllocTotals::objects, sums[metric_index(Metric::kAllocObjects)], before, &increments);
  settle_increment(&AllocTotals::bytes, sums[metric_index(Metric::kAllocSpace)], before, &increments);
  settle_levels(sums, stacks);
  AllocTotals sum;
  for (const auto& [id, more] : increments) {
    sum.objects += more.objects;
    sum.bytes += more.bytes;
  }
  for (StackLook& stack : *stacks) {
    AllocTotals& more = increments[stack.id];
    stack.values[metric_index(Metric::kAllocObjects)] = static_cast<double>(more.objects);
    stack.values[metric_index(Metric::kAllocSpace)] = static_cast<double>(more.bytes);
    more = {};
  }
  return sum;
}

AllocTotals take_increment(StackTotals* before, profile::Profile* profile) {
  const std::vector<uint64_t> ids = profile::stack_ids(*profile);
  std::vector<StackLook> stacks;
  stacks.reserve(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) stacks.push_back({ids[i], profile->stacks[i].values});
  const AllocTotals sum = take_increment(before, sums_of(*profile), &stacks);
  for (size_t i = 0; i < ids.size(); ++i) {
    make_plain(&profile->stacks[i]);
    profile->stacks[i].values = stacks[i].values;
  }
  profile->from_memprof = false;  // its comments are of all, not of the increment
  profile->comments.clear();
  return sum;
}

void drop_levels(profile::MetricValues* values) {
  for (const Metric metric : profile::kMetrics) {
    if (metric == Metric::kAllocObjects || metric == Metric::kAllocSpace) continue;
    (*values)[metric_index(metric)] = 0;
  }
}

std::string encode(const Baseline& baseline) {
  Json head = {{"version", kVersion}, {"time_ms", baseline.time_ms}, {"processes", Json::array()}};
  size_t stacks = 0;
  for (const auto& [name, totals] : baseline.processes) {
    head["processes"].push_back({{"arena", name}, {"stacks", totals.size()}});
    stacks += totals.size();
  }
  std::string bytes = profile::json_to_text(head) + '\n';
  bytes.reserve(bytes.size() + stacks * kEntryBytes);
  for (const auto& [name, totals] : baseline.processes) {
    for (const auto& [id, sum] : totals) {
      const uint64_t entry[] = {id, static_cast<uint64_t>(sum.objects), static_cast<uint64_t>(sum.bytes)};
      bytes.append(reinterpret_cast<const char*>(entry), sizeof(entry));
    }
  }
  return bytes;
}

std::optional<Baseline> decode_baseline(std::string_view bytes) {
  const size_t line = bytes.find('\n');
  if (line == std::string_view::npos) return std::nullopt;
  const nlohmann::json head = profile::json_or_null(bytes.substr(0, line));
  bytes.remove_prefix(line + 1);
  try {
    if (head.at("version").get<int>() != kVersion) return std::nullopt;
    Baseline baseline;
    baseline.time_ms = head.at("time_ms").get<int64_t>();
    for (const nlohmann::json& process : head.at("processes")) {
      const auto stacks = process.at("stacks").get<size_t>();
      if (stacks > bytes.size() / kEntryBytes) return std::nullopt;
      StackTotals& totals = baseline.processes[process.at("arena").get<std::string>()];
      for (size_t i = 0; i < stacks; ++i) {
        uint64_t entry[3];
        std::memcpy(entry, bytes.data(), sizeof(entry));
        bytes.remove_prefix(sizeof(entry));
        totals[entry[0]] = {static_cast<int64_t>(entry[1]), static_cast<int64_t>(entry[2])};
      }
    }
    if (!bytes.empty()) return std::nullopt;
    return baseline;
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace memprof::cli
