// SPDX-License-Identifier: Apache-2.0
// The lines of one module of a PDB (C13 line information): of its code, and where the functions begin that are inlined there.
//
// Files are offsets in the string table of the PDB (its stream "/names").
//
// Threads: pure.
// Memory: in proportion to what is asked for.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profile/symbolize/pdb/module_symbols.h"

namespace memprof::profile {

struct PdbLine {
  static constexpr uint32_t kNoFile = UINT32_MAX;

  uint32_t file = kNoFile;  // in the string table
  int64_t line = 0;         // 0: unknown, or code that is of no line
};

class ModuleLines {
 public:
  // `subsections`: the C13 information of a module; they must live as long as the object does.
  explicit ModuleLines(std::string_view subsections);

  // One entry a place; `places` ascend.
  std::vector<PdbLine> lines_of(const std::vector<CodePlace>& places) const;

  // Of each of these inlinees that the module has: the line where it begins, and as `file` the offset that file_of() takes.
  void find_inlinees(std::unordered_map<uint32_t, PdbLine>* inlinees) const;

  // In the string table, of an offset in the module's table of files; kNoFile: there is none.
  uint32_t file_of(uint32_t offset) const;

 private:
  std::vector<std::string_view> lines_;
  std::vector<std::string_view> inlinees_;
  std::string_view files_;
};

}  // namespace memprof::profile
