// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/ship_command.h"

#include <optional>

#include "memprof/console/arguments.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/io/output_check.h"
#include "memprof/ship/scrape/listen_address.h"
#include "memprof/ship/ship_run.h"
#include "profile/text/units.h"

namespace memprof::cli {
namespace {

HelpText help() {
  return {
      "memprof ship --to TARGET [OPTIONS] [PID...]\n"
      "memprof ship --listen [ADDRESS:]PORT [OPTIONS] [PID...]\n"
      "memprof ship --dry-run [--to TARGET]... [PID...]",
      R"(Ships what the processes of this machine allocate and hold, one shipper for all
of them. Without PID: all that have memprof in them.
)",
      R"(A look is taken at each process every so often, from outside: no process is
stopped or signalled. What was allocated is sent as increments; what is live,
mapped or was the peak, as it is. Processes with the same labels are sent as one.
With PIDs it ends when these have ended.

A look waits in the spool until every target has it, also over a restart.
docs/fleet.md says what is counted, and what a service must take.
)",
      R"(http_proxy, https_proxy and no_proxy are obeyed. Ctrl-C and SIGTERM take a last
look and end within some seconds; what was not sent stays in the spool.
)"};
}

std::string list_of_targets() {
  std::string text = "where to. May be given several times:";
  for (const TargetKind& kind : target_kinds()) text += std::string("\n  ") + kind.what;
  return text;
}

uint64_t parse_time_ns(const std::string& option, const std::string& text, uint64_t min_ns, uint64_t max_ns,
                       const char* range) {
  const auto ns = profile::parse_duration_ns(text);
  if (!ns || *ns < min_ns || *ns > max_ns) {
    throw Failure(option + ": '" + text + "' is not a time from " + range + "; give one like 10s or 5m");
  }
  return *ns;
}

void add_from_environment(const std::string& text, LabelRules* rules) {
  const size_t equal = text.find('=');
  if (equal == std::string::npos || equal + 1 == text.size()) {
    throw Failure("--label-env: '" + text +
                  "' is not NAME=VARIABLE; give one like service_version=APP_VERSION");
  }
  const std::string name = text.substr(0, equal);
  check_label_name("--label-env", name);
  if (!rules->from_environment.emplace(name, text.substr(equal + 1)).second ||
      rules->fixed.count(name) != 0) {
    throw Failure("--label-env: the label " + name + " is given twice");
  }
  if (rules->from_environment.size() + rules->fixed.size() > kMaxOwnLabels) {
    throw Failure("--label-env: more than " + std::to_string(kMaxOwnLabels) + " labels");
  }
}

struct Given {
  std::vector<std::string> pids;
  std::vector<std::string> labels;
  std::vector<std::string> label_envs;
  std::string service, host = host_name(), every, count, limit, age;
  bool is_plan = false;
};

LabelRules label_rules(const Given& given, const ArgumentParser& parser) {
  LabelRules rules;
  rules.has_pid = parser.is_given("--pid-label");
  check_label_value("--host", given.host);
  rules.fixed[kHostLabel] = given.host;
  if (parser.is_given("--service")) {
    check_label_value("--service", given.service);
    rules.fixed[kServiceLabel] = given.service;
  }
  for (const std::string& label : given.labels) add_label("--label", label, &rules.fixed);
  for (const std::string& label : given.label_envs) add_from_environment(label, &rules);
  return rules;
}

// Nobody is sent to: only scrapers are served.
void check_without_target(const ArgumentParser& parser) {
  if (!parser.is_given("--listen")) {
    throw Failure(
        "ship: no target given; add --to http://HOST:PORT of a Pyroscope, --to otlp+http://HOST:PORT of a collector, "
        "--to /FOLDER, or --listen PORT for scrapers");
  }
  for (const char* option : {"--every", "--count", "--spool", "--spool-limit", "--spool-age", "--token-file",
                             "--password-file", "--ca-file"}) {
    if (parser.is_given(option))
      throw Failure(std::string(option) + ": nothing is sent without --to; leave it out");
  }
  if (parser.is_given("--metrics"))
    throw Failure("--metrics: without --to, ask for /metrics at the address of --listen");
}

// Nothing: --help was asked for.
std::optional<ShipOptions> parse(const std::vector<std::string>& arguments, Given* given) {
  constexpr uint64_t kMsNs = 1'000'000;
  constexpr uint64_t kHourNs = uint64_t{3600} * 1000 * kMsNs;
  ShipOptions options;
  ArgumentParser parser("ship", help());
  using Shown = OptionText::Shown;
  parser.add_arguments(given->pids);
  parser.add_repeated_option({"--to", "TARGET", list_of_targets(), Shown::kInBoth}, options.targets);
  parser.add_option({"--every", "TIME", "time between two looks (1m), from 100ms to 1h", Shown::kInBoth},
                    given->every);
  parser.add_option(
      {"--count", "N",
       "end after so many looks, when the targets have them. Exit status 1 if they have not within a "
       "minute"},
      given->count);
  parser.add_option(
      {"--service", "NAME",
       "the label service_name. Else OTEL_SERVICE_NAME of the process, else the name of its program",
       Shown::kInBoth},
      given->service);
  parser.add_option({"--host", "NAME", "the label host; else the name of this machine"}, given->host);
  parser.add_repeated_option({"--label", "NAME=VALUE", "another label; at most 16 of these", Shown::kInBoth},
                             given->labels);
  parser.add_repeated_option({"--label-env", "NAME=VARIABLE",
                              "a label from the environment that the process was started with, as "
                              "service_version=APP_VERSION"},
                             given->label_envs);
  parser.add_flag({"--pid-label", "", "a label with the process id: a series for each process"});
  parser.add_flag(
      {"--containers", "",
       "also processes in containers, whose files are others than ours; it takes their user, or root with the "
       "capability SYS_PTRACE"},
      options.sees_containers);
  parser.add_option({"--spool", "DIR",
                     "where looks wait (/var/lib/memprof/ship for root, else ~/.local/state/memprof/ship)"},
                    options.spool);
  parser.add_option({"--spool-limit", "SIZE", "of what waits (256m); when it is full, looks are delayed"},
                    given->limit);
  parser.add_option({"--spool-age", "TIME", "what has waited for longer is dropped, and counted (50m)"},
                    given->age);
  parser.add_option({"--token-file", "FILE", "a bearer token; FILE is read again for each request"},
                    options.network.token_file);
  parser.add_option({"--password-file", "FILE", "NAME:PASSWORD, for basic authentication"},
                    options.network.password_file);
  parser.add_option({"--ca-file", "FILE", "certificates to trust, instead of the system's"},
                    options.network.ca_file);
  parser.add_option(
      {"--metrics", "FILE",
       "write what was shipped, dropped and waits to FILE after each look, in the text form of Prometheus"},
      options.metrics_file);
  parser.add_option(
      {"--listen", "[ADDRESS:]PORT",
       "serve scrapers at http://ADDRESS:PORT (127.0.0.1): /debug/pprof/heap?pid=N or ?service=NAME, "
       "/targets, /metrics, /healthz, /readyz. Without --to nothing is sent",
       Shown::kInBoth},
      options.listen);
  parser.add_flag({"--dry-run", "", "show what would be shipped, with its labels, and end", Shown::kInBoth},
                  given->is_plan);
  if (parser.parse(arguments)) return std::nullopt;
  if (parser.is_given("--listen")) parse_listen_address(options.listen);
  if (options.targets.empty() && !given->is_plan) check_without_target(parser);
  if (parser.is_given("--token-file") && parser.is_given("--password-file")) {
    throw Failure("ship: --token-file and --password-file exclude each other");
  }
  options.labels = label_rules(*given, parser);
  if (parser.is_given("--every")) {
    options.every_s =
        static_cast<double>(parse_time_ns("--every", given->every, 100 * kMsNs, kHourNs, "100ms to 1h")) /
        1e9;
  }
  if (parser.is_given("--count")) options.count = parse_count("--count", given->count);
  if (parser.is_given("--spool-age")) {
    options.spool_age_ms = static_cast<int64_t>(
        parse_time_ns("--spool-age", given->age, 1000 * kMsNs, 24 * 31 * kHourNs, "1s to 31d") / kMsNs);
  }
  if (parser.is_given("--spool-limit")) {
    constexpr uint64_t kLeast = uint64_t{1} << 20;
    const auto bytes = profile::parse_bytes(given->limit);
    if (!bytes || *bytes < kLeast) {
      throw Failure("--spool-limit: '" + given->limit +
                    "' is not a size of at least 1m; give one like 64m or 1g");
    }
    options.spool_bytes = *bytes;
  }
  if (parser.is_given("--spool") && options.spool.empty())
    throw Failure("--spool: give the path of a folder");
  if (options.spool.empty() && !given->is_plan && !options.targets.empty()) options.spool = usual_spool();
  if (!options.metrics_file.empty()) check_output_path(options.metrics_file, true);
  for (const std::string& pid : given->pids) options.only.push_back(find_process(pid));
  return options;
}

}  // namespace

int ship_command(const std::vector<std::string>& arguments) {
  Given given;
  const std::optional<ShipOptions> options = parse(arguments, &given);
  if (!options) return 0;
  if (!given.is_plan) return ship(*options);
  print(ship_plan(*options));
  return 0;
}

}  // namespace memprof::cli
