// SPDX-License-Identifier: Apache-2.0
// Built twice, with different frames at the same addresses: whoever applies the rules of one to the other
// finds a wrong caller.
#include <string.h>

void churn_function(void (*call)(int), int depth) {
  volatile char frame[FRAME_BYTES];
  memset((char*)frame, depth, sizeof(frame));
  if (depth > 0) {
    churn_function(call, depth - 1);
  } else {
    call(3);
  }
  frame[0] = 1;
}
