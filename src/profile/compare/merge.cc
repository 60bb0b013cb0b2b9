// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/merge.h"

#include <algorithm>
#include <utility>

#include "profile/matching/stack_filter.h"
#include "profile/model/process_names.h"
#include "profile/model/rate_uses.h"
#include "profile/names/interpreter_frames.h"

namespace memprof::profile {
namespace {

constexpr size_t kMaxComments = 64;  // of a sum

// Of comments for people those that are true of a sum.
bool is_kept(const std::string& comment) {
  return comment.rfind(kUnseenComment, 0) == 0 || comment.rfind(kIncrementComment, 0) == 0;
}

}  // namespace

std::string Merger::add_facts(const Profile& profile) {
  const std::vector<RateUse> rates = rates_of(profile);
  if (files_++ == 0) {
    merged_.program = profile.program;
    merged_.pid = profile.pid;
    merged_.rate_bytes = profile.rate_bytes;
    merged_.rates = rates;
    merged_.resident = profile.resident;
    merged_.load = profile.load;
    merged_.from_memprof = profile.from_memprof;
    merged_.has_metric = profile.has_metric;
    static_cast<ProfileFacts&>(merged_) = static_cast<const ProfileFacts&>(profile);
    merged_.drop_frames = profile.drop_frames;
    merged_.keep_frames = profile.keep_frames;
    merged_.doc_url = profile.doc_url;
  } else {
    merge_facts(profile, &merged_);
    merged_.rates = add_rates(merged_.rates, rates);
    add_resident(profile.resident, &merged_.resident);
    add_load(profile.load, &merged_.load);
    const size_t first = processes_mode_ == Processes::kAddedUp ? 0 : kFirstMetrics;
    for (size_t i = first; i < kMetricCount; ++i) merged_.has_metric[i] &= profile.has_metric[i];
  }
  if (processes_mode_ == Processes::kAddedUp && files_ > 1) {
    merged_.pid = 0;
    merged_.rate_bytes = std::max(merged_.rate_bytes, profile.rate_bytes);
    merged_.from_memprof = merged_.from_memprof && profile.from_memprof;
  }
  merged_.time_unix_ns = std::max(merged_.time_unix_ns, profile.time_unix_ns);
  merged_.duration_ns = std::max(merged_.duration_ns, profile.duration_ns);
  for (const std::string& comment : profile.comments) {
    const bool has_room = processes_mode_ == Processes::kApart || merged_.comments.size() < kMaxComments;
    if (is_kept(comment) && has_room) merged_.comments.push_back(comment);
  }
  combine_runtimes(merged_.runtimes, profile.runtimes);
  for (size_t i = 0; i < merged_.walks.size(); ++i) merged_.walks[i] += profile.walks[i];
  const unsigned count = ++processes_[process_label(profile)];
  return process_label(profile.program, profile.pid, profile.told_apart, count);
}

uint32_t Merger::mapping_of(const Mapping& mapping) {
  const auto [place, is_new] = mappings_.emplace(File(mapping.path, mapping.build_id, mapping.file_offset),
                                                 static_cast<uint32_t>(merged_.mappings.size()));
  if (is_new) merged_.mappings.push_back(mapping);
  Mapping& own = merged_.mappings[place->second];
  own.limit = std::max(own.limit, own.start + (mapping.limit - mapping.start));
  own.has_functions |= mapping.has_functions;
  own.has_filenames |= mapping.has_filenames;
  own.has_line_numbers |= mapping.has_line_numbers;
  own.has_inline_frames |= mapping.has_inline_frames;
  return place->second;
}

uint32_t Merger::function_of(const Function& function) {
  const auto [place, is_new] = functions_.emplace(
      FunctionKey(function.name, function.system_name, function.filename, function.start_line),
      static_cast<uint32_t>(merged_.functions.size()));
  if (is_new) merged_.functions.push_back(function);
  return place->second;
}

uint32_t Merger::location_of(const Profile& profile, const Location& location, const std::string& process,
                             const std::vector<uint32_t>& mappings) {
  Location own;
  own.address = location.address;
  own.is_folded = location.is_folded;
  const bool is_in_file = location.mapping < mappings.size() &&
                          location.address >= profile.mappings[location.mapping].start &&
                          location.address < profile.mappings[location.mapping].limit;
  if (is_in_file) {
    own.mapping = mappings[location.mapping];
    own.address =
        location.address - profile.mappings[location.mapping].start + merged_.mappings[own.mapping].start;
  }
  // Code of a language's runtime has no address: it is the same wherever its function and line are.
  std::string else_by = is_in_file ? std::string() : process;
  if (!is_in_file && processes_mode_ == Processes::kAddedUp && !location.lines.empty()) {
    else_by.clear();
    own.address = 0;
    for (const Line& line : location.lines) {
      if (line.function >= profile.functions.size()) continue;
      const Function& function = profile.functions[line.function];
      else_by += function.name + '\0' + function.system_name + '\0' + function.filename + '\0' +
                 std::to_string(line.line) + '\0';
    }
  }
  if (const Function* function = runtime_function(profile, location)) {
    else_by =
        function->system_name + '\0' + function->filename + '\0' + std::to_string(location.lines[0].line);
  }
  const auto [place, is_new] = locations_.emplace(Place(own.mapping, own.address, else_by),
                                                  static_cast<uint32_t>(merged_.locations.size()));
  if (is_new) merged_.locations.push_back(std::move(own));
  // Names may come with a later profile.
  std::vector<Line>& lines = merged_.locations[place->second].lines;
  if (lines.empty()) {
    for (const Line& line : location.lines) {
      if (line.function >= profile.functions.size()) continue;
      lines.push_back({function_of(profile.functions[line.function]), line.line});
    }
  }
  return place->second;
}

std::vector<Stack> Merger::own_stacks(const Profile& profile, const std::string& process) {
  std::vector<uint32_t> mappings;
  for (const Mapping& mapping : profile.mappings) mappings.push_back(mapping_of(mapping));
  std::vector<uint32_t> locations;
  for (const Location& location : profile.locations) {
    locations.push_back(location_of(profile, location, process, mappings));
  }
  std::vector<Stack> stacks = profile.stacks;
  for (Stack& stack : stacks) {
    for (uint32_t& location : stack.locations) location = locations[location];
  }
  return stacks;
}

void Merger::add(const Profile& profile) {
  if (processes_mode_ == Processes::kAddedUp) {
    add_rows(profile);
    return;
  }
  const std::string process = add_facts(profile);
  for (Stack& stack : own_stacks(profile, process)) {
    stack.process = process;
    merged_.stacks.push_back(std::move(stack));
  }
}

std::vector<uint32_t> Merger::add_rows(const Profile& profile) {
  std::vector<uint32_t> rows;
  rows.reserve(profile.stacks.size());
  for (Stack& stack : own_stacks(profile, add_facts(profile))) rows.push_back(sums_.add(std::move(stack)));
  return rows;
}

void Merger::subtract(const Profile& earlier) {
  for (const Stack& stack : own_stacks(earlier, process_label(earlier))) {
    Stack* known = sums_.find(stack);
    if (known == nullptr) {
      Stack nothing = stack;
      nothing.live.clear();
      nothing.allocated = nothing.freed = nothing.peak = Totals();
      nothing.values = {};
      nothing.parts.clear();
      nothing.lifetime_ns = 0;
      sums_.add(std::move(nothing));
      known = sums_.find(stack);
    }
    subtract_from_stack(stack, known);
  }
}

Profile Merger::take() {
  if (!merged_.has_metric[static_cast<size_t>(Metric::kPeakSpace)]) {
    for (Stack& stack : merged_.stacks) stack.peak = {};
  }
  return std::move(merged_);
}

}  // namespace memprof::profile
