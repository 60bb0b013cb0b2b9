// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/stack/operator_frames.h"

#include <link.h>

#include <atomic>

#include "core/arena/levels.h"
#include "platform/linux/interpose/behind_operators.h"
#include "platform/linux/interpose/operators/operator_forms.h"
#include "platform/linux/modules/elf_image.h"
#include "platform/linux/modules/exports.h"
#include "platform/linux/modules/standard_library.h"
#include "unwind/tables/rule_cache.h"

namespace memprof::platform {
namespace {

std::atomic<bool> g_is_on{false};  // relaxed: who does not see it yet keeps a frame more

// Return addresses that were asked for: a direct-mapped cache of single words.  Below the address (48 bits) are how many
// unloads there had been, as another library may be there now (15 bits), and the answer.
constexpr uint32_t kAnswers = 1024;
std::atomic<uint64_t> g_answers[kAnswers];

bool is_in_operator(uint64_t address) {
  ElfImage elf;
  if (!find_elf(address, &elf) || elf.headers == nullptr) {
    return false;
  }
  dl_phdr_info module{};
  module.dlpi_addr = elf.bias;
  module.dlpi_phdr = elf.headers;
  module.dlpi_phnum = static_cast<ElfW(Half)>(elf.header_count);
  unwind::Image image;
  unwind::FunctionRange range;
  if (!is_standard_library(module) || !find_unwind_image(address, &image) ||
      unwind::find_function(image, address, &range) != unwind::Found::kYes) {
    return false;
  }
  const ExportTable exports(module);
  for (uint32_t f = interpose::kNew; f <= interpose::kNewArrayAlignedNothrow; ++f) {
    const void* const start = exports.find(interpose::kOperatorForms[f].name);
    if (start != nullptr && reinterpret_cast<uint64_t>(start) == range.start) {
      return true;
    }
  }
  return false;
}

}  // namespace

void leave_out_operators() {
  g_is_on.store(true, std::memory_order_relaxed);
}

bool is_left_out(uint64_t return_address) {
  if (is_hook_address(return_address)) {
    return true;
  }
  if (!g_is_on.load(std::memory_order_relaxed) || return_address < 4096) {
    return false;
  }
  const uint32_t ticket = unwind::g_rule_cache.ticket();
  std::atomic<uint64_t>& cached = g_answers[mix_hash(return_address) % kAnswers];
  const uint64_t asked = return_address << 16 | (ticket & 0x7fff) << 1;
  const uint64_t answer = cached.load(std::memory_order_relaxed);
  if (answer >> 1 == asked >> 1) {
    return (answer & 1) != 0;
  }
  const bool is_left_out = is_in_operator(return_address - 1);
  if (!unwind::RuleCache::is_unloading(ticket)) {
    cached.store(asked | (is_left_out ? 1 : 0), std::memory_order_relaxed);
  }
  return is_left_out;
}

}  // namespace memprof::platform
