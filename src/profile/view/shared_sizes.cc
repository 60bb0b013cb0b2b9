// SPDX-License-Identifier: Apache-2.0
#include "profile/view/shared_sizes.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "profile/model/estimate.h"

namespace memprof::profile {
namespace {

// Sizes that share differ by less than 4.5 %.
constexpr double kStepsAnOctave = 16;
constexpr size_t kMaxShared = 4;  // so many stand for those of one step

int step_of(uint64_t size_bytes) {
  return static_cast<int>(std::log2(static_cast<double>(std::max<uint64_t>(size_bytes, 1))) * kStepsAnOctave);
}

// Small blocks stand for many: one byte more or less of their size would be blocks.
bool may_share(const LiveGroup& group) {
  constexpr double kMin = 16;
  const auto size = static_cast<double>(group.size_bytes);
  return size * size >= kMin * static_cast<double>(group.rate_bytes);
}

// What a sampled block of the size stands for.
double weight_bytes(uint64_t size_bytes, uint64_t rate_bytes) {
  return static_cast<double>(size_bytes) / sampling_probability(size_bytes, rate_bytes);
}

}  // namespace

// Half of the samples a bit below the mean, half a bit above, so that the spread stays; each half of two sizes that
// follow each other, so that the bytes come out.
void SizeSharing::share(const LiveGroup* groups, size_t count, std::vector<LiveGroup>* result) {
  const uint64_t rate = groups[0].rate_bytes;
  uint64_t all = 0;
  double sizes = 0;
  for (size_t i = 0; i < count; ++i) {
    all += groups[i].samples;
    sizes += static_cast<double>(groups[i].samples) * static_cast<double>(groups[i].size_bytes);
    miss(groups[i], 1);
  }
  const double mean = sizes / static_cast<double>(all);
  double squares = 0;
  for (size_t i = 0; i < count; ++i) {
    const double off = static_cast<double>(groups[i].size_bytes) - mean;
    squares += static_cast<double>(groups[i].samples) * off * off;
  }
  const double spread = std::sqrt(squares / static_cast<double>(all));
  const uint64_t low_samples = all / 2;
  const uint64_t high_samples = all - low_samples;
  const double ratio = std::sqrt(static_cast<double>(high_samples) / static_cast<double>(low_samples));
  const double low = std::max(mean - spread * ratio, 1.0);
  const auto low_size = static_cast<uint64_t>(low);
  add_pair(low_size, low_samples, (low - std::floor(low)) * static_cast<double>(low_samples), rate, result);
  // What is left is for the others: of the two sizes around the real one that each would have.
  const double each = missing_bytes_ / static_cast<double>(high_samples);
  auto high = static_cast<uint64_t>(std::max(mean + spread / ratio, 1.0));
  while (high > 1 && weight_bytes(high, rate) > each) --high;
  while (weight_bytes(high + 1, rate) <= each) ++high;
  const double step = weight_bytes(high + 1, rate) - weight_bytes(high, rate);
  const double rest = missing_bytes_ - static_cast<double>(high_samples) * weight_bytes(high, rate);
  add_pair(high, high_samples, rest / step, rate, result);
}

// `larger`: how many of them have the next size, which need not be a whole number.
void SizeSharing::add_pair(uint64_t size_bytes, uint64_t samples, double larger, uint64_t rate_bytes,
                           std::vector<LiveGroup>* result) {
  const auto larger_samples =
      static_cast<uint64_t>(std::clamp(std::round(larger), 0.0, static_cast<double>(samples)));
  for (const LiveGroup& group : {LiveGroup{size_bytes, rate_bytes, samples - larger_samples},
                                 LiveGroup{size_bytes + 1, rate_bytes, larger_samples}}) {
    if (group.samples == 0) continue;
    miss(group, -1);
    result->push_back(group);
  }
}

void SizeSharing::miss(const LiveGroup& group, double sign) {
  const double samples = sign * static_cast<double>(group.samples);
  missing_bytes_ += samples * weight_bytes(group.size_bytes, group.rate_bytes);
  missing_blocks_ += samples / sampling_probability(group.size_bytes, group.rate_bytes);
}

std::vector<LiveGroup> SizeSharing::shared(const std::vector<LiveGroup>& groups) {
  if (groups.size() <= kMaxOwnSizes) return groups;
  std::vector<LiveGroup> sorted = groups;
  const auto key = [](const LiveGroup& group) { return std::tie(group.rate_bytes, group.size_bytes); };
  std::sort(sorted.begin(), sorted.end(),
            [&](const LiveGroup& a, const LiveGroup& b) { return key(a) < key(b); });
  std::vector<LiveGroup> result;
  for (size_t begin = 0; begin < sorted.size();) {
    size_t end = begin + 1;
    while (end < sorted.size() && sorted[end].rate_bytes == sorted[begin].rate_bytes &&
           step_of(sorted[end].size_bytes) == step_of(sorted[begin].size_bytes)) {
      ++end;
    }
    if (end - begin > kMaxShared && may_share(sorted[begin])) {
      share(&sorted[begin], end - begin, &result);
    } else {
      result.insert(result.end(), sorted.begin() + static_cast<std::ptrdiff_t>(begin),
                    sorted.begin() + static_cast<std::ptrdiff_t>(end));
    }
    begin = end;
  }
  // Two steps can have come to one size.
  std::sort(result.begin(), result.end(),
            [&](const LiveGroup& a, const LiveGroup& b) { return key(a) < key(b); });
  std::vector<LiveGroup> merged;
  for (const LiveGroup& group : result) {
    if (!merged.empty() && key(merged.back()) == key(group)) {
      merged.back().samples += group.samples;
    } else {
      merged.push_back(group);
    }
  }
  return merged;
}

LiveSamples share_live_samples(const Profile& profile) {
  LiveSamples live;
  SizeSharing sharing;
  size_t count = 0;
  for (const Stack& stack : profile.stacks) {
    live.shared.push_back(sharing.shared(stack.live));
    if (stack.has_statistics) count += live.shared.back().size();
  }
  if (count == 0) return live;
  // With what rounding takes a reader still knows the number of samples, which is worth more than a sum.
  constexpr double kMaxEach = 0.45;
  live.blocks_each = std::clamp(sharing.missing_blocks() / static_cast<double>(count), -kMaxEach, kMaxEach);
  live.bytes_each = sharing.missing_bytes() / static_cast<double>(count);
  return live;
}

}  // namespace memprof::profile
