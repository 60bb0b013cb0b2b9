// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/pyroscope/pyroscope_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "memprof/console/failure.h"
#include "memprof/io/pyroscope/pyroscope_query.h"
#include "memprof/io/pyroscope/pyroscope_server.h"
#include "profile/compare/metric_join.h"
#include "profile/pprof/input/any_profile.h"
#include "profile/series/series.h"
#include "profile/view/origin.h"

namespace memprof::cli {
namespace {

using nlohmann::json;
using profile::Metric;

constexpr char kServiceLabel[] = "service_name";
constexpr size_t kMaxNamed = 8;

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string moment_of(int64_t ms) {
  return profile::time_text(static_cast<uint64_t>(ms) * 1'000'000);
}

// "a, b, c and 12 more"
template <typename Texts>
std::string listed(const Texts& texts) {
  std::vector<std::string> first;
  for (const std::string& text : texts) {
    if (first.size() < kMaxNamed) first.push_back(text);
  }
  const size_t more = texts.size() - first.size();
  return fmt::format("{}{}", fmt::join(first, ", "), more == 0 ? "" : fmt::format(" and {} more", more));
}

class Reader {
 public:
  Reader(const std::string& address, const HttpAccess& access)
      : address_(address),
        query_(parse_pyroscope_query(address, now_ms())),
        server_(address, query_, access) {}

  profile::Profile read() {
    facts_ = series_facts(server_.ask("Series", {{"matchers", json::array({query_.selector})}}), query_.name,
                          address_);
    if (facts_.types.empty()) say_nothing();
    require_one_service();
    count();
    const uint64_t most = look_range(counts_).most;
    profile::MetricJoin join;
    bool has_any = false;
    for (const auto& [metric, type] : facts_.types) {
      const std::string bytes = server_.profile_of(type);
      if (bytes.empty()) continue;
      const profile::Profile one = profile::read_any(bytes, address_);
      if (!one.has_metric[profile::metric_index(metric)]) continue;
      has_any = has_any || !one.stacks.empty();
      if (!adds_up(metric) && most == 0 && !one.stacks.empty()) {
        throw Failure(address_ +
                      ": the server does not say how many looks it has, so what is held is not known");
      }
      join.add(one, adds_up(metric) ? 1 : static_cast<double>(std::max<uint64_t>(most, 1)));
    }
    if (!has_any) say_nothing();
    profile::Profile profile = join.take();
    if (const auto services = facts_.labels.find(kServiceLabel);
        services != facts_.labels.end() && services->second.size() == 1) {
      profile.program = *services->second.begin();
    }
    profile.time_unix_ns = static_cast<uint64_t>(query_.end_ms) * 1'000'000;
    profile::set_origin(origin(), &profile);
    return profile;
  }

 private:
  // The sum of several is a figure that nobody asked for, unless the selector speaks of services.
  void require_one_service() const {
    const auto services = facts_.labels.find(kServiceLabel);
    if (services == facts_.labels.end() || services->second.size() < 2 ||
        query_.selector.find(kServiceLabel) != std::string::npos) {
      return;
    }
    throw Failure(address_ + ": has several services; choose one of " + listed(services->second));
  }

  void count() {
    const json labels = counted_labels(facts_);
    const std::string looker = looker_label(facts_);
    // What is up to a step before its time counts for a step, so the first one begins at the range's start.
    const int64_t step_ms = step_of(query_.end_ms - query_.start_ms);
    for (const Metric metric : {Metric::kInuseSpace, Metric::kAllocSpace}) {
      const auto type = facts_.types.find(metric);
      if (type == facts_.types.end()) continue;
      json question = {{"profileTypeID", type->second},
                       {"labelSelector", query_.selector},
                       {"groupBy", labels},
                       {"step", step_ms / 1000},
                       {"start", query_.start_ms + step_ms}};
      question["aggregation"] = "TIME_SERIES_AGGREGATION_TYPE_SUM";
      const json sums = server_.ask("SelectSeries", question);
      question["aggregation"] = "TIME_SERIES_AGGREGATION_TYPE_AVERAGE";
      count_looks(sums, server_.ask("SelectSeries", question), looker, &counts_);
    }
  }

  std::string origin() const {
    const LookRange looks = look_range(counts_);
    const bool has_levels = std::any_of(facts_.types.begin(), facts_.types.end(),
                                        [](const auto& type) { return !adds_up(type.first); });
    std::string text = fmt::format("from Pyroscope, {} from {} to {}: what was allocated in that time",
                                   lookers_text(looker_label(facts_), counts_), moment_of(query_.start_ms),
                                   moment_of(query_.end_ms));
    if (has_levels) {
      text += looks.most == 1 ? "; what is held, at that look"
                              : fmt::format("; what is held, as the mean of {} looks", looks.most);
      if (looks.fewest != looks.most) {
        text += fmt::format(" (who has fewer, down to {}, counts for a part of the time)", looks.fewest);
      }
    }
    return text + "; the server has no intervals";
  }

  // Throws.
  [[noreturn]] void say_nothing() {
    const std::string range =
        fmt::format(" from {} to {}", moment_of(query_.start_ms), moment_of(query_.end_ms));
    if (!facts_.other_types.empty()) {
      throw Failure(fmt::format("{}: has no profile of memory of {}{}, but {}", address_, query_.selector,
                                range, listed(facts_.other_types)));
    }
    const json answer = server_.ask("LabelValues", {{"name", kServiceLabel}});
    std::vector<std::string> services;
    if (const auto names = answer.find("names"); names != answer.end() && names->is_array()) {
      for (const json& name : *names) {
        if (name.is_string()) services.push_back(name.get<std::string>());
      }
    }
    throw Failure(fmt::format("{}: has nothing of {}{}; {}", address_, query_.selector, range,
                              services.empty() ? "no service has sent anything in that time"
                                               : "services at that time: " + listed(services)));
  }

  const std::string address_;
  const PyroscopeQuery query_;
  PyroscopeServer server_;
  SeriesFacts facts_;
  LookCounts counts_;
};

}  // namespace

bool adds_up(Metric metric) {
  return metric == Metric::kAllocObjects || metric == Metric::kAllocSpace;
}

int64_t step_of(int64_t range_ms) {
  constexpr int64_t kMaxSteps = 24;
  const int64_t seconds = range_ms / 1000;
  int64_t steps = kMaxSteps;
  while (steps > 2 && seconds % steps != 0) --steps;
  return seconds / steps * 1000;
}

std::string lookers_text(const std::string& label, const LookCounts& counts) {
  const bool is_host = label == "host" || label == "host_name";
  std::vector<std::string> names;
  for (const auto& [name, steps] : counts) {
    if (!steps.empty()) names.push_back(name);
  }
  std::string what = fmt::format("{} {}", names.size(),
                                 !is_host            ? "series"
                                 : names.size() == 1 ? "host"
                                                     : "hosts");
  if (label.empty() || names.empty()) return what;
  return fmt::format("{} ({}{})", what, is_host ? "" : label + ": ", listed(names));
}

profile::Profile read_pyroscope(const std::string& address, const HttpAccess& access) {
  return Reader(address, access).read();
}

}  // namespace memprof::cli
