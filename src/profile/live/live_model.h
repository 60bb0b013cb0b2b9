// SPDX-License-Identifier: Apache-2.0
// What running processes hold, look after look: now, how much more than at a first look, and how fast they
// allocate; as rows of what a viewer chose, in an order that changes slowly.
//
// Model: each look is a profile.  The first, the last but one and the last are kept, so that another choice
// of rows (by, focus, metric) shows at once what it would have shown from the beginning.  A row is known by
// its name, file and module, not its line (but by line): that is the one that holds the most at the moment.  Growth is the
// estimate of now minus that of the first look, rates are differences of running totals over the time between
// two looks.
//
// Threads: plain values.
// Failure: look() and choose() throw Error where build_report does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/live/live_ranks.h"
#include "profile/live/live_tree.h"
#include "profile/report/report.h"

namespace memprof::profile {

// What rows are ordered by.
enum class LiveSort : uint8_t { kLive, kBlocks, kCumulative, kGrowth, kAllocates };

// "live", "blocks", "cumulative", "growth", "allocates"
const char* live_sort_name(LiveSort sort);
std::optional<LiveSort> live_sort_from_name(std::string_view name);

// What a viewer asked to see.
struct LiveChoice {
  LiveSort sort = LiveSort::kLive;
  bool is_tree = false;
  GroupBy by = GroupBy::kFunction;
  Metric metric = Metric::kInuseSpace;  // in bytes; kLive, kCumulative and kGrowth are of it
  StackFilter filter;
  FrameView view;
};

struct LiveLook {
  Profile profile;
  uint64_t resident_bytes = 0;  // of the processes, as the system has it; 0: unknown
  std::string who;              // "server (pid 12)"; empty: as the profile says
  uint64_t time_unix_ns = 0;    // when it was taken; 0: now
};

struct LiveRow {
  const ReportRow* of = nullptr;
  std::string key;
  double growth = 0;
  double allocated_a_second = 0;
};

// Whether rows keep their places for a while, or each look is ordered by its values alone.
enum class LiveOrder : uint8_t { kSlow, kExact };

class LiveModel {
 public:
  explicit LiveModel(LiveChoice choice = {}, LiveOrder order = LiveOrder::kSlow)
      : choice_(std::move(choice)), order_(order) {}

  void look(LiveLook look);
  bool has_look() const { return looks_ != 0; }

  const LiveChoice& choice() const { return choice_; }
  // A choice that fails changes nothing.
  void choose(const LiveChoice& choice);
  // Growth is counted from the last look on.
  void count_from_now();

  // Of the last look.  With a tree it has no rows, else no tree.
  const Report& report() const { return report_; }
  // Those that hold something or changed, in their order.
  const std::vector<LiveRow>& rows() const { return rows_; }
  // Of each node of the tree, of what it holds with all that it calls.
  const std::vector<double>& tree_growth() const { return tree_growth_; }
  const std::string& who() const { return who_; }
  uint64_t resident_bytes() const { return resident_bytes_; }
  // Of what is shown, all rows together.
  double total_growth() const;
  double allocated_a_second() const;
  // Between the look that growth is counted from and the last one.
  double seconds() const;

 private:
  struct Held {
    double value = 0;
    double allocated = 0;
  };
  using Holders = std::unordered_map<std::string, Held>;
  // A look, and what its rows held by the choice.
  struct Kept {
    Profile profile;
    Held total;
    Holders rows;
  };

  static Report report_of(const Profile& profile, const LiveChoice& choice, bool is_whole = false);
  static void note(const Report& report, Kept* kept);
  // The last look is what growth is counted from.
  void begin_growth();
  void make_rows();

  LiveChoice choice_;
  LiveOrder order_;
  size_t looks_ = 0;
  Kept first_;
  CallValues first_calls_;  // with a tree
  Kept before_;
  Kept now_;
  Report report_;
  LiveRanks ranks_;
  std::vector<LiveRow> rows_;  // of report_
  std::vector<double> tree_growth_;
  std::string who_;
  uint64_t resident_bytes_ = 0;
};

}  // namespace memprof::profile
