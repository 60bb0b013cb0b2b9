// SPDX-License-Identifier: Apache-2.0
#include "profile/live/live_tree.h"

#include <cmath>
#include <functional>
#include <string>

namespace memprof::profile {
namespace {

uint64_t add_to_hash(uint64_t hash, uint64_t value) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  return ((hash ^ value) * kOdd) ^ (hash >> 29);
}

uint64_t hash_below(uint64_t parent, const FrameGroup& group, GroupBy by) {
  const std::hash<std::string> hash_of;
  uint64_t hash = parent;
  for (const std::string* text : {&group.name, &group.file, &group.module}) {
    hash = add_to_hash(hash, hash_of(*text));
  }
  return by == GroupBy::kLine ? add_to_hash(hash, static_cast<uint64_t>(group.line)) : hash;
}

// visit(node, hash) of each call; those of a run without a branch are of one node.
template <typename Visit>
void each_call(const Report& report, const Visit& visit) {
  if (!report.tree) return;
  const std::vector<TreeNode>& nodes = report.tree->nodes;
  std::vector<uint64_t> ends(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    uint64_t hash = nodes[i].parent == kNoParent ? 1 : ends[nodes[i].parent];
    for (const uint32_t group : nodes[i].groups) {
      hash = hash_below(hash, report.groups[group], report.by);
      visit(i, hash);
    }
    ends[i] = hash;
  }
}

}  // namespace

double growth_between(double before, double after) {
  return std::abs(after - before) < 0.5 ? 0 : after - before;
}

CallValues call_values(const Report& report) {
  CallValues values;
  each_call(report, [&](size_t node, uint64_t hash) {
    values[hash] = report.tree->nodes[node].cumulative[metric_index(report.metric)].value;
  });
  return values;
}

std::vector<double> tree_growth(const CallValues& before, const Report& now) {
  std::vector<double> growth(now.tree ? now.tree->nodes.size() : 0);
  // The last call of a run is what its numbers are of.
  each_call(now, [&](size_t node, uint64_t hash) {
    const auto found = before.find(hash);
    growth[node] = growth_between(found == before.end() ? 0 : found->second,
                                  now.tree->nodes[node].cumulative[metric_index(now.metric)].value);
  });
  return growth;
}

}  // namespace memprof::profile
