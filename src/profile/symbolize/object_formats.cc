// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/object_formats.h"

#include <utility>

#include "profile/symbolize/elf/elf_object.h"
#include "profile/symbolize/macho/macho_file.h"
#include "profile/symbolize/pe/pe_object.h"

namespace memprof::profile {
namespace {

constexpr const ObjectFormat* kFormats[] = {&kElfFormat, &kMachOFormat, &kPeFormat};

}  // namespace

std::unique_ptr<ObjectFile> open_object_file(const std::string& path, const std::string& build_id,
                                             std::string* why) {
  OpenedFile file;
  if (!open_file(path, &file, why)) return nullptr;
  for (const ObjectFormat* format : kFormats) {
    if (format->is_one(file.bytes())) return format->open(std::move(file), build_id, why);
  }
  *why = "not an ELF, Mach-O or PE file";
  return nullptr;
}

}  // namespace memprof::profile
