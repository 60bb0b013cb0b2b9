// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/code/module_symbols.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace memprof::platform {
namespace {

constexpr size_t kMaxPath = 160;

// The path of the debug file by the build id in memory; "": there is no id.
struct DebugPath {
  explicit DebugPath(const dl_phdr_info& module) {
    for (int i = 0; i < module.dlpi_phnum && text[0] == '\0'; ++i) {
      const ElfW(Phdr)& p = module.dlpi_phdr[i];
      if (p.p_type == PT_NOTE && (p.p_flags & PF_R) != 0) {
        read_notes(module.dlpi_addr + p.p_vaddr, p.p_filesz, p.p_align == 8 ? 8 : 4);
      }
    }
  }

  char text[kMaxPath] = "";

 private:
  void read_notes(uint64_t start, uint64_t size_bytes, uint64_t alignment) {
    const auto aligned = [=](uint64_t n) { return (n + alignment - 1) & ~(alignment - 1); };
    for (uint64_t at = 0; at + sizeof(ElfW(Nhdr)) <= size_bytes;) {
      ElfW(Nhdr) note;
      memcpy(&note, reinterpret_cast<const void*>(start + at), sizeof(note));
      const uint64_t name = at + sizeof(note);
      const uint64_t id = name + aligned(note.n_namesz);
      const uint64_t next = id + aligned(note.n_descsz);
      if (next > size_bytes || next <= at) {
        return;
      }
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          memcmp(reinterpret_cast<const void*>(start + name), "GNU", 4) == 0 && note.n_descsz > 1 &&
          note.n_descsz <= 32) {
        write(reinterpret_cast<const uint8_t*>(start + id), note.n_descsz);
        return;
      }
      at = next;
    }
  }

  void write(const uint8_t* id, uint32_t count) {
    constexpr char kFolder[] = "/usr/lib/debug/.build-id/";
    constexpr char kDigits[] = "0123456789abcdef";
    memcpy(text, kFolder, sizeof(kFolder));
    char* to = text + sizeof(kFolder) - 1;
    for (uint32_t i = 0; i < count; ++i) {
      *to++ = kDigits[id[i] >> 4];
      *to++ = kDigits[id[i] & 15];
      if (i == 0) {
        *to++ = '/';
      }
    }
    memcpy(to, ".debug", sizeof(".debug"));
  }
};

const ElfW(Ehdr) * header_of(const MappedFile& file) {
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(file.at(0, sizeof(ElfW(Ehdr))));
  return header != nullptr && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
                 header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == ELFDATA2LSB
             ? header
             : nullptr;
}

// GNU ld puts symbols that it makes local (hidden ones, those that a version script leaves out) behind those of all files, and a
// file without a name in front of them.  Other linkers put them among those of their files: what they were, is not known.
// A compiler that worked for the linker knew them, too: gcc's has no name for its file, or "<artificial>", LLVM's "ld-temp.o".
uint64_t first_hidden(const ElfW(Sym) * symbols, uint64_t count, const char* names, uint64_t names_bytes) {
  uint64_t first = count;
  for (uint64_t i = 1; i < count && ELF64_ST_BIND(symbols[i].st_info) == STB_LOCAL; ++i) {
    if (ELF64_ST_TYPE(symbols[i].st_info) != STT_FILE || symbols[i].st_name >= names_bytes) {
      continue;
    }
    const char* name = names + symbols[i].st_name;
    const bool is_followed = first != count;
    if (is_followed || strcmp(name, "<artificial>") == 0 || strcmp(name, "ld-temp.o") == 0) {
      return count;
    }
    first = name[0] == '\0' ? i : count;
  }
  return first;
}

}  // namespace

MappedFile::MappedFile(const char* path) {
  const int fd = path[0] != '\0' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  struct stat status;
  if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    const auto size = static_cast<size_t>(status.st_size);
    void* start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (start != MAP_FAILED) {
      start_ = static_cast<const uint8_t*>(start);
      size_bytes_ = size;
    }
  }
  if (fd >= 0) {
    close(fd);
  }
}

MappedFile::~MappedFile() {
  if (start_ != nullptr) {
    munmap(const_cast<uint8_t*>(start_), size_bytes_);
  }
}

ModuleSymbols::ModuleSymbols(const dl_phdr_info& module, const char* path)
    : module_(module), file_(path), debug_file_(DebugPath(module).text) {
  is_readable_ = is_same();
  if (!is_readable_) {
    return;
  }
  add_tables(file_, false);
  if (!has_symtab_) {
    add_tables(debug_file_, true);
  }
  drop_what_is_twice();
  for (uint32_t i = 0; i < table_count_; ++i) {
    count_ += tables_[i].count;
  }
}

// Linkers put .dynsym into .symtab, too, among its global ones, but for a few that they make themselves.  A tool may have
// left a part of .symtab only.
void ModuleSymbols::drop_what_is_twice() {
  uint64_t globals = 0;
  for (uint32_t i = 0; i < table_count_; ++i) {
    globals = tables_[i].is_dynamic || tables_[i].globals < globals ? globals : tables_[i].globals;
  }
  uint32_t kept = 0;
  for (uint32_t i = 0; i < table_count_; ++i) {
    constexpr uint64_t kFew = 64;
    if (!tables_[i].is_dynamic || tables_[i].globals - tables_[i].globals / kFew > globals) {
      tables_[kept++] = tables_[i];
    }
  }
  table_count_ = kept;
}

bool ModuleSymbols::is_same() const {
  const ElfW(Ehdr)* header = header_of(file_);
  if (header == nullptr || header->e_phentsize != sizeof(ElfW(Phdr)) ||
      header->e_phnum != module_.dlpi_phnum) {
    return false;
  }
  const uint64_t bytes = uint64_t{header->e_phnum} * sizeof(ElfW(Phdr));
  const uint8_t* headers = file_.at(header->e_phoff, bytes);
  return headers != nullptr && memcmp(headers, module_.dlpi_phdr, bytes) == 0;
}

void ModuleSymbols::add_tables(const MappedFile& file, bool is_debug) {
  const ElfW(Ehdr)* header = header_of(file);
  if (header == nullptr || header->e_shentsize != sizeof(ElfW(Shdr))) {
    return;
  }
  const auto* sections = reinterpret_cast<const ElfW(Shdr)*>(
      file.at(header->e_shoff, uint64_t{header->e_shnum} * sizeof(ElfW(Shdr))));
  for (uint32_t i = 0; sections != nullptr && i < header->e_shnum && table_count_ < kMaxTables; ++i) {
    const ElfW(Shdr)& s = sections[i];
    if ((s.sh_type != SHT_SYMTAB && (s.sh_type != SHT_DYNSYM || is_debug)) ||
        s.sh_entsize != sizeof(ElfW(Sym)) || s.sh_link >= header->e_shnum) {
      continue;
    }
    const ElfW(Shdr)& n = sections[s.sh_link];
    const uint8_t* symbols = file.at(s.sh_offset, s.sh_size);
    const uint8_t* names = file.at(n.sh_offset, n.sh_size);
    if (symbols == nullptr || names == nullptr || n.sh_type != SHT_STRTAB || n.sh_size == 0 ||
        names[n.sh_size - 1] != '\0' || reinterpret_cast<uint64_t>(symbols) % alignof(ElfW(Sym)) != 0) {
      continue;
    }
    has_symtab_ = has_symtab_ || s.sh_type == SHT_SYMTAB;
    const uint64_t count = s.sh_size / sizeof(ElfW(Sym));
    tables_[table_count_++] = {reinterpret_cast<const ElfW(Sym)*>(symbols),
                               count,
                               reinterpret_cast<const char*>(names),
                               n.sh_size,
                               s.sh_type == SHT_DYNSYM,
                               s.sh_info < count ? count - s.sh_info : 0,
                               first_hidden(reinterpret_cast<const ElfW(Sym)*>(symbols), count,
                                            reinterpret_cast<const char*>(names), n.sh_size)};
  }
}

bool ModuleSymbols::is_code(uint64_t address, uint64_t size_bytes) const {
  const uint64_t offset = address - module_.dlpi_addr;
  for (int i = 0; i < module_.dlpi_phnum; ++i) {
    const ElfW(Phdr)& p = module_.dlpi_phdr[i];
    if (p.p_type == PT_LOAD && offset >= p.p_vaddr && offset - p.p_vaddr <= p.p_filesz &&
        size_bytes <= p.p_filesz - (offset - p.p_vaddr)) {
      const uint8_t* in_file = file_.at(p.p_offset + (offset - p.p_vaddr), size_bytes);
      return (p.p_flags & PF_X) != 0 && (p.p_flags & PF_R) != 0 && in_file != nullptr &&
             memcmp(in_file, reinterpret_cast<const void*>(address), size_bytes) == 0;
    }
  }
  return false;
}

}  // namespace memprof::platform
