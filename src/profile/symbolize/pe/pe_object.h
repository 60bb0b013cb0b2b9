// SPDX-License-Identifier: Apache-2.0
// What code of Windows programs is called: by their PDBs, by the DWARF that mingw writes, by symbols and exports.
//
// Model: an address has its names from the first of these that knows it; lines and inlined calls are of PDBs and of DWARF.
//
// Addresses count from the start of the image.
//
// Threads: one object, one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/symbolize/object/object_file.h"
#include "profile/symbolize/pe/pe_file.h"

namespace memprof::profile {

class PeObject : public ObjectFile {
 public:
  explicit PeObject(std::unique_ptr<PeFile> file);

  const std::string& build_id() const override { return file_->build_id(); }
  uint64_t changed_unix_ns() const override { return file_->file().changed_unix_ns; }
  std::optional<uint64_t> vaddr_of_offset(uint64_t offset) const override;
  std::vector<CodeNames> names_of(const std::vector<uint64_t>& vaddrs, const NameSources& sources,
                                  std::vector<std::string>* warnings) const override;

 private:
  std::unique_ptr<PeFile> file_;
};

bool is_pe(std::string_view bytes);
std::unique_ptr<ObjectFile> open_pe(OpenedFile file, const std::string& build_id, std::string* why);
inline constexpr ObjectFormat kPeFormat{is_pe, open_pe};

}  // namespace memprof::profile
