// SPDX-License-Identifier: Apache-2.0
// The walk by unwind tables: nanoseconds of a whole capture of code without frame pointers, 20, 23 and 40
// frames deep, of one more frame, and of an address that is seen for the first time.
//
// The frames are those of 40 different functions with frames of different sizes, as code is; what a real
// program adds are cache misses, because it does other things between two samples.
//
// usage: unwind [ROUNDS]
#include <link.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "platform/linux/memory/stack_bounds.h"
#include "platform/linux/modules/elf_image.h"
#include "platform/stack.h"
#include "program.h"
#include "unwind/tables/rule_cache.h"
#include "unwind/walk/table_walk.h"

namespace memprof {
namespace {

constexpr uint32_t kMaxFrames = 256;
constexpr uint32_t kFunctions = 48;
volatile uint64_t g_sink;

void print_quantile(std::vector<double>* times, double part, const char* what) {
  std::sort(times->begin(), times->end());
  const double value = (*times)[static_cast<size_t>(static_cast<double>(times->size() - 1) * part)];
  printf("{\"part\": \"%s\", \"ns\": %.1f}\n", what, value);
}

// What the hook does: it keeps a frame pointer.
__attribute__((noinline)) double time_captures(uint64_t n, uint32_t* depth) {
  uint64_t frames[kMaxFrames];
  const void* frame = __builtin_frame_address(0);
  const uint64_t begin = bench_cpu_ns();
  for (uint64_t i = 0; i < n; ++i) {
    *depth = platform::capture_stack({frame}, frames, kMaxFrames).depth;
    bench_escape(frames);
  }
  return static_cast<double>(bench_cpu_ns() - begin) / static_cast<double>(n);
}

using Step = double (*)(uint32_t, uint64_t, uint32_t*);
Step g_steps[kFunctions];

// kN words of locals, and one more frame below.
template <size_t kN>
__attribute__((noinline)) double step(uint32_t deeper, uint64_t n, uint32_t* depth) {
  volatile uint64_t locals[1 + kN * 7 % 13];
  locals[0] = deeper;
  const double time =
      deeper == 0 ? time_captures(n, depth) : g_steps[deeper % kFunctions](deeper - 1, n, depth);
  g_sink = g_sink + locals[0];
  return time;
}

template <size_t... kN>
void fill_steps(std::index_sequence<kN...>) {
  ((g_steps[kN] = step<kN>), ...);
}

// A stack of exactly so many frames.
void measure_depth(uint32_t wanted, uint64_t rounds, double* ns) {
  uint32_t depth = 0;
  g_steps[0](0, 1, &depth);
  const uint32_t deeper = wanted - depth;
  std::vector<double> times;
  for (uint64_t round = 0; round < rounds; ++round) {
    times.push_back(g_steps[0](deeper, 20000, &depth));
  }
  if (depth != wanted) {
    bench_fail("a stack is not as deep as it was made");
  }
  char what[64];
  snprintf(what, sizeof(what), "%u frames, warm", wanted);
  print_quantile(&times, 0.5, what);
  *ns = times[times.size() / 2];
}

// Addresses all over the code of all modules.
std::vector<uint64_t> code_addresses() {
  std::vector<uint64_t> addresses;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& h = info->dlpi_phdr[i];
          if (h.p_type == PT_LOAD && (h.p_flags & PF_X) != 0) {
            for (uint64_t at = 100; at < h.p_memsz; at += 397) {
              static_cast<std::vector<uint64_t>*>(data)->push_back(info->dlpi_addr + h.p_vaddr + at);
            }
          }
        }
        return 0;
      },
      &addresses);
  uint64_t random = 88172645463325252ull;
  for (size_t i = addresses.size() - 1; i > 0; --i) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    std::swap(addresses[i], addresses[random % (i + 1)]);
  }
  return addresses;
}

void measure_first_sight() {
  // A stack that has nothing to read: the walk ends after the rule of its first address.
  const unwind::Surroundings surroundings{platform::find_unwind_image, [](uint64_t) { return false; },
                                          platform::stack_bounds, [](uint64_t) { return false; }};
  uint64_t frames[4];
  bool needs_all = false;
  std::vector<double> clocks;
  std::vector<double> times;
  for (const uint64_t address : code_addresses()) {
    const uint64_t before = bench_clock_ns(CLOCK_MONOTONIC);
    const uint64_t begin = bench_clock_ns(CLOCK_MONOTONIC);
    unwind::walk_by_tables({address, 4096, 4096}, {4096, 4096, nullptr}, surroundings, frames, 4, &needs_all);
    const uint64_t end = bench_clock_ns(CLOCK_MONOTONIC);
    clocks.push_back(static_cast<double>(begin - before));
    times.push_back(static_cast<double>(end - begin) - clocks.back());
  }
  printf("{\"part\": \"addresses\", \"n\": %zu}\n", times.size());
  print_quantile(&times, 0.5, "an address for the first time, median");
  print_quantile(&times, 0.99, "an address for the first time, 99th percentile");
}

}  // namespace
}  // namespace memprof

int main(int argc, char** argv) {
  const uint64_t rounds = std::max<uint64_t>(bench_argument(argc, argv, 1, 21), 4);
  memprof::fill_steps(std::make_index_sequence<memprof::kFunctions>());
  double ns[3];
  memprof::measure_depth(20, rounds, &ns[0]);
  memprof::measure_depth(23, rounds, &ns[1]);
  memprof::measure_depth(40, rounds, &ns[2]);
  printf("{\"part\": \"one more frame, warm\", \"ns\": %.2f}\n", (ns[2] - ns[0]) / 20);
  memprof::measure_first_sight();
  return 0;
}
