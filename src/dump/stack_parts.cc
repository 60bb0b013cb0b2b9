// SPDX-License-Identifier: Apache-2.0
#include "dump/stack_parts.h"

#include "core/rates/load_log.h"

namespace memprof {

namespace {

// Puts the records of each stack together by parts; `part_of` tells that of a record.
template <typename PartOf>
void convert_parts(const Snapshot& s, const PartOf& part_of, Birth* births,
                   profile::RawPart<Birth> profile::RawStack::* member, profile::RawStack* stacks) {
  size_t count = 0;
  for (uint64_t i = 0; i < s.records.size;) {
    const uint32_t stack = s.records.data[i].stack_id;
    Birth parts[kBirthParts] = {};
    for (; i < s.records.size && s.records.data[i].stack_id == stack; ++i) {
      const SnapshotRecord& r = s.records.data[i];
      Birth& part = parts[part_of(r)];
      ++part.samples;
      part.weight_bytes += r.weight_bytes;
      part.weight_count += r.weight_count;
    }
    profile::RawPart<Birth>& own = stacks[stack].*member;
    own.first = births + count;
    for (uint32_t part = 0; part < kBirthParts; ++part) {
      if (parts[part].samples != 0) {
        parts[part].part = part;
        births[count++] = parts[part];
        ++own.count;
      }
    }
  }
}

uint64_t after_start(const Snapshot& s, const SnapshotRecord& r) {
  return r.time_ns > s.start_ns ? r.time_ns - s.start_ns : 0;
}

}  // namespace

void convert_births(const Snapshot& s, Birth* births, profile::RawStack* stacks) {
  convert_parts(
      s, [&](const SnapshotRecord& r) { return birth_part(r.time_ns, s.start_ns, s.time_ns); }, births,
      &profile::RawStack::births, stacks);
}

LoadTimes convert_load_births(const Snapshot& s, Birth* births, profile::RawStack* stacks) {
  LoadClock clock(s.load);
  for (uint64_t i = 0; i < s.records.size; ++i) {
    const SnapshotRecord& r = s.records.data[i];
    clock.add_live(after_start(s, r),
                   static_cast<double>(load_log::counted_bytes(r.weight_bytes, r.rate_bytes)));
  }
  const LoadTimes times = clock.times();
  if (!times.is_known() || !times.differs_from_time(s.load.end_ns)) {
    return {};
  }
  convert_parts(
      s, [&](const SnapshotRecord& r) { return times.part_of(after_start(s, r)); }, births,
      &profile::RawStack::load_births, stacks);
  return times;
}

void convert_mappings(const Snapshot& s, profile::RawStack* stacks) {
  for (uint64_t i = 0; i < s.mappings.size && s.has_mappings; ++i) {
    const SnapshotMapping& m = s.mappings.data[i];
    int64_t(&mapped)[profile::schema::kMappedCount] = stacks[m.stack_id].mapped;
    ++mapped[0];
    mapped[1] += static_cast<int64_t>(m.limit - m.start);
    mapped[2] += m.resident_bytes != 0;
    mapped[3] += static_cast<int64_t>(m.resident_bytes);
  }
}

bool convert_resident(const Snapshot& s, profile::RawStack* stacks) {
  struct Seen {
    double bytes = 0, resident_bytes = 0, blocks = 0, resident_blocks = 0;
    void add(const SnapshotRecord& r, double share) {
      bytes += r.weight_bytes;
      resident_bytes += share * r.weight_bytes;
      blocks += r.weight_count;
      resident_blocks += share > 0 ? r.weight_count : 0;
    }
  };
  if (!s.resident.is_known() || s.resident_shares.size != s.records.size) {
    return false;
  }
  const float* const shares = s.resident_shares.data;
  Seen all;
  for (uint64_t i = 0; i < s.records.size; ++i) {
    if (shares[i] >= 0) {
      all.add(s.records.data[i], static_cast<double>(shares[i]));
    }
  }
  for (uint64_t i = 0; i < s.records.size;) {
    const uint32_t stack = s.records.data[i].stack_id;
    Seen own;
    double bytes = 0;
    double blocks = 0;
    for (; i < s.records.size && s.records.data[i].stack_id == stack; ++i) {
      const SnapshotRecord& r = s.records.data[i];
      bytes += r.weight_bytes;
      blocks += r.weight_count;
      if (shares[i] >= 0) {
        own.add(r, static_cast<double>(shares[i]));
      }
    }
    const Seen& like = own.blocks > 0 ? own : all;
    stacks[stack].resident_bytes = like.bytes > 0 ? bytes * like.resident_bytes / like.bytes : 0;
    stacks[stack].resident_count = like.blocks > 0 ? blocks * like.resident_blocks / like.blocks : 0;
  }
  return s.records.size == 0 || all.blocks > 0;
}

}  // namespace memprof
