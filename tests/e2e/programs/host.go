// SPDX-License-Identifier: Apache-2.0

// A Go program that loads memprof at run time, for its C code: host LIBRARY PROFILE.
package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

__attribute__((noinline)) void* host_allocates(size_t size) {
  void* p = malloc(size);
  __asm__ volatile("" : "+r"(p) : : "memory");
  return p;
}

struct options { uint32_t struct_size, max_depth; uint64_t rate_bytes, max_live_samples, max_stacks; uint32_t follow_fork, private_memory; };

static void* library;
static int start(const char* path) {
  library = dlopen(path, RTLD_NOW);
  if (library == NULL) return -100;
  struct options options = {sizeof(options), 0, 0, 0, 0, 0, 0};
  int error = ((int (*)(const struct options*))dlsym(library, "memprof_init"))(&options);
  return error != 0 ? error : ((int (*)(void))dlsym(library, "memprof_start"))();
}
static int restart(void) {
  int error = ((int (*)(void))dlsym(library, "memprof_stop"))();
  return error != 0 ? error : ((int (*)(void))dlsym(library, "memprof_start"))();
}
static int write_profile(const char* path) {
  if (dlclose(library) != 0) return -101;
  return ((int (*)(const char*, uint32_t))dlsym(library, "memprof_write_profile"))(path, 0);
}
*/
import "C"

import (
	"fmt"
	"os"
	"sync"
)

func check(what string, result C.int) {
	if result != 0 {
		fmt.Fprintln(os.Stderr, what, result)
		os.Exit(1)
	}
}

func main() {
	before := C.host_allocates(70400)
	check("start", C.start(C.CString(os.Args[1])))
	var wait sync.WaitGroup
	for i := 0; i < 10; i++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			C.host_allocates(70400)
			C.free(C.host_allocates(70400))
		}()
	}
	wait.Wait()
	C.free(before)
	check("restart", C.restart())
	check("write", C.write_profile(C.CString(os.Args[2])))
}
