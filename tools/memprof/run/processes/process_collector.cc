// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/processes/process_collector.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "format/files/arena_name.h"
#include "memprof/io/arena_profile.h"
#include "memprof/io/profile_input.h"
#include "profile/files/atomic_file.h"
#include "profile/pprof/pprof_reader.h"

namespace memprof::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kFirstPause = std::chrono::milliseconds(10);
constexpr auto kMinPause = std::chrono::milliseconds(100);
constexpr auto kMinWholePause = std::chrono::seconds(60);
// One part in so many of a processor is what looks take: while things happen in the run, while nothing does, and those
// at all processes of the machine.
constexpr int kShareOfNews = 20;
constexpr int kShareOfNothing = 2500;
constexpr int kShareOfWhole = 10000;
constexpr char kSuffix[] = ".pb";

}  // namespace

ProcessCollector::ProcessCollector(std::string arenas, std::string profiles, const RunIdentity& run)
    : arenas_(std::move(arenas)),
      profiles_(std::move(profiles)),
      run_token_(run.token),
      tally_(run.follow ? arenas_ : "", run.token),
      watched_(run.pid, std::to_string(run.token), run.follow),
      executed_(tally_.tally()),
      events_(arenas_) {}

ProcessCollector::~ProcessCollector() {
  stop();
}

bool ProcessCollector::start() {
  return events_.is_usable() && thread_.start([this] { run(); });
}

void ProcessCollector::run() {
  // The first looks come soon: there are programs that do not live for long.
  auto min = Duration(kFirstPause);
  Duration pause = min;
  Clock::time_point next_whole = Clock::now() + kMinWholePause;
  RunEvents::News news;
  for (;;) {
    // What happens while we rest is there at its end: no event makes looks come more often than that.
    if (events_.rest(min)) return;
    news = events_.wait(pause - min);
    if (news.is_woken) return;
    try {
      const bool is_whole = Clock::now() >= next_whole;
      Duration took = processor_time_of_thread();
      const UnseenProcesses::Changes changes = look(news, is_whole);
      took = processor_time_of_thread() - took;
      const bool is_news = news.is_any() || changes.is_any || changes.is_open || !unseen_.empty();
      if (!arenas_.empty() && (is_news || is_whole || !events_.tells_of_files())) {
        took += collect(Which::kOfTheDead);
      }
      min = std::min<Duration>(2 * min, kMinPause);
      if (is_whole) {
        next_whole = Clock::now() + std::max<Duration>(kMinWholePause, took * kShareOfWhole);
        pause = min;
      } else {
        min = std::max(min, is_news ? took * kShareOfNews : min);
        pause = std::max(min, is_news ? min : took * kShareOfNothing);
      }
    } catch (const std::exception&) {
      return;  // out of memory: finish() does what it can
    }
  }
}

UnseenProcesses::Changes ProcessCollector::look(const RunEvents::News& news, bool is_whole) {
  UnseenProcesses::Changes changes;
  if (is_whole) {
    changes = watched_.look_at_all();
  } else if (news.has_files) {
    changes = watched_.look_at_unseen(news.ended);
  } else {
    changes = watched_.look(news.ended);
  }
  for (const uint64_t pid : changes.begun) events_.watch_end(pid);
  executed_.look();
  return changes;
}

void ProcessCollector::stop() {
  events_.wake();
  thread_.join();
}

Collected ProcessCollector::finish() {
  stop();
  watched_.look_at_all();
  if (!arenas_.empty()) collect(Which::kAll);
  // What processes wrote themselves.
  std::vector<std::string> known;
  for (const ProcessProfile& process : collected_.processes) known.push_back(process.path);
  std::error_code error;
  for (std::filesystem::directory_iterator entry(profiles_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string path = entry->path();
    if (entry->path().extension() == kSuffix && is_plain_file(path) &&
        std::find(known.begin(), known.end(), path) == known.end()) {
      try {
        forget_last();
        ProcessProfile process;
        process.path = path;
        add(std::make_shared<LeftProfile>(profile::read_pprof_file(path)), std::move(process));
      } catch (const std::exception& reason) {
        add_unreadable(reason);
      }
    }
  }
  take_unseen();
  const auto is_counted = [this](const UnseenProcess& unseen) {
    return tally_.has(unseen.pid, unseen.process_start);
  };
  const auto counted =
      static_cast<uint64_t>(std::count_if(collected_.unseen.begin(), collected_.unseen.end(), is_counted));
  collected_.with_memprof = tally_.processes() - std::min(tally_.processes(), counted);
  return std::move(collected_);
}

bool is_overruled(const UnseenProcess& unseen, const ProcessProfile& process) {
  if (process.pid != unseen.pid) return false;
  if (process.start_ns == 0) return unseen.has_library;  // what a process wrote itself has no times
  if (!RunTally::is_same({process.pid, process.process_start}, {unseen.pid, unseen.process_start}))
    return false;
  // The kernel cuts names.
  constexpr size_t kLongestName = 15;
  const bool is_of_program =
      process.program.substr(0, kLongestName) == unseen.program.substr(0, kLongestName);
  return process.start_ns > unseen.seen_ns || (unseen.has_library && is_of_program && process.samples != 0);
}

bool ProcessCollector::is_overruled_by_profile(const UnseenProcess& unseen) const {
  const auto& processes = collected_.processes;
  return std::any_of(processes.begin(), processes.end(),
                     [&](const ProcessProfile& process) { return is_overruled(unseen, process); });
}

void ProcessCollector::take_unseen() {
  const std::vector<UnseenProcess> seen = watched_.processes();
  const auto wrote_itself = [&](const UnseenProcess& executed) {
    const auto& all = collected_.processes;
    return std::any_of(all.begin(), all.end(), [&](const ProcessProfile& process) {
      return process.pid == executed.pid && process.start_ns == 0;
    });
  };
  const auto is_known = [&](const UnseenProcess& executed) {
    return wrote_itself(executed) || UnseenProcesses::lives(executed.pid, executed.process_start) ||
           is_overruled_by_profile(executed) ||
           std::any_of(seen.begin(), seen.end(), [&](const UnseenProcess& unseen) {
             return RunTally::is_same({unseen.pid, unseen.process_start},
                                      {executed.pid, executed.process_start});
           });
  };
  ExecutedPrograms::Found executed = executed_.take(is_known);
  std::copy_if(seen.begin(), seen.end(), std::back_inserter(collected_.unseen),
               [this](const UnseenProcess& unseen) { return !is_overruled_by_profile(unseen); });
  std::move(executed.processes.begin(), executed.processes.end(), std::back_inserter(collected_.unseen));
  collected_.more_unseen = watched_.more() + executed.more;
}

ProcessCollector::Duration ProcessCollector::collect(Which which) {
  const Duration before = processor_time_of_thread();
  std::set<std::string> unseen;
  std::vector<std::pair<ArenaFile, bool>> found;  // and whether it still runs
  for (ArenaFile& file : find_arenas(arenas_)) {
    if (stuck_.count(file.path) != 0) continue;
    const Owner owner = owner_of(file);
    // What a run starts is in our namespace or in one below, so we see it as long as it lives; at the second
    // look, as a process can come while we look.
    const bool is_gone = owner == Owner::kIsGone || (owner == Owner::kUnknown &&
                                                     (which == Which::kAll || unseen_.count(file.path) != 0));
    if (owner == Owner::kUnknown && !is_gone) unseen.insert(file.path);
    if (owner == Owner::kLives && is_same_namespace(file)) events_.watch_end(file.pid);
    if (is_gone || which == Which::kAll) found.emplace_back(std::move(file), !is_gone);
  }
  unseen_ = std::move(unseen);
  const Duration took = processor_time_of_thread() - before;
  for (const auto& [file, still_runs] : found) collect(file, still_runs);
  return took;
}

void ProcessCollector::collect(const ArenaFile& file, bool still_runs) {
  const ArenaBeginning beginning = read_beginning(file.path);
  if (!beginning.is_file || (beginning.is_begun && beginning.run_token != run_token_)) {
    ++collected_.foreign;
  } else if (collected_.processes.size() >= kMaxProcesses) {
    ++collected_.left_out;
  } else if (beginning.is_begun) {  // one that was killed while it made its arena had no sample
    const std::string name = std::filesystem::path(file.path).stem();
    ProcessProfile process;
    process.path = profiles_ + "/" + name + "-" + std::to_string(collected_.processes.size()) + kSuffix;
    process.arena = name + kArenaSuffix;
    process.process_start = file.process_start;
    process.pid_namespace = file.pid_namespace;
    process.still_runs = still_runs;
    try {
      forget_last();
      profile::AtomicFile left(process.path, profile::IfExists::kReplace);
      const ArenaFacts facts = write_arena(file.path, left.fd());
      left.commit();
      process.start_ns = facts.start_ns;
      process.has_ended = facts.has_ended;
      const auto profile = std::make_shared<LeftProfile>(map_profile(process.path), file.path);
      add(profile, std::move(process));
    } catch (const std::exception& error) {
      add_unreadable(error);
    }
  }
  if (unlink(file.path.c_str()) != 0 && errno != ENOENT) stuck_.insert(file.path);
}

void ProcessCollector::add_unreadable(const std::exception& reason) {
  if (collected_.unreadable++ == 0) collected_.unreadable_why = reason.what();
}

void ProcessCollector::forget_last() {
  for (ProcessProfile& process : collected_.processes) process.profile.reset();
}

void ProcessCollector::add(const std::shared_ptr<LeftProfile>& left, ProcessProfile process) {
  const profile::Profile& profile = left->profile();
  const size_t functions = profile.functions.size();
  add_jit_names(left->profile());
  // These names vanish with the process.
  if (profile.functions.size() != functions) static_cast<void>(left->write(process.path, true));
  process.program = profile.program;
  process.command_line = profile.command_line;
  process.pid = profile.pid;
  process.samples = profile.samples;
  process.has_mappings = left->total(profile::Metric::kMappedObjects) > 0;
  process.dropped_samples = profile.dropped_samples;
  process.rate_bytes = profile.rate_bytes;
  process.peak_bytes = left->total(profile::Metric::kPeakSpace);
  process.live_bytes = left->total(profile::Metric::kInuseSpace);
  process.allocated_bytes = left->total(profile::Metric::kAllocSpace);
  process.own_max_resident_bytes = profile.max_resident_bytes;
  process.bypassing_libraries = profile.bypassing_libraries;
  process.profile = left;
  collected_.processes.push_back(std::move(process));
}

}  // namespace memprof::cli
