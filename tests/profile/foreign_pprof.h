// SPDX-License-Identifier: Apache-2.0
// Puts together pprof files field by field, as others write them or as nobody should.
#pragma once

#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <utility>
#include <vector>

namespace memprof::profile {

class ForeignPprof {
 public:
  using Types = std::vector<std::pair<std::string, std::string>>;  // name, unit

  explicit ForeignPprof(const Types& sample_types) {
    string("");
    for (const auto& [type, unit] : sample_types) {
      std::string value_type;
      protozero::pbf_writer(value_type).add_int64(1, string(type));
      protozero::pbf_writer(value_type).add_int64(2, string(unit));
      writer_.add_message(1, value_type);
    }
  }

  int64_t string(const std::string& text) {
    writer_.add_string(6, text);
    return strings_++;
  }

  void location(uint64_t id, uint64_t address, uint64_t mapping = 0, uint64_t function = 0) {
    std::string message;
    protozero::pbf_writer location(message);
    location.add_uint64(1, id);
    location.add_uint64(2, mapping);
    location.add_uint64(3, address);
    if (function != 0) {
      std::string line;
      protozero::pbf_writer(line).add_uint64(1, function);
      location.add_message(4, line);
    }
    writer_.add_message(4, message);
  }

  struct NumberLabel {
    std::string key;
    int64_t number;
    std::string unit;
  };

  void sample(const std::vector<uint64_t>& locations, const std::vector<int64_t>& values,
              const std::vector<NumberLabel>& labels = {}) {
    std::string message;
    protozero::pbf_writer sample(message);
    sample.add_packed_uint64(1, locations.begin(), locations.end());
    sample.add_packed_int64(2, values.begin(), values.end());
    for (const NumberLabel& label : labels) {
      std::string label_message;
      protozero::pbf_writer label_writer(label_message);
      label_writer.add_int64(1, string(label.key));
      label_writer.add_int64(3, label.number);
      label_writer.add_int64(4, string(label.unit));
      sample.add_message(3, label_message);
    }
    writer_.add_message(2, message);
  }

  void period(const std::string& type, const std::string& unit, int64_t period) {
    std::string value_type;
    protozero::pbf_writer(value_type).add_int64(1, string(type));
    protozero::pbf_writer(value_type).add_int64(2, string(unit));
    writer_.add_message(11, value_type);
    writer_.add_int64(12, period);
  }

  void comment(const std::string& text) { writer_.add_int64(13, string(text)); }

  protozero::pbf_writer& writer() { return writer_; }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
  protozero::pbf_writer writer_{bytes_};
  int64_t strings_ = 0;
};

}  // namespace memprof::profile
