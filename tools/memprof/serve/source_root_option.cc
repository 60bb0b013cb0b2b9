// SPDX-License-Identifier: Apache-2.0
#include "memprof/serve/source_root_option.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "memprof/io/http/profile_url.h"
#include "memprof/io/pyroscope/pyroscope_query.h"

namespace memprof::cli {
namespace {

// Without the moment of a series (server.series@peak).
std::string file_of(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) ? path : path.substr(0, path.rfind('@'));
}

bool is_server(const std::string& path) {
  return is_profile_url(path) || is_pyroscope_query(path);
}

profile::SourceRule rule(bool is_own, std::vector<std::string> roots, const std::string& whose) {
  if (!is_own && roots.empty()) {
    complain("note: no source text is shown: " + whose +
             "; --source-root DIR allows the source files below DIR");
  }
  return {is_own, std::move(roots)};
}

}  // namespace

SourceRootOption::SourceRootOption(ArgumentParser& parser) {
  parser.add_repeated_option(
      {"--source-root", "DIR",
       "show source files below DIR, whoever made the profile and whoever may read them; may be given several times. "
       "Needed for a profile that another user made or could have changed, or that comes from standard input or a server "
       "(docs/security.md)"},
      folders_);
}

std::vector<std::string> SourceRootOption::roots() const {
  std::vector<std::string> roots;
  for (const std::string& folder : folders_) {
    auto real = profile::real_folder(folder);
    if (!real)
      throw Failure("--source-root: '" + folder + "' is not a folder; give the one that has the sources");
    roots.push_back(std::move(*real));
  }
  return roots;
}

bool is_own_profile(const std::string& path) {
  return path != "-" && !is_server(path) && profile::is_own_file(file_of(path));
}

profile::SourceRule source_rule_of_file(const std::string& path, std::vector<std::string> roots) {
  if (path == "-") {
    return rule(false, std::move(roots), "it is not known who made the profile on standard input");
  }
  if (is_server(path)) {
    return rule(false, std::move(roots), "the profile comes from a server");
  }
  std::error_code error;
  if (!std::filesystem::exists(file_of(path), error)) return {};  // whoever reads it says that
  return rule(is_own_profile(path), std::move(roots),
              path + " was made, or could have been changed, by another user");
}

profile::SourceRule source_rule_of_process(const RunningProcess& process, std::vector<std::string> roots) {
  return rule(is_own_process(process.pid), std::move(roots),
              "process " + std::to_string(process.pid) + " is another user's");
}

}  // namespace memprof::cli
