// SPDX-License-Identifier: Apache-2.0
// find_module, forget_code and find_symbol of the seam.
#include <elf.h>
#include <link.h>
#include <string.h>

#include "platform/linux/libc/c_library.h"
#include "platform/linux/modules/elf_image.h"
#include "platform/linux/modules/module_map.h"
#include "platform/memory_areas.h"
#include "platform/modules.h"
#include "platform/stack.h"
#include "unwind/tables/rule_cache.h"

namespace memprof::platform {
namespace {

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

// Is the whole of a note segment inside a loaded one?  A module may lie about its notes.
bool is_loaded(const ElfImage& elf, const ElfW(Phdr) & note) {
  const ElfW(Phdr)* segment = find_segment(elf, elf.bias + note.p_vaddr);
  if (segment == nullptr) {
    return false;
  }
  const uint64_t offset = note.p_vaddr - segment->p_vaddr;
  return offset <= segment->p_filesz && note.p_memsz <= segment->p_filesz - offset;
}

// The loader knows a library that was opened by a relative path by that one, which is of the folder that the process
// was in then. The kernel knows the whole path.
const char* whole_path(uint64_t address, const char* path) {
  LoadedSegment segment;
  return path[0] != '/' && g_module_map.find(address, &segment) && segment.path[0] == '/' ? segment.path
                                                                                          : path;
}

}  // namespace

bool find_module(uint64_t address, ModuleInfo* info) {
  ElfImage elf;
  if (!find_elf(address, &elf)) {
    return false;
  }
  *info = {};
  info->start = elf.map_start;
  info->limit = elf.map_end;
  info->bias = elf.bias;
  info->path = whole_path(address, elf.path);
  // The mapping of a profile is a segment: only within one does a file offset follow from an address.
  if (const ElfW(Phdr)* segment = find_segment(elf, address)) {
    const uint64_t start = elf.bias + segment->p_vaddr;
    const uint64_t lead = segment->p_vaddr % kSmallestPage;
    info->start = start - lead;
    info->limit = align_up(start + segment->p_memsz, kSmallestPage);
    info->file_offset = segment->p_offset >= lead ? segment->p_offset - lead : 0;
  }
  for (uint64_t i = 0; i < elf.header_count; ++i) {
    const ElfW(Phdr)& h = elf.headers[i];
    if (h.p_type == PT_NOTE && is_loaded(elf, h) && read_build_id(h, elf.bias, info)) {
      break;
    }
  }
  return true;
}

void forget_code() {
  unwind::g_rule_cache.begin_unload();
  unwind::g_rule_cache.end_unload();
}

bool find_symbol(uint64_t address, const char** name, uint64_t* start) {
  return libc::find_symbol(address, name, start);
}

}  // namespace memprof::platform
