// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/pprof_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "format/pprof/comments.h"
#include "format/pprof/pprof_schema.h"
#include "profile/model/estimate.h"
#include "profile/model/mapped.h"
#include "profile/model/metric.h"
#include "profile/model/rate_uses.h"
#include "profile/model/stack_sum.h"
#include "profile/pprof/comment_fields.h"
#include "profile/pprof/ids/stack_ids.h"
#include "profile/pprof/packed_numbers.h"
#include "profile/pprof/written_fields.h"

namespace memprof::profile {
namespace {

// The rest of the text where it is the comment of that name.
std::optional<std::string_view> after(std::string_view name, std::string_view text) {
  if (text.substr(0, name.size()) == name && (text.size() == name.size() || text[name.size()] == ' ')) {
    return text.substr(name.size());
  }
  return std::nullopt;
}

template <typename Fields>
Totals totals_of(Fields& fields, const TotalsKeys& keys) {
  return {fields.decimal(keys.samples),       fields.decimal(keys.size_bytes),
          fields.real(keys.weight_bytes),     fields.real(keys.weight_count),
          fields.real(keys.variance_bytes),   fields.real(keys.variance_count),
          fields.real(keys.max_missed_bytes), fields.real(keys.max_missed_count)};
}

// Whether these can be sums over samples, each of which stands for at least itself.
bool is_plausible(const Totals& totals) {
  constexpr double kRounding = 1 + 1e-9;
  return (totals.samples != 0 || totals.weight_count == 0) &&
         static_cast<double>(totals.samples) <= totals.weight_count * kRounding &&
         static_cast<double>(totals.size_bytes) <= totals.weight_bytes * kRounding;
}

// Whether an integer of the file is what rounding made of the estimate; each sample may be off by one.
bool agrees(double value, double estimate, double samples) {
  return std::abs(value - estimate) <= samples + 1e-9 * std::abs(estimate);
}

// What the labels of a live sample say; nothing if they are not ours.
struct LiveLabels {
  uint64_t size_bytes = 0;
  uint64_t rate_bytes = 0;
  uint64_t samples = 1;
};

std::optional<LiveLabels> live_labels(const LabeledValues& part, uint64_t period) {
  LiveLabels found;
  found.rate_bytes = period;
  bool has_size = false;
  for (const Label& label : part.labels) {
    const auto number = static_cast<uint64_t>(label.number);
    if (!label.text.empty()) {
      return std::nullopt;
    }
    if (label.key == schema::kFixedStrings[schema::kBytes]) {
      found.size_bytes = number;
      has_size = true;
    } else if (label.key == schema::kFixedStrings[schema::kRate]) {
      found.rate_bytes = number;
    } else if (label.key == schema::kFixedStrings[schema::kSamples]) {
      found.samples = number;
    } else {
      return std::nullopt;
    }
  }
  return has_size ? std::optional(found) : std::nullopt;
}

std::optional<LiveGroup> live_group(const LabeledValues& part, uint64_t period, double file_samples) {
  const std::optional<LiveLabels> labels = live_labels(part, period);
  if (!labels) {
    return std::nullopt;
  }
  const double blocks = part.values[metric_index(Metric::kInuseObjects)];
  const double bytes = part.values[metric_index(Metric::kInuseSpace)];
  const double probability = sampling_probability(labels->size_bytes, labels->rate_bytes);
  const auto size = static_cast<double>(labels->size_bytes);
  const auto is_number = [&](double samples, double rounding) {
    return samples >= 1 && samples < 0x1p53 && agrees(blocks, samples / probability, rounding) &&
           agrees(bytes, samples / probability * size, rounding);
  };
  // Samples with equal labels that another tool added up have the label of one of them, and the value tells.
  // So the label must be right to the rounding of one sample.
  const double from_value = bytes > blocks ? bytes * probability / size : blocks * probability;
  double samples = static_cast<double>(labels->samples);
  if (!is_number(samples, 1)) {
    samples = std::round(from_value);
    if (!is_number(samples, file_samples)) {
      return std::nullopt;
    }
  }
  return LiveGroup{labels->size_bytes, labels->rate_bytes, static_cast<uint64_t>(samples)};
}

// In the order in which they are written.
template <typename Fields>
std::optional<IdentifiedStatistics> read_statistics(Fields& fields) {
  IdentifiedStatistics stack;
  stack.id = fields.hex("id");
  const uint64_t walk = fields.decimal("walk");
  StackStatistics& facts = stack.statistics;
  facts.allocated = totals_of(fields, kAllocatedKeys);
  facts.freed.samples = fields.decimal("fn");
  facts.freed.size_bytes = fields.decimal("fs");
  // Negative where live samples stand for more than they did at first, and little was freed.
  facts.freed.weight_bytes = fields.signed_real("fwb");
  facts.freed.weight_count = fields.signed_real("fwc");
  facts.lifetime_ns = fields.real("life");
  facts.lifetimes = fields.lifetimes("lt");
  facts.births = fields.births("lb");
  facts.load_births = fields.births("lo");
  if (fields.has(kPeakKeys.samples)) {
    facts.peak = totals_of(fields, kPeakKeys);
  }
  if (!fields.ok() || !is_plausible(facts.allocated) || !is_plausible(facts.peak) || walk >= kWalkReasons) {
    return std::nullopt;
  }
  facts.walk = static_cast<Walk>(walk);
  return stack;
}

}  // namespace

std::optional<IdentifiedStatistics> statistics_from_comment(std::string_view text) {
  const auto stack_text = after(kStackComment, text);
  if (!stack_text) return std::nullopt;
  WrittenFields written(*stack_text);
  auto stack = read_statistics(written);
  if (stack && written.is_at_end()) return stack;
  CommentFields fields(*stack_text);
  return read_statistics(fields);
}

void StatisticsReader::comment(std::string_view text, Profile& profile) {
  if (const auto fields_text = after(kProfileComment, text)) {
    CommentFields fields(*fields_text);
    if (fields.decimal("version") != kCommentVersion) {
      return;
    }
    const std::string program = fields.text("program");
    const uint64_t pid = fields.decimal("pid");
    ProfileFacts facts;
    for (const ProfileFact& fact : kProfileFacts) {
      // Older versions, and others that are 0, left some out.
      fact.set(&facts, fields.decimal_or_0(fact.key));
    }
    if (!has_profile_comment_) {
      profile.program = program;
      profile.pid = pid;
      static_cast<ProfileFacts&>(profile) = facts;
    } else {
      merge_facts(facts, &profile);
    }
    if (has_profile_comment_ && pid != profile.pid) {
      profile.pid = 0;  // several processes
    }
    has_profile_comment_ = true;
    profile.from_memprof = true;
    for (size_t i = 0; i < kWalkReasons; ++i) {
      profile.walks[i] += fields.decimal_or_0(kWalkNames[i].key);
    }
    Runtimes runtimes;
    for (size_t i = 0; i < runtimes.size(); ++i) {
      const RuntimeKeys& keys = kRuntimeKeys[i];
      runtimes[i] = {fields.decimal_or_0(keys.version), fields.decimal_or_0(keys.objects),
                     fields.decimal_or_0(keys.stacks), keys.name != nullptr ? fields.text(keys.name) : ""};
    }
    combine_runtimes(profile.runtimes, runtimes);
  } else if (after(kStackComment, text)) {
    if (auto stack = statistics_from_comment(text)) stacks_.push_back(std::move(*stack));
  } else if (const auto line_text = after(kCommandLineComment, text)) {
    profile.command_line = CommentFields(*line_text).text("text");
  } else if (const auto part_text = after(kToldApartComment, text)) {
    profile.told_apart = CommentFields(*part_text).text("by");
  } else if (const auto rates_text = after(kRatesComment, text)) {
    profile.rates = add_rates(profile.rates, CommentFields(*rates_text).rates("used"));
  } else if (const auto load_text = after(kLoadComment, text)) {
    add_load(CommentFields(*load_text).load(), &profile.load);
  } else if (const auto resident_text = after(kResidentComment, text)) {
    CommentFields fields(*resident_text);
    ResidentMemory memory;
    for (const ResidentField& field : kResidentFields) {
      memory.*field.member = fields.decimal_or_0(field.key);
    }
    if (!fields.ok()) memory = {};
    if (has_resident_) {
      add_resident(memory, &profile.resident);
    } else {
      profile.resident = memory;
    }
    has_resident_ = true;
  } else if (after(kStacksComment, text)) {
    // A file can name one comment any number of times, and each takes its time.
    if (budget_ != nullptr) budget_->charge(packed::kMaxUnpackedBytes);
    if (const auto bits = packed_bits(text)) packed_.emplace(*bits, text);
  } else if (text.substr(0, std::strlen(kToolCommentPrefix)) != kToolCommentPrefix) {
    profile.comments.emplace_back(text);
  }
}

void add_statistics(const StackStatistics& more, StackStatistics* sum) {
  add_totals(more.allocated, &sum->allocated);
  add_totals(more.freed, &sum->freed);
  add_totals(more.peak, &sum->peak);
  sum->lifetime_ns += more.lifetime_ns;
  add_lifetimes(more.lifetimes, &sum->lifetimes);
  add_all_births(more, sum);
}

std::vector<bool> StatisticsReader::take_statistics(Profile& profile,
                                                    std::vector<uint32_t>* samples_of) const {
  constexpr unsigned kWholeId = 64;
  const std::vector<StackOfId> by_id = unite_stacks(profile, samples_of);
  std::vector<bool> has_them(profile.stacks.size());
  // Some bits of an id can be those of several stacks.
  const auto give = [&](unsigned bits, uint64_t id, const StackStatistics& statistics) {
    auto entry = std::lower_bound(
        by_id.begin(), by_id.end(), id,
        [bits](const StackOfId& a, uint64_t wanted) { return short_id(a.id, bits) < wanted; });
    for (; entry != by_id.end() && short_id(entry->id, bits) == id; ++entry) {
      StackStatistics& own = profile.stacks[entry->stack];
      if (has_them[entry->stack]) {
        add_statistics(statistics, &own);
      } else {
        own = statistics;
      }
      has_them[entry->stack] = true;
    }
  };
  for (const IdentifiedStatistics& stack : stacks_) give(kWholeId, stack.id, stack.statistics);
  for (const auto& [all_bits, text] : packed_) {
    unpack_statistics(text, [&](unsigned bits, uint64_t id, const StackStatistics& facts) {
      if (budget_ != nullptr) budget_->charge(sizeof(StackStatistics) + ReadBudget::kHashEntryBytes);
      if (is_plausible(facts.allocated) && is_plausible(facts.peak)) give(bits, id, facts);
    });
  }
  return has_them;
}

// Whether the statistics that the stack was given are of its values.
bool StatisticsReader::accept(Stack& stack, uint64_t rate_bytes, uint32_t samples) {
  if (!agrees(stack.values[metric_index(Metric::kAllocSpace)], stack.allocated.weight_bytes, samples) ||
      !agrees(stack.values[metric_index(Metric::kAllocObjects)], stack.allocated.weight_count, samples) ||
      !agrees(stack.values[metric_index(Metric::kPeakSpace)], stack.peak.weight_bytes, samples) ||
      !agrees(stack.values[metric_index(Metric::kPeakObjects)], stack.peak.weight_count, samples)) {
    return false;
  }
  // Without parts all samples are running totals.
  if (stack.parts.empty() && (stack.values[metric_index(Metric::kInuseObjects)] != 0 ||
                              stack.values[metric_index(Metric::kInuseSpace)] != 0)) {
    return false;
  }
  std::vector<LiveGroup> live;
  for (const LabeledValues& part : stack.parts) {
    const bool has_live_values = part.values[metric_index(Metric::kInuseObjects)] != 0 ||
                                 part.values[metric_index(Metric::kInuseSpace)] != 0;
    if (part.labels.empty() && !has_live_values) {
      continue;  // the running totals
    }
    const std::optional<LiveGroup> group = live_group(part, rate_bytes, samples);
    if (!group) {
      return false;
    }
    live.push_back(*group);
  }
  stack.has_statistics = true;
  stack.live = std::move(live);
  std::vector<LabeledValues>().swap(stack.parts);  // and its memory
  return true;
}

void StatisticsReader::apply(Profile& profile, std::vector<uint32_t> samples_of) const {
  const bool has_statistics = profile.from_memprof && std::all_of(profile.has_metric.begin(),
                                                                  profile.has_metric.begin() + kFirstMetrics,
                                                                  [](bool has) { return has; });
  const std::vector<bool> is_given =
      has_statistics ? take_statistics(profile, &samples_of) : std::vector<bool>(profile.stacks.size());
  for (size_t i = 0; i < profile.stacks.size(); ++i) {
    Stack& stack = profile.stacks[i];
    if (is_given[i]) {
      if (accept(stack, profile.rate_bytes, samples_of[i])) continue;
      static_cast<StackStatistics&>(stack) = StackStatistics();
    }
    // With another tool's stacks united, its one part can have no labels.
    if (stack.parts.size() == 1 && stack.parts[0].labels.empty()) stack.parts.clear();
    if (has_statistics && is_only_apart(stack) && stack.parts.empty()) {
      stack.has_statistics = true;  // exact, and it needs none
    }
  }
}

}  // namespace memprof::profile
