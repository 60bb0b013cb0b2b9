// SPDX-License-Identifier: Apache-2.0
#include "profile/gate/output/github_annotations.h"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <system_error>

#include "profile/gate/output/gate_cells.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {
namespace {

struct Place {
  std::string file;
  int64_t line = 0;
};

// Line breaks stay in messages; a property must not have what ends it either.
std::string escaped(const std::string& text, bool is_property) {
  std::string out;
  for (const char c : text) {
    const std::string_view special = is_property ? "%\r\n:," : "%\r\n";
    if (special.find(c) == std::string_view::npos) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    }
  }
  return out;
}

// Relative to the root where it is a file in there; else empty.
std::string in_repository(const std::string& file, const std::string& root) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path from = fs::weakly_canonical(root, error);
  const fs::path path = fs::weakly_canonical(fs::path(root) / file, error);
  if (error || file.empty() || !fs::is_regular_file(path, error)) return "";
  const fs::path relative = path.lexically_relative(from);
  return relative.empty() || *relative.begin() == ".." ? "" : relative.string();
}

Place place_of(const GateReport& report, const GateResult& result, const std::string& root) {
  for (const GateSite& site : result.sites) {
    if (std::string file = in_repository(site.group.file, root); !file.empty()) {
      return {file, site.group.line};
    }
  }
  std::string limits = in_repository(std::filesystem::absolute(report.path).string(), root);
  return {limits.empty() ? report.path : limits, result.line};
}

std::string command(const char* what, const Place& place, const std::string& title,
                    const std::string& message) {
  std::string out = fmt::format("::{} file={}", what, escaped(printable(place.file), true));
  if (place.line > 0) out += fmt::format(",line={}", place.line);
  return out + fmt::format(",title={}::{}\n", escaped(printable(title), true), escaped(message, false));
}

}  // namespace

std::string github_annotations(const GateReport& report, const std::string& root) {
  std::string out;
  for (const CheckResult& check : report.checks) {
    const std::string name = "memprof check: " + check_title(report, check);
    GateResult at_check;
    at_check.line = check.line;
    const Place place = place_of(report, at_check, root);
    if (check.status.value_or(0) != 0) {
      out += command("error", place, name, "the program failed: " + status_text(*check.status));
    }
    if (!check.error.empty()) out += command("error", place, name, printable(check.error));
    for (const GateResult& result : check.results) {
      if (result.verdict == Verdict::kPass) continue;
      std::string message = printable(limit_title(result) + ": " + result.what);
      for (const GateSite& site : result.sites) message += "\n" + printable(site_text(result, site));
      out += command("error", place_of(report, result, root), name, message);
    }
    for (const std::string& warning : check.warnings) {
      out += command("warning", place, name, printable(warning));
    }
  }
  return out;
}

}  // namespace memprof::profile
