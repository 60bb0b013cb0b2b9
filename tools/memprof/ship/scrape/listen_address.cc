// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/scrape/listen_address.h"

#include <charconv>
#include <cstddef>
#include <system_error>

#include "memprof/console/failure.h"

namespace memprof::cli {

HttpAddress parse_listen_address(const std::string& text) {
  HttpAddress address;
  const size_t colon = text.rfind(':');
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  const char* const end = port.data() + port.size();
  const auto parsed = std::from_chars(port.data(), end, address.port);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    throw Failure(
        "--listen: '" + text +
        "' has no port from 0 to 65535 at its end; give one like 4041, 10.0.0.7:4041 or [::1]:4041");
  }
  if (colon == std::string::npos) return address;
  std::string host = text.substr(0, colon);
  if (host.empty()) {
    throw Failure("--listen: '" + text + "' has no address; give " + port +
                  " for this machine alone, or 0.0.0.0:" + port + " for all who reach it");
  }
  const bool has_brackets = host.front() == '[' && host.back() == ']';
  if (has_brackets) host = host.substr(1, host.size() - 2);
  if (!has_brackets && host.find(':') != std::string::npos) {
    throw Failure("--listen: '" + text + "': give an IPv6 address in brackets, as [::1]:4041");
  }
  address.address = host == "localhost" ? "127.0.0.1" : host;
  return address;
}

}  // namespace memprof::cli
