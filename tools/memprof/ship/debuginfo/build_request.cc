// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/debuginfo/build_request.h"

namespace memprof::cli {
namespace {

constexpr std::string_view kFolder = "/buildid/";
constexpr size_t kMinIdBytes = 4;
constexpr size_t kMaxIdBytes = 64;
constexpr unsigned kBadRequest = 400;
constexpr unsigned kNotFound = 404;

// Empty: it is none.
std::string parse_build_id(std::string_view text) {
  if (text.size() % 2 != 0 || !is_id_size(text.size())) return "";
  std::string id;
  for (const char c : text) {
    const bool is_upper = c >= 'A' && c <= 'F';
    const bool is_digit = is_upper || (c >= 'a' && c <= 'f') || (c >= '0' && c <= '9');
    if (!is_digit) return "";
    id += is_upper ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return id;
}

}  // namespace

bool is_id_size(size_t digits) {
  return digits >= 2 * kMinIdBytes && digits <= 2 * kMaxIdBytes;
}

bool is_build_path(std::string_view target) {
  return target.substr(0, kFolder.size()) == kFolder;
}

bool parse_build_request(std::string_view target, BuildRequest* request, unsigned* status, std::string* why) {
  *status = kBadRequest;
  *why = "ask for /buildid/ID/debuginfo or /buildid/ID/executable";
  if (!is_build_path(target)) return false;
  target.remove_prefix(kFolder.size());
  const size_t slash = target.find('/');
  if (slash == std::string_view::npos) return false;
  request->build_id = parse_build_id(target.substr(0, slash));
  if (request->build_id.empty()) {
    *why = "a build id is 8 to 128 hexadecimal digits, an even number of them";
    return false;
  }
  const std::string_view part = target.substr(slash + 1);
  if (part == "debuginfo" || part == "executable") {
    request->part = part == "debuginfo" ? BuildPart::kDebuginfo : BuildPart::kExecutable;
    return true;
  }
  *status = kNotFound;
  const bool is_known = part.substr(0, 7) == "source/" || part.substr(0, 8) == "section/";
  if (is_known) *why = "neither sources nor sections are served here, only debuginfo and executable";
  return false;
}

}  // namespace memprof::cli
