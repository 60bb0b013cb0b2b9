// SPDX-License-Identifier: Apache-2.0
// Python frames of a stack: nanoseconds a frame, hot, with its code found by name and checked, as they are
// merged with native frames.  The frames are those of 3.12 in memory of this program
// (tests/support/fake_python.h); each of 40 functions has its own code object.
//
// usage: python_frames [ROUNDS]
#include <algorithm>
#include <vector>

#include "core/engine/profiler.h"
#include "platform/stack.h"
#include "program.h"
#include "runtime/cpython/mixed_stack.h"
#include "tests/support/fake_python.h"

namespace memprof {
namespace {

constexpr uint32_t kMaxFrames = 256;
constexpr uint32_t kFunctions = 40;
constexpr uint32_t kLess = 20;
constexpr uint32_t kMore = 120;
constexpr uint64_t kMerges = 20000;

class Stack {
 public:
  Stack(testing_support::FakePython* python, const std::vector<uint64_t>& codes, uint32_t depth)
      : python_(python) {
    frame_ = python->entry_frame(&memory_[8], 0);
    for (uint32_t i = 0; i < depth; ++i) {
      frame_ = python->frame(codes[i % codes.size()], frame_);
    }
    state_ = python->thread(frame_);
  }

  double time() const {
    const uint64_t frames[] = {0x401000, 0x402000, 0x403000};
    const uint64_t pointers[] = {reinterpret_cast<uint64_t>(&memory_[0]),
                                 reinterpret_cast<uint64_t>(&memory_[4]),
                                 reinterpret_cast<uint64_t>(&memory_[32])};
    const runtimes::NativeCode code{};
    const runtimes::NativeStack native{
        frames, pointers, {3, platform::Walk::kRoot}, false, reinterpret_cast<uint64_t>(memory_ + 64), &code};
    uint64_t out[kMaxFrames];
    const uint64_t begin = bench_cpu_ns();
    for (uint64_t i = 0; i < kMerges; ++i) {
      cpython::merge_frames({&python_->interpreter, &python_->layout, state_, true, false}, native, out,
                            kMaxFrames);
      bench_escape(out);
    }
    return static_cast<double>(bench_cpu_ns() - begin) / kMerges;
  }

 private:
  testing_support::FakePython* python_;
  uint64_t memory_[64] = {};
  uint64_t frame_;
  uint64_t state_;
};

int run(uint64_t rounds) {
  profiler::initialize(kDefaultLimits, 1024);
  testing_support::FakePython python;
  std::vector<uint64_t> codes;
  for (uint32_t i = 0; i < kFunctions; ++i) {
    codes.push_back(python.code("function_" + std::to_string(i)));
  }
  const Stack less(&python, codes, kLess);
  const Stack more(&python, codes, kMore);
  std::vector<double> a_frame;
  for (uint64_t round = 0; round < rounds; ++round) {
    const double shorter = less.time();
    a_frame.push_back((more.time() - shorter) / (kMore - kLess));
  }
  std::sort(a_frame.begin(), a_frame.end());
  printf("{\"part\": \"a Python frame, hot\", \"ns\": %.2f}\n", a_frame[a_frame.size() / 2]);
  return 0;
}

}  // namespace
}  // namespace memprof

int main(int n, char** arguments) {
  return memprof::run(n > 1 ? strtoull(arguments[1], nullptr, 10) : 31);
}
