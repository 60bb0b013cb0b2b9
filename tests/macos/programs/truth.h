// SPDX-License-Identifier: Apache-2.0
// For test programs: says what it allocated, a line a function: NAME live-blocks live-bytes allocated-blocks allocated-bytes.
#pragma once

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define SITE __attribute__((noinline))
// No tail call: the site's frame stays while the allocation runs.
#define STAY __asm__ volatile("" ::: "memory")

static void say_number(char** at, unsigned long number) {
  char digits[24];
  int count = 0;
  do {
    digits[count++] = (char)('0' + number % 10);
    number /= 10;
  } while (number != 0);
  while (count > 0) *(*at)++ = digits[--count];
}

static void say_truth(const char* name, unsigned long live, unsigned long live_bytes, unsigned long all,
                      unsigned long all_bytes) {
  char line[256];
  char* at = line;
  const unsigned long numbers[] = {live, live_bytes, all, all_bytes};
  memcpy(at, name, strlen(name));
  at += strlen(name);
  for (int i = 0; i < 4; ++i) {
    *at++ = ' ';
    say_number(&at, numbers[i]);
  }
  *at++ = '\n';
  (void)!write(1, line, (size_t)(at - line));
}
