// SPDX-License-Identifier: Apache-2.0
// A profile as the engine left it, on its way to becoming one with names.  Its places and facts are read; its samples pass
// as they stand, and their statistics are packed one part at a time.  As a model, hundreds of thousands of stacks take
// ten times the memory, and most of the time.
//
// Model: names change neither which locations there are nor the ids of stacks (format/pprof/comments.h): those of code in
// a file, or in none, are made of addresses, and a runtime's lines have their names already.
//
// Threads: plain values.
// Owns: not the bytes it was read from, which must outlive it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "format/sink.h"
#include "profile/model/estimate.h"
#include "profile/model/metric.h"
#include "profile/model/model.h"
#include "profile/pprof/pprof_writer.h"

namespace memprof::profile {

class PassingProfile {
 public:
  // Nothing: it is not in the form that the engine writes, or damaged; read_pprof() says what is wrong.  `name` is for
  // messages.
  static std::optional<PassingProfile> read(std::string_view pprof, const std::string& name);

  // Without stacks.  Names and facts may be changed, but neither locations nor sample types added or removed.
  Profile& profile() { return profile_; }
  // Of all samples, as the file has them.
  double total(Metric metric) const { return totals_[metric_index(metric)]; }

  // Returns the sum of all samples.
  // Failure: what the sink throws.
  Accumulator write(const PprofWriteOptions& options, const Sink& to) const;

 private:
  friend class PassingReader;
  using Comment = std::pair<uint64_t, std::string_view>;  // the id of its stack, and what it says

  std::vector<std::string> pack_comments(Accumulator* sum) const;

  Profile profile_;
  std::array<double, kMetricCount> totals_{};
  Accumulator without_statistics_;  // what samples say without their stacks' comments
  std::vector<std::string_view> strings_;
  std::string_view samples_;
  std::vector<Comment> comments_;  // by id; those of one id in the order of the file
};

}  // namespace memprof::profile
