// SPDX-License-Identifier: Apache-2.0
#include "profile/foreign/sample_type.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "profile/model/metric.h"

namespace memprof::profile {
namespace {

struct Unit {
  const char* name;
  double bytes;  // 0: it counts blocks
};
constexpr double kKibi = 1024;
constexpr Unit kUnits[] = {{"bytes", 1},
                           {"byte", 1},
                           {"B", 1},
                           {"kilobytes", kKibi},
                           {"kilobyte", kKibi},
                           {"kb", kKibi},
                           {"KB", kKibi},
                           {"KiB", kKibi},
                           {"megabytes", kKibi* kKibi},
                           {"megabyte", kKibi* kKibi},
                           {"mb", kKibi* kKibi},
                           {"MB", kKibi* kKibi},
                           {"MiB", kKibi* kKibi},
                           {"gigabytes", kKibi* kKibi* kKibi},
                           {"gb", kKibi* kKibi* kKibi},
                           {"GB", kKibi* kKibi* kKibi},
                           {"GiB", kKibi* kKibi* kKibi},
                           {"count", 0},
                           {"objects", 0},
                           {"samples", 0}};

struct Type {
  const char* name;  // with _ for -
  Metric metric;
  int rank;
  bool is_part = false;
};
// Names that mean one thing before those that others use, too.
constexpr Type kTypes[] = {{"heap_live_size", Metric::kInuseSpace, 3},
                           {"heap_live_samples", Metric::kInuseObjects, 3},
                           {"heap_space", Metric::kInuseSpace, 2},
                           {"space", Metric::kInuseSpace, 2},
                           {"objects", Metric::kInuseObjects, 2},
                           {"live", Metric::kInuseSpace, 1},
                           {"live_bytes", Metric::kInuseSpace, 1},
                           {"live_objects", Metric::kInuseObjects, 1},
                           {"alloc_size", Metric::kAllocSpace, 3},
                           {"alloc_samples", Metric::kAllocObjects, 3},
                           {"alloc_bytes", Metric::kAllocSpace, 2},
                           {"alloc_count", Metric::kAllocObjects, 2},
                           {"alloc_in_new_tlab_bytes", Metric::kAllocSpace, 2, true},
                           {"alloc_outside_tlab_bytes", Metric::kAllocSpace, 2, true},
                           {"alloc_in_new_tlab_objects", Metric::kAllocObjects, 2, true},
                           {"alloc_outside_tlab_objects", Metric::kAllocObjects, 2, true},
                           {"alloc_sample_bytes", Metric::kAllocSpace, 2},
                           {"alloc_sample_objects", Metric::kAllocObjects, 2},
                           {"alloc", Metric::kAllocSpace, 1},
                           {"allocations", Metric::kAllocObjects, 1}};
constexpr int kOwnRank = 4;

const Unit* unit_of(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kUnits), std::end(kUnits), [&](const Unit& unit) { return name == unit.name; });
  return found == std::end(kUnits) ? nullptr : found;
}

// With the unit's factor; nothing: bytes are counted in blocks, or blocks in bytes.  `live` and `alloc` are either.
std::optional<SampleTypeMatch> with_unit(SampleTypeMatch match, std::string_view unit, bool is_either) {
  if (unit.empty()) return match;
  const Unit* known = unit_of(unit);
  if (known == nullptr) return std::nullopt;
  const bool has_bytes = known->bytes != 0;
  if (metric_is_bytes(match.metric) != has_bytes) {
    if (!is_either) return std::nullopt;
    match.metric = static_cast<Metric>(metric_index(match.metric) ^ 1);  // objects and space stand in pairs
  }
  match.factor = has_bytes ? known->bytes : 1;
  return match;
}

}  // namespace

std::optional<SampleTypeMatch> match_sample_type(std::string_view type, std::string_view unit) {
  if (const auto metric = metric_from_file(type)) return with_unit({*metric, kOwnRank + 1}, unit, false);
  std::string plain(type);
  std::replace(plain.begin(), plain.end(), '-', '_');
  if (const auto metric = metric_from_file(plain)) return with_unit({*metric, kOwnRank}, unit, false);
  for (const Type& known : kTypes) {
    if (plain != known.name) continue;
    const bool is_either = plain == "live" || plain == "alloc" || plain == "allocations";
    return with_unit({known.metric, known.rank, 1, known.is_part}, unit, is_either);
  }
  return std::nullopt;
}

std::optional<SampleTypeMatch> match_unit(std::string_view unit) {
  const Unit* known = unit_of(unit);
  if (known == nullptr) return std::nullopt;
  if (known->bytes == 0) return SampleTypeMatch{Metric::kInuseObjects, 1};
  return SampleTypeMatch{Metric::kInuseSpace, 1, known->bytes};
}

}  // namespace memprof::profile
