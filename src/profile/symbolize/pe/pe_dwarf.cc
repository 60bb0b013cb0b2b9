// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pe/pe_dwarf.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "profile/symbolize/elf/elf_object.h"
#include "profile/symbolize/elf/elf_writer.h"
#include "profile/symbolize/files/debug_link.h"

namespace memprof::profile {
namespace {

bool has_dwarf(const PeFile& file) {
  return std::any_of(file.sections().begin(), file.sections().end(), [](const PeFile::Section& section) {
    return section.name == ".debug_info" || section.name == ".zdebug_info";
  });
}

// The file that .gnu_debuglink names, beside `file`, in .debug there, or below the folder of debug files; nullptr: it is not
// there, or is not the one.
std::unique_ptr<PeFile> open_linked_file(const PeFile& file, const std::string& debug_root) {
  std::string_view link;
  for (const PeFile::Section& section : file.sections()) {
    if (section.name == ".gnu_debuglink") link = file.bytes_of(section);
  }
  const auto parsed = parse_debug_link(link);
  if (!parsed || parsed->name.find('\\') != std::string::npos) return nullptr;
  for (const std::string& candidate : debug_link_candidates(file.file().path, *parsed, debug_root)) {
    OpenedFile opened;
    std::string why;
    if (!open_file(candidate, &opened, &why)) continue;
    if (debug_link_checksum(opened.bytes()) != parsed->crc) continue;
    auto debug = PeFile::of_file(std::move(opened));
    if (debug != nullptr && has_dwarf(*debug)) return debug;
  }
  return nullptr;
}

// Code and symbols of `file`, debug info of `described`.
std::unique_ptr<ElfFile> as_elf(const PeFile& file, const PeFile& described) {
  ObjectFacts facts;
  for (const PeFile::Section& section : file.sections()) {
    if (section.is_code) facts.code.push_back({file.image_base() + section.address, section.memory_size});
  }
  for (const PeFile::Named& function : file.named_functions()) {
    const uint64_t vaddr = file.image_base() + function.begin;
    for (size_t i = 0; i < facts.code.size(); ++i) {
      if (vaddr < facts.code[i].vaddr || vaddr - facts.code[i].vaddr >= facts.code[i].size) continue;
      facts.symbols.push_back({vaddr, function.end - function.begin, function.name, i, false});
      break;
    }
  }
  for (const PeFile::Section& section : described.sections()) {
    if (section.name.substr(0, 7) != ".debug_" && section.name.substr(0, 8) != ".zdebug_") continue;
    facts.debug.push_back({std::string(section.name), described.bytes_of(section)});
  }
  OpenedFile tables;
  tables.path = described.file().path;
  tables.image = std::make_unique<FileImage>(write_elf(facts));
  tables.is_trusted = described.file().is_trusted;
  return ElfFile::of_file(std::move(tables));
}

std::unique_ptr<ElfFile> no_other_file(const ElfFile& /*file*/, const NameSources& /*sources*/) {
  return nullptr;
}

}  // namespace

std::vector<CodeNames> dwarf_names_of(const PeFile& file, const std::vector<uint64_t>& addresses,
                                      const NameSources& sources, std::vector<std::string>* warnings) {
  std::vector<CodeNames> none(addresses.size());
  if (addresses.empty()) return none;
  const bool is_here = has_dwarf(file);
  const auto linked =
      !is_here && sources.use_debug_files ? open_linked_file(file, sources.debug_root) : nullptr;
  if (!is_here && linked == nullptr) return none;
  auto elf = as_elf(file, linked != nullptr ? *linked : file);
  if (elf == nullptr) return none;
  std::vector<uint64_t> vaddrs;
  for (const uint64_t address : addresses) vaddrs.push_back(file.image_base() + address);
  return ElfObject(std::move(elf), no_other_file).names_of(vaddrs, sources, warnings);
}

}  // namespace memprof::profile
