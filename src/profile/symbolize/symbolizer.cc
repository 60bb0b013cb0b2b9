// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/symbolizer.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "format/affixes.h"
#include "format/runtime_frame.h"
#include "profile/names/interpreter_frames.h"
#include "profile/symbolize/cache/name_cache.h"
#include "profile/symbolize/debuginfod.h"
#include "profile/symbolize/files/windows_path.h"
#include "profile/symbolize/jit/jit_names.h"
#include "profile/symbolize/mangling/demangle.h"
#include "profile/symbolize/object_formats.h"

namespace memprof::profile {
namespace {

// Code of the kernel's, of a JIT, of nobody: there is no file, and that is no fault.
bool has_no_file(const std::string& path) {
  return path.empty() || path[0] == '[' || path.compare(0, 2, "//") == 0 ||
         path.compare(0, 11, "linux-vdso.") == 0 || path.compare(0, 11, "linux-gate.") == 0;
}

// The file of a mapping if it is the one that was profiled, else nullptr and the warning.
std::unique_ptr<ObjectFile> open_profiled_file(const Profile& profile, const Mapping& mapping,
                                               std::string* warning) {
  const std::string& path = mapping.path;
  if (const std::string_view rest = without_deleted(path); rest.size() != path.size()) {
    *warning = std::string(rest) + ": was deleted or replaced while it was profiled; no names";
    return nullptr;
  }
  const bool is_windows = is_windows_path(path);  // of a program that ran under wine
  if (!is_windows && path[0] != '/') {
    *warning = path + ": not an absolute path; no names";
    return nullptr;
  }
  const std::string here = is_windows ? find_windows_file(path, wine_drives()) : path;
  if (here.empty()) {
    *warning = path + ": is not on this machine; no names";
    return nullptr;
  }
  std::string why;
  auto file = open_object_file(here, mapping.build_id, &why);
  if (file == nullptr) {
    *warning = path + ": " + why + "; no names";
    return nullptr;
  }
  if (mapping.build_id.empty() && (file->build_id().empty() || !profile.from_memprof)) {
    // Nothing to compare but the time.
    if (profile.time_unix_ns != 0 && file->changed_unix_ns() > profile.time_unix_ns) {
      *warning = path + ": changed after it was profiled, and the profile has no build id of it; no names";
      return nullptr;
    }
    return file;
  }
  if (file->build_id() != mapping.build_id) {
    if (mapping.build_id.empty()) {
      *warning =
          path +
          ": the profile has no build id of it (it had none then, or the process was in a sandbox), and " +
          "it has " + file->build_id() + " now; no names";
      return nullptr;
    }
    const auto or_none = [](const std::string& id) { return id.empty() ? std::string("none") : id; };
    *warning = path + ": binary changed since it was profiled (build id " + or_none(mapping.build_id) +
               ", now " + or_none(file->build_id()) + "); no names";
    return nullptr;
  }
  return file;
}

// The same from a server, where it is not here.
std::unique_ptr<ObjectFile> open_served_file(const Mapping& mapping, Debuginfod* debuginfod) {
  if (debuginfod == nullptr || mapping.build_id.empty()) return nullptr;
  const std::string served = debuginfod->find_executable(mapping.build_id, mapping.path);
  std::string why;
  auto file = served.empty() ? nullptr : open_object_file(served, mapping.build_id, &why);
  return file != nullptr && file->build_id() == mapping.build_id ? std::move(file) : nullptr;
}

// A library can have several mappings; once is enough.
void warn(const std::string& warning, SymbolizeSummary* summary) {
  const auto& said = summary->warnings;
  if (std::find(said.begin(), said.end(), warning) == said.end()) summary->warnings.push_back(warning);
}

std::string function_key(const std::string& system_name, const std::string& filename) {
  return system_name + '\0' + filename;
}

}  // namespace

SymbolizeSummary Symbolizer::symbolize(Profile& profile, const SymbolizeOptions& options) {
  SymbolizeSummary summary;
  functions_.clear();
  // One function a symbol, also with those that a former round made.
  for (size_t i = 0; i < profile.functions.size(); ++i) {
    // The library writes the names of a JIT as they are.
    if (profile.functions[i].filename == kMadeCode) {
      profile.functions[i].name = demangle(profile.functions[i].system_name);
    }
    const Function& function = profile.functions[i];
    if (!function.system_name.empty() && function.start_line == 0) {
      functions_.emplace(function_key(function.system_name, function.filename), static_cast<uint32_t>(i));
    }
  }
  std::vector<std::vector<uint32_t>> unnamed(profile.mappings.size());
  std::vector<uint32_t> without_file;
  for (size_t i = 0; i < profile.locations.size(); ++i) {
    const Location& location = profile.locations[i];
    if (!location.lines.empty()) continue;
    ++summary.unnamed;
    if (location.mapping >= unnamed.size() || has_no_file(profile.mappings[location.mapping].path)) {
      without_file.push_back(static_cast<uint32_t>(i));
    } else {
      unnamed[location.mapping].push_back(static_cast<uint32_t>(i));
    }
  }
  if (options.use_jit_files) symbolize_jit_code(profile, std::move(without_file), options, summary);
  if (!options.use_files) return summary;
  for (size_t i = 0; i < unnamed.size(); ++i) {
    if (unnamed[i].empty()) continue;
    symbolize_mapping(profile, static_cast<uint32_t>(i), unnamed[i], options, summary);
  }
  return summary;
}

void Symbolizer::symbolize_jit_code(Profile& profile, std::vector<uint32_t> locations,
                                    const SymbolizeOptions& options, SymbolizeSummary& summary) {
  if (locations.empty() || !profile.from_memprof) return;
  std::sort(locations.begin(), locations.end(), [&](uint32_t a, uint32_t b) {
    return profile.locations[a].address < profile.locations[b].address;
  });
  std::vector<uint64_t> addresses;
  for (const uint32_t index : locations) addresses.push_back(profile.locations[index].address);
  JitProcess process;
  process.pid = profile.pid;
  process.start_unix_ns = profile.time_unix_ns - std::min(profile.time_unix_ns, profile.duration_ns);
  if (!options.jit_folders.empty()) process.folders = options.jit_folders;
  for (const Mapping& mapping : profile.mappings) {
    if (ends_with(mapping.path, "/jit-" + std::to_string(profile.pid) + ".dump")) {
      process.mapped_dumps.push_back(mapping.path);
    }
  }
  const std::vector<JitFrame> frames = find_jit_names(process, addresses);
  for (size_t i = 0; i < frames.size(); ++i) {
    if (frames[i].name.empty()) continue;
    Location& location = profile.locations[locations[i]];
    location.lines.push_back(
        {function_index(profile, frames[i].name, frames[i].name, frames[i].file), frames[i].line});
    if (location.mapping < profile.mappings.size()) profile.mappings[location.mapping].has_functions = true;
    ++summary.named;
    --summary.unnamed;
  }
}

void Symbolizer::symbolize_mapping(Profile& profile, uint32_t mapping_index,
                                   const std::vector<uint32_t>& locations, const SymbolizeOptions& options,
                                   SymbolizeSummary& summary) {
  Mapping& mapping = profile.mappings[mapping_index];
  std::string warning;
  auto file = open_profiled_file(profile, mapping, &warning);
  if (file == nullptr) file = open_served_file(mapping, options.debuginfod);
  if (file == nullptr) return warn(warning, &summary);
  std::vector<uint32_t> known;
  std::vector<uint64_t> vaddrs;
  for (const uint32_t index : locations) {
    const Location& location = profile.locations[index];
    if (location.address < mapping.start || location.address >= mapping.limit) continue;
    const auto vaddr = file->vaddr_of_offset(location.address - mapping.start + mapping.file_offset);
    if (!vaddr) continue;
    known.push_back(index);
    vaddrs.push_back(*vaddr);
  }
  NameSources sources;
  sources.use_debug_files = options.use_debug_files;
  sources.use_debug_info = options.use_debug_info;
  sources.debug_root = options.debug_root;
  if (options.debuginfod != nullptr) {
    sources.from_server = [&](const std::string& build_id) {
      return options.debuginfod->find(build_id, mapping.path);
    };
  }
  const std::vector<CodeNames> found =
      options.cache != nullptr ? options.cache->names_of(*file, vaddrs, sources, &summary.warnings)
                               : file->names_of(vaddrs, sources, &summary.warnings);
  for (size_t i = 0; i < known.size(); ++i) {
    Location& location = profile.locations[known[i]];
    location.lines = lines_of(profile, found[i].names);
    if (location.lines.empty()) continue;
    // As pprof's own symbolizer sets them: names were looked up here, another tool need not.
    mapping.has_functions = true;
    mapping.has_filenames |= found[i].has_lines;
    mapping.has_line_numbers |= found[i].has_lines;
    mapping.has_inline_frames |= found[i].has_lines;
    ++summary.named;
    --summary.unnamed;
  }
}

std::vector<Line> Symbolizer::lines_of(Profile& profile, const std::vector<CodeName>& names) {
  std::vector<Line> lines;
  for (const CodeName& one : names) {
    lines.push_back(
        is_cython_symbol(one.name)
            ? cython_line(profile, one.name, one.file, one.line)
            : Line{function_index(profile, one.name, one.is_symbol ? "" : one.name, one.file), one.line});
  }
  fold_cython_lines(profile, &lines);
  return lines;
}

Line Symbolizer::cython_line(Profile& profile, const std::string& system_name, std::string file,
                             int64_t line) {
  cython_sources_.to_source(&file, &line);
  return {function_index(profile, system_name, cython_name(system_name), file), line};
}

// Helpers of Cython that are inlined into a function that it made are that function's, and a function's body that is
// inlined into its wrapper is one frame.
void Symbolizer::fold_cython_lines(const Profile& profile, std::vector<Line>* lines) {
  const auto symbol = [&](const Line& line) -> std::string_view {
    return profile.functions[line.function].system_name;
  };
  const auto is_made = [&](const Line& line) { return is_cython_symbol(symbol(line)); };
  if (std::none_of(lines->begin(), lines->end(), is_made)) return;
  const auto is_helper = [&](const Line& line) { return symbol(line).substr(0, 6) == "__Pyx_"; };
  lines->erase(std::remove_if(lines->begin(), lines->end(), is_helper), lines->end());
  const auto is_same = [&](const Line& inner, const Line& outer) {
    return is_made(inner) && is_made(outer) &&
           profile.functions[inner.function].name == profile.functions[outer.function].name;
  };
  lines->erase(std::unique(lines->begin(), lines->end(), is_same), lines->end());
}

uint32_t Symbolizer::function_index(Profile& profile, const std::string& system_name, const std::string& name,
                                    const std::string& filename) {
  const auto [place, is_new] = functions_.emplace(function_key(system_name, filename),
                                                  static_cast<uint32_t>(profile.functions.size()));
  if (is_new) {
    Function function;
    function.name = name.empty() ? demangle(system_name) : name;
    function.system_name = system_name;
    function.filename = filename;
    profile.functions.push_back(std::move(function));
  }
  return place->second;
}

}  // namespace memprof::profile
