// SPDX-License-Identifier: Apache-2.0
// Numbers of the metadata of Parquet files: of the fields that are written, and of what they mean.
//
// Format: https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
#pragma once

#include <cstdint>

namespace memprof::profile::parquet {

// At the beginning and at the end of a file.
inline constexpr char kMagic[] = "PAR1";

namespace file_field {
enum : unsigned { kVersion = 1, kSchema = 2, kRows = 3, kRowGroups = 4, kCreatedBy = 6, kColumnOrders = 7 };
}
namespace schema_field {
enum : unsigned {
  kType = 1,
  kRepetition = 3,
  kName = 4,
  kChildren = 5,
  kConvertedType = 6,
  kLogicalType = 10
};
}
// Unions: one of the fields is there.
namespace logical_field {
enum : unsigned { kString = 1, kMap = 2, kList = 3, kTimestamp = 8 };
}
namespace timestamp_field {
enum : unsigned { kIsUtc = 1, kUnit = 2 };
}
namespace unit_field {
enum : unsigned { kMicroseconds = 2 };
}
namespace order_field {
enum : unsigned { kByType = 1 };
}
namespace group_field {
enum : unsigned { kColumns = 1, kBytes = 2, kRows = 3, kFileOffset = 5, kPackedBytes = 6 };
}
namespace chunk_field {
enum : unsigned { kFileOffset = 2, kMetadata = 3 };
}
namespace column_field {
enum : unsigned {
  kType = 1,
  kEncodings = 2,
  kPath = 3,
  kCodec = 4,
  kValues = 5,
  kBytes = 6,
  kPackedBytes = 7,
  kDataPageOffset = 9,
  kDictionaryPageOffset = 11,
  kStatistics = 12,
};
}
namespace statistics_field {
enum : unsigned { kNulls = 3, kMax = 5, kMin = 6 };
}
namespace page_field {
enum : unsigned { kType = 1, kBytes = 2, kPackedBytes = 3, kDataPage = 5, kDictionaryPage = 7 };
}
namespace data_page_field {
enum : unsigned { kValues = 1, kEncoding = 2, kDefinitionEncoding = 3, kRepetitionEncoding = 4 };
}
namespace dictionary_page_field {
enum : unsigned { kValues = 1, kEncoding = 2 };
}

enum PhysicalType : int32_t { kInt64 = 2, kByteArray = 6 };
enum Repetition : int32_t { kRequired = 0, kOptional = 1, kRepeated = 2 };
// What readers older than logical types know.
enum ConvertedType : int32_t { kUtf8 = 0, kMap = 1, kList = 3, kTimestampMicroseconds = 10 };
enum Encoding : int32_t { kPlain = 0, kRunLengths = 3, kDictionary = 8 };
enum Codec : int32_t { kGzip = 2 };
enum PageType : int32_t { kDataPage = 0, kDictionaryPage = 2 };

}  // namespace memprof::profile::parquet
