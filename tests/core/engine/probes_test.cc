// SPDX-License-Identifier: Apache-2.0
// What a tracer finds in the notes of this program and sees at their places: here a breakpoint and a handler of its signal.
#include "platform/probes.h"

// ThreadSanitizer delivers signals late.
#if defined(__linux__) && defined(__x86_64__) && !defined(__SANITIZE_THREAD__)

#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/engine/live_samples.h"
#include "core/engine/ownership.h"
#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "platform/process.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::probes_test {
namespace {

using testing_support::FakeStack;
using testing_support::in_child;

constexpr size_t kMaxArguments = 8;
using Values = std::array<uint64_t, kMaxArguments>;

struct Probe {
  std::string name;  // with its provider
  uint64_t place = 0;
  std::vector<int> registers;  // of its arguments, as ucontext_t numbers them
};

struct Hit {
  uint64_t place;
  Values values;
};

constexpr size_t kMaxHits = 16;
std::array<Hit, kMaxHits> g_hits;
size_t g_hit_count = 0;
std::vector<Probe> g_probes;

int number_of(const std::string& name) {
  static const std::map<std::string, int> kNumbers{
      {"%rax", REG_RAX}, {"%rbx", REG_RBX}, {"%rcx", REG_RCX}, {"%rdx", REG_RDX}, {"%rsi", REG_RSI},
      {"%rdi", REG_RDI}, {"%rbp", REG_RBP}, {"%r8", REG_R8},   {"%r9", REG_R9},   {"%r10", REG_R10},
      {"%r11", REG_R11}, {"%r12", REG_R12}, {"%r13", REG_R13}, {"%r14", REG_R14}, {"%r15", REG_R15}};
  const auto found = kNumbers.find(name);
  return found != kNumbers.end() ? found->second : -1;
}

uint64_t load_bias() {
  uint64_t bias = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* result) {
        *static_cast<uint64_t*>(result) = info->dlpi_addr;
        return 1;
      },
      &bias);
  return bias;
}

template <typename T>
T at(const std::string& bytes, size_t offset) {
  T value{};
  if (offset + sizeof(T) <= bytes.size()) memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

size_t up_to_4(size_t size) {
  return (size + 3) / 4 * 4;
}

Probe probe_of(const std::string& description, uint64_t base, uint64_t bias) {
  Probe probe;
  probe.place = at<uint64_t>(description, 0) + (base - at<uint64_t>(description, 8)) + bias;
  EXPECT_EQ(0u, at<uint64_t>(description, 16)) << "a semaphore";
  const char* const provider = description.data() + 24;
  const char* const name = provider + strlen(provider) + 1;
  probe.name = std::string(provider) + ":" + name;
  std::istringstream arguments(name + strlen(name) + 1);
  for (std::string one; arguments >> one;) {
    EXPECT_EQ("8@", one.substr(0, 2)) << one;
    probe.registers.push_back(number_of(one.substr(2)));
    EXPECT_GE(probe.registers.back(), 0) << one;
  }
  return probe;
}

// Of the program's file, as a tracer reads it.
std::vector<Probe> read_probes() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), {});
  const auto header = at<Elf64_Ehdr>(bytes, 0);
  const auto section = [&](size_t i) {
    return at<Elf64_Shdr>(bytes, header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  Elf64_Shdr notes{};
  uint64_t base = 0;
  for (size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr one = section(i);
    const std::string name = bytes.c_str() + names.sh_offset + one.sh_name;
    if (name == ".note.stapsdt") notes = one;
    if (name == ".stapsdt.base") base = one.sh_addr;
  }
  EXPECT_NE(0u, base);
  std::vector<Probe> probes;
  for (size_t offset = notes.sh_offset; offset < notes.sh_offset + notes.sh_size;) {
    const auto note = at<Elf64_Nhdr>(bytes, offset);
    const size_t description = offset + sizeof(note) + up_to_4(note.n_namesz);
    EXPECT_EQ(3u, note.n_type);
    EXPECT_STREQ("stapsdt", bytes.c_str() + offset + sizeof(note));
    probes.push_back(probe_of(bytes.substr(description, note.n_descsz), base, load_bias()));
    offset = description + up_to_4(note.n_descsz);
  }
  return probes;
}

void on_trap(int, siginfo_t*, void* context) {
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const uint64_t place = static_cast<uint64_t>(registers[REG_RIP]) - 1;
  for (const Probe& probe : g_probes) {
    if (probe.place == place && g_hit_count < kMaxHits) {
      Hit& hit = g_hits[g_hit_count++];
      hit = {place, {}};
      for (size_t i = 0; i < probe.registers.size() && i < kMaxArguments; ++i) {
        hit.values[i] = static_cast<uint64_t>(registers[probe.registers[i]]);
      }
      return;  // of the probes at a place the first has the most arguments
    }
  }
}

// In a child: its code is written to.
void set_breakpoints() {
  g_probes = read_probes();
  struct sigaction action{};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, nullptr);
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (const Probe& probe : g_probes) {
    auto* const code = reinterpret_cast<uint8_t*>(probe.place);
    ASSERT_EQ(0, mprotect(reinterpret_cast<void*>(probe.place / page * page), page,
                          PROT_READ | PROT_WRITE | PROT_EXEC));
    ASSERT_TRUE(*code == 0x90 || *code == 0xcc) << probe.name;  // nop; 0xcc: another probe of the same place
    *code = 0xcc;
  }
}

// The names of the probes at the place of a hit.
std::vector<std::string> names_at(const Hit& hit) {
  std::vector<std::string> names;
  for (const Probe& probe : g_probes) {
    if (probe.place == hit.place) names.push_back(probe.name);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(Probes, TheirNotesSayWhereTheArgumentsAre) {
  in_child([] {
    set_breakpoints();
    platform::probe_sample(1, 22, 333, 4444, 55555);
    platform::probe_free(6, 77, 888, 9999);
    platform::probe_thin(10, 11, 12);
    ASSERT_EQ(3u, g_hit_count);
    EXPECT_EQ((Names{"memprof:sample", "otel_memory:alloc"}), names_at(g_hits[0]));
    EXPECT_EQ((Values{1, 22, 333, 4444, 55555}), g_hits[0].values);
    EXPECT_EQ((Names{"memprof:free", "otel_memory:free"}), names_at(g_hits[1]));
    EXPECT_EQ((Values{6, 77, 888, 9999}), g_hits[1].values);
    EXPECT_EQ((Names{"memprof:thin"}), names_at(g_hits[2]));
    EXPECT_EQ((Values{10, 11, 12}), g_hits[2].values);
  });
}

TEST(Probes, EachSampleAndItsFreeIsTold) {
  in_child([] {
    constexpr uint64_t kAddress = 0x10000;
    ASSERT_EQ(Status::kOk, profiler::initialize({1000, 256, 8}, 4096));
    ASSERT_EQ(Status::kOk, profiler::start());
    set_breakpoints();
    const FakeStack stack(0x401000);
    profiler::record_allocation(reinterpret_cast<void*>(kAddress), 100, 4096, stack.entry());
    profiler::record_free(reinterpret_cast<void*>(kAddress));
    profiler::record_free(reinterpret_cast<void*>(kAddress));  // no sample of it any more
    ASSERT_EQ(2u, g_hit_count);
    EXPECT_EQ((Names{"memprof:sample", "otel_memory:alloc"}), names_at(g_hits[0]));
    EXPECT_EQ(kAddress, g_hits[0].values[0]);
    EXPECT_EQ(100u, g_hits[0].values[1]);
    EXPECT_EQ(4146u, g_hits[0].values[2]);  // 100 / (1 - exp(-100 / 4096))
    EXPECT_EQ(4096u, g_hits[0].values[3]);
    EXPECT_EQ(platform::thread_id(), g_hits[0].values[4]);
    EXPECT_EQ((Names{"memprof:free", "otel_memory:free"}), names_at(g_hits[1]));
    EXPECT_EQ(kAddress, g_hits[1].values[0]);
    EXPECT_EQ(100u, g_hits[1].values[1]);
    EXPECT_EQ(4146u, g_hits[1].values[2]);
    EXPECT_LT(g_hits[1].values[3], uint64_t{60} * 1000 * 1000 * 1000);
  });
}

}  // namespace
}  // namespace memprof::probes_test

#endif
