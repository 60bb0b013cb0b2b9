// SPDX-License-Identifier: Apache-2.0
#include "profile/fleet/fleet_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "profile/fleet/history_blocks.h"
#include "profile/significance/count_test.h"
#include "profile/significance/distributions.h"
#include "profile/significance/spread_test.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

constexpr double kSamplesOfChange = 10;
constexpr double kShareOfHost = 0.001;
constexpr uint64_t kSeed = 1;
constexpr double kDayNs = 86400e9;

// A service that is looked at.
struct Looked {
  size_t service = 0;  // of the result
  HistoryBlocks blocks;
  std::vector<BlockRow> rows;
  double min_change = 0;
};

struct HostSpread {  // of the change, as hosts differ in it
  double variance = 0;
  size_t hosts = 0;
};

// As many hosts' mean scatters as little as the median of these: it is pi / 2 as variable.
double hosts_of_mean(size_t hosts) {
  constexpr double kShareOfMedian = 2 / 3.14159265358979;
  return static_cast<double>(hosts) * (hosts > 2 ? kShareOfMedian : 1);
}

std::vector<Rollout> rollouts_of(const SlotService& service) {
  std::vector<Rollout> rollouts;
  for (const auto& [version, content] : service.versions) {
    std::vector<uint64_t> first;
    for (const auto& [host, time] : content.first_ns) first.push_back(time);
    std::sort(first.begin(), first.end());
    rollouts.push_back({version, first.front(), first[(first.size() * 9 + 9) / 10 - 1]});
  }
  std::sort(rollouts.begin(), rollouts.end(),
            [](const Rollout& a, const Rollout& b) { return a.first_ns < b.first_ns; });
  rollouts.erase(rollouts.begin());  // it was there already
  return rollouts;
}

// Of each host the mean after the change less that before it.
HostSpread spread_of(const std::vector<std::vector<double>>& values, const std::vector<uint32_t>& blocks,
                     double time) {
  Sample changes;
  for (const std::vector<double>& of_host : values) {
    double sums[2] = {0, 0};
    double counts[2] = {0, 0};
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (std::isnan(of_host[i])) continue;
      const size_t side = blocks[i] + 0.5 < time ? 0 : 1;
      sums[side] += of_host[i];
      ++counts[side];
    }
    if (counts[0] == 0 || counts[1] == 0) continue;
    const double change = sums[1] / counts[1] - sums[0] / counts[0];
    changes.count += 1;
    changes.sum += change;
    changes.squares += change * change;
  }
  if (changes.count < 2) return {};
  const double squares = std::max(0.0, changes.squares - changes.sum * changes.sum / changes.count);
  return {squares / (changes.count - 1) / changes.count, static_cast<size_t>(changes.count)};
}

class Finder {
 public:
  Finder(FleetSlots* slots, double rate) : slots_(slots), calendar_(calendar_of(*slots)) {
    result_.rate = rate;
    result_.looks = slots->looks();
    result_.first_ns = slots->first_ns();
    result_.last_ns = slots->last_ns();
    result_.cycle_ns = slots->cycle_ns();
    result_.cycles = calendar_.cycles;
  }

  FleetHistory result() {
    if (slots_->is_full()) {
      result_.trouble =
          "too many hosts, functions and days for the memory that it may take: give fewer files";
      return std::move(result_);
    }
    for (auto& [name, service] : slots_->services()) look_at(name, &service);
    // Services with the same blocks are one test.
    std::map<std::vector<uint32_t>, std::vector<const Looked*>> tests;
    for (const Looked& looked : looked_) {
      tests[looked.blocks.blocks()].push_back(&looked);
      positions_ += static_cast<double>(looked.rows.size() * looked.blocks.blocks().size());
    }
    for (const auto& [blocks, services] : tests) test(services);
    std::sort(result_.changes.begin(), result_.changes.end(),
              [](const HistoryChange& a, const HistoryChange& b) {
                return std::abs(a.after_bytes - a.before_bytes) > std::abs(b.after_bytes - b.before_bytes);
              });
    return std::move(result_);
  }

 private:
  void look_at(const std::string& name, SlotService* service) {
    HistoryService info;
    info.name = name;
    info.has_versions = service->versions.size() > 1 || service->versions.begin()->first != "";
    info.rollouts = rollouts_of(*service);
    Looked looked{result_.services.size(), HistoryBlocks(service, calendar_), {}, 0};
    info.hosts = looked.blocks.hosts();
    info.all_hosts = looked.blocks.all_hosts();
    info.blocks = looked.blocks.blocks().size();
    const size_t min = min_blocks(result_.rate);
    const std::string cycle = format_duration_ns(static_cast<double>(result_.cycle_ns));
    if (info.hosts == 0) {
      info.trouble = fmt::format(
          "no host was looked at in four fifths of the time, and in two thirds of each {}", cycle);
    } else if (info.blocks < 2) {
      info.trouble = fmt::format(
          "looked at for less than two times {}: what repeats each {} looks like a change", cycle, cycle);
    } else if (info.blocks < min) {
      info.trouble = fmt::format("{} blocks of {}, fewer than {}: chance makes changes of so few",
                                 info.blocks, cycle, min);
    } else {
      const auto rate = static_cast<double>(looked.blocks.rate_bytes());
      const double of_samples = kSamplesOfChange * rate / static_cast<double>(info.hosts);
      looked.rows = looked.blocks.rows(of_samples);
      double held = 0;
      for (const double value : looked.rows[0].values) held += value / static_cast<double>(info.blocks);
      looked.min_change = std::max(of_samples, kShareOfHost * held);
      info.rows = looked.rows.size();
      looked_.push_back(std::move(looked));
    }
    result_.services.push_back(std::move(info));
  }

  void test(const std::vector<const Looked*>& services) {
    std::vector<ChangeRow> rows;
    std::vector<std::pair<const Looked*, const BlockRow*>> origins;
    for (const Looked* looked : services) {
      for (const BlockRow& row : looked->rows) {
        double mean = 0;
        for (const double value : row.values) mean += value / static_cast<double>(row.values.size());
        const double sampling = static_cast<double>(looked->blocks.rate_bytes()) * std::max(0.0, mean) /
                                hosts_of_mean(looked->blocks.hosts());
        rows.push_back({row.values, std::max(row.host_variance, sampling), looked->min_change});
        origins.emplace_back(looked, &row);
      }
    }
    const double rate =
        result_.rate * static_cast<double>(services.size()) / static_cast<double>(looked_.size());
    if (services[0]->blocks.blocks().size() < min_blocks(rate)) {
      for (const Looked* looked : services) {
        result_.services[looked->service].trouble =
            fmt::format("services with other blocks share the rate of false alarms: it takes {} blocks",
                        min_blocks(rate));
      }
      return;
    }
    const ChangeTest test = change_test(rows, rate, kSeed);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (test.p_values[i] <= rate) {
        name(*origins[i].first, *origins[i].second, rows[i],
             std::min(1.0, test.p_values[i] * result_.rate / rate));
      }
    }
  }

  void name(const Looked& looked, const BlockRow& block_row, const ChangeRow& row, double p_value) {
    const std::vector<uint32_t>& blocks = looked.blocks.blocks();
    const HistoryService& service = result_.services[looked.service];
    const ChangeFit fit = fit_change(row, std::vector<double>(blocks.begin(), blocks.end()));
    const double change = fit.after - fit.before;
    if (std::abs(change) < row.min_change) return;
    const double hosts = hosts_of_mean(service.hosts);
    const auto sample_bytes = static_cast<double>(looked.blocks.rate_bytes());
    if (sample_bytes > 0 &&
        count_test(std::max(0.0, fit.before) * hosts / sample_bytes,
                   std::max(0.0, fit.after) * hosts / sample_bytes) > result_.rate / positions_) {
      return;
    }
    const HostSpread of_hosts = spread_of(looked.blocks.values_of(block_row.row), blocks, fit.time);
    size_t free = blocks.size() - 2;
    if (of_hosts.hosts > 1) free = std::min(free, of_hosts.hosts - 1);
    const double quantile = student_quantile(static_cast<double>(free));
    const double of_time = student_quantile(static_cast<double>(blocks.size() - 2));
    HistoryChange found;
    found.change_half_bytes = std::max(quantile * std::sqrt(of_hosts.variance), of_time * fit.change_error);
    if (found.change_half_bytes >= std::abs(change)) return;
    found.service = service.name;
    found.function = slots_->rows()[block_row.row];
    found.shape = fit.shape;
    found.time_ns = calendar_.time_ns(fit.time);
    found.low_ns = calendar_.time_ns(fit.low_time);
    found.high_ns = std::min(calendar_.time_ns(fit.high_time), result_.last_ns);
    found.before_bytes = fit.before;
    found.before_half_bytes = of_time * fit.before_error;
    found.after_bytes = fit.after;
    found.after_half_bytes = of_time * fit.after_error;
    const double days = static_cast<double>(calendar_.slot_ns * calendar_.slots * calendar_.cycles) / kDayNs;
    found.bytes_a_day = fit.growth / days;
    found.bytes_a_day_half = of_time * fit.growth_error / days;
    found.p_value = p_value;
    // It was there up to a slot before it was seen.
    const uint64_t slot = looked.blocks.slot_ns();
    for (const Rollout& rollout : service.rollouts) {
      if (rollout.first_ns <= found.high_ns + slot && rollout.last_ns + slot >= found.low_ns) {
        found.rollouts.push_back(rollout);
      }
    }
    result_.changes.push_back(std::move(found));
  }

  FleetSlots* const slots_;
  const Calendar calendar_;
  FleetHistory result_;
  std::vector<Looked> looked_;
  double positions_ = 0;
};

}  // namespace

FleetHistory history_of(FleetSlots* slots, double rate) {
  return Finder(slots, rate).result();
}

}  // namespace memprof::profile
