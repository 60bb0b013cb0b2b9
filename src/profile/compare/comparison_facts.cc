// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/comparison_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "profile/compare/increment.h"
#include "profile/model/error.h"
#include "profile/model/estimate.h"
#include "profile/model/metric.h"
#include "profile/model/rate_uses.h"
#include "profile/text/units.h"
#include "profile/view/origin.h"

namespace memprof::profile {
namespace {

bool has_statistics(const Profile& profile) {
  return profile.from_memprof && std::all_of(profile.stacks.begin(), profile.stacks.end(),
                                             [](const Stack& stack) { return stack.has_statistics; });
}

ComparedSide side_of(const std::vector<ComparedProfile>& profiles) {
  ComparedSide side;
  side.facts.files = profiles.size();
  if (profiles.size() == 1) {
    side.resident = profiles[0].profile.resident;
    side.max_resident_bytes = profiles[0].profile.max_resident_bytes;
  }
  for (const ComparedProfile& one : profiles) {
    const Profile& profile = one.profile;
    side.files.push_back({one.name, profile.program, profile.pid, profile.time_unix_ns, profile.duration_ns,
                          profile.rate_bytes, profile.samples, profile.from_memprof});
    side.facts.rate_bytes = std::max(side.facts.rate_bytes, coarsest_rate(profile));
    side.facts.has_intervals = side.facts.has_intervals && has_statistics(profile);
  }
  return side;
}

// Of two files what was allocated differs by this factor because of their time alone, whatever their program
// does: more than the changes that a comparison looks for.  Runs of equal work on a busy machine differ by less
// (docs/diff.md).
constexpr double kOtherTime = 2;
// A busy machine makes the start of a program seconds longer, and so a short run several times as long.
constexpr uint64_t kMinOtherTimeNs = 5'000'000'000;

// Whether both are whole looks at one process: what it allocated in between is the difference.
bool are_of_one_process(const Profile& one, const Profile& other) {
  if (!one.from_memprof || !other.from_memprof || is_increment(one) || is_increment(other)) return false;
  const bool is_first = one.time_unix_ns <= other.time_unix_ns;
  return why_no_increment(is_first ? one : other, is_first ? other : one).empty();
}

std::string metrics_of(const Profile& profile) {
  std::string names;
  for (const Metric metric : kMetrics) {
    if (!profile.has_metric[metric_index(metric)]) continue;
    names += (names.empty() ? "" : ", ") + std::string(metric_name(metric));
  }
  return names;
}

class Facts {
 public:
  Facts(const std::vector<ComparedProfile>& before, const std::vector<ComparedProfile>& after)
      : before_(before), after_(after) {
    for (const auto* side : {&before_, &after_}) {
      for (const ComparedProfile& one : *side) all_.push_back(&one);
    }
    facts_.before = side_of(before);
    facts_.after = side_of(after);
  }

  Comparison take(std::optional<Metric> metric) {
    choose_metric(metric);
    for (ComparedSide* side : {&facts_.before, &facts_.after}) {
      side->facts.has_intervals = side->facts.has_intervals && !metric_is_js(facts_.metric);
    }
    metrics();
    programs();
    order();
    ends();
    increments();
    rates();
    authors();
    dropped();
    return std::move(facts_);
  }

 private:
  void warn(std::string sentence) { facts_.warnings.push_back(std::move(sentence)); }

  void choose_metric(std::optional<Metric> wanted) {
    facts_.has_metric.fill(true);
    for (const ComparedProfile* one : all_) {
      for (size_t i = 0; i < kMetricCount; ++i) {
        facts_.has_metric[i] = facts_.has_metric[i] && one->profile.has_metric[i];
      }
      if (wanted && !one->profile.has_metric[metric_index(*wanted)]) {
        throw Error(fmt::format("{}: has no {}; it has {}", one->name, metric_name(*wanted),
                                metrics_of(one->profile)));
      }
    }
    if (wanted) {
      facts_.metric = *wanted;
      return;
    }
    // Of programs that have ended, as report does.
    const bool have_ended = std::all_of(all_.begin(), all_.end(), [](const ComparedProfile* one) {
      return default_metric(one->profile) == Metric::kPeakSpace;
    });
    if (have_ended) {
      facts_.metric = Metric::kPeakSpace;
      return;
    }
    for (const Metric metric :
         {Metric::kInuseSpace, Metric::kAllocSpace, Metric::kInuseObjects, Metric::kAllocObjects}) {
      if (!facts_.has_metric[metric_index(metric)]) continue;
      facts_.metric = metric;
      return;
    }
    throw Error(fmt::format("{} has {}, and {} has {}: there is nothing that could be compared",
                            before_[0].name, metrics_of(before_[0].profile), after_[0].name,
                            metrics_of(after_[0].profile)));
  }

  // What only some have is not compared.
  void metrics() {
    for (const ComparedProfile* one : all_) {
      if (one->profile.has_metric == facts_.has_metric) continue;
      warn(fmt::format("{} has {}: only what all files have is compared.", one->name,
                       metrics_of(one->profile)));
      return;
    }
  }

  void programs() {
    std::set<std::string> programs;
    for (const ComparedProfile* one : all_) programs.insert(one->profile.program);
    programs.erase("");
    if (programs.size() < 2) return;
    warn(fmt::format(
        "The files are of different programs ({}): what only one of them has looks like growth or "
        "shrinkage.",
        fmt::join(programs, ", ")));
  }

  void order() {
    uint64_t first_before = UINT64_MAX;
    uint64_t last_after = 0;
    for (const ComparedProfile& one : before_) {
      first_before = std::min(first_before, one.profile.time_unix_ns);
    }
    for (const ComparedProfile& one : after_) last_after = std::max(last_after, one.profile.time_unix_ns);
    if (last_after == 0 || first_before == UINT64_MAX || last_after >= first_before) return;
    warn(
        fmt::format("{} was made before {}: are they swapped? What is called growth is what the older one "
                    "has more.",
                    after_[0].name, before_[0].name));
  }

  // The first file that `is` is true of, and the first that it is not; it says nothing where that is not known.
  template <typename Is>
  std::pair<const ComparedProfile*, const ComparedProfile*> two_kinds(const Is& is) const {
    std::pair<const ComparedProfile*, const ComparedProfile*> found{nullptr, nullptr};
    for (const ComparedProfile* one : all_) {
      const std::optional<bool> kind = is(one->profile);
      if (!kind) continue;
      const ComparedProfile*& place = *kind ? found.first : found.second;
      if (place == nullptr) place = one;
    }
    return found;
  }

  bool all_have(Metric metric) const { return facts_.has_metric[metric_index(metric)]; }
  bool have_allocated() const { return all_have(Metric::kAllocSpace) || all_have(Metric::kAllocObjects); }

  void ends() {
    const auto [ended, running] = two_kinds([](const Profile& profile) {
      return profile.from_memprof ? std::optional<bool>(profile.has_ended) : std::nullopt;
    });
    if (ended == nullptr || running == nullptr) return;
    if (!all_have(Metric::kInuseSpace) && !all_have(Metric::kInuseObjects)) return;
    warn(fmt::format(
        "{} is of a program that has ended, and {} of one that had not: what is live is what the first held "
        "before its end began, and what the other held in the middle of its work, and cannot be compared. {}",
        ended->name, running->name,
        all_have(Metric::kPeakSpace)
            ? fmt::format("--metric peak compares what each held at its highest ({} so far).", running->name)
            : "Compare two files of programs that run, or two of programs that have ended."));
  }

  // Where increments and whole profiles are compared, of their times nothing more is said.
  void increments() {
    const auto [part, whole] =
        two_kinds([](const Profile& profile) { return std::optional<bool>(is_increment(profile)); });
    if (part == nullptr || whole == nullptr) {
      times();
      return;
    }
    if (!have_allocated()) return;
    warn(
        fmt::format("{} is an increment (memprof export --since), and {} is a whole profile: what was "
                    "allocated, and what of it was temporary, is that of the last {} of the one, and of all "
                    "the time of the other, and cannot be compared; live and peak can. Compare two "
                    "increments, or two whole profiles.",
                    part->name, whole->name, time_of(*part)));
  }

  static std::string time_of(const ComparedProfile& one) {
    return format_duration_ns(static_cast<double>(one.profile.duration_ns));
  }

  // What grows with time needs the same time, or the same work.
  void times() {
    const ComparedProfile* longest = nullptr;
    const ComparedProfile* shortest = nullptr;
    for (const ComparedProfile* one : all_) {
      const uint64_t time_ns = one->profile.duration_ns;
      if (time_ns == 0) continue;  // not known
      if (longest == nullptr || time_ns > longest->profile.duration_ns) longest = one;
      if (shortest == nullptr || time_ns < shortest->profile.duration_ns) shortest = one;
    }
    if (longest == nullptr || !have_allocated()) return;
    const uint64_t long_ns = longest->profile.duration_ns;
    const uint64_t short_ns = shortest->profile.duration_ns;
    if (long_ns - short_ns < kMinOtherTimeNs) return;
    if (static_cast<double>(long_ns) < kOtherTime * static_cast<double>(short_ns)) return;
    if (are_of_one_process(longest->profile, shortest->profile)) return;
    const bool have_ended = longest->profile.has_ended && shortest->profile.has_ended;
    warn(fmt::format(
        "{} covers {}, and {} {}: {}what was allocated, and what of it was temporary, grows with "
        "time and cannot be compared; live and peak can, with care. Compare files that cover about "
        "the same time.",
        longest->name, time_of(*longest), shortest->name, time_of(*shortest),
        have_ended ? "unless both programs did the same work, " : ""));
  }

  void rates() {
    const auto is_exact = [](const ComparedSide& side) { return side.facts.rate_bytes <= 1; };
    if (!facts_.before.facts.has_intervals || !facts_.after.facts.has_intervals) return;
    if (is_exact(facts_.before) == is_exact(facts_.after)) return;
    const bool before_is_exact = is_exact(facts_.before);
    warn(
        fmt::format("{} recorded every allocation, and {} was sampled: what is uncertain is all of the "
                    "sampled one.",
                    before_is_exact ? before_[0].name : after_[0].name,
                    before_is_exact ? after_[0].name : before_[0].name));
  }

  void authors() {
    for (const ComparedProfile* one : all_) {
      if (has_statistics(one->profile)) continue;
      warn(fmt::format(
          "{} {}: {}", one->name,
          one->profile.from_memprof         ? "was altered by another program"
          : origin_of(one->profile).empty() ? "was not written by memprof"
                                            : "has the values of a server",
          before_.size() > 1 || after_.size() > 1
              ? "how exact its values are is unknown; only the spread of the files is tested."
              : "how exact its values are is unknown, and so is whether a change is more than chance."));
      return;
    }
  }

  void dropped() {
    for (const ComparedProfile* one : all_) {
      if (one->profile.dropped_samples == 0) continue;
      warn(fmt::format("{} lacks {}: the profiler's tables were full.", one->name,
                       format_bytes(static_cast<double>(one->profile.dropped_weight_bytes))));
    }
  }

  const std::vector<ComparedProfile>& before_;
  const std::vector<ComparedProfile>& after_;
  std::vector<const ComparedProfile*> all_;
  Comparison facts_;
};

}  // namespace

Comparison comparison_facts(const std::vector<ComparedProfile>& before,
                            const std::vector<ComparedProfile>& after, std::optional<Metric> metric) {
  return Facts(before, after).take(metric);
}

}  // namespace memprof::profile
