// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/live_command.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <optional>

#include "memprof/console/arguments.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/console/screen.h"
#include "memprof/host/process/running_process.h"
#include "memprof/io/output_check.h"
#include "memprof/io/path_pattern.h"
#include "memprof/io/process_looks.h"
#include "memprof/io/profile_format.h"
#include "memprof/io/profile_input.h"
#include "memprof/io/profile_output.h"
#include "memprof/record/process_recorder.h"
#include "memprof/record/record_options.h"
#include "profile/report/live_view.h"
#include "profile/report/report.h"

namespace memprof::cli {
namespace {

constexpr char kHelp[] =
    R"(usage: memprof live PID | --name PROGRAM [-o PATH [--force] [--raw]]
                    [-n ROWS] [--sort COLUMN] [--tree] [--interval SECONDS]
                    [--count N] [--no-debuginfod]
       memprof live PID --record FILE.series [--every TIME] [--limit SIZE]

Shows what a running process holds: which functions hold how much, how much more
than when the view began, and how fast they allocate. The process is not stopped
or signalled, and executes no code for this. It must have memprof in it: started
by `memprof run`, preloaded, or linked with memprof and started.

On a terminal the view is updated until you press q or the process ends. The
keys l, b, c, g and a sort the rows by live bytes, blocks, cumulative bytes (with
all that a function calls), growth, and allocation rate; t switches between the
table and a tree of calls. Elsewhere the view is printed once.

  -o PATH   write the profile as of now instead: %n is the program, %p its
            process id, %t the time in seconds since 1970, %% a percent sign
  --force   replace PATH or FILE if it exists
  --raw     write addresses, and names only of code that the program made
  --name PROGRAM      the process whose executable has this name
  -n ROWS             rows of the table or tree (as many as fit; 20)
  --sort COLUMN       begin sorted by live (default), blocks, cumulative, growth
                      or allocates
  --tree              begin with the tree
  --interval SECONDS  time between two updates (2)
  --count N           print the view so many times, also on a terminal
  --record FILE       add a look to FILE every so often, until the process ends or
                      Ctrl-C; `memprof report FILE` shows them (docs/series.md)
  --every TIME        time between two of them: 10s (default), 500ms, 5m, 1h
  --limit SIZE        of FILE (256m): the older, the further apart are looks kept
  --no-debuginfod     do not contact the servers in DEBUGINFOD_URLS
)";

constexpr size_t kRows = 20;
constexpr size_t kRowsOfHeader = 8;
constexpr size_t kRowsOfKeys = 3;  // a blank one, the keys, and where the cursor is
constexpr double kInterval = 2;

struct Options {
  std::string pid;
  std::string name;
  std::optional<std::string> output;
  bool force = false;
  bool raw = false;
  std::optional<size_t> rows;
  profile::LiveSort sort = profile::LiveSort::kLive;
  bool tree = false;
  double interval_s = kInterval;
  std::optional<size_t> count;
  AskServers ask_servers = AskServers::kYes;
  std::optional<RecordChoice> record;
};

double parse_seconds(const std::string& text) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  // NOLINTNEXTLINE(readability-simplify-boolean-expr): refuses what is no number, too
  if (text.empty() || *end != '\0' || !(seconds >= 0.1 && seconds <= 86400)) {
    throw Failure("--interval: '" + text + "' is not a number of seconds from 0.1 to 86400");
  }
  return seconds;
}

profile::LiveSort parse_sort(const std::string& text) {
  const auto sort = profile::live_sort_from_name(text);
  if (!sort)
    throw Failure("--sort: '" + text + "' is not one of live, blocks, cumulative, growth, allocates");
  return *sort;
}

std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  ArgumentParser parser("live");
  std::string output;
  std::string rows;
  std::string sort;
  std::string interval;
  std::string count;
  parser.add_option("PID", options.pid);
  parser.add_option("--name", options.name);
  parser.add_option("-o,--output", output);
  parser.add_flag("--force", options.force);
  parser.add_flag("--raw", options.raw);
  parser.add_option("-n", rows);
  parser.add_option("--sort", sort);
  parser.add_flag("--tree", options.tree);
  parser.add_option("--interval", interval);
  parser.add_option("--count", count);
  RecordOptions record(parser);
  parser.add_flag("--no-debuginfod");
  if (parser.parse(arguments)) return std::nullopt;
  if (options.pid.empty() == options.name.empty()) {
    throw Failure("live: give one process; usage: memprof live PID, or memprof live --name PROGRAM");
  }
  if (parser.is_given("--output")) options.output = output;
  if (options.output && (options.output->empty() || *options.output == "-")) {
    throw Failure("-o: give the path of a file");
  }
  if (options.output) check_pprof_name("live", *options.output);
  options.record = record.choice();
  if (options.record) {
    for (const char* option : {"--output", "--raw", "-n", "--sort", "--tree", "--interval", "--count"}) {
      if (!parser.is_given(option)) continue;
      throw Failure(std::string(option) +
                    ": not with --record; `memprof report FILE` shows what was recorded");
    }
  }
  if (!options.output && !options.record && (parser.is_given("--force") || parser.is_given("--raw"))) {
    throw Failure("live: --force and --raw need -o; --force goes with --record, too");
  }
  if (options.output && (options.tree || parser.is_given("--sort"))) {
    throw Failure("live: -o writes all there is; --sort and --tree are for the view, and for memprof report");
  }
  if (options.tree && parser.is_given("--sort")) {
    throw Failure("live: a tree is ordered by what is live; --sort is for the table");
  }
  if (parser.is_given("--sort")) options.sort = parse_sort(sort);
  if (parser.is_given("-n")) options.rows = parse_count("-n", rows);
  if (parser.is_given("--interval")) options.interval_s = parse_seconds(interval);
  if (parser.is_given("--count")) options.count = parse_count("--count", count);
  if (parser.is_given("--no-debuginfod")) options.ask_servers = AskServers::kNo;
  if (options.record) {
    options.record->force = options.force;
    options.record->ask_servers = options.ask_servers;
  }
  return options;
}

int write_now(const Options& options, ProcessLooks& looks) {
  PathFacts facts;
  facts.pid = static_cast<int64_t>(looks.process().pid);
  facts.program = looks.process().program;
  facts.time_seconds = std::time(nullptr);
  // NOLINTNEXTLINE(bugprone-unchecked-optional-access): asked for by who calls
  const std::string path = expand_path(*options.output, facts);
  check_output_path(path, options.force);
  write_profile(looks.look(options.raw), path, options.force);
  complain("wrote " + shell_word(path) + "; next: memprof report " + shell_word(path));
  return 0;
}

// What is shown of the last look.
class Shown {
 public:
  Shown(const Options& options, ProcessLooks& looks)
      : looks_(looks), sort_(options.sort), is_tree_(options.tree) {}

  void look() {
    now_ = looks_.look(false);
    // Of a large process it is read now and then only.
    if (!now_.resident.is_known()) now_.resident = last_resident_;
    last_resident_ = now_.resident;
    view_.look(profile::build_report(now_, profile::live_report_options()),
               resident_bytes(looks_.process().pid));
  }

  std::string text(size_t rows) const {
    return is_tree_ ? view_.tree_text(profile::build_report(now_, profile::live_tree_options(rows)),
                                      terminal_text_options())
                    : view_.text(sort_, rows, terminal_text_options());
  }

  // Takes a key that changes what is shown.
  void press(char key) {
    if (key == 't') is_tree_ = !is_tree_;
    for (const Key& known : kKeys) {
      if (known.key != key) continue;
      sort_ = known.sort;
      is_tree_ = false;
    }
  }

  // The keys, with a star at what is shown.
  std::string keys() const {
    std::string text = "order:";
    for (const Key& known : kKeys) {
      text += std::string(" [") + known.key + "]" + (profile::live_sort_name(known.sort) + 1);
      if (!is_tree_ && known.sort == sort_) text += "*";
    }
    return text + "  [t]ree" + (is_tree_ ? "*" : "") + "  [q]uit";
  }

 private:
  struct Key {
    char key;
    profile::LiveSort sort;
  };
  static constexpr Key kKeys[] = {{'l', profile::LiveSort::kLive},
                                  {'b', profile::LiveSort::kBlocks},
                                  {'c', profile::LiveSort::kCumulative},
                                  {'g', profile::LiveSort::kGrowth},
                                  {'a', profile::LiveSort::kAllocates}};

  ProcessLooks& looks_;
  profile::LiveSort sort_;
  bool is_tree_;
  profile::Profile now_;
  ResidentMemory last_resident_;
  profile::LiveView view_;
};

// At most so many lines.
std::string first_lines(const std::string& text, size_t lines) {
  size_t end = 0;
  for (; lines > 0 && end != std::string::npos && end < text.size(); --lines) {
    const size_t newline = text.find('\n', end);
    end = newline == std::string::npos ? newline : newline + 1;
  }
  return text.substr(0, end);
}

void sleep_for(double seconds) {
  timespec time{static_cast<time_t>(seconds), 0};
  time.tv_nsec = static_cast<long>((seconds - static_cast<double>(time.tv_sec)) * 1e9);
  while (nanosleep(&time, &time) != 0 && errno == EINTR) {
  }
}

int print_looks(const Options& options, ProcessLooks& looks) {
  Shown shown(options, looks);
  const size_t count = options.count.value_or(1);
  shown.look();  // how much it grows, and how fast it allocates, take two
  for (size_t i = 0; i < count; ++i) {
    if (i != 0) print("\n");
    sleep_for(options.interval_s);
    if (!looks.is_there()) {
      if (i == 0) print(shown.text(options.rows.value_or(kRows)));
      complain("process " + std::to_string(looks.process().pid) + " has ended");
      return 0;
    }
    shown.look();
    print(shown.text(options.rows.value_or(kRows)));
  }
  return 0;
}

int show(const Options& options, ProcessLooks& looks) {
  Shown shown(options, looks);
  shown.look();  // what goes wrong is said on the ordinary screen
  auto screen = std::make_unique<Screen>();
  while (true) {
    const size_t fitting = screen->rows() > kRowsOfHeader ? screen->rows() - kRowsOfHeader : 1;
    const size_t lines = std::max(screen->rows(), kRowsOfKeys + 1) - kRowsOfKeys;
    screen->draw(first_lines(shown.text(options.rows.value_or(fitting)), lines) + "\n" + shown.keys() + "\n");
    const char key = screen->wait_for_key(options.interval_s);
    if (key == 'q') return 0;
    shown.press(key);
    if (!looks.is_there()) break;
    if (key == 0) shown.look();
  }
  screen.reset();
  print(shown.text(options.rows.value_or(kRows)));
  complain("process " + std::to_string(looks.process().pid) + " has ended; this was the last look");
  return 0;
}

}  // namespace

int live_command(const std::vector<std::string>& arguments) {
  const std::optional<Options> options = parse(arguments);
  if (!options) {
    print(kHelp);
    return 0;
  }
  const RunningProcess process =
      options->name.empty() ? find_process(options->pid) : find_process_named(options->name);
  if (options->record) return record_process(process, *options->record);
  ProcessLooks looks(process, options->ask_servers);
  if (options->output) return write_now(*options, looks);
  return options->count || !Screen::is_possible() ? print_looks(*options, looks) : show(*options, looks);
}

}  // namespace memprof::cli
