// SPDX-License-Identifier: Apache-2.0
// The replaceable forms of operator new and delete, and which of them the standard library's own forms call.
//
// Model: a program may replace any of them. The standard library's definition of a form that it does not replace
// calls others, as the standard says, and so ends in those that are replaced:
//
//     nothrow new[] ──> new[] ──> new        sized, nothrow delete[] ──> delete[] ──> delete
//     nothrow new ────────────────^          sized, nothrow delete ───────────────────^
//
// and the aligned forms likewise among themselves. A version of the library may call fewer of them than are
// listed here (before GCC 9 the nothrow forms called malloc), never another one.
#pragma once

#include <cstdint>

namespace memprof::interpose {

// In the order of the pointers in ForeignOperators.
enum Form : uint32_t {
  kNew,
  kNewArray,
  kNewNothrow,
  kNewArrayNothrow,
  kNewAligned,
  kNewArrayAligned,
  kNewAlignedNothrow,
  kNewArrayAlignedNothrow,
  kDelete,
  kDeleteArray,
  kDeleteSized,
  kDeleteArraySized,
  kDeleteNothrow,
  kDeleteArrayNothrow,
  kDeleteAligned,
  kDeleteArrayAligned,
  kDeleteSizedAligned,
  kDeleteArraySizedAligned,
  kDeleteAlignedNothrow,
  kDeleteArrayAlignedNothrow,
  kForms
};

using FormSet = uint32_t;

constexpr FormSet set_of(Form form) {
  return FormSet{1} << form;
}
constexpr bool has(FormSet set, uint32_t form) {
  return (set >> form & 1) != 0;
}

struct OperatorForm {
  const char* name;
  FormSet calls;  // what the standard library's may call, and what those call
  Form next;      // the one that it calls itself, as the standard says; kForms: malloc or free
};

inline constexpr OperatorForm kOperatorForms[kForms] = {
    {"_Znwm", 0, kForms},
    {"_Znam", set_of(kNew), kNew},
    {"_ZnwmRKSt9nothrow_t", set_of(kNew), kNew},
    {"_ZnamRKSt9nothrow_t", set_of(kNewArray) | set_of(kNewNothrow) | set_of(kNew), kNewArray},
    {"_ZnwmSt11align_val_t", 0, kForms},
    {"_ZnamSt11align_val_t", set_of(kNewAligned), kNewAligned},
    {"_ZnwmSt11align_val_tRKSt9nothrow_t", set_of(kNewAligned), kNewAligned},
    {"_ZnamSt11align_val_tRKSt9nothrow_t",
     set_of(kNewArrayAligned) | set_of(kNewAlignedNothrow) | set_of(kNewAligned), kNewArrayAligned},
    {"_ZdlPv", 0, kForms},
    {"_ZdaPv", set_of(kDelete), kDelete},
    {"_ZdlPvm", set_of(kDelete), kDelete},
    {"_ZdaPvm", set_of(kDeleteArray) | set_of(kDelete), kDeleteArray},
    {"_ZdlPvRKSt9nothrow_t", set_of(kDelete), kDelete},
    {"_ZdaPvRKSt9nothrow_t", set_of(kDeleteArray) | set_of(kDelete), kDeleteArray},
    {"_ZdlPvSt11align_val_t", 0, kForms},
    {"_ZdaPvSt11align_val_t", set_of(kDeleteAligned), kDeleteAligned},
    {"_ZdlPvmSt11align_val_t", set_of(kDeleteAligned), kDeleteAligned},
    {"_ZdaPvmSt11align_val_t", set_of(kDeleteArrayAligned) | set_of(kDeleteAligned), kDeleteArrayAligned},
    {"_ZdlPvSt11align_val_tRKSt9nothrow_t", set_of(kDeleteAligned), kDeleteAligned},
    {"_ZdaPvSt11align_val_tRKSt9nothrow_t", set_of(kDeleteArrayAligned) | set_of(kDeleteAligned),
     kDeleteArrayAligned},
};

// kForms: it is none.
constexpr uint32_t operator_form(const char* name) {
  for (uint32_t f = 0; f < kForms; ++f) {
    const char* a = kOperatorForms[f].name;
    const char* b = name;
    while (*a != '\0' && *a == *b) {
      ++a;
      ++b;
    }
    if (*a == *b) {
      return f;
    }
  }
  return kForms;
}

}  // namespace memprof::interpose
