// SPDX-License-Identifier: Apache-2.0
// What binutils' addr2line says about addresses, and what we say, in one form.
#pragma once

#include <gelf.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "profile/symbolize/elf/elf_file.h"
#include "profile/symbolize/elf/symbol_table.h"
#include "profile/symbolize/mangling/demangle.h"
#include "profile/symbolize/symbolizer.h"
#include "tests/profile/symbolize/fixture.h"

namespace memprof::profile::fixture {

struct NamedFrame {
  std::string name;  // "??": unknown
  std::string file;  // without folders; "??": unknown
  long line = 0;     // 0: unknown

  bool operator==(const NamedFrame& other) const {
    return name == other.name && file == other.file && line == other.line;
  }
};

inline std::ostream& operator<<(std::ostream& out, const NamedFrame& frame) {
  return out << frame.name << " at " << frame.file << ":" << frame.line;
}

using Frames = std::vector<NamedFrame>;  // innermost first

// `count` addresses of the code of a file, evenly spread, less those between functions.
inline std::vector<uint64_t> addresses_of_code(const ElfFile& file, size_t count) {
  std::vector<uint64_t> addresses;
  SymbolTable symbols;
  symbols.add(file);
  symbols.finish();
  std::string name;
  size_t names = 0;
  elf_getshdrstrndx(file.handle(), &names);
  Elf_Scn* section = nullptr;
  while ((section = elf_nextscn(file.handle(), section)) != nullptr) {
    GElf_Shdr header;
    gelf_getshdr(section, &header);
    if (std::string(elf_strptr(file.handle(), names, header.sh_name)) != ".text") continue;
    const double step = static_cast<double>(header.sh_size) / static_cast<double>(count);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t address = header.sh_addr + static_cast<uint64_t>(step * static_cast<double>(i));
      if (symbols.find(address, &name)) addresses.push_back(address);
    }
  }
  return addresses;
}

inline std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

// One list of frames an address.
inline std::vector<Frames> ask_addr2line(const std::string& program, const std::vector<uint64_t>& addresses,
                                         const std::string& tool = "addr2line") {
  const Folder folder;
  std::string text;
  char line[1 << 16];
  for (const uint64_t address : addresses) {
    std::snprintf(line, sizeof(line), "%lx\n", static_cast<unsigned long>(address));
    text += line;
  }
  write_file(folder / "addresses", text);
  std::vector<Frames> all;
  std::FILE* pipe = popen((tool + " -aife '" + program + "' < " + (folder / "addresses")).c_str(), "r");
  NamedFrame frame;
  while (pipe != nullptr && std::fgets(line, sizeof(line), pipe) != nullptr) {
    std::string word = line;
    word.pop_back();
    if (word.compare(0, 2, "0x") == 0) {
      all.emplace_back();
      frame = {};
    } else if (frame.name.empty()) {
      // `.cold`, `.isra.0`: parts of a function, which count to it here.
      frame.name = demangle(word.substr(0, word.find('.', 1)));
    } else {
      word = word.substr(0, word.find(" (discriminator"));
      const size_t colon = word.rfind(':');
      frame.file = file_name(word.substr(0, colon));
      frame.line = std::atol(word.c_str() + colon + 1);
      all.back().push_back(frame);
      frame = {};
    }
  }
  if (pipe != nullptr) pclose(pipe);
  return all;
}

// A profile whose locations are these addresses of a program.
inline Profile profile_of_addresses(const ElfFile& file, const std::vector<uint64_t>& addresses) {
  constexpr uint64_t kStart = uint64_t{1} << 40;
  Profile profile;
  profile.from_memprof = true;
  Mapping& mapping = profile.mappings.emplace_back();
  mapping.start = kStart;
  mapping.limit = kStart + std::filesystem::file_size(file.path());
  mapping.path = file.path();
  mapping.build_id = file.build_id();
  profile.time_unix_ns = UINT64_MAX;
  size_t segments = 0;
  elf_getphdrnum(file.handle(), &segments);
  for (const uint64_t address : addresses) {
    for (size_t i = 0; i < segments; ++i) {
      GElf_Phdr segment;
      gelf_getphdr(file.handle(), static_cast<int>(i), &segment);
      if (segment.p_type != PT_LOAD || address < segment.p_vaddr ||
          address >= segment.p_vaddr + segment.p_filesz) {
        continue;
      }
      Location& location = profile.locations.emplace_back();
      location.mapping = 0;
      location.address = kStart + segment.p_offset + (address - segment.p_vaddr);
      break;
    }
  }
  return profile;
}

// What the profile says about each of its locations.
inline std::vector<Frames> frames_of(const Profile& profile) {
  std::vector<Frames> all;
  for (const Location& location : profile.locations) {
    Frames& frames = all.emplace_back();
    for (const Line& line : location.lines) {
      const Function& function = profile.functions[line.function];
      frames.push_back({function.name, function.filename.empty() ? "??" : file_name(function.filename),
                        static_cast<long>(line.line)});
    }
    if (frames.empty()) frames.push_back({"??", "??", 0});
  }
  return all;
}

}  // namespace memprof::profile::fixture
