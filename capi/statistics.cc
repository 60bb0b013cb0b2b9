// SPDX-License-Identifier: Apache-2.0
// The statistics of the public C API (include/memprof.h): every counter, of the process and of a snapshot.
#include <cstring>
#include <type_traits>

#include "capi/call.h"
#include "core/engine/profiler.h"
#include "core/reader/snapshot.h"
#include "format/counters.h"
#include "format/runtime_state.h"
#include "format/walk.h"
#include "memprof.h"

using memprof::capi::give;
using memprof::capi::kMinBytes;
namespace profiler = memprof::profiler;

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
static_assert(MEMPROF_MAX_RUNTIMES == memprof::kMaxRuntimes);
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
static_assert(MEMPROF_STATE_TERMINATED == static_cast<int>(memprof::State::kTerminated));

namespace {

int give_counters(const memprof::Counters& c, memprof_stats* stats) {
  if (stats == nullptr || stats->struct_size < kMinBytes) {
    return MEMPROF_ERR_INVALID;
  }
  memprof_stats out{};
  out.state = static_cast<uint32_t>(c.state);
#define MEMPROF_COPY(name, ...) out.name = c.name;
  MEMPROF_COUNTERS(MEMPROF_COPY, MEMPROF_COPY, MEMPROF_NO_FACT)
#undef MEMPROF_COPY
  memcpy(out.walks, c.walks, sizeof(out.walks));
  for (uint32_t i = 0; i < memprof::kMaxRuntimes; ++i) {
    out.runtimes[i] = {c.runtimes[i].version, c.runtimes[i].objects, c.runtimes[i].stacks, 0};
  }
  // The older names of the first.
  const memprof_runtime_stats& python = out.runtimes[MEMPROF_RUNTIME_CPYTHON - 1];
  out.python_version = python.version;
  out.python_objects = python.objects;
  out.python_stacks = python.stacks;
  return give(out, stats);
}

}  // namespace

extern "C" {

int memprof_get_stats(memprof_stats* stats) {
  return give_counters(profiler::counters(), stats);
}

int memprof_snapshot_get_stats(const memprof_snapshot* snapshot, memprof_stats* stats) {
  return snapshot != nullptr
             ? give_counters(reinterpret_cast<const memprof::Snapshot*>(snapshot)->counters, stats)
             : MEMPROF_ERR_INVALID;
}

}  // extern "C"
