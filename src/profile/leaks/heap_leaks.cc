// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/heap_leaks.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "profile/significance/benjamini_hochberg.h"

namespace memprof::profile {
namespace {

constexpr size_t kParts = 8;
constexpr size_t kFewestHeapLooks = 2 * kParts;
// The heap has less than this of what it had a look before: it was collected.
constexpr double kCollected = 0.95;
// A runtime usually collects the whole heap before it has grown to twice the bytes that are reachable.
constexpr double kGrown = 2;
constexpr double kCollections = 3;
constexpr double kMatters = 0.2;
// Smaller places are not judged: each one that is makes the others less sure.
constexpr double kMinShare = 0.05;

// How often all garbage was collected between these looks, about, at the least.
double collections(const std::vector<HeapLook>& looks) {
  double count = 0;
  for (size_t i = 1; i < looks.size(); ++i) {
    count += looks[i].heap_bytes < kCollected * looks[i - 1].heap_bytes ? 1 : 0;
  }
  const double grown = looks.back().heap_bytes / looks.front().heap_bytes;
  return count + (grown > 1 ? std::floor(std::log(grown) / std::log(kGrown)) : 0);
}

}  // namespace

std::optional<Slope> heap_slope_of(const std::vector<HeapLook>& looks, double rate_bytes) {
  if (looks.size() < kFewestHeapLooks || collections(looks) < kCollections) return std::nullopt;
  const double bytes_a_sample = std::max(rate_bytes, 1.0);
  std::vector<Look> floors;
  for (size_t part = 0; part < kParts; ++part) {
    const size_t first = part * looks.size() / kParts;
    const size_t end = (part + 1) * looks.size() / kParts;
    Look floor;
    floor.bytes = looks[first].bytes;
    for (size_t i = first; i < end; ++i) {
      floor.bytes = std::min(floor.bytes, looks[i].bytes);
      floor.minutes += looks[i].minutes / static_cast<double>(end - first);
    }
    floor.samples = floor.bytes / bytes_a_sample;
    floor.square_bytes = floor.bytes * bytes_a_sample;
    floor.events = floor.samples;  // those that came; how many went the distance from the line tells
    floors.push_back(floor);
  }
  return slope_of(floors);
}

LeakVerdict heap_verdict(const Slope& slope, const std::vector<HeapLook>& looks) {
  const double minutes = looks.back().minutes - looks.front().minutes;
  const double matters = kMatters * looks.back().bytes;
  if (slope.low > 0 && slope.bytes_per_minute * minutes > matters) return LeakVerdict::kLeak;
  return slope.high * minutes < matters ? LeakVerdict::kLevel : LeakVerdict::kUnknown;
}

void HeapPlaces::add(const FrameGroup& place, const std::string& process, double bytes) {
  Place& known = places_[key_of(place)];
  known.group = place;
  known.bytes += bytes;
  known.by_process[process] += bytes;
}

double HeapPlaces::bytes_of(const Place& place, const std::set<std::string>& processes) {
  double sum = 0;
  for (const auto& [process, bytes] : place.by_process) sum += processes.count(process) != 0 ? bytes : 0;
  return sum;
}

HeapLeaks judge_heap(const std::vector<const HeapPlaces*>& looks, const std::vector<double>& minutes,
                     const std::set<std::string>& processes, double rate_bytes) {
  // Before the runtime was asked for the first time nothing is known.
  std::vector<HeapLook> heap;
  std::vector<const HeapPlaces*> asked;
  for (size_t i = 0; i < looks.size(); ++i) {
    HeapLook look;
    look.minutes = minutes[i];
    for (const auto& [key, place] : looks[i]->places_)
      look.heap_bytes += HeapPlaces::bytes_of(place, processes);
    if (!(look.heap_bytes > 0)) continue;
    heap.push_back(look);
    asked.push_back(looks[i]);
  }
  HeapLeaks leaks;
  for (const auto& [key, last] : looks.back()->places_) {
    HeapRow row;
    row.place = last.group;
    row.bytes = last.bytes;
    leaks.bytes += last.bytes;
    leaks.rows.push_back(std::move(row));
  }
  for (HeapRow& row : leaks.rows) {
    if (row.bytes < kMinShare * leaks.bytes) continue;
    const PlaceKey key = key_of(row.place);
    for (size_t i = 0; i < heap.size(); ++i) {
      const auto known = asked[i]->places_.find(key);
      heap[i].bytes = known != asked[i]->places_.end() ? HeapPlaces::bytes_of(known->second, processes) : 0;
    }
    row.slope = heap_slope_of(heap, rate_bytes);
    if (row.slope) row.verdict = heap_verdict(*row.slope, heap);
  }
  correct_each(
      &leaks.rows,
      [](const HeapRow& row) { return row.slope ? std::optional(row.slope->p_value) : std::nullopt; },
      [](HeapRow* row, double corrected_p) { drop_chance(corrected_p, &row->verdict); });
  for (const HeapRow& row : leaks.rows) leaks.suspects += row.verdict == LeakVerdict::kLeak ? 1 : 0;
  const auto rank = [](const HeapRow& row) {
    return std::make_tuple(row.verdict != LeakVerdict::kLeak, -row.bytes, key_of(row.place));
  };
  std::sort(leaks.rows.begin(), leaks.rows.end(),
            [&](const HeapRow& a, const HeapRow& b) { return rank(a) < rank(b); });
  return leaks;
}

}  // namespace memprof::profile
