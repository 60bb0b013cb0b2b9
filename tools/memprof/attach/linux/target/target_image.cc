// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/target/target_image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>

#include "memprof/attach/linux/processor/processor.h"

namespace memprof::cli {
namespace {

constexpr uint64_t kPage = 4096;
// What no real image exceeds.
constexpr size_t kMaxHeaders = 4096;
constexpr size_t kMaxSymbols = 4 * 1024 * 1024;
constexpr size_t kMaxTableBytes = 256 * 1024 * 1024;

struct Layout {
  std::vector<Elf64_Phdr> headers;
  uint64_t bias = 0;  // added to the file's addresses
};

template <typename T>
bool read_array(const TargetMemory& memory, uint64_t address, size_t count, size_t limit,
                std::vector<T>* to) {
  if (count > limit) return false;
  to->resize(count);
  return memory.read(address, to->data(), count * sizeof(T));
}

bool read_layout(const TargetMemory& memory, uint64_t start, Layout* layout) {
  Elf64_Ehdr header;
  if (!memory.read(start, &header, sizeof(header)) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != processor::elf_machine() ||
      header.e_phentsize != sizeof(Elf64_Phdr) ||
      !read_array(memory, start + header.e_phoff, header.e_phnum, kMaxHeaders, &layout->headers)) {
    return false;
  }
  for (const Elf64_Phdr& segment : layout->headers) {
    if (segment.p_type != PT_LOAD) continue;
    layout->bias = start - segment.p_vaddr / kPage * kPage;
    return true;
  }
  return false;
}

// The tables that the loader uses.
struct Tables {
  uint64_t symbols = 0;
  uint64_t names = 0;
  uint64_t names_bytes = 0;
  uint64_t gnu_hash = 0;
  uint64_t hash = 0;
};

// The loader has made addresses of them, but in the kernel's own library.
Tables find_tables(const TargetMemory& memory, const Layout& layout, uint64_t start) {
  Tables tables;
  std::vector<Elf64_Dyn> entries;
  for (const Elf64_Phdr& segment : layout.headers) {
    if (segment.p_type != PT_DYNAMIC) continue;
    if (!read_array(memory, layout.bias + segment.p_vaddr, segment.p_memsz / sizeof(Elf64_Dyn), kMaxHeaders,
                    &entries)) {
      return {};
    }
  }
  const auto address = [&](const Elf64_Dyn& entry) {
    return entry.d_un.d_ptr < start ? entry.d_un.d_ptr + layout.bias : entry.d_un.d_ptr;
  };
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_SYMTAB) tables.symbols = address(entry);
    if (entry.d_tag == DT_STRTAB) tables.names = address(entry);
    if (entry.d_tag == DT_STRSZ) tables.names_bytes = entry.d_un.d_val;
    if (entry.d_tag == DT_GNU_HASH) tables.gnu_hash = address(entry);
    if (entry.d_tag == DT_HASH) tables.hash = address(entry);
  }
  return tables;
}

// How many symbols there are, only the hash tables know.  0: cannot be told.
size_t count_symbols(const TargetMemory& memory, const Tables& tables) {
  uint32_t header[4];
  if (tables.gnu_hash == 0) {
    return tables.hash != 0 && memory.read(tables.hash, header, 8) ? header[1] : 0;
  }
  if (!memory.read(tables.gnu_hash, header, sizeof(header))) return 0;
  const auto [buckets_count, first, bloom_words, shift] = header;
  const uint64_t buckets_at = tables.gnu_hash + sizeof(header) + uint64_t{bloom_words} * 8;
  std::vector<uint32_t> buckets;
  if (!read_array(memory, buckets_at, buckets_count, kMaxSymbols, &buckets) || buckets.empty()) return 0;
  const uint32_t last_chain = *std::max_element(buckets.begin(), buckets.end());
  if (last_chain < first) return first;
  const uint64_t chains_at = buckets_at + uint64_t{buckets_count} * 4;
  for (uint64_t symbol = last_chain; symbol < kMaxSymbols; ++symbol) {
    uint32_t hash = 0;
    if (!memory.read(chains_at + (symbol - first) * 4, &hash, sizeof(hash))) return 0;
    if ((hash & 1) != 0) return symbol + 1;
  }
  return 0;
}

void read_functions(const TargetMemory& memory, const Layout& layout, TargetImage* image) {
  const Tables tables = find_tables(memory, layout, image->start);
  std::vector<Elf64_Sym> symbols;
  std::vector<char> names;
  if (tables.symbols == 0 || tables.names == 0 ||
      !read_array(memory, tables.symbols, count_symbols(memory, tables), kMaxSymbols, &symbols) ||
      !read_array(memory, tables.names, tables.names_bytes, kMaxTableBytes, &names) || names.empty()) {
    return;
  }
  names.back() = '\0';
  for (const Elf64_Sym& symbol : symbols) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size() ||
        (type != STT_FUNC && type != STT_GNU_IFUNC)) {
      continue;
    }
    image->functions.push_back({layout.bias + symbol.st_value, symbol.st_size, &names[symbol.st_name]});
    image->addresses.emplace(image->functions.back().name, image->functions.back().address);
  }
}

// .eh_frame's address by its table's header, as all linkers of this system write it; 0: otherwise.
uint64_t unwind_records(const TargetMemory& memory, uint64_t header_at) {
  constexpr unsigned char kRelativeSigned32 = 0x1b;
  unsigned char header[8];
  if (!memory.read(header_at, header, sizeof(header)) || header[1] != kRelativeSigned32) return 0;
  int32_t distance = 0;
  memcpy(&distance, header + 4, sizeof(distance));
  return header_at + 4 + static_cast<uint64_t>(int64_t{distance});
}

// A file that somebody merely reads through a mapping has the headers, too, but its code is not mapped as code.
bool is_loaded(const TargetImage& image, const std::vector<MemoryRange>& ranges) {
  return std::all_of(image.code.begin(), image.code.end(), [&](const CodeRange& code) {
    const MemoryRange* range = range_at(ranges, code.start);
    return range != nullptr && range->is_code && range->path == image.path;
  });
}

}  // namespace

bool read_image(const TargetMemory& memory, const std::vector<MemoryRange>& ranges, uint64_t start,
                TargetImage* image) {
  Layout layout;
  if (!read_layout(memory, start, &layout)) return false;
  image->start = image->end = start;
  const MemoryRange* range = range_at(ranges, start);
  if (range != nullptr) image->path = range->path;
  for (const Elf64_Phdr& segment : layout.headers) {
    if (segment.p_type != PT_LOAD) continue;
    const uint64_t begin = layout.bias + segment.p_vaddr;
    const uint64_t end = begin + segment.p_memsz;
    image->end = std::max(image->end, (end + kPage - 1) / kPage * kPage);
    if ((segment.p_flags & PF_X) != 0) image->code.push_back({begin, end});
  }
  read_functions(memory, layout, image);
  return true;
}

std::vector<TargetImage> read_images(const TargetMemory& memory, const std::vector<MemoryRange>& ranges) {
  std::vector<TargetImage> images;
  for (const MemoryRange& range : ranges) {
    const bool is_file = !range.path.empty() && range.path[0] == '/';
    if (range.offset != 0 || (!is_file && range.path != "[vdso]")) continue;
    // Between the segments of one image another can lie: the kernel puts its library into the loader's gap.
    if (!images.empty() && range.start < images.back().end && range.path == images.back().path) continue;
    TargetImage image;
    if (read_image(memory, ranges, range.start, &image) && is_loaded(image, ranges)) {
      images.push_back(std::move(image));
    }
  }
  return images;
}

std::string read_unwind_image(const TargetMemory& memory, const TargetImage& image) {
  Layout layout;
  if (!read_layout(memory, image.start, &layout)) return {};
  const auto table =
      std::find_if(layout.headers.begin(), layout.headers.end(),
                   [](const Elf64_Phdr& segment) { return segment.p_type == PT_GNU_EH_FRAME; });
  if (table == layout.headers.end()) return {};
  const auto segment =
      std::find_if(layout.headers.begin(), layout.headers.end(), [&](const Elf64_Phdr& load) {
        return load.p_type == PT_LOAD && table->p_vaddr >= load.p_vaddr &&
               table->p_vaddr < load.p_vaddr + load.p_filesz;
      });
  if (segment == layout.headers.end()) return {};
  // From the tables on; what lies before them, constants mostly, is of no use here.
  uint64_t begin = segment->p_vaddr;
  const uint64_t records = unwind_records(memory, layout.bias + table->p_vaddr);
  if (records > layout.bias + begin && records < layout.bias + segment->p_vaddr + segment->p_filesz) {
    begin = std::min(records - layout.bias, table->p_vaddr);
  }
  const uint64_t bytes = segment->p_vaddr + segment->p_filesz - begin;
  if (bytes > kMaxTableBytes) return {};

  // A file of three segments: where the image begins, the tables, and what says that they are ones.
  Elf64_Ehdr header{};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = processor::elf_machine();
  header.e_version = EV_CURRENT;
  header.e_phoff = header.e_ehsize = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 3;
  Elf64_Phdr headers[3] = {{}, *segment, *table};
  headers[0].p_type = PT_LOAD;
  headers[0].p_flags = PF_R;
  headers[0].p_vaddr = headers[0].p_paddr = image.start - layout.bias;
  headers[0].p_filesz = headers[0].p_memsz = sizeof(header) + sizeof(headers);
  headers[0].p_align = headers[1].p_align = kPage;
  headers[1].p_vaddr = headers[1].p_paddr = begin;
  headers[1].p_filesz = headers[1].p_memsz = bytes;
  headers[1].p_offset = kPage + begin % kPage;
  headers[2].p_offset = headers[1].p_offset + (table->p_vaddr - begin);
  std::string file(headers[1].p_offset + bytes, '\0');
  memcpy(file.data(), &header, sizeof(header));
  memcpy(file.data() + sizeof(header), headers, sizeof(headers));
  if (!memory.read(layout.bias + begin, file.data() + headers[1].p_offset, bytes)) return {};
  return file;
}

}  // namespace memprof::cli
