// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/profile_format.h"

#include <sys/stat.h>

#include <string_view>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

struct FormatName {
  const char* name;
  ExportFormat format;
};

// A longer end stands before the shorter one that it ends in.
constexpr FormatName kEnds[] = {{".pb.gz", ExportFormat::kPprofGzip},
                                {".pprof", ExportFormat::kPprofGzip},
                                {".pb", ExportFormat::kPprof},
                                {".speedscope.json", ExportFormat::kSpeedscope},
                                {".collapsed", ExportFormat::kCollapsed},
                                {".json", ExportFormat::kJson},
                                {".html", ExportFormat::kPage}};

constexpr FormatName kNames[] = {{"pprof", ExportFormat::kPprofGzip},
                                 {"pb.gz", ExportFormat::kPprofGzip},
                                 {"pb", ExportFormat::kPprof},
                                 {"speedscope", ExportFormat::kSpeedscope},
                                 {"speedscope.json", ExportFormat::kSpeedscope},
                                 {"collapsed", ExportFormat::kCollapsed},
                                 {"json", ExportFormat::kJson},
                                 {"html", ExportFormat::kPage}};

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

std::optional<ExportFormat> format_of_path(const std::string& path) {
  const std::string name = file_name(path);
  for (const FormatName& end : kEnds) {
    const std::string_view text = end.name;
    if (name.size() >= text.size() && name.compare(name.size() - text.size(), text.size(), text) == 0) {
      return end.format;
    }
  }
  return std::nullopt;
}

std::optional<ExportFormat> format_from_name(const std::string& name) {
  for (const FormatName& known : kNames) {
    if (name == known.name) return known.format;
  }
  return std::nullopt;
}

void check_pprof_name(const std::string& command, const std::string& path) {
  const auto format = format_of_path(path);
  if (format == ExportFormat::kPprofGzip || format == ExportFormat::kPprof) return;
  struct stat status{};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return;
  const bool is_exported = format.has_value();
  throw Failure(path + ": " + command + " writes pprof, and its name ends in .pb.gz or .pb" +
                (is_exported ? "; `memprof export` makes this of it" : ""));
}

}  // namespace memprof::cli
