// SPDX-License-Identifier: Apache-2.0
// A small profile as the engine hands it to the writer in the profiled process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dump/raw_pprof.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {

// Three stacks of two modules; live blocks of several sizes and rates; one address in no module.
class RawFixture {
 public:
  RawFixture() {
    modules = {{0x400000, 0x500000, 0x1000, "/bin/server", build_id_, 20},
               {0x7f0000000000, 0x7f0000200000, 0, "/lib/libc.so.6", nullptr, 0}};
    stacks.resize(3);
    stacks[0].frames = frames_[0];
    stacks[0].depth = 3;
    add_samples(stacks[0].allocated, 64, 100);
    add_samples(stacks[0].freed, 64, 40);
    stacks[0].freed.variance_bytes = stacks[0].freed.variance_count = 0;
    stacks[0].freed.max_missed_bytes = stacks[0].freed.max_missed_count = 0;
    stacks[0].lifetime_ns = 1.25e9;
    lifetimes_ = {{0, 3, 30, 1920, 0.75 * stacks[0].freed.weight_bytes, 0.75 * stacks[0].freed.weight_count},
                  {0, 27, 10, 640, 0.25 * stacks[0].freed.weight_bytes, 0.25 * stacks[0].freed.weight_count}};
    stacks[0].lifetimes = {lifetimes_.data(), lifetimes_.size()};
    exact_lifetime_ = {0, 0, 2, 99, 99, 2};
    stacks[1].lifetimes = {&exact_lifetime_, 1};
    births_ = {{0, 20, 1e7, 160000}, {9, 40, 2e7, 320000}};
    stacks[0].births = {births_.data(), births_.size()};
    load_births_ = {{3, 60, 3e7, 480000}};
    stacks[0].load_births = {load_births_.data(), load_births_.size()};
    profile.load.bytes = 12345678;
    for (uint32_t i = 0; i <= kBirthParts; ++i) profile.load.at_ns[i] = 1000 * i;
    stacks[1].frames = frames_[1];
    stacks[1].depth = 2;
    stacks[1].walk = 2;
    add_samples(stacks[1].allocated, 1, 1);
    add_samples(stacks[1].allocated, 100000, 5);
    add_samples(stacks[1].allocated, 0, 2);
    add_samples(stacks[1].allocated, 3 << 20, 4);
    stacks[2].frames = frames_[2];
    stacks[2].depth = 1;
    stacks[2].walk = 3;
    add_samples(stacks[2].allocated, 1 << 30, 1, 1);
    add_live(0, 64, kTestRate, 60);
    add_live(1, 0, kTestRate, 2);
    add_live(1, 1, kTestRate, 1);
    add_live(1, 100000, 4096, 3);
    add_live(1, 100000, kTestRate, 5);
    add_live(1, 3 << 20, kTestRate, 4);
    add_live(2, 1 << 30, 0, 1);
    profile.program = "my server 100%";
    profile.pid = 4711;
    profile.rate_bytes = kTestRate;
    profile.time_unix_ns = 1700000000123456789;
    profile.duration_ns = 5000000000;
    profile.samples = 116;
    profile.live_samples = 76;
    profile.dropped_samples = 3;
    profile.dropped_weight_bytes = 1572864;
    profile.replaced_samples = 2;
    profile.muted_bytes = 77;
    profile.folded_stacks = 78;
    profile.thinned_samples = 79;
    for (uint64_t i = 0; i < kWalkReasons; ++i) {
      profile.walks[i] = 10 + i;
    }
    point();
  }
  RawFixture(const RawFixture&) = delete;
  RawFixture& operator=(const RawFixture&) = delete;

  void add_live(uint32_t stack, uint64_t size, uint64_t rate, uint64_t samples) {
    const double count = static_cast<double>(samples) / sampling_probability(size, rate);
    live.push_back({stack, size, rate, samples, count * static_cast<double>(size), count});
  }

  // After a change of the vectors.
  void point() {
    profile.modules = modules.data();
    profile.module_count = modules.size();
    profile.stacks = stacks.data();
    profile.stack_count = stacks.size();
    profile.live = live.data();
    profile.live_count = live.size();
  }

  std::vector<RawModule> modules;
  std::vector<RawStack> stacks;
  std::vector<RawLive> live;
  RawProfile profile;

 private:
  std::vector<Lifetime> lifetimes_;
  std::vector<Birth> births_;
  std::vector<Birth> load_births_;
  Lifetime exact_lifetime_;
  uint8_t build_id_[20] = {0xde, 0xad, 0xbe, 0xef, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xff};
  // Return addresses, leaf first.
  uint64_t frames_[3][3] = {
      {0x401235, 0x402001, 0x7f0000001001}, {0x401300, 0x402001, 0}, {0xffff00000001, 0, 0}};
};

inline std::string write_raw(const RawProfile& profile) {
  std::vector<uint64_t> scratch(raw_pprof_scratch_bytes(profile) / 8 + 2);
  std::string out;
  const Sink sink{[](void* context, const void* data, size_t size) {
                    static_cast<std::string*>(context)->append(static_cast<const char*>(data), size);
                    return true;
                  },
                  &out};
  auto* memory = reinterpret_cast<uint8_t*>(scratch.data());
  memory += reinterpret_cast<uintptr_t>(memory) % 16;
  return write_raw_pprof(profile, memory, raw_pprof_scratch_bytes(profile), sink) ? out : std::string();
}

}  // namespace memprof::profile
