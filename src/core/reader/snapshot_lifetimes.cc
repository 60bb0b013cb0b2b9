// SPDX-License-Identifier: Apache-2.0
// The part of a snapshot that reads how long blocks lived: what was freed of a stack, by classes
// (core/tables/stack_table.h).
#include <algorithm>

#include "core/reader/snapshot_source.h"
#include "core/tables/stack_table.h"
#include "format/lifetime_class.h"

namespace memprof {
namespace {

constexpr uint32_t kNoStack = UINT32_MAX;  // an element that is not in use

// Bytes that somebody else may be writing, or that are garbage: what cannot be a sum over samples, each of
// which stands for at least itself, is made one.  false: there is nothing.
bool copy_class(const StackTotals& from, SnapshotLifetime* to) {
  constexpr double kMax = 1e300;
  to->samples = from.samples.load(std::memory_order_acquire);
  copy_sums_of(from, to);
  const auto at_least = [](double value, uint64_t min) {
    return value >= static_cast<double>(min) && value < kMax ? value : static_cast<double>(min);
  };
  to->weight_bytes = at_least(to->weight_bytes, to->size_bytes);
  to->weight_count = at_least(to->weight_count, to->samples);
  return to->samples != 0 && to->samples <= UINT64_MAX / 2;
}

}  // namespace

// In this process an entry may have units that are newer than what was asked last.
void Snapshot::Source::load_units(const StackEntry& e) {
  if (!has_lifetimes()) {
    return;
  }
  uint32_t newest = 0;
  for (const std::atomic<uint32_t>& unit : e.units) {
    newest = std::max(newest, unit.load(std::memory_order_acquire));
  }
  if (newest > count<LifetimeUnit>(kLifetimeSection)) {
    refresh();
  }
  for (const std::atomic<uint32_t>& unit : e.units) {
    if (const uint32_t ref = unit.load(std::memory_order_acquire)) {
      load_part(kLifetimeSection, (uint64_t{ref} - 1) * sizeof(LifetimeUnit), sizeof(LifetimeUnit));
    }
  }
}

// After what the entry itself has freed.
void Snapshot::copy_lifetimes(const Source& source, uint64_t i) {
  const StackEntry& e = source.at<StackEntry>(kStackSection)[i];
  SnapshotStack& s = stacks.data[i];
  if (!source.has_lifetimes()) {
    const auto* before = reinterpret_cast<const std::atomic<uint64_t>*>(e.units);
    const auto* sum = reinterpret_cast<const std::atomic<double>*>(e.units);
    s.lifetime_ns = sum->load(std::memory_order_relaxed);
    const uint64_t min = before[1].load(std::memory_order_relaxed);
    s.min_lifetime_ns = min == 0 ? 0 : min - 1;
    s.max_lifetime_ns = before[2].load(std::memory_order_relaxed);
    return;
  }
  SnapshotLifetime found[kLifetimeUnits * kUnitClasses];
  uint32_t count = 0;
  for (uint32_t unit = 0; unit < kLifetimeUnits; ++unit) {
    // acquire pairs with the releases in make_unit() and move_lifetimes().
    const uint32_t ref = e.units[unit].load(std::memory_order_acquire);
    if (ref == 0 || ref > source.count<LifetimeUnit>(kLifetimeSection)) {
      continue;
    }
    const LifetimeUnit& from = source.at<LifetimeUnit>(kLifetimeSection)[ref - 1];
    for (uint32_t k = 0; k < kUnitClasses && unit * kUnitClasses + k < kLifetimeClasses; ++k) {
      found[count] = {static_cast<uint32_t>(i), unit * kUnitClasses + k, 0, 0, 0, 0};
      count += copy_class(from.classes[k], &found[count]) ? 1 : 0;
    }
  }
  double known = 0;
  for (uint32_t k = 0; k < count; ++k) {
    s.freed.samples += found[k].samples;
    s.freed.size_bytes += found[k].size_bytes;
    s.freed.weight_bytes += found[k].weight_bytes;
    s.freed.weight_count += found[k].weight_count;
    s.lifetime_ns += found[k].weight_count * lifetime_class_mean_ns(found[k].lifetime_class);
    known += found[k].weight_count;
  }
  // Whose lifetime is not known counts as the mean of the others.
  if (known > 0) {
    s.lifetime_ns *= std::max(s.freed.weight_count / known, 1.0);
  }
  if (count != 0) {
    s.min_lifetime_ns = lifetime_class_begin_ns(found[0].lifetime_class);
    s.max_lifetime_ns = lifetime_class_end_ns(found[count - 1].lifetime_class);
  }
  store_lifetimes(i, found, count);
}

// A stack that is read again has its old place, or a new one; where there is no room its classes are missing.
void Snapshot::store_lifetimes(uint64_t i, const SnapshotLifetime* classes, uint32_t count) {
  LifetimePlace& place = lifetime_places_.data[i];
  for (uint64_t k = place.first; k < place.first + place.room; ++k) {
    lifetimes.data[k].stack_id = kNoStack;
  }
  if (count > place.room) {
    if (count > max_lifetimes_ - lifetimes.size) {
      return;
    }
    place = {lifetimes.size, count};
    lifetimes.size += count;
  }
  std::copy_n(classes, count, lifetimes.data + place.first);
}

void Snapshot::finish_lifetimes() {
  SnapshotLifetime* const end =
      std::remove_if(lifetimes.data, lifetimes.data + lifetimes.size,
                     [](const SnapshotLifetime& lifetime) { return lifetime.stack_id == kNoStack; });
  lifetimes.size = static_cast<uint64_t>(end - lifetimes.data);
  std::sort(lifetimes.data, end, [](const SnapshotLifetime& a, const SnapshotLifetime& b) {
    return a.stack_id != b.stack_id ? a.stack_id < b.stack_id : a.lifetime_class < b.lifetime_class;
  });
}

uint64_t Snapshot::sum_younger(uint64_t lifetime_ns, SnapshotTotals* totals, uint64_t count) const {
  const uint32_t within = lifetime_classes_within(lifetime_ns);
  uint64_t first = 0;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t end = first;
    while (end < lifetimes.size && lifetimes.data[end].stack_id == i) {
      ++end;
    }
    totals[i] = younger_totals(stacks.data[i].allocated, lifetimes.data + first, end - first, within);
    first = end;
  }
  return lifetime_class_begin_ns(within);
}

}  // namespace memprof
