// SPDX-License-Identifier: Apache-2.0
// What code is called by the tables of ELF files: symbols, debug info, and separate files that have what was stripped.
//
// Model: names of functions and lines by the debug info of the file or its debug file; else the symbol.  Functions
// are called as their symbols are, and symbols are those of the file, of its debug file and of .gnu_debugdata.
//
// Threads: one object, one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "profile/symbolize/elf/elf_file.h"
#include "profile/symbolize/object/object_file.h"

namespace memprof::profile {

// Of an ELF file, or of another format whose reader gives its tables as ELF (elf_writer.h).
class ElfObject : public ObjectFile {
 public:
  // Finds the separate file with the debug info of `file`; nullptr: there is none.
  using FindDebug = std::unique_ptr<ElfFile> (*)(const ElfFile& file, const NameSources& sources);

  ElfObject(std::unique_ptr<ElfFile> file, FindDebug find_debug);

  const std::string& build_id() const override { return file_->build_id(); }
  uint64_t changed_unix_ns() const override { return file_->changed_unix_ns(); }
  std::optional<uint64_t> vaddr_of_offset(uint64_t offset) const override {
    return file_->vaddr_of_offset(offset);
  }
  std::vector<CodeNames> names_of(const std::vector<uint64_t>& vaddrs, const NameSources& sources,
                                  std::vector<std::string>* warnings) const override;
  std::optional<std::string> names_depend_on(const NameSources& sources) const override;

 private:
  // What names are read from besides the file; nullptr: it is not there, or not wanted.
  struct Others {
    std::unique_ptr<ElfFile> debug;
    std::unique_ptr<ElfFile> alternate;                    // that dwz moved parts of the debug info to
    std::optional<ElfFile::AlternateLink> alternate_link;  // whether it is there or not
  };
  Others find_others(const NameSources& sources) const;
  const ElfFile& described(const Others& others) const;

  std::unique_ptr<ElfFile> file_;
  FindDebug find_debug_;
  mutable std::optional<Others> found_;  // by names_depend_on(), for names_of()
};

bool is_elf(std::string_view bytes);
std::unique_ptr<ObjectFile> open_elf(OpenedFile file, const std::string& build_id, std::string* why);
inline constexpr ObjectFormat kElfFormat{is_elf, open_elf};

}  // namespace memprof::profile
