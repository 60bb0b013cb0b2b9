// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pdb/type_records.h"

#include <algorithm>

#include "profile/symbolize/files/binary_values.h"

namespace memprof::profile {
namespace {

constexpr uint32_t kTypeStream = 2;
constexpr uint32_t kIdStream = 4;
constexpr uint32_t kTypesHeaderBytes = 56;
constexpr uint32_t kMaxWalk = 4096;   // records from the beginning of a chunk; one of 8 KiB has 2,048
constexpr uint32_t kOwnChunk = 1024;  // records, of an index that was made here

enum Leaf : uint16_t {
  kClass = 0x1504,
  kStruct = 0x1505,
  kUnion = 0x1506,
  kEnum = 0x1507,
  kInterface = 0x1519,
  kFunctionId = 0x1601,
  kMemberFunctionId = 0x1602,
  kStringId = 0x1605,
};

// Of a number whose first two bytes are its value or its type.
size_t number_bytes(std::string_view data, size_t at) {
  const uint16_t leaf = u16(data, at);
  if (leaf < 0x8000) return 2;
  switch (leaf) {
    case 0x8000:  // of 1 byte
      return 3;
    case 0x8001:  // of 2
    case 0x8002:
      return 4;
    case 0x8003:  // of 4
    case 0x8004:
      return 6;
    default:  // of 8
      return 10;
  }
}

}  // namespace

TypeRecords::TypeRecords(const MsfFile& file, uint32_t stream) : stream_(file.stream(stream)) {
  std::string buffer;
  const std::string_view header = stream_.bytes(0, kTypesHeaderBytes, &buffer);
  records_at_ = u32(header, 4);
  begin_ = u32(header, 8);
  end_ = std::max(begin_, u32(header, 12));
  records_end_ = std::min<uint64_t>(records_at_ + u32(header, 16), stream_.size());
  if (!header.empty()) read_index(file, header);
  if (chunks_.empty()) walk_all();
}

void TypeRecords::read_index(const MsfFile& file, std::string_view header) {
  constexpr size_t kChunkBytes = 8;
  constexpr uint32_t kNone = 0xffff;
  const uint32_t hash_stream = u16(header, 20);
  if (hash_stream == kNone) return;
  std::string buffer;
  const MsfStream hashes = file.stream(hash_stream);
  const std::string_view index = hashes.bytes(u32(header, 40), u32(header, 44), &buffer);
  for (size_t at = 0; at + kChunkBytes <= index.size(); at += kChunkBytes) {
    chunks_.push_back({u32(index, at), u32(index, at + 4)});
  }
  const auto by_id = [](const Chunk& a, const Chunk& b) { return a.first < b.first; };
  std::sort(chunks_.begin(), chunks_.end(), by_id);
}

// 0: no record begins there.
uint32_t TypeRecords::size_at(uint64_t offset) const {
  std::string buffer;
  if (offset + 4 > records_end_) return 0;
  const uint32_t size = u16(stream_.bytes(offset, 2, &buffer), 0);
  return size >= 2 && offset + 2 + size <= records_end_ ? size : 0;
}

void TypeRecords::walk_all() {
  uint64_t at = records_at_;
  for (uint32_t id = begin_; id < end_; ++id) {
    const uint32_t size = size_at(at);
    if (size == 0) return;
    if ((id - begin_) % kOwnChunk == 0) chunks_.push_back({id, static_cast<uint32_t>(at - records_at_)});
    at += 2 + size;
  }
}

bool TypeRecords::find(uint32_t id, Record* record) const {
  if (id < begin_ || id >= end_) return false;
  const auto above = std::upper_bound(chunks_.begin(), chunks_.end(), id,
                                      [](uint32_t i, const Chunk& chunk) { return i < chunk.first; });
  if (above == chunks_.begin()) return false;
  const Chunk& chunk = *(above - 1);
  if (id - chunk.first > kMaxWalk) return false;
  uint64_t at = records_at_ + chunk.offset;
  for (uint32_t i = chunk.first; i < id; ++i) {
    const uint32_t size = size_at(at);
    if (size == 0) return false;
    at += 2 + size;
  }
  const uint32_t size = size_at(at);
  if (size == 0) return false;
  std::string buffer;
  const std::string_view bytes = stream_.bytes(at + 2, size, &buffer);
  record->kind = u16(bytes, 0);
  record->data.assign(bytes.substr(std::min<size_t>(2, bytes.size())));
  return true;
}

FunctionIds::FunctionIds(const MsfFile& file) : types_(file, kTypeStream), ids_(file, kIdStream) {}

const std::string& FunctionIds::name_of(uint32_t id) {
  const auto [place, is_new] = names_.emplace(id, std::string());
  if (is_new) place->second = read_name(id);
  return place->second;
}

std::string FunctionIds::read_name(uint32_t id) const {
  TypeRecords::Record function;
  if (!ids_.find(id, &function)) return {};
  const bool is_member = function.kind == kMemberFunctionId;
  if (!is_member && function.kind != kFunctionId) return {};
  const uint32_t parent = u32(function.data, 0);
  const std::string name(text_at(function.data, 8));
  std::string around;
  TypeRecords::Record scope;
  if (is_member) {
    around = class_name(parent);
  } else if (parent != 0 && ids_.find(parent, &scope) && scope.kind == kStringId) {
    around = text_at(scope.data, 4);
  }
  return around.empty() || name.empty() ? name : around + "::" + name;
}

std::string FunctionIds::class_name(uint32_t type) const {
  TypeRecords::Record record;
  if (!types_.find(type, &record)) return {};
  switch (record.kind) {
    case kClass:
    case kStruct:
    case kInterface:
      return std::string(text_at(record.data, 16 + number_bytes(record.data, 16)));
    case kUnion:
      return std::string(text_at(record.data, 8 + number_bytes(record.data, 8)));
    case kEnum:
      return std::string(text_at(record.data, 12));
    default:
      return {};
  }
}

}  // namespace memprof::profile
