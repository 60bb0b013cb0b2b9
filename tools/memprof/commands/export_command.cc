// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/export_command.h"

#include <algorithm>

#include "memprof/console/arguments.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/console/report_options.h"
#include "memprof/console/shared_options.h"
#include "memprof/io/folders/profile_files.h"
#include "memprof/io/http/http_access.h"
#include "memprof/io/profile_format.h"
#include "memprof/io/profile_input.h"
#include "memprof/io/source_map_option.h"
#include "memprof/serve/source_root_option.h"
#include "profile/compare/increment.h"
#include "profile/files/atomic_file.h"
#include "profile/fleet/look_table.h"
#include "profile/lifetimes/temporary.h"
#include "profile/series/series_file.h"
#include "profile/view/profile_view.h"

namespace memprof::cli {
namespace {

HelpText help() {
  HelpText text;
  text.usage = "memprof export FILE... -o OUT [OPTIONS]";
  text.brief = R"(Writes a profile in another format, with names, and with the frames that
`memprof report` shows. The name of OUT says which:

)";
  for (const ExportFormat& format : export_formats()) {
    const std::string end = format.end;
    text.brief += "  " + end + std::string(end.size() < 18 ? 18 - end.size() : 1, ' ') + format.what + "\n";
  }
  text.more = R"(FILE is a pprof file, by memprof or others; `-` is standard input. What --metric
chooses is what a viewer opens on, and what formats that have one metric hold.
.parquet takes any number of files, and folders that memprof ship wrote
(docs/fleet.md); of a series it has all looks, or with --at one.
)";
  text.end = R"(A page (.html) has all frames and switches for them; --by, --native,
--imports, --all-frames, --native-interpreter and --full-names are not for it.
)";
  return text;
}

const ExportFormat& choose_format(const std::string& output, const std::string& name) {
  if (!name.empty()) {
    const ExportFormat* chosen = format_from_name(name);
    if (chosen == nullptr) throw Failure("--format: '" + name + "' is not one of " + format_names());
    return *chosen;
  }
  if (output == "-") throw Failure("export: standard output needs --format " + format_names());
  const ExportFormat* chosen = format_of_path(output);
  if (chosen == nullptr) {
    throw Failure(output + ": unknown ending; the name must end in " + format_ends() + ", or give --format");
  }
  return *chosen;
}

struct Options {
  std::vector<std::string> inputs;
  std::string input;  // the only one
  std::string output;
  std::string format;
  std::string since;
  std::string sample_type;
  std::string version_label;
  bool force = false;
  bool has_sources = false;
  std::vector<std::string> source_roots;
  AskServers ask_servers = AskServers::kYes;
  ReaderChoice reader;
  SourceMapChoice source_maps;
  HttpAccess access;

  bool is_one_look = false;  // --at or --since was given

  bool is_many() const { return inputs.size() > 1 || is_folder(inputs.front()); }
};

// Nothing: --help was asked for.
std::optional<Options> parse(const std::vector<std::string>& arguments) {
  Options options;
  ArgumentParser parser("export", help());
  using Shown = OptionText::Shown;
  parser.add_arguments(options.inputs);
  parser.add_option({"-o,--output", "OUT", "the file to write; `-` is standard output and needs --format"},
                    options.output);
  parser.add_option(
      {"--format", "FORMAT", "the format, whatever the name of OUT: its end without the first dot"},
      options.format);
  parser.add_option(
      {"--since", "OLD",
       "only what was allocated since OLD. OLD is an earlier profile of the process; increments, as services that collect profiles want them; what is live, and the peak, are those of FILE",
       Shown::kInBoth},
      options.since);
  std::string moment;
  add_moment(parser, "last by default", moment);
  parser.add_flag(
      {"--source", "",
       "a page (.html) carries the source lines that it names, and those next to them, of files that are on "
       "this machine"},
      options.has_sources);
  const SourceRootOption source_root(parser);
  parser.add_option(
      {"--version-label", "NAME", "the label that says the version (service_version), in a table (.parquet)"},
      options.version_label);
  add_force(parser, "OUT if it exists", options.force);
  ReaderOptions reader(parser);
  const SourceMapOption source_maps(parser);
  add_sample_type(parser, options.sample_type);
  add_no_debuginfod(parser);
  const HttpAccessOptions access(parser);
  if (parser.parse(arguments)) return std::nullopt;
  options.reader = reader.choice();
  options.source_maps = source_maps.choice();
  options.access = access.access();
  options.source_roots = source_root.roots();
  if (!options.has_sources && !options.source_roots.empty())
    throw Failure("export: --source-root goes with --source");
  const auto& metric = options.reader.metric;
  settle_younger(metric && profile::metric_is_temporary(*metric), false, &options.reader.younger_ns);
  if (parser.is_given("--no-debuginfod")) options.ask_servers = AskServers::kNo;
  if (options.inputs.empty()) throw Failure("export: no profile given; usage: memprof export FILE -o OUT");
  options.input = options.inputs.front();
  if (options.is_many() && parser.is_given("--at")) throw Failure("--at: takes one series");
  options.is_one_look = parser.is_given("--at") || !options.since.empty();
  if (parser.is_given("--at")) options.input = look_of_file("--at", options.input, moment);
  if (options.output.empty()) {
    throw Failure("export: no output given; add -o OUT, like -o out.speedscope.json");
  }
  return options;
}

void check(const Options& options, const ExportFormat& format) {
  if (options.reader.metric && format.metric == MetricUse::kNone) {
    throw Failure("--metric: " + std::string(format.end) +
                  " carries all metrics, and none before the others");
  }
  if (options.reader.younger_ns && format.metric != MetricUse::kOnly && !format.folds_itself) {
    throw Failure("--metric temporary: " + std::string(format.end) +
                  " carries the metrics that need no --younger; collapsed and html take this one");
  }
  const profile::FrameView& view = options.reader.view;
  if (format.folds_itself &&
      (options.reader.by || view.native || view.imports || view.all || view.interpreter || view.full_names)) {
    throw Failure("export: a page has all frames, and switches for them; leave out --by, --native, " +
                  std::string("--imports, --all-frames, --native-interpreter and --full-names"));
  }
  if (options.has_sources && !format.folds_itself) {
    throw Failure("--source: " + std::string(format.end) + " carries no source text; .html does");
  }
  if (!options.version_label.empty() && !format.takes_many) {
    throw Failure("--version-label: " + std::string(format.end) + " has no labels; .parquet does");
  }
  if (options.is_many() && !format.takes_many) {
    const std::string what =
        options.inputs.size() > 1 ? options.inputs[1] + ": " : options.input + ": a folder; ";
    throw Failure(what + format.end +
                  " is of one profile; `memprof merge` makes one of several, and .parquet takes many");
  }
  if (options.is_many() && !options.since.empty()) throw Failure("--since: goes with one profile");
  if (options.input == "-" && options.since == "-") {
    throw Failure("export: standard input can be one profile only");
  }
  if (options.output == "-" && !format.is_text && is_output_terminal()) {
    throw Failure("export: standard output is a terminal, and " + std::string(format.end) +
                  " is not text; give -o FILE or a pipe");
  }
}

profile::IfExists if_exists(const Options& options) {
  return options.force ? profile::IfExists::kReplace : profile::IfExists::kRefuse;
}

// Of `later` what was allocated since the profile in the file `since`.
profile::Profile increment_since(const std::string& since, const Options& options,
                                 const profile::Profile& later) {
  const profile::Profile earlier = with_source_lines(
      load_profile(since, options.ask_servers, options.sample_type, options.access), options.source_maps);
  if (const std::string why = profile::why_no_increment(earlier, later); !why.empty()) {
    throw Failure("--since: " + (since == "-" ? "standard input" : since) + ": " + why);
  }
  return profile::increment(earlier, later);
}

// A format that has no sign must not show a difference as if nothing had shrunk.
void say_what_is_below_zero(const profile::Profile& profile, const ExportFormat& format) {
  if (format.has_signs) return;
  size_t below = 0;
  for (const profile::Stack& stack : profile.stacks) {
    below += std::any_of(stack.values.begin(), stack.values.end(), [](double value) { return value < 0; }) &&
                     !stack.has_statistics
                 ? 1
                 : 0;
  }
  if (below == 0) return;
  complain("note: " + std::to_string(below) + (below == 1 ? " stack has" : " stacks have") +
           " values below zero, which " + format.end +
           " cannot show: they are left out; .speedscope.json shows them");
}

profile::Profile seen(profile::Profile profile, const ReaderChoice& reader, const ExportFormat& format) {
  profile::ViewRequest request;
  request.filter = reader.filter;
  request.by = reader.by.value_or(profile::GroupBy::kFunction);
  request.view = reader.view;
  request.view.all = request.view.all || format.folds_itself;
  request.names = reader.view.full_names ? profile::NameStyle::kWhole : format.names;
  return profile::view_of(std::move(profile), request);
}

// Standard output, as a sink.
profile::Sink output_sink() {
  return {[](void*, const void* data, size_t size) {
            print({static_cast<const char*>(data), size});
            return true;
          },
          nullptr};
}

// Of any number of profiles, and of all looks of series, one after the other.
void export_many(const Options& options, const ExportFormat& format) {
  ExportSubject subject;
  subject.by = options.reader.by.value_or(profile::GroupBy::kFunction);
  subject.version_label = options.version_label;
  std::optional<profile::AtomicFile> file;
  if (options.output != "-") file.emplace(options.output, if_exists(options));
  profile::LookTable table(table_options(subject), file ? file->sink() : output_sink());
  const auto add = [&](profile::Profile profile, const std::string& path) {
    profile = seen(with_source_lines(std::move(profile), options.source_maps), options.reader, format);
    say_what_is_below_zero(profile, format);
    try {
      table.add(profile, path);
    } catch (const profile::Error& error) {  // of the output
      throw Failure(error.what());
    }
  };
  read_each(options.inputs, "export: " + options.input + ": there is no profile",
            [&](const std::string& path) {
              if (!profile::is_series(path)) {
                add(load_profile(path, options.ask_servers, options.sample_type, options.access), path);
                return;
              }
              profile::SeriesReader reader(path);
              for (const profile::SeriesLook& look : reader.series().looks) {
                profile::Profile profile = reader.profile_of(look);
                add_names(profile, options.ask_servers);
                add(std::move(profile), path);
              }
            });
  table.finish();
  if (file) file->commit();
  if (table.rows() == 0)
    complain("note: " + options.output + " has no row: no profile has a stack that was asked for");
}

}  // namespace

int export_command(const std::vector<std::string>& arguments) {
  const std::optional<Options> options = parse(arguments);
  if (!options) return 0;
  const std::string& input = options->input;
  const std::string& output = options->output;
  const ExportFormat& format = choose_format(output, options->format);
  check(*options, format);
  const bool has_all_looks = format.takes_many && !options->is_one_look && profile::is_series(input);
  if (options->is_many() || has_all_looks) {
    export_many(*options, format);
    return 0;
  }
  profile::Profile profile = with_source_lines(
      load_profile(input, options->ask_servers, options->sample_type, options->access), options->source_maps);
  if (!options->since.empty()) profile = increment_since(options->since, *options, profile);
  if (options->reader.younger_ns) profile::set_temporary(*options->reader.younger_ns, input, &profile);
  if (options->reader.metric) require_metric(profile, *options->reader.metric, input);
  if (profile.from_memprof && profile.samples == 0) {
    complain("note: " + input + " has no sample" + (options->since.empty() ? "" : " since then") +
             ": nothing was allocated, or less than the rate shows");
  }
  say_origin(profile, input);
  const bool had_stacks = !profile.stacks.empty();
  ExportSubject subject;
  subject.name = input == "-" ? profile.program : input.substr(input.rfind('/') + 1);
  subject.path = input;
  subject.version_label = options->version_label;
  subject.metric = options->reader.metric;
  if (options->has_sources) {
    subject.sources = source_rule_of_file(input, options->source_roots);
    // The page has frames of both.
    if (subject.sources->is_own && !options->since.empty()) {
      subject.sources = source_rule_of_file(options->since, options->source_roots);
    }
  }
  subject.by = options->reader.by.value_or(profile::GroupBy::kFunction);
  profile = seen(std::move(profile), options->reader, format);
  if (had_stacks && profile.stacks.empty()) {
    complain("note: --focus, --ignore and --process leave no stack of " + input);
  }
  say_what_is_below_zero(profile, format);
  if (output == "-") {
    print(format.write(profile, subject));
    return 0;
  }
  profile::write_file_atomically(output, format.write(profile, subject), if_exists(*options));
  return 0;
}

}  // namespace memprof::cli
