// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/imports/import_patch.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cstddef>
#include <string>

#include "memprof.h"
#include "platform/imports.h"
#include "platform/linux/imports/import_table.h"
#include "platform/process.h"
#include "tests/platform/linux/imports/patched_libraries.h"
#include "tests/support/engine.h"
#include "tests/support/import_fixtures.h"

namespace memprof::import_patch_test {
namespace {

// Trap 7: a sampled block is freed through a pointer that was taken before, and its address is given out
// again.
TEST(ImportPatch, AStaleRecordIsReplacedAndCounted) {
  if (kSanitized) {
    GTEST_SKIP() << "their allocators do not give an address out again";
  }
  in_child([] {
    const Library library("now");
    start();
    EXPECT_EQ(0u, stats().replaced_samples);
    void* block = library.allocate(40001);
    plain_free(block);
    void* again = library.allocate(40001);
    ASSERT_EQ(block, again);
    EXPECT_EQ(1u, stats().replaced_samples);
    EXPECT_EQ(40001u, recorded(again));
    library.free(again);
    EXPECT_EQ(kNone, recorded(again));
  });
}

// Every mprotect fails from here on.
void forbid_mprotect() {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof(code) / sizeof(code[0]), code};
  ASSERT_EQ(0, prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
  ASSERT_EQ(0, prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

// A child that shuts itself in before its first allocation would be ended by our first work in it.
TEST(ImportPatch, AFilterOfSystemCallsIsSeenBeforeItIsLoaded) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer has a prctl of its own";
  }
  in_child([] {
    memprof_options options;
    ASSERT_EQ(MEMPROF_OK, memprof_options_init(&options, sizeof(options)));
    options.rate_bytes = 0;
    options.follow_fork = 1;
    ASSERT_EQ(MEMPROF_OK, memprof_init(&options));
    const Library library("now");
    ASSERT_EQ(MEMPROF_OK, memprof_start());
    in_child([&] {
      forbid_mprotect();
      EXPECT_TRUE(platform::is_sandboxed());
      void* block = library.allocate(1009);
      EXPECT_EQ(1009u, recorded(block)) << "the child's tables were made before";
      library.free(block);
    });
    EXPECT_FALSE(platform::is_sandboxed());
  });
}

// Trap 8: slots in read-only pages stay where mprotect is refused; the others are patched, and all is told.
TEST(ImportPatch, WhatTheSystemRefusesIsSkippedAndSaid) {
  if (kSanitized) {
    GTEST_SKIP() << "their allocators call mprotect";
  }
  in_child([] {
    const Library open("lazy");
    const Library closed("now");
    forbid_mprotect();
    start();
    expect_is_seen(open);
    void* block = closed.allocate(1009);
    EXPECT_EQ(kNone, recorded(block));
    closed.free(block);
    const memprof_stats s = stats();
    EXPECT_LE(4u, s.import_refused);
    EXPECT_LE(4u, s.import_patched);
    const int64_t length = memprof_describe_imports(nullptr, 0);
    ASSERT_LT(0, length);
    std::string text(static_cast<size_t>(length) + 1, 'x');
    EXPECT_EQ(length, memprof_describe_imports(text.data(), text.size()));
    EXPECT_EQ('\0', text.back());
    EXPECT_NE(std::string::npos, text.find(closed.path + ": refused ")) << text;
    EXPECT_EQ(std::string::npos, text.find(open.path)) << text;
    EXPECT_EQ(text.substr(0, 4095).c_str(), std::string(platform::imports_note()));
    char little[8];
    EXPECT_EQ(length, memprof_describe_imports(little, sizeof(little)));
    EXPECT_EQ('\0', little[7]);
  });
}

TEST(ImportPatch, NothingIsPatchedBeforeTheStartOrInAForkChild) {
  in_child([] {
    const Library library("now");
    initialize();
    library.free(library.allocate(100));
    EXPECT_EQ(0u, stats().samples);
    EXPECT_EQ(0u, stats().import_patched);
    EXPECT_EQ(uint64_t{MEMPROF_HOOKS_NONE}, stats().hooks);
    ASSERT_EQ(MEMPROF_OK, memprof_start());
    EXPECT_EQ(uint64_t{MEMPROF_HOOKS_IMPORTS}, stats().hooks);
    in_child([&] {
      EXPECT_EQ(MEMPROF_ERR_FORKED, memprof_start());
      const Library later("lazy");
      void* block = later.allocate(1009);
      for (uint64_t* slot : slots(later.path, "malloc")) {
        EXPECT_TRUE(*slot == reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "malloc")) ||
                    *slot - reinterpret_cast<uint64_t>(slot) < 1 << 20 ||
                    reinterpret_cast<uint64_t>(slot) - *slot < 1 << 20);
      }
      later.free(block);
      library.free(library.allocate(100));
    });
    expect_is_seen(library);
  });
}

TEST(ImportPatch, AConstructorOfALibraryMayStartIt) {
  in_child([] {
    start();
    EXPECT_EQ(MEMPROF_OK, memprof_stop());
    const Library library("now");  // loaded while stopped: the next start sees it
    EXPECT_EQ(MEMPROF_OK, memprof_start());
    expect_is_seen(library);
  });
}

}  // namespace
}  // namespace memprof::import_patch_test
