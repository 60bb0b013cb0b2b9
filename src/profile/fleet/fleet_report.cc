// SPDX-License-Identifier: Apache-2.0
#include "profile/fleet/fleet_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "profile/fleet/fleet_lines.h"
#include "profile/text/markup/json_text.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

using Json = nlohmann::ordered_json;

std::string service_line(const FleetService& service) {
  return fmt::format(
      "  {}: {} on {}, {} each; allocated {} in {}\n", fleet_name(service.name),
      format_bytes(service.live_bytes), fleet_count(service.hosts, "host"),
      format_bytes(service.live_bytes / static_cast<double>(std::max<size_t>(1, service.hosts))),
      format_bytes(service.allocated_bytes), fleet_count(service.looks, "look"));
}

std::string outlier_line(const FleetOutlier& row) {
  return fmt::format("  {}: {} holds {} in {}, the others {} on average\n", fleet_name(row.service),
                     fleet_name(row.host), format_bytes(row.bytes), fleet_name(row.function),
                     format_bytes(row.others_bytes));
}

std::string change_line(const FleetChange& row) {
  const double difference = row.after_bytes - row.before_bytes;
  return fmt::format("  {}: {}: {} from {} to {}: {} to {} a host, {} to {}\n", fleet_name(row.service),
                     fleet_name(row.function), fleet_share(row.before_bytes, row.after_bytes),
                     fleet_name(row.before), fleet_name(row.after), format_bytes(row.before_bytes),
                     format_bytes(row.after_bytes), format_signed_bytes(difference - row.half_width_bytes),
                     format_signed_bytes(difference + row.half_width_bytes));
}

}  // namespace

std::string fleet_text(const FleetResult& result, size_t rows) {
  std::string text = fmt::format("{} of {}, over {}\n\nLive, on average:\n",
                                 fleet_count(result.files, "look"), fleet_count(result.hosts, "host"),
                                 format_duration_ns(static_cast<double>(result.last_ns - result.first_ns)));
  text += fleet_list(result.services, rows, service_line);
  text += result.outliers.empty() ? "\nNo host holds more than the others by more than chance.\n"
                                  : "\nHosts that hold more than the others:\n";
  text += fleet_list(result.outliers, rows, outlier_line);
  if (!result.changes.empty())
    text += "\nChanges by version (the last two numbers: 95 % interval of the change):\n";
  text += fleet_list(result.changes, rows, change_line);
  return text;
}

std::string fleet_json(const FleetResult& result) {
  Json json = {
      {"looks", result.files},          {"hosts", result.hosts},     {"first_unix_ns", result.first_ns},
      {"last_unix_ns", result.last_ns}, {"services", Json::array()}, {"outliers", Json::array()},
      {"changes", Json::array()}};
  for (const FleetService& row : result.services) {
    json["services"].push_back({{"service", row.name},
                                {"hosts", row.hosts},
                                {"looks", row.looks},
                                {"inuse_space", row.live_bytes},
                                {"alloc_space", row.allocated_bytes}});
  }
  for (const FleetOutlier& row : result.outliers) {
    json["outliers"].push_back({{"service", row.service},
                                {"host", row.host},
                                {"function", row.function},
                                {"inuse_space", row.bytes},
                                {"others_inuse_space", row.others_bytes},
                                {"p", row.p_value}});
  }
  for (const FleetChange& row : result.changes) {
    const double difference = row.after_bytes - row.before_bytes;
    json["changes"].push_back({{"service", row.service},
                               {"function", row.function},
                               {"before", row.before},
                               {"after", row.after},
                               {"before_inuse_space", row.before_bytes},
                               {"after_inuse_space", row.after_bytes},
                               {"low", difference - row.half_width_bytes},
                               {"high", difference + row.half_width_bytes},
                               {"p", row.p_value}});
  }
  return json_to_text(json, 2) + "\n";
}

}  // namespace memprof::profile
