// SPDX-License-Identifier: Apache-2.0
// The Node-API module: the life cycle, counters, and what is done in the thread pool.  One copy of the library serves all
// threads of the process; each thread (worker) has an environment of its own, and nothing here is kept for one.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <mutex>

#include "javascript_heap.h"
#include "library.h"
#include "places.h"
#include "snapshot.h"
#include "values.h"

namespace memprof::node {
namespace {

std::mutex g_life_cycle;
memprof_options g_first_options;  // what the first start asked for; struct_size 0: nobody did

memprof_stats counters() {
  memprof_stats stats{};
  stats.struct_size = sizeof(stats);
  check(library().memprof_get_stats(&stats), "memprof.stats");
  return stats;
}

memprof_options read_options(const Call& call) {
  memprof_options options{};
  check(library().memprof_options_init(&options, sizeof(options)), "memprof.start");
  options.rate_bytes = call.member(0, "startsFine") != 0 ? MEMPROF_RATE_STARTS_FINE
                                                         : static_cast<uint64_t>(call.member(0, "rateBytes"));
  options.max_depth = static_cast<uint32_t>(call.member(0, "maxDepth"));
  options.max_live_samples = static_cast<uint64_t>(call.member(0, "maxLiveSamples"));
  options.max_stacks = static_cast<uint64_t>(call.member(0, "maxStacks"));
  options.budget_ppm = static_cast<uint32_t>(call.member(0, "budgetPpm"));
  options.memory_limit_bytes = static_cast<uint64_t>(call.member(0, "memoryLimitBytes"));
  options.runtimes[MEMPROF_RUNTIME_V8 - 1] = static_cast<uint32_t>(call.member(0, "useV8"));
  return options;
}

// Whether a later start asks for what the first did, but for the rate.
bool is_settled(memprof_options options) {
  memprof_options nothing{};
  nothing.struct_size = options.struct_size;
  options.rate_bytes = nothing.rate_bytes = 0;
  if (memcmp(&options, &nothing, sizeof(options)) == 0) {
    return true;
  }
  memprof_options first = g_first_options;
  first.rate_bytes = 0;
  return memcmp(&options, &first, sizeof(options)) == 0;
}

// options: null for those of the environment (MEMPROF_RATE ...).
void start_locked(const memprof_options* options) {
  const Library& lib = library();
  switch (counters().state) {
    case MEMPROF_STATE_ACTIVE:
      throw Error{MEMPROF_ERR_STATE, std::string("memprof.start: it is active already") +
                                         (lib.was_there && g_first_options.struct_size == 0
                                              ? " (by `memprof run` or MEMPROF_PROFILE)"
                                              : "") +
                                         "; call memprof.stop() first"};
    case MEMPROF_STATE_TERMINATED:
      throw Error{MEMPROF_ERR_STATE,
                  "memprof.start: it was shut down, which is for good; to pause, use memprof.stop()"};
    case MEMPROF_STATE_UNINITIALIZED:
      check(lib.memprof_init(options), "memprof.start");
      if (options != nullptr) {
        g_first_options = *options;
      }
      break;
    default:
      if (options != nullptr && !is_settled(*options)) {
        throw Error{MEMPROF_ERR_STATE,
                    "memprof.start: all options but rateBytes are settled by the first start, which said "
                    "something else"};
      }
      if (options != nullptr) {
        check(lib.memprof_set_rate(options->rate_bytes), "memprof.start");
      }
  }
  check(lib.memprof_start(), "memprof.start");
}

napi_value do_nothing(napi_env /*env*/, napi_callback_info /*info*/) {
  return nullptr;
}

// An allocation that is refused: no byte of it counts, but it runs out the thread's count to its next sampling point.
void reach_sampling_point() {
  const volatile size_t more_than_there_is = PTRDIFF_MAX;
  void* volatile refused = malloc(more_than_there_is);
  free(refused);
}

// The library asks V8 for the names of functions when native code calls JavaScript next (docs/decisions/0070-javascript-frames.md), and looks
// for V8 at a sampling point; a program may have neither for long, and functions that it compiles until then have no names.  So both come now.
// `with_old_code`: also those of functions that were compiled before: the caller is one.  They take V8 some 15 ms, and
// the library asks for them when it has seen some stacks with functions that it does not know.
void meet_v8(const Call& call, bool with_old_code) {
  napi_value function = nullptr;
  call.ok(napi_create_function(call.env(), nullptr, 0, do_nothing, nullptr, &function));
  reach_sampling_point();
  call.ok(napi_call_function(call.env(), call.undefined(), function, 0, nullptr, nullptr));
  if (with_old_code) {
    constexpr int kStacks = 32;
    library().memprof_backing_end();  // stacks are walked again
    for (int i = 0; i < kStacks; ++i) {
      reach_sampling_point();
    }
    library().memprof_backing_begin();
    call.ok(napi_call_function(call.env(), call.undefined(), function, 0, nullptr, nullptr));
  }
}

napi_value start(const Call& call) {
  napi_valuetype type = napi_undefined;
  call.ok(napi_typeof(call.env(), call.at(0), &type));
  const std::lock_guard lock(g_life_cycle);
  const bool is_by_program = type == napi_object;  // else by memprof/register
  const memprof_options options = is_by_program ? read_options(call) : memprof_options{};
  start_locked(is_by_program ? &options : nullptr);
  meet_v8(call, is_by_program);
  return call.undefined();
}

// Calls a function; what the thread allocates meanwhile is not sampled, as in all of these: its stacks are the package's own, and V8 is not asked for
// the names of what was there before for them.
napi_value call_unsampled(const Call& call) {
  napi_value result = nullptr;
  call.ok(napi_call_function(call.env(), call.undefined(), call.at(0), 0, nullptr, &result));
  return result;
}

napi_value stop(const Call& call) {
  const int result = library().memprof_stop();
  if (result == MEMPROF_ERR_STATE) {
    throw Error{result, "memprof.stop: it is not active; call memprof.start() first"};
  }
  check(result, "memprof.stop");
  return call.undefined();
}

napi_value shut_down(const Call& call) {
  const int result = library().memprof_shutdown();
  if (result == MEMPROF_ERR_STATE) {
    throw Error{result, "memprof.shutdown: it was never started"};
  }
  check(result, "memprof.shutdown");
  return call.undefined();
}

const char* one_of(const char* const* names, size_t count, uint64_t value) {
  return value < count ? names[value] : "unknown";
}

napi_value get_stats(const Call& call) {
  static constexpr const char* kStates[] = {"uninitialized", "initialized", "active", "stopped",
                                            "terminated"};
  static constexpr const char* kHooks[] = {"none", "interposed", "imports"};
  static constexpr const char* kStacks[] = {"none", "unchecked", "read", "unknown version", "unknown layout"};
  const memprof_stats stats = counters();
  napi_value result = call.object();
  call.set(result, "state", call.text(one_of(kStates, std::size(kStates), stats.state)));
  call.set(result, "hooks", call.text(one_of(kHooks, std::size(kHooks), stats.hooks)));
  const memprof_runtime_stats& v8 = stats.runtimes[MEMPROF_RUNTIME_V8 - 1];
  call.set(
      result, "v8Version",
      call.text(v8.version == 0 ? ""
                                : std::to_string(v8.version >> 8) + "." + std::to_string(v8.version & 0xff)));
  call.set(result, "javascriptStacks", call.text(one_of(kStacks, std::size(kStacks), v8.stacks)));
#define MEMPROF_NODE_COUNTER(name, member) call.set(result, name, static_cast<double>(stats.member));
  MEMPROF_NODE_COUNTER("rateBytes", rate_bytes)
  MEMPROF_NODE_COUNTER("samples", samples)
  MEMPROF_NODE_COUNTER("liveSamples", live_samples)
  MEMPROF_NODE_COUNTER("freedSamples", freed_samples)
  MEMPROF_NODE_COUNTER("droppedSamples", dropped_samples)
  MEMPROF_NODE_COUNTER("droppedWeightBytes", dropped_weight_bytes)
  MEMPROF_NODE_COUNTER("replacedSamples", replaced_samples)
  MEMPROF_NODE_COUNTER("foldedStacks", folded_stacks)
  MEMPROF_NODE_COUNTER("thinnedSamples", thinned_samples)
  MEMPROF_NODE_COUNTER("stacks", stacks)
  MEMPROF_NODE_COUNTER("modules", modules)
  MEMPROF_NODE_COUNTER("liveWeightBytes", live_weight_bytes)
  MEMPROF_NODE_COUNTER("peakWeightBytes", peak_weight_bytes)
  MEMPROF_NODE_COUNTER("mutedBytes", muted_bytes)
  MEMPROF_NODE_COUNTER("arenaBytes", arena_bytes)
  MEMPROF_NODE_COUNTER("arenaUsedBytes", arena_used_bytes)
  MEMPROF_NODE_COUNTER("budgetPpm", budget_ppm)
  MEMPROF_NODE_COUNTER("cpuNs", cpu_ns)
  MEMPROF_NODE_COUNTER("samplingNs", sampling_ns)
#undef MEMPROF_NODE_COUNTER
  return result;
}

napi_value reset_peak(const Call& call) {
  check(library().memprof_reset_peak(), "memprof.resetPeak");
  return call.undefined();
}

// What a file is made of.
struct Content {
  std::unique_ptr<Snapshot> snapshot;  // nullptr: one that is taken then
  std::unique_ptr<JavascriptHeap> heap;
};

// (path, overwrites), or (path, overwrites, snapshot, texts, numbers): that, which is disposed of, with JavaScript's heap.
Content content_of(const Call& call) {
  napi_valuetype type = napi_undefined;
  call.ok(napi_typeof(call.env(), call.at(2), &type));
  if (type != napi_external) {
    return {};
  }
  auto heap = JavascriptHeap::read(call, 3, 4);
  return {snapshot_at(call, 2).move_out(), std::move(heap)};
}

void write_profile_to(const std::string& path, bool overwrites, const Content& content) {
  const uint32_t flags = overwrites ? MEMPROF_WRITE_OVERWRITE : 0;
  int result = MEMPROF_OK;
  if (content.snapshot != nullptr) {
    const memprof_runtime_heap heap = content.heap->get();
    result = library().memprof_snapshot_write_profile(content.snapshot->get(), path.c_str(), flags, &heap);
  } else {
    result = library().memprof_write_profile(path.c_str(), flags);
  }
  if (result == MEMPROF_ERR_INVALID) {
    throw Error{result,
                "memprof.writeProfile: '" + path +
                    "' is no path for a profile; it ends in .pb.gz or .pb, and a % is one of %p, %n, %t, %%"};
  }
  if (result == MEMPROF_ERR_EXISTS) {
    throw Error{result, "memprof.writeProfile: " + path +
                            " is there already; give {overwrite: true}, or another path"};
  }
  if (result == MEMPROF_ERR_STATE) {
    throw Error{result, "memprof.writeProfile: there is nothing to write; call memprof.start() first"};
  }
  check(result, "memprof.writeProfile: " + path);
}

napi_value write_profile(const Call& call) {
  write_profile_to(call.text_at(0), call.number_at(1) != 0, content_of(call));
  return call.undefined();
}

napi_value take_snapshot(const Call& call) {
  return give(call, Snapshot::take());
}

// Done by a thread of the pool; a Promise tells the end.
struct Task {
  std::string path;  // "": a snapshot is taken, with names of native functions
  bool overwrites = false;
  Content content;
  std::unique_ptr<Snapshot> snapshot;
  std::unique_ptr<Error> error;
  napi_async_work work = nullptr;
  napi_deferred deferred = nullptr;
};

void run_task(napi_env /*env*/, void* data) {
  auto* const task = static_cast<Task*>(data);
  const Muted muted;
  try {
    if (!task->path.empty()) {
      write_profile_to(task->path, task->overwrites, task->content);
      return;
    }
    task->snapshot = Snapshot::take();
    task->snapshot->resolve();
  } catch (const Error& error) {
    task->error = std::make_unique<Error>(error);
  } catch (...) {
    task->error = std::make_unique<Error>(Error{MEMPROF_ERR_NO_MEMORY, "memprof: no memory"});
  }
}

void end_task(napi_env env, napi_status status, void* data) {
  const Muted muted;
  const std::unique_ptr<Task> task(static_cast<Task*>(data));
  napi_delete_async_work(env, task->work);
  if (status == napi_cancelled) {
    return;  // the environment ends
  }
  try {
    const Js js(env);
    if (task->error != nullptr) {
      js.ok(napi_reject_deferred(env, task->deferred, js.error(*task->error)));
    } else {
      const bool has_snapshot = task->snapshot != nullptr;
      napi_value result = has_snapshot ? give(js, std::move(task->snapshot)) : js.undefined();
      js.ok(napi_resolve_deferred(env, task->deferred, result));
    }
  } catch (const Pending&) {
    return;  // node shows it
  }
}

napi_value queue(const Call& call, std::unique_ptr<Task> task) {
  napi_value promise = nullptr;
  call.ok(napi_create_promise(call.env(), &task->deferred, &promise));
  call.ok(napi_create_async_work(call.env(), nullptr, call.text("memprof"), run_task, end_task, task.get(),
                                 &task->work));
  call.ok(napi_queue_async_work(call.env(), task.release()->work));  // end_task has it
  return promise;
}

napi_value write_profile_async(const Call& call) {
  auto task = std::make_unique<Task>();
  task->path = call.text_at(0);
  task->overwrites = call.number_at(1) != 0;
  task->content = content_of(call);
  return queue(call, std::move(task));
}

napi_value take_snapshot_async(const Call& call) {
  return queue(call, std::make_unique<Task>());
}

napi_value define(const Js& js, napi_value exports) {
  struct Function {
    const char* name;
    napi_callback call;
  };
  static constexpr Function kFunctions[] = {
      {"start", entry<start>},
      {"stop", entry<stop>},
      {"unsampled", entry<call_unsampled>},
      {"shutdown", entry<shut_down>},
      {"stats", entry<get_stats>},
      {"resetPeak", entry<reset_peak>},
      {"writeProfile", entry<write_profile>},
      {"writeProfileAsync", entry<write_profile_async>},
      {"snapshot", entry<take_snapshot>},
      {"snapshotAsync", entry<take_snapshot_async>},
      {"info", entry<get_info>},
      {"live", entry<get_live_sum>},
      {"samples", entry<get_samples>},
      {"peak", entry<get_peak>},
      {"top", entry<get_top>},
      {"tree", entry<get_tree>},
      {"readResident", entry<read_resident>},
      {"resolve", entry<resolve>},
      {"dispose", entry<dispose>},
      {"writeSnapshot", entry<write_snapshot>},
      {"difference", entry<get_difference>},
  };
  for (const Function& function : kFunctions) {
    napi_value value = nullptr;
    js.ok(napi_create_function(js.env(), function.name, NAPI_AUTO_LENGTH, function.call, nullptr, &value));
    js.set(exports, function.name, value);
  }
  js.set(exports, "version", js.text(library().memprof_version()));
  js.set(exports, "wasThere", js.boolean(library().was_there));
  return exports;
}

}  // namespace
}  // namespace memprof::node

// Called once in each thread that loads the addon.
NAPI_MODULE_INIT() {
  using namespace memprof::node;
  try {
    if (!library().problem.empty()) {
      throw Error{MEMPROF_ERR_OTHER_COPY, "memprof: " + library().problem};
    }
    return define(Js(env), exports);
  } catch (const Error& error) {
    give_exception(env, error);
  } catch (...) {
    return nullptr;  // pending already, or no memory to say so
  }
  return nullptr;
}
