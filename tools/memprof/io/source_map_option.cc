// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/source_map_option.h"

#include <filesystem>
#include <system_error>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

constexpr size_t kMaxMapWarnings = 5;

}  // namespace

SourceMapOption::SourceMapOption(ArgumentParser& parser) : parser_(parser) {
  parser.add_flag(
      {"--source-maps", "",
       "of scripts (.js) that were made of TypeScript, or put into a bundle: files and lines of the sources, "
       "by the source maps beside the scripts or inside of them",
       OptionText::Shown::kInHelp, "report"});
  parser.add_option({"--source-maps-in", "DIR", "the same, with the maps DIR/SCRIPT.js.map first",
                     OptionText::Shown::kInHelp, "report"},
                    folder_);
}

SourceMapChoice SourceMapOption::choice() const {
  if (!parser_.is_given("--source-maps-in")) {
    return parser_.is_given("--source-maps") ? SourceMapChoice(profile::SourceMapOptions()) : std::nullopt;
  }
  std::error_code error;
  if (!std::filesystem::is_directory(folder_, error)) {
    throw Failure("--source-maps-in: '" + folder_ +
                  "' is not a folder; give the one that has the maps, like dist/");
  }
  return profile::SourceMapOptions{folder_};
}

profile::Profile with_source_lines(profile::Profile profile, const SourceMapChoice& choice) {
  if (!choice) return profile;
  const profile::SourceMapSummary summary = profile::apply_source_maps(*choice, &profile);
  const size_t count = summary.warnings.size();
  for (size_t i = 0; i < count && i < kMaxMapWarnings; ++i) complain("warning: " + summary.warnings[i]);
  if (count > kMaxMapWarnings) {
    complain("warning: the same of " + std::to_string(count - kMaxMapWarnings) +
             " more scripts, for reasons like these");
  } else if (summary.mapped == 0 && count == 0) {
    complain(summary.scripts == 0
                 ? "note: --source-maps: the profile has no script of a file"
                 : "note: --source-maps: no script of the profile has a source map beside it, or names one; "
                   "--source-maps-in DIR says where they are");
  }
  return profile;
}

}  // namespace memprof::cli
