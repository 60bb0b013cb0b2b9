// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/elf/symbol_table.h"

#include <gelf.h>

#include <algorithm>
#include <utility>

#include "profile/symbolize/elf/elf_file.h"

namespace memprof::profile {
namespace {

// Code without a size is a few instructions of assembly language. More than this was not meant by its author.
constexpr uint64_t kMaxUnsizedBytes = 4096;
constexpr size_t kMaxTables = 256;  // Symbol::table

struct Section {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool is_code = false;
};

std::vector<Section> read_sections(Elf* elf) {
  size_t count = 0;
  if (elf_getshdrnum(elf, &count) != 0) return {};
  std::vector<Section> sections(count);
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    const size_t index = elf_ndxscn(section);
    if (index >= count || gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_addr + header.sh_size < header.sh_addr) continue;
    sections[index] = {header.sh_addr, header.sh_addr + header.sh_size,
                       (header.sh_flags & SHF_ALLOC) != 0 && (header.sh_flags & SHF_EXECINSTR) != 0};
  }
  return sections;
}

size_t leading_underscores(std::string_view name) {
  return std::min(name.find_first_not_of('_'), name.size());
}

}  // namespace

SymbolTable::SymbolTable(std::vector<uint64_t> addresses)
    : has_all_(false), addresses_(std::move(addresses)) {
  std::sort(addresses_.begin(), addresses_.end());
  addresses_.erase(std::unique(addresses_.begin(), addresses_.end()), addresses_.end());
  nearest_.resize(addresses_.size());
}

bool SymbolTable::is_asked(uint64_t begin, uint64_t end) const {
  if (has_all_) return true;
  const auto address = std::lower_bound(addresses_.begin(), addresses_.end(), begin);
  return address != addresses_.end() && *address < end;
}

// By the first address that is not before it; finish() takes it on to the later ones.
void SymbolTable::note_begin(uint64_t begin, std::vector<uint64_t>* nearest) const {
  const auto address = std::lower_bound(addresses_.begin(), addresses_.end(), begin);
  if (address == addresses_.end()) return;
  uint64_t& at = (*nearest)[static_cast<size_t>(address - addresses_.begin())];
  at = std::max(at, begin);
}

void SymbolTable::add(const ElfFile& file) {
  Elf* elf = file.handle();
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(elf, section)) != nullptr) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr) continue;
    if (header.sh_type == SHT_SYMTAB) add_table(elf, section, false);
    if (header.sh_type == SHT_DYNSYM) add_table(elf, section, true);
  }
}

void SymbolTable::add_table(Elf* elf, Elf_Scn* section, bool is_dynamic) {
  GElf_Shdr header;
  if (tables_.size() >= kMaxTables || gelf_getshdr(section, &header) == nullptr) return;
  if (header.sh_entsize != gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT)) return;
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr || data->d_type != ELF_T_SYM) return;
  const size_t count = std::min<size_t>(data->d_size / header.sh_entsize, INT32_MAX);
  const std::vector<Section> sections = read_sections(elf);

  const size_t first = symbols_.size();
  std::vector<uint64_t> nearest_unsized(addresses_.size());
  bool has_local_functions = false;
  for (size_t i = 1; i < count; ++i) {
    GElf_Sym entry;
    if (gelf_getsym(data, static_cast<int>(i), &entry) == nullptr) break;
    const unsigned type = GELF_ST_TYPE(entry.st_info);
    const bool is_local = GELF_ST_BIND(entry.st_info) == STB_LOCAL;
    const unsigned kind = type == STT_FUNC ? 0 : type == STT_GNU_IFUNC ? 1 : type == STT_NOTYPE ? 2 : 3;
    if (kind == 3 || entry.st_name == 0 || entry.st_shndx == SHN_UNDEF) continue;
    // Above 65,280 sections an index is elsewhere (SHN_XINDEX): such a file has -ffunction-sections and was
    // never linked. SHN_ABS is not code.
    if (entry.st_shndx >= sections.size() || entry.st_shndx >= SHN_LORESERVE) continue;
    const Section& where = sections[entry.st_shndx];
    if (!where.is_code || entry.st_value < where.begin || entry.st_value >= where.end) continue;

    Symbol symbol{};
    symbol.begin = entry.st_value;
    symbol.end = where.end;
    symbol.name_offset = entry.st_name;
    symbol.table = static_cast<uint32_t>(tables_.size()) & 0xff;
    symbol.kind = kind & 3;
    symbol.is_local = is_local;
    symbol.is_unsized = entry.st_size == 0;
    if (entry.st_size != 0 && entry.st_size < where.end - symbol.begin) {
      symbol.end = symbol.begin + entry.st_size;
    }
    has_local_functions |= is_local && kind == 0;
    note_begin(symbol.begin, symbol.is_unsized != 0 ? &nearest_unsized : &nearest_);
    if (is_asked(symbol.begin, symbol.end)) symbols_.push_back(symbol);
  }
  if (is_dynamic || !has_local_functions) {
    // What lies behind an exported label may be a function whose symbol was stripped.
    symbols_.erase(std::remove_if(symbols_.begin() + static_cast<std::ptrdiff_t>(first), symbols_.end(),
                                  [](const Symbol& s) { return s.is_unsized != 0; }),
                   symbols_.end());
  } else {
    for (size_t i = 0; i < nearest_.size(); ++i) nearest_[i] = std::max(nearest_[i], nearest_unsized[i]);
  }
  tables_.push_back({elf, header.sh_link});
}

// A symbol without a size ends where the next one begins that is no alias.  Where only some addresses are asked for, it
// ends at the first of them that has another one before it.
void SymbolTable::end_unsized() {
  for (size_t i = 1; i < nearest_.size(); ++i) nearest_[i] = std::max(nearest_[i], nearest_[i - 1]);
  uint64_t next = UINT64_MAX;
  for (size_t i = symbols_.size(); i-- > 0;) {
    Symbol& symbol = symbols_[i];
    if (i + 1 < symbols_.size() && symbols_[i + 1].begin != symbol.begin) next = symbols_[i + 1].begin;
    if (!symbol.is_unsized) continue;
    const uint64_t max = symbol.begin + std::min(kMaxUnsizedBytes, UINT64_MAX - symbol.begin);
    symbol.end = std::min({symbol.end, next, max});
    const auto another = std::upper_bound(nearest_.begin(), nearest_.end(), symbol.begin);
    if (another != nearest_.end()) {
      symbol.end = std::min(symbol.end, addresses_[static_cast<size_t>(another - nearest_.begin())]);
    }
  }
  symbols_.erase(std::remove_if(symbols_.begin(), symbols_.end(),
                                [this](const Symbol& s) { return !is_asked(s.begin, s.end); }),
                 symbols_.end());
}

void SymbolTable::finish() {
  std::sort(symbols_.begin(), symbols_.end(),
            [](const Symbol& a, const Symbol& b) { return a.begin < b.begin; });
  end_unsized();
  reach_.resize(symbols_.size());
  uint64_t reach = 0;
  for (size_t i = 0; i < symbols_.size(); ++i) {
    reach = std::max(reach, symbols_[i].end);
    reach_[i] = reach;
  }
}

std::string_view SymbolTable::name_of(const Symbol& symbol) const {
  const Table& table = tables_[symbol.table];
  const char* text = elf_strptr(table.elf, table.strings_section, symbol.name_offset);
  if (text == nullptr) return {};
  const std::string_view name(text);
  const size_t version = name.find('@');
  return version == 0 || version == std::string_view::npos ? name : name.substr(0, version);
}

// Whether `a` says better than `b` what an address is that lies in both.
bool SymbolTable::is_better(const Symbol& a, const Symbol& b) const {
  if (a.is_unsized != b.is_unsized) return a.is_unsized == 0;
  if (a.kind != b.kind) return a.kind < b.kind;
  if (a.begin != b.begin) return a.begin > b.begin;
  if (a.end != b.end) return a.end < b.end;
  if (a.is_local != b.is_local) return a.is_local == 0;
  // Aliases: the plain name is the one that people know (`write`, not `__write`).
  const std::string_view x = name_of(a);
  const std::string_view y = name_of(b);
  if (x.empty() != y.empty()) return y.empty();
  const size_t x_underscores = leading_underscores(x);
  const size_t y_underscores = leading_underscores(y);
  if (x_underscores != y_underscores) return x_underscores < y_underscores;
  if (x.size() != y.size()) return x.size() < y.size();
  return x < y;
}

const SymbolTable::Symbol* SymbolTable::best_at(uint64_t vaddr) const {
  const auto above = std::upper_bound(symbols_.begin(), symbols_.end(), vaddr,
                                      [](uint64_t address, const Symbol& s) { return address < s.begin; });
  const Symbol* best = nullptr;
  for (size_t i = static_cast<size_t>(above - symbols_.begin()); i-- > 0 && reach_[i] > vaddr;) {
    const Symbol& symbol = symbols_[i];
    if (symbol.end > vaddr && (best == nullptr || is_better(symbol, *best))) best = &symbol;
  }
  return best;
}

bool SymbolTable::find(uint64_t vaddr, std::string* name) const {
  const Symbol* best = best_at(vaddr);
  if (best == nullptr) return false;
  const std::string_view text = name_of(*best);
  if (text.empty()) return false;
  name->assign(text);
  return true;
}

std::string SymbolTable::usual_name(uint64_t vaddr, const std::string& alias) const {
  const Symbol* best = best_at(vaddr);
  if (best == nullptr) return alias;
  const auto first = std::lower_bound(symbols_.begin(), symbols_.end(), best->begin,
                                      [](const Symbol& s, uint64_t address) { return s.begin < address; });
  for (auto symbol = first; symbol != symbols_.end() && symbol->begin == best->begin; ++symbol) {
    if (name_of(*symbol) == alias) return std::string(name_of(*best));
  }
  return alias;
}

}  // namespace memprof::profile
