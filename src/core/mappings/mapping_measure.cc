// SPDX-License-Identifier: Apache-2.0
#include "core/mappings/mapping_measure.h"

#include <algorithm>

#include "platform/clock.h"
#include "platform/memory_areas.h"

namespace memprof {
namespace {

constexpr uint32_t kParts = static_cast<uint32_t>(MemoryPart::kCount);

class Measurement {
 public:
  explicit Measurement(const MappingTable& table) : table_(table), at_(table.first()) {
    table.each([](MappingNode& n) { n.resident_bytes.store(0, std::memory_order_relaxed); });
  }

  void add(const platform::MemoryArea& area) {
    resident_bytes_ += area.resident_bytes;
    while (at_ != 0 && limit_of(at_) <= area.start) {
      at_ = table_.following(at_);
    }
    if (area.resident_bytes == 0) {
      return;
    }
    uint64_t from = area.start;
    uint64_t left = area.resident_bytes;  // what pages say is more: of the page of zeros
    uint64_t anonymous = area.anonymous_bytes;
    while (from < area.limit) {
      const bool is_here = at_ != 0 && start_of(at_) < area.limit;
      if (is_here && start_of(at_) <= from) {
        const uint64_t to = std::min(area.limit, limit_of(at_));
        const uint64_t resident = take(area, from, to, &left);
        MappingNode& n = table_.at(at_);
        n.resident_bytes.fetch_add(resident, std::memory_order_relaxed);
        const bool is_program = MappingTable::by_of(n) == MappedBy::kProgram;
        count(is_program ? MemoryPart::kMapped : MemoryPart::kAllocator, resident, &anonymous);
        from = to;
        if (limit_of(at_) <= area.limit) {
          at_ = table_.following(at_);
        }
        continue;
      }
      const uint64_t to = is_here ? start_of(at_) : area.limit;
      while (from < to && left != 0) {
        uint64_t end = to;
        const MemoryPart part = platform::holder_of(area, from, to, &end);
        count(part, take(area, from, end, &left), &anonymous);
        from = end;
      }
      from = to;
    }
    // What is no copy of a file's page, and was not found page by page: pages that went or came meanwhile.
    if (!area.is_file) {
      count(MemoryPart::kUnseen, anonymous, &anonymous);
    }
  }

  void store(MappingMeasure* measure) const {
    for (uint32_t i = 0; i < kParts; ++i) {
      measure->parts[i].store(parts_[i], std::memory_order_relaxed);
    }
    measure->resident_bytes.store(resident_bytes_, std::memory_order_relaxed);
    measure->time_ns.store(platform::monotonic_ns(), std::memory_order_relaxed);
  }

 private:
  uint64_t start_of(uint32_t id) const { return table_.at(id).start.load(std::memory_order_relaxed); }
  uint64_t limit_of(uint32_t id) const { return table_.at(id).limit.load(std::memory_order_relaxed); }

  static uint64_t take(const platform::MemoryArea& area, uint64_t from, uint64_t to, uint64_t* left) {
    uint64_t resident = *left;
    if (from != area.start || to != area.limit) {
      resident =
          area.resident_bytes == area.limit - area.start ? to - from : platform::resident_bytes_in(from, to);
    }
    resident = std::min(resident, *left);
    *left -= resident;
    return resident;
  }

  // At most what of the area is anonymous.
  void count(MemoryPart part, uint64_t bytes, uint64_t* anonymous) {
    const uint64_t counted = std::min(bytes, *anonymous);
    parts_[static_cast<uint32_t>(part)] += counted;
    *anonymous -= counted;
  }

  const MappingTable& table_;
  uint32_t at_;
  uint64_t resident_bytes_ = 0;
  uint64_t parts_[kParts] = {};
};

}  // namespace

void measure_mappings(const MappingTable& table, MappingMeasure* measure) {
  Measurement m(table);
  const auto visit = [](const platform::MemoryArea& area, void* context) {
    static_cast<Measurement*>(context)->add(area);
  };
  if (platform::each_memory_area(visit, &m)) {
    m.store(measure);
  } else if (platform::counts_without_areas()) {
    measure_mapped_pages(table, measure);
  }
}

void measure_mapped_pages(const MappingTable& table, MappingMeasure* measure) {
  constexpr uint64_t kMaxBytes = uint64_t{8} << 30;
  constexpr uint32_t kMaxRanges = 10'000;  // a system call each
  uint64_t bytes = 0;
  uint32_t ranges = 0;
  table.each([&](const MappingNode& n) {
    bytes += n.limit.load(std::memory_order_relaxed) - n.start.load(std::memory_order_relaxed);
    ++ranges;
  });
  if (bytes > kMaxBytes || ranges > kMaxRanges) {
    measure->time_ns.store(0, std::memory_order_relaxed);
    return;
  }
  table.each([](MappingNode& n) {
    n.resident_bytes.store(platform::resident_bytes_in(n.start.load(std::memory_order_relaxed),
                                                       n.limit.load(std::memory_order_relaxed)),
                           std::memory_order_relaxed);
  });
  for (std::atomic<uint64_t>& part : measure->parts) {
    part.store(0, std::memory_order_relaxed);
  }
  measure->resident_bytes.store(0, std::memory_order_relaxed);
  measure->time_ns.store(platform::monotonic_ns(), std::memory_order_relaxed);
}

}  // namespace memprof
