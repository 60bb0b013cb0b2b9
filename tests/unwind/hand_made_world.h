// SPDX-License-Identifier: Apache-2.0
// A module of functions that exist only in a table, a stack that is written word by word, and what walks over it
// find: what is the same for each processor.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "platform/stack.h"
#include "tests/unwind/hand_made_tables.h"
#include "unwind/tables/rule_cache.h"
#include "unwind/walk/table_walk.h"

namespace memprof::unwind_test {

struct WorldOfAny {
  Tables tables;
  unwind::Image image;
  std::array<uint64_t, 512> words{};
  bool call_sites = true;
  uint64_t hooks_below = 0;  // the first so many functions are hooks
  unwind::StackBounds other_stack{0, 0, nullptr};
};

// `World`: a WorldOfAny, and what its processor needs besides.
template <typename World>
class HandMadeWorld : public ::testing::Test {
 protected:
  // Functions of 64 bytes, one for each program, in their order; `trampoline` is the frame of a signal.
  template <size_t kCount>
  void add_functions(const Blob (&programs)[kCount], uint64_t trampoline, const Cie& cie) {
    Cie signal = cie;
    signal.augmentation = "zRS";
    Tables& t = world_.tables;
    const size_t ordinary = t.add_cie(cie);
    const size_t of_signals = t.add_cie(signal);
    for (uint64_t f = 0; f < kCount; ++f) {
      t.add_fde(f == trampoline ? of_signals : ordinary, f * 64, 64, programs[f]);
    }
    world_.image = t.finish();
    functions_ = kCount;
    // The code of another test was at these addresses.
    unwind::g_rule_cache.begin_unload();
    unwind::g_rule_cache.end_unload();
  }

  // A return address in a function, in the gap behind them all, or, behind that, in no module.
  uint64_t in(uint64_t function, uint64_t offset = 32) const {
    return function > functions_ ? world_.tables.code(1 << 18) + offset
                                 : world_.tables.code(function * 64 + offset);
  }
  uint64_t at(uint64_t word) const { return reinterpret_cast<uint64_t>(world_.words.data() + word); }
  // As many words of the stack from `word` on.
  void put(uint64_t word, const std::vector<uint64_t>& values) {
    std::copy(values.begin(), values.end(), world_.words.begin() + static_cast<long>(word));
  }

  World world_;

 private:
  uint64_t functions_ = 0;
};

struct Walked {
  std::vector<uint64_t> frames;
  platform::Walk reason;
  bool needs_all = false;
};

// `walk` gets an array for max_depth frames and a flag for needs_all, and returns a platform::WalkResult.
template <typename WalkFunction>
Walked walked(uint32_t max_depth, WalkFunction walk) {
  Walked w;
  w.frames.assign(max_depth + 1, 0xdead);
  const platform::WalkResult result = walk(w.frames.data(), &w.needs_all);
  EXPECT_LE(result.depth, max_depth);
  EXPECT_EQ(0xdeadu, w.frames[max_depth]) << "wrote behind the end";
  w.frames.resize(std::min(result.depth, max_depth));
  w.reason = result.reason;
  return w;
}

inline Walked walked_by_tables(const unwind::Start& start, const unwind::StackBounds& stack,
                               const unwind::Surroundings& surroundings, uint32_t max_depth) {
  return walked(max_depth, [&](uint64_t* frames, bool* needs_all) {
    return unwind::walk_by_tables(start, stack, surroundings, frames, max_depth, needs_all);
  });
}

inline Walked walked_with_all_registers(const unwind::RegisterFile& registers, uint64_t sp,
                                        const unwind::StackBounds& stack,
                                        const unwind::Surroundings& surroundings, uint32_t max_depth) {
  return walked(max_depth, [&](uint64_t* frames, bool*) {
    return unwind::walk_with_all_registers(registers, sp, stack, surroundings, frames, max_depth);
  });
}

}  // namespace memprof::unwind_test
