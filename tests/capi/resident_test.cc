// SPDX-License-Identifier: Apache-2.0
// What the process of a snapshot has in memory, by the public C API.
#include "memprof.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>

#include "platform/process.h"
#include "tests/capi/profiled.h"
#include "tests/support/engine.h"

namespace memprof::memprof_test {
namespace {

using testing_support::in_child;

TEST(CApi, ResidentMemoryOfThisProcess) {
  in_child([] {
    start();
    constexpr size_t kBytes = 8 << 20;
    char* const block = static_cast<char*>(malloc(kBytes));
    memset(block, 1, kBytes / 2);
    record(reinterpret_cast<uint64_t>(block), kBytes, 1);
    memprof_snapshot* snapshot = nullptr;
    ASSERT_EQ(MEMPROF_OK, memprof_get_snapshot(&snapshot));
    memprof_resident m{};
    m.struct_size = sizeof(m);
    ASSERT_EQ(MEMPROF_OK, memprof_snapshot_get_resident(snapshot, &m));
    EXPECT_EQ(0u, m.rss_bytes);  // nobody asked
    uint64_t count = 7;
    EXPECT_NE(nullptr, memprof_snapshot_resident_shares(snapshot, &count));
    EXPECT_EQ(0u, count);
    errno = 77;
    ASSERT_EQ(MEMPROF_OK, memprof_snapshot_read_resident(snapshot, 0));
    EXPECT_EQ(77, errno);
    ASSERT_EQ(MEMPROF_OK, memprof_snapshot_get_resident(snapshot, &m));
    EXPECT_EQ(sizeof(m), m.struct_size);
    EXPECT_GT(m.rss_bytes, kBytes / 2);
    EXPECT_EQ(kBytes, m.live_bytes);
    EXPECT_GT(m.files_bytes, 0u);
    const float* const shares = memprof_snapshot_resident_shares(snapshot, &count);
    ASSERT_EQ(1u, count);
    // Huge pages may have given it more than was touched.
    EXPECT_GE(shares[0], 0.49F);
    EXPECT_LE(shares[0], 1.0F);
    EXPECT_NEAR((1 - static_cast<double>(shares[0])) * kBytes, static_cast<double>(m.absent_bytes), 8192);
    memprof_free_snapshot(snapshot);
    free(block);
  });
}

TEST(CApi, ResidentMemoryOfNoProcess) {
  in_child([] {
    start();
    memprof_snapshot* snapshot = nullptr;
    ASSERT_EQ(MEMPROF_OK, memprof_get_snapshot(&snapshot));
    EXPECT_EQ(MEMPROF_ERR_SYSTEM, memprof_snapshot_read_resident(snapshot, UINT32_MAX));
    EXPECT_EQ(ENOENT, errno);
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_snapshot_read_resident(nullptr, 0));
    memprof_resident m{};
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_snapshot_get_resident(snapshot, &m));  // no size
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_snapshot_get_resident(snapshot, nullptr));
    // A caller of an older version gets what it knows.
    m.struct_size = 16;
    m.swap_bytes = 5;
    ASSERT_EQ(MEMPROF_OK, memprof_snapshot_read_resident(snapshot, 0));
    EXPECT_EQ(MEMPROF_OK, memprof_snapshot_get_resident(snapshot, &m));
    EXPECT_GT(m.rss_bytes, 0u);
    EXPECT_EQ(5u, m.swap_bytes);
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_snapshot_get_resident(nullptr, &m));
    platform::set_sandboxed(true);
    EXPECT_EQ(MEMPROF_ERR_SYSTEM, memprof_snapshot_read_resident(snapshot, 0));
    EXPECT_EQ(EPERM, errno);
    platform::set_sandboxed(false);
    memprof_free_snapshot(snapshot);
  });
}

}  // namespace
}  // namespace memprof::memprof_test
