// SPDX-License-Identifier: Apache-2.0
// Reads Parquet files as ours are: written from the format's specification, with its numbers, and not from our sources.
// What has another form than ours fails the test.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "profile/files/gzip.h"

namespace memprof::profile::testing_parquet {

// A value of Thrift's compact protocol.
struct Value {
  int64_t number = 0;
  std::string text;
  std::vector<Value> list;
  std::map<int, Value> fields;

  const Value& at(int id) const {
    const auto found = fields.find(id);
    if (found == fields.end()) throw std::runtime_error("no field " + std::to_string(id));
    return found->second;
  }
  bool has(int id) const { return fields.count(id) != 0; }
};

class Bytes {
 public:
  explicit Bytes(std::string bytes) : bytes_(std::move(bytes)) {}
  uint8_t byte() { return static_cast<uint8_t>(bytes_.at(at_++)); }
  uint64_t little_endian(size_t size) {
    uint64_t number = 0;
    for (size_t i = 0; i < size; ++i) number |= uint64_t{byte()} << (8 * i);
    return number;
  }
  uint64_t varint() {
    uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
      const uint8_t next = byte();
      number |= uint64_t{next & 0x7Fu} << shift;
      if (next < 0x80) return number;
    }
  }
  std::string text(size_t size) {
    if (size > left()) throw std::runtime_error("too short");
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  size_t left() const { return bytes_.size() - at_; }

  Value value(int type) {
    Value result;
    switch (type) {
      case 1:
      case 2:
        result.number = type == 1 ? 1 : 0;
        break;
      case 5:
      case 6: {
        const uint64_t zigzag = varint();
        result.number = static_cast<int64_t>(zigzag >> 1) ^ -static_cast<int64_t>(zigzag & 1);
        break;
      }
      case 8:
        result.text = text(varint());
        break;
      case 9: {
        const uint8_t head = byte();
        const uint64_t count = head >> 4 == 15 ? varint() : head >> 4;
        for (uint64_t i = 0; i < count; ++i) result.list.push_back(value(head & 15));
        break;
      }
      case 12: {
        int id = 0;
        while (const uint8_t head = byte()) {
          if (head >> 4 == 0) throw std::runtime_error("a long form of a field");
          id += head >> 4;
          result.fields[id] = value(head & 15);
        }
        break;
      }
      default:
        throw std::runtime_error("type " + std::to_string(type));
    }
    return result;
  }

 private:
  std::string bytes_;
  size_t at_ = 0;
};

// The hybrid of runs and bit-packed groups.
inline std::vector<uint32_t> read_runs(Bytes bytes, unsigned width, size_t count) {
  std::vector<uint32_t> values;
  while (bytes.left() != 0) {
    const uint64_t head = bytes.varint();
    if ((head & 1) == 0) {
      const auto number = static_cast<uint32_t>(bytes.little_endian((width + 7) / 8));
      values.insert(values.end(), head >> 1, number);
      continue;
    }
    const std::string packed = bytes.text((head >> 1) * width);
    for (size_t i = 0; i < (head >> 1) * 8; ++i) {
      uint32_t number = 0;
      for (unsigned bit = 0; bit < width; ++bit) {
        const size_t place = i * width + bit;
        number |= (static_cast<uint8_t>(packed[place / 8]) >> (place % 8) & 1u) << bit;
      }
      values.push_back(number);
    }
  }
  // Only the last group may be filled up.
  if (values.size() < count || values.size() >= count + 8) throw std::runtime_error("values in runs");
  values.resize(count);
  return values;
}

using Row = std::map<std::string, std::string>;

struct Table {
  Value footer;
  std::vector<std::string> columns;
  std::vector<Row> rows;  // null: no cell; a list as "a;b", a map as "a=b;c=d"
};

// Of one column chunk: for each row its values.
inline std::vector<std::vector<std::string>> read_chunk(const std::string& file, const Value& metadata,
                                                        bool is_repeated) {
  std::vector<std::vector<std::string>> rows;
  const bool is_number = metadata.at(1).number == 2;
  EXPECT_EQ(metadata.at(4).number, 2);  // gzip
  const int64_t data_offset = metadata.at(9).number;
  int64_t at = metadata.has(11) ? metadata.at(11).number : data_offset;
  const int64_t begin = at;
  int64_t unpacked = 0;
  int64_t values_left = metadata.at(5).number;
  std::vector<std::string> dictionary;
  const auto plain = [&](Bytes* bytes) {
    return is_number ? std::to_string(static_cast<int64_t>(bytes->little_endian(8)))
                     : bytes->text(bytes->little_endian(4));
  };
  while (values_left > 0) {
    Bytes head(file.substr(static_cast<size_t>(at)));
    const size_t whole = head.left();
    const Value page = head.value(12);
    const size_t head_bytes = whole - head.left();
    const auto packed = static_cast<size_t>(page.at(3).number);
    Bytes body(gunzip(head.text(packed), "page", uint64_t{1} << 30));
    EXPECT_EQ(static_cast<int64_t>(body.left()), page.at(2).number);
    at += static_cast<int64_t>(head_bytes + packed);
    unpacked += static_cast<int64_t>(head_bytes) + page.at(2).number;
    if (page.at(1).number == 2) {
      EXPECT_TRUE(dictionary.empty());
      EXPECT_EQ(page.at(7).at(2).number, 0);
      for (int64_t i = 0; i < page.at(7).at(1).number; ++i) dictionary.push_back(plain(&body));
      EXPECT_EQ(at, data_offset);
      EXPECT_EQ(body.left(), 0u);
      continue;
    }
    EXPECT_EQ(page.at(1).number, 0);
    const Value& data = page.at(5);
    EXPECT_EQ(data.at(3).number, 3);
    EXPECT_EQ(data.at(4).number, 3);
    const auto count = static_cast<size_t>(data.at(1).number);
    values_left -= data.at(1).number;
    const auto levels = [&] { return read_runs(Bytes(body.text(body.little_endian(4))), 1, count); };
    const std::vector<uint32_t> repetition = is_repeated ? levels() : std::vector<uint32_t>(count);
    const std::vector<uint32_t> definition = levels();
    size_t present = 0;
    for (const uint32_t level : definition) present += level;
    std::vector<uint32_t> indices;
    if (data.at(2).number == 8) {
      const unsigned width = body.byte();
      indices = read_runs(Bytes(body.text(body.left())), width, present);
    } else {
      EXPECT_EQ(data.at(2).number, 0);
    }
    size_t value = 0;
    for (size_t i = 0; i < count; ++i) {
      if (repetition[i] == 0) rows.emplace_back();
      if (definition[i] == 0) continue;
      rows.back().push_back(data.at(2).number == 8 ? dictionary.at(indices[value++]) : plain(&body));
    }
    EXPECT_EQ(body.left(), 0u);
  }
  EXPECT_EQ(at - begin, metadata.at(7).number);
  EXPECT_EQ(unpacked, metadata.at(6).number);
  return rows;
}

inline Table read_parquet(const std::string& file) {
  Table table;
  EXPECT_EQ(file.substr(0, 4), "PAR1");
  EXPECT_EQ(file.substr(file.size() - 4), "PAR1");
  const uint64_t size = Bytes(file.substr(file.size() - 8, 4)).little_endian(4);
  Bytes footer(file.substr(file.size() - 8 - size, size));
  table.footer = footer.value(12);
  EXPECT_EQ(footer.left(), 0u);
  for (const Value& element : table.footer.at(2).list) {
    if (element.has(1) || element.has(6)) table.columns.push_back(element.at(4).text);
  }
  int64_t rows = 0;
  for (const Value& group : table.footer.at(4).list) {
    const size_t first = table.rows.size();
    table.rows.resize(first + static_cast<size_t>(group.at(3).number));
    rows += group.at(3).number;
    for (const Value& chunk : group.at(1).list) {
      const Value& metadata = chunk.at(3);
      const std::vector<Value>& path = metadata.at(3).list;
      const bool is_repeated = path.size() > 1;
      const auto cells = read_chunk(file, metadata, is_repeated);
      EXPECT_EQ(static_cast<int64_t>(cells.size()), group.at(3).number) << path[0].text;
      for (size_t i = 0; i < cells.size(); ++i) {
        Row& row = table.rows.at(first + i);
        for (size_t k = 0; k < cells[i].size(); ++k) {
          std::string& cell =
              row[path.size() > 2 && path[2].text == "value" ? path[0].text + ".value" : path[0].text];
          cell += (k == 0 ? "" : ";") + cells[i][k];
        }
      }
    }
  }
  EXPECT_EQ(rows, table.footer.at(3).number);
  return table;
}

}  // namespace memprof::profile::testing_parquet
