// SPDX-License-Identifier: Apache-2.0
// Reads any bytes as a PDB, and asks it for names of code all over its sections.
//
// Corpus: corpus/pdb, small PDBs (in one piece, in scattered blocks, /DEBUG:FASTLINK), one of lld, and damaged ones.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "profile/symbolize/pdb/pdb_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace memprof::profile;
  OpenedFile file;
  file.image = std::make_unique<FileImage>(std::vector<char>(data, data + size));
  std::string why;
  const auto pdb = PdbFile::of_file(std::move(file), &why);
  if (pdb == nullptr) {
    if (why.empty()) std::abort();
    return 0;
  }
  std::vector<uint32_t> addresses;
  for (uint32_t address = 0xff0; address < 0x3000; address += 8) addresses.push_back(address);
  for (const bool use_lines : {false, true}) {
    for (const CodeNames& names : pdb->names_of(addresses, use_lines)) {
      for (const CodeName& name : names.names) {
        if (name.name.empty() || name.line < 0) std::abort();
      }
    }
  }
  for (const uint32_t address : addresses) pdb->public_in(address, address + 0x100);
  return 0;
}
