// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/elf/elf_object.h"

#include <elfutils/libdwfl.h>
#include <fmt/format.h>

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

struct Frames {
  std::vector<std::vector<SourceFrame>> of_address;
  bool are_of_split_files = false;
};

// Of the debug info of `file`; one entry an address.
Frames frames_in(const ElfFile& file, const ElfFile* alternate, const std::vector<uint64_t>& vaddrs) {
  Frames frames;
  const auto info = DebugInfo::open(file.handle(), file.is_trusted(),
                                    alternate != nullptr ? alternate->handle() : nullptr, vaddrs);
  if (info != nullptr) frames.of_address = info->frames_of(vaddrs);
  frames.are_of_split_files = info != nullptr && info->has_split_units();
  frames.of_address.resize(vaddrs.size());
  return frames;
}

}  // namespace

ElfObject::ElfObject(std::unique_ptr<ElfFile> file, FindDebug find_debug)
    : file_(std::move(file)), find_debug_(find_debug) {}

const ElfFile& ElfObject::described(const Others& others) const {
  return others.debug != nullptr && others.debug->has_debug_info() ? *others.debug : *file_;
}

ElfObject::Others ElfObject::find_others(const NameSources& sources) const {
  Others others;
  others.debug = find_debug_(*file_, sources);
  // (Stripped files can keep the link of debug info that they do not have.)
  const ElfFile& file = described(others);
  if (!sources.use_debug_info || !file.has_debug_info()) return others;
  others.alternate_link = file.alternate_link();
  if (!others.alternate_link) return others;
  others.alternate = open_alternate_file(file, *others.alternate_link, sources.debug_root);
  if (others.alternate == nullptr) {
    others.alternate = open_from_server(others.alternate_link->build_id, sources);
  }
  return others;
}

std::optional<std::string> ElfObject::names_depend_on(const NameSources& sources) const {
  found_ = find_others(sources);
  std::string text =
      fmt::format("elf, libdw {}, {} lines", dwfl_version(nullptr), sources.use_debug_info ? "with" : "no");
  for (const ElfFile* file : {file_.get(), found_->debug.get(), found_->alternate.get()}) {
    if (file != nullptr && file->identity().empty()) return std::nullopt;
    text += file != nullptr ? fmt::format("\n{} {}", file->identity(), file->build_id()) : "\nnone";
  }
  return text;
}

std::vector<CodeNames> ElfObject::names_of(const std::vector<uint64_t>& vaddrs, const NameSources& sources,
                                           std::vector<std::string>* warnings) const {
  const Others others = found_ ? std::move(*found_) : find_others(sources);
  found_.reset();
  const auto mini = others.debug == nullptr ? open_mini_symbols(*file_) : nullptr;
  const ElfFile& info = described(others);
  Frames frames;
  frames.of_address.resize(vaddrs.size());
  if (sources.use_debug_info && info.has_debug_info() && !vaddrs.empty()) {
    if (others.alternate_link && others.alternate == nullptr) {
      warnings->push_back(info.path() + ": needs " + others.alternate_link->path +
                          ", which is not there; some inlined functions have no names");
    }
    frames = frames_in(info, others.alternate.get(), vaddrs);
  }
  // Of the file's symbols only those that are asked for.
  std::vector<uint64_t> asked = vaddrs;
  for (const std::vector<SourceFrame>& of_one : frames.of_address) {
    for (const SourceFrame& frame : of_one) {
      if (frame.code != 0) asked.push_back(frame.code);
    }
  }
  SymbolTable symbols(std::move(asked));
  for (const ElfFile* file : {file_.get(), others.debug.get(), mini.get()}) {
    if (file != nullptr) symbols.add(*file);
  }
  symbols.finish();
  std::vector<CodeNames> names;
  names.reserve(vaddrs.size());
  for (size_t i = 0; i < vaddrs.size(); ++i) {
    names.push_back(names_at(frames.of_address[i], symbols, vaddrs[i]));
    names.back().can_be_kept = !frames.are_of_split_files;
  }
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
