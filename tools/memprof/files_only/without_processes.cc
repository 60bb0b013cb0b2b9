// SPDX-License-Identifier: Apache-2.0
// In place of a folder of a system (host/linux) and of the commands that need one: no process is seen, none is started.
// What reads files needs nothing else of a system than POSIX.
#include <cerrno>
#include <cstdio>

#include <unistd.h>

#include "memprof/commands/attach_command.h"
#include "memprof/commands/doctor_command.h"
#include "memprof/commands/list_command.h"
#include "memprof/commands/live_command.h"
#include "memprof/commands/run_command.h"
#include "memprof/commands/ship_command.h"
#include "memprof/console/failure.h"
#include "memprof/host/process/arena_files.h"
#include "memprof/host/process/memory_figures.h"
#include "memprof/host/process/running_process.h"
#include "memprof/host/system/memory_file.h"
#include "memprof/run/profiled_run.h"
#include "memprof/run/python_program.h"

namespace memprof::cli {
namespace {

[[noreturn]] void refuse(const std::string& what) {
  throw Failure(what + ": this build of memprof reads files only, and knows nothing of processes");
}

}  // namespace

int attach_command(const std::vector<std::string>& /*arguments*/) {
  refuse("attach");
}

int clean_command(const std::vector<std::string>& /*arguments*/) {
  refuse("clean");
}

int doctor_command(const std::vector<std::string>& /*arguments*/) {
  refuse("doctor");
}

int list_command(const std::vector<std::string>& /*arguments*/) {
  refuse("list");
}

int live_command(const std::vector<std::string>& /*arguments*/) {
  refuse("live");
}

int run_command(const std::vector<std::string>& /*arguments*/) {
  refuse("run");
}

int ship_command(const std::vector<std::string>& /*arguments*/) {
  refuse("ship");
}

FinishedRun run_profiled(const RunOptions& options) {
  refuse(options.command.empty() ? "run" : options.command.front());
}

std::vector<std::string> with_python(const std::vector<std::string>& command) {
  return command;
}

RunningProcess find_process(const std::string& text) {
  refuse(text);
}

bool is_running(uint64_t /*pid*/) {
  return false;
}

bool is_own_process(uint64_t /*pid*/) {
  return false;
}

bool is_missing(const std::string& path) {
  return access(path.c_str(), F_OK) != 0 && errno == ENOENT;
}

uint64_t resident_bytes(uint64_t /*pid*/) {
  return 0;
}

std::vector<ArenaFile> find_arenas(const std::string& /*folder*/) {
  return {};
}

Owner owner_of(const ArenaFile& /*file*/) {
  return Owner::kUnknown;
}

std::map<std::string, uint64_t> read_memory_figures(const std::vector<uint64_t>& /*pids*/) {
  return {};
}

void add_proportional_size(const std::vector<uint64_t>& /*pids*/,
                           std::map<std::string, uint64_t>* /*figures*/) {}

int make_memory_file() {
  std::FILE* const file = std::tmpfile();
  if (file == nullptr) return -1;
  const int descriptor = dup(fileno(file));
  const int error = errno;
  std::fclose(file);
  errno = error;
  return descriptor;
}

}  // namespace memprof::cli
