// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/profile_input.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/host/process/process_number.h"
#include "memprof/io/arena_profile.h"
#include "memprof/io/http/profile_url.h"
#include "memprof/io/names/own_names.h"
#include "memprof/io/pyroscope/pyroscope_profile.h"
#include "memprof/io/pyroscope/pyroscope_query.h"
#include "profile/model/metric.h"
#include "profile/pprof/input/any_profile.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/series/series_choice.h"
#include "profile/series/series_file.h"
#include "profile/series/series_moment.h"
#include "profile/symbolize/cache/name_cache.h"
#include "profile/symbolize/debuginfod.h"
#include "profile/symbolize/symbolizer.h"
#include "profile/text/text_writer.h"
#include "profile/text/units.h"
#include "profile/view/origin.h"

namespace memprof::cli {
namespace {

constexpr size_t kMaxWarnings = 5;

// On a terminal a line that is written over; elsewhere one line when a file takes its time.
class Progress {
 public:
  void operator()(const std::string& path, uint64_t bytes, uint64_t total, bool is_over) {
    if (isatty(STDERR_FILENO) != 1) {
      if (path != said_) complain("debuginfod: waiting for the debug file of " + path);
      said_ = path;
      return;
    }
    std::string line = "\r\x1b[K";
    if (!is_over) {
      line += "memprof: debuginfod: " + profile::printable(path.substr(path.rfind('/') + 1));
      line += ": " + profile::format_bytes(static_cast<double>(bytes));
      if (total != 0) line += " of " + profile::format_bytes(static_cast<double>(total));
    }
    // Nothing hangs on it.
    static_cast<void>(!::write(STDERR_FILENO, line.data(), line.size()));
  }

 private:
  std::string said_;
};

// Calls `symbolize` with the options, and says what it warns of.
template <typename Symbolize>
void symbolize_with(AskServers ask_servers, const Symbolize& symbolize) {
  profile::DebuginfodOptions debuginfod_options;
  debuginfod_options.progress = Progress();
  profile::Debuginfod debuginfod(debuginfod_options);
  profile::SymbolizeOptions options;
  if (ask_servers == AskServers::kYes) options.debuginfod = &debuginfod;
  options.cache = own_names();
  const profile::SymbolizeSummary summary = symbolize(options);
  if (options.cache != nullptr) options.cache->save_if_due();
  if (!debuginfod.warning().empty()) complain("warning: " + debuginfod.warning());
  for (size_t i = 0; i < summary.warnings.size() && i < kMaxWarnings; ++i) {
    complain("warning: " + summary.warnings[i]);
  }
  if (summary.warnings.size() > kMaxWarnings) {
    complain("warning: no names for " + std::to_string(summary.warnings.size() - kMaxWarnings) +
             " more files, for reasons like these");
  }
}

// A link that the user names is meant; read_arena refuses those that were found.
std::string without_links(const std::string& path) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? path : real.string();
}

constexpr char kMomentSign = '@';

// Nothing: `path` names no series.
std::optional<profile::Profile> look_of_series(const std::string& path) {
  std::string file = path;
  std::string moment = "last";
  std::error_code missing;
  if (!std::filesystem::exists(path, missing)) {
    const size_t sign = path.rfind(kMomentSign);
    if (sign == std::string::npos) return std::nullopt;
    file = path.substr(0, sign);
    moment = path.substr(sign + 1);
  }
  if (!profile::is_series(file)) return std::nullopt;
  profile::SeriesReader reader(file);
  const profile::SeriesLook& look = profile::look_at(reader.series(), moment, file);
  complain("note: " + file + ": the look of " + profile::time_text(look.time_unix_ns));
  return reader.profile_of(look);
}

}  // namespace

void add_names(profile::Profile& profile, AskServers ask_servers) {
  symbolize_with(ask_servers, [&](const profile::SymbolizeOptions& options) {
    return profile::Symbolizer().symbolize(profile, options);
  });
}

void add_names(profile::SharedNames& names, AskServers ask_servers) {
  symbolize_with(ask_servers,
                 [&](const profile::SymbolizeOptions& options) { return names.resolve(options); });
}

void add_jit_names(profile::Profile& profile, const std::string& folder) {
  profile::SymbolizeOptions options;
  if (!folder.empty()) options.jit_folders = {folder};
  options.use_files = false;
  static_cast<void>(profile::Symbolizer().symbolize(profile, options));
}

std::string look_of_file(const std::string& option, const std::string& path, const std::string& moment) {
  std::error_code missing;
  if (!std::filesystem::exists(path, missing)) {
    throw Failure(path + ": cannot read it: " + error_text(missing ? missing.value() : ENOENT));
  }
  if (!profile::is_series(path)) {
    throw Failure(option + ": " + path + " is no series; `memprof live PID --record FILE.series` makes one");
  }
  return path + kMomentSign + moment;
}

SeriesLooks::SeriesLooks(const std::string& path, AskServers ask_servers)
    : reader_(path),
      choice_(profile::choose_looks(reader_.series(), kMax, path)),
      ask_servers_(ask_servers) {}

profile::Profile SeriesLooks::look(size_t index) {
  profile::Profile profile = reader_.profile_of(*choice_.looks.at(index));
  add_names(profile, ask_servers_);
  return profile;
}

namespace {

// A pipe has each byte once.
profile::Profile read_standard_input(const profile::ReadOptions& options) {
  static bool was_read = false;
  if (std::exchange(was_read, true)) {
    throw Failure("-: standard input can be read once; give one of the profiles as a file");
  }
  return profile::read_any_from(STDIN_FILENO, "standard input", options);
}

profile::Profile of_pyroscope(const std::string& address, const std::string& sample_type,
                              const HttpAccess& access) {
  if (!sample_type.empty()) {
    throw Failure("--sample-type: a Pyroscope is asked for all metrics of memory; leave it out");
  }
  return read_pyroscope(address, access);
}

// `sample_type`, `access`: as load_profile() has them.
profile::Profile read_with(const std::string& path, const std::string& sample_type,
                           const HttpAccess& access) {
  profile::ReadOptions options;
  options.sample_type = sample_type;
  if (path == "-") return read_standard_input(options);
  if (is_pyroscope_query(path)) return of_pyroscope(path, sample_type, access);
  if (is_profile_url(path)) return profile::read_any(fetch_profile(path, access), path, options);
  if (sample_type.empty()) {
    if (auto look = look_of_series(path)) return std::move(*look);
    if (is_arena_path(path)) {
      return profile::read_pprof(read_arena(without_links(path)).pprof.view(), path);
    }
  }
  uint64_t pid = 0;
  std::error_code missing;
  if (parse_pid(path, &pid) && !std::filesystem::exists(path, missing)) {
    throw Failure(path + ": no file has this name; for the process, use `memprof live " + path +
                  "`, with -o FILE to write its profile");
  }
  return profile::read_any_file(path, options);
}

}  // namespace

profile::Profile read_profile(const std::string& path, const HttpAccess& access) {
  return read_with(path, "", access);
}

profile::Profile load_profile(const std::string& path, AskServers ask_servers, const std::string& sample_type,
                              const HttpAccess& access) {
  profile::Profile profile = read_with(path, sample_type, access);
  add_names(profile, ask_servers);
  return profile;
}

namespace {

const char* why_not_there(profile::Metric metric) {
  return profile::metric_is_resident(metric)
             ? ". What of blocks is in memory is read when a profile is dumped, and when a program begins to "
               "end by "
               "itself; older versions of memprof did not store it, and of a killed process it is not known"
             : "";
}

}  // namespace

void require_metric(const profile::Profile& profile, profile::Metric metric, const std::string& path) {
  if (profile.has_metric[profile::metric_index(metric)]) return;
  std::string known;
  for (const profile::Metric other : profile::kMetrics) {
    if (!profile.has_metric[profile::metric_index(other)]) continue;
    known += (known.empty() ? "" : ", ") + std::string(profile::metric_name(other));
  }
  throw Failure(path + ": has no " + profile::metric_name(metric) + "; it has " +
                (known.empty() ? "none of memprof's metrics" : known) + why_not_there(metric));
}

void say_origin(const profile::Profile& profile, const std::string& path) {
  const std::string origin = profile::origin_of(profile);
  if (!origin.empty()) complain("note: " + path + ": the values are " + origin);
}

}  // namespace memprof::cli
