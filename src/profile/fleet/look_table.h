// SPDX-License-Identifier: Apache-2.0
// Profiles as one table for SQL, in a Parquet file: a row for each stack of each profile, with the labels that
// `memprof ship` gave it.  docs/fleet.md has the columns.
//
// Model: stacks that look the same are one row, and rows of one function follow each other.  Values are estimates,
// rounded so that their sum over a profile is the total of its report (SignedRounding); the sum over a function may be
// off by one.  A metric that the profile does not have is null.  Stacks that have nothing are left out.
//
// Memory: that of a row group (parquet_writer.h); profiles are not kept.
// Threads: one object, one thread.
// Failure: throws Error where the sink does not take the bytes.
#pragma once

#include <cstdint>
#include <string>

#include "format/sink.h"
#include "profile/model/model.h"
#include "profile/names/frame_grouping.h"
#include "profile/parquet/parquet_writer.h"

namespace memprof::profile {

struct LookTableOptions {
  std::string version_label = "service_version";  // which label says the version
  GroupBy by = GroupBy::kFunction;                // as the profiles were folded
  std::string created_by = "memprof";
  ParquetLimits limits = {};
};

class LookTable {
 public:
  LookTable(LookTableOptions options, const Sink& to);

  // `profile`: with the frames that a report shows (profile/view/profile_view.h).  `path`: of its file.
  void add(const Profile& profile, const std::string& path);
  void finish() { writer_.finish(); }

  uint64_t rows() const { return rows_; }

 private:
  LookTableOptions options_;
  ParquetWriter writer_;
  uint64_t rows_ = 0;
};

}  // namespace memprof::profile
