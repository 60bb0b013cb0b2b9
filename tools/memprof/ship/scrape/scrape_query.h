// SPDX-License-Identifier: Apache-2.0
// What a scraper asks for: a path, and parameters.
//
// Threads: plain values.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

namespace memprof::cli {

inline constexpr unsigned kHttpBadRequest = 400;
inline constexpr unsigned kHttpNotFound = 404;
inline constexpr unsigned kHttpUnavailable = 503;

// An answer that is not what was asked for.
class ScrapeRefusal : public std::runtime_error {
 public:
  ScrapeRefusal(unsigned status, const std::string& text) : std::runtime_error(text), status_(status) {}
  unsigned status() const { return status_; }  // of HTTP

 private:
  unsigned status_;
};

struct ScrapeQuery {
  std::string path;
  std::map<std::string, std::string> parameters;
};

// "/debug/pprof/heap?pid=12".  Throws ScrapeRefusal where it is none, or has a parameter twice.
ScrapeQuery parse_scrape_query(std::string_view target);

// For a URL: all but letters, digits and "-._~" as %XX.
std::string percent_encoded(const std::string& text);

}  // namespace memprof::cli
