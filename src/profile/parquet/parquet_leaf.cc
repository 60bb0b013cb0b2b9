// SPDX-License-Identifier: Apache-2.0
#include "profile/parquet/parquet_leaf.h"

#include <algorithm>
#include <utility>

#include "profile/files/gzip.h"
#include "profile/model/error.h"
#include "profile/parquet/run_lengths.h"

namespace memprof::profile {
namespace {

constexpr size_t kPageLevels = 1 << 16;  // a page ends with the row that has the last of them

void append_little_endian(uint64_t number, size_t bytes, std::string* out) {
  for (size_t i = 0; i < bytes; ++i) out->push_back(static_cast<char>(number >> (8 * i)));
}

std::string plain(int64_t number) {
  std::string bytes;
  append_little_endian(static_cast<uint64_t>(number), sizeof(number), &bytes);
  return bytes;
}

// `id`, `of_type`: the part of the header that pages of its type have.
void write_page(parquet::PageType type, const std::string& body, unsigned id, ThriftWriter of_type,
                ParquetOutput* out, ParquetChunk* chunk) {
  const std::string packed = gzip(body);
  ThriftWriter header;
  header.int32(parquet::page_field::kType, type);
  header.int32(parquet::page_field::kBytes, static_cast<int32_t>(body.size()));
  header.int32(parquet::page_field::kPackedBytes, static_cast<int32_t>(packed.size()));
  header.structure(id, std::move(of_type));
  const std::string head = header.take();
  out->write(head);
  out->write(packed);
  chunk->bytes += head.size() + body.size();
  chunk->packed_bytes += head.size() + packed.size();
}

void write_dictionary(const std::string& body, size_t count, ParquetOutput* out, ParquetChunk* chunk) {
  ThriftWriter page;
  page.int32(parquet::dictionary_page_field::kValues, static_cast<int32_t>(count));
  page.int32(parquet::dictionary_page_field::kEncoding, parquet::kPlain);
  write_page(parquet::kDictionaryPage, body, parquet::page_field::kDictionaryPage, std::move(page), out,
             chunk);
}

}  // namespace

void ParquetOutput::write(std::string_view bytes) {
  if (!to_.write(to_.context, bytes.data(), bytes.size())) throw Error("the output takes no more");
  offset_ += bytes.size();
}

void ParquetLeaf::add_nothing() {
  levels_.push_back(kBeginsRow);
  ++rows_;
}

void ParquetLeaf::add(int64_t number, bool begins_row) {
  levels_.push_back(begins_row ? kBeginsRow | kHasValue : kHasValue);
  rows_ += begins_row ? 1 : 0;
  numbers_.push_back(number);
}

void ParquetLeaf::add(std::string_view text, bool begins_row) {
  levels_.push_back(begins_row ? kBeginsRow | kHasValue : kHasValue);
  rows_ += begins_row ? 1 : 0;
  const auto known = index_of_.find(text);
  if (known != index_of_.end()) {
    indices_.push_back(known->second);
    return;
  }
  const auto index = static_cast<uint32_t>(texts_.size());
  texts_.emplace_back(text);
  index_of_.emplace(texts_.back(), index);
  indices_.push_back(index);
  text_bytes_ += text.size();
}

size_t ParquetLeaf::memory_bytes() const {
  constexpr size_t kText = 128;  // of the text and its place in the map, about
  return levels_.size() + numbers_.size() * sizeof(int64_t) + indices_.size() * sizeof(uint32_t) +
         texts_.size() * kText + text_bytes_;
}

bool ParquetLeaf::index_numbers(std::vector<int64_t>* dictionary) {
  constexpr size_t kShare = 4;  // each number is there so often, on average
  const size_t max = std::min(numbers_.size() / kShare, kPageLevels);
  std::unordered_map<int64_t, uint32_t> known;
  for (const int64_t number : numbers_) {
    const auto [place, is_new] = known.emplace(number, static_cast<uint32_t>(known.size()));
    if (is_new) dictionary->push_back(number);
    if (known.size() > max) break;
    indices_.push_back(place->second);
  }
  if (!numbers_.empty() && known.size() <= max) return true;
  indices_.clear();
  dictionary->clear();
  return false;
}

// Without the extremes of texts that are long; of lists none.
ThriftWriter ParquetLeaf::statistics(const std::vector<int64_t>& dictionary) const {
  constexpr size_t kMaxText = 64;
  ThriftWriter statistics;
  const size_t values = type_ == parquet::kInt64 ? numbers_.size() : indices_.size();
  statistics.int64(parquet::statistics_field::kNulls, static_cast<int64_t>(levels_.size() - values));
  std::pair<std::string, std::string> extremes;
  if (type_ == parquet::kInt64) {
    const std::vector<int64_t>& numbers = dictionary.empty() ? numbers_ : dictionary;
    if (numbers.empty()) return statistics;
    const auto [min, max] = std::minmax_element(numbers.begin(), numbers.end());
    extremes = {plain(*min), plain(*max)};
  } else {
    if (texts_.empty()) return statistics;
    const auto [min, max] = std::minmax_element(texts_.begin(), texts_.end());
    if (min->size() > kMaxText || max->size() > kMaxText) return statistics;
    extremes = {*min, *max};
  }
  statistics.text(parquet::statistics_field::kMax, extremes.second);
  statistics.text(parquet::statistics_field::kMin, extremes.first);
  return statistics;
}

// One of the levels, of a slice; their size comes first.
std::string ParquetLeaf::levels(size_t begin, size_t end, uint8_t bit) const {
  std::vector<uint32_t> numbers;
  // A repetition level is 0 where a row begins.
  for (size_t i = begin; i < end; ++i) {
    const bool is_set = (levels_[i] & bit) != 0;
    numbers.push_back(is_set == (bit == kHasValue) ? 1 : 0);
  }
  const std::string runs = run_lengths(numbers.data(), numbers.size(), 1);
  std::string out;
  append_little_endian(runs.size(), sizeof(uint32_t), &out);
  return out + runs;
}

void ParquetLeaf::write_pages(bool has_dictionary, size_t distinct, ParquetOutput* out,
                              ParquetChunk* chunk) const {
  // Whole bytes, so that gzip sees what repeats: stacks do with each look.
  constexpr unsigned kByte = 8;
  const unsigned width =
      (bit_width(distinct == 0 ? 0 : static_cast<uint32_t>(distinct - 1)) + kByte - 1) / kByte * kByte;
  size_t value = 0;
  for (size_t begin = 0; begin < levels_.size();) {
    size_t end = std::min(begin + kPageLevels, levels_.size());
    while (end < levels_.size() && (levels_[end] & kBeginsRow) == 0) ++end;
    std::string body = is_repeated_ ? levels(begin, end, kBeginsRow) : "";
    body += levels(begin, end, kHasValue);
    const auto values = static_cast<size_t>(std::count_if(
        levels_.begin() + static_cast<ptrdiff_t>(begin), levels_.begin() + static_cast<ptrdiff_t>(end),
        [](uint8_t level) { return (level & kHasValue) != 0; }));
    if (has_dictionary) {
      body.push_back(static_cast<char>(width));
      body += run_lengths(indices_.data() + value, values, width);
    } else {
      for (size_t i = value; i < value + values; ++i) {
        append_little_endian(static_cast<uint64_t>(numbers_[i]), sizeof(int64_t), &body);
      }
    }
    value += values;
    ThriftWriter page;
    page.int32(parquet::data_page_field::kValues, static_cast<int32_t>(end - begin));
    page.int32(parquet::data_page_field::kEncoding, has_dictionary ? parquet::kDictionary : parquet::kPlain);
    page.int32(parquet::data_page_field::kDefinitionEncoding, parquet::kRunLengths);
    page.int32(parquet::data_page_field::kRepetitionEncoding, parquet::kRunLengths);
    write_page(parquet::kDataPage, body, parquet::page_field::kDataPage, std::move(page), out, chunk);
    begin = end;
  }
}

ParquetChunk ParquetLeaf::write(ParquetOutput* out) {
  ParquetChunk chunk;
  chunk.offset = out->offset();
  std::vector<int64_t> numbers;
  std::string body;
  size_t distinct = 0;
  if (type_ == parquet::kInt64) {
    distinct = index_numbers(&numbers) ? numbers.size() : 0;
    for (const int64_t number : numbers) body += plain(number);
  } else {
    distinct = texts_.size();
    for (const std::string& text : texts_) {
      append_little_endian(text.size(), sizeof(uint32_t), &body);
      body += text;
    }
  }
  const bool has_dictionary = distinct != 0;
  if (has_dictionary) write_dictionary(body, distinct, out, &chunk);
  const uint64_t data_offset = out->offset();
  write_pages(has_dictionary, distinct, out, &chunk);
  ThriftWriter column;
  column.int32(parquet::column_field::kType, type_);
  std::vector<int32_t> encodings = {parquet::kPlain, parquet::kRunLengths};
  if (has_dictionary) encodings.push_back(parquet::kDictionary);
  column.int32_list(parquet::column_field::kEncodings, encodings);
  column.text_list(parquet::column_field::kPath, path_);
  column.int32(parquet::column_field::kCodec, parquet::kGzip);
  column.int64(parquet::column_field::kValues, static_cast<int64_t>(levels_.size()));
  column.int64(parquet::column_field::kBytes, static_cast<int64_t>(chunk.bytes));
  column.int64(parquet::column_field::kPackedBytes, static_cast<int64_t>(chunk.packed_bytes));
  column.int64(parquet::column_field::kDataPageOffset, static_cast<int64_t>(data_offset));
  if (has_dictionary)
    column.int64(parquet::column_field::kDictionaryPageOffset, static_cast<int64_t>(chunk.offset));
  if (!is_repeated_) column.structure(parquet::column_field::kStatistics, statistics(numbers));
  ThriftWriter metadata;
  metadata.int64(parquet::chunk_field::kFileOffset, 0);  // the metadata is in the footer only
  metadata.structure(parquet::chunk_field::kMetadata, std::move(column));
  chunk.metadata = metadata.take();
  rows_ = 0;
  levels_.clear();
  numbers_.clear();
  indices_.clear();
  index_of_.clear();
  texts_.clear();
  text_bytes_ = 0;
  return chunk;
}

}  // namespace memprof::profile
