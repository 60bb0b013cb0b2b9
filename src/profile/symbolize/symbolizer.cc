// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/symbolizer.h"

#include <algorithm>
#include <string_view>

#include "format/affixes.h"
#include "format/runtime_frame.h"
#include "profile/names/interpreter_frames.h"
#include "profile/symbolize/debuginfod.h"
#include "profile/symbolize/dwarf/debug_info.h"
#include "profile/symbolize/elf/demangle.h"
#include "profile/symbolize/elf/elf_file.h"
#include "profile/symbolize/elf/mini_symbols.h"
#include "profile/symbolize/elf/symbol_table.h"
#include "profile/symbolize/jit/jit_names.h"
#include "profile/symbolize/macho/macho_file.h"
#include "profile/symbolize/pe/pe_file.h"
#include "profile/symbolize/pe/windows_path.h"

namespace memprof::profile {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

// Code of the kernel's, of a JIT, of nobody: there is no file, and that is no fault.
bool has_no_file(const std::string& path) {
  return path.empty() || path[0] == '[' || path.compare(0, 2, "//") == 0 ||
         path.compare(0, 11, "linux-vdso.") == 0 || path.compare(0, 11, "linux-gate.") == 0;
}

// The file of a mapping if it is the one that was profiled, else nullptr and the warning.
std::unique_ptr<ElfFile> open_profiled_file(const Profile& profile, const Mapping& mapping,
                                            std::string* warning) {
  const std::string& path = mapping.path;
  if (ends_with(path, kDeleted)) {
    *warning = path.substr(0, path.size() - kDeleted.size()) +
               ": was deleted or replaced while it was profiled; no names";
    return nullptr;
  }
  if (path[0] != '/') {
    *warning = path + ": not an absolute path; no names";
    return nullptr;
  }
  std::string why;
  auto file = is_macho_file(path) ? open_macho_file(path, mapping.build_id, &why) : ElfFile::open(path, &why);
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

// Names of C, not mangled.
bool is_plain(const std::string& name) {
  return !name.empty() && name.compare(0, 2, "_Z") != 0 && name.compare(0, 2, "_R") != 0 &&
         name.compare(0, 2, "_D") != 0;
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
  if (is_windows_path(mapping.path)) return symbolize_windows(profile, mapping, locations, summary);
  std::string warning;
  const auto file = open_profiled_file(profile, mapping, &warning);
  if (file == nullptr) return warn(warning, &summary);
  const auto ask = [&](const std::string& build_id) {
    return options.debuginfod != nullptr ? options.debuginfod->find(build_id, mapping.path) : nullptr;
  };
  auto debug = options.use_debug_files ? open_debug_file(*file, options.debug_root) : nullptr;
  if (debug == nullptr && options.use_debug_files && is_macho_file(mapping.path)) {
    debug = open_dsym(mapping.path, mapping.build_id);
  }
  if (debug == nullptr && !file->has_debug_info()) debug = ask(file->build_id());
  const auto mini = debug == nullptr ? open_mini_symbols(*file) : nullptr;
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
  std::vector<std::vector<SourceFrame>> frames(vaddrs.size());
  const ElfFile& described = debug != nullptr && debug->has_debug_info() ? *debug : *file;
  // (Stripped files can keep the link of debug info that they do not have.)
  if (options.use_debug_info && described.has_debug_info() && !vaddrs.empty()) {
    const auto link = described.alternate_link();
    auto alternate = link ? open_alternate_file(described, *link, options.debug_root) : nullptr;
    if (link && alternate == nullptr) alternate = ask(link->build_id);
    if (link && alternate == nullptr) {
      summary.warnings.push_back(described.path() + ": needs " + link->path +
                                 ", which is not there; some inlined functions have no names");
    }
    if (const auto info = DebugInfo::open(described, alternate.get(), vaddrs))
      frames = info->frames_of(vaddrs);
  }
  // Of the file's symbols only those that are asked for.
  std::vector<uint64_t> asked = vaddrs;
  for (const std::vector<SourceFrame>& of_one : frames) {
    for (const SourceFrame& frame : of_one) {
      if (frame.code != 0) asked.push_back(frame.code);
    }
  }
  SymbolTable symbols(std::move(asked));
  symbols.add(*file);
  if (debug != nullptr) symbols.add(*debug);
  if (mini != nullptr) symbols.add(*mini);
  symbols.finish();
  for (size_t i = 0; i < known.size(); ++i) {
    Location& location = profile.locations[known[i]];
    location.lines = lines_of(profile, frames[i], symbols, vaddrs[i]);
    if (location.lines.empty()) continue;
    // As pprof's own symbolizer sets them: names were looked up here, another tool need not.
    mapping.has_functions = true;
    mapping.has_filenames |= !frames[i].empty();
    mapping.has_line_numbers |= !frames[i].empty();
    mapping.has_inline_frames |= !frames[i].empty();
    ++summary.named;
    --summary.unnamed;
  }
}

// By symbols and exports only: lines are in PDBs, which are not read, or in DWARF of mingw's, which libdw reads of ELF only.
void Symbolizer::symbolize_windows(Profile& profile, Mapping& mapping, const std::vector<uint32_t>& locations,
                                   SymbolizeSummary& summary) {
  const std::string path = find_windows_file(mapping.path, wine_drives());
  std::string why = "is not on this machine";
  const auto file = path.empty() ? nullptr : PeFile::open(path, &why);
  if (file == nullptr) return warn(mapping.path + ": " + why + "; no names", &summary);
  if (file->build_id() != mapping.build_id) {
    return warn(mapping.path + ": binary changed since it was profiled (build id " + mapping.build_id +
                    ", now " + file->build_id() + "); no names",
                &summary);
  }
  for (const uint32_t index : locations) {
    Location& location = profile.locations[index];
    std::string name;
    if (location.address < mapping.start || location.address >= mapping.limit ||
        !file->find(static_cast<uint32_t>(location.address - mapping.start), &name)) {
      continue;
    }
    location.lines.push_back({function_index(profile, name, "", ""), 0});
    mapping.has_functions = true;
    ++summary.named;
    --summary.unnamed;
  }
}

std::vector<Line> Symbolizer::lines_of(Profile& profile, const std::vector<SourceFrame>& frames,
                                       const SymbolTable& symbols, uint64_t vaddr) {
  std::vector<Line> lines;
  for (const SourceFrame& frame : frames) {
    std::string system_name = frame.name.linkage_name;
    if (system_name.empty() && (frame.code != 0 || frames.size() == 1) &&
        symbols.find(frame.code != 0 ? frame.code : vaddr, &system_name) && frame.code != 0 &&
        system_name[0] == '_') {
      // `.cold`, `.part.0`: the debug info counts them to the function.
      system_name.erase(std::min(system_name.find('.', 1), system_name.size()));
    } else if (frame.code != 0 && is_plain(system_name)) {
      system_name = symbols.usual_name(frame.code, system_name);
    }
    // What has no symbol of its own is called as the debug info calls it.
    const bool has_symbol = !system_name.empty();
    if (!has_symbol) system_name = frame.name.plain_name;
    if (system_name.empty()) continue;
    lines.push_back(
        is_cython_symbol(system_name)
            ? cython_line(profile, system_name, frame.file, frame.line)
            : Line{function_index(profile, system_name, has_symbol ? "" : system_name, frame.file),
                   frame.line});
  }
  std::string name;
  if (frames.empty() && symbols.find(vaddr, &name))
    lines.push_back({function_index(profile, name, cython_name(name), ""), 0});
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
