// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/elf/mini_symbols.h"

#include <lzma.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace memprof::profile {
namespace {

constexpr uint64_t kDecoderBytes = uint64_t{128} << 20;
constexpr size_t kMaxBytes = size_t{1} << 30;

// Empty: the data is damaged, or too large.
std::vector<char> unpack(std::string_view packed) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kDecoderBytes, 0) != LZMA_OK) return {};
  std::vector<char> bytes;
  stream.next_in = reinterpret_cast<const uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  lzma_ret result = LZMA_OK;
  while (result == LZMA_OK && bytes.size() < kMaxBytes) {
    const size_t before = bytes.size();
    bytes.resize(std::max(4 * packed.size(), 2 * before));
    stream.next_out = reinterpret_cast<uint8_t*>(bytes.data()) + before;
    stream.avail_out = bytes.size() - before;
    result = lzma_code(&stream, LZMA_FINISH);
    bytes.resize(bytes.size() - stream.avail_out);
  }
  lzma_end(&stream);
  if (result != LZMA_STREAM_END) bytes.clear();
  return bytes;
}

}  // namespace

std::unique_ptr<ElfFile> open_mini_symbols(const ElfFile& module) {
  const std::string_view packed = module.section(".gnu_debugdata");
  if (packed.empty()) return nullptr;
  std::vector<char> bytes = unpack(packed);
  if (bytes.empty()) return nullptr;
  OpenedFile file;
  file.path = module.path() + " (.gnu_debugdata)";
  file.image = std::make_unique<FileImage>(std::move(bytes));
  return ElfFile::of_file(std::move(file));
}

}  // namespace memprof::profile
