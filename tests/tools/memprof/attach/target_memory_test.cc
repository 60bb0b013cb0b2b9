// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/target_memory.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

namespace memprof::cli {
namespace {

uint64_t own() {
  return static_cast<uint64_t>(getpid());
}

uint64_t address_of(const void* data) {
  return reinterpret_cast<uint64_t>(data);
}

TEST(TargetMemory, ReadsAndWrites) {
  const TargetMemory memory(own(), TargetMemory::Access::kReadAndWrite);
  ASSERT_EQ(memory.error(), 0);
  volatile int value = 17;
  int read = 0;
  EXPECT_TRUE(memory.read(address_of(const_cast<int*>(&value)), &read, sizeof(read)));
  EXPECT_EQ(read, 17);
  const int other = 18;
  EXPECT_TRUE(memory.write(address_of(const_cast<int*>(&value)), &other, sizeof(other)));
  EXPECT_EQ(value, 18);
}

TEST(TargetMemory, TheEndOfAMapping) {
  auto* pages =
      static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(munmap(pages + 4096, 4096), 0);
  TargetMemory memory(own(), TargetMemory::Access::kRead);
  const TargetMemory moved(std::move(memory));
  char data[8192];
  EXPECT_EQ(moved.read_some(address_of(pages), data, sizeof(data)) % 4096, 0u);
  EXPECT_FALSE(moved.read(0, data, 1));
  munmap(pages, 4096);
}

TEST(TargetMemory, NoProcess) {
  const TargetMemory memory(4'000'000'000, TargetMemory::Access::kRead);
  EXPECT_EQ(memory.error(), ENOENT);
  int error = 0;
  EXPECT_TRUE(memory_ranges(4'000'000'000, &error).empty());
  EXPECT_EQ(error, ENOENT);
  EXPECT_EQ(auxiliary_vector(4'000'000'000), "");
}

TEST(TargetMemory, Ranges) {
  int error = 0;
  const std::vector<MemoryRange> ranges = memory_ranges(own(), &error);
  int on_stack = 0;
  const MemoryRange* code = range_at(ranges, reinterpret_cast<uint64_t>(&own));
  const MemoryRange* stack = range_at(ranges, address_of(&on_stack));
  ASSERT_NE(code, nullptr);
  ASSERT_NE(stack, nullptr);
  EXPECT_TRUE(code->is_code);
  EXPECT_FALSE(code->is_writable);
  EXPECT_TRUE(stack->is_writable);
  EXPECT_FALSE(stack->is_code);
  EXPECT_EQ(range_at(ranges, 1), nullptr);
  EXPECT_EQ(range_at({}, 1), nullptr);
}

TEST(TargetMemory, AuxiliaryVector) {
  const std::string vector = auxiliary_vector(own());
  EXPECT_EQ(auxiliary_value(vector, AT_PAGESZ), static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(auxiliary_value(vector, 9999), 0u);
  EXPECT_EQ(auxiliary_value("short", AT_PAGESZ), 0u);
}

}  // namespace
}  // namespace memprof::cli
