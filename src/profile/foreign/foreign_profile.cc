// SPDX-License-Identifier: Apache-2.0
#include "profile/foreign/foreign_profile.h"

#include <fmt/format.h>

#include <fstream>

#include "profile/foreign/heap_text.h"
#include "profile/foreign/v8_heap.h"
#include "profile/model/error.h"

namespace memprof::profile {
namespace {

constexpr size_t kBeginning = 64;
constexpr size_t kMaxBytes = size_t{1} << 30;

}  // namespace

std::optional<Profile> read_foreign(std::string_view data, const std::string& name) {
  const std::string_view begin = data.substr(0, kBeginning);
  if (is_heap_text(begin)) return read_heap_text(data, name);
  if (is_v8_heap(begin)) return read_v8_heap(data, name);
  return std::nullopt;
}

std::optional<Profile> read_foreign_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string data(kBeginning, '\0');
  file.read(data.data(), static_cast<std::streamsize>(data.size()));
  data.resize(static_cast<size_t>(file.gcount()));
  if (!is_heap_text(data) && !is_v8_heap(data)) return std::nullopt;
  std::string piece(size_t{1} << 20, '\0');
  while (file) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    data.append(piece, 0, static_cast<size_t>(file.gcount()));
    if (data.size() > kMaxBytes) throw Error(fmt::format("{}: larger than {} bytes", path, kMaxBytes));
  }
  return read_foreign(data, path);
}

}  // namespace memprof::profile
