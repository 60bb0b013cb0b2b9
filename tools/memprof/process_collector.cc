// SPDX-License-Identifier: Apache-2.0
#include "memprof/process_collector.h"

#include <signal.h>
#include <sys/stat.h>
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
#include "profile/metric.h"
#include "profile/pprof_reader.h"
#include "profile/pprof_writer.h"

namespace memprof::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kLeastPause = std::chrono::milliseconds(100);
// A look at the processes takes at most this share of the time.
constexpr int kLookShare = 20;
constexpr char kSuffix[] = ".pb";

// Whether anything was written to the file: a new one has no memory.
bool is_begun(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && status.st_blocks != 0;
}

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
    if (entry->path().extension() == kSuffix && std::find(known.begin(), known.end(), path) == known.end()) {
      try {
        add(profile::read_pprof_file(path), "", path, false, true);
      } catch (const std::exception&) {
        ++collected_.unreadable;
      }
    }
  }
  return std::move(collected_);
}

void ProcessCollector::collect(Which which) {
  for (const ArenaFile& file : find_arenas(arenas_)) {
    const bool is_gone = owner_of(file) == Owner::kIsGone;
    if (is_gone || which == Which::kAll) collect(file, !is_gone);
  }
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
    } catch (const std::exception&) {
      // One that was killed while it made its arena had no sample.
      collected_.unreadable += is_begun(file.path) ? 1 : 0;
    }
  }
  unlink(file.path.c_str());
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
  for (const profile::Stack& stack : profile.stacks) {
    process.live_bytes += stack.values[profile::metric_index(profile::Metric::kInuseSpace)];
    process.allocated_bytes += stack.values[profile::metric_index(profile::Metric::kAllocSpace)];
  }
  process.still_runs = still_runs;
  process.has_ended = has_ended;
  collected_.processes.push_back(std::move(process));
}

}  // namespace memprof::cli
