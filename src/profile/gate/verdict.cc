// SPDX-License-Identifier: Apache-2.0
#include "profile/gate/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "profile/compare/comparison_cells.h"
#include "profile/compare/comparison_facts.h"
#include "profile/matching/hidden_frames.h"
#include "profile/model/error.h"
#include "profile/report/report.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

constexpr size_t kSites = 5;

std::string amount_text(Metric metric, LimitPer per, double value) {
  constexpr double kFew = 100;
  if (metric_is_bytes(metric)) return value < 0 ? format_signed_bytes(value) : format_bytes(value);
  if (per != LimitPer::kWhole && std::abs(value) < kFew) return fmt::format("{:.4g}", value);
  return format_count(value);
}

std::string estimate_text(const GateResult& result, const Estimate& estimate) {
  const auto text = [&](double value) { return amount_text(result.metric, result.per, value); };
  std::string out = text(estimate.value);
  if (result.per == LimitPer::kIteration) out += " an iteration";
  if (result.per == LimitPer::kCall) out += " a call";
  if (!estimate.has_interval) return out + ", without an interval";
  if (estimate.low == estimate.high) return out;
  return out + fmt::format(" (95 %: {} to {})", text(estimate.low), text(estimate.high));
}

// What may be there though it was not sampled; of blocks there is no bound.
double unlisted_bound(Metric metric, uint64_t rate_bytes) {
  const double bytes = unlisted_bound_bytes(rate_bytes);
  return metric_is_bytes(metric) || bytes == 0 ? bytes : HUGE_VAL;
}

uint64_t coarsest_rate(const Profile& profile) {
  return profile.rates.empty() ? profile.rate_bytes
                               : std::max(profile.rate_bytes, profile.rates.back().rate_bytes);
}

// Sets the verdict by the estimate, which is divided as the limit is.  `unlisted`: likewise; where the value
// is 0.
void decide(const GateLimit& limit, const Estimate& estimate, double unlisted, GateResult* result) {
  constexpr double kTooUncertain = 2;
  result->estimate = estimate;
  result->what = estimate_text(*result, estimate);
  if (estimate.low > limit.max) {
    result->verdict = Verdict::kFail;
    return;
  }
  const double high = estimate.value == 0 ? std::max(estimate.high, unlisted) : estimate.high;
  if (estimate.has_interval && high > limit.max && high > kTooUncertain * limit.max) {
    result->verdict = Verdict::kNone;
    result->what += std::isinf(high)
                        ? ": no sample, and blocks may be too small for one"
                        : fmt::format(": it may be up to {}", amount_text(result->metric, result->per, high));
    result->what += "; a smaller rate tells";
    return;
  }
  result->verdict = Verdict::kPass;
  if (estimate.value > limit.max) result->what += ": more, but it may be chance";
}

Estimate divided(Estimate estimate, double by) {
  estimate.value /= by;
  estimate.low /= by;
  estimate.high /= by;
  return estimate;
}

class Judge {
 public:
  Judge(const GateCheck& check, const std::vector<ComparedProfile>& profiles,
        const std::vector<ComparedProfile>& baseline)
      : check_(check), profiles_(profiles), baseline_(baseline) {}

  std::vector<GateResult> all() {
    for (const GateScope& scope : check_.scopes) {
      for (const GateLimit& limit : scope.limits) judge_limit(scope, limit);
    }
    if (!check_.fail_on.empty()) judge_baseline();
    return std::move(results_);
  }

 private:
  // Values of a whole run are of the last, which has the most iterations.
  const Profile& last() const { return profiles_.back().profile; }

  void judge_limit(const GateScope& scope, const GateLimit& limit) {
    GateResult result;
    result.kind = scope.kind;
    result.scope = scope.name;
    result.key = limit.key;
    result.max = limit.amount;
    result.line = limit.line;
    result.metric = limit.metric;
    result.per = limit.per;
    if (scope.filter.focus) result.focus = scope.filter.focus->text();
    if (!has_metric(limit.metric)) {
      result.what = fmt::format("the profile does not have {}", metric_name(limit.metric));
    } else if (scope.kind == ScopeKind::kSite && !scope.may_be_missing && !matches(scope)) {
      result.what = fmt::format(
          "no stack matches '{}': it allocated nothing, or is called otherwise; may_be_missing = true "
          "where that is right",
          scope.filter.focus ? scope.filter.focus->text() : "");
    } else if (scope.kind == ScopeKind::kRow) {
      judge_rows(scope, limit, &result);
    } else if (limit.per == LimitPer::kWhole) {
      judge_processes(scope, limit, &result);
    } else {
      judge_quotient(scope, limit, &result);
    }
    results_.push_back(std::move(result));
  }

  bool has_metric(Metric metric) const {
    return std::all_of(profiles_.begin(), profiles_.end(), [&](const ComparedProfile& one) {
      return one.profile.has_metric[metric_index(metric)];
    });
  }

  bool matches(const GateScope& scope) const {
    return std::any_of(profiles_.begin(), profiles_.end(), [&](const ComparedProfile& one) {
      const std::vector<bool> selected = select_stacks(one.profile, scope.filter);
      return std::find(selected.begin(), selected.end(), true) != selected.end();
    });
  }

  void judge_processes(const GateScope& scope, const GateLimit& limit, GateResult* result) {
    const Profile& profile = last();
    const std::vector<bool> selected = select_stacks(profile, scope.filter);
    std::map<std::string, Accumulator> sums;
    for (size_t i = 0; i < profile.stacks.size(); ++i) {
      if (selected[i]) sums[profile.stacks[i].process].add(profile.stacks[i]);
    }
    Accumulator none;
    const Accumulator* max = &none;
    std::string process;
    for (const auto& [name, sum] : sums) {
      if (max != &none && sum.value(limit.metric) <= max->value(limit.metric)) continue;
      max = &sum;
      process = name;
    }
    decide(limit, max->estimate(limit.metric), unlisted_bound(limit.metric, coarsest_rate(profile)), result);
    StackFilter filter = scope.filter;
    if (sums.size() > 1) {
      result->what += fmt::format("; of {} processes {} has the most", sums.size(), process);
      filter.process = Pattern(escaped(process));
    }
    if (result->verdict == Verdict::kFail) add_sites(filter, GroupBy::kFunction, limit.metric, result);
  }

  // As an expression that matches it alone.
  static std::string escaped(const std::string& text) {
    constexpr std::string_view kSpecial = "\\^$.|?*+()[]{}";
    std::string out = "^";
    for (const char c : text) {
      if (kSpecial.find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
    return out + "$";
  }

  FrameView view() const {
    FrameView view;
    if (check_.hide) view.hidden = hidden_frames(*check_.hide);
    return view;
  }

  void add_sites(const StackFilter& filter, GroupBy by, Metric metric, GateResult* result) const {
    ReportOptions options;
    options.view = view();
    options.by = by;
    options.metric = metric;
    options.filter = filter;
    options.max_rows = kSites;
    options.skip_empty = true;
    for (const ReportRow& row : build_report(last(), options).rows) {
      const double value = row.self[metric_index(metric)].value;
      if (value > 0)
        result->sites.push_back({{row.name, row.file, row.line, row.module, ""}, value, row.notes});
    }
  }

  void judge_rows(const GateScope& scope, const GateLimit& limit, GateResult* result) {
    ReportOptions options;
    options.view = view();
    options.by = scope.by;
    options.metric = limit.metric;
    options.filter = scope.filter;
    options.view.native = scope.has_native;
    options.view.imports = true;  // who imports a large package must not exceed the limit of a function
    const Report report = build_report(last(), options);
    const double unlisted = unlisted_bound(limit.metric, coarsest_rate(last()));
    if (report.rows.empty()) {
      Estimate nothing;
      decide(limit, nothing, unlisted, result);
      return;
    }
    const auto self = [&](const ReportRow& row) { return row.self[metric_index(limit.metric)]; };
    const ReportRow& largest = report.rows.front();  // rows are ordered by the metric
    decide(limit, self(largest), unlisted, result);
    result->what += ": " + largest.name;
    for (const ReportRow& row : report.rows) {
      if (!(self(row).low > limit.max) || result->sites.size() == kSites) break;
      result->sites.push_back({{row.name, row.file, row.line, row.module, ""}, self(row).value, row.notes});
    }
  }

  double divisor(const GateScope& scope, const GateLimit& limit) const {
    const auto& counts = check_.iterations;
    double by = 1;
    if (counts.size() == 2) by = static_cast<double>(counts[1] - counts[0]);
    if (counts.size() == 1) by = static_cast<double>(counts[0]);
    return limit.per == LimitPer::kCall ? by * scope.calls : by;
  }

  void judge_quotient(const GateScope& scope, const GateLimit& limit, GateResult* result) {
    const double by = divisor(scope, limit);
    const double unlisted = unlisted_bound(limit.metric, coarsest_rate(last())) / by;
    if (profiles_.size() == 1) {
      const std::vector<bool> selected = select_stacks(last(), scope.filter);
      Accumulator sum;
      for (size_t i = 0; i < selected.size(); ++i) {
        if (selected[i]) sum.add(last().stacks[i]);
      }
      decide(limit, divided(sum.estimate(limit.metric), by), unlisted, result);
      if (result->verdict == Verdict::kFail) {
        add_sites(scope.filter, GroupBy::kFunction, limit.metric, result);
      }
      return;
    }
    // By line: of the same program, whose lines are where they were.
    const Comparison comparison =
        compared({profiles_[0]}, {profiles_[1]}, scope.filter, limit.metric, GroupBy::kLine);
    const Change& change = comparison.totals[metric_index(limit.metric)];
    decide(limit, divided({change.value, change.low, change.high, change.is_tested}, by),
           change.before.value == 0 && change.after.value == 0 ? unlisted : 0, result);
    if (result->verdict == Verdict::kFail) add_growth(comparison, result);
  }

  Comparison compared(const std::vector<ComparedProfile>& before, const std::vector<ComparedProfile>& after,
                      const StackFilter& filter, std::optional<Metric> metric, GroupBy by) const {
    ComparisonOptions options;
    options.view = view();
    options.by = by;
    options.metric = metric;
    options.filter = filter;
    options.max_intervals = kSites;
    return compare(before, after, options);
  }

  static void add_growth(const Comparison& comparison, GateResult* result) {
    for (const auto* rows : {&comparison.growth, &comparison.others}) {
      for (const ComparisonRow& row : *rows) {
        if (row.change.value <= 0 || result->sites.size() == kSites) break;
        result->sites.push_back({row.group, row.change.value, row.notes});
      }
      if (!result->sites.empty()) return;
    }
  }

  void judge_baseline() {
    StackFilter filter;
    filter.process = check_.process;
    Comparison comparison;
    std::vector<LimitResult> limits;
    std::string why;
    try {
      comparison = compared(baseline_, {profiles_.back()}, filter, std::nullopt, GroupBy::kFunction);
      limits = check_limits(comparison, check_.fail_on);
    } catch (const Error& error) {
      why = error.what();
    }
    for (size_t i = 0; i < check_.fail_on.size(); ++i) {
      GateResult result;
      result.key = check_.fail_on[i].text;
      result.line = check_.fail_on_lines[i];
      result.metric = check_.fail_on[i].metric.value_or(comparison.metric);
      result.what = why;
      if (why.empty()) {
        result.verdict = limits[i].is_exceeded ? Verdict::kFail : Verdict::kPass;
        result.what = limits[i].what;
        if (limits[i].is_exceeded) add_growth(comparison, &result);
      }
      results_.push_back(std::move(result));
    }
  }

  const GateCheck& check_;
  const std::vector<ComparedProfile>& profiles_;
  const std::vector<ComparedProfile>& baseline_;
  std::vector<GateResult> results_;
};

}  // namespace

const char* verdict_name(Verdict verdict) {
  return verdict == Verdict::kPass ? "pass" : verdict == Verdict::kFail ? "fail" : "none";
}

size_t GateReport::count(Verdict verdict) const {
  size_t count = 0;
  for (const CheckResult& check : checks) {
    if (verdict == Verdict::kFail && check.status.value_or(0) != 0) ++count;
    if (verdict == Verdict::kNone && !check.error.empty()) ++count;
    for (const GateResult& result : check.results) count += result.verdict == verdict ? 1 : 0;
  }
  return count;
}

int GateReport::status() const {
  constexpr int kNoVerdict = 2;
  if (count(Verdict::kFail) != 0) return 1;
  return count(Verdict::kNone) != 0 ? kNoVerdict : 0;
}

std::vector<GateResult> judge(const GateCheck& check, const std::vector<ComparedProfile>& profiles,
                              const std::vector<ComparedProfile>& baseline) {
  return Judge(check, profiles, baseline).all();
}

std::vector<std::string> doubts_of(const ComparedProfile& profile) {
  std::vector<std::string> doubts;
  const Profile& facts = profile.profile;
  const auto say = [&](uint64_t count, const char* what) {
    if (count != 0)
      doubts.push_back(fmt::format("{}: {} {}: the values are too low", profile.name, count, what));
  };
  say(facts.dropped_samples, "samples were dropped, because the profiler's tables were full");
  say(facts.unseen_processes, "processes ran without memprof");
  say(facts.uncollected_processes, "processes left data that could not be read");
  if (!facts.from_memprof) {
    doubts.push_back(profile.name + ": memprof did not write it: limits are judged by the values alone");
  }
  return doubts;
}

std::vector<std::string> doubts_of_baseline(const GateCheck& check,
                                            const std::vector<ComparedProfile>& profiles,
                                            const std::vector<ComparedProfile>& baseline) {
  if (check.fail_on.empty()) return {};
  try {
    return comparison_facts(baseline, {profiles.back()}, {}).warnings;
  } catch (const Error&) {
    return {};  // nothing in common: the limits say so
  }
}

}  // namespace memprof::profile
