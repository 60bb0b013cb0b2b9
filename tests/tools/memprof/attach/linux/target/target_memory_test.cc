// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/target/target_memory.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/wait.h>
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

TEST(ProgramIdentity, StaysWhileTheProgramDoes) {
  EXPECT_NE(program_identity(own()), "");
  EXPECT_EQ(program_identity(own()), program_identity(own()));
  EXPECT_EQ(program_identity(4'000'000'000), "");
}

// A shell that executes itself, with the same arguments and at the same addresses.
TEST(ProgramIdentity, AProgramThatExecutesItselfIsAnother) {
  int to[2];
  int from[2];
  ASSERT_EQ(pipe(to), 0);
  ASSERT_EQ(pipe(from), 0);
  const pid_t child = fork();
  if (child == 0) {
    personality(ADDR_NO_RANDOMIZE);
    dup2(to[0], 0);
    dup2(from[1], 1);
    execl("/bin/sh", "sh", "-c", "echo r; read x && exec sh -c \"$0\" \"$0\"",
          "echo r; read x && exec sh -c \"$0\" \"$0\"", nullptr);
    _exit(127);
  }
  const auto pid = static_cast<uint64_t>(child);
  std::string identities[3];
  for (std::string& identity : identities) {
    char answer[2];
    ASSERT_EQ(read(from[0], answer, 2), 2);  // it runs
    identity = program_identity(pid);
    EXPECT_NE(identity, "");
    ASSERT_EQ(write(to[1], "x\n", 2), 2);
  }
  EXPECT_NE(identities[0], identities[1]);
  EXPECT_NE(identities[1], identities[2]);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  for (const int fd : {to[0], to[1], from[0], from[1]}) close(fd);
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
