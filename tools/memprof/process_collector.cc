// SPDX-License-Identifier: Apache-2.0
#include "memprof/process_collector.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

#include "memprof/arena_profile.h"
#include "memprof/profile_input.h"
#include "profile/atomic_file.h"
#include "profile/estimate.h"
#include "profile/pprof_reader.h"
#include "profile/pprof_writer.h"

namespace memprof::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLeastPause = std::chrono::milliseconds(100);
// A look at the processes takes at most this share of the time.
constexpr int kLookShare = 20;
constexpr char kSuffix[] = ".pb";

}  // namespace

ProcessCollector::ProcessCollector(std::string arenas, std::string profiles)
    : arenas_(std::move(arenas)), profiles_(std::move(profiles)) {}

ProcessCollector::~ProcessCollector() {
  stop();
}

void ProcessCollector::start() {
  if (arenas_.empty()) return;
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ProcessCollector::run() {
  auto pause = Clock::duration(kLeastPause);
  for (;;) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (changed_.wait_for(lock, pause, [this] { return stopping_; })) return;
    lock.unlock();
    const auto before = Clock::now();
    collect(Which::kOfTheDead);
    pause = std::max<Clock::duration>(kLeastPause, (Clock::now() - before) * kLookShare);
  }
}

void ProcessCollector::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Collected ProcessCollector::finish() {
  stop();
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
        add(profile::read_pprof_file(path), "", path, false, true);
      } catch (const std::exception& reason) {
        add_unreadable(reason);
      }
    }
  }
  return std::move(collected_);
}

void ProcessCollector::collect(Which which) {
  std::set<std::string> unseen;
  for (const ArenaFile& file : find_arenas(arenas_)) {
    const Owner owner = owner_of(file);
    // What a run starts is in our namespace or in one below, so we see it as long as it lives; at the second
    // look, as a process can come while we look.
    const bool is_gone = owner == Owner::kIsGone || (owner == Owner::kUnknown &&
                                                     (which == Which::kAll || unseen_.count(file.path) != 0));
    if (owner == Owner::kUnknown && !is_gone) unseen.insert(file.path);
    if (is_gone || which == Which::kAll) collect(file, !is_gone);
  }
  unseen_ = std::move(unseen);
}

void ProcessCollector::collect(const ArenaFile& file, bool still_runs) {
  if (collected_.processes.size() >= kMostProcesses) {
    ++collected_.left_out;
  } else {
    const std::string name = std::filesystem::path(file.path).stem();
    const std::string profile =
        profiles_ + "/" + name + "-" + std::to_string(collected_.processes.size()) + kSuffix;
    try {
      const ArenaContent content = read_arena(file.path);
      add(profile::read_pprof(content.pprof, file.path), content.pprof, profile, still_runs,
          content.has_ended);
    } catch (const std::exception& error) {
      // One that was killed while it made its arena had no sample.
      if (is_begun(file.path)) add_unreadable(error);
    }
  }
  unlink(file.path.c_str());
}

void ProcessCollector::add_unreadable(const std::exception& reason) {
  if (collected_.unreadable++ == 0) collected_.unreadable_why = reason.what();
}

void ProcessCollector::add(profile::Profile profile, const std::string& pprof, const std::string& path,
                           bool still_runs, bool has_ended) {
  const size_t functions = profile.functions.size();
  add_jit_names(profile);
  profile::PprofWriteOptions options;
  options.gzip = false;
  const bool has_more = profile.functions.size() != functions;
  if (has_more || !pprof.empty()) {
    profile::write_file_atomically(path, has_more ? profile::write_pprof(profile, options) : pprof,
                                   profile::IfExists::kReplace);
  }
  ProcessProfile process;
  process.path = path;
  process.program = profile.program;
  process.pid = profile.pid;
  process.samples = profile.samples;
  process.dropped_samples = profile.dropped_samples;
  process.rate_bytes = profile.rate_bytes;
  process.live_bytes = profile::estimated_total(profile, profile::Metric::kInuseSpace);
  process.allocated_bytes = profile::estimated_total(profile, profile::Metric::kAllocSpace);
  process.still_runs = still_runs;
  process.has_ended = has_ended;
  collected_.processes.push_back(std::move(process));
}

}  // namespace memprof::cli
