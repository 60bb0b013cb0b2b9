// SPDX-License-Identifier: Apache-2.0
#include "profile/model/stack_sum.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "format/hash.h"
#include "profile/model/estimate.h"
#include "profile/model/metric.h"

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
  return a.labels == b.labels;
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

void add_births(const std::vector<Birth>& more, std::vector<Birth>* sum) {
  for (const Birth& birth : more) {
    const auto at = std::lower_bound(sum->begin(), sum->end(), birth.part,
                                     [](const Birth& a, uint32_t part) { return a.part < part; });
    if (at == sum->end() || at->part != birth.part) {
      sum->insert(at, birth);
      continue;
    }
    at->samples += birth.samples;
    at->weight_bytes += birth.weight_bytes;
    at->weight_count += birth.weight_count;
  }
}

bool is_same_stack(const Stack& a, const Stack& b) {
  return a.locations == b.locations && a.heap == b.heap && a.process == b.process;
}

uint64_t stack_hash(const Stack& stack) {
  uint64_t hash = std::hash<std::string>()(stack.heap) ^ 3 * std::hash<std::string>()(stack.process);
  for (const uint32_t location : stack.locations) {
    hash = hash_with(hash, location);
  }
  return hash;
}

void add_to_stack(const Stack& more, Stack* sum) {
  // Values without labels are a part of their own beside those with labels.
  std::vector<LabeledValues> parts = more.parts;
  if (parts.empty() && !sum->parts.empty()) parts.push_back({{}, more.values});
  if (sum->parts.empty() && !parts.empty()) sum->parts.push_back({{}, sum->values});
  for (size_t i = 0; i < kMetricCount; ++i) sum->values[i] += more.values[i];
  for (const LabeledValues& part : parts) {
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
  add_all_births(more, sum);
  add_totals(more.temporary, &sum->temporary);
}

namespace {

bool has_all_of(const Totals& later, const Totals& earlier) {
  return later.samples >= earlier.samples && later.size_bytes >= earlier.size_bytes;
}

Totals difference(const Totals& later, const Totals& earlier) {
  Totals rest;
  rest.samples = later.samples - earlier.samples;
  if (rest.samples == 0) return rest;
  rest.size_bytes = later.size_bytes - earlier.size_bytes;
  // A block stands for itself at least, whatever the sums were rounded to.
  rest.weight_bytes =
      std::max(later.weight_bytes - earlier.weight_bytes, static_cast<double>(rest.size_bytes));
  rest.weight_count = std::max(later.weight_count - earlier.weight_count, static_cast<double>(rest.samples));
  rest.variance_bytes = std::max(later.variance_bytes - earlier.variance_bytes, 0.0);
  rest.variance_count = std::max(later.variance_count - earlier.variance_count, 0.0);
  rest.max_missed_bytes = later.max_missed_bytes;  // of all so far: a bound
  rest.max_missed_count = later.max_missed_count;
  return rest;
}

// Both ascending by class; `later` has all that `earlier` has.
void subtract_lifetimes(const std::vector<Lifetime>& earlier, std::vector<Lifetime>* later) {
  auto known = earlier.begin();
  for (Lifetime& rest : *later) {
    known = std::find_if(known, earlier.end(), [&](const Lifetime& lifetime) {
      return lifetime.lifetime_class >= rest.lifetime_class;
    });
    if (known == earlier.end() || known->lifetime_class != rest.lifetime_class) continue;
    rest.samples -= std::min(known->samples, rest.samples);
    rest.size_bytes -= std::min(known->size_bytes, rest.size_bytes);
    rest.weight_bytes =
        std::max(rest.weight_bytes - known->weight_bytes, static_cast<double>(rest.size_bytes));
    rest.weight_count = std::max(rest.weight_count - known->weight_count, static_cast<double>(rest.samples));
  }
  later->erase(std::remove_if(later->begin(), later->end(),
                              [](const Lifetime& lifetime) { return lifetime.samples == 0; }),
               later->end());
}

}  // namespace

void subtract_from_stack(const Stack& earlier, Stack* stack) {
  constexpr Metric kGrowing[] = {Metric::kAllocObjects, Metric::kAllocSpace};
  if (stack->has_statistics && earlier.has_statistics && has_all_of(stack->allocated, earlier.allocated) &&
      has_all_of(stack->freed, earlier.freed)) {
    for (const Metric metric : kGrowing)
      stack->values[metric_index(metric)] -= earlier.values[metric_index(metric)];
    stack->allocated = difference(stack->allocated, earlier.allocated);
    stack->freed = difference(stack->freed, earlier.freed);
    stack->lifetime_ns = std::max(stack->lifetime_ns - earlier.lifetime_ns, 0.0);
    subtract_lifetimes(earlier.lifetimes, &stack->lifetimes);
    return;
  }
  if (stack->has_statistics) {
    for (const Metric metric : kMetrics)
      stack->values[metric_index(metric)] = estimated_value(*stack, metric);
    stack->has_statistics = false;
    stack->live.clear();
    stack->lifetimes.clear();
    stack->births.clear();
    stack->load_births.clear();
  }
  LabeledValues less;
  for (const Metric metric : kGrowing) {
    less.values[metric_index(metric)] = -estimated_value(earlier, metric);
    stack->values[metric_index(metric)] += less.values[metric_index(metric)];
  }
  if (!stack->parts.empty()) stack->parts.push_back(less);
}

Stack* StackSums::find(const Stack& like) {
  const auto [first, last] = by_hash_.equal_range(stack_hash(like));
  for (auto known = first; known != last; ++known) {
    Stack& other = stacks_[known->second];
    if (is_same_stack(like, other) && like.has_statistics == other.has_statistics) return &other;
  }
  return nullptr;
}

uint32_t StackSums::add(Stack stack) {
  if (Stack* known = find(stack)) {
    add_to_stack(stack, known);
    return static_cast<uint32_t>(known - stacks_.data());
  }
  const auto index = static_cast<uint32_t>(stacks_.size());
  by_hash_.emplace(stack_hash(stack), index);
  stacks_.push_back(std::move(stack));
  return index;
}

}  // namespace memprof::profile
