// SPDX-License-Identifier: Apache-2.0
// An ELF file of the machine, mapped as the loader would (but not relocated: unwind tables are relative), and
// what elfutils says of its unwind tables.
//
// Failure: ok() is false for a file that is not there or has no unwind tables.
#pragma once

#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "unwind/tables/eh_frame.h"

namespace memprof::unwind_test {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path) {
    elf_version(EV_CURRENT);
    fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    elf_ = fd_ < 0 ? nullptr : elf_begin(fd_, ELF_C_READ_MMAP, nullptr);
    size_t count = 0;
    if (elf_ == nullptr || elf_getphdrnum(elf_, &count) != 0) {
      return;
    }
    std::vector<GElf_Phdr> headers(count);
    for (size_t i = 0; i < count; ++i) {
      gelf_getphdr(elf_, static_cast<int>(i), &headers[i]);
    }
    map(headers);
    cfi_ = ok_ ? dwarf_getcfi_elf(elf_) : nullptr;
    ok_ = cfi_ != nullptr;
  }
  ~MappedFile() {
    if (cfi_ != nullptr) {
      dwarf_cfi_end(cfi_);
    }
    if (elf_ != nullptr) {
      elf_end(elf_);
    }
    if (fd_ >= 0) {
      close(fd_);
    }
    if (memory_ != nullptr) {
      munmap(memory_, size_);
    }
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  bool ok() const { return ok_; }
  const unwind::Image& image() const { return image_; }
  Dwarf_CFI* cfi() const { return cfi_; }
  // What is added to an address in the file.
  uint64_t bias() const { return bias_; }

  // Addresses in the file at which functions of the index begin.
  std::vector<uint64_t> function_starts() const {
    struct Header {
      uint8_t version, frame_encoding, count_encoding, table_encoding;
      int32_t frame;
      uint32_t count;
    };
    const auto* header = reinterpret_cast<const Header*>(image_.index);
    const auto* table = reinterpret_cast<const int32_t*>(header + 1);
    std::vector<uint64_t> starts;
    for (uint32_t i = 0; i < header->count; ++i) {
      starts.push_back(image_.index - bias_ + static_cast<uint64_t>(int64_t{table[2 * i]}));
    }
    return starts;
  }

 private:
  void map(const std::vector<GElf_Phdr>& headers) {
    constexpr uint64_t kPage = 4096;
    uint64_t low = UINT64_MAX;
    uint64_t high = 0;
    const GElf_Phdr* index = nullptr;
    for (const GElf_Phdr& h : headers) {
      if (h.p_type == PT_LOAD) {
        low = std::min<uint64_t>(low, h.p_vaddr & ~(kPage - 1));
        high = std::max<uint64_t>(high, h.p_vaddr + h.p_memsz);
      } else if (h.p_type == PT_GNU_EH_FRAME) {
        index = &h;
      }
    }
    if (index == nullptr || low >= high) {
      return;
    }
    size_ = high - low;
    memory_ = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED) {
      memory_ = nullptr;
      return;
    }
    bias_ = reinterpret_cast<uint64_t>(memory_) - low;
    for (const GElf_Phdr& h : headers) {
      if (h.p_type != PT_LOAD || h.p_filesz == 0) {
        continue;
      }
      const uint64_t start = h.p_vaddr & ~(kPage - 1);
      if (mmap(reinterpret_cast<void*>(bias_ + start), h.p_vaddr + h.p_filesz - start, PROT_READ,
               MAP_PRIVATE | MAP_FIXED, fd_, static_cast<off_t>(h.p_offset & ~(kPage - 1))) == MAP_FAILED) {
        return;
      }
      if (index->p_vaddr - h.p_vaddr < h.p_filesz) {
        image_ = {bias_ + index->p_vaddr, bias_ + h.p_vaddr, bias_ + h.p_vaddr + h.p_filesz};
        ok_ = true;
      }
    }
  }

  int fd_ = -1;
  Elf* elf_ = nullptr;
  Dwarf_CFI* cfi_ = nullptr;
  void* memory_ = nullptr;
  uint64_t size_ = 0;
  uint64_t bias_ = 0;
  unwind::Image image_{};
  bool ok_ = false;
};

// The files that are mapped into this process (itself and its libraries), and big programs of the machine.
inline std::set<std::string> files_of_this_process() {
  std::set<std::string> files;
  FILE* maps = fopen("/proc/self/maps", "r");
  char line[8192];
  char path[4096];
  while (maps != nullptr && fgets(line, sizeof(line), maps) != nullptr) {
    path[0] = '\0';
    sscanf(line, "%*s %*s %*s %*s %*s %4095s", path);
    if (path[0] == '/') {
      files.insert(path);
    }
  }
  if (maps != nullptr) {
    fclose(maps);
  }
  return files;
}

}  // namespace memprof::unwind_test
