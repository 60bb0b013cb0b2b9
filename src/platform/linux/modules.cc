// SPDX-License-Identifier: Apache-2.0
// find_module of the seam: _dl_find_object (glibc 2.35 and later: lock-free, 5 to 11 ns), then the program
// headers that the module has in memory.
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

#include "core/platform.h"
#include "platform/linux/stack_bounds.h"

// Weak: an older C library has none; frames then have no module until a later version of ours looks
// elsewhere.
extern "C" int _dl_find_object(void* address, struct dl_find_object* result) noexcept __attribute__((weak));

namespace memprof::platform {
namespace {

constexpr uint64_t kMostHeaders = 128;

uint64_t align_up(uint64_t n, uint64_t alignment) {
  return (n + alignment - 1) & ~(alignment - 1);
}

bool read_build_id(const ElfW(Phdr) & segment, uint64_t bias, ModuleInfo* info) {
  const uint64_t alignment = segment.p_align == 8 ? 8 : 4;
  uint64_t at = bias + segment.p_vaddr;
  const uint64_t end = at + segment.p_memsz;
  while (at + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) note;
    memcpy(&note, reinterpret_cast<const void*>(at), sizeof(note));
    const uint64_t name = at + sizeof(note);
    const uint64_t content = align_up(name + note.n_namesz, alignment);
    if (content > end || note.n_descsz > end - content) {
      return false;
    }
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
        memcmp(reinterpret_cast<const void*>(name), "GNU", 4) == 0) {
      info->build_id_size = note.n_descsz < kMaxBuildIdBytes ? note.n_descsz : kMaxBuildIdBytes;
      memcpy(info->build_id, reinterpret_cast<const void*>(content), info->build_id_size);
      return true;
    }
    at = align_up(content + note.n_descsz, alignment);
  }
  return false;
}

// Is [at, at + size) inside a loaded, readable segment?  A module may lie about its notes.
bool is_loaded(const ElfW(Phdr) * headers, uint64_t count, uint64_t at, uint64_t size) {
  for (uint64_t i = 0; i < count; ++i) {
    const ElfW(Phdr)& h = headers[i];
    if (h.p_type == PT_LOAD && (h.p_flags & PF_R) != 0 && at >= h.p_vaddr && size <= h.p_filesz &&
        at - h.p_vaddr <= h.p_filesz - size) {
      return true;
    }
  }
  return false;
}

// The mapping of a profile is a segment: only within one does a file offset follow from an address.
void narrow_to_segment(const ElfW(Phdr) * headers, uint64_t count, uint64_t address, ModuleInfo* info) {
  constexpr uint64_t kPage = 4096;
  for (uint64_t i = 0; i < count; ++i) {
    const ElfW(Phdr)& h = headers[i];
    const uint64_t start = info->bias + h.p_vaddr;
    if (h.p_type == PT_LOAD && address >= start && address - start < h.p_memsz) {
      const uint64_t lead = h.p_vaddr % kPage;
      info->limit = align_up(start + h.p_memsz, kPage);
      info->start = start - lead;
      info->file_offset = h.p_offset >= lead ? h.p_offset - lead : 0;
      return;
    }
  }
}

}  // namespace

bool find_module(uint64_t address, ModuleInfo* info) {
  dl_find_object found;
  if (&_dl_find_object == nullptr || _dl_find_object(reinterpret_cast<void*>(address), &found) != 0) {
    return false;
  }
  const link_map* map = found.dlfo_link_map;
  *info = {};
  const uint64_t base = reinterpret_cast<uint64_t>(found.dlfo_map_start);
  info->start = base;
  info->limit = reinterpret_cast<uint64_t>(found.dlfo_map_end);
  info->bias = map->l_addr;
  info->path = map->l_name != nullptr && map->l_name[0] != '\0' ? map->l_name : program_path();

  // The ELF header is the start of the first segment in what every linker makes; elsewhere there is no build
  // id.
  ElfW(Ehdr) header;
  if (!is_readable(base)) {
    return true;
  }
  memcpy(&header, reinterpret_cast<const void*>(base), sizeof(header));
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_phentsize != sizeof(ElfW(Phdr)) ||
      header.e_phnum > kMostHeaders || header.e_phoff + header.e_phnum * sizeof(ElfW(Phdr)) > 4096) {
    return true;
  }
  const auto* headers = reinterpret_cast<const ElfW(Phdr)*>(base + header.e_phoff);
  narrow_to_segment(headers, header.e_phnum, address, info);
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    if (headers[i].p_type == PT_NOTE &&
        is_loaded(headers, header.e_phnum, headers[i].p_vaddr, headers[i].p_memsz) &&
        read_build_id(headers[i], info->bias, info)) {
      break;
    }
  }
  return true;
}

bool find_symbol(uint64_t address, const char** name, uint64_t* start) {
  Dl_info info;
  void* entry = nullptr;
  if (dladdr1(reinterpret_cast<void*>(address), &info, &entry, RTLD_DL_SYMENT) == 0 ||
      info.dli_sname == nullptr || entry == nullptr) {
    return false;
  }
  // dladdr takes the nearest symbol below; a static function after it has its address, not its name.
  const auto* symbol = static_cast<const ElfW(Sym)*>(entry);
  const uint64_t begin = reinterpret_cast<uint64_t>(info.dli_saddr);
  if (address < begin || address - begin >= symbol->st_size) {
    return false;
  }
  *name = info.dli_sname;
  *start = begin;
  return true;
}

}  // namespace memprof::platform
