// SPDX-License-Identifier: Apache-2.0
// A PDB: what Microsoft's linker, and lld, know of the code of one image: functions, lines, inlined calls, public symbols.
//
// Model: address -> section and offset -> contribution of a module (object file) -> that module's functions, inlined calls
// and lines.  What no module describes has a public symbol at best.  Of modules only those are read in which addresses lie.
//
// Files are not trusted: what lies outside the file, or is not what it says, is as if it were not there.
//
// Addresses count from the start of the image.
//
// Threads: one object, one thread.
// Memory: the list of modules, one module at a time, and what is given.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profile/symbolize/object/object_file.h"
#include "profile/symbolize/pdb/module_symbols.h"
#include "profile/symbolize/pdb/msf_file.h"

namespace memprof::profile {

class FunctionIds;
class ModuleLines;

class PdbFile {
 public:
  // nullptr: it cannot be used, and *why says so.
  static std::unique_ptr<PdbFile> of_file(OpenedFile file, std::string* why);
  ~PdbFile();

  // GUID and age as an image has them: 20 bytes in lower-case hex.
  const std::string& build_id() const { return build_id_; }

  // Why its names and lines cannot be used, though it belongs to the image (/DEBUG:FASTLINK); empty: they can be.
  const std::string& refusal() const { return refusal_; }

  // One entry an address, in any order; no names where no module describes a function.  `use_lines`: false for names of
  // functions only.
  std::vector<CodeNames> names_of(const std::vector<uint32_t>& addresses, bool use_lines) const;

  // The public symbol of the last address in [first, last]; empty: there is none.
  std::string public_in(uint32_t first, uint32_t last) const;

 private:
  struct Section {
    uint32_t address;
    uint32_t size;
  };
  struct Module {
    uint32_t stream;
    uint32_t symbol_bytes;
    uint32_t other_bytes;  // between symbols and lines
    uint32_t line_bytes;
  };
  struct Asked {
    CodePlace place;
    uint32_t module;
    size_t index;  // of the address
  };

  explicit PdbFile(OpenedFile file) : file_(std::move(file)) {}
  bool read(std::string* why);
  void read_info();
  void read_named_streams(std::string_view info);
  void read_modules(std::string_view modules);
  void read_sections(std::string_view debug_streams);

  CodePlace place_of(uint32_t address) const;
  void find_modules(std::vector<Asked>* asked) const;
  void name_module(const Module& module, const Asked* first, const Asked* last, bool use_lines,
                   FunctionIds* ids, std::vector<CodeNames>* names) const;
  std::string file_name(uint32_t offset) const;

  OpenedFile file_;
  std::unique_ptr<MsfFile> msf_;
  std::string build_id_;
  std::string refusal_;
  std::vector<Section> sections_;  // as CodeView counts them, less 1
  std::vector<Module> modules_;
  MsfStream names_;  // strings
  MsfStream debug_;  // DBI
  uint64_t contributions_at_ = 0;
  uint32_t contributions_bytes_ = 0;
  uint32_t public_stream_ = 0;
  uint32_t symbol_stream_ = 0;
};

}  // namespace memprof::profile
