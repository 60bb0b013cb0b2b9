// SPDX-License-Identifier: Apache-2.0
// What a service held in each whole cycle (day), out of its slots: the values that a change over time is sought in.
//
// Model: a block is a cycle, or some cycles where there are many; blocks are counted back from the last look of all, so
// they are the same for all services.  A host has a block if it was looked at in two thirds of the block's parts, which
// are as long as looks are apart, and at most a third of a cycle.  A value is what the host held, less what the hours of
// its looks are above the others on all days (an additive fit of blocks and hours), so a look that is missed at night is
// no rise.  A host has a part in it if it has four fifths of the blocks: what differs between hosts that come and go is
// no change.  Of the hosts a block has the median, after each host's own level is taken away (median polish,
// Tukey, Exploratory Data Analysis, 1977): a single host that changes is an outlier, and no change of the service.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "profile/fleet/fleet_slots.h"

namespace memprof::profile {

// Blocks of all services.
struct Calendar {
  static constexpr uint64_t kMaxBlocks = 48;

  uint64_t end_slot = 0;  // after the last one
  uint64_t slot_ns = 1;
  uint64_t slots = 0;   // in a cycle
  uint64_t cycles = 1;  // in a block
  uint64_t blocks = 0;  // whole ones, and what is before them

  uint64_t begin_slot() const;
  // When the block begins; fractions of it, too.
  uint64_t time_ns(double block) const;
};

Calendar calendar_of(const FleetSlots& slots);

struct BlockRow {
  uint32_t row = 0;
  std::vector<double> values;  // one a block: of a host
  double host_variance = 0;    // of a value, by what hosts differ from each other
};

class HistoryBlocks {
 public:
  // Takes the sums of the service away.
  HistoryBlocks(SlotService* service, const Calendar& calendar);

  // Numbers of the calendar's blocks, by time: those in which half of the hosts were looked at.
  const std::vector<uint32_t>& blocks() const { return blocks_; }
  size_t hosts() const { return hosts_; }  // that have a part in it
  size_t all_hosts() const { return all_hosts_; }
  uint64_t rate_bytes() const { return rate_bytes_; }
  uint64_t slot_ns() const {
    return calendar_.slot_ns * join_;
  }  // about as long as looks are apart, or longer

  // Those that hold so much in a block of a host.  The row of all is the first.
  std::vector<BlockRow> rows(double min_bytes) const;
  // What each host held in each block; NaN: not known.
  std::vector<std::vector<double>> values_of(uint32_t row) const;

 private:
  struct Sum {
    uint32_t row;
    uint32_t host;
    uint32_t slot;
    float bytes;
  };
  void find_hosts(const std::vector<std::vector<uint32_t>>& slots_by_host);
  std::pair<const Sum*, const Sum*> sums_of(uint32_t row) const;

  Calendar calendar_;
  uint32_t join_ = 1;  // so many slots are together about as long as looks are apart, or longer
  uint64_t rate_bytes_ = 0;
  std::vector<Sum> sums_;  // by row
  std::vector<uint32_t> blocks_;
  std::vector<int> place_of_block_;          // in blocks_; -1: not there
  std::vector<int> place_of_host_;           // among those that have a part; -1: none
  std::vector<std::vector<double>> counts_;  // of a host: its slots in each block; 0: it does not have it
  std::vector<std::vector<std::vector<uint16_t>>> hours_;  // of a host and block: slots by hour of the cycle
  std::vector<std::vector<double>> looked_;                // likewise, of all hosts, of each of blocks_
  size_t hosts_ = 0;
  size_t all_hosts_ = 0;
};

}  // namespace memprof::profile
