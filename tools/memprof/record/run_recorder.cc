// SPDX-License-Identifier: Apache-2.0
#include "memprof/record/run_recorder.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <utility>

#include "memprof/console/console.h"
#include "memprof/record/run_looks.h"
#include "profile/compare/merge.h"

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
  RunLook look = look_at_run(arenas_, run_token_, &resident_);
  if (look.profiles.empty()) return;
  for (const profile::Profile& profile : look.profiles) names_.add(profile);
  add_names(names_, choice_.ask_servers);
  profile::Merger merger;
  for (profile::Profile& profile : look.profiles) {
    names_.apply(profile);
    merger.add(profile);
  }
  recorder_.add(merger.take(), look.pids);
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
