// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/programs/program_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cpu/elf_types.h"
#include "format/path_pattern.h"
#include "format/programs/preloadable.h"
#include "platform/linux/libc/c_library.h"
#include "platform/linux/memory/stack_bounds.h"
#include "platform/memory.h"
#include "platform/process.h"

namespace memprof::platform {
namespace {

constexpr int kMaxInterpreters = 5;   // as the kernel has it
constexpr size_t kScriptBytes = 256;  // that the kernel looks at
constexpr size_t kMaxSegments = 20;
constexpr size_t kMaxDynamic = 512;  // entries
constexpr size_t kMaxNeeded = 64;    // of them libraries; sanitizers come first
constexpr size_t kNameBytes = 32;    // more than any name of a sanitizer's library begins with

class File {
 public:
  // Looked at before: what is opened may be a device, of which the opening is an act.
  File(int folder, const char* path) {
    struct stat status;
    if (syscall(SYS_newfstatat, folder, path, &status, 0) == 0 && S_ISREG(status.st_mode)) {
      fd_ = static_cast<int>(syscall(SYS_openat, folder, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    }
  }
  ~File() {
    if (fd_ >= 0) {
      syscall(SYS_close, fd_);
    }
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  // As much of it as there is.
  size_t read(uint64_t offset, void* bytes, size_t size_bytes) const {
    const long got = fd_ < 0 ? -1 : syscall(SYS_pread64, fd_, bytes, size_bytes, offset);
    return got > 0 ? static_cast<size_t>(got) : 0;
  }
  template <typename T>
  bool read_one(uint64_t offset, T* value) const {
    return read(offset, value, sizeof(T)) == sizeof(T);
  }
  // Its beginning, with a NUL behind it.
  template <size_t kBytes>
  void read_text(uint64_t offset, char (&text)[kBytes]) const {
    text[read(offset, text, kBytes - 1)] = '\0';
  }

 private:
  int fd_ = -1;
};

class Elf {
 public:
  explicit Elf(const File& file) : file_(file) {}

  Preload look() {
    ElfW(Ehdr) header;
    if (!file_.read_one(0, &header)) {
      return Preload::kHarmless;
    }
    if (!is_for_us(header)) {
      return Preload::kOtherCode;
    }
    if (header.e_phentsize != sizeof(segments_[0])) {
      return Preload::kHarmless;
    }
    const size_t count = header.e_phnum < kMaxSegments ? header.e_phnum : kMaxSegments;
    count_ = file_.read(header.e_phoff, segments_, count * sizeof(segments_[0])) / sizeof(segments_[0]);
    const ElfW(Phdr)* const loader = segment_of(PT_INTERP);
    if (loader == nullptr) {
      return Preload::kHarmless;
    }
    const Libc libc = libc_of(*loader);
    return is_sanitized()         ? Preload::kSanitized
           : libc == libc::kOwn   ? Preload::kHarmless
           : libc == Libc::kOther ? Preload::kOtherLibc
                                  : Preload::kSibling;
  }

 private:
  static bool is_for_us(const ElfW(Ehdr) & header) {
    return header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
           header.e_machine == cpu::kElfMachine;
  }

  const ElfW(Phdr) * segment_of(uint32_t type) const {
    for (size_t i = 0; i < count_; ++i) {
      if (segments_[i].p_type == type) {
        return &segments_[i];
      }
    }
    return nullptr;
  }

  Libc libc_of(const ElfW(Phdr) & loader) const {
    char path[kScriptBytes];
    file_.read_text(loader.p_offset, path);
    return libc_of_loader(path);
  }

  // Of what is at this address when it is loaded; 0: nothing of the file.
  uint64_t offset_of(uint64_t address) const {
    for (size_t i = 0; i < count_; ++i) {
      const ElfW(Phdr)& s = segments_[i];
      if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz) {
        return address - s.p_vaddr + s.p_offset;
      }
    }
    return 0;
  }

  template <typename Visit>
  void visit_dynamic(const Visit& visit) const {
    const ElfW(Phdr)* const dynamic = segment_of(PT_DYNAMIC);
    if (dynamic == nullptr) {
      return;
    }
    ElfW(Dyn) entries[32];
    constexpr size_t kAtOnce = sizeof(entries) / sizeof(entries[0]);
    for (size_t i = 0; i < kMaxDynamic; i += kAtOnce) {
      const size_t got = file_.read(dynamic->p_offset + i * sizeof(entries[0]), entries, sizeof(entries));
      for (size_t j = 0; j < kAtOnce; ++j) {
        if ((j + 1) * sizeof(entries[0]) > got || entries[j].d_tag == DT_NULL) {
          return;
        }
        visit(entries[j]);
      }
    }
  }

  bool is_sanitized() {
    uint64_t hash = 0;
    uint32_t needed[kMaxNeeded];
    size_t count = 0;
    visit_dynamic([&](const ElfW(Dyn) & entry) {
      strings_ = entry.d_tag == DT_STRTAB ? offset_of(entry.d_un.d_ptr) : strings_;
      symbols_ = entry.d_tag == DT_SYMTAB ? offset_of(entry.d_un.d_ptr) : symbols_;
      hash = entry.d_tag == DT_GNU_HASH ? offset_of(entry.d_un.d_ptr) : hash;
      if (entry.d_tag == DT_NEEDED && count < kMaxNeeded) {
        needed[count++] = static_cast<uint32_t>(entry.d_un.d_val);
      }
    });
    if (strings_ == 0) {
      return false;
    }
    for (size_t i = 0; i < count; ++i) {
      char name[kNameBytes];
      file_.read_text(strings_ + needed[i], name);
      if (sanitizer_of_library(name) != nullptr) {
        return true;
      }
    }
    HashTable table;
    if (hash == 0 || symbols_ == 0 || !file_.read_one(hash, &table) || table.buckets == 0 ||
        table.bloom_words == 0 || table.bloom_shift >= 32) {
      return false;
    }
    for (const Sanitizer& sanitizer : kSanitizers) {
      if (exports(table, hash + sizeof(table), sanitizer.init)) {
        return true;
      }
    }
    return false;
  }

  // The GNU hash table: this, the words of its Bloom filter, buckets, chains.
  struct HashTable {
    uint32_t buckets, first_symbol, bloom_words, bloom_shift;
  };

  bool exports(const HashTable& table, uint64_t words, const char* name) const {
    uint32_t hash = 5381;
    for (const char* c = name; *c != '\0'; ++c) {
      hash = hash * 33 + static_cast<uint8_t>(*c);
    }
    uint64_t bloom = 0;
    const uint64_t bits = uint64_t{1} << hash % 64 | uint64_t{1} << (hash >> table.bloom_shift) % 64;
    if (!file_.read_one(words + hash / 64 % table.bloom_words * sizeof(bloom), &bloom) ||
        (bloom & bits) != bits) {
      return false;
    }
    const uint64_t buckets = words + uint64_t{table.bloom_words} * sizeof(bloom);
    const uint64_t chains = buckets + uint64_t{table.buckets} * sizeof(uint32_t);
    uint32_t index = 0;
    if (!file_.read_one(buckets + uint64_t{hash % table.buckets} * sizeof(index), &index)) {
      return false;
    }
    constexpr int kMaxInBucket = 64;
    for (int i = 0; i < kMaxInBucket && index >= table.first_symbol; ++i, ++index) {
      uint32_t link = 0;
      if (!file_.read_one(chains + uint64_t{index - table.first_symbol} * sizeof(link), &link)) {
        return false;
      }
      if ((link | 1) == (hash | 1) && is_called(index, name)) {
        return true;
      }
      if ((link & 1) != 0) {
        return false;
      }
    }
    return false;
  }

  bool is_called(uint32_t index, const char* name) const {
    ElfW(Sym) symbol;
    char found[kNameBytes];
    if (!file_.read_one(symbols_ + uint64_t{index} * sizeof(symbol), &symbol)) {
      return false;
    }
    file_.read_text(strings_ + symbol.st_name, found);
    return symbol.st_shndx != SHN_UNDEF && strcmp(found, name) == 0;
  }

  const File& file_;
  ElfW(Phdr) segments_[kMaxSegments];
  size_t count_ = 0;
  uint64_t strings_ = 0;
  uint64_t symbols_ = 0;
};

bool is_elf(const char* beginning) {
  return memcmp(beginning, ELFMAG, SELFMAG) == 0;
}

// `beginning`: of a file that is no ELF file, with a NUL behind it; becomes the path of who runs it.
void to_interpreter(char* beginning) {
  if (beginning[0] != '#' || beginning[1] != '!') {
    memcpy(beginning, "/bin/sh", sizeof("/bin/sh"));  // who runs it, if the C library tries that
    return;
  }
  const char* from = beginning + 2;
  while (*from == ' ' || *from == '\t') {
    ++from;
  }
  char* to = beginning;
  while (*from != '\0' && *from != ' ' && *from != '\t' && *from != '\n' && *from != '\r') {
    *to++ = *from++;
  }
  *to = '\0';
}

[[gnu::noinline]] Preload look_at(const File& file) {
  return Elf(file).look();
}

// `path` is nullptr: what is at `beginning` is it.
Preload look(int folder, const char* path) {
  const int saved_errno = errno;
  char beginning[kScriptBytes + 1];
  Preload found = Preload::kHarmless;
  for (int i = 0; i < kMaxInterpreters; ++i) {
    const File file(i == 0 ? folder : AT_FDCWD, i == 0 ? path : beginning);
    const size_t got = file.read(0, beginning, kScriptBytes);
    if (got < SELFMAG) {
      break;
    }
    beginning[got] = '\0';
    if (is_elf(beginning)) {
      found = look_at(file);
      break;
    }
    to_interpreter(beginning);
  }
  errno = saved_errno;
  return found;
}

// As one that execvp would try.
bool is_candidate(const char* path) {
  struct stat status;
  return syscall(SYS_newfstatat, AT_FDCWD, path, &status, 0) == 0 && S_ISREG(status.st_mode) &&
         (status.st_mode & 0111) != 0;
}

// On a signal stack there may be no room for it.
bool has_room() {
  constexpr uint64_t kBytes = 6 * 1024;  // of preload_into_found, and what the kernel takes
  return stack_left(reinterpret_cast<uint64_t>(__builtin_frame_address(0))) >= kBytes;
}

}  // namespace

Preload preload_into(int folder, const char* path) {
  return is_sandboxed() || !has_room() ? Preload::kHarmless : look(folder, path);
}

Preload preload_into(int file) {
  char path[64] = "/proc/self/fd/";
  if (file < 0) {
    return Preload::kHarmless;
  }
  format_decimal(static_cast<uint64_t>(file), path + strlen(path));
  return preload_into(AT_FDCWD, path);
}

Preload preload_into_found(const char* file) {
  char name[257];  // more than NAME_MAX: such a name is not looked for
  if (is_sandboxed() || !has_room() || !copy_text(file, name, sizeof(name)) || name[0] == '\0') {
    return Preload::kHarmless;
  }
  if (strchr(name, '/') != nullptr) {
    return preload_into(AT_FDCWD, file);
  }
  const char* folders = getenv("PATH");
  folders = folders != nullptr ? folders : "/bin:/usr/bin";
  const size_t name_length = strlen(name);
  while (true) {
    const char* end = folders;
    while (*end != '\0' && *end != ':') {
      ++end;
    }
    const auto length = static_cast<size_t>(end - folders);
    char path[1024];
    if (length + name_length + 2 <= sizeof(path)) {
      memcpy(path, folders, length);
      path[length] = '/';
      memcpy(path + length + (length != 0 ? 1 : 0), name, name_length + 1);  // "" is the current folder
      if (is_candidate(path)) {
        return preload_into(AT_FDCWD, path);
      }
    }
    if (*end == '\0') {
      return Preload::kHarmless;
    }
    folders = end + 1;
  }
}

}  // namespace memprof::platform
