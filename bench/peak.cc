// SPDX-License-Identifier: Apache-2.0
// The estimate of the heap at its highest over the truth, and how often its 95 % interval holds the truth.
//
// Model: a program allocates and frees known blocks, so that the truth at every moment is known; the engine's
// PeakTable is told of those that a Poisson clock samples.  The truth is what was live at the moment that the
// engine takes for the peak; how that compares with the highest of the run is told beside it.  Shapes: a ramp
// up and down; a saw-tooth that grows; a plateau whose blocks come and go (20 and 200 expected samples, 10
// and 1,000 lifetimes); two phases at different sites; one huge block; 8 threads; 8 sites in turn.
//
// usage: peak [RUNS [SHAPE]]   SHAPE: a part of its name
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "core/arena/arena.h"
#include "core/reader/snapshot.h"
#include "core/tables/peak.h"
#include "core/tables/stack_table.h"
#include "format/hash.h"
#include "platform/stack.h"
#include "profile/model/estimate.h"
#include "program.h"

namespace memprof {
namespace {

using profile::Accumulator;
using profile::Metric;

constexpr uint64_t kRateBytes = 512 * 1024;
constexpr uint32_t kStacks = 8;

thread_local uint64_t g_random = 0;

double uniform() {  // splitmix64
  uint64_t z = (g_random += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

// A heap whose blocks are freed oldest first, with what is sampled of it.
class Program {
 public:
  explicit Program(uint64_t seed)
      : arena_(Arena::create({1u << 18, 64, 8})), live_(arena_), stacks_(arena_), peaks_(arena_) {
    arena_.header().peak.seed = seed;
    for (uint64_t i = 0; i < kStacks; ++i) {
      const uint64_t frame = 0x400000 + i * 64;
      bool is_new = false;
      stacks_.intern(&frame, 1, platform::Walk::kRoot, &is_new);
    }
  }
  ~Program() { Arena::release(arena_); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  void add(uint64_t size_bytes, uint32_t stack = 0) {
    const uint64_t clock = ++clock_;
    const LiveSample sample{{clock * 64, size_bytes, kRateBytes, clock, stack, 1}};
    const bool is_sampled = uniform() < weigh(size_bytes, kRateBytes).probability;
    t_blocks.push_back({sample, is_sampled});
    raise(highest_, now_ += size_bytes);
    if (is_sampled && live_.insert(sample)) peaks_.add(sample);
    note_moment();
  }
  void free() {
    note_moment();
    now_ -= t_blocks.front().sample.size_bytes;
    LiveSample freed{};
    if (t_blocks.front().is_sampled && live_.erase(t_blocks.front().sample.address, &freed))
      peaks_.take(freed, ++clock_);
    t_blocks.pop_front();
    note_moment();
  }

  // Of a run; what is live stays so.
  static void end() { t_blocks.clear(); }
  void free_all() {
    while (!t_blocks.empty()) free();
  }

  double truth() const { return static_cast<double>(highest_.load()); }
  // At the moment that the engine takes for the peak.
  double truth_then() const { return static_cast<double>(then_.load()); }
  profile::Estimate estimate() const {
    bool is_arena = false;
    Snapshot* snapshot = Snapshot::read(arena_.base(), arena_.header().total_bytes, &is_arena);
    Accumulator sum;
    for (uint64_t i = 0; i < snapshot->peaks.size; ++i) {
      const SnapshotTotals& t = snapshot->peaks.data[i];
      sum.add_peak({t.samples, t.size_bytes, t.weight_bytes, t.weight_count, t.variance_bytes,
                    t.variance_count, t.max_missed_bytes, t.max_missed_count});
    }
    Snapshot::release(snapshot);
    return sum.estimate(Metric::kPeakSpace);
  }

 private:
  struct Block {
    LiveSample sample;
    bool is_sampled;
  };
  // Locked: a thread that waits for a processor in between would note what was long ago.
  void note_moment() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (is_open()) then_ = now_.load();
  }
  bool is_open() const { return (arena_.header().peak.climb.load() & 1) == 0; }

  Arena arena_;
  HeapMap live_;
  StackTable stacks_;
  PeakTable peaks_;
  // The blocks of a thread, oldest first.
  static inline thread_local std::deque<Block> t_blocks;
  std::mutex mutex_;
  std::atomic<uint64_t> clock_{0};
  std::atomic<uint64_t> now_{0};
  std::atomic<uint64_t> highest_{0};
  std::atomic<uint64_t> then_{0};  // of threads at once: as far off as what they are at
};

void add_many(Program* p, int blocks, uint64_t size_bytes, uint32_t stack = 0) {
  for (int i = 0; i < blocks; ++i) p->add(size_bytes, stack);
}
void free_many(Program* p, int blocks) {
  for (int i = 0; i < blocks; ++i) p->free();
}

void plateau(Program* p, int samples, int lifetimes) {
  constexpr uint64_t kSize = 16 * 1024;
  const int blocks = samples * static_cast<int>(kRateBytes / kSize);
  add_many(p, blocks, kSize);
  for (int64_t i = 0; i < int64_t{lifetimes} * blocks; ++i) {
    p->free();
    p->add(kSize);
  }
}

struct Shape {
  const char* name;
  int share_of_runs;  // one in so many: those that take long
  std::function<void(Program*)> run;
};

const Shape kShapes[] = {
    {"ramp", 1,
     [](Program* p) {
       add_many(p, 20000, 8192);
       free_many(p, 20000);
     }},
    {"saw-tooth", 1,
     [](Program* p) {
       for (int tooth = 1; tooth <= 20; ++tooth) {
         add_many(p, 800 * tooth, 8192);
         free_many(p, 800 * tooth);
       }
     }},
    {"plateau, 20 samples, 10 lifetimes", 1, [](Program* p) { plateau(p, 20, 10); }},
    {"plateau, 20 samples, 1,000 lifetimes", 4, [](Program* p) { plateau(p, 20, 1000); }},
    {"plateau, 200 samples, 10 lifetimes", 1, [](Program* p) { plateau(p, 200, 10); }},
    {"plateau, 200 samples, 1,000 lifetimes", 20, [](Program* p) { plateau(p, 200, 1000); }},
    {"two phases at different sites", 1,
     [](Program* p) {
       add_many(p, 10000, 8192, 0);
       free_many(p, 10000);
       add_many(p, 600, 262144, 1);
       free_many(p, 600);
     }},
    {"growth with churn until the end", 1,
     [](Program* p) {
       for (int i = 0; i < 40000; ++i) {
         p->add(8192);
         if (i % 10 == 9) p->free();
       }
     }},
    {"plateau, 20 samples, 1 lifetime, alive", 1, [](Program* p) { plateau(p, 20, 1); }},
    {"one huge block", 1,
     [](Program* p) {
       add_many(p, 2000, 4096);
       p->add(uint64_t{1} << 30);
       free_many(p, 2001);
     }},
    {"8 threads, churn, each a phase of its own", 1,
     [](Program* p) {
       std::vector<std::thread> threads;
       const uint64_t seed = g_random;
       for (uint32_t thread = 0; thread < 8; ++thread) {
         threads.emplace_back([p, seed, thread] {
           g_random = mix_hash(seed * 8 + thread);  // no stream is another one, shifted
           for (int i = 0; i < 32000; ++i) {
             p->add(1024 + 512 * static_cast<uint64_t>(i % 13), thread);
             if (i > 4000 * static_cast<int>(thread)) p->free();
           }
           p->free_all();
         });
       }
       for (std::thread& thread : threads) thread.join();
     }},
    {"8 sites in turn, churn", 1,
     [](Program* p) {
       for (int i = 0; i < 60000; ++i) {
         p->add(1024 + 512 * static_cast<uint64_t>(i % 13), static_cast<uint32_t>(i % 8));
         if (i > 30000) p->free();
       }
       free_many(p, 20000);
     }},
};

}  // namespace
}  // namespace memprof

int main(int argc, char** argv) {
  using namespace memprof;
  const int runs = argc > 1 ? std::atoi(argv[1]) : 400;
  for (const Shape& shape : kShapes) {
    if (argc > 2 && std::strstr(shape.name, argv[2]) == nullptr) continue;
    const int count = std::max(10, runs / shape.share_of_runs);
    double sum = 0, squares = 0, held = 0, moment = 0;
    for (int run = 0; run < count; ++run) {
      g_random = static_cast<uint64_t>(run) * 1000003;
      Program program(static_cast<uint64_t>(run));
      shape.run(&program);
      Program::end();
      const profile::Estimate e = program.estimate();
      const double ratio = e.value / program.truth_then();
      moment += program.truth_then() / program.truth() / count;
      sum += ratio;
      squares += ratio * ratio;
      held += e.low <= program.truth_then() && program.truth_then() <= e.high;
    }
    const double mean = sum / count;
    std::printf("%-40s %4d runs: %.4f +- %.4f of the truth then, %.3f held; then %.3f of the highest\n",
                shape.name, count, mean,
                std::sqrt(std::max(0.0, squares / count - mean * mean) / (count - 1)), held / count, moment);
    std::fflush(stdout);
  }
  return 0;
}
