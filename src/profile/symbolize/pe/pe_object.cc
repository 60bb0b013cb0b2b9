// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pe/pe_object.h"

#include <utility>

#include "profile/symbolize/pdb/pdb_file.h"
#include "profile/symbolize/pe/pdb_search.h"
#include "profile/symbolize/pe/pe_dwarf.h"

namespace memprof::profile {
namespace {

// Of the addresses that have no lines yet.
void add_dwarf_names(const PeFile& file, const std::vector<uint64_t>& vaddrs, const NameSources& sources,
                     std::vector<std::string>* warnings, std::vector<CodeNames>* names) {
  std::vector<uint64_t> unknown;
  std::vector<size_t> indices;
  for (size_t i = 0; i < vaddrs.size(); ++i) {
    if ((*names)[i].has_lines) continue;
    unknown.push_back(vaddrs[i]);
    indices.push_back(i);
  }
  std::vector<CodeNames> found = dwarf_names_of(file, unknown, sources, warnings);
  for (size_t i = 0; i < found.size(); ++i) {
    CodeNames& result = (*names)[indices[i]];
    if (found[i].has_lines || result.names.empty()) result = std::move(found[i]);
  }
}

std::string public_at(const PdbFile& pdb, const PeFile& file, uint32_t address) {
  const auto bounds = file.bounds_of(address);
  if (!bounds) return {};
  std::string name = pdb.public_in(bounds->part, address);
  return name.empty() ? pdb.public_in(bounds->whole, bounds->whole) : name;
}

}  // namespace

PeObject::PeObject(std::unique_ptr<PeFile> file) : file_(std::move(file)) {}

// The system lays an image out as a whole.
std::optional<uint64_t> PeObject::vaddr_of_offset(uint64_t offset) const {
  return offset <= UINT32_MAX ? std::optional<uint64_t>(offset) : std::nullopt;
}

std::vector<CodeNames> PeObject::names_of(const std::vector<uint64_t>& vaddrs, const NameSources& sources,
                                          std::vector<std::string>* warnings) const {
  std::vector<CodeNames> names(vaddrs.size());
  const auto pdb = sources.use_debug_files ? find_pdb(*file_, sources.debug_root, warnings) : nullptr;
  if (pdb != nullptr) {
    const std::vector<uint32_t> addresses(vaddrs.begin(), vaddrs.end());
    names = pdb->names_of(addresses, sources.use_debug_info);
  }
  if (sources.use_debug_info) add_dwarf_names(*file_, vaddrs, sources, warnings, &names);
  std::string name;
  for (size_t i = 0; i < vaddrs.size(); ++i) {
    const auto address = static_cast<uint32_t>(vaddrs[i]);
    if (!names[i].names.empty()) continue;
    if (!file_->find(address, &name)) name = pdb != nullptr ? public_at(*pdb, *file_, address) : "";
    if (!name.empty()) names[i].names.push_back({name, true, "", 0});
  }
  return names;
}

bool is_pe(std::string_view bytes) {
  return bytes.substr(0, 2) == "MZ";
}

// Who has no build id of it is not of Windows: a profile of wine itself has offsets in the file, not in the image.
std::unique_ptr<ObjectFile> open_pe(OpenedFile file, const std::string& build_id, std::string* why) {
  auto pe = PeFile::of_file(std::move(file));
  if (pe == nullptr) {
    *why = "not a file of a Windows program for x86-64";
    return nullptr;
  }
  if (build_id.empty()) {
    *why = "a file of a Windows program, of which the profile has no build id";
    return nullptr;
  }
  return std::make_unique<PeObject>(std::move(pe));
}

}  // namespace memprof::profile
