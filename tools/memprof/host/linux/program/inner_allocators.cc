// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/inner_allocators.h"

#include <elf.h>
#include <gelf.h>
#include <libelf.h>

#include <memory>
#include <set>

#include "format/allocators/allocator_functions.h"
#include "memprof/host/linux/program/elf_symbols.h"
#include "profile/symbolize/files/debug_link.h"
#include "profile/symbolize/object/object_file.h"

namespace memprof::cli {
namespace {

// nullptr: it needs none, or there is none.
std::unique_ptr<profile::ElfFile> open_debug_file(const profile::ElfFile& file, const std::string& root) {
  const std::string& id = file.build_id();
  if (id.size() < 4 || !file.section(".symtab").empty()) return nullptr;
  std::string why;
  return profile::ElfFile::open(profile::debug_path_of_build(root + profile::kDebugRoot, id), &why);
}

template <typename Visit>
void each_function(Elf* elf, const Visit& visit) {
  for (Elf_Scn* section = elf_nextscn(elf, nullptr); section != nullptr;
       section = elf_nextscn(elf, section)) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr ||
        (header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM))
      continue;
    each_symbol(elf, section, header, [&](const char* name, const GElf_Sym& symbol) {
      if (GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF)
        visit(name, symbol.st_value);
    });
  }
}

bool is_hooked_processor(Elf* elf) {
  GElf_Ehdr header;
  return gelf_getehdr(elf, &header) != nullptr && header.e_machine == EM_X86_64;
}

}  // namespace

std::vector<InnerAllocatorFacts> inner_allocators(const profile::ElfFile& file, bool is_program,
                                                  const std::string& root) {
  std::vector<InnerAllocatorFacts> facts;
  AllocatorNames names(is_program);
  const auto debug_file = open_debug_file(file, root);
  const auto each = [&](const auto& visit) {
    each_function(file.handle(), visit);
    if (debug_file != nullptr) each_function(debug_file->handle(), visit);
  };
  each([&](const char* name, uint64_t) { names.note(name); });
  if (names.is_excluded()) return facts;
  std::set<uint64_t> addresses;
  std::vector<bool> gives;
  std::vector<bool> frees;
  each([&](const char* name, uint64_t address) {
    AllocatorSignature signature;
    const int found = names.match(name, &signature);
    if (found < 0 || is_asked_only(signature.call) || !addresses.insert(address).second) return;
    const auto i = static_cast<size_t>(found);
    if (facts.size() < names.count()) {
      facts.resize(names.count());
      gives.resize(names.count());
      frees.resize(names.count());
    }
    ++facts[i].functions;
    if (signature.call == AllocatorCall::kFree)
      frees[i] = true;
    else
      gives[i] = true;
  });
  for (uint32_t i = 0; i < facts.size(); ++i) {
    facts[i].name = names[i].family;
    if (names[i].prefix[0] != '\0') facts[i].name += std::string(" (") + names[i].prefix + ")";
    facts[i].can_be_hooked = gives[i] && frees[i] && is_hooked_processor(file.handle());
  }
  return facts;
}

std::string describe_hooked(const std::vector<InnerAllocatorFacts>& allocators) {
  std::string text;
  for (const InnerAllocatorFacts& a : allocators) {
    if (!a.can_be_hooked) continue;
    text += (text.empty() ? "" : ", ") + a.name + ", " + std::to_string(a.functions) + " functions";
  }
  return text;
}

}  // namespace memprof::cli
