// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/ship_command.h"

#include <optional>

#include "memprof/console/arguments.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/io/names/own_names.h"
#include "memprof/io/output_check.h"
#include "memprof/ship/scrape/listen_address.h"
#include "memprof/ship/ship_options.h"
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
Where the memory of their group (cgroup) passes 80, 90 or 95 % of its limit, and
after an OOM kill, a look is taken at once, and who holds the memory is said.
With PIDs it ends when these have ended.

A look waits in the spool until every target has it, also over a restart.
docs/fleet.md says what is counted, and what a service must take.
)",
      R"(http_proxy, https_proxy and no_proxy are obeyed. Ctrl-C and SIGTERM take a last
look and end within some seconds; what was not sent stays in the spool.
)"};
}

int64_t parse_age_ms(const std::string& text) {
  constexpr uint64_t kMsNs = 1'000'000;
  constexpr uint64_t kMinNs = 1000 * kMsNs;
  constexpr uint64_t kMaxNs = uint64_t{31} * 86400 * kMinNs;
  const auto ns = profile::parse_duration_ns(text);
  if (!ns || *ns < kMinNs || *ns > kMaxNs) {
    throw Failure("--spool-age: '" + text + "' is not a time from 1s to 31d; give one like 10s or 5m");
  }
  return static_cast<int64_t>(*ns / kMsNs);
}

struct Given {
  std::vector<std::string> pids;
  std::string every, count, limit, age, names;
  bool is_plan = false;
};

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
  ShipOptions options;
  ArgumentParser parser("ship", help());
  using Shown = OptionText::Shown;
  parser.add_arguments(given->pids);
  parser.add_repeated_option(
      {"--to", "TARGET", "where to. May be given several times:" + list_of_targets(), Shown::kInBoth},
      options.targets);
  parser.add_option({"--every", "TIME", "time between two looks (1m), from 100ms to 1h", Shown::kInBoth},
                    given->every);
  parser.add_option(
      {"--count", "N",
       "end after so many looks, when the targets have them. Exit status 1 if they have not within a "
       "minute"},
      given->count);
  ShipLabels labels(parser, Shown::kInBoth);
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
  parser.add_option({"--name-cache", "DIR",
                     "keep names there that were read from debug files, for the next start; off: nowhere "
                     "(/var/cache/memprof/names for root, else ~/.cache/memprof/names)"},
                    given->names);
  HttpAccessOptions access(parser);
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
  parser.add_flag(
      {"--serve-debuginfo", "",
       "serve there also the files that the processes run, and their debug files, by build id, as a server "
       "of debuginfod: for DEBUGINFOD_URLS=http://ADDRESS:PORT elsewhere. Whoever reaches the address gets them"},
      options.serves_debuginfo);
  parser.add_flag({"--dry-run", "", "show what would be shipped, with its labels, and end", Shown::kInBoth},
                  given->is_plan);
  if (parser.parse(arguments)) return std::nullopt;
  if (options.serves_debuginfo && !parser.is_given("--listen")) {
    throw Failure("--serve-debuginfo: no address to serve at; add --listen PORT");
  }
  if (parser.is_given("--listen")) parse_listen_address(options.listen);
  if (options.targets.empty() && !given->is_plan) check_without_target(parser);
  options.network.access = access.access();
  options.labels = labels.rules();
  if (parser.is_given("--every")) options.every_s = parse_ship_every("--every", given->every);
  if (parser.is_given("--count")) options.count = parse_count("--count", given->count);
  if (parser.is_given("--spool-age")) options.spool_age_ms = parse_age_ms(given->age);
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
  if (parser.is_given("--name-cache")) use_own_names(names_folder_at("--name-cache", given->names));
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
