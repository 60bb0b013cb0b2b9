// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/view_command.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "memprof/console/arguments.h"
#include "memprof/console/browser.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/console/report_options.h"
#include "memprof/console/shared_options.h"
#include "memprof/host/process/process_ids.h"
#include "memprof/host/process/running_process.h"
#include "memprof/io/http/http_access.h"
#include "memprof/io/profile_input.h"
#include "memprof/io/source_map_option.h"
#include "memprof/live/live_looks.h"
#include "memprof/record/record_options.h"
#include "memprof/serve/page_server.h"
#include "memprof/serve/redirect_file.h"
#include "memprof/serve/source_root_option.h"
#include "memprof/view/file_page.h"
#include "memprof/view/live_page.h"
#include "memprof/view/series_follower.h"
#include "profile/files/source_file.h"
#include "profile/page/page_html.h"
#include "profile/series/series_file.h"
#include "profile/text/units.h"
#include "profile/view/profile_view.h"

namespace memprof::cli {
namespace {

HelpText help() {
  return {"memprof view FILE | PID... [OPTIONS]",
          R"(Shows a profile in the browser: flame graph, table, search, callers and callees.
Only this machine can open the page, until Ctrl-C. `memprof export FILE -o
report.html` writes the same page as a file, to send or keep.
)",
          R"(FILE is a pprof file, by memprof or others, or an address of HTTP that has one,
or pyroscope+http://HOST:4040/SERVICE?from=now-1h, a service and a range of time
of a Pyroscope (docs/fleet.md); `-` is standard input. A page that is reloaded
shows what the file is then.

Of a series the page has its timeline, and shows what changed between two of its
looks; of one that is still being recorded it shows each look when it is there.

Of running processes with memprof in them the page is live: it shows what they
hold, how much more than when the view began, and how fast they allocate, once a
second (less often where that would take more than 2 % of a core). They are not
stopped or signalled. When they have ended the last look stays.

The page is served to this machine only (127.0.0.1), at an address with a random
token. The served page also shows the text of source files that the profile
names and that are on this machine (not with --listen).
)",
          ""};
}

constexpr size_t kMaxPort = 65535;
constexpr uintmax_t kLargeBytes = uintmax_t{16} << 20;  // of a file: some seconds

struct Options {
  std::vector<std::string> inputs;
  PageAddress address;
  bool whole_run = false;
  bool opens = true;
  AskServers ask_servers = AskServers::kYes;
  SourceMapChoice source_maps;
  HttpAccess access;
  std::shared_ptr<const profile::HiddenFrames> hidden;
  std::string sample_type;
  std::optional<RecordChoice> record;
  std::vector<std::string> source_roots;
  bool is_elsewhere = false;  // --listen

  // Source text is for this machine alone.
  SourceFiles* sources_at(SourceFiles* sources) const { return is_elsewhere ? nullptr : sources; }
};

std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  ArgumentParser parser("view", help());
  using Shown = OptionText::Shown;
  std::string port_text;
  bool force = false;
  parser.add_arguments(options.inputs);
  add_whole_run(parser, options.whole_run);
  parser.add_flag({"--no-open", "", "print the address and do not open a browser", Shown::kInBoth});
  parser.add_option({"--port", "PORT", "serve at this port (any that is free)", Shown::kInBoth}, port_text);
  parser.add_option(
      {"--listen", "ADDRESS",
       "serve at this IP address: whoever is told the page's address can read it from other machines, and "
       "it is not encrypted"},
      options.address.address);
  RecordOptions record(parser);
  parser.add_flag({"--force", "", "replace the .series file if it exists"}, force);
  std::string hidden;
  parser.add_option(
      {"--hide", "REGEX",
       "without the frames whose function, source file or module matches: what they allocate counts as "
       "their callers'"},
      hidden);
  const SourceRootOption source_root(parser);
  const SourceMapOption source_maps(parser);
  add_sample_type(parser, options.sample_type);
  add_no_debuginfod(parser);
  const HttpAccessOptions access(parser);
  if (parser.parse(arguments)) return std::nullopt;
  if (options.inputs.empty()) throw Failure("view: no profile given; usage: memprof view FILE|PID");
  const size_t port = port_text.empty() ? 0 : parse_count("--port", port_text);
  if (port > kMaxPort) throw Failure("--port: '" + port_text + "' is not a port; give 1 to 65535");
  options.address.port = static_cast<uint16_t>(port);
  options.opens = !parser.is_given("--no-open");
  options.is_elsewhere = parser.is_given("--listen");
  if (parser.is_given("--no-debuginfod")) options.ask_servers = AskServers::kNo;
  if (parser.is_given("--hide")) options.hidden = parse_hidden("--hide", hidden);
  options.record = record.choice();
  options.source_maps = source_maps.choice();
  options.access = access.access();
  options.source_roots = source_root.roots();
  if (options.is_elsewhere && !options.source_roots.empty()) {
    throw Failure("--source-root: no source text is served with --listen; leave one of the two out");
  }
  if (force && !options.record) throw Failure("view: --force goes with --record");
  if (options.record) {
    options.record->force = force;
    options.record->ask_servers = options.ask_servers;
  }
  return options;
}

// Starts the browser with a file that leads it to the page: the address itself must not be an argument, which every
// user of this machine can read.
class OpenedPage {
 public:
  OpenedPage(const std::string& url, bool opens) {
    if (!opens || !has_display()) return;
    try {
      file_.emplace(url);
      is_open_ = open_in_browser(file_->path());
    } catch (const Failure& failure) {
      complain(std::string("warning: no browser is opened: ") + failure.what());
    }
  }

  bool is_open() const { return is_open_; }

 private:
  std::optional<RedirectFile> file_;  // for as long as the page is served
  bool is_open_ = false;
};

void serve(PageSource* source, const PageAddress& address, bool opens, const SourceFiles* sources) {
  PageServer server(source, address, sources);
  const OpenedPage opened(server.url(), opens);
  print(server.url() + "\n");
  if (!server.is_local()) {
    complain("warning: --listen " + address.address +
             ": whoever is told this address can read the page from other machines; nothing is encrypted");
  }
  complain(opened.is_open()    ? "serving the page in your browser until Ctrl-C"
           : server.is_local() ? "open this address in a browser on this machine; Ctrl-C ends the view"
                               : "open this address in a browser; Ctrl-C ends the view");
  server.serve();
}

// `sources`: nullptr where the page is to have none.
std::string page_text(const profile::Profile& profile, const std::string& title, SourceFiles* sources) {
  profile::PageOptions options;
  if (sources != nullptr) {
    sources->know(profile);
    options.source_address = SourceFiles::kAddress;
  }
  return profile::write_page(profile, title, options);
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool is_process(const std::string& input) {
  uint64_t pid = 0;
  std::error_code missing;
  return parse_pid(input, &pid) && !std::filesystem::exists(input, missing);
}

std::string title_of(const Options& options) {
  std::string title = options.inputs.size() == 1 ? "process" : "processes";
  for (size_t i = 0; i < options.inputs.size(); ++i) title += (i == 0 ? " " : ", ") + options.inputs[i];
  return title + (options.whole_run ? " and its run" : "");
}

// A series has no others, and neither has a process.
void require_no_sample_type(const Options& options) {
  if (!options.sample_type.empty())
    throw Failure("--sample-type: is for a pprof file by another profiler; leave it out");
}

void view_processes(const Options& options) {
  require_no_sample_type(options);
  if (options.source_maps) {
    throw Failure(
        "--source-maps: is for a profile in a file; memprof live PID -o FILE writes one of a process");
  }
  std::vector<RunningProcess> processes;
  for (const std::string& pid : std::set<std::string>(options.inputs.begin(), options.inputs.end())) {
    processes.push_back(find_process(pid));
  }
  profile::SourceRule rule{true, options.source_roots};
  for (const RunningProcess& process : processes) {
    if (!rule.is_own || options.is_elsewhere) break;
    rule = source_rule_of_process(process, options.source_roots);
  }
  LiveLooks looks(processes, options.whole_run, options.ask_servers);
  std::optional<LivePage::Recording> recording;
  if (options.record) recording = LivePage::Recording{*options.record, processes.front()};
  SourceFiles sources(rule);
  LivePage page(&looks, title_of(options), recording, options.sources_at(&sources), options.hidden);
  serve(&page, options.address, options.opens, options.sources_at(&sources));
  const std::string recorded = page.summary();
  if (!recorded.empty()) complain(recorded);
}

void view_file(const Options& options) {
  const std::string& input = options.inputs.front();
  if (options.whole_run || options.record) {
    throw Failure(std::string(options.record ? "--record" : "--run") + ": is for running processes; '" +
                  input + "' is no process id");
  }
  std::error_code unknown;
  const auto size = std::filesystem::file_size(input, unknown);
  if (!unknown && size >= kLargeBytes) {
    complain("reading " + input + ": " + profile::format_bytes(static_cast<double>(size)) +
             ", which takes a while");
  }
  SourceFiles files(options.is_elsewhere ? profile::SourceRule()
                                         : source_rule_of_file(input, options.source_roots));
  SourceFiles* const sources = options.sources_at(&files);
  if (profile::is_series(input)) {
    if (options.source_maps) {
      throw Failure(
          "--source-maps: is for one profile; memprof export FILE --at TIME -o OUT.pb.gz writes one of a series");
    }
    require_no_sample_type(options);
    SeriesFollower looks(input, options.ask_servers, options.hidden);
    LivePage page(&looks, file_name(input), {}, sources);
    return serve(&page, options.address, options.opens, sources);
  }
  const auto read = [&] {
    if (!is_own_profile(input)) files.distrust();  // it may be another file than before
    profile::Profile profile = with_source_lines(
        load_profile(input, options.ask_servers, options.sample_type, options.access), options.source_maps);
    if (options.hidden != nullptr) profile::hide_frames(*options.hidden, &profile);
    return page_text(profile, input == "-" ? profile.program : file_name(input), sources);
  };
  // What a pipe had is gone once it is read.
  if (input == "-" || !std::filesystem::is_regular_file(input, unknown)) {
    StillPage page(read());
    return serve(&page, options.address, options.opens, sources);
  }
  FilePage page(input, read);
  serve(&page, options.address, options.opens, sources);
}

}  // namespace

int view_command(const std::vector<std::string>& arguments) {
  const std::optional<Options> options = parse(arguments);
  if (!options) return 0;
  const auto other = std::find_if_not(options->inputs.rbegin(), options->inputs.rend(), is_process);
  if (other == options->inputs.rend()) {
    view_processes(*options);
  } else if (options->inputs.size() == 1) {
    view_file(*options);
  } else {
    throw Failure("view: '" + *other + "' is no process id; of several things to view all are processes");
  }
  return 0;
}

void view_profile(const profile::Profile& profile, const std::string& name) {
  SourceFiles sources(source_rule_of_file(name, {}));
  StillPage page(page_text(profile, file_name(name), &sources));
  serve(&page, {}, true, &sources);
}

}  // namespace memprof::cli
