// SPDX-License-Identifier: Apache-2.0
#include "places.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "library.h"
#include "snapshot.h"

namespace memprof::node {
namespace {

struct Estimates {
  memprof_estimate bytes{};
  memprof_estimate blocks{};
};

// Live samples; those of one size and rate are kept as one number.
class Sum {
 public:
  void add(const memprof_record& record) {
    ++samples_;
    ++by_size_[{record.size_bytes, record.rate_bytes}];
  }
  uint64_t samples() const { return samples_; }

  Estimates estimates() const {
    Estimates result;
    const auto all = groups();
    check(library().memprof_estimate_samples(all.data(), all.size(), &result.bytes, &result.blocks),
          "memprof");
    return result;
  }

  memprof_estimate growth_since(const Sum& before) const {
    memprof_estimate result{};
    const auto was = before.groups();
    const auto is = groups();
    check(
        library().memprof_estimate_difference(was.data(), was.size(), is.data(), is.size(), &result, nullptr),
        "memprof.diff");
    return result;
  }

 private:
  std::vector<memprof_sample_group> groups() const {
    std::vector<memprof_sample_group> result;
    result.reserve(by_size_.size());
    for (const auto& [key, count] : by_size_) {
      result.push_back({key.first, key.second, count});
    }
    return result;
  }

  std::map<std::pair<uint64_t, uint64_t>, uint64_t> by_size_;
  uint64_t samples_ = 0;
};

// What one place holds; of live samples or of running totals.
struct Place {
  uint32_t frame = 0;
  Sum live;
  std::vector<memprof_totals> totals;
  uint64_t samples = 0;
  double value = 0;
  uint32_t largest_stack = 0;
  double largest = -1;

  void note(uint32_t stack_id, double of_stack) {
    value += of_stack;
    if (of_stack > largest) {
      largest = of_stack;
      largest_stack = stack_id;
    }
  }

  Estimates estimates() const {
    if (totals.empty()) {
      return live.estimates();
    }
    Estimates result;
    check(library().memprof_estimate_totals(totals.data(), totals.size(), &result.bytes, &result.blocks),
          "memprof");
    return result;
  }
};

using Places = std::map<uint32_t, Place>;

Places live_places(Snapshot* snapshot) {
  uint64_t count = 0;
  const memprof_record* const records = snapshot->records(&count);
  Places places;
  for (uint64_t i = 0; i < count;) {  // ordered by stack
    const uint32_t stack_id = records[i].stack_id;
    Place& place = places[snapshot->frames().place(stack_id)];
    double of_stack = 0;
    for (; i < count && records[i].stack_id == stack_id; ++i) {
      place.live.add(records[i]);
      of_stack += records[i].weight_bytes;
    }
    place.note(stack_id, of_stack);
  }
  for (auto& [frame, place] : places) {
    place.samples = place.live.samples();
  }
  return places;
}

// By stack id.
std::vector<memprof_totals> totals_of(const Snapshot& snapshot, const std::string& metric,
                                      double younger_ns) {
  const uint64_t count = snapshot.stack_count();
  std::vector<memprof_totals> result(count);
  if (metric == "temporary") {
    check(library().memprof_snapshot_younger(snapshot.get(), static_cast<uint64_t>(younger_ns), result.data(),
                                             count, nullptr),
          "topAllocators");
  } else if (metric == "peak") {
    uint64_t known = 0;
    const memprof_totals* const peaks = library().memprof_snapshot_peaks(snapshot.get(), &known);
    std::copy(peaks, peaks + std::min(count, known), result.begin());
  } else {
    const memprof_stack* const stacks = library().memprof_snapshot_stacks(snapshot.get(), nullptr);
    std::transform(stacks, stacks + count, result.begin(),
                   [](const memprof_stack& stack) { return stack.allocated; });
  }
  return result;
}

Places total_places(Snapshot* snapshot, const std::string& metric, double younger_ns) {
  Places places;
  const std::vector<memprof_totals> all = totals_of(*snapshot, metric, younger_ns);
  for (uint32_t i = 0; i < all.size(); ++i) {
    if (all[i].samples != 0) {
      Place& place = places[snapshot->frames().place(i)];
      place.totals.push_back(all[i]);
      place.samples += all[i].samples;
      place.note(i, all[i].weight_bytes);
    }
  }
  return places;
}

// The largest first; equal ones by name and line, so that the order is always the same.
template <typename Row, typename Value>
void sort_rows(std::vector<Row>* rows, Frames* frames, const Value& value) {
  std::sort(rows->begin(), rows->end(), [&](const Row& a, const Row& b) {
    const Frame& of_a = frames->at(a.frame);
    const Frame& of_b = frames->at(b.frame);
    return std::make_tuple(-value(a), std::cref(of_a.function), of_a.line) <
           std::make_tuple(-value(b), std::cref(of_b.function), of_b.line);
  });
}

// A block that two snapshots of one process have is the same in both.
using Identity = std::pair<uint64_t, uint64_t>;

std::set<Identity> identities(const Snapshot& snapshot) {
  std::set<Identity> result;
  uint64_t count = 0;
  const memprof_record* const records = snapshot.records(&count);
  for (uint64_t i = 0; i < count; ++i) {
    result.emplace(records[i].address, records[i].time_ns);
  }
  return result;
}

struct Change {
  Frame frame;
  Sum now;
  Sum gone;
  Snapshot* snapshot = nullptr;
  uint32_t stack_id = 0;
  memprof_estimate growth{};
};

using ChangeKey = std::tuple<std::string, std::string, uint32_t, bool>;
using Changes = std::map<ChangeKey, Change>;

void add_changes(Snapshot* snapshot, const std::set<Identity>& other, bool is_after, Changes* changes,
                 Change* whole) {
  uint64_t count = 0;
  const memprof_record* const records = snapshot->records(&count);
  for (uint64_t i = 0; i < count; ++i) {
    if (other.count({records[i].address, records[i].time_ns}) != 0) {
      continue;
    }
    const Frame& frame = snapshot->frames().at(snapshot->frames().place(records[i].stack_id));
    Change& change = (*changes)[{frame.function, frame.file, frame.line, frame.is_javascript}];
    if (change.snapshot == nullptr) {
      change.frame = frame;
      change.snapshot = snapshot;
      change.stack_id = records[i].stack_id;
    }
    for (Change* const each : {&change, whole}) {
      (is_after ? each->now : each->gone).add(records[i]);
    }
  }
}

// Nodes by their parent and frame.
class Tree {
 public:
  struct Node {
    uint32_t parent;
    uint32_t frame;
    double size;
  };

  uint32_t child(uint32_t parent, uint32_t frame) {
    const uint64_t key = static_cast<uint64_t>(parent) << 32 | frame;
    const auto [at, is_new] = index_.emplace(key, static_cast<uint32_t>(nodes_.size()));
    if (is_new) {
      nodes_.push_back({parent, frame, 0});
    }
    return at->second;
  }
  Node& operator[](uint32_t index) { return nodes_[index]; }
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  std::vector<Node> nodes_{{0, UINT32_MAX, 0}};
  std::unordered_map<uint64_t, uint32_t> index_;
};

}  // namespace

napi_value get_live_sum(const Call& call) {
  const Snapshot& snapshot = snapshot_at(call, 0);
  uint64_t count = 0;
  const memprof_record* const records = snapshot.records(&count);
  Sum live;
  std::for_each(records, records + count, [&](const memprof_record& record) { live.add(record); });
  const Estimates estimates = live.estimates();
  napi_value result = call.object();
  call.set(result, "estimatedHeapBytes", call.estimate(estimates.bytes));
  call.set(result, "estimatedHeapBlocks", call.estimate(estimates.blocks));
  return result;
}

napi_value get_top(const Call& call) {
  Snapshot& snapshot = snapshot_at(call, 0);
  const std::string metric = call.text_at(2);
  Places by_frame =
      metric == "live" ? live_places(&snapshot) : total_places(&snapshot, metric, call.number_at(3));
  std::vector<Place> places;
  double total = 0;
  for (auto& [frame, place] : by_frame) {
    place.frame = frame;
    total += place.value;
    places.push_back(std::move(place));
  }
  sort_rows(&places, &snapshot.frames(), [](const Place& place) { return place.value; });
  places.resize(static_cast<size_t>(std::min(call.number_at(1), static_cast<double>(places.size()))));
  FrameValues values(call, &snapshot);
  napi_value result = call.array(places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    const Scope scope(call);
    const Place& place = places[i];
    const Estimates estimates = place.estimates();
    napi_value row = frame_value(call, snapshot.frames().at(place.frame));
    call.set(row, "estimatedBytes", call.estimate(estimates.bytes));
    call.set(row, "estimatedBlocks", call.estimate(estimates.blocks));
    call.set(row, "samples", static_cast<double>(place.samples));
    call.set(row, "percent", total > 0 ? 100 * place.value / total : 0);
    call.set(row, "stack", values.stack(place.largest_stack));
    call.set(result, i, row);
  }
  return result;
}

napi_value get_difference(const Call& call) {
  Snapshot& before = snapshot_at(call, 0);
  Snapshot& after = snapshot_at(call, 1);
  Changes changes;
  Change whole;
  // A block that both have was sampled once: it changes nothing, and neither does its error.
  add_changes(&after, identities(before), true, &changes, &whole);
  add_changes(&before, identities(after), false, &changes, &whole);
  std::vector<Changes::value_type*> rows;
  for (Changes::value_type& row : changes) {
    row.second.growth = row.second.now.growth_since(row.second.gone);
    rows.push_back(&row);
  }
  std::sort(rows.begin(), rows.end(), [](const Changes::value_type* a, const Changes::value_type* b) {
    return std::make_pair(-std::abs(a->second.growth.value), std::cref(a->first)) <
           std::make_pair(-std::abs(b->second.growth.value), std::cref(b->first));
  });
  FrameValues of_before(call, &before);
  FrameValues of_after(call, &after);
  napi_value list = call.array(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const Scope scope(call);
    const Change& change = rows[i]->second;
    napi_value row = frame_value(call, change.frame);
    call.set(row, "growth", call.estimate(change.growth));
    call.set(row, "isSignificant", call.boolean(change.growth.low > 0 || change.growth.high < 0));
    call.set(row, "newSamples", static_cast<double>(change.now.samples()));
    call.set(row, "goneSamples", static_cast<double>(change.gone.samples()));
    call.set(row, "stack", (change.snapshot == &after ? of_after : of_before).stack(change.stack_id));
    call.set(list, i, row);
  }
  napi_value result = call.object();
  call.set(result, "growth", call.estimate(whole.now.growth_since(whole.gone)));
  call.set(result, "rows", list);
  return result;
}

napi_value get_tree(const Call& call) {
  Snapshot& snapshot = snapshot_at(call, 0);
  const bool all_frames = call.number_at(1) != 0;
  uint64_t count = 0;
  const memprof_record* const records = snapshot.records(&count);
  Tree tree;
  for (uint64_t i = 0; i < count;) {  // ordered by stack
    const uint32_t stack_id = records[i].stack_id;
    const std::vector<uint32_t> stack = snapshot.frames().stack(stack_id);
    uint32_t node = 0;
    for (auto at = stack.rbegin(); at != stack.rend(); ++at) {
      node = all_frames || snapshot.frames().is_own(*at) ? tree.child(node, *at) : node;
    }
    if (node == 0) {  // none of the program's
      node = tree.child(0, snapshot.frames().place(stack_id));
    }
    for (; i < count && records[i].stack_id == stack_id; ++i) {
      tree[node].size += records[i].weight_bytes;
    }
  }
  FrameValues values(call, &snapshot);
  napi_value result = call.array(tree.nodes().size());
  for (size_t i = 0; i < tree.nodes().size(); ++i) {
    const Scope scope(call);
    const Tree::Node& node = tree.nodes()[i];
    napi_value value = call.object();
    call.set(value, "parent", node.parent);
    call.set(value, "sizeBytes", node.size);
    if (i != 0) {
      call.set(value, "frame", values.frame(node.frame));
    }
    call.set(result, i, value);
  }
  return result;
}

}  // namespace memprof::node
