// SPDX-License-Identifier: Apache-2.0
#include "profile/text/bar.h"

#include <algorithm>
#include <cmath>

#include "profile/names/short_name.h"

namespace memprof::profile {

std::string share_bar(double share, size_t width, bool has_utf8) {
  static constexpr const char* kEighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double size = std::isfinite(share) ? std::min(std::abs(share), 1.0) : 0;
  if (size == 0 || width == 0) return "";
  if (!has_utf8) {
    const double columns = std::round(size * static_cast<double>(width));
    return std::string(std::max<size_t>(static_cast<size_t>(columns), 1), '#');
  }
  const double eighths = std::round(size * static_cast<double>(width) * 8);
  const size_t count = std::max<size_t>(static_cast<size_t>(eighths), 1);
  std::string bar;
  for (size_t i = 0; i < count / 8; ++i) bar += "█";
  return bar + kEighths[count % 8];
}

std::string bar_cell(double share, bool has_utf8) {
  constexpr size_t kWidth = 10;
  const std::string bar = share_bar(share, kWidth, has_utf8);
  return bar + std::string(kWidth - text_width(bar), ' ');
}

}  // namespace memprof::profile
