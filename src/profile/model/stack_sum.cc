// SPDX-License-Identifier: Apache-2.0
#include "profile/model/stack_sum.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

namespace memprof::profile {
namespace {

bool is_before(const LiveGroup& a, const LiveGroup& b) {
  return std::tie(a.size_bytes, a.rate_bytes) < std::tie(b.size_bytes, b.rate_bytes);
}

// One stack may have thousands of sizes: both are put in order, which the sum is from then on.
void add_live(std::vector<LiveGroup> more, std::vector<LiveGroup>* sum) {
  if (more.empty()) return;
  for (auto* groups : {&more, sum}) {
    if (!std::is_sorted(groups->begin(), groups->end(), is_before)) {
      std::sort(groups->begin(), groups->end(), is_before);
    }
  }
  std::vector<LiveGroup> both;
  both.reserve(more.size() + sum->size());
  std::merge(more.begin(), more.end(), sum->begin(), sum->end(), std::back_inserter(both), is_before);
  sum->clear();
  for (const LiveGroup& group : both) {
    if (!sum->empty() && !is_before(sum->back(), group)) {
      sum->back().samples += group.samples;
    } else {
      sum->push_back(group);
    }
  }
}

bool has_same_labels(const LabeledValues& a, const LabeledValues& b) {
  return std::equal(a.labels.begin(), a.labels.end(), b.labels.begin(), b.labels.end(),
                    [](const Label& x, const Label& y) {
                      return x.key == y.key && x.text == y.text && x.number == y.number && x.unit == y.unit;
                    });
}

}  // namespace

void add_lifetimes(const std::vector<Lifetime>& more, std::vector<Lifetime>* sum) {
  for (const Lifetime& lifetime : more) {
    const auto at = std::lower_bound(
        sum->begin(), sum->end(), lifetime.lifetime_class,
        [](const Lifetime& a, uint32_t lifetime_class) { return a.lifetime_class < lifetime_class; });
    if (at == sum->end() || at->lifetime_class != lifetime.lifetime_class) {
      sum->insert(at, lifetime);
      continue;
    }
    at->samples += lifetime.samples;
    at->size_bytes += lifetime.size_bytes;
    at->weight_bytes += lifetime.weight_bytes;
    at->weight_count += lifetime.weight_count;
  }
}

bool is_same_stack(const Stack& a, const Stack& b) {
  return a.locations == b.locations && a.heap == b.heap && a.process == b.process;
}

uint64_t stack_hash(const Stack& stack) {
  uint64_t hash = std::hash<std::string>()(stack.heap) ^ 3 * std::hash<std::string>()(stack.process);
  for (const uint32_t location : stack.locations) {
    hash = (hash ^ location) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

void add_to_stack(const Stack& more, Stack* sum) {
  for (size_t i = 0; i < kMetricCount; ++i) sum->values[i] += more.values[i];
  for (const LabeledValues& part : more.parts) {
    const auto known = std::find_if(sum->parts.begin(), sum->parts.end(),
                                    [&](const LabeledValues& other) { return has_same_labels(part, other); });
    if (known == sum->parts.end()) {
      sum->parts.push_back(part);
      continue;
    }
    for (size_t i = 0; i < kMetricCount; ++i) known->values[i] += part.values[i];
  }
  // Where one of them is not known to be whole, neither is the sum.
  if (is_cut(more.walk) || sum->walk == Walk::kRoot) sum->walk = more.walk;
  add_live(more.live, &sum->live);
  add_totals(more.allocated, &sum->allocated);
  add_totals(more.freed, &sum->freed);
  add_totals(more.peak, &sum->peak);
  sum->lifetime_ns += more.lifetime_ns;
  add_lifetimes(more.lifetimes, &sum->lifetimes);
  add_totals(more.temporary, &sum->temporary);
}

}  // namespace memprof::profile
