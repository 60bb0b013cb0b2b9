// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pe/pdb_search.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/profile/symbolize/fixture.h"
#include "tests/profile/symbolize/pdb/pdb_bytes.h"
#include "tests/profile/symbolize/pe/pe_image.h"

namespace memprof::profile {
namespace {

constexpr char kKey[] =
    "33323130353437363839616263646566"
    "1";

class PdbSearch : public ::testing::Test {
 protected:
  PdbSearch() {
    std::filesystem::create_directories(folder_ / "bin");
    unsetenv("_NT_SYMBOL_PATH");
  }

  std::unique_ptr<PeFile> image(const std::string& pdb) {
    fixture::Image image;
    image.pdb(pdb);
    OpenedFile file;
    file.path = folder_ / "bin/x.exe";
    file.image = std::make_unique<FileImage>(image.bytes());
    return PeFile::of_file(std::move(file));
  }
  std::string put(const std::string& path, const std::string& bytes = fixture::small_pdb().bytes()) {
    std::filesystem::create_directories(std::filesystem::path(folder_ / path).parent_path());
    fixture::write_file(folder_ / path, bytes);
    return folder_ / path;
  }
  std::vector<std::string> candidates(const std::string& pdb, const std::string& symbol_path = "") {
    return pdb_candidates(*image(pdb), folder_ / "debug", symbol_path);
  }

  fixture::Folder folder_;
};

using Paths = std::vector<std::string>;

TEST_F(PdbSearch, KeysAreThoseOfSymbolStores) {
  EXPECT_EQ(symbol_store_key("3031323334353637383961626364656601000000"), kKey);
  EXPECT_EQ(symbol_store_key("00112233445566778899aabbccddeeff1a000000"),
            "33221100554477668899AABBCCDDEEFF1A");
  EXPECT_EQ(symbol_store_key("00112233445566778899aabbccddeeff00000000"),
            "33221100554477668899AABBCCDDEEFF0");
  EXPECT_EQ(symbol_store_key("4433221100500000"), "");
}

TEST_F(PdbSearch, APdbLiesBesideItsImage) {
  EXPECT_EQ(candidates("C:\\build\\X.pdb"), Paths{});
  const std::string beside = put("bin/x.PDB");
  EXPECT_EQ(candidates("C:\\build\\X.pdb"), Paths{beside});
  EXPECT_EQ(candidates("X.pdb"), Paths{beside});
  EXPECT_EQ(candidates(""), Paths{});
}

TEST_F(PdbSearch, OrWhereTheLinkerWroteIt) {
  const std::string here = put("build/x.pdb");
  EXPECT_EQ(candidates(here), Paths{here});
  const std::string in_wine = put("wine/dosdevices/c:/Build/X.pdb");
  setenv("WINEPREFIX", (folder_ / "wine").c_str(), 1);
  EXPECT_EQ(candidates("C:\\build\\x.pdb"), Paths{in_wine});
  unsetenv("WINEPREFIX");
}

TEST_F(PdbSearch, OrInAFolderOfSymbols) {
  const std::string stored = put(std::string("symbols/x.pdb/") + kKey + "/x.pdb");
  const std::string flat = put("flat/x.pdb");
  const std::string debug = put(std::string("debug/x.pdb/") + kKey + "/x.pdb");
  EXPECT_EQ(candidates("C:\\x.pdb"), Paths{debug});
  EXPECT_EQ(candidates("C:\\x.pdb", "cache*;srv*" + (folder_ / "symbols") +
                                        "*https://symbols.example;C:\\symbols;" + (folder_ / "flat")),
            (Paths{stored, flat, debug}));
}

TEST_F(PdbSearch, OnlyTheOneOfThisBuildIsUsed) {
  fixture::PdbStreams other = fixture::small_pdb();
  other.streams[1].replace(12, 1, "X");
  const std::string wrong = put("bin/x.pdb", other.bytes());
  const std::string damaged = put("debug/x.pdb", "damaged");
  std::vector<std::string> warnings;
  const auto program = image("C:\\x.pdb");
  EXPECT_EQ(find_pdb(*program, folder_ / "debug", &warnings), nullptr);
  EXPECT_EQ(warnings, (Paths{wrong + ": belongs to another build of " + (folder_ / "bin/x.exe") +
                                 " (GUID and age 5831323334353637383961626364656601000000, not "
                                 "3031323334353637383961626364656601000000); no lines",
                             damaged + ": not a PDB; no lines"}));
  // Once the right one is found, others are no matter.
  put("symbols/x.pdb");
  setenv("_NT_SYMBOL_PATH", (folder_ / "symbols").c_str(), 1);
  warnings.clear();
  EXPECT_NE(find_pdb(*program, folder_ / "debug", &warnings), nullptr);
  EXPECT_EQ(warnings, Paths{});
  unsetenv("_NT_SYMBOL_PATH");
}

TEST_F(PdbSearch, AFastLinkIsRefusedByName) {
  const std::string path = put("bin/x.pdb", fixture::small_pdb(0x494e494d).bytes());
  std::vector<std::string> warnings;
  EXPECT_NE(find_pdb(*image("x.pdb"), "", &warnings), nullptr);
  EXPECT_EQ(warnings,
            Paths{path + ": was made with /DEBUG:FASTLINK, its debug info is in object files; no lines"});
}

}  // namespace
}  // namespace memprof::profile
