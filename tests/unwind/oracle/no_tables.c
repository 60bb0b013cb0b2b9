// SPDX-License-Identifier: Apache-2.0
// A library without unwind tables, with frame pointers: walks go through it by those.
void no_tables_function(void (*call)(int), int depth) {
  volatile char frame[100];
  frame[0] = 1;
  if (depth > 0) {
    no_tables_function(call, depth - 1);
  } else {
    call(20);
  }
  frame[1] = 1;
}
