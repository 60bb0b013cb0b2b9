// SPDX-License-Identifier: Apache-2.0
// What all modules of a generated program share (kinds/operators.py): the list of replaced operators that the call
// under way came to.  A C library without operators of its own.
#include "operators.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int armed;
static char text[2000];

void op_arm(void) {
  text[0] = '\0';
  armed = 1;
}

int op_is_armed(void) {
  return armed;
}

void op_note(const char* module, const char* form) {
  if (!armed) return;
  const size_t length = strlen(text);
  snprintf(text + length, sizeof text - length, " %s.%s", module, form);
}

// At once, so that it is there if the program dies next.
void op_tell(const char* caller, const char* call, const char* result) {
  armed = 0;
  char line[2200];
  const int length =
      snprintf(line, sizeof line, "%s %s:%s%s%s\n", caller, call, text, *result ? " = " : "", result);
  if (write(1, line, (size_t)length) != length) _exit(9);
}
