// SPDX-License-Identifier: Apache-2.0
// One file of Windows programs (PE, x86-64): its build id, its sections, and the names of its functions by its symbols (which
// mingw writes) and exports.  Files are not trusted: what lies outside the file, or is not what it says, is as if it were not
// there.
//
// Model: an address belongs to the function in whose entry of .pdata it lies; a part that was moved away (.cold) names the
// entry that it belongs to.  The function is called as the symbol is that lies at its beginning.  There is no "nearest" symbol:
// of functions that are neither exported nor have a symbol nothing is known here.
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

#include "profile/symbolize/files/opened_file.h"

namespace memprof::profile {

class PeFile {
 public:
  // nullptr: no such file.
  static std::unique_ptr<PeFile> of_file(OpenedFile file);

  PeFile(const PeFile&) = delete;
  PeFile& operator=(const PeFile&) = delete;

  const OpenedFile& file() const { return file_; }
  // GUID and age of the PDB, else time stamp and size of the image.
  const std::string& build_id() const { return build_id_; }
  // As the linker wrote it, a path of Windows or of another system; empty: the file names none.
  const std::string& pdb_path() const { return pdb_path_; }
  // Where the image would lie by itself; debug info counts from there.
  uint64_t image_base() const { return image_base_; }

  // The function at an address.  false: there is none, or nothing is known of it.
  bool find(uint32_t address, std::string* name) const;

  // Where a symbol stands that names the code at an address: the last one in [part, address], else one at `whole`.
  struct Bounds {
    uint32_t part;
    uint32_t whole;
  };
  // Nothing: the address is in no function.
  std::optional<Bounds> bounds_of(uint32_t address) const;

  struct Section {
    std::string_view name;
    uint32_t address;
    uint32_t size;  // of what is in the file
    uint32_t offset;
    uint32_t memory_size;
    bool is_code;
  };
  const std::vector<Section>& sections() const { return sections_; }
  // Without what fills it up in the file; empty: it has none there.
  std::string_view bytes_of(const Section& section) const;

  struct Named {
    uint32_t begin;
    uint32_t end;
    std::string_view name;
  };
  // The functions that have symbols at their beginnings.
  std::vector<Named> named_functions() const;

 private:
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
  void read_sections(uint64_t headers_at, uint32_t count, uint64_t strings_at);
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
  std::string pdb_path_;
  uint64_t image_base_ = 0;
  std::vector<Section> sections_;
  std::vector<Directory> directories_;
  std::vector<Function> functions_;  // by begin
  std::vector<Symbol> symbols_;      // by address; of several the first is the one that people know
};

}  // namespace memprof::profile
