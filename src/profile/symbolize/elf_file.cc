// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace memprof::profile {
namespace {

// Longer ones are not build ids: the model and pprof have 20 bytes in mind, the engine keeps 32.
constexpr size_t kMaxBuildIdBytes = 64;

std::string to_hex(const unsigned char* bytes, size_t size) {
  static const char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * size);
  for (size_t i = 0; i < size; ++i) {
    hex += kDigits[bytes[i] >> 4];
    hex += kDigits[bytes[i] & 15];
  }
  return hex;
}

// The build id among the notes in `data`; empty: none.
std::string build_id_of_notes(Elf_Data* data) {
  if (data == nullptr || data->d_buf == nullptr) return {};
  size_t offset = 0;
  while (offset < data->d_size) {
    GElf_Nhdr note;
    size_t name_offset = 0;
    size_t value_offset = 0;
    const size_t next = gelf_getnote(data, offset, &note, &name_offset, &value_offset);
    if (next <= offset) break;
    offset = next;
    if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof(ELF_NOTE_GNU)) continue;
    if (note.n_descsz == 0 || note.n_descsz > kMaxBuildIdBytes) continue;
    if (name_offset + note.n_namesz > data->d_size || value_offset + note.n_descsz > data->d_size) continue;
    const auto* bytes = static_cast<const unsigned char*>(data->d_buf);
    if (std::memcmp(bytes + name_offset, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) != 0) continue;
    return to_hex(bytes + value_offset, note.n_descsz);
  }
  return {};
}

std::string lower_case_error(int error) {
  std::string text = std::strerror(error);
  if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

}  // namespace

std::unique_ptr<ElfFile> ElfFile::open(const std::string& path, std::string* why) {
  static const bool is_ready = elf_version(EV_CURRENT) != EV_NONE;
  if (!is_ready) {
    *why = "libelf does not fit";
    return nullptr;
  }
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    *why = lower_case_error(errno);
    return nullptr;
  }
  struct stat status{};
  if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
    *why = "not a regular file";
    ::close(fd);
    return nullptr;
  }
  // Read, not mapped: a file that shrinks meanwhile must not raise SIGBUS.
  Elf* elf = elf_begin(fd, ELF_C_READ, nullptr);
  if (elf == nullptr || elf_kind(elf) != ELF_K_ELF || gelf_getclass(elf) == ELFCLASSNONE) {
    *why = "not an ELF file";
    if (elf != nullptr) elf_end(elf);
    ::close(fd);
    return nullptr;
  }
  std::unique_ptr<ElfFile> file(new ElfFile(path, fd, elf));
  const timespec& latest = std::max(status.st_mtim, status.st_ctim, [](const timespec& a, const timespec& b) {
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
  });
  if (latest.tv_sec > 0) {
    file->changed_unix_ns_ =
        static_cast<uint64_t>(latest.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(latest.tv_nsec);
  }
  file->read_segments();
  file->read_build_id();
  return file;
}

ElfFile::ElfFile(std::string path, int fd, Elf* elf) : path_(std::move(path)), fd_(fd), elf_(elf) {}

ElfFile::~ElfFile() {
  elf_end(elf_);
  ::close(fd_);
}

void ElfFile::read_segments() {
  size_t count = 0;
  if (elf_getphdrnum(elf_, &count) != 0) return;
  std::vector<Segment> others;
  for (size_t i = 0; i < count; ++i) {
    GElf_Phdr header;
    if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr) break;
    if (header.p_type != PT_LOAD || header.p_filesz == 0) continue;
    if (header.p_offset + header.p_filesz < header.p_offset) continue;
    if (header.p_vaddr + header.p_filesz < header.p_vaddr) continue;
    ((header.p_flags & PF_X) != 0 ? segments_ : others)
        .push_back({header.p_offset, header.p_filesz, header.p_vaddr});
  }
  segments_.insert(segments_.end(), others.begin(), others.end());
}

std::optional<uint64_t> ElfFile::vaddr_of_offset(uint64_t file_offset) const {
  for (const Segment& segment : segments_) {
    if (file_offset >= segment.offset && file_offset - segment.offset < segment.size) {
      return segment.vaddr + (file_offset - segment.offset);
    }
  }
  return std::nullopt;
}

void ElfFile::read_build_id() {
  size_t count = 0;
  if (elf_getphdrnum(elf_, &count) == 0) {
    for (size_t i = 0; i < count && build_id_.empty(); ++i) {
      GElf_Phdr header;
      if (gelf_getphdr(elf_, static_cast<int>(i), &header) == nullptr) break;
      if (header.p_type != PT_NOTE || header.p_filesz == 0) continue;
      const Elf_Type type = header.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR;
      build_id_ = build_id_of_notes(
          elf_getdata_rawchunk(elf_, static_cast<int64_t>(header.p_offset), header.p_filesz, type));
    }
  }
  // A separate debug file may have no contents in its segments; its notes are still sections.
  Elf_Scn* section = nullptr;
  while (build_id_.empty() && (section = elf_nextscn(elf_, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_NOTE) continue;
    build_id_ = build_id_of_notes(elf_getdata(section, nullptr));
  }
}

std::optional<ElfFile::DebugLink> ElfFile::debug_link() const {
  size_t names = 0;
  if (elf_getshdrstrndx(elf_, &names) != 0) return std::nullopt;
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf_, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_PROGBITS) continue;
    const char* name = elf_strptr(elf_, names, header.sh_name);
    if (name == nullptr || std::strcmp(name, ".gnu_debuglink") != 0) continue;
    Elf_Data* data = elf_rawdata(section, nullptr);
    if (data == nullptr || data->d_buf == nullptr) return std::nullopt;
    // The name, NUL, padding to 4 bytes, checksum.
    const char* text = static_cast<const char*>(data->d_buf);
    const size_t length = strnlen(text, data->d_size);
    const size_t crc_offset = (length + 4) & ~size_t{3};
    if (length == 0 || crc_offset + 4 > data->d_size) return std::nullopt;
    DebugLink link;
    link.name.assign(text, length);
    if (link.name.find('/') != std::string::npos) return std::nullopt;
    const auto* bytes = reinterpret_cast<const unsigned char*>(text) + crc_offset;
    const char* ident = elf_getident(elf_, nullptr);
    const bool is_big_endian = ident != nullptr && ident[EI_DATA] == ELFDATA2MSB;
    for (unsigned i = 0; i < 4; ++i) {
      link.crc |= static_cast<uint32_t>(bytes[i]) << (8 * (is_big_endian ? 3 - i : i));
    }
    return link;
  }
  return std::nullopt;
}

bool ElfFile::checksum(uint32_t* crc) const {
  std::vector<unsigned char> buffer(1 << 16);
  uLong sum = crc32(0, nullptr, 0);
  off_t offset = 0;
  while (true) {
    const ssize_t size = pread(fd_, buffer.data(), buffer.size(), offset);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) return false;
    if (size == 0) break;
    sum = crc32(sum, buffer.data(), static_cast<uInt>(size));
    offset += size;
  }
  *crc = static_cast<uint32_t>(sum);
  return true;
}

}  // namespace memprof::profile
