// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/export_command.h"

#include "memprof/console/arguments.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/io/profile_format.h"
#include "memprof/io/profile_input.h"
#include "profile/files/atomic_file.h"
#include "profile/formats/collapsed.h"
#include "profile/formats/json_export.h"
#include "profile/formats/speedscope.h"
#include "profile/page/page_html.h"
#include "profile/pprof/pprof_writer.h"
#include "profile/report/report.h"

namespace memprof::cli {
namespace {

constexpr char kHelp[] =
    R"(usage: memprof export FILE -o OUT [--format FORMAT] [--metric METRIC] [--force]
                           [--no-debuginfod]

Writes a profile in another format, with names. FILE is a pprof file, by memprof
or others; `-` is standard input.

  -o OUT           the file to write; its name ends in .pb.gz, .pb,
                   .html (a page for the browser, docs/view.md),
                   .speedscope.json, .collapsed or .json. `-` is standard
                   output and needs --format
  --format FORMAT  the format, whatever the name of OUT: pb.gz, pb (pprof),
                   html, speedscope, collapsed, json
  --metric METRIC  for collapsed, which holds one metric: inuse_space (default),
                   inuse_objects, alloc_space, alloc_objects
  --force          replace OUT if it exists
  --no-debuginfod  do not contact the servers in DEBUGINFOD_URLS
)";

constexpr char kFormats[] = "pb.gz, pb, html, speedscope, collapsed or json";

ExportFormat choose_format(const std::string& output, const std::string& format) {
  if (!format.empty()) {
    const auto chosen = format_from_name(format);
    if (!chosen) throw Failure("--format: '" + format + "' is not one of " + kFormats);
    return *chosen;
  }
  if (output == "-") throw Failure(std::string("export: standard output needs --format ") + kFormats);
  const auto chosen = format_of_path(output);
  if (!chosen) {
    throw Failure(output +
                  ": unknown ending; the name must end in .pb.gz, .pb, .html, "
                  ".speedscope.json, .collapsed or .json, or give --format");
  }
  return *chosen;
}

std::string convert(const profile::Profile& profile, ExportFormat format, profile::Metric metric,
                    const std::string& input) {
  const std::string name = input == "-" ? profile.program : input.substr(input.rfind('/') + 1);
  switch (format) {
    case ExportFormat::kPprofGzip:
      return profile::write_pprof(profile);
    case ExportFormat::kPprof: {
      profile::PprofWriteOptions options;
      options.gzip = false;
      return profile::write_pprof(profile, options);
    }
    case ExportFormat::kSpeedscope:
      return profile::write_speedscope(profile, name);
    case ExportFormat::kCollapsed:
      return profile::write_collapsed(profile, metric);
    case ExportFormat::kJson:
      return profile::write_json(profile);
    case ExportFormat::kPage:
      return profile::write_page(profile, name);
  }
  throw Failure("export: no such format");
}

}  // namespace

int export_command(const std::vector<std::string>& arguments) {
  ArgumentParser parser("export");
  std::string input;
  std::string output;
  std::string format_name;
  std::string metric_text;
  bool force = false;
  parser.add_option("FILE", input);
  parser.add_option("-o,--output", output);
  parser.add_option("--format", format_name);
  parser.add_option("--metric", metric_text);
  parser.add_flag("--force", force);
  parser.add_flag("--no-debuginfod");
  if (parser.parse(arguments)) {
    print(kHelp);
    return 0;
  }
  if (input.empty()) throw Failure("export: no profile given; usage: memprof export FILE -o OUT");
  if (output.empty()) throw Failure("export: no output given; add -o OUT, like -o out.speedscope.json");
  const ExportFormat format = choose_format(output, format_name);
  std::optional<profile::Metric> metric;
  if (!metric_text.empty()) {
    metric = parse_metric(metric_text);
    if (format != ExportFormat::kCollapsed)
      throw Failure("--metric: only collapsed has one metric; the other formats carry all");
  }
  const bool is_binary = format == ExportFormat::kPprof || format == ExportFormat::kPprofGzip;
  if (output == "-" && is_binary && is_output_terminal()) {
    throw Failure("export: standard output is a terminal, and pprof is not text; give -o FILE or a pipe");
  }

  const profile::Profile profile =
      load_profile(input, parser.is_given("--no-debuginfod") ? AskServers::kNo : AskServers::kYes);
  if (metric) require_metric(profile, *metric, input);
  if (profile.from_memprof && profile.samples == 0) {
    complain("note: " + input + " has no sample: nothing was allocated, or less than the rate shows");
  }
  const auto convert_now = [&] {
    return convert(profile, format, metric.value_or(profile::default_metric(profile)), input);
  };
  if (output == "-") {
    print(convert_now());
    return 0;
  }
  profile::write_file_atomically(output, convert_now(),
                                 force ? profile::IfExists::kReplace : profile::IfExists::kRefuse);
  return 0;
}

}  // namespace memprof::cli
