// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/view_command.h"

#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "memprof/console/arguments.h"
#include "memprof/console/browser.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/host/process/process_ids.h"
#include "memprof/io/page_server.h"
#include "memprof/io/process_looks.h"
#include "memprof/io/profile_input.h"
#include "profile/model/error.h"
#include "profile/page/page_html.h"

namespace memprof::cli {
namespace {

constexpr char kHelp[] =
    R"(usage: memprof view FILE|PID [--no-open] [--port PORT] [--no-debuginfod]

Shows a profile in the browser: a flame graph (as an icicle graph, from the root
down) and a table, with intervals, search, callers and callees. FILE is a pprof
file, by memprof or others; `-` is standard input. Of a running process with
memprof in it, each reload of the page shows what it holds by then.

The page is served to this machine only (127.0.0.1), at an address with a random
token, until Ctrl-C. `memprof export FILE -o report.html` writes the same page as
a file, to send or keep.

  --no-open        print the address and do not open a browser
  --port PORT      serve at this port (any that is free)
  --no-debuginfod  do not contact the servers in DEBUGINFOD_URLS
)";

constexpr size_t kMostPort = 65535;

void serve(std::function<std::string()> page, uint16_t port, bool opens) {
  PageServer server(std::move(page), port);
  const bool is_open = opens && open_in_browser(server.url());
  print(server.url() + "\n");
  complain(is_open ? "serving the page in your browser until Ctrl-C"
                   : "open this address in a browser on this machine; Ctrl-C ends the view");
  server.serve();
}

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// What a process holds at each request; when it is gone, what it held at the last.
std::function<std::string()> page_of_process(const std::string& pid, AskServers ask_servers) {
  const auto looks = std::make_shared<ProcessLooks>(find_process(pid), ask_servers);
  const auto last = std::make_shared<std::string>();
  const auto look = [looks, last, pid] {
    *last = profile::write_page(looks->look(false), "process " + pid);
    return *last;
  };
  static_cast<void>(look());  // what is wrong with it is said now
  return [look, last] {
    try {
      return look();
    } catch (const profile::Error& error) {
      complain(std::string(error.what()) + "; the page shows the last look");
      return *last;
    }
  };
}

}  // namespace

int view_command(const std::vector<std::string>& arguments) {
  ArgumentParser parser("view");
  std::string input;
  std::string port_text;
  parser.add_option("FILE", input);
  parser.add_option("--port", port_text);
  parser.add_flag("--no-open");
  parser.add_flag("--no-debuginfod");
  if (parser.parse(arguments)) {
    print(kHelp);
    return 0;
  }
  if (input.empty()) throw Failure("view: no profile given; usage: memprof view FILE");
  const size_t port = port_text.empty() ? 0 : parse_count("--port", port_text);
  if (port > kMostPort) throw Failure("--port: '" + port_text + "' is not a port; give 1 to 65535");
  const AskServers ask_servers = parser.is_given("--no-debuginfod") ? AskServers::kNo : AskServers::kYes;
  uint64_t pid = 0;
  std::error_code missing;
  std::function<std::string()> page;
  if (parse_pid(input, &pid) && !std::filesystem::exists(input, missing)) {
    page = page_of_process(input, ask_servers);
  } else {
    const profile::Profile profile = load_profile(input, ask_servers);
    page = [text = profile::write_page(profile, input == "-" ? profile.program : file_name(input))] {
      return text;
    };
  }
  serve(std::move(page), static_cast<uint16_t>(port), !parser.is_given("--no-open"));
  return 0;
}

void view_profile(const profile::Profile& profile, const std::string& name) {
  serve([text = profile::write_page(profile, file_name(name))] { return text; }, 0, true);
}

}  // namespace memprof::cli
