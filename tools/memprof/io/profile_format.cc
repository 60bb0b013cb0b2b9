// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/profile_format.h"

#include <sys/stat.h>

#include "format/affixes.h"
#include "format/pprof/pprof_name.h"
#include "memprof/console/failure.h"
#include "profile/files/gzip.h"
#include "profile/formats/collapsed.h"
#include "profile/formats/dhat.h"
#include "profile/formats/flame_svg.h"
#include "profile/formats/heapprofile.h"
#include "profile/formats/json_export.h"
#include "profile/formats/speedscope.h"
#include "profile/model/estimate.h"
#include "profile/page/page_html.h"
#include "profile/pprof/pprof_writer.h"

namespace memprof::cli {
namespace {

using profile::NameStyle;
using profile::Profile;
using Subject = const ExportSubject&;

std::string pprof(const Profile& profile, Subject subject, bool has_gzip) {
  profile::PprofWriteOptions options;
  options.gzip = has_gzip;
  options.metric = subject.metric;
  options.shares_sizes = true;
  options.names_places = profile.from_memprof;  // else the reader takes them for names
  return profile::write_pprof(profile, options);
}

const std::vector<ExportFormat> kFormats = {
    {"pb.gz", ".pb.gz", "pprof, for go tool pprof and many others", MetricUse::kFirst,
     NameStyle::kNoReturnType, false, false, true,
     [](const Profile& profile, Subject subject) { return pprof(profile, subject, true); }},
    {"pb", ".pb", "the same, not compressed", MetricUse::kFirst, NameStyle::kNoReturnType, false, false, true,
     [](const Profile& profile, Subject subject) { return pprof(profile, subject, false); }},
    {"html", ".html", "a page for the browser (docs/view.md)", MetricUse::kFirst, NameStyle::kWhole, true,
     true, true,
     [](const Profile& profile, Subject subject) {
       profile::PageOptions options;
       options.metric = subject.metric;
       options.sources = subject.sources;
       return profile::write_page(profile, subject.name, options);
     }},
    {"svg", ".svg", "a picture of a flame graph", MetricUse::kOnly, NameStyle::kShown, false, true, true,
     [](const Profile& profile, Subject subject) {
       return profile::write_flame_svg(profile, {subject.name, subject.metric_of(profile), subject.by});
     }},
    {"speedscope", ".speedscope.json", "for speedscope.app", MetricUse::kFirst, NameStyle::kShown, false,
     true, true,
     [](const Profile& profile, Subject subject) {
       return profile::write_speedscope(profile, {subject.name, subject.metric, subject.by});
     }},
    {"heapprofile", ".heapprofile", "for Chrome DevTools and VS Code", MetricUse::kOnly, NameStyle::kShown,
     false, true, false,
     [](const Profile& profile, Subject subject) {
       return profile::write_heapprofile(profile, subject.metric_of(profile), subject.by);
     }},
    {"dhat", ".dhat.json", "for DHAT's viewer and the Firefox Profiler", MetricUse::kNone, NameStyle::kShown,
     false, true, false, [](const Profile& profile, Subject) { return profile::write_dhat(profile); }},
    {"parquet", ".parquet", "a table for SQL: DuckDB, ClickHouse; of folders, too", MetricUse::kNone,
     NameStyle::kShown, false, false, true,
     [](const Profile& profile, Subject subject) {
       std::string out;
       profile::LookTable table(table_options(subject), profile::sink_to(out));
       table.add(profile, subject.path);
       table.finish();
       return out;
     },
     true},
    {"collapsed", ".collapsed", "one line a stack, for flame graphs", MetricUse::kOnly, NameStyle::kShown,
     false, true, true,
     [](const Profile& profile, Subject subject) {
       return profile::write_collapsed(profile, subject.metric_of(profile), subject.by);
     }},
    {"json", ".json", "memprof's own, for scripts", MetricUse::kNone, NameStyle::kWhole, false, true, true,
     [](const Profile& profile, Subject) { return profile::write_json(profile); }},
};

const ExportFormat* named(std::string_view name) {
  for (const ExportFormat& format : kFormats) {
    if (name == format.name) return &format;
  }
  return nullptr;
}

bool is_pprof(const ExportFormat* format) {
  return format != nullptr && profile::pprof_end_of(format->end) != nullptr;
}

template <typename Text>
std::string list(const Text& text) {
  std::string out;
  for (const ExportFormat& format : kFormats) {
    const bool is_last = &format == &kFormats.back();
    out += std::string(out.empty() ? "" : is_last ? " or " : ", ") + text(format);
  }
  return out;
}

}  // namespace

profile::Metric ExportSubject::metric_of(const Profile& profile) const {
  return metric.value_or(profile::default_metric(profile));
}

profile::LookTableOptions table_options(const ExportSubject& subject) {
  profile::LookTableOptions options;
  if (!subject.version_label.empty()) options.version_label = subject.version_label;
  options.by = subject.by;
  options.created_by = "memprof version " MEMPROF_VERSION;
  return options;
}

const std::vector<ExportFormat>& export_formats() {
  return kFormats;
}

const ExportFormat* format_of_path(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  // These have an end more, which the profiled process knows, too.
  if (const profile::PprofEnd* end = profile::pprof_end_of(name.c_str())) {
    return named(end->has_gzip ? "pb.gz" : "pb");
  }
  const ExportFormat* found = nullptr;  // of several the one with the longest end
  for (const ExportFormat& format : kFormats) {
    if (!ends_with(name, format.end)) continue;
    if (found == nullptr || ends_with(format.end, found->end)) found = &format;
  }
  return found;
}

const ExportFormat* format_from_name(const std::string& name) {
  const ExportFormat* format = named(name);
  if (format != nullptr || name.empty() || name.find('/') != std::string::npos) return format;
  format = format_of_path("." + name);
  // Not any name that ends so.
  return format != nullptr && ("." + name == format->end || name == "pprof") ? format : nullptr;
}

bool is_page_path(const std::string& path) {
  const ExportFormat* format = format_of_path(path);
  return format != nullptr && format == named("html");
}

std::string format_ends() {
  return list([](const ExportFormat& format) { return format.end; });
}

std::string format_names() {
  return list([](const ExportFormat& format) { return format.name; });
}

void check_pprof_name(const std::string& command, const std::string& path) {
  const ExportFormat* format = format_of_path(path);
  if (is_pprof(format)) return;
  struct stat status{};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return;
  throw Failure(path + ": " + command + " writes pprof, and its name ends in .pb.gz or .pb" +
                (format != nullptr ? "; `memprof export` makes this of it" : ""));
}

}  // namespace memprof::cli
