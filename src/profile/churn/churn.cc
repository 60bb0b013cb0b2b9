// SPDX-License-Identifier: Apache-2.0
#include "profile/churn/churn.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <tuple>

#include "profile/lifetimes/temporary.h"
#include "profile/names/frame_name.h"
#include "profile/names/interpreter_frames.h"

namespace memprof::profile {
namespace {

constexpr double kSmallBytes = 1024;
constexpr double kLargeBytes = 64.0 * 1024;
constexpr double kShortNs = 1e6;  // what a call takes, and not a request

// Parts of the names of functions by which containers grow.
constexpr std::string_view kGrowth[] = {
    "_M_realloc_insert", "_M_realloc_append", "_M_fill_insert", "_M_default_append", "_M_range_insert",
    "::_M_append",       "::_M_mutate",       "::_M_rehash",    "__push_back_slow",  "__emplace_back_slow",
    "__grow_by",         "grow_amortized",    "RawVec",         "growslice",         "list_resize",
    "SmallVectorBase<",  "grow_pod",          "realloc"};

struct Sum {
  Accumulator sum;
  LifetimeHistogram lifetimes;
  CpuRange cpu;
  double allocated_bytes = 0;
  double grown_bytes = 0;    // temporary, of growing containers
  double runtime_bytes = 0;  // temporary, of code that a runtime executes
  NoteSums notes;            // of temporary bytes
};

// Next to the leaf: who allocates, and on whose behalf.
bool is_growth(const Profile& profile, const Stack& stack) {
  constexpr size_t kFramesAsked = 6;
  size_t asked = 0;
  for (const uint32_t location : stack.locations) {
    for (const Frame& frame : location_frames(profile, profile.locations[location])) {
      const bool grows = std::any_of(std::begin(kGrowth), std::end(kGrowth), [&](std::string_view part) {
        return frame.name.find(part) != std::string::npos;
      });
      if (grows) return true;
      if (++asked == kFramesAsked) return false;
    }
  }
  return false;
}

bool is_of_runtime(const Profile& profile, const Stack& stack) {
  return std::any_of(stack.locations.begin(), stack.locations.end(), [&](uint32_t location) {
    return executed_function(profile, profile.locations[location]) != nullptr;
  });
}

ChurnAdvice advice_for(const Sum& sum, double bytes, double mean_size, double median_ns) {
  // What a runtime's containers do is not in the hands of the program's author.
  if (sum.runtime_bytes > bytes / 2) return ChurnAdvice::kReuse;
  if (sum.grown_bytes > bytes / 2) return ChurnAdvice::kReserve;
  if (mean_size >= kLargeBytes) return ChurnAdvice::kReuse;
  return mean_size <= kSmallBytes && median_ns < kShortNs ? ChurnAdvice::kStack : ChurnAdvice::kPool;
}

void add(const CpuRange& more, CpuRange* sum) {
  sum->low_ns += more.low_ns;
  sum->high_ns += more.high_ns;
}

}  // namespace

const char* advice_name(ChurnAdvice advice) {
  static constexpr const char* kNames[kChurnAdvices] = {"reserve", "reuse", "pool", "stack"};
  return kNames[static_cast<size_t>(advice)];
}

const char* advice_text(ChurnAdvice advice) {
  static constexpr const char* kTexts[kChurnAdvices] = {
      "containers grow step by step: reserve the size first, or keep the container",
      "blocks that are made anew each time: make one before the loop and reuse it",
      "many blocks that live as long as a piece of work: take them from a pool or an arena",
      "small blocks that live no longer than a call: a local variable, or a buffer of fixed size"};
  return kTexts[static_cast<size_t>(advice)];
}

CpuRange likely_cpu(double blocks, double mean_size_bytes) {
  // From an allocator's cache of a thread; from its lists; from the system, whose pages are zeroed when they are
  // touched, unless the allocator kept them.
  constexpr CpuRange kSmall{20, 60};
  constexpr CpuRange kMedium{60, 250};
  constexpr double kMediumUntil = 128.0 * 1024;
  constexpr double kSystemNs = 2000;
  constexpr double kPageNs = 250;
  constexpr double kPageBytes = 4096;
  if (mean_size_bytes <= kSmallBytes) return {blocks * kSmall.low_ns, blocks * kSmall.high_ns};
  if (mean_size_bytes <= kMediumUntil) return {blocks * kMedium.low_ns, blocks * kMedium.high_ns};
  return {blocks * kMedium.low_ns, blocks * (kSystemNs + kPageNs * mean_size_bytes / kPageBytes)};
}

Churn find_churn(const Profile& profile, const ChurnOptions& options) {
  const std::vector<bool> is_selected = select_stacks(profile, options.filter);
  FrameGrouping grouping(profile, options.by, options.view);
  std::vector<Sum> sums;
  std::vector<GroupedFrame> frames;
  Churn churn;
  LifetimeHistogram all;
  for (size_t i = 0; i < profile.stacks.size(); ++i) {
    const Stack& stack = profile.stacks[i];
    if (!is_selected[i] || stack.temporary.samples == 0) continue;
    grouping.frames_of(stack, &frames);
    sums.resize(std::max(sums.size(), grouping.groups().size()));
    Sum& sum = sums[frames.front().group];
    sum.sum.add_temporary(stack.temporary);
    for (const Lifetime& lifetime : stack.lifetimes) {
      sum.lifetimes.add(lifetime);
      all.add(lifetime);
    }
    const double bytes = stack.temporary.weight_bytes;
    sum.notes.add(bytes, grouping);
    const CpuRange cpu = likely_cpu(stack.temporary.weight_count, bytes / stack.temporary.weight_count);
    add(cpu, &sum.cpu);
    add(cpu, &churn.cpu);
    sum.allocated_bytes += stack.allocated.weight_bytes;
    if (is_growth(profile, stack)) sum.grown_bytes += bytes;
    if (is_of_runtime(profile, stack)) sum.runtime_bytes += bytes;
  }
  churn.median_lifetime_ns = all.quantile_ns(0.5);
  struct Entry {
    size_t group;
    double value;
  };
  std::vector<Entry> order;
  const Metric metric = options.by_blocks ? Metric::kTemporaryObjects : Metric::kTemporarySpace;
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].lifetimes.blocks() > 0) order.push_back({i, sums[i].sum.value(metric)});
  }
  const std::vector<FrameGroup>& groups = grouping.groups();
  std::sort(order.begin(), order.end(), [&groups](const Entry& a, const Entry& b) {
    if (a.value != b.value) return a.value > b.value;
    const FrameGroup& x = groups[a.group];
    const FrameGroup& y = groups[b.group];
    return std::tie(x.name, x.file, x.line, x.module) < std::tie(y.name, y.file, y.line, y.module);
  });
  churn.row_count = order.size();
  for (size_t i = 0; i < order.size() && i < options.max_rows; ++i) {
    const Sum& sum = sums[order[i].group];
    ChurnRow row;
    row.place = groups[order[i].group];
    row.bytes = sum.sum.estimate(Metric::kTemporarySpace);
    row.blocks = sum.sum.estimate(Metric::kTemporaryObjects);
    row.allocated_bytes = sum.allocated_bytes;
    row.median_lifetime_ns = sum.lifetimes.quantile_ns(0.5);
    row.mean_size_bytes = row.blocks.value > 0 ? row.bytes.value / row.blocks.value : 0;
    row.cpu = sum.cpu;
    row.notes = sum.notes.notes(row.bytes.value);
    row.advice = advice_for(sum, row.bytes.value, row.mean_size_bytes, row.median_lifetime_ns);
    churn.rows.push_back(std::move(row));
  }
  return churn;
}

}  // namespace memprof::profile
