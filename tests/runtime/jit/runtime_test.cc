// SPDX-License-Identifier: Apache-2.0
#include "runtime/jit/runtime.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>

#include "core/engine/profiler.h"
#include "format/runtime_frame.h"
#include "memprof.h"
#include "tests/runtime/jit/listed_objects.h"
#include "tests/support/engine.h"

namespace memprof::jit::runtime_test {
namespace {

using jit_fixture::Descriptor;
using jit_fixture::Entry;
using jit_fixture::make_object;
using testing_support::in_child;

constexpr uint64_t kCode = 0x70000000;

TEST(JitRuntime, IsInTheRegistryByItsId) {
  EXPECT_EQ(&kRuntime, runtimes::find_runtime(MEMPROF_RUNTIME_JIT));
  EXPECT_EQ(kRuntimeId, uint32_t{MEMPROF_RUNTIME_JIT});
  EXPECT_STREQ("MEMPROF_JIT", kRuntime.variable);
}

TEST(JitRuntime, NamesNothingWhereNoModuleHasAList) {
  in_child([] {
    EXPECT_FALSE(kRuntime.attach(true));
    EXPECT_FALSE(kRuntime.enter_module(reinterpret_cast<uint64_t>(&strlen), true));
    EXPECT_EQ(nullptr, runtimes::g_name_code.load());
    runtimes::RunningThread thread;
    EXPECT_FALSE(kRuntime.find_thread(&thread));
  });
}

struct Library {
  void* handle = dlopen(MEMPROF_JIT_FIXTURES "/fake_jit.so", RTLD_NOW | RTLD_LOCAL);
  Descriptor* descriptor = nullptr;
  std::string object = make_object(kCode, {{"made", 0, 32}});
  Entry entry{nullptr, nullptr, object.data(), object.size()};

  Library() {
    EXPECT_NE(nullptr, handle) << dlerror();
    descriptor = static_cast<Descriptor*>(dlsym(handle, "__jit_debug_descriptor"));
    descriptor->first = descriptor->changed = &entry;
    descriptor->action = 1;
  }
};

TEST(JitRuntime, NamesReturnAddressesInListedCode) {
  in_child([] {
    ASSERT_EQ(Status::kOk, profiler::initialize({4096, 1024, 64}, 0, {}));
    ASSERT_EQ(Status::kOk, profiler::start());
    Library library;
    EXPECT_FALSE(kRuntime.enter_module(reinterpret_cast<uint64_t>(library.descriptor), true));
    ASSERT_NE(nullptr, runtimes::g_name_code.load());
    const uint64_t other = runtime_frame(7, 1);
    uint64_t frames[] = {kCode + 8, other, kCode + 32, kCode + 33, 0x401000};
    runtimes::g_name_code.load()(frames, 4);
    EXPECT_TRUE(is_runtime_frame(frames[0]));
    EXPECT_EQ(other, frames[1]);
    EXPECT_EQ(frames[0], frames[2]);  // behind a call that is the last instruction
    EXPECT_EQ(kCode + 33, frames[3]);
    EXPECT_EQ(0x401000u, frames[4]);

    kRuntime.before_unload();
    dlclose(library.handle);
    kRuntime.after_unload();
    uint64_t later[] = {kCode + 8};
    runtimes::g_name_code.load()(later, 1);
    EXPECT_EQ(kCode + 8, later[0]);
  });
}

TEST(JitRuntime, AListIsFoundAmongAllModules) {
  in_child([] {
    const Library library;
    EXPECT_FALSE(kRuntime.attach(true));
    EXPECT_NE(nullptr, runtimes::g_name_code.load());
  });
}

}  // namespace
}  // namespace memprof::jit::runtime_test
