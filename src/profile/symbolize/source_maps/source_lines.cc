// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/source_maps/source_lines.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "profile/files/regular_file.h"
#include "profile/files/system_file.h"
#include "profile/model/error.h"
#include "profile/model/stack_sum.h"
#include "profile/names/interpreter_frames.h"
#include "profile/symbolize/source_maps/script_url.h"
#include "profile/symbolize/source_maps/source_map.h"
#include "profile/text/markup/percent_text.h"

namespace memprof::profile {
namespace {

constexpr size_t kMaxBytes = size_t{256} << 20;

struct Content {
  std::string text;
  uint64_t changed_unix_ns = 0;
};

// Nothing: there is no such file.  Failure: throws Error.
std::optional<Content> read_file(const std::string& path) {
  struct stat status{};
  const int fd = open_regular_file(path, Links::kFollow, &status);
  if (fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    throw Error(errno == EINVAL ? std::string("not a regular file") : std::string(std::strerror(errno)));
  }
  Content content;
  content.changed_unix_ns = written_unix_ns(status);
  std::string buffer(size_t{1} << 16, '\0');
  ssize_t size = 0;
  while ((size = ::read(fd, buffer.data(), buffer.size())) > 0 && content.text.size() <= kMaxBytes) {
    content.text.append(buffer, 0, static_cast<size_t>(size));
  }
  const int error = errno;
  ::close(fd);
  if (size < 0) throw Error(std::strerror(error));
  if (content.text.size() > kMaxBytes) throw Error("larger than 256 MiB");
  return content;
}

std::string folder_of(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// Scripts that compilers write; node's own have no path.
bool is_script(const std::string& file) {
  for (const std::string_view end : {".js", ".cjs", ".mjs"}) {
    if (file.size() > end.size() && file.compare(file.size() - end.size(), end.size(), end) == 0)
      return !absolute_path(file).empty();
  }
  return false;
}

// A script of the profile, with its map.
class Script {
 public:
  Script(const std::string& file, const SourceMapOptions& options, uint64_t profiled_unix_ns)
      : path_(absolute_path(file)), folder_(folder_of(path_)) {
    try {
      load(options, profiled_unix_ns);
    } catch (const Error& error) {
      warning_ = place_ + ": " + error.what() + "; no lines of sources for " + path_;
    }
  }

  bool has_map() const { return map_ != nullptr; }

  // Moves a place into the source.
  void move(Function* function, int64_t* line) {
    SourceLine found;
    const SourceMap::Answer answer = map_ ? map_->find(*line, &found) : SourceMap::Answer::kNone;
    if (answer == SourceMap::Answer::kMany) ++of_many_;
    if (answer != SourceMap::Answer::kOne) return;
    if (const std::string* const name = map_->source_name(function->name)) {
      function->name = function->system_name = *name;
    }
    function->filename = resolved(folder_, *found.source);
    function->start_line = 0;
    *line = found.line;
  }

  // Empty: all is well.
  std::string warning() const {
    if (!warning_.empty() || of_many_ == 0) return warning_;
    return path_ + ": is minified: " + std::to_string(of_many_) +
           (of_many_ == 1 ? " place is" : " places are") +
           " in a line that stands for many lines of sources, and stay" + (of_many_ == 1 ? "s" : "") +
           "; build it with line breaks";
  }

 private:
  void load(const SourceMapOptions& options, uint64_t profiled_unix_ns) {
    place_ = path_;
    std::optional<Content> script = read_file(path_);
    if (!options.folder.empty() &&
        use(options.folder + path_.substr(path_.rfind('/')) + ".map", script ? script->text : ""))
      return;
    if (!script) return;
    if (profiled_unix_ns != 0 && script->changed_unix_ns > profiled_unix_ns) {
      throw Error("changed after it was profiled");
    }
    const std::string_view url = source_mapping_url(script->text);
    if (auto data = data_of_url(url)) {
      map_ = std::make_unique<SourceMap>(*data, script->text);
      return;
    }
    if (url.substr(0, 5) == "data:") throw Error("the data of its sourceMappingURL are damaged");
    const std::string named = url.empty() ? path_ + ".map" : resolved(folder_, without_percents(url));
    if (named[0] != '/')
      throw Error("its map is not a file: sourceMappingURL=" + std::string(url.substr(0, 200)));
    if (use(named, script->text)) {
      folder_ = folder_of(named);
    } else if (!url.empty()) {
      throw Error("its map " + named + " is not there");
    }
  }

  // False: there is no such file.
  bool use(const std::string& path, const std::string& script) {
    place_ = path;
    const std::optional<Content> content = read_file(path);
    if (content) map_ = std::make_unique<SourceMap>(content->text, script);
    place_ = path_;
    return content.has_value();
  }

  std::string path_;
  std::string folder_;  // that the sources are seen from
  std::string place_;   // the file that is being read
  std::unique_ptr<SourceMap> map_;
  std::string warning_;
  size_t of_many_ = 0;
};

class Mover {
 public:
  Mover(const SourceMapOptions& options, Profile* profile) : options_(options), profile_(*profile) {}

  SourceMapSummary run() {
    const size_t functions = profile_.functions.size();
    by_file_ = places_by_file();
    for (auto& [file, places] : by_file_) {
      Script script(file, options_, profile_.time_unix_ns);
      ++summary_.scripts;
      summary_.mapped += script.has_map() ? 1 : 0;
      for (Line* const line : places) move(&script, line);
      if (const std::string warning = script.warning(); !warning.empty())
        summary_.warnings.push_back(warning);
    }
    if (profile_.functions.size() != functions) unite();
    return std::move(summary_);
  }

 private:
  using Place = std::tuple<std::string, std::string, std::string, int64_t>;  // name, symbol, file, line

  std::map<std::string, std::vector<Line*>> places_by_file() {
    std::map<std::string, std::vector<Line*>> places;
    for (Location& location : profile_.locations) {
      for (Line& line : location.lines) {
        const std::string& file = profile_.functions[line.function].filename;
        if (is_script(file)) places[file].push_back(&line);
      }
    }
    return places;
  }

  void move(Script* script, Line* line) {
    Function function = profile_.functions[line->function];
    int64_t number = line->line;
    script->move(&function, &number);
    const Function& before = profile_.functions[line->function];
    if (function.filename == before.filename && function.name == before.name && number == line->line) return;
    const auto [known, is_new] =
        functions_.emplace(std::tuple(function.name, function.system_name, function.filename),
                           static_cast<uint32_t>(profile_.functions.size()));
    if (is_new) profile_.functions.push_back(std::move(function));
    *line = {known->second, number};
  }

  // Frames of one place are one location, and equal stacks one stack.
  void unite() {
    std::map<Place, uint32_t> known;
    std::vector<uint32_t> index(profile_.locations.size());
    for (uint32_t i = 0; i < index.size(); ++i) {
      index[i] = i;
      const Function* const function = runtime_function(profile_, profile_.locations[i]);
      if (function == nullptr) continue;
      const Place place(function->name, function->system_name, function->filename,
                        profile_.locations[i].lines[0].line);
      index[i] = known.emplace(place, i).first->second;
    }
    std::vector<Stack> stacks;
    StackSums sums(&stacks);
    for (Stack& stack : profile_.stacks) {
      for (uint32_t& location : stack.locations) location = index[location];
      sums.add(std::move(stack));
    }
    profile_.stacks = std::move(stacks);
  }

  const SourceMapOptions& options_;
  Profile& profile_;
  std::map<std::string, std::vector<Line*>> by_file_;
  std::map<std::tuple<std::string, std::string, std::string>, uint32_t> functions_;
  SourceMapSummary summary_;
};

}  // namespace

SourceMapSummary apply_source_maps(const SourceMapOptions& options, Profile* profile) {
  return Mover(options, profile).run();
}

}  // namespace memprof::profile
