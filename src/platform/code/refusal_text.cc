// SPDX-License-Identifier: Apache-2.0
#include "platform/code/relocation.h"

namespace memprof::platform {

const char* refusal_text(Refusal refusal) {
  switch (refusal) {
    case Refusal::kNone:
      return "none";
    case Refusal::kUnsupported:
      return "is on a processor that hooks are not written for";
    case Refusal::kShort:
      return "is too short for a jump";
    case Refusal::kUnreadable:
      return "has an instruction that is not known";
    case Refusal::kCall:
      return "begins with a call";
    case Refusal::kLoop:
      return "begins with a loop instruction";
    case Refusal::kJumpInto:
      return "jumps back to its beginning";
    case Refusal::kFar:
      return "is too far from free memory";
    case Refusal::kChanged:
      return "is not what its file says";
    case Refusal::kLocal:
      return "is local: its callers may call it in a way of their own";
    case Refusal::kAcrossPages:
      return "begins at the end of a page";
  }
  return "";
}

}  // namespace memprof::platform
