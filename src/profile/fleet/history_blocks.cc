// SPDX-License-Identifier: Apache-2.0
#include "profile/fleet/history_blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace memprof::profile {
namespace {

constexpr double kPartsOfBlock = 2.0 / 3;
constexpr double kBlocksOfHost = 0.8;
constexpr double kSlotsOfSpan = 0.75;  // what slots must be looked at for them to be short enough
constexpr int kPolishes = 4;
constexpr int kFits = 10;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

double median(std::vector<double>* values) {
  if (values->empty()) return kUnknown;
  const auto middle = values->begin() + static_cast<std::ptrdiff_t>(values->size() / 2);
  std::nth_element(values->begin(), middle, values->end());
  if (values->size() % 2 == 1) return *middle;
  return (*std::max_element(values->begin(), middle) + *middle) / 2;
}

// The shortest slots of which most were looked at, or the longest ones there may be: a number to divide slots by.
uint32_t slots_to_join(const std::vector<std::vector<uint32_t>>& slots_by_host, uint64_t slots) {
  uint32_t join = 1;
  for (; slots / (2 * join) >= FleetSlots::kMinSlots; join *= 2) {
    std::vector<double> shares;
    for (const std::vector<uint32_t>& of_host : slots_by_host) {
      double count = 1;
      for (size_t i = 1; i < of_host.size(); ++i) {
        if (of_host[i] / join != of_host[i - 1] / join) ++count;
      }
      shares.push_back(count / (of_host.back() / join + 1 - of_host.front() / join));
    }
    if (median(&shares) >= kSlotsOfSpan) break;
  }
  return join;
}

// What each hour is above the others, on average: sums[block][hour] = looked[block][hour] * (level of block + surplus of
// hour), fitted in turn.
std::vector<double> surplus_of(const std::vector<std::vector<double>>& sums,
                               const std::vector<std::vector<double>>& looked) {
  const size_t hours = sums[0].size();
  std::vector<double> surplus(hours, 0);
  std::vector<double> count(hours, 0);
  for (const std::vector<double>& of_block : looked) {
    for (size_t hour = 0; hour < hours; ++hour) count[hour] += of_block[hour];
  }
  for (int i = 0; i < kFits; ++i) {
    std::vector<double> rest(hours, 0);
    for (size_t block = 0; block < sums.size(); ++block) {
      double level = 0;
      double all = 0;
      for (size_t hour = 0; hour < hours; ++hour) {
        level += sums[block][hour] - looked[block][hour] * surplus[hour];
        all += looked[block][hour];
      }
      for (size_t hour = 0; hour < hours; ++hour)
        rest[hour] += sums[block][hour] - looked[block][hour] * level / all;
    }
    double mean = 0;
    double known = 0;
    for (size_t hour = 0; hour < hours; ++hour) {
      if (count[hour] == 0) continue;
      surplus[hour] = rest[hour] / count[hour];
      mean += surplus[hour];
      ++known;
    }
    for (size_t hour = 0; hour < hours; ++hour)
      surplus[hour] -= count[hour] == 0 ? surplus[hour] : mean / known;
  }
  return surplus;
}

}  // namespace

uint64_t Calendar::begin_slot() const {
  const uint64_t count = blocks * slots * cycles;
  return count > end_slot ? 0 : end_slot - count;
}

uint64_t Calendar::time_ns(double block) const {
  const double slot = static_cast<double>(end_slot) -
                      (static_cast<double>(blocks) - block) * static_cast<double>(slots * cycles);
  return slot <= 0 ? 0 : static_cast<uint64_t>(slot * static_cast<double>(slot_ns));
}

Calendar calendar_of(const FleetSlots& slots) {
  Calendar calendar;
  calendar.slot_ns = slots.slot_ns();
  calendar.slots = slots.slots();
  calendar.end_slot = slots.last_ns() / calendar.slot_ns + 1;
  const uint64_t count = calendar.end_slot - slots.first_ns() / calendar.slot_ns;
  const uint64_t most = Calendar::kMaxBlocks * calendar.slots;
  calendar.cycles = std::max<uint64_t>(1, (count + most - 1) / most);
  const uint64_t in_block = calendar.slots * calendar.cycles;
  calendar.blocks = (count + in_block - 1) / in_block;
  return calendar;
}

HistoryBlocks::HistoryBlocks(SlotService* service, const Calendar& calendar)
    : calendar_(calendar), rate_bytes_(service->rate_bytes), all_hosts_(service->hosts.size()) {
  std::vector<std::vector<uint32_t>> slots_by_host;
  for (const auto& [host, all] : service->hosts) {
    std::vector<uint32_t>& slots = slots_by_host.emplace_back();
    for (const auto& [key, series] : all) {
      for (const uint64_t time : series.times)
        slots.push_back(static_cast<uint32_t>(time / calendar.slot_ns));
    }
    std::sort(slots.begin(), slots.end());
  }
  for (std::vector<uint32_t>& slots : slots_by_host) {
    slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  }
  join_ = slots_to_join(slots_by_host, calendar.slots);
  find_hosts(slots_by_host);
  size_t host = 0;
  for (auto& [name, all] : service->hosts) {
    const int place = place_of_host_[host++];
    for (auto& [key, series] : all) {
      size_t time = 0;
      size_t begin = 0;  // of the sums of a slot
      while (place >= 0 && begin < series.sums.size()) {
        const uint32_t slot = series.sums[begin].slot;
        double looks = 0;
        while (time < series.times.size() && series.times[time] / calendar_.slot_ns < slot) ++time;
        for (; time < series.times.size() && series.times[time] / calendar_.slot_ns == slot; ++time) ++looks;
        for (; begin < series.sums.size() && series.sums[begin].slot == slot; ++begin) {
          const SlotSum& sum = series.sums[begin];
          sums_.push_back(
              {sum.row, static_cast<uint32_t>(place), slot, static_cast<float>(sum.bytes / looks)});
        }
      }
      series = {};
    }
  }
  std::sort(sums_.begin(), sums_.end(), [](const Sum& a, const Sum& b) { return a.row < b.row; });
}

// Also the blocks.
void HistoryBlocks::find_hosts(const std::vector<std::vector<uint32_t>>& slots_by_host) {
  const uint64_t in_block = calendar_.slots * calendar_.cycles;
  const uint64_t begin = calendar_.begin_slot();
  struct Host {
    std::vector<double> counts;
    std::vector<std::vector<uint16_t>> hours;
  };
  std::vector<Host> hosts;
  size_t first = calendar_.blocks;
  size_t last = 0;  // after it
  for (const std::vector<uint32_t>& slots : slots_by_host) {
    Host& host = hosts.emplace_back();
    host.counts.assign(calendar_.blocks, 0);
    host.hours.assign(calendar_.blocks, std::vector<uint16_t>(calendar_.slots));
    std::vector<double> parts(calendar_.blocks);
    uint64_t last_part = UINT64_MAX;
    for (const uint32_t slot : slots) {
      if (slot < begin) continue;
      const uint64_t block = (slot - begin) / in_block;
      ++host.counts[block];
      ++host.hours[block][slot % calendar_.slots];
      if ((slot - begin) / join_ == last_part) continue;
      last_part = (slot - begin) / join_;
      ++parts[block];
    }
    for (size_t block = 0; block < calendar_.blocks; ++block) {
      if (parts[block] * join_ < kPartsOfBlock * static_cast<double>(in_block)) {
        host.counts[block] = 0;
        continue;
      }
      first = std::min(first, block);
      last = std::max(last, block + 1);
    }
  }
  place_of_block_.assign(calendar_.blocks, -1);
  place_of_host_.assign(hosts.size(), -1);
  for (size_t i = 0; i < hosts.size(); ++i) {
    const auto known =
        std::count_if(hosts[i].counts.begin(), hosts[i].counts.end(), [](double count) { return count > 0; });
    if (known == 0 || static_cast<double>(known) < kBlocksOfHost * static_cast<double>(last - first))
      continue;
    place_of_host_[i] = static_cast<int>(hosts_++);
    counts_.push_back(std::move(hosts[i].counts));
    hours_.push_back(std::move(hosts[i].hours));
  }
  for (size_t block = first; block < last; ++block) {
    const auto known =
        std::count_if(counts_.begin(), counts_.end(), [&](const auto& counts) { return counts[block] > 0; });
    if (known == 0 || 2 * static_cast<size_t>(known) < hosts_) continue;
    place_of_block_[block] = static_cast<int>(blocks_.size());
    blocks_.push_back(static_cast<uint32_t>(block));
    std::vector<double>& looked = looked_.emplace_back(calendar_.slots, 0.0);
    for (size_t host = 0; host < hosts_; ++host) {
      for (size_t hour = 0; hour < looked.size() && counts_[host][block] > 0; ++hour) {
        looked[hour] += hours_[host][block][hour];
      }
    }
  }
}

std::pair<const HistoryBlocks::Sum*, const HistoryBlocks::Sum*> HistoryBlocks::sums_of(uint32_t row) const {
  struct ByRow {
    bool operator()(const Sum& a, uint32_t b) const { return a.row < b; }
    bool operator()(uint32_t a, const Sum& b) const { return a < b.row; }
  };
  const auto [first, last] = std::equal_range(sums_.begin(), sums_.end(), row, ByRow());
  return {sums_.data() + (first - sums_.begin()), sums_.data() + (last - sums_.begin())};
}

std::vector<std::vector<double>> HistoryBlocks::values_of(uint32_t row) const {
  const uint64_t in_block = calendar_.slots * calendar_.cycles;
  const uint64_t begin = calendar_.begin_slot();
  std::vector<std::vector<double>> values(hosts_, std::vector<double>(blocks_.size(), 0));
  std::vector<std::vector<double>> sums(blocks_.size(), std::vector<double>(calendar_.slots, 0));
  const auto [first, last] = sums_of(row);
  for (const Sum* sum = first; sum != last; ++sum) {
    if (sum->slot < begin) continue;
    const uint64_t block = (sum->slot - begin) / in_block;
    if (place_of_block_[block] < 0 || counts_[sum->host][block] == 0) continue;
    const auto place = static_cast<size_t>(place_of_block_[block]);
    const double bytes = static_cast<double>(sum->bytes);
    values[sum->host][place] += bytes;
    sums[place][sum->slot % calendar_.slots] += bytes;
  }
  const std::vector<double> surplus = surplus_of(sums, looked_);
  for (size_t host = 0; host < hosts_; ++host) {
    for (size_t i = 0; i < blocks_.size(); ++i) {
      const double count = counts_[host][blocks_[i]];
      double& value = values[host][i];
      for (size_t hour = 0; hour < surplus.size() && count > 0; ++hour) {
        value -= surplus[hour] * hours_[host][blocks_[i]][hour];
      }
      value = count > 0 ? value / count : kUnknown;
    }
  }
  return values;
}

namespace {

BlockRow polished(std::vector<std::vector<double>> values, uint32_t row) {
  const size_t blocks = values[0].size();
  BlockRow result;
  result.row = row;
  result.values.assign(blocks, 0);
  std::vector<double> levels(values.size(), 0);
  std::vector<double> some;
  for (int i = 0; i < kPolishes; ++i) {
    for (size_t host = 0; host < values.size(); ++host) {
      some.clear();
      for (const double value : values[host]) {
        if (!std::isnan(value)) some.push_back(value);
      }
      const double level = median(&some);
      levels[host] += level;
      for (double& value : values[host]) value -= level;
    }
    for (size_t block = 0; block < blocks; ++block) {
      some.clear();
      for (const std::vector<double>& of_host : values) {
        if (!std::isnan(of_host[block])) some.push_back(of_host[block]);
      }
      const double level = median(&some);
      result.values[block] += level;
      for (std::vector<double>& of_host : values) of_host[block] -= level;
    }
  }
  double level = 0;
  for (const double each : levels) level += each / static_cast<double>(levels.size());
  for (double& value : result.values) value += level;
  double squares = 0;
  double count = 0;
  for (const std::vector<double>& of_host : values) {
    for (const double value : of_host) {
      if (std::isnan(value)) continue;
      squares += value * value;
      ++count;
    }
  }
  const auto hosts = static_cast<double>(values.size());
  // The variance of a mean is pi / 2 times less than that of a median.
  constexpr double kOfMedian = 1.5707963;
  if (hosts > 1) result.host_variance = (hosts > 2 ? kOfMedian : 1) * squares / count / (hosts - 1);
  return result;
}

}  // namespace

std::vector<BlockRow> HistoryBlocks::rows(double min_bytes) const {
  std::vector<BlockRow> rows;
  if (blocks_.empty()) return rows;
  for (size_t i = 0; i < sums_.size();) {
    const uint32_t row = sums_[i].row;
    double all = 0;
    for (; i < sums_.size() && sums_[i].row == row; ++i) all += static_cast<double>(sums_[i].bytes);
    // Were all of it in one block of half of the hosts, it would be too little.
    const auto slots = static_cast<double>(calendar_.slots * calendar_.cycles * ((hosts_ + 1) / 2));
    if (row != FleetSlots::kAllRow && all < min_bytes * kPartsOfBlock * slots) continue;
    rows.push_back(polished(values_of(row), row));
  }
  return rows;
}

}  // namespace memprof::profile
