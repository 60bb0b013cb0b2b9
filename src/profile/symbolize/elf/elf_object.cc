// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/elf/elf_object.h"

#include <algorithm>
#include <utility>

#include "profile/symbolize/dwarf/debug_info.h"
#include "profile/symbolize/elf/debug_files.h"
#include "profile/symbolize/elf/mini_symbols.h"
#include "profile/symbolize/elf/symbol_table.h"

namespace memprof::profile {
namespace {

// Names of C, not mangled.
bool is_plain(const std::string& name) {
  return !name.empty() && name.compare(0, 2, "_Z") != 0 && name.compare(0, 2, "_R") != 0 &&
         name.compare(0, 2, "_D") != 0;
}

std::unique_ptr<ElfFile> find_debug_file(const ElfFile& file, const NameSources& sources) {
  auto debug = sources.use_debug_files ? open_debug_file(file, sources.debug_root) : nullptr;
  return debug == nullptr && !file.has_debug_info() ? open_from_server(file.build_id(), sources)
                                                    : std::move(debug);
}

CodeNames names_at(const std::vector<SourceFrame>& frames, const SymbolTable& symbols, uint64_t vaddr) {
  CodeNames result;
  result.has_lines = !frames.empty();
  for (const SourceFrame& frame : frames) {
    std::string symbol = frame.name.linkage_name;
    if (symbol.empty() && (frame.code != 0 || frames.size() == 1) &&
        symbols.find(frame.code != 0 ? frame.code : vaddr, &symbol) && frame.code != 0 && symbol[0] == '_') {
      // `.cold`, `.part.0`: the debug info counts them to the function.
      symbol.erase(std::min(symbol.find('.', 1), symbol.size()));
    } else if (frame.code != 0 && is_plain(symbol)) {
      symbol = symbols.usual_name(frame.code, symbol);
    }
    // What has no symbol of its own is called as the debug info calls it.
    const bool has_symbol = !symbol.empty();
    const std::string& name = has_symbol ? symbol : frame.name.plain_name;
    if (!name.empty()) result.names.push_back({name, has_symbol, frame.file, frame.line});
  }
  std::string name;
  if (frames.empty() && symbols.find(vaddr, &name)) result.names.push_back({name, true, "", 0});
  return result;
}

// Of the debug info of `file`; one entry an address.
std::vector<std::vector<SourceFrame>> frames_in(const ElfFile& file, const std::vector<uint64_t>& vaddrs,
                                                const NameSources& sources,
                                                std::vector<std::string>* warnings) {
  std::vector<std::vector<SourceFrame>> none(vaddrs.size());
  // (Stripped files can keep the link of debug info that they do not have.)
  if (!sources.use_debug_info || !file.has_debug_info() || vaddrs.empty()) return none;
  const auto link = file.alternate_link();
  auto alternate = link ? open_alternate_file(file, *link, sources.debug_root) : nullptr;
  if (link && alternate == nullptr) alternate = open_from_server(link->build_id, sources);
  if (link && alternate == nullptr) {
    warnings->push_back(file.path() + ": needs " + link->path +
                        ", which is not there; some inlined functions have no names");
  }
  const auto info = DebugInfo::open(file.handle(), file.is_trusted(),
                                    alternate != nullptr ? alternate->handle() : nullptr, vaddrs);
  return info != nullptr ? info->frames_of(vaddrs) : none;
}

}  // namespace

ElfObject::ElfObject(std::unique_ptr<ElfFile> file, FindDebug find_debug)
    : file_(std::move(file)), find_debug_(find_debug) {}

std::vector<CodeNames> ElfObject::names_of(const std::vector<uint64_t>& vaddrs, const NameSources& sources,
                                           std::vector<std::string>* warnings) const {
  const auto debug = find_debug_(*file_, sources);
  const auto mini = debug == nullptr ? open_mini_symbols(*file_) : nullptr;
  const ElfFile& described = debug != nullptr && debug->has_debug_info() ? *debug : *file_;
  const std::vector<std::vector<SourceFrame>> frames = frames_in(described, vaddrs, sources, warnings);
  // Of the file's symbols only those that are asked for.
  std::vector<uint64_t> asked = vaddrs;
  for (const std::vector<SourceFrame>& of_one : frames) {
    for (const SourceFrame& frame : of_one) {
      if (frame.code != 0) asked.push_back(frame.code);
    }
  }
  SymbolTable symbols(std::move(asked));
  for (const ElfFile* file : {file_.get(), debug.get(), mini.get()}) {
    if (file != nullptr) symbols.add(*file);
  }
  symbols.finish();
  std::vector<CodeNames> names;
  names.reserve(vaddrs.size());
  for (size_t i = 0; i < vaddrs.size(); ++i) names.push_back(names_at(frames[i], symbols, vaddrs[i]));
  return names;
}

bool is_elf(std::string_view bytes) {
  return bytes.substr(0, 4) == "\177ELF";
}

std::unique_ptr<ObjectFile> open_elf(OpenedFile file, const std::string& /*build_id*/, std::string* why) {
  auto elf = ElfFile::of_file(std::move(file));
  if (elf == nullptr) {
    *why = kNoElf;
    return nullptr;
  }
  return std::make_unique<ElfObject>(std::move(elf), find_debug_file);
}

}  // namespace memprof::profile
