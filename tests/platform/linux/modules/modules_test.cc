// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "platform/linux/modules/elf_image.h"
#include "platform/modules.h"
#include "platform/process.h"
#include "tests/support/engine.h"

namespace memprof::modules_test {
namespace {

using platform::find_module;
using platform::find_symbol;
using platform::ModuleInfo;

__attribute__((noinline)) void own_function() {
  asm volatile("");
}

std::string hex(const ModuleInfo& info) {
  std::string text;
  for (uint32_t i = 0; i < info.build_id_size; ++i) {
    char two[3];
    std::snprintf(two, sizeof(two), "%02x", info.build_id[i]);
    text += two;
  }
  return text;
}

std::string build_id_by_readelf(const std::string& path) {
  std::FILE* pipe = popen(("LC_ALL=C readelf -n '" + path + "' 2>/dev/null").c_str(), "r");
  EXPECT_NE(nullptr, pipe);
  std::string output;
  char buffer[4096];
  while (std::fgets(buffer, sizeof(buffer), pipe) != nullptr) {
    output += buffer;
  }
  pclose(pipe);
  const std::string label = "Build ID: ";
  const size_t at = output.find(label);
  return at == std::string::npos
             ? ""
             : output.substr(at + label.size(), output.find('\n', at) - at - label.size());
}

// What /proc/self/maps says of an address: the offset in its file that it comes from, and the file.
bool ask_the_kernel(uint64_t address, uint64_t* file_offset, std::string* path) {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  char line[5000];
  bool found = false;
  while (!found && std::fgets(line, sizeof(line), maps) != nullptr) {
    unsigned long long start = 0, end = 0, offset = 0;
    char name[4097] = "";
    std::sscanf(line, "%llx-%llx %*s %llx %*s %*s %4096[^\n]", &start, &end, &offset, name);
    if (address >= start && address < end) {
      *file_offset = address - start + offset;
      *path = name;
      found = true;
    }
  }
  std::fclose(maps);
  return found;
}

void expect_as_the_kernel_says(uint64_t address) {
  ModuleInfo info{};
  ASSERT_TRUE(find_module(address, &info));
  EXPECT_LE(info.start, address);
  EXPECT_GT(info.limit, address);
  EXPECT_EQ(0u, info.start % 4096);
  EXPECT_EQ(0u, info.limit % 4096);
  uint64_t file_offset = 0;
  std::string path;
  ASSERT_TRUE(ask_the_kernel(address, &file_offset, &path));
  EXPECT_EQ(file_offset, address - info.start + info.file_offset);
  // The kernel's path has no links in it, and under an emulator it is that of another root.
  struct stat ours{};
  struct stat kernels{};
  ASSERT_EQ(0, stat(info.path, &ours));
  ASSERT_EQ(0, stat(path.c_str(), &kernels));
  EXPECT_EQ(kernels.st_dev, ours.st_dev);
  EXPECT_EQ(kernels.st_ino, ours.st_ino);
  EXPECT_NE("", hex(info));
  EXPECT_EQ(build_id_by_readelf(path), hex(info));
}

TEST(Modules, OwnFunction) {
  const uint64_t address = reinterpret_cast<uint64_t>(&own_function);
  expect_as_the_kernel_says(address);
  ModuleInfo info{};
  ASSERT_TRUE(find_module(address, &info));
  EXPECT_STREQ(platform::program_path(), info.path);
}

TEST(Modules, TheCLibrary) {
  expect_as_the_kernel_says(reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")));
}

// What was known of a module before holds: else it would stand in a profile a second time, without names.
TEST(Modules, InASandboxTheyAreTheSame) {
  platform::know_modules();
  const uint64_t addresses[] = {reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")),
                                reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "__tls_get_addr")),
                                reinterpret_cast<uint64_t>(&own_function)};
  for (const uint64_t address : addresses) {
    platform::set_sandboxed(true);
    ModuleInfo then{};
    const bool is_found = find_module(address, &then);
    platform::set_sandboxed(false);
    ModuleInfo before{};
    ASSERT_TRUE(find_module(address, &before));
    SCOPED_TRACE(before.path);
    ASSERT_TRUE(is_found);
    EXPECT_NE("", hex(then));
    EXPECT_EQ(hex(before), hex(then));
    EXPECT_EQ(before.start, then.start);
    EXPECT_EQ(before.limit, then.limit);
    EXPECT_EQ(before.file_offset, then.file_offset);
  }
}

TEST(Modules, TheBiasLeadsToAddressesInTheFile) {
  ModuleInfo info{};
  ASSERT_TRUE(find_module(reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")), &info));
  struct Found {
    const char* path;
    uint64_t bias;
  } found{info.path, 1};
  dl_iterate_phdr(
      [](dl_phdr_info* module, size_t, void* argument) {
        auto* f = static_cast<Found*>(argument);
        if (std::strcmp(module->dlpi_name, f->path) == 0) {
          f->bias = module->dlpi_addr;
        }
        return 0;
      },
      &found);
  EXPECT_EQ(found.bias, info.bias);
}

TEST(Modules, TheVdso) {
  const uint64_t base = getauxval(AT_SYSINFO_EHDR);
  if (base == 0) {
    GTEST_SKIP() << "this system has no vdso";
  }
  ModuleInfo info{};
  ASSERT_TRUE(find_module(base + 64, &info));
  EXPECT_LE(info.start, base + 64);
  EXPECT_GT(info.limit, base + 64);
  EXPECT_NE(nullptr, std::strstr(info.path, "vdso"));
  // Its build id is where its own headers say.
  const auto* header = reinterpret_cast<const ElfW(Ehdr)*>(base);
  const auto* headers = reinterpret_cast<const ElfW(Phdr)*>(base + header->e_phoff);
  std::string expected;
  for (int i = 0; i < header->e_phnum; ++i) {
    if (headers[i].p_type == PT_NOTE) {
      const char* at = reinterpret_cast<const char*>(base + headers[i].p_offset);
      const char* end = at + headers[i].p_filesz;
      while (at + sizeof(ElfW(Nhdr)) < end) {
        ElfW(Nhdr) note;
        std::memcpy(&note, at, sizeof(note));
        const char* content = at + sizeof(note) + (note.n_namesz + 3) / 4 * 4;
        if (note.n_type == NT_GNU_BUILD_ID) {
          ModuleInfo wanted{};
          wanted.build_id_size = note.n_descsz;
          std::memcpy(wanted.build_id, content, note.n_descsz);
          expected = hex(wanted);
        }
        at = content + (note.n_descsz + 3) / 4 * 4;
      }
    }
  }
  EXPECT_EQ(expected, hex(info));
}

TEST(Modules, AddressesThatAreInNone) {
  int on_stack = 0;
  const std::unique_ptr<int> on_heap(new int);
  ModuleInfo info{};
  for (const uint64_t address :
       {uint64_t{0}, uint64_t{1}, uint64_t{4096}, reinterpret_cast<uint64_t>(&on_stack),
        reinterpret_cast<uint64_t>(on_heap.get()), uint64_t{1} << 63, uint64_t{UINT64_MAX}}) {
    EXPECT_FALSE(find_module(address, &info)) << std::hex << address;
  }
}

TEST(Modules, AModuleIsGoneAfterItWasUnloaded) {
  void* handle = dlopen("libSegFault.so", RTLD_NOW);
  const char* symbol = nullptr;
  for (const char* library : {"libpcprofile.so", "libnss_compat.so.2", "libmemusage.so"}) {
    if (handle == nullptr) {
      handle = dlopen(library, RTLD_NOW);
    }
  }
  static_cast<void>(symbol);
  if (handle == nullptr) {
    GTEST_SKIP() << "no library that is not loaded already";
  }
  link_map* map = nullptr;
  ASSERT_EQ(0, dlinfo(handle, RTLD_DI_LINKMAP, &map));
  const uint64_t address = reinterpret_cast<uint64_t>(map->l_ld);  // its dynamic section
  ModuleInfo info{};
  ASSERT_TRUE(find_module(address, &info));
  const std::string path = info.path;
  EXPECT_EQ(map->l_name, path);
  dlclose(handle);
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD) == nullptr) {  // else it does not let itself be unloaded
    EXPECT_FALSE(find_module(address, &info));
  }
}

TEST(Modules, SymbolsAreThoseThatContainTheAddress) {
  const uint64_t start = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
  const char* name = nullptr;
  uint64_t found = 0;
  ASSERT_TRUE(find_symbol(start, &name, &found));
  EXPECT_STREQ("gnu_get_libc_version", name);
  EXPECT_EQ(start, found);
  ASSERT_TRUE(find_symbol(start + 3, &name, &found));
  EXPECT_STREQ("gnu_get_libc_version", name);
  EXPECT_EQ(start, found);
}

// Lesson 28: never a wrong nearest symbol.
TEST(Modules, Lesson28AStaticFunctionHasNoName) {
  const char* name = nullptr;
  uint64_t start = 0;
  EXPECT_FALSE(find_symbol(reinterpret_cast<uint64_t>(&own_function), &name, &start)) << name;
  EXPECT_FALSE(find_symbol(0, &name, &start));
  EXPECT_FALSE(find_symbol(UINT64_MAX, &name, &start));
  // Right behind a function of the C library.
  const uint64_t function = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
  Dl_info info;
  void* entry = nullptr;
  ASSERT_NE(0, dladdr1(reinterpret_cast<void*>(function), &info, &entry, RTLD_DL_SYMENT));
  const uint64_t behind = function + static_cast<const ElfW(Sym)*>(entry)->st_size;
  if (find_symbol(behind, &name, &start)) {
    EXPECT_STRNE("gnu_get_libc_version", name);
  }
}

}  // namespace
}  // namespace memprof::modules_test
