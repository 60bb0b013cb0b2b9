// SPDX-License-Identifier: Apache-2.0
// What a C++ extension of a Python program holds: an object with buffers of its own, by operator new.
// python_truth.py loads it.
#include <cstddef>
#include <memory>
#include <vector>

namespace {

struct Record {
  std::vector<double> values;
  std::unique_ptr<char[]> text;
  size_t text_bytes;
};

constexpr size_t kTextBytes = 40;

}  // namespace

extern "C" {

void* make_record(size_t count) {
  return new Record{std::vector<double>(count, 1.0), std::make_unique<char[]>(kTextBytes), kTextBytes};
}

// Of all three of its blocks.
size_t bytes_of_record(const void* record) {
  const auto* r = static_cast<const Record*>(record);
  return sizeof(*r) + r->values.size() * sizeof(double) + r->text_bytes;
}
}
