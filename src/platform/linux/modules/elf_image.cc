// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/modules/elf_image.h"

#include <dlfcn.h>
#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

#include <atomic>

#include "platform/linux/memory/mappings.h"
#include "platform/linux/memory/stack_bounds.h"
#include "platform/linux/modules/module_map.h"
#include "platform/memory.h"
#include "platform/memory_areas.h"
#include "platform/process.h"

// MEMPROF_MODULE_MAP: never ask the C library (for tests, and where its headers do not declare the function).
#if defined(DLFO_STRUCT_HAS_EH_DBASE) && !defined(MEMPROF_MODULE_MAP)
#define MEMPROF_HAS_FIND_OBJECT 1
#else
#define MEMPROF_HAS_FIND_OBJECT 0
#endif

namespace memprof::platform {
namespace {

#if MEMPROF_HAS_FIND_OBJECT
// Looked up by name: the linker would note even a weak reference as a need for that version of the C library.
using FindObject = int (*)(void*, dl_find_object*);
std::atomic<FindObject> g_find_object{nullptr};  // relaxed: whoever looks it up finds the same

// Modules whose first page was found readable, for the time in a sandbox, when nothing can be asked.  The loader's entry and
// the address tell a module: who is loaded there has its first page there.
class ReadableModules {
 public:
  void note(const link_map* map, uint64_t base) {
    std::atomic<uint64_t>* const place = place_of(base);
    uint64_t before = 0;
    if (place == nullptr || (place->load(std::memory_order_relaxed) != base &&
                             !place->compare_exchange_strong(before, base, std::memory_order_relaxed))) {
      return;
    }
    maps_[place - bases_].store(map, std::memory_order_relaxed);
  }

  bool contains(const link_map* map, uint64_t base) {
    std::atomic<uint64_t>* const place = place_of(base);
    return place != nullptr && place->load(std::memory_order_relaxed) == base &&
           maps_[place - bases_].load(std::memory_order_relaxed) == map;
  }

 private:
  static constexpr uint64_t kPlaces = 1024;
  static constexpr uint64_t kTries = 8;

  // Where it is, or may be; nullptr: there is no room.
  std::atomic<uint64_t>* place_of(uint64_t base) {
    const uint64_t hash = base / kSmallestPage * 0x9e3779b97f4a7c15 >> 32;
    for (uint64_t i = 0; i < kTries; ++i) {
      std::atomic<uint64_t>& place = bases_[(hash + i) % kPlaces];
      const uint64_t there = place.load(std::memory_order_relaxed);
      if (there == base || there == 0) {
        return &place;
      }
    }
    return nullptr;
  }

  std::atomic<uint64_t>
      bases_[kPlaces];  // 0: free; both relaxed: what they say of each other is checked by the caller's map
  std::atomic<const link_map*> maps_[kPlaces];
};
ReadableModules g_readable;

void find_headers_at(uint64_t base, const link_map* map, ElfImage* image) {
  if (is_sandboxed() ? !g_readable.contains(map, base) : !is_readable(base)) {
    return;
  }
  g_readable.note(map, base);
  ElfW(Ehdr) header;
  memcpy(&header, reinterpret_cast<const void*>(base), sizeof(header));
  // A module may lie about its size: headers are only believed in the page that was found readable.
  if (memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_phentsize == sizeof(ElfW(Phdr)) &&
      header.e_phnum <= kMaxHeaders && header.e_phoff <= kSmallestPage &&
      header.e_phnum * sizeof(ElfW(Phdr)) <= kSmallestPage - header.e_phoff) {
    image->headers = reinterpret_cast<const ElfW(Phdr)*>(base + header.e_phoff);
    image->header_count = header.e_phnum;
  }
}

bool ask_the_loader(FindObject find_object, uint64_t address, ElfImage* image) {
  dl_find_object found;
  if (find_object(reinterpret_cast<void*>(address), &found) != 0) {
    return false;
  }
  const link_map* map = found.dlfo_link_map;
  *image = {};
  image->map_start = reinterpret_cast<uint64_t>(found.dlfo_map_start);
  image->map_end = reinterpret_cast<uint64_t>(found.dlfo_map_end);
  image->bias = map->l_addr;
  image->eh_frame = reinterpret_cast<uint64_t>(found.dlfo_eh_frame);
  if (map->l_name != nullptr && map->l_name[0] != '\0') {
    image->path = map->l_name;
    find_headers_at(map->l_addr, map, image);
  } else {
    image->path = program_path();
    image->headers = reinterpret_cast<const ElfW(Phdr)*>(getauxval(AT_PHDR));
    image->header_count = image->headers != nullptr ? getauxval(AT_PHNUM) : 0;
  }
  if (image->headers == nullptr && image->map_start != map->l_addr) {
    find_headers_at(image->map_start, map, image);
  }
  return true;
}
#endif

bool ask_the_map(uint64_t address, ElfImage* image) {
  LoadedSegment segment;
  if (!g_module_map.find(address, &segment)) {
    return false;
  }
  *image = {};
  image->map_start = segment.start;
  image->map_end = segment.limit;
  image->bias = segment.bias;
  image->path = segment.path;
  image->eh_frame = segment.eh_frame;
  image->headers = reinterpret_cast<const ElfW(Phdr)*>(segment.headers);
  image->header_count = segment.header_count;
  return true;
}

}  // namespace

// Of a program that links the engine without the hooks, which call it earlier.
__attribute__((constructor)) void find_loader_functions() {
#if MEMPROF_HAS_FIND_OBJECT
  g_find_object.store(reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object")),
                      std::memory_order_relaxed);
#endif
}

bool find_elf(uint64_t address, ElfImage* image) {
#if MEMPROF_HAS_FIND_OBJECT
  if (const FindObject find_object = g_find_object.load(std::memory_order_relaxed)) {
    return ask_the_loader(find_object, address, image);
  }
#endif
  return ask_the_map(address, image);
}

void know_modules() {
#if MEMPROF_HAS_FIND_OBJECT
  constexpr size_t kBufferBytes = MappingReader::kMinBufferBytes * 2;
  auto* const buffer = static_cast<char*>(reserve_pages(kBufferBytes));
  if (buffer == nullptr) {
    return;
  }
  MappingReader reader("/proc/self/maps", buffer, kBufferBytes);
  Mapping mapping;
  ElfImage image;
  while (reader.is_open() && reader.next(&mapping)) {
    if (mapping.is_executable && mapping.inode != 0) {
      static_cast<void>(find_elf(mapping.start, &image));
    }
  }
  release_pages(buffer, kBufferBytes);
#endif
}

const ElfW(Phdr) * find_segment(const ElfImage& image, uint64_t address) {
  for (uint64_t i = 0; i < image.header_count; ++i) {
    const ElfW(Phdr)& h = image.headers[i];
    if (h.p_type == PT_LOAD && (h.p_flags & PF_R) != 0 && address - (image.bias + h.p_vaddr) < h.p_memsz) {
      return &h;
    }
  }
  return nullptr;
}

bool find_unwind_image(uint64_t address, unwind::Image* image) {
  ElfImage elf;
  if (!find_elf(address, &elf) || elf.eh_frame == 0) {
    return false;
  }
  const ElfW(Phdr)* segment = find_segment(elf, elf.eh_frame);
  if (segment != nullptr) {
    const uint64_t start = elf.bias + segment->p_vaddr;
    *image = {elf.eh_frame, start, start + segment->p_filesz};
  } else {
    *image = {elf.eh_frame, elf.map_start, elf.map_end};
  }
  return true;
}

}  // namespace memprof::platform
