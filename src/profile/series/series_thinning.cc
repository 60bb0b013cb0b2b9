// SPDX-License-Identifier: Apache-2.0
#include "profile/series/series_thinning.h"

#include <algorithm>
#include <cstddef>
#include <queue>
#include <utility>

namespace memprof::profile {
namespace {

// The looks that stay, each knowing its neighbours.
class Chain {
 public:
  Chain(const std::vector<ThinningLook>& looks, uint64_t now_unix_ns)
      : looks_(looks), now_unix_ns_(now_unix_ns), before_(looks.size()), after_(looks.size()) {
    for (size_t i = 0; i < looks.size(); ++i) {
      before_[i] = i - 1;  // of the first: none, which is never asked for
      after_[i] = i + 1;
    }
  }

  size_t before(size_t i) const { return before_[i]; }
  size_t after(size_t i) const { return after_[i]; }

  void take_out(size_t i) {
    after_[before_[i]] = after_[i];
    before_[after_[i]] = before_[i];
  }

  double gap_over_age(size_t i) const {
    const double gap = elapsed(looks_[before_[i]].time_unix_ns, looks_[after_[i]].time_unix_ns);
    return gap / std::max(elapsed(looks_[i].time_unix_ns, now_unix_ns_), 1.0);
  }

 private:
  static double elapsed(uint64_t from_ns, uint64_t to_ns) {
    return to_ns > from_ns ? static_cast<double>(to_ns - from_ns) : 0;
  }

  const std::vector<ThinningLook>& looks_;
  uint64_t now_unix_ns_;
  std::vector<size_t> before_;
  std::vector<size_t> after_;
};

}  // namespace

std::vector<bool> thin_looks(const std::vector<ThinningLook>& looks, uint64_t now_unix_ns,
                             uint64_t max_bytes) {
  std::vector<bool> stays(looks.size(), true);
  uint64_t bytes = 0;
  for (const ThinningLook& look : looks) bytes += look.bytes;
  if (looks.empty()) return stays;
  const auto highest = static_cast<size_t>(std::max_element(looks.begin(), looks.end(),
                                                            [](const ThinningLook& a, const ThinningLook& b) {
                                                              return a.live_bytes < b.live_bytes;
                                                            }) -
                                           looks.begin());
  Chain chain(looks, now_unix_ns);
  // A gap that has grown since it was put here is put here again.
  using Candidate = std::pair<double, size_t>;
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  for (size_t i = 1; i + 1 < looks.size(); ++i) {
    if (i != highest) candidates.emplace(chain.gap_over_age(i), i);
  }
  while (bytes > max_bytes && !candidates.empty()) {
    const auto [share, i] = candidates.top();
    candidates.pop();
    if (const double now = chain.gap_over_age(i); now > share) {
      candidates.emplace(now, i);
      continue;
    }
    chain.take_out(i);
    stays[i] = false;
    bytes -= looks[i].bytes;
  }
  // No room for those that always stay: the oldest go.
  for (size_t i = 0; i < looks.size() && bytes > max_bytes; ++i) {
    if (!stays[i]) continue;
    stays[i] = false;
    bytes -= looks[i].bytes;
  }
  return stays;
}

}  // namespace memprof::profile
