// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/files/debug_link.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>

namespace memprof::profile {

std::optional<DebugLink> parse_debug_link(std::string_view section, bool is_big_endian) {
  // The name, NUL, padding to 4 bytes, checksum.
  const size_t length = std::min(section.find('\0'), section.size());
  const size_t crc_offset = (length + 4) & ~size_t{3};
  if (length == 0 || crc_offset + 4 > section.size()) return std::nullopt;
  DebugLink link;
  link.name.assign(section.substr(0, length));
  if (link.name.find('/') != std::string::npos) return std::nullopt;
  for (unsigned i = 0; i < 4; ++i) {
    const auto byte = static_cast<unsigned char>(section[crc_offset + i]);
    link.crc |= static_cast<uint32_t>(byte) << (8 * (is_big_endian ? 3 - i : i));
  }
  return link;
}

std::vector<std::string> debug_link_candidates(const std::string& path, const DebugLink& link,
                                               const std::string& debug_root) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {};
  const std::string folder = path.substr(0, slash);
  std::vector<std::string> candidates = {folder + "/" + link.name, folder + "/.debug/" + link.name,
                                         debug_root + folder + "/" + link.name};
  candidates.erase(std::remove(candidates.begin(), candidates.end(), path), candidates.end());
  return candidates;
}

std::string debug_path_of_build(const std::string& debug_root, const std::string& build_id) {
  return debug_root + "/.build-id/" + build_id.substr(0, 2) + "/" + build_id.substr(2) + ".debug";
}

uint32_t debug_link_checksum(std::string_view bytes) {
  constexpr size_t kChunk = size_t{1} << 30;  // zlib counts in 32 bits
  uLong sum = crc32(0, nullptr, 0);
  for (size_t at = 0; at < bytes.size(); at += kChunk) {
    sum = crc32(sum, reinterpret_cast<const unsigned char*>(bytes.data()) + at,
                static_cast<uInt>(std::min(kChunk, bytes.size() - at)));
  }
  return static_cast<uint32_t>(sum);
}

}  // namespace memprof::profile
