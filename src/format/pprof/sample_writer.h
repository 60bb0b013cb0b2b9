// SPDX-License-Identifier: Apache-2.0
// The samples of a memprof profile: which values and labels they have, and how estimates become integers
// whose sums are right.  Shared by the writer in the profiled process and the one outside.
//
// Model: docs/profile-format.md, "Samples".
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "format/pprof/pprof_schema.h"
#include "format/pprof/proto_encoder.h"

namespace memprof::profile {

// Rounds one estimate after the other and carries the fraction on, so that the sum is right to one unit.
class CarriedRounding {
 public:
  int64_t round(double estimate) {
    const double exact = estimate + carry_;
    if (!(exact > 0)) {  // nothing, less than half a unit taken too much before, or not a number
      carry_ = exact <= 0 && exact > -1 ? exact : 0;
      return 0;
    }
    if (exact >= 0x1p62) {
      carry_ = 0;
      return exact >= 0x1p63 ? INT64_MAX : static_cast<int64_t>(exact);
    }
    const auto rounded = static_cast<int64_t>(exact + 0.5);
    carry_ = exact - static_cast<double>(rounded);
    return rounded;
  }

 private:
  double carry_ = 0;
};

// Most bytes of a sample that sample_message() makes: ids are 32 bits wide.
constexpr size_t max_sample_bytes(size_t depth) {
  return 5 * depth + 192;
}

inline void sample_locations(wire::Message& message, const uint32_t* location_ids, size_t depth) {
  size_t bytes = 0;
  for (size_t i = 0; i < depth; ++i) {
    bytes += wire::varint_bytes_of_id(location_ids[i]);
  }
  if (depth != 0) {
    message.begin_bytes(schema::sample_field::kLocationId, bytes);
    message.ids(location_ids, depth, bytes);
  }
}

inline void sample_numbers(wire::Message& message, const int64_t* values, size_t value_count) {
  size_t bytes = 0;
  for (size_t i = 0; i < value_count; ++i) {
    bytes += wire::varint_bytes(static_cast<uint64_t>(values[i]));
  }
  message.begin_bytes(schema::sample_field::kValue, bytes);
  for (size_t i = 0; i < value_count; ++i) {
    message.varint(static_cast<uint64_t>(values[i]));
  }
}

inline void sample_values(wire::Message& message, const uint32_t* location_ids, size_t depth,
                          const int64_t* values, size_t value_count) {
  sample_locations(message, location_ids, depth);
  sample_numbers(message, values, value_count);
}

inline void sample_label(wire::Message& message, uint32_t key, uint64_t number, uint32_t unit) {
  uint8_t memory[64];
  wire::Message label(memory, sizeof(memory));
  label.field(schema::label_field::kKey, key);
  label.field(schema::label_field::kNumber, number);
  label.field(schema::label_field::kUnit, unit);
  message.message_field(schema::sample_field::kLabel, label);
}

// A label that is a text; both are indices of the string table.
inline void sample_text_label(wire::Message& message, uint32_t key, uint32_t text) {
  uint8_t memory[32];
  wire::Message label(memory, sizeof(memory));
  label.field(schema::label_field::kKey, key);
  label.field(schema::label_field::kText, text);
  message.message_field(schema::sample_field::kLabel, label);
}

// Writes the samples of one stack after the other.
class SampleWriter {
 public:
  // `memory` has room for max_sample_bytes() of the deepest stack.
  // `has_peak`, `has_resident`, `has_js`: the sample types of the peak, of what is in memory of blocks, and of the
  // runtime's own heap are there; `mapped_count`: so many of those of mappings (schema::mapped_count).
  SampleWriter(wire::Output& output, uint8_t* memory, size_t capacity, uint64_t period, bool has_peak,
               size_t mapped_count = 0, bool has_resident = false, bool has_js = false)
      : output_(output),
        message_(memory, capacity),
        period_(period),
        value_count_((has_peak ? schema::kValueCount : schema::kFirstValueCount) + mapped_count +
                     (has_resident ? schema::kResidentCount : 0) + (has_js ? 1 : 0)),
        first_mapped_(has_peak ? schema::kValueCount : schema::kFirstValueCount),
        mapped_count_(mapped_count),
        first_resident_(first_mapped_ + mapped_count),
        has_resident_(has_resident) {}

  // The index in the string table of the name of the heap that the next samples are of; 0: none.
  void set_heap(uint32_t name) { heap_ = name; }
  // Likewise of the process.
  void set_process(uint32_t name) { process_ = name; }

  // The locations of the stack that the next samples are of: they are encoded once.
  void set_stack(const uint32_t* location_ids, size_t depth) {
    message_.clear();
    sample_locations(message_, location_ids, depth);
    locations_bytes_ = message_.size();
  }
  // The same of ids that are varints already, one after the other.
  void set_stack(const uint8_t* varints, size_t size_bytes) {
    message_.clear();
    if (size_bytes != 0) {
      message_.begin_bytes(schema::sample_field::kLocationId, size_bytes);
      message_.raw(varints, size_bytes);
    }
    locations_bytes_ = message_.size();
  }

  // What the stack allocated, what of it was live at the peak, and what of it lives and is in memory.
  void running_totals(double blocks, double bytes, double peak_blocks, double peak_bytes,
                      double resident_blocks = 0, double resident_bytes = 0) {
    int64_t values[kMaxValues] = {alloc_objects_.round(blocks),     alloc_space_.round(bytes),    0, 0,
                                  peak_objects_.round(peak_blocks), peak_space_.round(peak_bytes)};
    if (has_resident_) {
      values[first_resident_] = resident_objects_.round(resident_blocks);
      values[first_resident_ + 1] = resident_space_.round(resident_bytes);
    }
    begin(values);
    output_.message_field(schema::profile_field::kSample, message_);
  }

  // Live blocks of one size and rate.
  void live(uint64_t size_bytes, uint64_t rate_bytes, uint64_t samples, double blocks, double bytes) {
    const int64_t values[kMaxValues] = {0, 0, inuse_objects_.round(blocks), inuse_space_.round(bytes)};
    begin(values);
    sample_label(message_, schema::kBytes, size_bytes, schema::kBytes);
    if (rate_bytes != period_) {
      sample_label(message_, schema::kRate, rate_bytes, schema::kBytes);
    }
    if (samples != 1) {
      sample_label(message_, schema::kSamples, samples, schema::kCount);
    }
    output_.message_field(schema::profile_field::kSample, message_);
  }

  // What the stack mapped, and what of it is resident.
  void mapped(const int64_t (&mapped)[schema::kMappedCount]) {
    int64_t values[kMaxValues] = {};
    for (size_t i = 0; i < mapped_count_; ++i) {
      values[first_mapped_ + i] = mapped[i];
    }
    begin(values);
    output_.message_field(schema::profile_field::kSample, message_);
  }

  // What the stack's functions hold in the runtime's own heap: the last of the sample types.
  void js(int64_t bytes) {
    int64_t values[kMaxValues] = {};
    values[value_count_ - 1] = bytes;
    begin(values);
    output_.message_field(schema::profile_field::kSample, message_);
  }

 private:
  static constexpr size_t kMaxValues =
      schema::kValueCount + schema::kMappedCount + schema::kResidentCount + 1;

  void begin(const int64_t (&values)[kMaxValues]) {
    message_.cut(locations_bytes_);
    sample_numbers(message_, values, value_count_);
    if (heap_ != 0) {
      sample_text_label(message_, schema::kHeap, heap_);
    }
    if (process_ != 0) {
      sample_text_label(message_, schema::kProcess, process_);
    }
  }

  wire::Output& output_;
  wire::Message message_;
  uint64_t period_;
  size_t value_count_;
  size_t first_mapped_;
  size_t mapped_count_;
  size_t first_resident_;
  bool has_resident_;
  size_t locations_bytes_ = 0;  // that the message begins with
  uint32_t heap_ = 0;
  uint32_t process_ = 0;
  CarriedRounding alloc_objects_, alloc_space_, inuse_objects_, inuse_space_, peak_objects_, peak_space_;
  CarriedRounding resident_objects_, resident_space_;
};

}  // namespace memprof::profile
