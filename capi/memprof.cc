// SPDX-License-Identifier: Apache-2.0
// The public C API (include/memprof.h): checks, translates, calls.
#include "memprof.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "core/engine/facts.h"
#include "core/engine/profiler.h"
#include "core/engine/runtimes.h"
#include "core/reader/runtime_code.h"
#include "core/reader/snapshot.h"
#include "core/sampling/sampler.h"
#include "dump/dump.h"
#include "dump/resident_memory.h"
#include "format/counters.h"
#include "format/lifetime_class.h"
#include "format/runtime_state.h"
#include "format/walk.h"
#include "platform/imports.h"
#include "platform/modules.h"
#include "platform/stack.h"

using memprof::Limits;
using memprof::Snapshot;
using memprof::SnapshotTotals;
namespace platform = memprof::platform;
namespace profiler = memprof::profiler;

// A snapshot's arrays are handed out as they stand.
#define MEMPROF_SAME_LAYOUT(PUBLIC, OURS, LAST)            \
  static_assert(sizeof(PUBLIC) == sizeof(memprof::OURS) && \
                offsetof(PUBLIC, LAST) == offsetof(memprof::OURS, LAST))
MEMPROF_SAME_LAYOUT(memprof_record, SnapshotRecord, thread_id);
MEMPROF_SAME_LAYOUT(memprof_totals, SnapshotTotals, max_missed_count);
MEMPROF_SAME_LAYOUT(memprof_stack, SnapshotStack, max_lifetime_ns);
MEMPROF_SAME_LAYOUT(memprof_lifetime, SnapshotLifetime, weight_count);
MEMPROF_SAME_LAYOUT(memprof_rate_use, RateUse, time_ns);
MEMPROF_SAME_LAYOUT(memprof_module, SnapshotModule, build_id);
MEMPROF_SAME_LAYOUT(memprof_symbol, SnapshotSymbol, symbol_offset);
MEMPROF_SAME_LAYOUT(memprof_heap, SnapshotHeap, name_offset);
MEMPROF_SAME_LAYOUT(memprof_runtime_frame, SnapshotRuntimeFrame, reserved);
static_assert(MEMPROF_MODULE_UNLOADED == memprof::kModuleUnloaded);
static_assert(MEMPROF_HOOKS_INTERPOSED == memprof::kHooksInterposed &&
              MEMPROF_HOOKS_IMPORTS == memprof::kHooksImports);
#define MEMPROF_SAME_WALK(enumerator, name, NAME) \
  static_assert(MEMPROF_WALK_##NAME == static_cast<int>(memprof::Walk::enumerator));
MEMPROF_WALKS(MEMPROF_SAME_WALK)
static_assert(MEMPROF_WALK_REASONS == memprof::kWalkReasons);
// memprof_stats has each counter of the list, by its name and at full width, and besides them only its size, the
// state, the walks and what is known of runtimes.
#define MEMPROF_SAME_COUNTER(name, ...) \
  static_assert(std::is_same_v<decltype(memprof_stats::name), uint64_t>);
MEMPROF_COUNTERS(MEMPROF_SAME_COUNTER, MEMPROF_SAME_COUNTER, MEMPROF_NO_FACT)
namespace {
struct EachCounter {
#define MEMPROF_ONE_COUNTER(name, ...) uint64_t name;
  MEMPROF_COUNTERS(MEMPROF_ONE_COUNTER, MEMPROF_ONE_COUNTER, MEMPROF_NO_FACT)
};
}  // namespace
constexpr size_t kOtherBytes = sizeof(memprof_stats::struct_size) + sizeof(memprof_stats::state) +
                               sizeof(memprof_stats::walks) + sizeof(memprof_stats::python_version) +
                               sizeof(memprof_stats::python_objects) + sizeof(memprof_stats::python_stacks) +
                               sizeof(memprof_stats::reserved) + sizeof(memprof_stats::runtimes);
static_assert(sizeof(memprof_stats) == sizeof(EachCounter) + kOtherBytes,
              "format/counters.h lacks a counter");
static_assert(MEMPROF_MAX_RUNTIMES == memprof::kMostRuntimes);
static_assert(MEMPROF_USE_NOTHING == static_cast<int>(memprof::runtimes::Use::kNothing) &&
              MEMPROF_USE_STACKS == static_cast<int>(memprof::runtimes::Use::kStacksOnly));
#define MEMPROF_SAME_STATE(PUBLIC, OURS) static_assert((PUBLIC) == static_cast<int>(memprof::OURS))
MEMPROF_SAME_STATE(MEMPROF_OBJECTS_NONE, RuntimeObjects::kNone);
MEMPROF_SAME_STATE(MEMPROF_OBJECTS_HOOKED, RuntimeObjects::kHooked);
MEMPROF_SAME_STATE(MEMPROF_OBJECTS_BY_MALLOC, RuntimeObjects::kByMalloc);
MEMPROF_SAME_STATE(MEMPROF_OBJECTS_REFUSED, RuntimeObjects::kRefused);
MEMPROF_SAME_STATE(MEMPROF_STACKS_NONE, RuntimeStacks::kNone);
MEMPROF_SAME_STATE(MEMPROF_STACKS_UNCHECKED, RuntimeStacks::kUnchecked);
MEMPROF_SAME_STATE(MEMPROF_STACKS_READ, RuntimeStacks::kRead);
MEMPROF_SAME_STATE(MEMPROF_STACKS_UNKNOWN_VERSION, RuntimeStacks::kUnknownVersion);
MEMPROF_SAME_STATE(MEMPROF_STACKS_UNKNOWN_LAYOUT, RuntimeStacks::kUnknownLayout);
static_assert(MEMPROF_DEFAULT_RATE_BYTES == memprof::kDefaultRateBytes);
static_assert(MEMPROF_STATE_TERMINATED == static_cast<int>(memprof::State::kTerminated));

namespace {

// The first version of each struct: what every caller has.
constexpr uint32_t kOptionsBytes = 40;
constexpr uint32_t kLeastBytes = 8;
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

// errno as the caller left it, whatever the system calls of ours made of it.
class KeepErrno {
 public:
  KeepErrno() : saved_(errno) {}
  ~KeepErrno() { errno = saved_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

  // MEMPROF_ERR_SYSTEM: errno says why.
  int result(int error) {
    if (error == MEMPROF_ERR_SYSTEM) {
      saved_ = errno;
    }
    return error;
  }

 private:
  int saved_;
};

const Snapshot* ours(const memprof_snapshot* snapshot) {
  return reinterpret_cast<const Snapshot*>(snapshot);
}

template <typename Public, typename T>
const Public* array(const memprof::Span<T>& span, uint64_t* count) {
  if (count != nullptr) {
    *count = span.size;
  }
  return reinterpret_cast<const Public*>(span.data);
}

// Copies as much of a versioned struct as the caller has; its struct_size stays.
template <typename T>
int give(const T& from, T* to) {
  const uint32_t size = to->struct_size < sizeof(T) ? to->struct_size : static_cast<uint32_t>(sizeof(T));
  constexpr size_t kSkip = sizeof(to->struct_size);
  memcpy(reinterpret_cast<char*>(to) + kSkip, reinterpret_cast<const char*>(&from) + kSkip, size - kSkip);
  return MEMPROF_OK;
}

int give_counters(const memprof::Counters& c, memprof_stats* stats) {
  if (stats == nullptr || stats->struct_size < kLeastBytes) {
    return MEMPROF_ERR_INVALID;
  }
  memprof_stats out{};
  out.state = static_cast<uint32_t>(c.state);
#define MEMPROF_COPY(name, ...) out.name = c.name;
  MEMPROF_COUNTERS(MEMPROF_COPY, MEMPROF_COPY, MEMPROF_NO_FACT)
#undef MEMPROF_COPY
  memcpy(out.walks, c.walks, sizeof(out.walks));
  for (uint32_t i = 0; i < memprof::kMostRuntimes; ++i) {
    out.runtimes[i] = {c.runtimes[i].version, c.runtimes[i].objects, c.runtimes[i].stacks, 0};
  }
  // The older names of the first.
  const memprof_runtime_stats& python = out.runtimes[MEMPROF_RUNTIME_CPYTHON - 1];
  out.python_version = python.version;
  out.python_objects = python.objects;
  out.python_stacks = python.stacks;
  return give(out, stats);
}

// Before the first start; later ones find it as it is.
void configure_runtimes(const memprof::runtimes::Settings& settings) {
  if (profiler::state() == memprof::State::kUninitialized) {
    memprof::runtimes::configure(settings);
  }
}

// false: a value is out of range.
bool read_runtimes(const memprof_options& options, memprof::runtimes::Settings* settings) {
  settings->native_interpreter = options.native_interpreter != 0;
  uint32_t uses[MEMPROF_MAX_RUNTIMES];
  memcpy(uses, options.runtimes, sizeof(uses));
  uint32_t& python = uses[MEMPROF_RUNTIME_CPYTHON - 1];
  python = python != 0 ? python : options.python;
  for (uint32_t i = 0; i < memprof::kMostRuntimes; ++i) {
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
  return budget->share_ppm <= memprof::Budget::kMostPpm && budget->max_rate_bytes <= memprof::kMaxRateBytes &&
         budget->min_rate_bytes <= budget->max_rate_bytes;
}

template <typename T>
const T* no_elements(uint64_t* count) {
  if (count != nullptr) {
    *count = 0;
  }
  return nullptr;
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
      return "the library cannot see this process's allocations: the executable has a malloc of its own, or "
             "its "
             "import tables cannot be changed (preload the library, or link with it)";
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
    return to_error(profiler::initialize(
        configuration.limits, configuration.rate_bytes,
        {configuration.arena_folder, configuration.follow_fork, false, configuration.keep_arena,
         configuration.memory_limit_bytes, configuration.run_token},
        configuration.budget));
  }
  memprof_options known{};  // what the caller does not have is 0
  memprof::runtimes::Settings runtimes;
  if (options->struct_size < kOptionsBytes || options->rate_bytes > memprof::kMaxRateBytes ||
      options->max_depth > memprof::kMostDepth || options->max_live_samples > memprof::kMostLiveSamples ||
      options->max_stacks > memprof::kMostStacks) {
    return MEMPROF_ERR_INVALID;
  }
  memcpy(&known, options, options->struct_size < sizeof(known) ? options->struct_size : sizeof(known));
  if (!read_runtimes(known, &runtimes)) {
    return MEMPROF_ERR_INVALID;
  }
  memprof::Budget budget;
  if (!read_budget(known, &budget) ||
      (known.memory_limit_bytes != 0 && known.memory_limit_bytes < memprof::kLeastMemoryLimit)) {
    return MEMPROF_ERR_INVALID;
  }
  Limits limits = memprof::default_limits(options->rate_bytes);
  limits.max_depth = options->max_depth != 0 ? options->max_depth : limits.max_depth;
  limits.max_live_samples =
      options->max_live_samples != 0 ? options->max_live_samples : limits.max_live_samples;
  limits.max_stacks = options->max_stacks != 0 ? options->max_stacks : limits.max_stacks;
  configure_runtimes(runtimes);
  const char* folder = options->private_memory != 0 ? nullptr : memprof::read_arena_folder();
  memprof::Configuration run{};
  memprof::read_run(&run);
  return to_error(profiler::initialize(
      limits, options->rate_bytes,
      {folder, options->follow_fork != 0, false, run.keep_arena,
       memprof::memory_limit_of(known.memory_limit_bytes, options->rate_bytes,
                                options->max_live_samples != 0 || options->max_stacks != 0),
       run.run_token},
      budget));
}

int memprof_start(void) {
  const KeepErrno keep;
  if (!profiler::has_hooks()) {
    // As in profiler::start: a fork child is told so in every state.
    if (!profiler::become_owner()) {
      return MEMPROF_ERR_FORKED;
    }
    const memprof::State state = profiler::state();
    if (state != memprof::State::kInitialized && state != memprof::State::kStopped) {
      return MEMPROF_ERR_STATE;
    }
    if (!platform::patch_imports()) {
      return MEMPROF_ERR_NO_HOOKS;
    }
  }
  const memprof::Status status = profiler::start();
  if (status == memprof::Status::kOk) {
    memprof::runtimes::attach();
  }
  return to_error(status);
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
  if (rate_bytes > memprof::kMaxRateBytes) {
    return MEMPROF_ERR_INVALID;
  }
  profiler::set_rate(rate_bytes);
  if (profiler::state() == memprof::State::kActive) {
    memprof::runtimes::attach();  // what it does depends on the rate
  }
  return MEMPROF_OK;
}

int memprof_get_stats(memprof_stats* stats) {
  return give_counters(profiler::counters(), stats);
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

int memprof_snapshot_get_stats(const memprof_snapshot* snapshot, memprof_stats* stats) {
  return snapshot != nullptr ? give_counters(ours(snapshot)->counters, stats) : MEMPROF_ERR_INVALID;
}

int memprof_get_snapshot(memprof_snapshot** snapshot) {
  const KeepErrno keep;
  if (snapshot == nullptr) {
    return MEMPROF_ERR_INVALID;
  }
  Snapshot* taken = nullptr;
  const int error = memprof::take_snapshot(&taken);
  *snapshot = reinterpret_cast<memprof_snapshot*>(taken);
  return error;
}

void memprof_free_snapshot(memprof_snapshot* snapshot) {
  const KeepErrno keep;
  Snapshot::release(reinterpret_cast<Snapshot*>(snapshot));
}

int memprof_snapshot_open(const char* path, memprof_snapshot** snapshot) {
  if (path == nullptr || snapshot == nullptr) {
    return MEMPROF_ERR_INVALID;
  }
  KeepErrno keep;
  Snapshot* opened = nullptr;
  const int error = memprof::open_snapshot(path, &opened);
  *snapshot = reinterpret_cast<memprof_snapshot*>(opened);
  return keep.result(error);
}

int memprof_snapshot_get_info(const memprof_snapshot* snapshot, memprof_snapshot_info* info) {
  if (snapshot == nullptr || info == nullptr || info->struct_size < kLeastBytes) {
    return MEMPROF_ERR_INVALID;
  }
  const Snapshot& s = *ours(snapshot);
  memprof_snapshot_info out{};
  out.pid = s.process_id;
  out.rate_bytes = s.rate_bytes;
  out.time_unix_ns = s.time_unix_ns;
  out.time_ns = s.time_ns;
  out.start_ns = s.start_ns;
  out.end_ns = s.end_ns;
  out.pid_namespace = s.process_namespace;
  out.live_weight_bytes = s.live_weight_bytes;
  out.live_weight_count = s.live_weight_count;
  out.end_begun_ns = s.end_begun_ns;
  out.peak_ns = s.peak.time_ns;
  out.peak_weight_bytes = s.peak.weight_bytes;
  out.peak_weight_count = s.peak.weight_count;
  out.peak_resident_bytes = s.peak.resident_bytes;
  out.max_resident_bytes = s.peak.max_resident_bytes;
  return give(out, info);
}

const char* memprof_snapshot_program(const memprof_snapshot* snapshot) {
  return snapshot != nullptr ? ours(snapshot)->program() : "";
}

const memprof_record* memprof_snapshot_records(const memprof_snapshot* snapshot, uint64_t* count) {
  return snapshot != nullptr ? array<memprof_record>(ours(snapshot)->records, count)
                             : no_elements<memprof_record>(count);
}

const memprof_totals* memprof_snapshot_peaks(const memprof_snapshot* snapshot, uint64_t* count) {
  return snapshot != nullptr ? array<memprof_totals>(ours(snapshot)->peaks, count)
                             : no_elements<memprof_totals>(count);
}

const memprof_lifetime* memprof_snapshot_lifetimes(const memprof_snapshot* snapshot, uint64_t* count) {
  return snapshot != nullptr ? array<memprof_lifetime>(ours(snapshot)->lifetimes, count)
                             : no_elements<memprof_lifetime>(count);
}

const memprof_rate_use* memprof_snapshot_rates(const memprof_snapshot* snapshot, uint64_t* count) {
  return snapshot != nullptr ? array<memprof_rate_use>(ours(snapshot)->rates, count)
                             : no_elements<memprof_rate_use>(count);
}

const uint64_t* memprof_lifetime_bounds(uint64_t* count) {
  if (count != nullptr) {
    *count = memprof::kLifetimeBounds;
  }
  return memprof::kLifetimeScale.bounds_ns;
}

int memprof_snapshot_younger(const memprof_snapshot* snapshot, uint64_t lifetime_ns, memprof_totals* totals,
                             uint64_t count, uint64_t* used_ns) {
  if (snapshot == nullptr || totals == nullptr || count > ours(snapshot)->stacks.size || lifetime_ns == 0) {
    return MEMPROF_ERR_INVALID;
  }
  const uint64_t used =
      ours(snapshot)->sum_younger(lifetime_ns, reinterpret_cast<SnapshotTotals*>(totals), count);
  if (used_ns != nullptr) {
    *used_ns = used;
  }
  return MEMPROF_OK;
}

const memprof_stack* memprof_snapshot_stacks(const memprof_snapshot* snapshot, uint64_t* count) {
  return snapshot != nullptr ? array<memprof_stack>(ours(snapshot)->stacks, count)
                             : no_elements<memprof_stack>(count);
}

const uint64_t* memprof_snapshot_frames(const memprof_snapshot* snapshot, uint64_t* count) {
  return snapshot != nullptr ? array<uint64_t>(ours(snapshot)->frames, count) : no_elements<uint64_t>(count);
}

const memprof_runtime_frame* memprof_snapshot_runtime_frames(const memprof_snapshot* snapshot,
                                                             uint64_t* count) {
  return snapshot != nullptr ? array<memprof_runtime_frame>(ours(snapshot)->runtime_frames, count)
                             : no_elements<memprof_runtime_frame>(count);
}

const uint32_t* memprof_snapshot_frame_modules(const memprof_snapshot* snapshot, uint64_t* count) {
  return snapshot != nullptr ? array<uint32_t>(ours(snapshot)->frame_modules, count)
                             : no_elements<uint32_t>(count);
}

const memprof_module* memprof_snapshot_modules(const memprof_snapshot* snapshot, uint64_t* count) {
  return snapshot != nullptr ? array<memprof_module>(ours(snapshot)->modules, count)
                             : no_elements<memprof_module>(count);
}

const uint32_t* memprof_snapshot_stack_heaps(const memprof_snapshot* snapshot, uint64_t* count) {
  return snapshot != nullptr ? array<uint32_t>(ours(snapshot)->stack_heaps, count)
                             : no_elements<uint32_t>(count);
}

const memprof_heap* memprof_snapshot_heaps(const memprof_snapshot* snapshot, uint64_t* count) {
  return snapshot != nullptr ? array<memprof_heap>(ours(snapshot)->heaps, count)
                             : no_elements<memprof_heap>(count);
}

const char* memprof_snapshot_strings(const memprof_snapshot* snapshot, uint64_t* count) {
  return snapshot != nullptr ? array<char>(ours(snapshot)->strings, count) : no_elements<char>(count);
}

const memprof_symbol* memprof_snapshot_symbols(const memprof_snapshot* snapshot, uint64_t* count) {
  return snapshot != nullptr ? array<memprof_symbol>(ours(snapshot)->symbols, count)
                             : no_elements<memprof_symbol>(count);
}

int64_t memprof_resolve_symbols(memprof_snapshot* snapshot) {
  const KeepErrno keep;
  if (snapshot == nullptr) {
    return MEMPROF_ERR_INVALID;
  }
  memprof::MuteScope mute;  // the loader may allocate
  const int64_t found = reinterpret_cast<Snapshot*>(snapshot)->resolve_symbols();
  return found >= 0 ? found : int64_t{MEMPROF_ERR_NO_MEMORY};
}

int memprof_write_profile(const char* path, uint32_t flags) {
  if (path == nullptr || (flags & ~uint32_t{MEMPROF_WRITE_OVERWRITE}) != 0) {
    return MEMPROF_ERR_INVALID;
  }
  KeepErrno keep;
  return keep.result(memprof::write_profile_file(path, (flags & MEMPROF_WRITE_OVERWRITE) != 0, nullptr, 0));
}

int memprof_write_profile_fd(int fd) {
  KeepErrno keep;
  return fd < 0 ? MEMPROF_ERR_INVALID : keep.result(memprof::write_profile(fd));
}

int memprof_snapshot_read_resident(memprof_snapshot* snapshot, uint32_t pid) {
  KeepErrno keep;
  return snapshot == nullptr
             ? MEMPROF_ERR_INVALID
             : keep.result(memprof::read_resident_memory(reinterpret_cast<Snapshot*>(snapshot), pid));
}

int memprof_snapshot_get_resident(const memprof_snapshot* snapshot, memprof_resident* resident) {
  if (snapshot == nullptr || resident == nullptr || resident->struct_size < kLeastBytes) {
    return MEMPROF_ERR_INVALID;
  }
  const memprof::ResidentMemory& m = ours(snapshot)->resident;
  memprof_resident out{};
  out.state = static_cast<uint32_t>(m.state);
  out.rss_bytes = m.total_bytes;
  out.swap_bytes = m.swap_bytes;
  out.heap_bytes = m.heap_bytes;
  out.files_bytes = m.files_bytes;
  out.shared_bytes = m.shared_bytes;
  out.stacks_bytes = m.stacks_bytes;
  out.code_bytes = m.code_bytes;
  out.runtime_bytes = m.runtime_bytes;
  out.memprof_bytes = m.memprof_bytes;
  out.anonymous_bytes = m.anonymous_bytes;
  out.live_bytes = m.live_bytes;
  out.absent_bytes = m.absent_bytes;
  out.slack_bytes = m.slack_bytes;
  out.free_bytes = m.free_bytes;
  out.unexplained_bytes = m.unexplained_bytes();
  out.fragmentation = m.fragmentation();
  return give(out, resident);
}

const float* memprof_snapshot_resident_shares(const memprof_snapshot* snapshot, uint64_t* count) {
  static const float kNone = 0;
  const memprof::Span<float> shares = snapshot != nullptr ? ours(snapshot)->resident_shares : memprof::Span<float>{};
  if (count != nullptr) {
    *count = shares.size;
  }
  return shares.data != nullptr ? shares.data : &kNone;
}

int memprof_snapshot_write_fd(const memprof_snapshot* snapshot, int fd) {
  KeepErrno keep;
  return snapshot == nullptr || fd < 0 ? MEMPROF_ERR_INVALID
                                       : keep.result(memprof::write_snapshot(*ours(snapshot), fd));
}

}  // extern "C"
