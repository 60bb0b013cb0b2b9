// SPDX-License-Identifier: Apache-2.0
// The public C API (include/memprof.h): the life cycle of the profiler, its options and errors, profiles as files.
// Its statistics: statistics.cc; snapshots: snapshot.cc.
#include "memprof.h"

#include <cstddef>
#include <cstring>

#include "capi/call.h"
#include "core/engine/facts.h"
#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "core/engine/runtimes.h"
#include "core/mappings/mappings.h"
#include "core/reader/runtime_code.h"
#include "dump/dump.h"
#include "format/allocators/late_patches.h"
#include "platform/imports.h"
#include "platform/messages.h"
#include "platform/modules.h"

using memprof::Limits;
using memprof::capi::KeepErrno;
using memprof::mappings::Recording;
namespace platform = memprof::platform;
namespace profiler = memprof::profiler;

static_assert(MEMPROF_USE_NOTHING == static_cast<int>(memprof::runtimes::Use::kNothing) &&
              MEMPROF_USE_STACKS == static_cast<int>(memprof::runtimes::Use::kStacksOnly));
static_assert(MEMPROF_DEFAULT_RATE_BYTES == memprof::kDefaultRateBytes);
static_assert(MEMPROF_RATE_STARTS_FINE > memprof::kMaxRateBytes);

namespace {

// The first version of the struct: what every caller has.
constexpr uint32_t kOptionsBytes = 40;
static_assert(offsetof(memprof_options, python) == kOptionsBytes);

int to_error(memprof::Status status) {
  switch (status) {
    case memprof::Status::kOk:
      return MEMPROF_OK;
    case memprof::Status::kWrongState:
      return MEMPROF_ERR_STATE;
    case memprof::Status::kNoMemory:
      return MEMPROF_ERR_NO_MEMORY;
    case memprof::Status::kForked:
      return MEMPROF_ERR_FORKED;
  }
  return MEMPROF_ERR_STATE;
}

// `patch`: of platform/imports.h.
int hook_imports(bool (*patch)()) {
  if (profiler::has_hooks()) {
    return MEMPROF_OK;
  }
  // As in profiler::start: a fork child is told so in every state.
  if (!profiler::become_owner()) {
    return MEMPROF_ERR_FORKED;
  }
  const memprof::State state = profiler::state();
  if (state != memprof::State::kInitialized && state != memprof::State::kStopped) {
    return MEMPROF_ERR_STATE;
  }
  return patch() ? MEMPROF_OK : MEMPROF_ERR_NO_HOOKS;
}

// Before the first start; later ones find it as it is.
void configure_runtimes(const memprof::runtimes::Settings& settings) {
  if (profiler::state() == memprof::State::kUninitialized) {
    memprof::runtimes::configure(settings);
  }
}

void configure_mappings(Recording recording) {
  if (profiler::state() == memprof::State::kUninitialized) {
    memprof::mappings::configure(recording);
  }
}

// false: a value is out of range.
bool read_runtimes(const memprof_options& options, memprof::runtimes::Settings* settings) {
  settings->native_interpreter = options.native_interpreter != 0;
  uint32_t uses[MEMPROF_MAX_RUNTIMES];
  memcpy(uses, options.runtimes, sizeof(uses));
  uint32_t& python = uses[MEMPROF_RUNTIME_CPYTHON - 1];
  python = python != 0 ? python : options.python;
  for (uint32_t i = 0; i < memprof::kMaxRuntimes; ++i) {
    if (uses[i] > MEMPROF_USE_STACKS) {
      return false;
    }
    settings->uses[i] = static_cast<memprof::runtimes::Use>(uses[i]);
  }
  return options.python <= MEMPROF_USE_STACKS;
}

// false: a value is out of range.
bool read_budget(const memprof_options& options, memprof::Budget* budget) {
  budget->share_ppm = options.budget_ppm;
  if (options.min_rate_bytes != 0) {
    budget->min_rate_bytes = options.min_rate_bytes;
  }
  if (options.max_rate_bytes != 0) {
    budget->max_rate_bytes = options.max_rate_bytes;
  }
  return budget->share_ppm <= memprof::Budget::kMaxPpm && budget->max_rate_bytes <= memprof::kMaxRateBytes &&
         budget->min_rate_bytes <= budget->max_rate_bytes;
}

}  // namespace

extern "C" {

const char* memprof_strerror(int error) {
  switch (error) {
    case MEMPROF_OK:
      return "no error";
    case MEMPROF_ERR_INVALID:
      return "an argument is wrong";
    case MEMPROF_ERR_STATE:
      return "not allowed in this state of the profiler";
    case MEMPROF_ERR_NO_MEMORY:
      return "the system gave no memory for the profiler's tables";
    case MEMPROF_ERR_SYSTEM:
      return "a system call failed (errno says why)";
    case MEMPROF_ERR_EXISTS:
      return "the file is there already";
    case MEMPROF_ERR_FORKED:
      return "the profiler is off in this fork child (memprof_init begins anew)";
    case MEMPROF_ERR_FORMAT:
      return "not the arena of a profiled process, or that of another version of memprof";
    case MEMPROF_ERR_NO_HOOKS:
      return "the library cannot see this process's allocations: the executable has a malloc of its own, "
             "or its import tables cannot be changed (preload the library, or link with it)";
    case MEMPROF_ERR_OTHER_COPY:
      return "another copy of memprof is at work in this process; it goes on, this one stays off";
    case MEMPROF_ERR_LIMIT:
      return "there are as many of these as there may be";
    default:
      return "unknown error";
  }
}

const char* memprof_version(void) {
  return MEMPROF_VERSION;
}

const char* memprof_runtime_name(uint32_t runtime) {
  return memprof::runtimes::name_of(runtime);
}

int memprof_options_init(memprof_options* options, uint32_t struct_size) {
  if (options == nullptr || struct_size < kOptionsBytes) {
    return MEMPROF_ERR_INVALID;
  }
  memset(options, 0, struct_size);
  options->struct_size = struct_size;
  options->rate_bytes = MEMPROF_DEFAULT_RATE_BYTES;
  return MEMPROF_OK;
}

int memprof_init(const memprof_options* options) {
  const KeepErrno keep;
  if (profiler::state() == memprof::State::kUninitialized && platform::find_other_copy() != nullptr) {
    return MEMPROF_ERR_OTHER_COPY;
  }
  if (options == nullptr) {
    const memprof::Configuration configuration = memprof::read_configuration();
    configure_runtimes(configuration.runtimes);
    configure_mappings(configuration.mappings);
    return to_error(profiler::initialize(
        configuration.limits, configuration.rate_bytes,
        {configuration.arena_folder, configuration.follow_fork, false, configuration.keep_arena,
         configuration.memory_limit_bytes, configuration.run_token},
        configuration.budget));
  }
  memprof::runtimes::Settings runtimes;
  const bool starts_fine = options->rate_bytes == MEMPROF_RATE_STARTS_FINE;
  const uint64_t rate_bytes = starts_fine ? MEMPROF_DEFAULT_RATE_BYTES : options->rate_bytes;
  if (options->struct_size < kOptionsBytes || rate_bytes > memprof::kMaxRateBytes ||
      options->max_depth > memprof::kMaxDepth || options->max_live_samples > memprof::kMaxLiveSamples ||
      options->max_stacks > memprof::kMaxStacks) {
    return MEMPROF_ERR_INVALID;
  }
  const auto known = memprof::capi::take<memprof_options>(*options);
  if (!read_runtimes(known, &runtimes)) {
    return MEMPROF_ERR_INVALID;
  }
  memprof::Budget budget;
  if (!read_budget(known, &budget) ||
      (known.memory_limit_bytes != 0 && known.memory_limit_bytes < memprof::kMinMemoryLimit)) {
    return MEMPROF_ERR_INVALID;
  }
  budget.starts_fine = starts_fine;
  Limits limits = memprof::default_limits(rate_bytes);
  limits.max_depth = options->max_depth != 0 ? options->max_depth : limits.max_depth;
  limits.max_live_samples =
      options->max_live_samples != 0 ? options->max_live_samples : limits.max_live_samples;
  limits.max_stacks = options->max_stacks != 0 ? options->max_stacks : limits.max_stacks;
  configure_runtimes(runtimes);
  configure_mappings(known.mappings != 0 ? Recording::kAlways : Recording::kNever);
  const char* folder = options->private_memory != 0 ? nullptr : memprof::read_arena_folder();
  memprof::Configuration run{};
  memprof::read_run(&run);
  return to_error(profiler::initialize(
      limits, rate_bytes,
      {folder, options->follow_fork != 0, false, run.keep_arena,
       memprof::memory_limit_of(known.memory_limit_bytes, rate_bytes,
                                options->max_live_samples != 0 || options->max_stacks != 0),
       run.run_token},
      budget));
}

int memprof_start(void) {
  const KeepErrno keep;
  if (const int error = hook_imports(platform::patch_imports); error != MEMPROF_OK) {
    return error;
  }
  const memprof::Status status = profiler::start();
  if (status == memprof::Status::kOk) {
    memprof::runtimes::attach();
  }
  return to_error(status);
}

int memprof_enable_gc_tracking(void) {
  const KeepErrno keep;
  return memprof::runtimes::count_collections() ? MEMPROF_OK : MEMPROF_ERR_STATE;
}

uint64_t memprof_get_gc_epoch(void) {
  return memprof::runtimes::collections();
}

int memprof_rescan_imports(void) {
  const KeepErrno keep;
  if (profiler::remains_off()) {
    return MEMPROF_ERR_FORKED;
  }
  if (profiler::state() != memprof::State::kActive) {
    return MEMPROF_ERR_STATE;
  }
  if (!profiler::has_hooks()) {
    platform::patch_imports();
  }
  return MEMPROF_OK;
}

int memprof_attach_prepare_imports(void) {
  const KeepErrno keep;
  platform::doubt_standard_error();
  return hook_imports(platform::prepare_imports);
}

int memprof_attach_prepare_hooks(void* request) {
  const KeepErrno keep;
  platform::doubt_standard_error();
  return request != nullptr && platform::prepare_late_hooks(static_cast<memprof::LatePatchRequest*>(request))
             ? MEMPROF_OK
             : MEMPROF_ERR_INVALID;
}

int64_t memprof_describe_imports(char* text, uint64_t size) {
  const KeepErrno keep;
  if (text == nullptr && size != 0) {
    return MEMPROF_ERR_INVALID;
  }
  return static_cast<int64_t>(platform::describe_imports(text, size));
}

int memprof_stop(void) {
  return to_error(profiler::stop());
}

int memprof_shutdown(void) {
  return to_error(profiler::shutdown());
}

int memprof_set_rate(uint64_t rate_bytes) {
  const KeepErrno keep;
  if (rate_bytes == MEMPROF_RATE_STARTS_FINE) {
    profiler::set_fine_rate();
  } else if (rate_bytes > memprof::kMaxRateBytes) {
    return MEMPROF_ERR_INVALID;
  } else {
    profiler::set_rate(rate_bytes);
  }
  if (profiler::state() == memprof::State::kActive) {
    memprof::runtimes::attach();  // what it does depends on the rate
  }
  return MEMPROF_OK;
}

int memprof_reset_peak(void) {
  const KeepErrno keep;
  if (profiler::remains_off()) {
    return MEMPROF_ERR_FORKED;
  }
  if (profiler::state() == memprof::State::kUninitialized) {
    return MEMPROF_ERR_STATE;
  }
  profiler::reset_peak();
  return MEMPROF_OK;
}

int memprof_record_thread(uint32_t thread_id) {
  if (profiler::remains_off()) {
    return MEMPROF_ERR_FORKED;
  }
  if (profiler::state() == memprof::State::kUninitialized) {
    return MEMPROF_ERR_STATE;
  }
  profiler::record_thread(thread_id);
  return MEMPROF_OK;
}

int memprof_write_profile(const char* path, uint32_t flags) {
  if (path == nullptr || (flags & ~uint32_t{MEMPROF_WRITE_OVERWRITE}) != 0) {
    return MEMPROF_ERR_INVALID;
  }
  KeepErrno keep;
  platform::recheck_imports();
  return keep.result(memprof::write_profile_file(path, (flags & MEMPROF_WRITE_OVERWRITE) != 0, nullptr, 0));
}

int memprof_write_profile_fd(int fd) {
  KeepErrno keep;
  platform::recheck_imports();
  return fd < 0 ? MEMPROF_ERR_INVALID : keep.result(memprof::write_profile(fd));
}

}  // extern "C"
