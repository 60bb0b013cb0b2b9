// SPDX-License-Identifier: Apache-2.0
// Profiles for the tests of reports: stacks by the names of their functions.
#pragma once

#include <cmath>
#include <initializer_list>
#include <string>

#include "profile/model/estimate.h"
#include "profile/model/model.h"
#include "profile/report/report.h"

namespace memprof::profile::report_fixture {

class Builder {
 public:
  explicit Builder(uint64_t rate_bytes = 0) {
    profile_.program = "server";
    profile_.pid = 4711;
    profile_.rate_bytes = rate_bytes;
    profile_.time_unix_ns = 1'700'000'000'000'000'000;
    profile_.duration_ns = 12'300'000'000;
    profile_.from_memprof = true;
    profile_.has_metric = {true, true, true, true};
    module("server");
  }

  // Locations after this lie in the module.
  Builder& module(const std::string& name) {
    Mapping mapping;
    mapping.start = (profile_.mappings.size() + 1) << 32;
    mapping.limit = mapping.start + 0x100000;
    mapping.path = "/opt/" + name;
    profile_.mappings.push_back(mapping);
    return *this;
  }

  // A location of one function; "" has no name.
  uint32_t at(const std::string& function, const std::string& file = "", int64_t line = 0) {
    const auto mapping = static_cast<uint32_t>(profile_.mappings.size() - 1);
    Location location;
    location.mapping = mapping;
    location.address = profile_.mappings.back().start + 0x100 + profile_.locations.size();
    if (!function.empty()) location.lines.push_back({function_of(function, file), line});
    profile_.locations.push_back(location);
    return static_cast<uint32_t>(profile_.locations.size() - 1);
  }

  // A location of a function with another name in the symbol table.
  uint32_t symbol(const std::string& function, const std::string& symbol, const std::string& file = "",
                  int64_t line = 0) {
    const uint32_t location = at(function, file, line);
    profile_.functions.push_back({function, symbol, file, 0});
    profile_.locations[location].lines[0].function = static_cast<uint32_t>(profile_.functions.size() - 1);
    return location;
  }

  // A location of code that a runtime executes.
  uint32_t python(const std::string& function, const std::string& file, int64_t line) {
    Location location;
    location.lines.push_back({function_of(function, file), line});
    profile_.locations.push_back(location);
    return static_cast<uint32_t>(profile_.locations.size() - 1);
  }

  // Live blocks of one size, and as much allocated, at the profile's rate.  Leaf first.
  Builder& stack(std::initializer_list<uint32_t> locations, uint64_t size_bytes, uint64_t samples,
                 uint64_t live_samples) {
    Stack stack;
    stack.locations = locations;
    stack.has_statistics = true;
    const double p = sampling_probability(size_bytes, profile_.rate_bytes);
    const double s = static_cast<double>(size_bytes);
    const double n = static_cast<double>(samples);
    stack.allocated = {samples,
                       samples * size_bytes,
                       n * s / p,
                       n / p,
                       n * (1 - p) * s * s / (p * p),
                       n * (1 - p) / (p * p),
                       (1 - p) * s / p,
                       (1 - p) / p};
    if (live_samples != 0) stack.live.push_back({size_bytes, profile_.rate_bytes, live_samples});
    profile_.samples += samples;
    profile_.live_samples += live_samples;
    profile_.walks[static_cast<size_t>(stack.walk)] += samples;
    profile_.stacks.push_back(std::move(stack));
    return *this;
  }

  Builder& stack(std::initializer_list<uint32_t> locations, uint64_t size_bytes, uint64_t samples) {
    return stack(locations, size_bytes, samples, samples);
  }

  // All samples of the last stack were freed after so long.
  Builder& freed_after(uint64_t lifetime_ns) {
    Stack& stack = profile_.stacks.back();
    const Totals& all = stack.allocated;
    stack.freed = {all.samples, all.size_bytes, all.weight_bytes, all.weight_count, 0, 0, 0, 0};
    stack.lifetimes = {
        {0, lifetime_class(lifetime_ns), all.samples, all.size_bytes, all.weight_bytes, all.weight_count}};
    return *this;
  }

  Profile& profile() { return profile_; }

 private:
  uint32_t function_of(const std::string& name, const std::string& file) {
    for (size_t i = 0; i < profile_.functions.size(); ++i) {
      if (profile_.functions[i].name == name && profile_.functions[i].filename == file) {
        return static_cast<uint32_t>(i);
      }
    }
    profile_.functions.push_back({name, name, file, 0});
    return static_cast<uint32_t>(profile_.functions.size() - 1);
  }

  Profile profile_;
};

inline const ReportRow* row(const Report& report, const std::string& name) {
  for (const ReportRow& candidate : report.rows) {
    if (candidate.name == name) return &candidate;
  }
  return nullptr;
}

// Live bytes; -1: there is no such row.
inline double self(const Report& report, const std::string& name) {
  const ReportRow* found = row(report, name);
  return found == nullptr ? -1 : found->self[metric_index(Metric::kInuseSpace)].value;
}

inline double cumulative(const Report& report, const std::string& name) {
  const ReportRow* found = row(report, name);
  return found == nullptr ? -1 : found->cumulative[metric_index(Metric::kInuseSpace)].value;
}

}  // namespace memprof::profile::report_fixture
