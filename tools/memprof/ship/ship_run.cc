// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/ship_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/host/process/arena_folders.h"
#include "memprof/io/names/own_names.h"
#include "memprof/pressure/pressure_watch.h"
#include "memprof/ship/looks/shipped_profile.h"
#include "memprof/ship/scrape/listen_address.h"
#include "memprof/ship/scrape/scrape_server.h"
#include "memprof/ship/scrape/scraped_heap.h"
#include "memprof/ship/scrape/ship_health.h"
#include "memprof/ship/senders.h"
#include "memprof/ship/ship_metrics.h"
#include "memprof/ship/shipper.h"
#include "memprof/ship/stop_signals.h"
#include "profile/model/error.h"
#include "profile/model/estimate.h"
#include "profile/symbolize/cache/name_cache.h"
#include "profile/text/units.h"

namespace memprof::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kFindSeconds = 1;   // new processes are looked for so often
constexpr double kEndSeconds = 10;   // for what waits, at the end
constexpr double kLastSeconds = 60;  // the same after --count looks

// Two shippers would ship all processes twice.
std::unique_ptr<KeptPage> only_one_here(const std::string& spool) {
  const std::vector<std::string> places = arena_places();
  if (places.empty()) return nullptr;
  auto lock = std::make_unique<KeptPage>(fmt::format("{}/memprof-ship-{}.lock", places.front(), geteuid()));
  if (!lock->lock()) {
    throw Failure(
        "ship: another memprof ship (" + lock->read() +
        ") ships the processes of this user already; end it, or name processes: memprof ship PID...");
  }
  static_cast<void>(lock->write(fmt::format("process {}, spool {}", getpid(), spool)));
  return lock;
}

void say_end(const Shipper& shipper, Senders& senders, size_t waiting, const std::string& spool) {
  const LookCounts& looks = shipper.counts();
  complain(fmt::format("shipped {} looks of the last {} processes{}", looks.looks, looks.processes,
                       looks.delayed != 0 ? fmt::format("; {} were delayed", looks.delayed) : ""));
  for (const TargetFigures& target : senders.figures()) {
    const ShipCounts& counts = target.counts;
    const std::string partly = counts.partly != 0 ? fmt::format(", in part {}", counts.partly) : "";
    complain(fmt::format("{}: accepted {} ({} repeats){}, refused {}, too old {}, damaged {}; {} wait",
                         target.name, counts.accepted, counts.repeats, partly, counts.refused, counts.expired,
                         counts.damaged, target.waiting));
  }
  if (waiting != 0)
    complain("what waits is in " + shell_word(spool) + ", and is sent by the next memprof ship");
}

// The cache of names, where there is one.
class NamesKept {
 public:
  std::string metrics() const {
    return own_names() != nullptr ? name_metrics_text(own_names()->counts()) : "";
  }
  // Those of the first look are written when it is over, others in a while.  What goes wrong is said once.
  void keep() {
    if (own_names() == nullptr) return;
    if (std::exchange(is_first_, false)) {
      own_names()->save();
    } else {
      own_names()->save_if_due();
    }
    const std::string problem = own_names()->problem();
    if (!problem.empty() && problem != said_) {
      complain("ship: names are not kept for the next start: " + problem);
    }
    said_ = problem;
  }

 private:
  bool is_first_ = true;
  std::string said_;
};

// What is served to scrapers, where --listen was given.  It goes before what it names.
class Served {
 public:
  Served(const ShipOptions& options, ShippedProcesses& processes)
      : processes_(processes), serves_debuginfo_(options.serves_debuginfo) {
    if (options.listen.empty()) return;
    ScrapedShipper shipper;
    shipper.processes = &processes;
    shipper.processes_mutex = &mutex_;
    shipper.health = &health;
    shipper.serves_debuginfo = options.serves_debuginfo;
    shipper.metrics = [this] { return figures(); };
    server_ = std::make_unique<ScrapeServer>(parse_listen_address(options.listen), shipper);
  }

  // `figures`: of the targets and the spool.
  void start(std::function<std::string(const LookCounts&)> figures) {
    figures_ = std::move(figures);
    if (server_ == nullptr) return;
    server_->start();
    complain("ship: serves http://" + server_->host() + kHeapPath +
             (serves_debuginfo_ ? ", and files of programs by build id," : "") +
             (server_->is_local()
                  ? " to all users of this machine"
                  : " to everyone who reaches this address: there is no password and no encryption"));
  }
  // Before what it serves goes.
  void stop() { server_.reset(); }

  // Scrapers wait meanwhile.
  void with_processes(const std::function<void()>& act) {
    const std::lock_guard<std::mutex> lock(mutex_);
    act();
    if (server_ != nullptr) server_->watch(processes_);
    names_.keep();
    health.beat();
  }
  void know(const LookCounts& counts) {
    const std::lock_guard<std::mutex> lock(counts_mutex_);
    counts_ = counts;
  }
  // As /metrics has it.
  std::string metrics() { return figures() + (server_ != nullptr ? server_->metrics() : ""); }

  ShipHealth health;

 private:
  std::string figures() {
    LookCounts counts;
    {
      const std::lock_guard<std::mutex> lock(counts_mutex_);
      counts = counts_;
    }
    return figures_(counts) + names_.metrics();
  }

  ShippedProcesses& processes_;
  const bool serves_debuginfo_;
  std::mutex mutex_;  // of the processes
  std::mutex counts_mutex_;
  LookCounts counts_;
  std::function<std::string(const LookCounts&)> figures_;
  NamesKept names_;
  std::unique_ptr<ScrapeServer> server_;
};

// Nothing is sent: who comes for it gets it.
int only_serve(const ShipOptions& options) {
  StopSignals signals;
  ShippedProcesses processes(options.labels, options.only, options.sees_containers);
  Served served(options, processes);
  served.start([](const LookCounts& counts) { return metrics_text(counts, {}, 0); });
  bool have_ended = false;
  do {
    LookCounts counts;
    served.with_processes([&] {
      processes.find();
      processes.remove_ended();
      counts.processes = processes.all().size();
      have_ended = processes.is_over();
    });
    served.know(counts);
    served.health.begun();
  } while (!have_ended && !signals.wait(kFindSeconds));
  served.stop();
  return 0;
}

}  // namespace

int ship(const ShipOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);
  if (options.targets.empty()) return only_serve(options);
  std::unique_ptr<KeptPage> lock;
  if (options.only.empty()) lock = only_one_here(options.spool);
  StopSignals signals;
  ShippedProcesses processes(options.labels, options.only, options.sees_containers);
  Spool spool(options.spool, options.spool_bytes);
  Senders senders(options.targets, options.network, options.spool_age_ms, spool);
  Shipper shipper(processes, spool, [&](const QueuedLook& look) { senders.add(look); });
  Served served(options, processes);
  senders.start();
  std::string names;
  for (const TargetFigures& target : senders.figures()) names += (names.empty() ? "" : ", ") + target.name;
  complain(fmt::format(
      "ship: a look every {} to {}, by way of {}{}", profile::format_duration_ns(options.every_s * 1e9),
      names, options.spool,
      spool.waiting().empty() ? "" : fmt::format("; {} looks wait there", spool.waiting().size())));
  served.start(
      [&](const LookCounts& counts) { return metrics_text(counts, senders.figures(), spool.bytes()); });
  bool have_ended = false;
  PressureWatch pressure;
  const auto know = [&] {
    LookCounts counts = shipper.counts();
    counts.stall = pressure.longest_stall();
    served.know(counts);
  };
  const auto look = [&](const std::vector<Pressure>& pressures) {
    shipper.look(pressures);
    have_ended = processes.is_over();
    know();
    for (const std::string& note : shipper.take_notes()) complain("ship: " + note);
  };
  const auto look_at_all = [&] {
    served.with_processes([&] { look(pressure.check(processes.pids())); });
    served.health.begun();
  };
  const auto look_where_new = [&] {
    served.with_processes([&] {
      processes.find();
      const std::vector<Pressure> pressures = pressure.check(processes.pids());
      if (!pressures.empty()) {
        look(pressures);
      } else {
        know();
      }
    });
  };
  const auto write = [&] {
    if (!options.metrics_file.empty()) write_metrics(options.metrics_file, served.metrics());
  };
  const auto every =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.every_s));
  auto next = Clock::now();
  size_t rounds = 0;
  bool is_over = false;
  while (!is_over) {
    look_at_all();
    ++rounds;
    write();
    if ((options.count && rounds >= *options.count) || have_ended) break;
    next = std::max(next + every, Clock::now());
    while (!is_over && !have_ended && Clock::now() < next) {
      const double left = std::chrono::duration<double>(next - Clock::now()).count();
      is_over = signals.wait(std::min(left, kFindSeconds));
      look_where_new();
    }
    if (is_over) look_at_all();
  }
  const size_t waiting = senders.finish(options.count || have_ended ? kLastSeconds : kEndSeconds);
  write();
  served.stop();
  say_end(shipper, senders, waiting, options.spool);
  return options.count && waiting != 0 ? 1 : 0;
}

std::string ship_plan(const ShipOptions& options) {
  for (const std::string& target : options.targets) make_target(target, options.network);
  ShippedProcesses processes(options.labels, options.only, options.sees_containers);
  processes.find();
  std::string text;
  for (auto& [arena, process] : processes.all()) {
    const RunningProcess& running = process.looks->process();
    try {
      profile::Profile profile = process.looks->look(false);
      const double held = profile::estimated_total(profile, profile::Metric::kInuseSpace);
      const size_t stacks = profile.stacks.size();
      const ShippedProfile shipped = write_shipped(shipped_view(std::move(profile)));
      text += fmt::format("{} ({}): holds {}, {} stacks, {} a look: {}\n", running.program, running.pid,
                          profile::format_bytes(held), stacks,
                          profile::format_bytes(static_cast<double>(shipped.pprof.size())),
                          label_text(process.labels));
    } catch (const profile::Error& error) {
      text += fmt::format("{} ({}): {}\n", running.program, running.pid, error.what());
    }
  }
  if (text.empty()) text = "no process that has memprof in it, and that this user may read, runs here\n";
  return text;
}

std::string usual_spool() {
  if (geteuid() == 0) return "/var/lib/memprof/ship";
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/memprof/ship";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/') throw Failure("ship: HOME is not set; give a folder with --spool");
  return std::string(home) + "/.local/state/memprof/ship";
}

std::string host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof(name) - 1) != 0 || *name == '\0') return "unknown";
  return name;
}

}  // namespace memprof::cli
