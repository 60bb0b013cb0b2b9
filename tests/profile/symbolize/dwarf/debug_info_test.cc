// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/dwarf/debug_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "profile/symbolize/elf/elf_file.h"
#include "tests/profile/symbolize/addr2line.h"
#include "tests/profile/symbolize/dwarf_fixture.h"
#include "tests/profile/symbolize/fixture.h"

namespace memprof::profile {
namespace {

using fixture::Frames;
using fixture::NamedFrame;

constexpr size_t kAddresses = 1000;

// Without spaces, and without the numbers of lambdas.
std::string comparable(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool is_number = c >= '0' && c <= '9' && !result.empty() && result.back() == '#';
    if (c != ' ' && !is_number) result += c;
  }
  return result;
}

// Whether `theirs` is the bare name of the function that `ours` is.
bool is_bare(const std::string& theirs, const std::string& ours) {
  const std::string bare = theirs.substr(0, theirs.find('<', 1));
  for (size_t at = ours.find(bare); at != std::string::npos; at = ours.find(bare, at + 1)) {
    const char after = ours[at + bare.size()];
    if ((at == 0 || ours[at - 1] == ':') && (after == '\0' || after == '(' || after == '<')) return true;
  }
  return false;
}

// Whether both say the same of an address.  What may differ, and why:
// - Of an inlined call that has no linkage name the tools say `third`, and we where it is and, if we can, its
//   parameters: `shapes::(anonymous namespace)::third(int)`.
// - They guess the source file of code without debug info (crtstuff.c) from the symbol table; we do not.
// - They differ in spaces between `>` of templates.
// - Demanglers count the lambdas of one function in different ways: {lambda()#1}, {lambda()#2}.
bool is_same(const Frames& ours, const Frames& theirs) {
  if (ours.size() != theirs.size()) return false;
  for (size_t i = 0; i < ours.size(); ++i) {
    const std::string our_name = comparable(ours[i].name);
    const std::string their_name = comparable(theirs[i].name);
    const bool is_inlined = i + 1 < ours.size();
    if (our_name != their_name && !(is_inlined && is_bare(their_name, our_name))) return false;
    const bool has_debug_info = ours[i].file != "??";
    if (has_debug_info && (ours[i].file != theirs[i].file || ours[i].line != theirs[i].line)) return false;
  }
  return true;
}

std::vector<Frames> our_frames(const std::string& program, const std::vector<uint64_t>& addresses) {
  std::string why;
  Profile profile = fixture::profile_of_addresses(*ElfFile::open(program, &why), addresses);
  const SymbolizeSummary summary = Symbolizer().symbolize(profile);
  EXPECT_THAT(summary.warnings, ::testing::IsEmpty());
  return fixture::frames_of(profile);
}

std::vector<uint64_t> addresses_of(const std::string& program) {
  std::string why;
  const auto file = ElfFile::open(program, &why);
  return file == nullptr ? std::vector<uint64_t>() : fixture::addresses_of_code(*file, kAddresses);
}

struct Program {
  const char* name;
  const char* tool;
};

class ProgramWithDebugInfo : public ::testing::TestWithParam<Program> {};

TEST_P(ProgramWithDebugInfo, FramesAreThoseOfTheTools) {
  const std::string program = fixture::path(std::string("debug/") + GetParam().name);
  const std::vector<uint64_t> addresses = addresses_of(program);
  ASSERT_GT(addresses.size(), kAddresses * 9 / 10);
  const std::vector<Frames> ours = our_frames(program, addresses);
  const std::vector<Frames> theirs = fixture::ask_addr2line(program, addresses, GetParam().tool);
  ASSERT_EQ(ours.size(), theirs.size());
  size_t differences = 0;
  size_t inlined = 0;
  size_t lines = 0;
  for (size_t i = 0; i < ours.size(); ++i) {
    inlined += ours[i].size() - 1;
    lines += ours[i][0].line != 0;
    if (is_same(ours[i], theirs[i])) continue;
    ++differences;
    ADD_FAILURE() << std::hex << addresses[i] << ": ours " << ::testing::PrintToString(ours[i]) << "\ntheirs "
                  << ::testing::PrintToString(theirs[i]);
    if (differences == 5) break;
  }
  // The programs are as they are meant to be.
  EXPECT_GT(inlined, kAddresses);
  EXPECT_GT(lines, kAddresses * 8 / 10);
}

// binutils 2.40 loses inlined calls and files of DWARF 5, so it is asked about DWARF 4.
INSTANTIATE_TEST_SUITE_P(
    Compilers, ProgramWithDebugInfo,
    ::testing::Values(Program{"gcc5", MEMPROF_LLVM_ADDR2LINE}, Program{"gcc4", MEMPROF_LLVM_ADDR2LINE},
                      Program{"clang5", MEMPROF_LLVM_ADDR2LINE}, Program{"clang4", MEMPROF_LLVM_ADDR2LINE},
                      Program{"split5", MEMPROF_LLVM_ADDR2LINE}, Program{"clang4", MEMPROF_ADDR2LINE}),
    [](const auto& test) {
      return std::string(test.param.name) +
             (test.param.tool == std::string(MEMPROF_ADDR2LINE) ? "Binutils" : "Llvm");
    });

// The same program with its debug info packed, moved and shared.
class PackedDebugInfo : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(PackedDebugInfo, SaysTheSame) {
  const auto& [plain, packed] = GetParam();
  const std::vector<uint64_t> addresses = addresses_of(fixture::path(std::string("debug/") + plain));
  ASSERT_GT(addresses.size(), kAddresses * 9 / 10);
  EXPECT_EQ(our_frames(fixture::path(std::string("debug/") + packed), addresses),
            our_frames(fixture::path(std::string("debug/") + plain), addresses));
}

INSTANTIATE_TEST_SUITE_P(Kinds, PackedDebugInfo,
                         ::testing::Values(std::pair("gcc5", "shared/gcc5"), std::pair("gcc4", "shared/gcc4"),
                                           std::pair("gcc4", "shared/old/gcc4")));

// libdw opens it, whatever it is, and waits for a pipe.
TEST(DebugInfo, ASplitFileIsNotOpenedForAProgramThatOthersCanChange) {
  const fixture::Folder folder;
  const std::string program = folder / "split5";
  std::filesystem::copy_file(fixture::path("debug/split5"), program);
  const std::vector<uint64_t> addresses = addresses_of(program);
  size_t names[2] = {};
  for (const bool is_trusted : {true, false}) {
    ASSERT_EQ(chmod(program.c_str(), is_trusted ? 0600 : 0646), 0);
    std::string why;
    const auto file = ElfFile::open(program, &why);
    ASSERT_NE(file, nullptr) << why;
    const auto info = DebugInfo::open(file->handle(), file->is_trusted(), nullptr, addresses);
    ASSERT_NE(info, nullptr);
    for (const auto& frames : info->frames_of(addresses)) {
      for (const SourceFrame& frame : frames) names[is_trusted] += !frame.name.linkage_name.empty();
    }
    EXPECT_TRUE(info->has_split_units());
  }
  EXPECT_GT(names[true], addresses.size() / 2);
  EXPECT_EQ(names[false], 0u);
}

TEST(DebugInfo, AFunctionHasOneNameWhetherItIsInlinedOrNot) {
  const std::string program = fixture::path("debug/gcc5");
  std::string why;
  std::vector<uint64_t> addresses;
  const fixture::OpenDwarf dwarf("gcc5");
  for (const char* function : {"main", "_ZL5ofteni", "_ZL6hiddenRKSt6vectorIiSaIiEE"}) {
    const auto [begin, size] = dwarf.function(function);
    for (uint64_t i = 0; i < size; ++i) addresses.push_back(begin + i);
  }
  size_t inlined = 0;
  size_t called = 0;
  for (const Frames& frames : our_frames(program, addresses)) {
    for (size_t i = 0; i < frames.size(); ++i) {
      if (frames[i].name.compare(0, 5, "often") != 0) continue;
      EXPECT_EQ(frames[i].name, "often(int)");
      ++(i + 1 == frames.size() ? called : inlined);
    }
  }
  EXPECT_GT(called, 0u);
  EXPECT_GT(inlined, 0u);
}

TEST(DebugInfo, AFileWithoutHasNone) {
  std::string why;
  const auto file = ElfFile::open(fixture::path("pie"), &why);
  EXPECT_EQ(DebugInfo::open(file->handle(), true, nullptr, {4096}), nullptr);
}

TEST(DebugInfo, AddressesOfNobodyHaveNoFrames) {
  std::string why;
  const auto file = ElfFile::open(fixture::path("debug/gcc5"), &why);
  const std::vector<uint64_t> addresses = {0, 1, 0x40, UINT64_MAX, UINT64_MAX - 1};
  const auto info = DebugInfo::open(file->handle(), true, nullptr, addresses);
  ASSERT_NE(info, nullptr);
  const auto frames = info->frames_of(addresses);
  for (const auto& of_address : frames) EXPECT_TRUE(of_address.empty());
}

TEST(DebugInfo, TheOrderOfAddressesDoesNotMatter) {
  const std::string program = fixture::path("debug/gcc5");
  std::vector<uint64_t> addresses = addresses_of(program);
  std::vector<Frames> forward = our_frames(program, addresses);
  std::reverse(addresses.begin(), addresses.end());
  std::reverse(forward.begin(), forward.end());
  EXPECT_EQ(our_frames(program, addresses), forward);
}

}  // namespace
}  // namespace memprof::profile
