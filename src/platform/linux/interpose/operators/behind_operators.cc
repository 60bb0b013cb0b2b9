// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/interpose/behind_operators.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

#include "platform/linux/interpose/hook_table.h"
#include "platform/linux/interpose/operators/operator_forms.h"
#include "platform/linux/modules/dynamic_section.h"
#include "platform/linux/modules/exports.h"
#include "platform/linux/modules/standard_library.h"
#include "platform/linux/modules/symbol_writer.h"

// nullptr: there is no standard library, yet.
extern "C" void __cxa_throw() __attribute__((weak));

namespace memprof::interpose {
namespace {

// What find_operators() found; hide_operators() comes later.
FormSet g_without_definition;

// The modules in the loader's order, as far as operators are concerned.
struct Survey {
  const void* real_malloc;
  bool is_behind = false;            // our own module was seen
  bool is_standard_library = false;  // our module has a copy of one in it; ours are in place of its operators
  FormSet in_front = 0;
  FormSet behind = 0;
  FormSet of_standard_library = 0;  // of those behind
  FormSet of_allocator = 0;         // likewise
  FormSet imported = 0;             // by modules that were linked with us
  const void* first[kForms] = {};   // of those in front
  const void* next[kForms] = {};
};

bool is_ours(const dl_phdr_info& module) {
  return platform::is_in_module(module, reinterpret_cast<uint64_t>(&g_without_definition));
}

void add(const dl_phdr_info& module, Survey* survey) {
  const platform::ExportTable exports(module);
  const bool is_standard = platform::is_standard_library(module);
  const bool is_allocator = platform::is_in_module(module, reinterpret_cast<uint64_t>(survey->real_malloc));
  for (uint32_t f = 0; f < kForms; ++f) {
    if (has(survey->behind, f)) {
      continue;
    }
    const void* const found = exports.find(kOperatorForms[f].name);
    if (found == nullptr) {
      continue;
    }
    const FormSet form = set_of(static_cast<Form>(f));
    if (!survey->is_behind) {
      survey->first[f] = has(survey->in_front, f) ? survey->first[f] : found;
      survey->in_front |= form;
      continue;
    }
    survey->next[f] = found;
    survey->behind |= form;
    survey->of_standard_library |= is_standard ? form : 0;
    survey->of_allocator |= is_allocator ? form : 0;
  }
}

// Which forms a module imports that was linked with this library, and so maybe with no other that has them.
FormSet imported_by(const dl_phdr_info& module) {
  const platform::DynamicSection section(module);
  bool needs_us = false;
  section.each_needed([&](const char* name) { needs_us = needs_us || strncmp(name, "libmemprof", 10) == 0; });
  FormSet imported = 0;
  for (const platform::DynamicSection::Relocations& relocations : section.relocations()) {
    const auto* const r = reinterpret_cast<const ElfW(Rela)*>(relocations.start);
    for (uint64_t i = 0; needs_us && i < relocations.count; ++i) {
      ElfW(Sym) symbol;
      const uint64_t at = section.symbols() + ELF64_R_SYM(r[i].r_info) * sizeof(symbol);
      const char* const name = section.read(at, &symbol) ? section.string(symbol.st_name) : nullptr;
      const uint32_t form = name != nullptr && symbol.st_shndx == SHN_UNDEF ? operator_form(name) : kForms;
      imported |= form != kForms ? set_of(static_cast<Form>(form)) : 0;
    }
  }
  return imported;
}

int visit(dl_phdr_info* module, size_t, void* context) {
  auto* const survey = static_cast<Survey*>(context);
  if (is_ours(*module)) {
    survey->is_behind = true;
    survey->is_standard_library = platform::is_in_module(*module, reinterpret_cast<uint64_t>(&__cxa_throw));
  } else {
    add(*module, survey);
    survey->imported |= imported_by(*module);
  }
  return survey->is_standard_library ? 1 : 0;
}

// Where our form is.  The module that we are linked into may have one of its own by that name.
uint64_t hook_address(uint32_t form) {
  for (uint32_t i = 0; i < g_hook_count; ++i) {
    if (strcmp(g_hooks[i].name, kOperatorForms[form].name) == 0) {
      return reinterpret_cast<uint64_t>(g_hooks[i].hook);
    }
  }
  return 0;
}

// Takes the definitions of `forms` out of the module's table of symbols.
void undefine(const dl_phdr_info& module, FormSet forms) {
  platform::SymbolWriter writer(module);
  for (uint32_t f = 0; f < kForms; ++f) {
    if (has(forms, f)) {
      writer.add(kOperatorForms[f].name, hook_address(f), 0);
    }
  }
  writer.write();
}

using AlignedDelete = void (*)(void*, size_t);
AlignedDelete g_aligned_delete[2];  // what stands in for the sized ones goes on to

template <int kArray>
void sized_aligned_delete(void* block, size_t, size_t alignment) {
  g_aligned_delete[kArray](block, alignment);
}

// In a program that was linked with us, and whose standard library is in its executable, our forms are in place of
// that library's: they call what those would.  Arguments that a function does not take are no matter to it; but
// nobody catches here what a replaced new throws (docs/limits.md).
void stand_in(const Survey& survey, char* pointers, bool* present) {
  const FormSet defined = survey.in_front | survey.behind;
  for (uint32_t f = 0; f < kForms; ++f) {
    uint32_t called = f;
    while (called != kForms && !has(defined, called)) {
      called = kOperatorForms[called].next;
    }
    if (called == kForms || !has(survey.imported & ~survey.behind, f)) {
      continue;
    }
    const void* target = has(survey.in_front, called) ? survey.first[called] : survey.next[called];
    const bool takes_alignment = called == kDeleteAligned || called == kDeleteArrayAligned;
    if (takes_alignment && (f == kDeleteSizedAligned || f == kDeleteArraySizedAligned)) {
      const bool is_array = f == kDeleteArraySizedAligned;
      memcpy(&g_aligned_delete[is_array], &target, sizeof(target));
      target = is_array ? reinterpret_cast<const void*>(&sized_aligned_delete<1>)
                        : reinterpret_cast<const void*>(&sized_aligned_delete<0>);
    }
    memcpy(pointers + f * sizeof(void*), &target, sizeof(void*));
    *present = true;
  }
}

}  // namespace

void find_operators(const void* real_malloc, ForeignOperators* found) {
  Survey survey;
  survey.real_malloc = real_malloc;
  dl_iterate_phdr(visit, &survey);
  g_without_definition = ((FormSet{1} << kForms) - 1) & ~survey.behind & ~survey.imported;
  if (survey.is_standard_library) {
    *found = {};
    return;
  }

  // Which forms come to the same as malloc and free of the process.
  FormSet plain = 0;
  for (uint32_t f = 0; f < kForms; ++f) {
    const FormSet called = kOperatorForms[f].calls;
    const FormSet all = called | set_of(static_cast<Form>(f));
    const bool is_standard = (all & ~survey.of_standard_library) == 0 && (called & survey.in_front) == 0;
    const bool is_aligned_new = f >= kNewAligned && f <= kNewArrayAlignedNothrow;
    if (is_standard || (is_aligned_new && has(survey.of_allocator, f))) {
      plain |= set_of(static_cast<Form>(f));
    }
  }
  ForeignOperators operators{};
  auto* const pointers = reinterpret_cast<char*>(&operators) + kFirstOperator;
  for (uint32_t f = 0; f < kForms; ++f) {
    if (has(survey.behind & ~plain, f)) {
      memcpy(pointers + f * sizeof(void*), &survey.next[f], sizeof(void*));
      operators.present = true;
    }
  }
  stand_in(survey, pointers, &operators.present);
  for (uint32_t array = 0; array < 2; ++array) {
    operators.sampled_plain[array] = has(survey.of_allocator, kNew + array);
    operators.sampled_nothrow[array] = has(survey.of_allocator, kNewNothrow + array);
  }
  *found = operators;
  if (operators.present || g_without_definition != 0) {
    platform::leave_out_operators();
  }
}

void hide_operators() {
  dl_iterate_phdr(
      [](dl_phdr_info* module, size_t, void*) {
        if (!is_ours(*module)) {
          return 0;
        }
        undefine(*module, g_without_definition);
        return 1;
      },
      nullptr);
}

}  // namespace memprof::interpose
