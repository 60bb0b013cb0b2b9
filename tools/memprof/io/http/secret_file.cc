// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/http/secret_file.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"

namespace memprof::cli {

std::string read_text_file(const std::string& option, const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Failure(option + ": " + path + ": cannot read it: " + error_text(errno));
  constexpr size_t kMaxFileBytes = size_t{1} << 20;
  std::string text(kMaxFileBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

std::string read_secret(const std::string& option, const std::string& path) {
  std::string line = read_text_file(option, path);
  line.erase(std::min(line.find('\n'), line.size()));
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (line.empty()) throw Failure(option + ": " + path + ": is empty");
  const bool is_plain = std::all_of(line.begin(), line.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
  if (!is_plain)
    throw Failure(option + ": " + path + ": has other characters than printable ASCII in its first line");
  return line;
}

}  // namespace memprof::cli
