// SPDX-License-Identifier: Apache-2.0
// The limits of memprof.toml, as `memprof check` reads them.  docs/check.md describes the file.
//
// Model: a file is a list of checks.  A check is a program or profiles (or neither: who asks gives one) and scopes:
// the whole of it, sites (stacks through code that matches), and rows (any one function, module ...).  A scope
// has limits.
//
// Threads: plain values.
// Failure: throws Error, "memprof.toml:12: ...", also where a key is not known: then with the nearest that is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/compare/comparison_limits.h"
#include "profile/matching/stack_filter.h"
#include "profile/model/metric.h"
#include "profile/names/frame_grouping.h"

namespace memprof::profile {

// What a limit's amount is divided by.
enum class LimitPer : unsigned char { kWhole, kIteration, kCall };

struct GateLimit {
  std::string key;     // as it stands in the file: "peak"
  std::string amount;  // likewise: "64 MB"
  int line = 0;
  Metric metric = Metric::kInuseSpace;
  LimitPer per = LimitPer::kWhole;
  double max = 0;  // bytes or blocks
};

enum class ScopeKind : unsigned char { kWhole, kSite, kRow };

struct GateScope {
  ScopeKind kind = ScopeKind::kWhole;
  std::string name;  // empty for kWhole
  int line = 0;
  StackFilter filter;
  GroupBy by = GroupBy::kFunction;  // kRow
  bool has_native = false;          // kRow: rows of native code that lines of a runtime called
  bool may_be_missing = false;      // kSite: no stack that matches is no error
  double calls = 0;  // kSite: in one iteration, or where the check has none in a run; 0: not said
  std::vector<GateLimit> limits;
};

struct GateCheck {
  std::string name;  // empty: that of the file's top level
  int line = 0;
  std::vector<std::string> command;   // `{n}` is the number of iterations
  std::vector<std::string> profiles;  // files: with two counts of iterations two, else at most one
  std::vector<std::string> baseline;  // files
  std::optional<uint64_t> rate_bytes;
  std::vector<uint64_t> iterations;  // none, one, or two in ascending order
  bool follow = true;                // the processes that the program starts
  std::optional<Pattern> process;    // only processes that match
  std::optional<Pattern> hide;       // frames that count as their callers
  std::vector<Limit> fail_on;        // against the baseline
  std::vector<int> fail_on_lines;
  std::vector<GateScope> scopes;  // those that have limits
};

struct LimitFile {
  std::string path;
  std::vector<GateCheck> checks;
};

// `path` is for messages.
LimitFile parse_limit_file(const std::string& text, const std::string& path);
LimitFile read_limit_file(const std::string& path);

// The rate that suits the limits where the file names none: every allocation for blocks and for small amounts,
// else so many samples that the interval at the smallest limit is narrow.
uint64_t rate_for(const GateCheck& check);

}  // namespace memprof::profile
