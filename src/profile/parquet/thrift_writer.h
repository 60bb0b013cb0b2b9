// SPDX-License-Identifier: Apache-2.0
// Structs of Thrift's compact protocol, as far as the metadata of Parquet files have them: fields ascending by id, at
// most 15 apart.
//
// Format: https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
// Threads: one object, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/files/byte_writer.h"

namespace memprof::profile {

enum class ThriftType : uint8_t {
  kTrue = 1,
  kFalse = 2,
  kInt32 = 5,
  kInt64 = 6,
  kText = 8,
  kList = 9,
  kStruct = 12
};

// One struct.
class ThriftWriter {
 public:
  void int32(unsigned id, int32_t value) {  // enums, too
    field(id, ThriftType::kInt32);
    number(value);
  }
  void int64(unsigned id, int64_t value) {
    field(id, ThriftType::kInt64);
    number(value);
  }
  void boolean(unsigned id, bool value) { field(id, value ? ThriftType::kTrue : ThriftType::kFalse); }
  void text(unsigned id, std::string_view value) {  // binary, too
    field(id, ThriftType::kText);
    bytes_.text(value);
  }
  void structure(unsigned id, ThriftWriter value) {
    field(id, ThriftType::kStruct);
    bytes_.bytes(value.take());
  }

  void int32_list(unsigned id, const std::vector<int32_t>& values) {
    list(id, ThriftType::kInt32, values.size());
    for (const int32_t value : values) number(value);
  }
  void text_list(unsigned id, const std::vector<std::string>& values) {
    list(id, ThriftType::kText, values.size());
    for (const std::string& value : values) bytes_.text(value);
  }
  // Of structs that take() made.
  void struct_list(unsigned id, const std::vector<std::string>& values) {
    list(id, ThriftType::kStruct, values.size());
    for (const std::string& value : values) bytes_.bytes(value);
  }

  // With its end.
  std::string take() {
    byte(0);
    return bytes_.take();
  }

 private:
  static constexpr size_t kShortList = 15;

  void byte(unsigned value) {
    const char byte = static_cast<char>(value);
    bytes_.bytes({&byte, 1});
  }
  void field(unsigned id, ThriftType type) {
    byte((id - last_id_) << 4 | static_cast<unsigned>(type));
    last_id_ = id;
  }
  void list(unsigned id, ThriftType element, size_t count) {
    field(id, ThriftType::kList);
    byte(static_cast<unsigned>(count < kShortList ? count : kShortList) << 4 |
         static_cast<unsigned>(element));
    if (count >= kShortList) bytes_.varint(count);
  }
  // Zigzag: of a small number, whatever its sign, few bytes.
  void number(int64_t value) {
    bytes_.varint(static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63));
  }

  ByteWriter bytes_;
  unsigned last_id_ = 0;
};

}  // namespace memprof::profile
