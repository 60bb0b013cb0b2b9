// SPDX-License-Identifier: Apache-2.0
#include "profile/names/forwarders.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <optional>
#include <string_view>
#include <tuple>

#include "format/affixes.h"
#include "profile/model/estimate.h"
#include "profile/names/frame_role.h"
#include "profile/names/interpreter_frames.h"
#include "profile/names/short_name.h"

namespace memprof::profile {
namespace {

// What has to be seen of a function: it depends on what its name says.
struct Evidence {
  size_t callers;         // distinct
  size_t sizes;           // distinct
  double alike_anywhere;  // at most: chance that two blocks of different call sites have the same size
  double gain;            // at least: by how much the same is likelier where the call site is the same
  bool needs_repeats;     // call sites that were sampled several times
};
constexpr Evidence kNamedLikeOne = {4, 4, 0.5, 0.2, false};
constexpr Evidence kNamedOtherwise = {12, 12, 0.25, 0.3, true};
constexpr Evidence kWithoutName = {16, 16, 0.25, 0.3, true};
constexpr size_t kRepeatedSites = 4;  // call sites of several samples that tell something

constexpr size_t kMaxDepth = 3;   // functions of a wrapper below each other
constexpr size_t kMaxRounds = 4;  // wrappers around wrappers
constexpr double kMost = 0.5;     // of the bytes
constexpr double kNearlyAll = 0.95;

constexpr Metric kMeasures[] = {Metric::kAllocSpace, Metric::kInuseSpace, Metric::kPeakSpace};
using Bytes = std::array<double, std::size(kMeasures)>;

// A function where it stands on a stack.
struct Step {
  uint32_t function = 0;
  uint32_t location = 0;
  uint32_t inlined = 0;

  std::pair<uint32_t, uint32_t> place() const { return {location, inlined}; }
};

// What blocks of one call site are like.
struct Site {
  std::map<uint64_t, double> sizes;  // samples by size
  double varied = 0;                 // samples whose sizes differ, and are not known one by one
  std::map<std::pair<uint32_t, uint32_t>, double>
      from;  // samples by the place in the function that they come from

  double samples() const {
    double sum = varied;
    for (const auto& [size, count] : sizes) sum += count;
    return sum;
  }
  void add(const Stack& stack) {
    uint64_t others = stack.allocated.samples;
    uint64_t bytes = stack.allocated.size_bytes;
    for (const LiveGroup& group : stack.live) {
      sizes[group.size_bytes] += static_cast<double>(group.samples);
      others -= std::min(others, group.samples);
      bytes -= std::min(bytes, group.size_bytes * group.samples);
    }
    if (others == 0) return;
    const bool is_one_size = bytes % others == 0 && bytes != 0 &&
                             (others > 1 || stack.live.empty() || stack.live.size() == 1) &&
                             (stack.live.empty() || sizes.count(bytes / others) != 0);
    (is_one_size ? sizes[bytes / others] : varied) += static_cast<double>(others);
  }
};

struct Callers {
  std::set<uint32_t> functions;
  std::map<std::pair<uint32_t, uint32_t>, Site> sites;
  std::map<uint32_t, double> below;  // bytes by the function that it called: kNowhereBelow, the allocator
  std::map<uint32_t, double> under;  // the same of all functions between it and the allocator
  double bytes = 0;
};
constexpr uint32_t kNowhereBelow = UINT32_MAX;

bool makes_one_block(const Callers& callers) {
  double all = 0;
  double most = 0;
  for (const auto& [place, site] : callers.sites) {
    double largest = 0;
    for (const auto& [from, count] : site.from) {
      all += count;
      largest = std::max(largest, count);
    }
    most += largest;
  }
  return most >= 0.9 * all;
}

// Whether the size of a block follows from who calls.  Each call site counts alike from some samples on: one that copies
// texts would outweigh all others.
bool has_sizes_of_callers(const Callers& callers, const Evidence& needed) {
  constexpr double kManySamples = 20;
  std::map<uint64_t, double> shares;  // of sizes
  double weights = 0, squares_of_weights = 0, squares = 0, weights_repeated = 0, alike_within = 0;
  size_t repeated = 0;
  for (const auto& [place, site] : callers.sites) {
    const double samples = site.samples();
    const double weight = std::min(samples, kManySamples);
    weights += weight;
    squares_of_weights += weight * weight;
    double alike = 0;
    for (const auto& [size, count] : site.sizes) {
      const double share = count / samples;
      shares[size] += weight * share;
      squares += weight * share * weight * share;
      alike += share * share;
    }
    if (samples < 2) continue;
    ++repeated;
    weights_repeated += weight;
    alike_within += weight * alike;
  }
  double alike_between = -squares;
  for (const auto& [size, share] : shares) alike_between += share * share;
  const double pairs_between = weights * weights - squares_of_weights;
  if (shares.size() < needed.sizes || pairs_between <= 0) return false;
  const double anywhere = alike_between / pairs_between;
  if (anywhere > needed.alike_anywhere) return false;
  if (repeated < kRepeatedSites) return !needed.needs_repeats;
  return alike_within / weights_repeated >= anywhere + needed.gain;
}

class Search {
 public:
  explicit Search(const Profile& profile)
      : profile_(profile), interpreter_(profile), at_location_(profile.locations.size()) {
    for (const Stack& stack : profile.stacks) {
      const Bytes bytes = bytes_of(stack);
      for (size_t i = 0; i < bytes.size(); ++i) whole_[i] += bytes[i];
    }
  }

  Forwarders find() {
    for (size_t round = 0; round < kMaxRounds; ++round) {
      if (!find_one()) break;
    }
    Forwarders found;
    for (const uint32_t function : folded_) {
      found.add(functions_[function].name, functions_[function].module);
    }
    return found;
  }

 private:
  struct Function {
    std::string name;
    std::string module;
    FrameRole role = FrameRole::kOwn;
    bool is_executed = false;
  };

  Bytes bytes_of(const Stack& stack) const {
    Bytes bytes{};
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = estimated_value(stack, kMeasures[i]);
    return bytes;
  }

  bool is_most(const Bytes& bytes) const {
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (whole_[i] > 0 && bytes[i] >= kMost * whole_[i]) return true;
    }
    return false;
  }

  const std::vector<uint32_t>& functions_at(uint32_t location) {
    std::vector<uint32_t>& known = at_location_[location];
    if (!known.empty()) return known;
    for (const Frame& frame : location_frames(profile_, profile_.locations[location])) {
      const auto [found, is_new] =
          index_.emplace(std::tuple(frame.name, frame.symbol, frame.file, frame.module),
                         static_cast<uint32_t>(functions_.size()));
      if (is_new) functions_.push_back({frame.name, frame.module, frame_role(frame), frame.is_executed});
      known.push_back(found->second);
    }
    return known;
  }

  // The innermost functions that are the program's own, at most one more than a wrapper has.
  void leaf_steps(const Stack& stack, std::vector<Step>* steps) {
    steps->clear();
    if (stack.allocated.samples == 0 || interpreter_.executed_end(stack) != 0) return;
    for (const uint32_t location : stack.locations) {
      const std::vector<uint32_t>& functions = functions_at(location);
      for (uint32_t i = 0; i < functions.size(); ++i) {
        const Function& function = functions_[functions[i]];
        if (function.role == FrameRole::kGap || function.is_executed) return;
        if (function.role == FrameRole::kLibrary || function.role == FrameRole::kImport) continue;
        const bool is_allocators =
            function.role == FrameRole::kAllocation || function.role == FrameRole::kWrapper;
        if (steps->empty() && (is_allocators || folded_.count(functions[i]) != 0)) continue;
        if (function.module.empty() && function.role == FrameRole::kNameless) return;
        steps->push_back({functions[i], location, i});
        if (steps->size() > kMaxDepth) return;
      }
    }
  }

  // The innermost wrapper that is not known yet.  Is there one?
  bool find_one() {
    std::vector<std::map<uint32_t, Bytes>> at_depth(kMaxDepth);
    std::vector<Step> steps;
    for (const Stack& stack : profile_.stacks) {
      leaf_steps(stack, &steps);
      const Bytes bytes = bytes_of(stack);
      for (size_t depth = 0; depth < std::min(kMaxDepth, steps.size()); ++depth) {
        Bytes& sum = at_depth[depth].try_emplace(steps[depth].function, Bytes{}).first->second;
        for (size_t i = 0; i < bytes.size(); ++i) sum[i] += bytes[i];
      }
    }
    for (size_t depth = 0; depth < kMaxDepth; ++depth) {
      for (const auto& [function, bytes] : at_depth[depth]) {
        if (!is_most(bytes) || !is_forwarder(function, depth)) continue;
        return true;
      }
    }
    return false;
  }

  bool is_forwarder(uint32_t function, size_t depth) {
    const Function& own = functions_[function];
    const bool is_named = own.role == FrameRole::kOwn;
    const Evidence& needed = !is_named                          ? kWithoutName
                             : sounds_like_allocation(own.name) ? kNamedLikeOne
                                                                : kNamedOtherwise;
    const Callers callers = callers_of(function, depth);
    if (callers.functions.size() < needed.callers || !makes_one_block(callers) ||
        !has_sizes_of_callers(callers, needed) || !calls_one(callers) ||
        calls_others(function, depth, callers)) {
      return false;
    }
    folded_.insert(function);
    for (const auto& [under, bytes] : callers.under) {
      if (bytes >= kNearlyAll * callers.bytes) folded_.insert(under);
    }
    return true;
  }

  Callers callers_of(uint32_t function, size_t depth) {
    Callers callers;
    std::vector<Step> steps;
    for (const Stack& stack : profile_.stacks) {
      leaf_steps(stack, &steps);
      const std::optional<size_t> place = place_of(function, depth, steps);
      if (!place) continue;
      const size_t at = *place;
      const double bytes = estimated_value(stack, Metric::kAllocSpace);
      callers.bytes += bytes;
      callers.below[at == 0 ? kNowhereBelow : steps[at - 1].function] += bytes;
      for (size_t i = 0; i < at; ++i) callers.under[steps[i].function] += bytes;
      Step by{kNowhereBelow, kNowhereBelow, 0};
      if (at + 1 < steps.size()) {
        by = steps[at + 1];
        callers.functions.insert(by.function);
      }
      Site& site = callers.sites[by.place()];
      site.add(stack);
      site.from[steps[0].place()] += static_cast<double>(stack.allocated.samples);
    }
    return callers;
  }

  // It calls the allocator, or one function that does.
  static bool calls_one(const Callers& callers) {
    double largest = 0;
    for (const auto& [function, bytes] : callers.below) largest = std::max(largest, bytes);
    return largest >= kNearlyAll * callers.bytes;
  }

  // It also stands where it calls something else that allocates.
  bool calls_others(uint32_t function, size_t depth, const Callers& callers) {
    double elsewhere = 0;
    std::vector<Step> steps;
    for (const Stack& stack : profile_.stacks) {
      leaf_steps(stack, &steps);
      if (place_of(function, depth, steps)) continue;
      const bool is_on = std::any_of(stack.locations.begin(), stack.locations.end(), [&](uint32_t location) {
        const std::vector<uint32_t>& functions = functions_at(location);
        return std::find(functions.begin(), functions.end(), function) != functions.end();
      });
      if (is_on) elsewhere += estimated_value(stack, Metric::kAllocSpace);
    }
    return elsewhere > (1 - kNearlyAll) * callers.bytes;
  }

  // Where it is the wrapper of a stack; nothing: it is none there.
  static std::optional<size_t> place_of(uint32_t function, size_t depth, const std::vector<Step>& steps) {
    for (size_t at = 0; at <= depth && at < steps.size(); ++at) {
      if (steps[at].function == function) return at;
    }
    return std::nullopt;
  }

  const Profile& profile_;
  const InterpreterFrames interpreter_;
  Bytes whole_{};
  std::vector<std::vector<uint32_t>> at_location_;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, uint32_t> index_;
  std::vector<Function> functions_;
  std::set<uint32_t> folded_;
};

// `big_alloc` and `BigAlloc` of `ns::Heap<int>::BigAlloc(unsigned long)`, in small letters.
std::string last_part(const std::string& name) {
  std::string plain = plain_name(name);
  const size_t scope = plain.rfind("::");
  if (scope != std::string::npos) plain.erase(0, scope + 2);
  std::transform(plain.begin(), plain.end(), plain.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return plain;
}

}  // namespace

bool sounds_like_allocation(const std::string& name) {
  std::string last = last_part(name);
  // What says how it allocates: `alloc0`, `alloc_zeroed`.
  static constexpr std::string_view kHow[] = {"_zeroed", "_zero",  "_array", "_safe",    "_aligned",
                                              "_or_die", "_noexc", "_sized", "_internal"};
  for (bool is_cut = true; is_cut;) {
    while (!last.empty() &&
           (std::isdigit(static_cast<unsigned char>(last.back())) != 0 || last.back() == '_')) {
      last.pop_back();
    }
    is_cut = false;
    for (const std::string_view how : kHow) {
      if (!ends_with(last, how)) continue;
      last.resize(last.size() - how.size());
      is_cut = true;
    }
  }
  static constexpr std::string_view kEnds[] = {"alloc", "allocz", "allocate", "memalign"};
  if (ends_with(last, "dealloc")) return false;
  return std::any_of(std::begin(kEnds), std::end(kEnds),
                     [&](std::string_view end) { return ends_with(last, end); });
}

std::vector<std::string> Forwarders::names() const {
  std::vector<std::string> names;
  for (const auto& [name, module] : functions_) {
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

Forwarders find_forwarders(const Profile& profile) {
  return Search(profile).find();
}

std::shared_ptr<const Forwarders> find_forwarders(const std::vector<const Profile*>& profiles) {
  Forwarders all;
  for (const Profile* profile : profiles) all.add(find_forwarders(*profile));
  return std::make_shared<const Forwarders>(std::move(all));
}

}  // namespace memprof::profile
