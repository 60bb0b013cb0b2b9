// SPDX-License-Identifier: Apache-2.0
#include "platform/windows/modules/module_list.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

void follow_once() {
  static const bool done = [] {
    follow_loader();
    return true;
  }();
  static_cast<void>(done);
}

TEST(WindowsModuleList, HasWhatIsLoaded) {
  follow_once();
  ModuleInfo info{};
  ASSERT_TRUE(find_module(address_of(reinterpret_cast<const void*>(&follow_once)), &info));
  EXPECT_EQ(info.start, address_of(GetModuleHandleW(nullptr)));
  const std::string path = info.path;
  EXPECT_EQ(path.substr(path.rfind('/') + 1), "memprof_windows_tests.exe");
  EXPECT_GT(info.build_id_size, 0u);
  EXPECT_FALSE(find_module(16, &info));
  EXPECT_NE(thread_start_function(), 0u);
}

TEST(WindowsModuleList, FollowsTheLoader) {
  follow_once();
  for (int i = 0; i < 3; ++i) {
    const HMODULE library = LoadLibraryW(L"cabinet.dll");
    ASSERT_NE(library, nullptr);
    const KnownModule* module = module_at(address_of(library) + 100);
    ASSERT_NE(module, nullptr);
    EXPECT_NE(std::string(module->path).find("cabinet.dll"), std::string::npos);
    FreeLibrary(library);
    EXPECT_EQ(module_at(address_of(library) + 100), nullptr);
  }
}

TEST(WindowsModuleList, IsReadWhileItChanges) {
  follow_once();
  std::atomic<bool> ends{false};
  std::atomic<int> wrong{0};
  std::thread reader([&] {
    const uint64_t ntdll = address_of(GetModuleHandleW(L"ntdll.dll"));
    while (!ends) {
      const KnownModule* module = module_at(ntdll + 5000);
      wrong += module != nullptr && module->image.start() != ntdll;
      const KnownModule* waited_for = wait_for_module_at(ntdll + 5000);
      wrong += waited_for == nullptr || waited_for->image.start() != ntdll;
    }
  });
  for (int i = 0; i < 200; ++i) {
    FreeLibrary(LoadLibraryW(L"cabinet.dll"));
  }
  ends = true;
  reader.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace memprof::platform
