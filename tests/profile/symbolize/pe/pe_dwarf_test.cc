// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pe/pe_dwarf.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <memory>
#include <string>
#include <vector>

#include "profile/symbolize/elf/elf_object.h"
#include "tests/profile/symbolize/addr2line.h"
#include "tests/profile/symbolize/fixture.h"
#include "tests/profile/symbolize/pdb/pdb_bytes.h"
#include "tests/profile/symbolize/pe/pe_image.h"

namespace memprof::profile {
namespace {

using fixture::Image;

constexpr char kProgram[] = "debug/gcc4";

// An image with the debug info of a program of Linux, whose addresses count from 0, too.
std::vector<char> image_with_dwarf(const ElfFile& program, Image image = Image()) {
  for (const char* name : {".debug_info", ".debug_abbrev", ".debug_line", ".debug_str", ".debug_ranges",
                           ".debug_aranges", ".debug_loc"}) {
    image.section(name, std::string(program.section(name)));
  }
  image.symbol("unrelated", 0x1000, 0);  // else there are no long names
  return image.bytes();
}

std::unique_ptr<PeFile> pe_at(const std::string& path) {
  OpenedFile file;
  std::string why;
  return open_file(path, &file, &why) ? PeFile::of_file(std::move(file)) : nullptr;
}

void write(const std::string& path, const std::vector<char>& bytes) {
  fixture::write_file(path, std::string(bytes.begin(), bytes.end()));
}

// gcc gives static functions no linkage names: what their symbols are called is not in the debug info.
std::string text_of(const CodeNames& names, const CodeNames& other) {
  std::string text;
  for (size_t i = 0; i < names.names.size(); ++i) {
    const CodeName& name = names.names[i];
    const bool is_alike = i < other.names.size() && other.names[i].is_symbol == name.is_symbol;
    text += (is_alike ? name.name : "") + " " + name.file + ":" + std::to_string(name.line) + "; ";
  }
  return text;
}

class PeDwarf : public ::testing::Test {
 protected:
  PeDwarf() {
    std::string why;
    program_ = ElfFile::open(fixture::path(kProgram), &why);
    addresses_ = fixture::addresses_of_code(*program_, 500);
    OpenedFile file;
    open_file(fixture::path(kProgram), &file, &why);
    expected_ = kElfFormat.open(std::move(file), "", &why)->names_of(addresses_, {}, &warnings_);
  }

  std::unique_ptr<ElfFile> program_;
  std::vector<uint64_t> addresses_;
  std::vector<CodeNames> expected_;
  std::vector<std::string> warnings_;
};

TEST_F(PeDwarf, NamesLinesAndInlinedCallsAreThoseOfTheSameDebugInfo) {
  const auto file = fixture::pe_of_bytes(image_with_dwarf(*program_));
  const std::vector<CodeNames> found = dwarf_names_of(*file, addresses_, {}, &warnings_);
  ASSERT_EQ(found.size(), expected_.size());
  size_t described = 0;
  size_t inlined = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].has_lines, expected_[i].has_lines) << addresses_[i];
    if (!expected_[i].has_lines) continue;
    ++described;
    inlined += found[i].names.size() > 1;
    EXPECT_EQ(text_of(found[i], expected_[i]), text_of(expected_[i], found[i])) << addresses_[i];
  }
  EXPECT_GT(described, 300u);
  EXPECT_GT(inlined, 100u);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(PeDwarf, ASeparateFileHasIt) {
  const fixture::Folder folder;
  const std::vector<char> debug = image_with_dwarf(*program_);
  write(folder / "x.debug", debug);
  const auto crc = static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(debug.data()), static_cast<uInt>(debug.size())));
  for (const uint32_t sum : {crc, crc + 1}) {
    Image image;
    image.section(".gnu_debuglink", fixture::Bytes().text("x.debug").align().u32(sum).bytes());
    image.symbol("unrelated", 0x1000, 0);
    write(folder / "x.exe", image.bytes());
    const auto file = pe_at(folder / "x.exe");
    const bool is_its_own = sum == crc;
    EXPECT_EQ(dwarf_names_of(*file, addresses_, {}, &warnings_)[0].has_lines, is_its_own);
    NameSources sources;
    sources.use_debug_files = false;
    EXPECT_FALSE(dwarf_names_of(*file, addresses_, sources, &warnings_)[0].has_lines);
  }
}

TEST_F(PeDwarf, WithoutDebugInfoThereIsNone) {
  const auto file = fixture::pe_of_bytes(Image().bytes());
  const std::vector<CodeNames> found = dwarf_names_of(*file, {0x1000, 0x1001}, {}, &warnings_);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_TRUE(found[0].names.empty());
}

}  // namespace
}  // namespace memprof::profile
