// SPDX-License-Identifier: Apache-2.0
#include "memprof/profile_input.h"

#include <unistd.h>

#include <cerrno>

#include "memprof/console.h"
#include "memprof/failure.h"
#include "profile/metric.h"
#include "profile/pprof_reader.h"
#include "profile/symbolize/symbolizer.h"

namespace memprof::cli {
namespace {

constexpr size_t kMostWarnings = 5;
constexpr size_t kMostInputBytes = size_t{2} << 30;

std::string read_standard_input() {
  std::string data;
  std::string buffer(1 << 16, '\0');
  while (true) {
    const ssize_t size = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) throw Failure("standard input: " + error_text(errno));
    if (size == 0) return data;
    data.append(buffer, 0, static_cast<size_t>(size));
    if (data.size() > kMostInputBytes) throw Failure("standard input: more than 2 GiB is no profile");
  }
}

}  // namespace

void add_names(profile::Profile& profile) {
  const profile::SymbolizeSummary summary = profile::Symbolizer().symbolize(profile);
  for (size_t i = 0; i < summary.warnings.size() && i < kMostWarnings; ++i) {
    complain("warning: " + summary.warnings[i]);
  }
  if (summary.warnings.size() > kMostWarnings) {
    complain("warning: no names for " + std::to_string(summary.warnings.size() - kMostWarnings) +
             " more files, for reasons like these");
  }
}

void add_jit_names(profile::Profile& profile) {
  profile::SymbolizeOptions options;
  options.use_files = false;
  static_cast<void>(profile::Symbolizer().symbolize(profile, options));
}

profile::Profile load_profile(const std::string& path) {
  profile::Profile profile = path == "-" ? profile::read_pprof(read_standard_input(), "standard input")
                                         : profile::read_pprof_file(path);
  add_names(profile);
  return profile;
}

void require_metric(const profile::Profile& profile, profile::Metric metric, const std::string& path) {
  if (profile.has_metric[profile::metric_index(metric)]) return;
  std::string known;
  for (const profile::Metric other : profile::kMetrics) {
    if (!profile.has_metric[profile::metric_index(other)]) continue;
    known += (known.empty() ? "" : ", ") + std::string(profile::metric_name(other));
  }
  throw Failure(path + ": has no " + profile::metric_name(metric) + "; it has " +
                (known.empty() ? "none of memprof's metrics" : known));
}

}  // namespace memprof::cli
