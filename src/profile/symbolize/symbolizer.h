// SPDX-License-Identifier: Apache-2.0
// Gives names to the locations of a profile that have none, from the files that its mappings name.
//
// Model: address -> mapping -> offset in it -> address as the file counts them -> names (ObjectFile).  A file is used only
// when it is the one that was profiled: its build id is that of the mapping.
//
// Threads: one object, one thread.
// Memory, time: one module at a time; in proportion to its symbol tables, which are read once, and to the
// units of its debug info that the addresses lie in.
// Failure: a file that cannot be used leaves its locations without names and is a warning.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/model/model.h"
#include "profile/symbolize/cython/cython_code.h"
#include "profile/symbolize/object/object_file.h"

namespace memprof::profile {

class Debuginfod;
class NameCache;

struct SymbolizeOptions {
  bool use_debug_files = true;
  bool use_debug_info = true;  // lines and inlined calls; false: the names of symbol tables only
  std::string debug_root = kDebugRoot;
  Debuginfod* debuginfod = nullptr;  // for files that are not here; nullptr: no server is contacted
  NameCache* cache = nullptr;        // names that were found before; nullptr: all are looked up in files
  bool use_files = true;  // false: only what vanishes when the process is gone, the names of JIT code
  bool use_jit_files = true;
  std::vector<std::string> jit_folders;  // where to look for them; empty: the usual ones
};

struct SymbolizeSummary {
  size_t named = 0;                   // locations that got a name now
  size_t unnamed = 0;                 // locations that still have none
  std::vector<std::string> warnings;  // one line each, "PATH: what is wrong"
};

class Symbolizer {
 public:
  // Locations that have lines already are left as they are.
  SymbolizeSummary symbolize(Profile& profile, const SymbolizeOptions& options = {});

 private:
  std::vector<Line> lines_of(Profile& profile, const std::vector<CodeName>& names);
  void symbolize_jit_code(Profile& profile, std::vector<uint32_t> locations, const SymbolizeOptions& options,
                          SymbolizeSummary& summary);
  void symbolize_mapping(Profile& profile, uint32_t mapping, const std::vector<uint32_t>& locations,
                         const SymbolizeOptions& options, SymbolizeSummary& summary);
  // Of a function that Cython made: the line of its source, and the name that it has there.
  Line cython_line(Profile& profile, const std::string& system_name, std::string file, int64_t line);
  static void fold_cython_lines(const Profile& profile, std::vector<Line>* lines);
  // `name`: empty to derive it from the system name.
  uint32_t function_index(Profile& profile, const std::string& system_name, const std::string& name,
                          const std::string& filename);

  std::unordered_map<std::string, uint32_t> functions_;  // by system name and file
  CythonSources cython_sources_;
};

}  // namespace memprof::profile
