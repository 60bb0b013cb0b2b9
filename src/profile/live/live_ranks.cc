// SPDX-License-Identifier: Apache-2.0
#include "profile/live/live_ranks.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <utility>

namespace memprof::profile {
namespace {

bool is_much_larger(double one, double other) {
  return one - other > LiveRanks::kAtOnce * std::max(std::abs(one), std::abs(other));
}

struct Entry {
  size_t index;  // of the rows
  unsigned waits;
};

// Moves rows up to where the one above is not smaller, or not by enough.
void settle(const std::vector<RankedValue>& rows, std::vector<Entry>* order) {
  // Rows that waited long enough go first, one place a look: what they pass may have moved meanwhile.
  for (size_t i = 1; i < order->size(); ++i) {
    Entry& above = (*order)[i - 1];
    Entry& own = (*order)[i];
    if (!(rows[own.index].value > rows[above.index].value)) {
      own.waits = 0;
    } else if (++own.waits >= LiveRanks::kLooks) {
      own.waits = 0;
      std::swap(above, own);
    }
  }
  // A stable sort by a comparison that is no order would be undefined: insertion is right with any.
  for (size_t i = 1; i < order->size(); ++i) {
    const Entry own = (*order)[i];
    size_t to = i;
    while (to > 0 && is_much_larger(rows[own.index].value, rows[(*order)[to - 1].index].value)) --to;
    if (to == i) continue;
    std::move_backward(order->begin() + static_cast<std::ptrdiff_t>(to),
                       order->begin() + static_cast<std::ptrdiff_t>(i),
                       order->begin() + static_cast<std::ptrdiff_t>(i) + 1);
    (*order)[to] = {own.index, 0};
  }
}

}  // namespace

std::vector<size_t> LiveRanks::look(const std::vector<RankedValue>& rows) {
  std::vector<size_t> by_value(rows.size());
  std::iota(by_value.begin(), by_value.end(), 0);
  std::sort(by_value.begin(), by_value.end(), [&](size_t a, size_t b) {
    return rows[a].value != rows[b].value ? rows[a].value > rows[b].value : a < b;
  });
  std::unordered_map<std::string, size_t> index;
  for (size_t i = 0; i < rows.size(); ++i) index.emplace(rows[i].key, i);

  std::vector<Entry> order;
  std::vector<bool> is_placed(rows.size());
  for (const Place& place : order_) {
    const auto found = index.find(place.key);
    if (found == index.end() || is_placed[found->second]) continue;
    is_placed[found->second] = true;
    order.push_back({found->second, place.waits});
  }
  settle(rows, &order);
  // New rows before the first that is smaller.
  std::vector<Entry> merged;
  size_t next = 0;
  for (const size_t i : by_value) {
    if (is_placed[i]) continue;
    while (next < order.size() && !(rows[order[next].index].value < rows[i].value)) {
      merged.push_back(order[next++]);
    }
    merged.push_back({i, 0});
  }
  merged.insert(merged.end(), order.begin() + static_cast<std::ptrdiff_t>(next), order.end());

  order_.clear();
  std::vector<size_t> result;
  for (const Entry& entry : merged) {
    order_.push_back({rows[entry.index].key, entry.waits});
    result.push_back(entry.index);
  }
  return result;
}

}  // namespace memprof::profile
