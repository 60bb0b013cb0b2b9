// SPDX-License-Identifier: Apache-2.0
// What many hosts hold, out of the files that `memprof ship` writes: sums by service, hosts that hold more than the
// others, functions that grew from one version to the next.
//
// Model: what a host holds in a function is the mean of its looks; the hosts of a service are the replicates, so how far
// they differ is the error.  A host is compared with all others of its service, and a version with the one before, by
// spread_test(); p-values are corrected for how many there are of them in the service.  A difference that is less than
// ten samples, or less than a thousandth of what a host holds, is not named: it may be chance of sampling, or of no use.
//
// Memory: in proportion to services, versions, hosts and their functions; profiles are not kept.
// Threads: one object, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profile/model/model.h"

namespace memprof::profile {

// Begins the comment that has the labels of a shipped profile, as JSON.
inline constexpr char kLabelsComment[] = "labels: ";

// Nothing: the profile was not shipped.
std::optional<std::map<std::string, std::string>> shipped_labels(const Profile& profile);

// "": it has none of that name.
std::string label_of(const std::map<std::string, std::string>& labels, const std::string& name);

// One text for each set of labels.
std::string labels_key(const std::map<std::string, std::string>& labels);

// The function that stands for a stack: the innermost one.
std::string innermost_function(const Profile& profile, const Stack& stack);

struct FleetService {
  std::string name;
  size_t hosts = 0;
  size_t looks = 0;
  double live_bytes = 0;       // of all hosts, on average over their looks
  double allocated_bytes = 0;  // in all looks
};

// A host that holds more in a function than the others do.
struct FleetOutlier {
  std::string service;
  std::string host;
  std::string function;
  double bytes = 0;
  double others_bytes = 0;  // on average
  double p_value = 1;       // corrected
};

// A function that holds more, or less, in a version than in the one before, a host on average.
struct FleetChange {
  std::string service;
  std::string function;
  std::string before;  // versions
  std::string after;
  double before_bytes = 0;
  double after_bytes = 0;
  double half_width_bytes = 0;  // of the 95 % interval of the difference
  double p_value = 1;           // corrected
};

struct FleetResult {
  size_t files = 0;
  size_t hosts = 0;
  uint64_t first_ns = 0;  // of the looks, since 1970
  uint64_t last_ns = 0;
  std::vector<FleetService> services;  // the largest first
  std::vector<FleetOutlier> outliers;  // the largest difference first
  std::vector<FleetChange> changes;    // likewise
};

class Fleet {
 public:
  // `version_label`: which label says the version.
  explicit Fleet(std::string version_label) : version_label_(std::move(version_label)) {}

  // false: the profile has no labels.
  bool add(const Profile& profile);

  FleetResult result() const;

 private:
  using Functions = std::map<uint32_t, double>;  // by index into functions_: live bytes
  struct Series {                                // one set of labels
    std::string host;
    size_t looks = 0;
    Functions sums;
  };
  struct Version {
    uint64_t first_ns = UINT64_MAX;
    std::map<std::string, Series> series;  // by labels
  };
  struct Service {
    std::map<std::string, Version> versions;
    double allocated_bytes = 0;
    uint64_t rate_bytes = 0;
  };
  using Hosts = std::map<std::string, Functions>;

  uint32_t index_of(const std::string& function);
  static Hosts hosts_of(const Version& version);
  static Hosts hosts_of(const Service& service);
  void add_outliers(const std::string& name, const Service& service, FleetResult* result) const;
  void add_changes(const std::string& name, const Service& service, FleetResult* result) const;

  const std::string version_label_;
  std::map<std::string, Service> services_;
  std::map<std::string, uint32_t> indices_;
  std::vector<std::string> functions_;
  size_t files_ = 0;
  uint64_t first_ns_ = UINT64_MAX;
  uint64_t last_ns_ = 0;
};

}  // namespace memprof::profile
