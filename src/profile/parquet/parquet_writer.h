// SPDX-License-Identifier: Apache-2.0
// Writes a table as a Parquet file, row by row, in bounded memory: rows wait until a row group is full.
//
// Written is what the readers of every engine know: pages of version 1, plain and dictionary encoding, gzip.  Lists and
// maps have three levels, as LogicalTypes.md has them.  The same rows make the same bytes.
//
// Format: https://github.com/apache/parquet-format
// Threads: one object, one thread.
// Failure: throws Error where the sink does not take the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "format/sink.h"
#include "profile/parquet/parquet_leaf.h"

namespace memprof::profile {

enum class ParquetType : uint8_t {
  kNumber,    // 64 bits, with a sign
  kTime,      // microseconds since 1970, UTC
  kText,      // UTF-8
  kTextList,  // of texts
  kTextMap,   // from texts to texts
};

struct ParquetColumn {
  std::string name;
  ParquetType type = ParquetType::kText;
};

// Of a row group: it is written when it has so many rows, or takes so much memory.
struct ParquetLimits {
  size_t rows = 122'880;  // of DuckDB's own row groups
  size_t bytes = size_t{32} << 20;
};

class ParquetWriter {
 public:
  // `created_by`: as the format wants it, "NAME version 1.2.3".
  ParquetWriter(std::vector<ParquetColumn> columns, const Sink& to, std::string created_by,
                const ParquetLimits& limits = {});

  // A cell of the next row, of the column with this index, at most once.  A cell that is not written is null; a list or
  // a map that is not written is empty.
  void number(size_t column, int64_t value) { leaf(column).add(value); }
  void text(size_t column, std::string_view value) { leaf(column).add(value); }
  void list(size_t column, const std::vector<std::string_view>& values);
  void map(size_t column, const std::map<std::string, std::string>& values);
  void end_row();

  // After the last row.
  void finish();

 private:
  ParquetLeaf& leaf(size_t column) { return leaves_[first_leaf_[column]]; }
  void write_group();
  std::vector<std::string> schema() const;

  const std::vector<ParquetColumn> columns_;
  const std::string created_by_;
  const ParquetLimits limits_;
  ParquetOutput out_;
  std::vector<ParquetLeaf> leaves_;
  std::vector<size_t> first_leaf_;   // of each column
  std::vector<std::string> groups_;  // structs RowGroup
  size_t rows_ = 0;                  // in the group
  uint64_t all_rows_ = 0;
};

}  // namespace memprof::profile
