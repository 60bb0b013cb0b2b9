// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/fleet_command.h"

#include "memprof/console/arguments.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/console/shared_options.h"
#include "memprof/io/folders/profile_files.h"
#include "profile/fleet/fleet.h"
#include "profile/fleet/fleet_history.h"
#include "profile/fleet/fleet_report.h"
#include "profile/fleet/fleet_slots.h"
#include "profile/fleet/history_report.h"
#include "profile/model/error.h"
#include "profile/pprof/pprof_reader.h"

namespace memprof::cli {
namespace {

HelpText help() {
  return {"memprof fleet FOLDER|FILE... [OPTIONS]",
          R"(Reads what `memprof ship --to /FOLDER` wrote, of any number of hosts: what each
service holds, hosts that hold more in a function than the others of their
service, and functions that hold more or less in a version than in the one
before. --over-time: functions whose level shifted or that began to grow, when,
by how much, and whether a version was rolled out then.
)",
          R"(The hosts are the measure of chance: what they differ by anyhow is not named. Of
what is named at most 5 % are false alarms, on average. One file is in memory at a
time. Files that are damaged, or that memprof ship did not write, are left out and
named. --over-time compares whole days with each other, so what repeats each day
is no change. It takes ten days with looks, and more for a lower rate. A service
without a daily cycle needs less: --cycle 1h compares hours.
)",
          ""};
}

double false_alarms_of(const std::string& text) {
  constexpr double kMin = 0.001;
  constexpr double kMax = 50;
  const std::string number = !text.empty() && text.back() == '%' ? text.substr(0, text.size() - 1) : text;
  const double percent = parse_percent("--false-alarms", number);
  if (percent < kMin || percent > kMax) {
    throw Failure("--false-alarms: " + text + " is not from 0.001 % to 50 %");
  }
  return percent / 100;
}

uint64_t cycle_of(const std::string& text) {
  constexpr uint64_t kMinuteNs = 60'000'000'000;
  constexpr uint64_t kMaxMinutes = 366 * 24 * 60;
  const uint64_t cycle = parse_duration_ns("--cycle", text);
  if (cycle < kMinuteNs || cycle > kMaxMinutes * kMinuteNs) {
    throw Failure("--cycle: " + text + " is not from 1m to 366d");
  }
  return cycle;
}

// Adds each file by `add`, which says whether memprof ship wrote it.
template <typename Add>
void add_files(const std::vector<std::string>& given, const Add& add) {
  read_each(given, "fleet: " + given.front() + ": there is no profile of memprof ship",
            [&](const std::string& path) {
              if (!add(profile::read_pprof_file(path))) {
                throw profile::Error(path + ": has no labels: memprof ship did not write it");
              }
            });
}

}  // namespace

int fleet_command(const std::vector<std::string>& arguments) {
  ArgumentParser parser("fleet", help());
  std::vector<std::string> given;
  std::string version_label = "service_version";
  std::string rows_text;
  std::string false_alarms = "1%";
  std::string cycle = "24h";
  bool is_json = false;
  bool is_over_time = false;
  parser.add_arguments(given);
  parser.add_option({"--version-label", "NAME", "the label that says the version (service_version)",
                     OptionText::Shown::kInBoth},
                    version_label);
  parser.add_flag({"--over-time", "", "each service over time, against itself", OptionText::Shown::kInBoth},
                  is_over_time);
  parser.add_option({"--false-alarms", "PERCENT",
                     "of --over-time: the chance that a run names a change where there is none (1%)",
                     OptionText::Shown::kInBoth},
                    false_alarms);
  parser.add_option({"--cycle", "TIME", "of --over-time: what repeats is compared with itself (24h)",
                     OptionText::Shown::kInBoth},
                    cycle);
  add_rows(parser, "of each kind, 20", rows_text);
  parser.add_flag({"--json", "", "all of them, as JSON", OptionText::Shown::kInBoth}, is_json);
  if (parser.parse(arguments)) return 0;
  if (given.empty()) throw Failure("fleet: no folder given; usage: memprof fleet FOLDER");
  constexpr size_t kUsualRows = 20;
  const size_t rows = parser.is_given("-n") ? parse_count("-n", rows_text) : kUsualRows;
  if (is_over_time) {
    const double rate = false_alarms_of(false_alarms);
    profile::FleetSlots slots(version_label, cycle_of(cycle));
    add_files(given, [&](const profile::Profile& profile) { return slots.add(profile); });
    const profile::FleetHistory history = profile::history_of(&slots, rate);
    print(is_json ? profile::history_json(history) : profile::history_text(history, rows));
    return 0;
  }
  for (const char* option : {"--false-alarms", "--cycle"}) {
    if (parser.is_given(option)) throw Failure("fleet: " + std::string(option) + " takes --over-time");
  }
  profile::Fleet fleet(version_label);
  add_files(given, [&](const profile::Profile& profile) { return fleet.add(profile); });
  const profile::FleetResult result = fleet.result();
  print(is_json ? profile::fleet_json(result) : profile::fleet_text(result, rows));
  return 0;
}

}  // namespace memprof::cli
