// SPDX-License-Identifier: Apache-2.0
#include "memprof/record/run_recorder.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "memprof/console/console.h"
#include "memprof/host/process/arena_files.h"
#include "memprof/io/arena_profile.h"
#include "profile/compare/merge.h"
#include "profile/pprof/pprof_reader.h"

namespace memprof::cli {
namespace {

// Between two looks this many times what the one before took of a processor.  The first one reads names, and takes long.
constexpr int kPause = 3;

}  // namespace

RunRecorder::RunRecorder(std::string arenas, uint64_t run_token, std::string path, const RecordChoice& choice,
                         std::string program, uint64_t pid)
    : arenas_(std::move(arenas)),
      run_token_(run_token),
      choice_(choice),
      recorder_(std::move(path), choice, std::move(program), pid) {}

RunRecorder::~RunRecorder() {
  stop();
}

void RunRecorder::start() {
  if (arenas_.empty()) {
    error_ = "there is no folder for shared files (/dev/shm), where processes can be looked at";
  } else if (!thread_.start([this] { run(); })) {
    error_ = "the system gives no thread for it (ulimit -u, ulimit -v)";
  }
}

void RunRecorder::run() {
  using Clock = std::chrono::steady_clock;
  const auto every = std::chrono::nanoseconds(choice_.every_ns);
  auto next = Clock::now() + every;
  while (true) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      if (changed_.wait_until(lock, next, [this] { return stopping_; })) return;
    }
    const auto before = processor_time_of_thread();
    try {
      look();
    } catch (const std::exception& error) {
      error_ = error.what();
      return;
    }
    next = std::max(next + every, Clock::now() + kPause * (processor_time_of_thread() - before));
  }
}

void RunRecorder::look() {
  std::vector<profile::Profile> profiles;
  std::vector<uint64_t> pids;
  for (const ArenaFile& file : find_arenas(arenas_)) {
    if (owner_of(file) != Owner::kLives) continue;
    const ArenaBeginning beginning = read_beginning(file.path);
    if (!beginning.is_begun || beginning.run_token != run_token_) continue;
    try {
      ResidentReads& resident = resident_[file.pid];
      resident.pid = file.pid;
      profiles.push_back(profile::read_pprof(read_arena(file.path, &resident).pprof.view(), file.path));
    } catch (const profile::Error&) {
      continue;  // it has ended meanwhile
    }
    pids.push_back(file.pid);
    add_jit_names(profiles.back());
    names_.add(profiles.back());
  }
  if (profiles.empty()) return;
  add_names(names_, choice_.ask_servers);
  profile::Merger merger;
  for (profile::Profile& profile : profiles) {
    names_.apply(profile);
    merger.add(profile);
  }
  recorder_.add(merger.take(), pids);
}

void RunRecorder::stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::string RunRecorder::finish() {
  stop();
  if (error_.empty()) return recorder_.summary();
  if (recorder_.looks() == 0) return "warning: nothing was recorded: " + error_;
  return "warning: the recording ended early: " + error_ + "; " + recorder_.summary();
}

}  // namespace memprof::cli
