// SPDX-License-Identifier: Apache-2.0
// Fields of a protobuf message by number and wire type together: one of the wrong type is not the field we
// know, and is skipped.
//
// Failure: protozero's exceptions for damaged bytes.
#pragma once

#include <cstdint>
#include <protozero/pbf_reader.hpp>

namespace memprof::profile {

constexpr uint32_t number_field(uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::varint);
}

constexpr uint32_t bytes_field(uint32_t tag) {
  return protozero::tag_and_type(tag, protozero::pbf_wire_type::length_delimited);
}

// Calls each(uint64_t) for a repeated integer, packed or not.  False: the reader is not at that field.
template <typename Each>
bool read_repeated(protozero::pbf_reader& reader, uint32_t tag, const Each& each) {
  if (reader.tag_and_type() == number_field(tag)) {
    each(reader.get_uint64());
    return true;
  }
  if (reader.tag_and_type() == bytes_field(tag)) {
    for (const uint64_t value : reader.get_packed_uint64()) {
      each(value);
    }
    return true;
  }
  return false;
}

}  // namespace memprof::profile
