// SPDX-License-Identifier: Apache-2.0
#include "profile/parquet/parquet_writer.h"

#include <utility>

#include "profile/parquet/parquet_fields.h"
#include "profile/parquet/thrift_writer.h"

namespace memprof::profile {
namespace {

// Of a union whose value has no fields.
ThriftWriter only(unsigned id) {
  ThriftWriter one;
  one.structure(id, {});
  return one;
}

ThriftWriter utc_microseconds() {
  ThriftWriter timestamp;
  timestamp.boolean(parquet::timestamp_field::kIsUtc, true);
  timestamp.structure(parquet::timestamp_field::kUnit, only(parquet::unit_field::kMicroseconds));
  ThriftWriter type;
  type.structure(parquet::logical_field::kTimestamp, std::move(timestamp));
  return type;
}

std::string text_element(const std::string& name, parquet::Repetition repetition) {
  ThriftWriter element;
  element.int32(parquet::schema_field::kType, parquet::kByteArray);
  element.int32(parquet::schema_field::kRepetition, repetition);
  element.text(parquet::schema_field::kName, name);
  element.int32(parquet::schema_field::kConvertedType, parquet::kUtf8);
  element.structure(parquet::schema_field::kLogicalType, only(parquet::logical_field::kString));
  return element.take();
}

std::string number_element(const std::string& name, bool is_time) {
  ThriftWriter element;
  element.int32(parquet::schema_field::kType, parquet::kInt64);
  element.int32(parquet::schema_field::kRepetition, parquet::kOptional);
  element.text(parquet::schema_field::kName, name);
  if (is_time) {
    element.int32(parquet::schema_field::kConvertedType, parquet::kTimestampMicroseconds);
    element.structure(parquet::schema_field::kLogicalType, utc_microseconds());
  }
  return element.take();
}

std::string repeated_group(const char* name, int32_t children) {
  ThriftWriter element;
  element.int32(parquet::schema_field::kRepetition, parquet::kRepeated);
  element.text(parquet::schema_field::kName, name);
  element.int32(parquet::schema_field::kChildren, children);
  return element.take();
}

std::string collection(const std::string& name, bool is_map) {
  ThriftWriter element;
  element.int32(parquet::schema_field::kRepetition, parquet::kRequired);
  element.text(parquet::schema_field::kName, name);
  element.int32(parquet::schema_field::kChildren, 1);
  element.int32(parquet::schema_field::kConvertedType, is_map ? parquet::kMap : parquet::kList);
  element.structure(parquet::schema_field::kLogicalType,
                    only(is_map ? parquet::logical_field::kMap : parquet::logical_field::kList));
  return element.take();
}

}  // namespace

ParquetWriter::ParquetWriter(std::vector<ParquetColumn> columns, const Sink& to, std::string created_by,
                             const ParquetLimits& limits)
    : columns_(std::move(columns)), created_by_(std::move(created_by)), limits_(limits), out_(to) {
  for (const ParquetColumn& column : columns_) {
    first_leaf_.push_back(leaves_.size());
    const std::string& name = column.name;
    switch (column.type) {
      case ParquetType::kNumber:
      case ParquetType::kTime:
        leaves_.emplace_back(std::vector<std::string>{name}, parquet::kInt64, false);
        break;
      case ParquetType::kText:
        leaves_.emplace_back(std::vector<std::string>{name}, parquet::kByteArray, false);
        break;
      case ParquetType::kTextList:
        leaves_.emplace_back(std::vector<std::string>{name, "list", "element"}, parquet::kByteArray, true);
        break;
      case ParquetType::kTextMap:
        leaves_.emplace_back(std::vector<std::string>{name, "key_value", "key"}, parquet::kByteArray, true);
        leaves_.emplace_back(std::vector<std::string>{name, "key_value", "value"}, parquet::kByteArray, true);
        break;
    }
  }
  out_.write(parquet::kMagic);
}

void ParquetWriter::list(size_t column, const std::vector<std::string_view>& values) {
  for (size_t i = 0; i < values.size(); ++i) leaf(column).add(values[i], i == 0);
}

void ParquetWriter::map(size_t column, const std::map<std::string, std::string>& values) {
  const size_t key = first_leaf_[column];
  bool begins_row = true;
  for (const auto& [name, value] : values) {
    leaves_[key].add(name, begins_row);
    leaves_[key + 1].add(value, begins_row);
    begins_row = false;
  }
}

void ParquetWriter::end_row() {
  ++rows_;
  size_t bytes = 0;
  for (ParquetLeaf& leaf : leaves_) {
    if (leaf.rows() < rows_) leaf.add_nothing();
    bytes += leaf.memory_bytes();
  }
  if (rows_ >= limits_.rows || bytes >= limits_.bytes) write_group();
}

void ParquetWriter::write_group() {
  const uint64_t begin = out_.offset();
  uint64_t bytes = 0;
  uint64_t packed_bytes = 0;
  std::vector<std::string> chunks;
  for (ParquetLeaf& leaf : leaves_) {
    ParquetChunk chunk = leaf.write(&out_);
    bytes += chunk.bytes;
    packed_bytes += chunk.packed_bytes;
    chunks.push_back(std::move(chunk.metadata));
  }
  ThriftWriter group;
  group.struct_list(parquet::group_field::kColumns, chunks);
  group.int64(parquet::group_field::kBytes, static_cast<int64_t>(bytes));
  group.int64(parquet::group_field::kRows, static_cast<int64_t>(rows_));
  group.int64(parquet::group_field::kFileOffset, static_cast<int64_t>(begin));
  group.int64(parquet::group_field::kPackedBytes, static_cast<int64_t>(packed_bytes));
  groups_.push_back(group.take());
  all_rows_ += rows_;
  rows_ = 0;
}

// The tree, each node before its children.
std::vector<std::string> ParquetWriter::schema() const {
  ThriftWriter root;
  root.text(parquet::schema_field::kName, "schema");
  root.int32(parquet::schema_field::kChildren, static_cast<int32_t>(columns_.size()));
  std::vector<std::string> elements = {root.take()};
  for (const ParquetColumn& column : columns_) {
    switch (column.type) {
      case ParquetType::kNumber:
      case ParquetType::kTime:
        elements.push_back(number_element(column.name, column.type == ParquetType::kTime));
        break;
      case ParquetType::kText:
        elements.push_back(text_element(column.name, parquet::kOptional));
        break;
      case ParquetType::kTextList:
        elements.push_back(collection(column.name, false));
        elements.push_back(repeated_group("list", 1));
        elements.push_back(text_element("element", parquet::kRequired));
        break;
      case ParquetType::kTextMap:
        elements.push_back(collection(column.name, true));
        elements.push_back(repeated_group("key_value", 2));
        elements.push_back(text_element("key", parquet::kRequired));
        elements.push_back(text_element("value", parquet::kRequired));
        break;
    }
  }
  return elements;
}

void ParquetWriter::finish() {
  if (rows_ != 0) write_group();
  ThriftWriter file;
  file.int32(parquet::file_field::kVersion, 1);
  file.struct_list(parquet::file_field::kSchema, schema());
  file.int64(parquet::file_field::kRows, static_cast<int64_t>(all_rows_));
  file.struct_list(parquet::file_field::kRowGroups, groups_);
  file.text(parquet::file_field::kCreatedBy, created_by_);
  file.struct_list(parquet::file_field::kColumnOrders,
                   std::vector<std::string>(leaves_.size(), only(parquet::order_field::kByType).take()));
  const std::string footer = file.take();
  out_.write(footer);
  std::string size;
  for (unsigned bit = 0; bit < 32; bit += 8) size.push_back(static_cast<char>(footer.size() >> bit));
  out_.write(size);
  out_.write(parquet::kMagic);
}

}  // namespace memprof::profile
