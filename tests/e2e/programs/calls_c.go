// SPDX-License-Identifier: Apache-2.0

// Calls C, which allocates, from the main goroutine and from eight others; C calls Go, which calls C again.
package main

/*
#include <stdlib.h>

static __attribute__((noinline)) void* c_leaf(size_t size) {
  void* p = malloc(size);
  __asm__ volatile("" : "+r"(p) : : "memory");
  return p;
}

static __attribute__((noinline)) void c_middle(size_t size) {
  volatile char frame[300];
  frame[0] = 1;
  free(c_leaf(size));
  frame[1] = frame[0];
}

static __attribute__((noinline)) void c_entry(size_t size) {
  c_middle(size);
  __asm__ volatile("");
}

void calledBack(void);

static __attribute__((noinline)) void c_calls_back(void) {
  calledBack();
  __asm__ volatile("");
}
*/
import "C"

const (
	rounds  = 1000
	workers = 8
)

//export calledBack
func calledBack() {
	C.c_entry(802)
}

//go:noinline
func work() {
	for i := 0; i < rounds; i++ {
		C.c_entry(801)
		C.c_calls_back()
	}
}

func main() {
	done := make(chan bool)
	for i := 0; i < workers; i++ {
		go func() {
			work()
			done <- true
		}()
	}
	work()
	for i := 0; i < workers; i++ {
		<-done
	}
	// Go's own end is a system call that nobody in the process sees; a profile is written when libc's exit runs.
	C.exit(0)
}
