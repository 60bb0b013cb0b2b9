// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pe/pe_object.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/profile/symbolize/fixture.h"
#include "tests/profile/symbolize/llvm_symbolizer.h"
#include "tests/profile/symbolize/pdb/pdb_bytes.h"
#include "tests/profile/symbolize/pe/pe_image.h"

namespace memprof::profile {
namespace {

using fixture::Image;

TEST(PeObject, AddressesOfAProfileAreThoseOfTheImage) {
  Image image;
  image.functions({{0x1000, 0x1010, 0x1900}, {0x1010, 0x1020, 0x1900}});
  image.symbol("first", 0x1000);
  const PeObject opened(image.file());
  const PeObject* file = &opened;
  EXPECT_EQ(file->vaddr_of_offset(0x1008), 0x1008u);
  EXPECT_EQ(file->vaddr_of_offset(uint64_t{1} << 32), std::nullopt);
  std::vector<std::string> warnings;
  const std::vector<CodeNames> names = file->names_of({0x1012, 0x1008}, {}, &warnings);
  ASSERT_EQ(names.size(), 2u);
  EXPECT_TRUE(names[0].names.empty());
  ASSERT_EQ(names[1].names.size(), 1u);
  EXPECT_EQ(names[1].names[0].name, "first");
  EXPECT_TRUE(names[1].names[0].is_symbol);
  EXPECT_FALSE(names[1].has_lines);
  EXPECT_TRUE(warnings.empty());
}

// Its mappings would be of the file, as Linux has them, and its names wrong.
TEST(PeObject, AProfileWithoutItsBuildIdIsNotOfWindows) {
  for (const char* build_id : {"", "4433221100500000"}) {
    OpenedFile file;
    file.image = std::make_unique<FileImage>(Image().bytes());
    std::string why;
    const auto opened = kPeFormat.open(std::move(file), build_id, &why);
    EXPECT_EQ(opened != nullptr, *build_id != '\0');
    EXPECT_EQ(why,
              *build_id != '\0' ? "" : "a file of a Windows program, of which the profile has no build id");
  }
}

TEST(PeObject, OtherFilesAreNone) {
  std::string why;
  EXPECT_EQ(kPeFormat.open({}, "", &why), nullptr);
  EXPECT_EQ(why, "not a file of a Windows program for x86-64");
  EXPECT_FALSE(kPeFormat.is_one("ZM"));
  EXPECT_FALSE(kPeFormat.is_one("M"));
}

// An image with its PDB beside it.  Code of the PDB's module is at 0x1010, and a public symbol of none at 0x1100.
class WithPdb {
 public:
  WithPdb() {
    Image image;
    image.pdb("C:\\build\\X.pdb");
    image.functions({{0x1010, 0x1050, 0x1900}, {0x1100, 0x1110, 0x1900}, {0x1200, 0x1210, 0x1900}});
    image.symbol("symbol", 0x1200);
    const std::vector<char> bytes = image.bytes();
    fixture::write_file(folder_ / "x.exe", std::string(bytes.begin(), bytes.end()));
    fixture::write_file(folder_ / "x.pdb", fixture::small_pdb().bytes());
  }
  std::vector<std::string> names(uint64_t address, const NameSources& sources) {
    OpenedFile file;
    std::string why;
    EXPECT_TRUE(open_file(folder_ / "x.exe", &file, &why)) << why;
    const PeObject object(PeFile::of_file(std::move(file)));
    std::vector<std::string> warnings;
    std::vector<std::string> all;
    const std::vector<CodeNames> found = object.names_of({address}, sources, &warnings);
    for (const CodeName& name : found[0].names) {
      all.push_back(name.name + " " + name.file + ":" + std::to_string(name.line));
    }
    EXPECT_TRUE(warnings.empty());
    return all;
  }

 private:
  fixture::Folder folder_;
};

TEST(PeObject, NamesAreThoseOfThePdb) {
  WithPdb files;
  using Names = std::vector<std::string>;
  EXPECT_EQ(files.names(0x1012, {}), Names{"space::outer C:\\src\\outer.cpp:100"});
  EXPECT_EQ(files.names(0x1019, {}),
            (Names{"space::Class::inner C:\\src\\inner.h:21", "space::outer C:\\src\\outer.cpp:101"}));
  EXPECT_EQ(files.names(0x1105, {}), Names{"?only_public@@YAXXZ :0"});
  EXPECT_EQ(files.names(0x1205, {}), Names{"symbol :0"});
  EXPECT_EQ(files.names(0x1300, {}), Names{});
}

TEST(PeObject, WhatIsNotWantedIsNotGiven) {
  WithPdb files;
  using Names = std::vector<std::string>;
  NameSources sources;
  sources.use_debug_info = false;
  EXPECT_EQ(files.names(0x1019, sources), Names{"space::outer :0"});
  sources.use_debug_files = false;
  EXPECT_EQ(files.names(0x1019, sources), Names{});
  EXPECT_EQ(files.names(0x1205, sources), Names{"symbol :0"});
}

// All over the code of real images: those of lld, and of MEMPROF_PE_FILES (paths, with ":" between), which are to have their
// PDBs beside them.
TEST(PeObject, NamesOfRealImagesAreThoseOfLlvm) {
  constexpr size_t kPlaces = 5000;
  std::vector<std::string> paths = {fixture::path("debug/windows.exe")};
  const char* others = std::getenv("MEMPROF_PE_FILES");
  std::istringstream list(others != nullptr ? others : "");
  for (std::string path; std::getline(list, path, ':');) paths.push_back(path);
  for (const std::string& path : paths) {
    OpenedFile opened;
    std::string why;
    ASSERT_TRUE(open_file(path, &opened, &why)) << path << ": " << why;
    auto pe = PeFile::of_file(std::move(opened));
    ASSERT_NE(pe, nullptr);
    std::vector<uint64_t> addresses;
    for (const PeFile::Section& section : pe->sections()) {
      for (size_t i = 0; section.is_code && i < kPlaces; ++i) {
        addresses.push_back(section.address + uint64_t{section.memory_size} * i / kPlaces);
      }
    }
    std::vector<std::string> warnings;
    const std::vector<CodeNames> found = PeObject(std::move(pe)).names_of(addresses, {}, &warnings);
    const std::vector<fixture::Frames> expected = fixture::ask_llvm(path, addresses, MEMPROF_LLVM_SYMBOLIZER);
    ASSERT_EQ(found.size(), expected.size());
    size_t same = 0;
    size_t known = 0;
    size_t inlined = 0;
    size_t same_outside = 0;
    const bool is_ours = &path == paths.data();
    for (size_t i = 0; i < found.size(); ++i) {
      // LLVM has the nearest public symbol below where no function is.
      if (!found[i].has_lines && expected[i].size() <= 1 && (expected[i].empty() || expected[i][0].line == 0))
        continue;
      fixture::Frames frames;
      for (const CodeName& name : found[i].names) {
        frames.push_back({name.name, name.file.empty() ? "??" : fixture::base_name(name.file),
                          static_cast<long>(name.line)});
      }
      ++known;
      inlined += frames.size() > 1;
      same += frames == expected[i];
      same_outside += !frames.empty() && !expected[i].empty() && frames.back() == expected[i].back();
      if (frames != expected[i] && is_ours && known - same <= 5) {
        ADD_FAILURE() << path << " at 0x" << std::hex << addresses[i] << ":\n"
                      << ::testing::PrintToString(frames) << "\n"
                      << ::testing::PrintToString(expected[i]);
      }
    }
    std::printf(
        "%s: %zu places with lines, %zu of them in inlined calls; the same: %zu, outside of inlined calls %zu\n",
        path.c_str(), known, inlined, same, same_outside);
    EXPECT_GT(known, 500u);
    EXPECT_GT(inlined, 100u);
    EXPECT_EQ(warnings, std::vector<std::string>());
  }
}

}  // namespace
}  // namespace memprof::profile
