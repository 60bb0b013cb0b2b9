// SPDX-License-Identifier: Apache-2.0
// What one column of a Parquet file holds until its row group is written: numbers or texts, one a row or none, or
// the elements of a list a row.
//
// Model: texts are indices into a dictionary, numbers only where a dictionary is small.  A repetition level says where
// a row begins, a definition level whether there is a value.
//
// Format: https://parquet.apache.org/docs/file-format/, pages of version 1
// Threads: one object, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "format/sink.h"
#include "profile/parquet/parquet_fields.h"
#include "profile/parquet/thrift_writer.h"

namespace memprof::profile {

// Bytes that go to a sink, counted.  Failure: throws Error where the sink does not take them.
class ParquetOutput {
 public:
  explicit ParquetOutput(const Sink& to) : to_(to) {}
  void write(std::string_view bytes);
  uint64_t offset() const { return offset_; }

 private:
  Sink to_;
  uint64_t offset_ = 0;
};

// A column of one row group, in the file.
struct ParquetChunk {
  std::string metadata;  // a struct ColumnChunk
  uint64_t offset = 0;
  uint64_t bytes = 0;  // of its pages, unpacked and as they are
  uint64_t packed_bytes = 0;
};

class ParquetLeaf {
 public:
  // `path`: its name in the schema, with those of the groups around it.
  ParquetLeaf(std::vector<std::string> path, parquet::PhysicalType type, bool is_repeated)
      : path_(std::move(path)), type_(type), is_repeated_(is_repeated) {}

  void add_nothing();  // null, or an empty list
  void add(int64_t number, bool begins_row = true);
  void add(std::string_view text, bool begins_row = true);

  size_t rows() const { return rows_; }
  size_t memory_bytes() const;

  // Is empty then.
  ParquetChunk write(ParquetOutput* out);

 private:
  static constexpr uint8_t kHasValue = 1;
  static constexpr uint8_t kBeginsRow = 2;

  // Replaces numbers by indices where that is worth it.
  bool index_numbers(std::vector<int64_t>* dictionary);
  ThriftWriter statistics(const std::vector<int64_t>& dictionary) const;
  void write_pages(bool has_dictionary, size_t distinct, ParquetOutput* out, ParquetChunk* chunk) const;
  std::string levels(size_t begin, size_t end, uint8_t bit) const;

  const std::vector<std::string> path_;
  const parquet::PhysicalType type_;
  const bool is_repeated_;
  size_t rows_ = 0;
  std::vector<uint8_t> levels_;
  std::vector<int64_t> numbers_;
  std::vector<uint32_t> indices_;
  std::deque<std::string> texts_;  // the dictionary
  std::unordered_map<std::string_view, uint32_t> index_of_;
  size_t text_bytes_ = 0;
};

}  // namespace memprof::profile
