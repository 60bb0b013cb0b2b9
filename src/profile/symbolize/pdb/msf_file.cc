// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pdb/msf_file.h"

#include <algorithm>

#include "profile/symbolize/files/binary_values.h"

namespace memprof::profile {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kMagic =
    "Microsoft C/C++ MSF 7.00\r\n\x1a"
    "DS\0\0\0"sv;
constexpr size_t kFirstBlockBytes = 56;
constexpr uint32_t kMinBlockBytes = 512;
constexpr uint32_t kMaxBlockBytes = 65536;
constexpr uint32_t kDeletedStream = 0xffffffff;  // as a size: it was deleted

std::string refusal_of(std::string_view bytes) {
  if (bytes.substr(0, 4) == "BSJB") return "a portable PDB, which .NET has, and not one of native code";
  if (bytes.substr(0, 14) == "Microsoft MSFZ") return "a compressed PDB (MSFZ), which is not read";
  if (bytes.substr(0, 16) == "Microsoft C/C++ ") return "a PDB of an older format than MSF 7.00";
  return "not a PDB";
}

}  // namespace

std::unique_ptr<MsfFile> MsfFile::of_bytes(std::string_view bytes, std::string* why) {
  if (bytes.size() < kFirstBlockBytes || bytes.substr(0, kMagic.size()) != kMagic) {
    *why = refusal_of(bytes);
    return nullptr;
  }
  const uint32_t block_bytes = u32(bytes, 32);
  const bool is_power = (block_bytes & (block_bytes - 1)) == 0;
  if (is_power && block_bytes >= kMinBlockBytes && block_bytes <= kMaxBlockBytes) {
    std::unique_ptr<MsfFile> file(new MsfFile(bytes, block_bytes));
    if (file->read_directory()) return file;
  }
  *why = "a damaged PDB: its directory is not inside of the file";
  return nullptr;
}

bool MsfFile::read_directory() {
  const uint64_t size = u32(bytes_, 44);
  const std::string_view blocks = part(bytes_, uint64_t{u32(bytes_, 52)} * block_bytes_, blocks_of(size) * 4);
  if (size > bytes_.size() || blocks.empty()) return false;
  directory_ = gather(blocks, 0, size, &copy_);
  const uint64_t count = u32(directory_, 0);
  uint64_t blocks_at = 4 + count * 4;
  if (directory_.size() < 4 || blocks_at > directory_.size()) return false;
  uint64_t total = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t stream_bytes = u32(directory_, 4 + i * 4);
    streams_.push_back({stream_bytes == kDeletedStream ? 0 : stream_bytes, blocks_at});
    total += streams_.back().size;
    blocks_at += blocks_of(streams_.back().size) * 4;
    if (blocks_at > directory_.size() || total > bytes_.size()) return false;
  }
  return true;
}

MsfStream MsfFile::stream(uint32_t index) const {
  if (index >= streams_.size()) return {};
  return {this, streams_[index].size, streams_[index].blocks_at};
}

std::string_view MsfFile::gather(std::string_view blocks, uint64_t offset, uint64_t size,
                                 std::string* buffer) const {
  if (size == 0) return {};
  const uint64_t first = offset / block_bytes_;
  const uint64_t last = (offset + size - 1) / block_bytes_;
  const uint64_t begin = uint64_t{u32(blocks, first * 4)} * block_bytes_ + offset % block_bytes_;
  uint64_t next = first + 1;
  while (next <= last && u32(blocks, next * 4) == u32(blocks, (next - 1) * 4) + uint64_t{1}) ++next;
  if (next > last) return part(bytes_, begin, size);
  buffer->clear();
  buffer->reserve(size);
  for (uint64_t at = offset; at < offset + size;) {
    const uint64_t inside = at % block_bytes_;
    const uint64_t take = std::min<uint64_t>(block_bytes_ - inside, offset + size - at);
    const uint64_t where = uint64_t{u32(blocks, at / block_bytes_ * 4)} * block_bytes_ + inside;
    const std::string_view piece = part(bytes_, where, take);
    if (piece.empty()) return {};
    buffer->append(piece);
    at += take;
  }
  return *buffer;
}

std::string_view MsfStream::bytes(uint64_t offset, uint64_t size, std::string* buffer) const {
  if (file_ == nullptr || offset > size_ || size > size_ - offset) return {};
  const std::string_view blocks = part(file_->directory_, blocks_at_, file_->blocks_of(size_) * 4);
  return file_->gather(blocks, offset, size, buffer);
}

}  // namespace memprof::profile
