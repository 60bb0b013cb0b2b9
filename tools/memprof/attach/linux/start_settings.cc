// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/start_settings.h"

#include "memprof.h"
#include "memprof/host/process/arena_files.h"
#include "memprof/io/arena_profile.h"
#include "profile/model/metric.h"
#include "profile/pprof/pprof_reader.h"

namespace memprof::cli {
namespace {

std::string at_work_there(uint64_t pid) {
  return "memprof is at work there already; `memprof live " + std::to_string(pid) + "` shows it";
}

// Whether what was started there records mappings: settled by the first start.
bool records_mappings(uint64_t pid) {
  int error = 0;
  const std::string arena = arena_of_process(pid, &error);
  const profile::Profile profile = profile::read_pprof(read_arena(arena).pprof.view(), arena);
  return profile.has_metric[profile::metric_index(profile::Metric::kMappedSpace)];
}

}  // namespace

std::string library_options(const AttachOptions& options) {
  memprof_options to{};
  to.struct_size = sizeof(to);
  to.rate_bytes = options.rate_bytes;
  to.budget_ppm = options.budget_ppm;
  to.follow_fork = options.follow_fork ? 1 : 0;
  to.python = options.python ? 0 : 1;
  to.native_interpreter = options.native_interpreter ? 1 : 0;
  to.mappings = options.mappings ? 1 : 0;
  return {reinterpret_cast<const char*>(&to), sizeof(to)};
}

uint32_t state_there(uint64_t pid) {
  int error = 0;
  const std::string arena = arena_of_process(pid, &error);
  memprof_snapshot* snapshot = nullptr;
  if (arena.empty() || memprof_snapshot_open(arena.c_str(), &snapshot) != MEMPROF_OK) {
    return MEMPROF_STATE_UNINITIALIZED;
  }
  memprof_stats stats{};
  stats.struct_size = sizeof(stats);
  memprof_snapshot_get_stats(snapshot, &stats);
  memprof_free_snapshot(snapshot);
  return stats.state;
}

std::string why_not_started(uint64_t pid, bool is_loaded, uint32_t state, const AttachOptions& options) {
  if (state == MEMPROF_STATE_UNINITIALIZED) return {};
  if (state == MEMPROF_STATE_ACTIVE) return at_work_there(pid);
  if (!is_loaded)
    return "memprof is linked into the program and was stopped; only the program can start it again";
  if (options.budget_ppm != 0) {
    return "memprof was begun there already, and keeps the budget that it had; attach without --budget";
  }
  if (options.mappings && !records_mappings(pid)) {
    return "memprof was begun there without --mmap, and does not record mappings later; attach without --mmap";
  }
  return {};
}

std::string why_start_failed(uint64_t pid, int error) {
  // Somebody else was first, since it was looked at.
  return error == MEMPROF_ERR_STATE && state_there(pid) == MEMPROF_STATE_ACTIVE
             ? at_work_there(pid)
             : std::string("memprof cannot start: ") + memprof_strerror(error);
}

std::string not_loaded(uint64_t pid) {
  return "memprof is not loaded there; `memprof attach " + std::to_string(pid) + "` loads and starts it";
}

}  // namespace memprof::cli
