// SPDX-License-Identifier: Apache-2.0
// Whether profiles keep the limits of a check.
//
// Model: a limit is exceeded where the low end of the 95 % interval is above it.  It is kept where that is not so
// and the interval rules out twice the limit; else there is no verdict, because the rate is too coarse, and where
// nothing matches or the file does not have the metric.  Each process is held to a limit of the whole or of a
// site, the one with the most is shown; what is per iteration or call, and what is compared with a baseline, is
// of all processes together.  docs/decisions/0075-limits-of-a-gate.md says why.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/compare/comparison.h"
#include "profile/gate/limit_file.h"
#include "profile/model/estimate.h"

namespace memprof::profile {

enum class Verdict : unsigned char { kPass, kFail, kNone };

// "pass", "fail", "none"
const char* verdict_name(Verdict verdict);

// One of the places that hold the most of what was limited.
struct GateSite {
  FrameGroup group;
  double value = 0;  // bytes or blocks, not divided
  RowNotes notes;
};

struct GateResult {
  Verdict verdict = Verdict::kNone;
  ScopeKind kind = ScopeKind::kWhole;
  std::string scope;  // empty for the whole
  std::string key;    // "peak"; of --fail-on its text
  std::string max;    // "64 MB"; empty for --fail-on
  int line = 0;       // in the file of limits
  Metric metric = Metric::kInuseSpace;
  LimitPer per = LimitPer::kWhole;
  std::optional<Estimate> estimate;  // divided; nothing: there is none
  std::string what;                  // how much it is, and why there is this verdict
  std::vector<GateSite> sites;       // of what did not pass; the largest first
  std::string focus;                 // for who looks at them: of memprof report
};

struct CheckResult {
  std::string name;
  int line = 0;
  std::string subject;        // the command or the files
  std::optional<int> status;  // of the program; of two runs the first that is not 0
  std::string error;          // why nothing of it could be judged; empty: it could
  uint64_t rate_bytes = 0;
  uint64_t samples = 0;
  std::vector<std::string> warnings;  // sentences
  std::vector<std::string> kept;      // profiles that are there to look at
  std::vector<GateResult> results;
};

struct GateReport {
  std::string path;  // of the limits
  std::vector<CheckResult> checks;

  // Results, programs that failed (kFail), and checks without any verdict (kNone).
  size_t count(Verdict verdict) const;
  // 1: a limit is exceeded or a program failed; 2: something has no verdict; else 0.
  int status() const;
};

// `profiles`: two where the check has two counts of iterations, in their order; else one.
std::vector<GateResult> judge(const GateCheck& check, const std::vector<ComparedProfile>& profiles,
                              const std::vector<ComparedProfile>& baseline);

// What a profile misses, so that its values are too low.
std::vector<std::string> doubts_of(const ComparedProfile& profile);

// What of the last profile and the baseline cannot be compared, or only with care.  Limits are judged all the
// same.  Nothing where no limit is of the baseline.
std::vector<std::string> doubts_of_baseline(const GateCheck& check,
                                            const std::vector<ComparedProfile>& profiles,
                                            const std::vector<ComparedProfile>& baseline);

}  // namespace memprof::profile
