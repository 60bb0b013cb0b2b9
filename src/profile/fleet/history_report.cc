// SPDX-License-Identifier: Apache-2.0
#include "profile/fleet/history_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "profile/fleet/fleet_lines.h"
#include "profile/series/series.h"
#include "profile/text/markup/json_text.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

using Json = nlohmann::ordered_json;

std::string duration(uint64_t ns) {
  return format_duration_ns(static_cast<double>(ns));
}

std::string with_half(double bytes, double half) {
  return fmt::format("{} (± {})", format_bytes(std::max(0.0, bytes)), format_bytes(half));
}

const char* kind_of(ChangeShape shape) {
  return shape == ChangeShape::kStep ? "shift" : shape == ChangeShape::kGrowth ? "growth" : "shift or growth";
}

std::string rollouts_of(const HistoryChange& change, const HistoryService& service) {
  if (!service.has_versions) return "no version is known (--version-label)";
  if (service.rollouts.empty()) return "its version did not change";
  if (change.rollouts.empty()) {
    return fmt::format("no rollout then ({} in all)", service.rollouts.size());
  }
  std::string text = "with the rollout of ";
  for (size_t i = 0; i < change.rollouts.size(); ++i) {
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", fleet_name(change.rollouts[i].version),
                        time_text(change.rollouts[i].first_ns));
  }
  return text;
}

std::string lines_of(const HistoryChange& change, const HistoryService& service) {
  const double difference = change.after_bytes - change.before_bytes;
  std::string text = fmt::format("  {}: {}: {}", fleet_name(change.service), fleet_name(change.function),
                                 fleet_share(change.before_bytes, change.after_bytes));
  if (change.shape == ChangeShape::kGrowth) {
    text += fmt::format(", grows by {} a day (± {}) since {}\n", format_signed_bytes(change.bytes_a_day),
                        format_bytes(change.bytes_a_day_half), time_text(change.time_ns));
  } else {
    text += fmt::format(" at {}{}\n", time_text(change.time_ns),
                        change.shape == ChangeShape::kStep ? "" : ", or grows: too little to tell which");
  }
  text += fmt::format("    between {} and {}\n", time_text(change.low_ns), time_text(change.high_ns));
  text += fmt::format("    a host: {} to {}: {} to {}\n",
                      with_half(change.before_bytes, change.before_half_bytes),
                      with_half(change.after_bytes, change.after_half_bytes),
                      format_signed_bytes(difference - change.change_half_bytes),
                      format_signed_bytes(difference + change.change_half_bytes));
  return text + "    " + rollouts_of(change, service) + "\n";
}

const HistoryService& service_of(const FleetHistory& history, const std::string& name) {
  return *std::find_if(history.services.begin(), history.services.end(),
                       [&](const HistoryService& service) { return service.name == name; });
}

std::string service_line(const HistoryService& service, const FleetHistory& history) {
  if (!service.trouble.empty())
    return fmt::format("  {}: not looked at: {}\n", fleet_name(service.name), service.trouble);
  std::string text =
      fmt::format("  {}: {} of {}, {} blocks of {}, {}\n", fleet_name(service.name), service.hosts,
                  fleet_count(service.all_hosts, "host"), service.blocks,
                  duration(history.cycle_ns * history.cycles), fleet_count(service.rows, "function"));
  return text;
}

Json rollout_json(const std::vector<Rollout>& rollouts) {
  Json json = Json::array();
  for (const Rollout& rollout : rollouts) {
    json.push_back({{"version", rollout.version},
                    {"first_unix_ns", rollout.first_ns},
                    {"last_unix_ns", rollout.last_ns}});
  }
  return json;
}

}  // namespace

std::string history_text(const FleetHistory& history, size_t rows) {
  const auto tested = static_cast<size_t>(
      std::count_if(history.services.begin(), history.services.end(),
                    [](const HistoryService& service) { return service.trouble.empty(); }));
  std::string text;
  if (!history.trouble.empty()) {
    text = fmt::format("Nothing can be said of changes: {}.\n", history.trouble);
  } else if (tested == 0) {
    text = "Nothing can be said of changes: there is too little of each service.\n";
  } else if (history.changes.empty()) {
    text = "No change that is more than chance.\n";
  } else {
    text = fleet_count(history.changes.size(), "change") + ":\n";
    text += fleet_list(history.changes, rows, [&](const HistoryChange& change) {
      return lines_of(change, service_of(history, change.service));
    });
  }
  if (tested > 0) {
    text += fmt::format(
        "\nWhere nothing changes, a run names anything with a chance of {:.3g} % at most, if what load\n"
        "does is forgotten within six hours. A range after ± or \"to\" is a 95 % interval.\n",
        100 * history.rate);
  }
  text += fmt::format("\n{} over {}:\n", fleet_count(history.looks, "look"),
                      duration(history.last_ns - history.first_ns));
  return text + fleet_list(history.services, rows,
                           [&](const HistoryService& service) { return service_line(service, history); });
}

std::string history_json(const FleetHistory& history) {
  Json json = {{"looks", history.looks},
               {"first_unix_ns", history.first_ns},
               {"last_unix_ns", history.last_ns},
               {"false_alarms", history.rate},
               {"cycle_ns", history.cycle_ns},
               {"block_ns", history.cycle_ns * history.cycles},
               {"trouble", history.trouble.empty() ? Json() : Json(history.trouble)},
               {"services", Json::array()},
               {"over_time", Json::array()}};
  for (const HistoryService& service : history.services) {
    json["services"].push_back({{"service", service.name},
                                {"hosts", service.hosts},
                                {"all_hosts", service.all_hosts},
                                {"blocks", service.blocks},
                                {"functions", service.rows},
                                {"trouble", service.trouble.empty() ? Json() : Json(service.trouble)},
                                {"rollouts", rollout_json(service.rollouts)}});
  }
  for (const HistoryChange& change : history.changes) {
    const double difference = change.after_bytes - change.before_bytes;
    const bool is_growth = change.shape == ChangeShape::kGrowth;
    json["over_time"].push_back({{"service", change.service},
                                 {"function", change.function},
                                 {"kind", kind_of(change.shape)},
                                 {"unix_ns", change.time_ns},
                                 {"low_unix_ns", change.low_ns},
                                 {"high_unix_ns", change.high_ns},
                                 {"before_inuse_space", change.before_bytes},
                                 {"before_low", change.before_bytes - change.before_half_bytes},
                                 {"before_high", change.before_bytes + change.before_half_bytes},
                                 {"after_inuse_space", change.after_bytes},
                                 {"after_low", change.after_bytes - change.after_half_bytes},
                                 {"after_high", change.after_bytes + change.after_half_bytes},
                                 {"low", difference - change.change_half_bytes},
                                 {"high", difference + change.change_half_bytes},
                                 {"bytes_a_day", is_growth ? Json(change.bytes_a_day) : Json()},
                                 {"p", change.p_value},
                                 {"rollouts", rollout_json(change.rollouts)}});
  }
  return json_to_text(json, 2) + "\n";
}

}  // namespace memprof::profile
