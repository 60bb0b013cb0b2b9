// SPDX-License-Identifier: Apache-2.0
// Looks as `memprof ship` writes them, made up.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "profile/fleet/fleet.h"
#include "profile/fleet/fleet_slots.h"
#include "profile/model/metric.h"

namespace memprof::profile {

struct ShippedLook {
  std::string service = "shop";
  std::string host;
  std::string version;
  uint64_t second = 0;
  std::map<std::string, double> live;  // by function
  uint64_t rate_bytes = 65536;
};

inline Profile shipped_profile(const ShippedLook& look) {
  Profile profile;
  profile.rate_bytes = look.rate_bytes;
  profile.time_unix_ns = look.second * 1'000'000'000;
  profile.comments = {std::string(kLabelsComment) + R"({"host":")" + look.host + R"(","service_name":")" +
                      look.service + R"(","service_version":")" + look.version + "\"}"};
  for (const auto& [name, bytes] : look.live) {
    const auto index = static_cast<uint32_t>(profile.functions.size());
    profile.functions.push_back({name, name, "", 0});
    profile.locations.push_back({0, kNoMapping, false, {{index, 1}}});
    Stack stack;
    stack.locations = {index};
    stack.values[metric_index(Metric::kInuseSpace)] = bytes;
    stack.values[metric_index(Metric::kAllocSpace)] = 2 * bytes;
    profile.stacks.push_back(stack);
  }
  return profile;
}

// A service over days: a daily cycle, load that wanders for hours (of all hosts and of each), hosts of different sizes,
// some that come later or go earlier, looks that are missed, and sampling: of even functions anew at each look, of odd
// ones once for each version of a host.
struct ServicePlan {
  int hosts = 10;
  int days = 14;
  int looks_a_day = 8;
  int functions = 10;
  double cycle = 0.3;   // of the level
  double noise = 0.02;  // of the level; half of its variance is of all hosts together
  double noise_hours = 3;
  double missed = 0.1;  // of looks
  uint64_t rate_bytes = 65536;
  double function_bytes = 4e6;   // of f0; f1 has twice as much, and so on
  std::vector<double> rollouts;  // days
  std::string changed;           // a function
  double changes_at = 7;         // a day
  double factor = 1;             // from then on
  double growth_a_day = 0;       // of its level, from then on
  std::string service = "shop";
};

constexpr uint64_t kPlanBegin = 1'700'006'400;  // a midnight

// A value that wanders: its correlation falls to 1/e in `hours`.
class WanderingLoad {
 public:
  WanderingLoad(double hours, double step_hours, std::mt19937_64* random)
      : keep_(hours > 0 ? std::exp(-step_hours / hours) : 0), random_(random), value_(normal_(*random)) {}
  double next() {
    value_ = keep_ * value_ + std::sqrt(1 - keep_ * keep_) * normal_(*random_);
    return value_;
  }

 private:
  double keep_;
  std::mt19937_64* random_;
  std::normal_distribution<double> normal_;
  double value_;
};

inline double as_sampled(double bytes, uint64_t rate_bytes, std::mt19937_64* random) {
  const auto rate = static_cast<double>(rate_bytes);
  return rate * static_cast<double>(std::poisson_distribution<long>(bytes / rate)(*random));
}

inline void add_service(const ServicePlan& plan, uint64_t seed, FleetSlots* slots) {
  std::mt19937_64 random(seed);
  const double step_hours = 24.0 / plan.looks_a_day;
  const int looks = plan.days * plan.looks_a_day;
  std::vector<double> common;
  WanderingLoad of_all(plan.noise_hours, step_hours, &random);
  for (int look = 0; look < looks; ++look) common.push_back(of_all.next());
  std::uniform_real_distribution<double> uniform;
  for (int host = 0; host < plan.hosts; ++host) {
    const double size = std::exp(std::normal_distribution<double>(0, 0.2)(random));
    // Each fifth comes late, and each fifth goes early.
    const int first = host % 5 == 3 ? static_cast<int>(uniform(random) * looks / 2) : 0;
    const int last = host % 5 == 4 ? looks - static_cast<int>(uniform(random) * looks / 2) : looks;
    WanderingLoad own(plan.noise_hours, step_hours, &random);
    std::map<std::string, double> kept;  // what was sampled of 1
    size_t version = 0;
    for (int i = 0; i < looks; ++i) {
      const double day = static_cast<double>(i) / plan.looks_a_day;
      const double noise = plan.noise * std::sqrt(0.5) * (common[static_cast<size_t>(i)] + own.next());
      if (i < first || i >= last || uniform(random) < plan.missed) continue;
      size_t now = 0;
      while (now < plan.rollouts.size() && plan.rollouts[now] <= day) ++now;
      if (now != version) kept.clear();
      version = now;
      ShippedLook look;
      look.service = plan.service;
      look.host = "h" + std::to_string(host);
      look.version = std::to_string(version + 1);
      look.rate_bytes = plan.rate_bytes;
      look.second =
          kPlanBegin + static_cast<uint64_t>((day + uniform(random) / plan.looks_a_day / 4) * 86400);
      const double load = 1 + plan.cycle * std::sin(day * 2 * 3.14159265358979) + noise;
      for (int f = 0; f < plan.functions; ++f) {
        const std::string name = "f" + std::to_string(f);
        const double level = size * plan.function_bytes * (f + 1);
        double factor = 1;
        if (name == plan.changed && day >= plan.changes_at)
          factor = plan.factor + plan.growth_a_day * (day - plan.changes_at);
        if (f % 2 == 0) {
          look.live[name] = as_sampled(level * load * factor, plan.rate_bytes, &random);
        } else {
          const auto place = kept.find(name);
          const double share =
              place != kept.end() ? place->second : as_sampled(level, plan.rate_bytes, &random) / level;
          kept[name] = share;
          look.live[name] = share * level * load * factor;
        }
      }
      slots->add(shipped_profile(look));
    }
  }
}

}  // namespace memprof::profile
