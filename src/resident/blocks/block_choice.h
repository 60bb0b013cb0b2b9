// SPDX-License-Identifier: Apache-2.0
// Which of the sampled blocks are looked at, where there are too many for all: as many small ones from all over the
// list, and large ones, of which each may be much that was never touched.
//
// Model: one of each so many neighbours of the list, at a place that changes from each to the next: a program that
// allocates in turns is met in all of them.  What was chosen is ordered by address, so that looking goes through memory.
//
// Threads: one's own.
// Allocates: never.
// Cost: in proportion to the list, without a look at memory; only what was chosen is sorted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace memprof::resident {

// A sampled block that is live.
struct Block {
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  double weight_bytes = 0;
  double weight_count = 0;
  float* share = nullptr;  // gets how much of it is in memory, 0 to 1; nullptr: not wanted
};

// The blocks: read where they lie, for there may be millions.
struct BlockList {
  size_t count = 0;
  Block (*at)(const void* context, size_t index) = nullptr;
  const void* context = nullptr;
};

inline constexpr size_t kMaxSmallChosen = 32768;
inline constexpr size_t kMaxLargeChosen = 131072;
inline constexpr size_t kMaxChosen = kMaxLargeChosen + kMaxSmallChosen;
inline constexpr uint64_t kLargeBlockBytes = 64 << 10;

inline bool is_large_block(const Block& b) {
  return b.size_bytes >= kLargeBlockBytes;
}

struct BlockChoice {
  double small_live = 0;  // the weights of all, chosen or not
  double large_live = 0;
  double small_live_blocks = 0;  // how many all stand for
  double large_live_blocks = 0;
  size_t small_count = 0;  // chosen
  size_t large_count = 0;
  bool is_whole = true;  // false: the time was over before the end of the list
};

// What those tell that were looked at, with what each stands for.
struct BlocksSeen {
  size_t count = 0;
  double live = 0;
  double live_blocks = 0;
  double seen = 0;
  double absent = 0;
  size_t chunks = 0;       // of how many the slack is known
  double chunks_seen = 0;  // blocks that these stand for: a few large ones would tell little by their bytes
  double slack = 0;
};

// Of `count`, at most `most`: one of each so many, at a place that looks like chance.
class EachSoMany {
 public:
  EachSoMany(size_t count, size_t most) : step_(count > most ? (count - 1) / most + 1 : 1) { begin(); }
  bool takes_next() {
    const bool takes = at_ == place_;
    if (++at_ == step_) {
      begin();
    }
    return takes;
  }

 private:
  void begin() {
    constexpr uint64_t kFactor = 0x5851f42d4c957f2d, kMore = 0x14057b7ef767814f;
    constexpr unsigned kUpperBits = 33;
    random_ = random_ * kFactor + kMore;
    at_ = 0;
    place_ = (random_ >> kUpperBits) % step_;
  }

  size_t step_;
  size_t at_ = 0;
  size_t place_ = 0;
  uint64_t random_ = 1;
};

// Into `room` for kMaxChosen: large ones from its begin, small ones from kMaxLargeChosen on.  `may_go_on()`: there is
// time to choose more.
template <typename MayGoOn>
BlockChoice choose_blocks(const BlockList& blocks, Block* room, MayGoOn may_go_on) {
  constexpr size_t kBetweenClocks = 65536;
  BlockChoice choice;
  size_t large = 0;
  for (size_t i = 0; i < blocks.count; ++i) {
    const Block b = blocks.at(blocks.context, i);
    const bool is_large = is_large_block(b);
    large += is_large ? 1 : 0;
    (is_large ? choice.large_live : choice.small_live) += b.weight_bytes;
    (is_large ? choice.large_live_blocks : choice.small_live_blocks) += b.weight_count;
  }
  EachSoMany of_large(large, kMaxLargeChosen);
  EachSoMany of_small(blocks.count - large, kMaxSmallChosen);
  for (size_t i = 0; i < blocks.count && choice.is_whole; ++i) {
    const Block b = blocks.at(blocks.context, i);
    if (is_large_block(b)) {
      if (of_large.takes_next() && choice.large_count < kMaxLargeChosen) {
        room[choice.large_count++] = b;
      }
    } else if (of_small.takes_next() && choice.small_count < kMaxSmallChosen) {
      room[kMaxLargeChosen + choice.small_count++] = b;
    }
    choice.is_whole = (i + 1) % kBetweenClocks != 0 || may_go_on();
  }
  const auto by_address = [](const Block& a, const Block& b) { return a.address < b.address; };
  std::sort(room, room + choice.large_count, by_address);
  std::sort(room + kMaxLargeChosen, room + kMaxLargeChosen + choice.small_count, by_address);
  return choice;
}

}  // namespace memprof::resident
