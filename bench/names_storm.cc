// SPDX-License-Identifier: Apache-2.0
// Tables of names that are full: stacks through functions of a runtime and through libraries that come and go, as many
// as are asked for, with twice as many live blocks as there is room for.
//
// The engine is linked in without its hooks; an event is entered as the recorder enters one, with frames made up.  The
// C library stands for those that come and go: each time its entry gets another build id, and is found to be gone.
// Events are timed by the thread's CPU time: waits for a processor are none of it.  The quantile of an ordinary one is
// that of the events before any table is full.
//
// usage: names_storm [STACKS [LIVE_BLOCKS [FUNCTIONS [MODULES [SEEDS [MEMORY_MIB [FOLDER]]]]]]]
//        FOLDER: of a file for the tables, instead of private memory
//        one line of JSON a seed, and one for all
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "core/arena/memory_limit.h"
#include "core/engine/live_samples.h"
#include "core/engine/ownership.h"
#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "core/engine/thinning.h"
#include "core/rates/rates.h"
#include "core/reader/snapshot.h"
#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "core/sampling/weight.h"
#include "format/runtime_frame.h"
#include "platform/clock.h"
#include "platform/stack.h"
#include "program.h"

// What an event does, however long the machine takes for it: basic blocks, counted where this program and the engine
// are compiled with -fsanitize-coverage=trace-pc (bench/README.md).
static uint64_t g_steps;
#ifdef __clang__
#define NOT_COUNTED __attribute__((no_sanitize("coverage")))
#else
#define NOT_COUNTED __attribute__((no_sanitize_coverage))
#endif
extern "C" NOT_COUNTED void __sanitizer_cov_trace_pc();
void __sanitizer_cov_trace_pc() {
  ++g_steps;
}

namespace memprof {
namespace {

constexpr uint64_t kNumbers = 0x10000000;  // no code lies there
constexpr uint32_t kDepth = 14;
constexpr uint32_t kRuntime = 1;
constexpr uint64_t kNewest = 1000;
constexpr int kControlSteps = 1000;

struct Shape {
  uint64_t stacks, live, functions, modules, memory_bytes;
  const char* folder;  // of the arena's file; nullptr: private memory
};

uint64_t size_of(uint64_t i) {
  return uint64_t{64} << i % 8;
}
uint64_t address_of(uint64_t i, uint64_t live) {
  return 0x100000000 + i % live * 8192;
}

// What an event took, and what happened in it.
struct Event {
  uint32_t cpu_ns;
  uint32_t page_faults;
  uint32_t switches;  // of the thread for another one, by the system
  uint32_t grew;      // tables that got more memory
  uint32_t folds;
  uint32_t sweeps;  // that began
  uint32_t steps;   // basic blocks, where the compiler counts them
};

// What a difference is taken of.
Event happened() {
  rusage use{};
  getrusage(RUSAGE_THREAD, &use);
  const ArenaHeader& h = profiler::arena().header();
  uint64_t mapped = 0;
  for (uint32_t id = 0; id < kSectionCount; ++id) {
    mapped += h.section(id).mapped_bytes.load() + h.section(id).committed_bytes.load();
  }
  mapped += h.live_levels.open.load() + h.stack_levels.open.load();
  return {0,
          static_cast<uint32_t>(use.ru_minflt + use.ru_majflt),
          static_cast<uint32_t>(use.ru_nivcsw + use.ru_nvcsw),
          static_cast<uint32_t>(mapped),
          static_cast<uint32_t>(h.later_statistics.folded_stacks.load()),
          static_cast<uint32_t>(h.sweep.number.load()),
          0};
}

// The longest events.
class Longest {
 public:
  void add(uint32_t cpu_ns, uint64_t steps, const Event& before, const Event& after) {
    if (kept_.size() == kMax && cpu_ns <= kept_.back().cpu_ns) {
      return;
    }
    kept_.push_back({cpu_ns, after.page_faults - before.page_faults, after.switches - before.switches,
                     after.grew - before.grew, after.folds - before.folds, after.sweeps - before.sweeps,
                     static_cast<uint32_t>(steps)});
    std::sort(kept_.begin(), kept_.end(), [](const Event& a, const Event& b) { return a.cpu_ns > b.cpu_ns; });
    kept_.resize(std::min(kept_.size(), kMax));
  }
  void print() const {
    for (const Event& e : kept_) {
      printf(
          " {\"ns\": %u, \"page_faults\": %u, \"switches\": %u, \"grew\": %u, \"folds\": %u, \"sweeps\": %u, "
          "\"steps\": %u}\n",
          e.cpu_ns, e.page_faults, e.switches, e.grew, e.folds, e.sweeps, e.steps);
    }
  }

 private:
  static constexpr size_t kMax = 8;
  std::vector<Event> kept_;
};

struct Costliest {
  uint64_t steps = 0;
  uint32_t cpu_ns = 0;
};

struct Storm {
  const Shape shape;
  uint64_t random;
  uint64_t libc = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")) + 1;
  uint64_t module = 0;
  std::vector<uint32_t> times;       // of events, in nanoseconds
  std::vector<uint32_t> idle_times;  // of as many that do nothing with memory
  std::vector<uint32_t> steps;
  Longest longest;
  Costliest costliest;  // the event of the most steps
  double allocated = 0;
  double living = 0;
  uint64_t sink = 0;

  Storm(const Shape& wanted, uint64_t seed) : shape(wanted), random(seed) {}

  double uniform() {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    return static_cast<double>(random >> 11) * 0x1p-53;
  }

  uint32_t code_of_function(uint64_t i) const {
    const std::string name = "generated_" + std::to_string(i);
    const uint8_t lines[8] = {static_cast<uint8_t>(i), static_cast<uint8_t>(i >> 8), 1, 2, 3, 4, 5, 6};
    return profiler::intern_code(
        {name.data(), static_cast<uint32_t>(name.size()), "<string>", 8, lines, sizeof(lines), 1, kRuntime});
  }

  // What recorder.cc does of a sample.
  void record(uint64_t i, uint64_t size_bytes, uint64_t rate_bytes) {
    const Event before = happened();
    const uint64_t first_step = g_steps;
    const uint64_t begin = bench_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    const uint64_t function = i / std::max<uint64_t>(1, shape.stacks / shape.functions);
    const uint32_t code = code_of_function(function);
    uint64_t frames[kDepth] = {runtime_frame(code == CodeTable::kNone ? unknown_code(kRuntime) : code, 0),
                               libc};
    for (uint32_t level = 2; level < kDepth; ++level) {
      frames[level] = kNumbers + i * 16 + level;
    }
    profiler::g_modules.tag(frames, kDepth);
    bool is_new = false;
    const uint32_t stack = profiler::g_stacks.intern(frames, kDepth, platform::Walk::kRoot, &is_new);
    if (is_new) {
      profiler::g_modules.note(frames, kDepth);
      profiler::g_sweep.step();
    }
    const Weight weight = weigh(size_bytes, rate_bytes);
    const uint64_t now = platform::monotonic_ns();
    profiler::g_stacks.add_allocated(stack, size_bytes, weight);
    const LiveSample sample{
        {address_of(i, shape.live), size_bytes, rate_bytes, now, profiler::g_stacks.ref(stack), 1}};
    profiler::account_live(sample, weight);
    g_sampled_filter.mark(sample.address);
    if (!profiler::g_live.insert(sample)) {
      profiler::account_refused(sample, weight);
    }
    profiler::thin_live_samples(now);
    times.push_back(static_cast<uint32_t>(bench_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin));
    const uint64_t taken = g_steps - first_step;
    steps.push_back(static_cast<uint32_t>(taken));
    longest.add(times.back(), taken, before, happened());
    if (taken > costliest.steps) {
      costliest = {taken, times.back()};
    }
    compute();
    module = ModuleTable::entry_of(frames[1]);
  }

  // The control: an event of about the same length that is arithmetic only.
  void compute() {
    const uint64_t begin = bench_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t x = random;
    for (int i = 0; i < kControlSteps; ++i) {
      x = mix_hash(x);
    }
    sink += x;
    idle_times.push_back(static_cast<uint32_t>(bench_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin));
  }

  void change_module(uint64_t i) {
    const uint64_t entry = module == UINT32_MAX ? 0 : module;
    if (entry < kMaxModules) {
      memcpy(profiler::arena().at<ModuleEntry>(kModuleSection)[entry].build_id, &i, sizeof(i));
    }
    profiler::code_was_unloaded();
  }

  void run() {
    times.reserve(shape.stacks);
    idle_times.reserve(shape.stacks);
    steps.reserve(shape.stacks);
    const uint64_t each_module = std::max<uint64_t>(1, shape.stacks / shape.modules);
    for (uint64_t i = 0; i < shape.stacks; ++i) {
      if (i >= shape.live) {
        profiler::record_free(reinterpret_cast<void*>(address_of(i, shape.live)));
        living -= static_cast<double>(size_of(i - shape.live));
      }
      const uint64_t size = size_of(i);
      const uint64_t rate = sampler_rate();
      allocated += static_cast<double>(size);
      living += static_cast<double>(size);
      if (uniform() < weigh(size, rate).probability) {
        record(i, size, rate);
      }
      if (i % each_module == each_module - 1) {
        change_module(i);
      }
    }
  }
};

struct Result {
  bool live_held, allocated_held;
};

uint32_t quantile(std::vector<uint32_t> times, double q) {
  std::sort(times.begin(), times.end());
  return times[static_cast<size_t>(q * static_cast<double>(times.size() - 1))];
}

Result report(const Storm& storm, uint64_t seed) {
  const Arena arena = profiler::arena();
  const Counters c = profiler::counters();
  bool is_arena = false;
  Snapshot* s = Snapshot::read(arena.base(), arena.header().total_bytes, &is_arena);
  double live_variance = 0;
  double allocated = 0;
  double allocated_variance = 0;
  for (uint64_t i = 0; i < s->stacks.size; ++i) {
    allocated += s->stacks.data[i].allocated.weight_bytes;
    allocated_variance += s->stacks.data[i].allocated.variance_bytes;
  }
  std::vector<const SnapshotRecord*> records;
  for (uint64_t i = 0; i < s->records.size; ++i) {
    const SnapshotRecord& r = s->records.data[i];
    live_variance += (1 - weigh(r.size_bytes, r.rate_bytes).probability) * r.weight_bytes * r.weight_bytes;
    records.push_back(&r);
  }
  std::sort(records.begin(), records.end(),
            [](const auto* a, const auto* b) { return a->time_ns > b->time_ns; });
  uint64_t whole = 0;
  uint64_t wrong = 0;
  uint64_t shortened = 0;
  const uint64_t each = std::max<uint64_t>(1, storm.shape.stacks / storm.shape.functions);
  for (uint64_t i = 0; i < records.size() && i < kNewest; ++i) {
    const SnapshotStack& stack = s->stacks.data[records[i]->stack_id];
    const uint64_t* frames = s->frames.data + stack.first_frame;
    if (stack.frame_count != kDepth || !is_runtime_frame(frames[0])) {
      ++shortened;
      continue;
    }
    const uint64_t number = (frames[2] - kNumbers - 2) / 16;
    const std::string name = s->strings.data + s->runtime_frames.data[frames[0] & UINT32_MAX].name_offset;
    const bool has_module = s->frame_modules.data[stack.first_frame + 1] != Snapshot::kNoModule;
    const bool is_right = name == "generated_" + std::to_string(number / each);
    whole += is_right && has_module;
    wrong += !is_right && name.compare(0, 10, "generated_") == 0;
  }
  constexpr size_t kOrdinary = 20000;
  const std::vector<uint32_t> ordinary(
      storm.times.begin(),
      storm.times.begin() + static_cast<int64_t>(std::min(kOrdinary, storm.times.size())));
  const double live_interval = 1.96 * std::sqrt(live_variance);
  const double allocated_interval = 1.96 * std::sqrt(allocated_variance);
  const Result result{std::fabs(s->live_weight_bytes - storm.living) <= live_interval + 1,
                      std::fabs(allocated - storm.allocated) <= allocated_interval + 1};
  const auto n = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  printf(
      "{\"seed\": %llu, \"samples\": %llu, \"live_samples\": %llu, \"thinned\": %llu, \"folded_stacks\": "
      "%llu, "
      "\"folded_functions\": %llu, \"folded_modules\": %llu, \"dropped\": %llu,\n \"live_over_truth\": %.5f, "
      "\"interval\": %.5f, \"allocated_over_truth\": %.5f, \"interval\": %.5f, \"used_mib\": %.1f, "
      "\"newest_whole\": \"%llu of %llu\", \"shortened\": %llu, \"wrong\": %llu, \"sweeps\": %llu,\n "
      "\"event_ns\": {\"50 %%\": "
      "%u, "
      "\"99.99 %%\": %u, \"longest\": %u, \"ordinary 99.99 %%\": %u},\n \"control_ns\": {\"50 %%\": %u, "
      "\"99.99 %%\": %u, \"longest\": %u}}\n",
      n(seed), n(c.samples), n(c.live_samples), n(c.thinned_samples), n(c.folded_stacks),
      n(c.folded_functions), n(c.folded_modules), n(c.dropped_samples), s->live_weight_bytes / storm.living,
      live_interval / storm.living, allocated / storm.allocated, allocated_interval / storm.allocated,
      static_cast<double>(c.arena_used_bytes) / (1 << 20), n(whole),
      n(std::min<uint64_t>(records.size(), kNewest)), n(shortened), n(wrong),
      n(arena.header().sweep.number.load()), quantile(storm.times, 0.5), quantile(storm.times, 0.9999),
      quantile(storm.times, 1), quantile(ordinary, 0.9999), quantile(storm.idle_times, 0.5),
      quantile(storm.idle_times, 0.9999), quantile(storm.idle_times, 1));
  if (quantile(storm.steps, 1) != 0) {
    const std::vector<uint32_t> first(
        storm.steps.begin(),
        storm.steps.begin() + static_cast<int64_t>(std::min(kOrdinary, storm.steps.size())));
    printf(
        " {\"event_steps\": {\"50 %%\": %u, \"99.99 %%\": %u, \"longest\": %u, \"its_ns\": %u, \"ordinary "
        "99.99 "
        "%%\": %u}}\n",
        quantile(storm.steps, 0.5), quantile(storm.steps, 0.9999), quantile(storm.steps, 1),
        storm.costliest.cpu_ns, quantile(first, 0.9999));
  }
  storm.longest.print();
  fflush(stdout);
  Snapshot::release(s);
  return result;
}

// In a process of its own: there is one profiler in each.
Result run_one(const Shape& shape, uint64_t seed) {
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) {
    bench_fail("no pipe");
  }
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    profiler::Sharing sharing;
    sharing.folder = shape.folder;
    profiler::initialize(
        shape.memory_bytes != 0 ? limits_within(kDefaultLimits, shape.memory_bytes) : kDefaultLimits, 1,
        sharing);
    profiler::start();
    Storm storm(shape, 88172645463325252ull + seed * 0x9e3779b97f4a7c15ull);
    storm.run();
    const Result result = report(storm, seed);
    unlink(profiler::arena_path());
    _exit(write(pipe_ends[1], &result, sizeof(result)) == sizeof(result) ? 0 : 1);
  }
  close(pipe_ends[1]);
  Result result{};
  const bool is_there = read(pipe_ends[0], &result, sizeof(result)) == sizeof(result);
  close(pipe_ends[0]);
  waitpid(child, nullptr, 0);
  if (!is_there) {
    bench_fail("a run has failed");
  }
  return result;
}

}  // namespace
}  // namespace memprof

int main(int argc, char** argv) {
  const memprof::Shape shape{bench_argument(argc, argv, 1, 10000000), bench_argument(argc, argv, 2, 2000000),
                             bench_argument(argc, argv, 3, 1000000),  bench_argument(argc, argv, 4, 100000),
                             bench_argument(argc, argv, 6, 0) << 20,  argc > 7 ? argv[7] : nullptr};
  const uint64_t seeds = bench_argument(argc, argv, 5, 1);
  uint64_t live = 0;
  uint64_t allocated = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const memprof::Result result = memprof::run_one(shape, seed);
    live += result.live_held;
    allocated += result.allocated_held;
  }
  printf("{\"runs\": %llu, \"live_held\": %llu, \"allocated_held\": %llu}\n",
         static_cast<unsigned long long>(seeds), static_cast<unsigned long long>(live),
         static_cast<unsigned long long>(allocated));
}
