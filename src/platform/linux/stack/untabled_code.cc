// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/stack/untabled_code.h"

#include <sys/auxv.h>

#include "platform/code/code_rule.h"
#include "platform/linux/libc/c_library.h"
#include "platform/linux/modules/elf_image.h"
#include "unwind/walk/call_site.h"

namespace memprof::platform {
namespace {

// The segment with the code at `address`.
bool find_code(uint64_t address, ElfImage* elf, CodeRange* code) {
  if (!find_elf(address, elf)) {
    return false;
  }
  const ElfW(Phdr)* const segment = find_segment(*elf, address);
  if (segment == nullptr || (segment->p_flags & (PF_R | PF_X)) != (PF_R | PF_X)) {
    return false;
  }
  code->start = elf->bias + segment->p_vaddr;
  code->limit = code->start + segment->p_filesz;
  return true;
}

constexpr uint64_t kCallBytes = 8;     // before an address, that are looked at
constexpr uint64_t kReturnBytes = 10;  // behind it

bool is_near_signal_return(uint64_t address, const CodeRange& code) {
  const auto* const at = reinterpret_cast<const uint8_t*>(address);
  return code.limit - address > kReturnBytes &&
         (unwind::is_signal_return(at) || unwind::is_signal_return(at + 1));
}

}  // namespace

// `address`: of the last byte of a call, mostly.
bool find_untabled_rule(uint64_t address, unwind::Rule* rule) {
  ElfImage elf;
  CodeRange code{};
  if (libc::has_unwind_tables() || !find_code(address, &elf, &code) || address - code.start < kCallBytes) {
    return false;
  }
  const auto* const next = reinterpret_cast<const uint8_t*>(address + 1);
  const bool is_called = unwind::follows_call(next);
  if (!is_called && is_near_signal_return(address, code)) {
    return false;
  }
  const uint64_t of_libc = reinterpret_cast<uint64_t>(&getauxval);
  code.begins_stacks = of_libc - elf.map_start < elf.map_end - elf.map_start;
  return find_code_rule(is_called ? address + 1 : address, code, libc::is_noreturn, rule);
}

bool is_untabled_signal_return(uint64_t address) {
  ElfImage elf;
  CodeRange code{};
  return !libc::has_unwind_tables() && find_code(address, &elf, &code) &&
         code.limit - address >= kReturnBytes &&
         unwind::is_signal_return(reinterpret_cast<const uint8_t*>(address));
}

}  // namespace memprof::platform
