// SPDX-License-Identifier: Apache-2.0
#include "memprof/serve/host_names.h"

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <optional>

namespace memprof::cli {
namespace {

namespace ip = boost::asio::ip;

std::string in_small_letters(std::string text) {
  for (char& letter : text) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return text;
}

bool is_port(const std::string& text) {
  unsigned port = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, port);
  return parsed.ec == std::errc() && parsed.ptr == end && port > 0 && port <= 65535;
}

// Without the port.  Nothing: it is no host.
std::optional<std::string> name_of(const std::string& host) {
  const size_t bracket = host.rfind(']');
  const size_t colon = host.find(':', bracket == std::string::npos ? 0 : bracket);
  if (colon != std::string::npos && !is_port(host.substr(colon + 1))) return std::nullopt;
  std::string name = in_small_letters(host.substr(0, colon));
  if (name.empty()) return std::nullopt;
  if (name.back() == '.') name.pop_back();  // the same name, as a whole one
  return name;
}

std::optional<ip::address> number_of(const std::string& name) {
  boost::system::error_code error;
  if (!name.empty() && name.front() == '[') {
    if (name.back() != ']') return std::nullopt;
    const ip::address_v6 number = ip::make_address_v6(name.substr(1, name.size() - 2), error);
    return error ? std::nullopt : std::optional<ip::address>(number);
  }
  const ip::address_v4 number = ip::make_address_v4(name, error);
  return error ? std::nullopt : std::optional<ip::address>(number);
}

std::string as_host(const ip::address& address) {
  return address.is_v6() ? "[" + address.to_string() + "]" : address.to_string();
}

}  // namespace

HostNames::HostNames(const std::string& address, const std::string& machine) : address_(address) {
  const ip::address number = ip::make_address(address);
  is_local_ = number.is_loopback();
  names_ = {"localhost"};
  if (!is_local_ && !machine.empty()) names_.push_back(in_small_letters(machine));
  shown_ = number.is_unspecified() && !machine.empty() ? machine : as_host(number);
}

bool HostNames::are_named_by(const std::string& host) const {
  const auto name = name_of(host);
  if (!name) return false;
  if (std::find(names_.begin(), names_.end(), *name) != names_.end()) return true;
  const auto number = number_of(*name);
  return number && (!is_local_ || *number == ip::make_address(address_));
}

}  // namespace memprof::cli
