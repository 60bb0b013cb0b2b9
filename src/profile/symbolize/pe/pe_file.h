// SPDX-License-Identifier: Apache-2.0
// One file of Windows programs (PE, x86-64): its build id, and the names of its functions by its symbols (which mingw
// writes) and exports.  Files are not trusted: what lies outside the file, or is not what it says, is as if it were not there.
//
// Model: an address belongs to the function in whose entry of .pdata it lies; a part that was moved away (.cold) names the
// entry that it belongs to.  The function is called as the symbol is that lies at its beginning.  There is no "nearest" symbol:
// of functions that are neither exported nor have a symbol nothing is known.  PDBs are not read.
//
// Addresses count from the start of the image.
//
// Threads: one object, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profile/symbolize/object/object_file.h"

namespace memprof::profile {

class PeFile : public ObjectFile {
 public:
  // nullptr: no such file.
  static std::unique_ptr<PeFile> of_file(OpenedFile file);

  // GUID and age of the PDB, else time stamp and size of the image.
  const std::string& build_id() const override { return build_id_; }
  uint64_t changed_unix_ns() const override { return file_.changed_unix_ns; }
  std::optional<uint64_t> vaddr_of_offset(uint64_t offset) const override;
  std::vector<CodeNames> names_of(const std::vector<uint64_t>& vaddrs, const NameSources& sources,
                                  std::vector<std::string>* warnings) const override;

  // The function at an address.  false: there is none, or nothing is known of it.
  bool find(uint32_t address, std::string* name) const;

 private:
  struct Section {
    uint32_t address;
    uint32_t size;  // of what is in the file
    uint32_t offset;
    bool is_code;
  };
  struct Function {
    uint32_t begin;
    uint32_t end;
    uint32_t unwind;
  };
  struct Symbol {
    uint32_t address;
    std::string_view name;
    uint32_t order = 0;  // in which it was read
  };

  explicit PeFile(OpenedFile file) : file_(std::move(file)) {}
  bool read();
  void read_build_id(uint32_t time_stamp, uint32_t image_bytes);
  void read_functions();
  void read_symbols(uint32_t offset, uint32_t count);
  void read_exports();

  // `size` bytes at an offset in the file, or at an address of the image; nullptr: they are not there.
  const char* at_offset(uint64_t offset, uint64_t size) const;
  const char* at_address(uint32_t address, uint64_t size) const;
  std::string_view text_at(uint32_t address) const;
  std::string_view text_at_offset(uint64_t offset) const;
  struct Directory {
    uint32_t address;
    uint32_t size;
  };
  Directory directory(uint32_t index) const;

  const Function* function_at(uint32_t address) const;
  const Function* whole_of(const Function* part) const;
  const Symbol* symbol_in(uint32_t first, uint32_t last) const;

  OpenedFile file_;
  std::string build_id_;
  std::vector<Section> sections_;
  std::vector<Directory> directories_;
  std::vector<Function> functions_;  // by begin
  std::vector<Symbol> symbols_;      // by address; of several the first is the one that people know
};

bool is_pe(std::string_view bytes);
std::unique_ptr<ObjectFile> open_pe(OpenedFile file, const std::string& build_id, std::string* why);
inline constexpr ObjectFormat kPeFormat{is_pe, open_pe};

}  // namespace memprof::profile
