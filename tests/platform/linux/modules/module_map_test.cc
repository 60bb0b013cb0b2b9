// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/modules/module_map.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "platform/clock.h"
#include "platform/process.h"
#include "tests/support/loaded_modules.h"

namespace memprof::module_map_test {
namespace {

using platform::LoadedSegment;
using platform::ModuleMap;
using testing_support::loaded_modules;
using testing_support::LoadedModule;

// The kernel's path of a file has no links in it, and under an emulator it is that of another root.
bool are_the_same_file(const std::string& a, const std::string& b) {
  struct stat of_a{};
  struct stat of_b{};
  return stat(a.c_str(), &of_a) == 0 && stat(b.c_str(), &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
         of_a.st_ino == of_b.st_ino;
}

// A library that nobody else here loads; nullptr: this system has none.
void* load_some_library() {
  for (const char* name : {"libnss_compat.so.2", "libpcprofile.so", "libmemusage.so"}) {
    if (dlopen(name, RTLD_NOW | RTLD_NOLOAD) == nullptr) {
      if (void* handle = dlopen(name, RTLD_NOW)) {
        return handle;
      }
    }
  }
  return nullptr;
}

// Maps are large and only their pages that are used have memory: static.
TEST(ModuleMap, EachSegmentOfEachModuleAsTheLoaderHasIt) {
  static ModuleMap map;
  int segments = 0;
  for (const LoadedModule& module : loaded_modules()) {
    SCOPED_TRACE(module.path);
    uint64_t index = 0;
    for (const ElfW(Phdr) & h : module.headers) {
      index = h.p_type == PT_GNU_EH_FRAME ? module.bias + h.p_vaddr : index;
    }
    for (const ElfW(Phdr) & h : module.headers) {
      if (h.p_type != PT_LOAD) {
        continue;
      }
      for (const uint64_t offset : {uint64_t{0}, h.p_memsz / 2, h.p_memsz - 1}) {
        const uint64_t address = module.bias + h.p_vaddr + offset;
        LoadedSegment segment;
        ASSERT_TRUE(map.find(address, &segment));
        EXPECT_LE(segment.start, address);
        EXPECT_GT(segment.limit, address);
        EXPECT_EQ(module.bias, segment.bias);
        EXPECT_EQ(index, segment.eh_frame);
        ASSERT_EQ(module.headers.size(), segment.header_count);
        EXPECT_EQ(0, memcmp(module.headers.data(), reinterpret_cast<const void*>(segment.headers),
                            module.headers.size() * sizeof(ElfW(Phdr))));
        if (module.path.empty()) {
          EXPECT_STREQ(platform::program_path(), segment.path);
        } else if (module.path[0] == '/') {
          EXPECT_TRUE(are_the_same_file(module.path, segment.path)) << segment.path;
        }
        ++segments;
      }
    }
  }
  EXPECT_GE(segments, 20);
  EXPECT_EQ(1u, map.renewals());
}

TEST(ModuleMap, WhatIsInNone) {
  static ModuleMap map;
  int on_stack = 0;
  const std::unique_ptr<int> on_heap(new int);
  LoadedSegment segment;
  for (const uint64_t address :
       {uint64_t{0}, uint64_t{1}, uint64_t{4095}, reinterpret_cast<uint64_t>(&on_stack),
        reinterpret_cast<uint64_t>(on_heap.get()), uint64_t{1} << 63, uint64_t{UINT64_MAX}}) {
    EXPECT_FALSE(map.find(address, &segment)) << std::hex << address;
  }
}

// A file that is read through a mapping has the headers of a module and is none.
TEST(ModuleMap, AFileThatIsOnlyRead) {
  static ModuleMap map;
  const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  struct stat about{};
  ASSERT_EQ(0, fstat(fd, &about));
  const size_t size = static_cast<size_t>(about.st_size);
  void* mapped = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  ASSERT_NE(MAP_FAILED, mapped);
  LoadedSegment segment;
  EXPECT_FALSE(map.find(reinterpret_cast<uint64_t>(mapped) + 100, &segment));
  EXPECT_FALSE(map.find(reinterpret_cast<uint64_t>(mapped) + size / 2, &segment));
  EXPECT_TRUE(map.find(reinterpret_cast<uint64_t>(&load_some_library), &segment));
  munmap(mapped, size);
  close(fd);
}

TEST(ModuleMap, ALibraryThatComesAndGoes) {
  static ModuleMap map;
  LoadedSegment segment;
  ASSERT_TRUE(map.find(reinterpret_cast<uint64_t>(&load_some_library), &segment));
  void* handle = load_some_library();
  if (handle == nullptr) {
    GTEST_SKIP() << "no library that is not loaded already";
  }
  link_map* loaded = nullptr;
  ASSERT_EQ(0, dlinfo(handle, RTLD_DI_LINKMAP, &loaded));
  const uint64_t address = reinterpret_cast<uint64_t>(loaded->l_ld);
  const std::string path = loaded->l_name;
  ASSERT_TRUE(map.find(address, &segment));
  EXPECT_TRUE(are_the_same_file(path, segment.path)) << segment.path;
  EXPECT_EQ(2u, map.renewals());
  dlclose(handle);
  if (dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD) != nullptr) {
    GTEST_SKIP() << path << " does not let itself be unloaded";
  }
  // Nobody told the map; nothing of the library is read any more.
  EXPECT_FALSE(map.find(address, &segment));
  EXPECT_TRUE(map.find(reinterpret_cast<uint64_t>(&load_some_library), &segment));
}

// Code that is in no module, over and over, as that of a just-in-time compiler.
TEST(ModuleMap, MissesCostABoundedPartOfTheTime) {
  static ModuleMap map;
  void* code = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(MAP_FAILED, code);
  LoadedSegment segment;
  const uint64_t start = platform::monotonic_ns();
  uint64_t lookups = 0;
  // The credit of the start is 0.1 s, then 1/32 of the time: a renewal each lookup would be as many as
  // lookups.
  while (platform::monotonic_ns() - start < 400000000) {
    EXPECT_FALSE(map.find(reinterpret_cast<uint64_t>(code), &segment));
    ++lookups;
  }
  EXPECT_GT(lookups, 10 * map.renewals());
  EXPECT_GT(map.renewals(), 1u);
  munmap(code, 4096);
}

TEST(ModuleMap, WithoutProcNothingIsKnown) {
  static ModuleMap map;
  EXPECT_FALSE(map.renew("/nonexistent/maps"));
  EXPECT_EQ(0u, map.renewals());
}

// Lookups while snapshots are made: never a wrong answer.
TEST(ModuleMap, ReadersWhileItIsRenewed) {
  static ModuleMap map;
  const uint64_t address = reinterpret_cast<uint64_t>(&load_some_library);
  LoadedSegment truth;
  ASSERT_TRUE(map.find(address, &truth));
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::atomic<int> found{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        LoadedSegment segment;
        if (map.find(address, &segment)) {
          found += 1;
          wrong += segment.bias != truth.bias || strcmp(segment.path, truth.path) != 0 ? 1 : 0;
        }
      }
    });
  }
  for (int i = 0; i < 200; ++i) {
    map.renew("/proc/self/maps");
  }
  stop = true;
  for (std::thread& reader : readers) {
    reader.join();
  }
  EXPECT_EQ(0, wrong);
  EXPECT_GT(found, 100);
}

}  // namespace
}  // namespace memprof::module_map_test
