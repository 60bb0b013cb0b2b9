// SPDX-License-Identifier: Apache-2.0
// Finds the PDB of an image: beside the image, where the linker wrote it, and in folders of symbols.  No server is contacted.
//
// Threads: no state.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "profile/symbolize/pdb/pdb_file.h"
#include "profile/symbolize/pe/pe_file.h"

namespace memprof::profile {

// Where the PDB of `image` may lie, the likeliest path first; those that are not on this machine are left out.  Folders of
// symbols are `debug_root` and those in `symbol_path`, which has the form of _NT_SYMBOL_PATH.
std::vector<std::string> pdb_candidates(const PeFile& image, const std::string& debug_root,
                                        const std::string& symbol_path);

// The folder of a PDB in a store of symbols: its GUID and age as "0123456789ABCDEF0123456789ABCDEF1"; empty: not a build id
// of that form.
std::string symbol_store_key(const std::string& build_id);

// nullptr: none is here that belongs to exactly this image; why not, of those that are, is a line of `warnings`.  It looks in
// the folders of the environment's _NT_SYMBOL_PATH, too.
std::unique_ptr<PdbFile> find_pdb(const PeFile& image, const std::string& debug_root,
                                  std::vector<std::string>* warnings);

}  // namespace memprof::profile
