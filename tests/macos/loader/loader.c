// SPDX-License-Identifier: Apache-2.0
// usage: loader DYLIB PROGRAM [ARGUMENT...]    DYLIB "-": none is inserted; exits as PROGRAM does
// MEMPROF_LOADER_INTERPOSES=0: nothing is put in the place of realloc, as where a library comes by dlopen
//
// Maps the images, applies their fixups (LC_DYLD_INFO, which zig's linker writes), binds what they import to the simulated
// libSystem, and runs the initializers and main.
#define _GNU_SOURCE
#include "loader.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  kMagic = 0xfeedfacf,
  kSegment = 0x19,
  kSymbols = 2,
  kDyldInfo = 0x22,
  kMain = 0x28,
  kRequired = 0x7fffffff
};
enum { kMaxSegments = 16, kMaxInterposed = 32 };

struct segment {
  char name[16];
  uint64_t vmaddr, vmsize, fileoff, filesize;
  uint32_t maxprot, initprot, sections, flags;
};
struct section {
  char name[16], segment[16];
  uint64_t address, size;
  uint32_t offset, align, reloff, nreloc, flags, reserved[3];
};
struct file {
  struct image image;
  char* bytes;
  size_t size;
  struct segment* segments[kMaxSegments];
  uint32_t segment_count;
};
static struct {
  void *replacement, *replaced;
} g_interposed[kMaxInterposed];
static int g_interposed_count;

static void fail(const char* what, const char* name) {
  fprintf(stderr, "loader: %s: %s\n", name, what);
  exit(99);
}

static uint64_t read_uleb(const uint8_t** at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const uint8_t byte = *(*at)++;
    value |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return value;
  }
}

static int64_t read_sleb(const uint8_t** at) {
  uint64_t value = 0;
  int shift = 0;
  uint8_t byte;
  do {
    byte = *(*at)++;
    value |= (uint64_t)(byte & 127) << shift;
    shift += 7;
  } while (byte >= 128);
  if ((byte & 64) != 0 && shift < 64) value |= ~UINT64_C(0) << shift;
  return (int64_t)value;
}

static char* at_address(const struct image* image, uint64_t vmaddr) {
  return (char*)(vmaddr + image->slide);
}

void* after_interposing(void* function) {
  for (int i = 0; i < g_interposed_count; ++i) {
    if (g_interposed[i].replaced == function) return g_interposed[i].replacement;
  }
  return function;
}

static void* resolve(const struct file* file, const char* name, int is_weak) {
  void* found = find_simulated(name);
  if (found == NULL && !is_weak) {
    fprintf(stderr, "loader: %s needs %s, which is not simulated\n", file->image.path, name);
    exit(99);
  }
  return after_interposing(found);
}

static void rebase(const struct file* file, const uint8_t* at, const uint8_t* end) {
  uint64_t* where = NULL;
  while (at < end) {
    const uint8_t op = *at & 0xf0, low = *at & 15;
    uint64_t count = 0, skip = 0;
    ++at;
    switch (op) {
      case 0x00:
        return;
      case 0x10:
        continue;  // type: pointers
      case 0x20:
        where = (uint64_t*)(at_address(&file->image, file->segments[low]->vmaddr) + read_uleb(&at));
        continue;
      case 0x30:
        where = (uint64_t*)((char*)where + read_uleb(&at));
        continue;
      case 0x40:
        where += low;
        continue;
      case 0x50:
        count = low;
        break;
      case 0x60:
        count = read_uleb(&at);
        break;
      case 0x70:
        count = 1, skip = read_uleb(&at);
        break;
      case 0x80:
        count = read_uleb(&at), skip = read_uleb(&at);
        break;
      default:
        fail("unknown rebase opcode", file->image.path);
    }
    while (count-- > 0) {
      *where += (uint64_t)file->image.slide;
      where = (uint64_t*)((char*)where + 8 + skip);
    }
  }
}

static void bind(const struct file* file, const uint8_t* at, const uint8_t* end, int is_lazy) {
  const char* name = "";
  char* where = NULL;
  int64_t addend = 0;
  int is_weak = 0;
  while (at < end) {
    const uint8_t op = *at & 0xf0, low = *at & 15;
    uint64_t count = 0, skip = 0;
    ++at;
    switch (op) {
      case 0x00:
        if (!is_lazy) return;
        continue;
      case 0x10:
      case 0x30:
      case 0x50:
        continue;  // library, type
      case 0x20:
        read_uleb(&at);
        continue;
      case 0x40:
        name = (const char*)at;
        is_weak = low & 1;
        at += strlen(name) + 1;
        continue;
      case 0x60:
        addend = read_sleb(&at);
        continue;
      case 0x70:
        where = at_address(&file->image, file->segments[low]->vmaddr) + read_uleb(&at);
        continue;
      case 0x80:
        where += read_uleb(&at);
        continue;
      case 0x90:
        count = 1;
        break;
      case 0xa0:
        count = 1, skip = read_uleb(&at);
        break;
      case 0xb0:
        count = 1, skip = low * 8u;
        break;
      case 0xc0:
        count = read_uleb(&at), skip = read_uleb(&at);
        break;
      default:
        fail("unknown bind opcode", file->image.path);
    }
    while (count-- > 0) {
      char* value = resolve(file, name, is_weak);
      *(char**)where = value != NULL ? value + addend : NULL;
      where += 8 + skip;
    }
  }
}

static void map_segments(struct file* file, int descriptor) {
  uint64_t low = UINT64_MAX, high = 0;
  for (uint32_t i = 0; i < file->segment_count; ++i) {
    const struct segment* s = file->segments[i];
    if (s->initprot == 0 && s->filesize == 0) continue;  // __PAGEZERO
    low = s->vmaddr < low ? s->vmaddr : low;
    high = s->vmaddr + s->vmsize > high ? s->vmaddr + s->vmsize : high;
  }
  char* base = mmap(NULL, high - low, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) fail("no address space", file->image.path);
  file->image.slide = (int64_t)((uint64_t)base - low);
  for (uint32_t i = 0; i < file->segment_count; ++i) {
    const struct segment* s = file->segments[i];
    if (s->vmsize == 0 || (s->initprot == 0 && s->filesize == 0)) continue;
    char* start = at_address(&file->image, s->vmaddr);
    mprotect(start, s->vmsize, PROT_READ | PROT_WRITE);
    if (pread(descriptor, start, s->filesize, (off_t)s->fileoff) != (ssize_t)s->filesize)
      fail("is cut off", file->image.path);
    if (strcmp(s->name, "__TEXT") == 0) {
      file->image.base = start;
      file->image.text_size = s->vmsize;
    }
  }
}

// As their protections in the file are.
static void protect_segments(const struct file* file) {
  for (uint32_t i = 0; i < file->segment_count; ++i) {
    const struct segment* s = file->segments[i];
    if (s->vmsize != 0 && s->initprot != 0) {
      char* start = at_address(&file->image, s->vmaddr);
      mprotect(start, s->vmsize, (int)(s->initprot & 7));
      __builtin___clear_cache(start, start + s->vmsize);
    }
  }
}

struct image* load_image(const char* path, uint64_t* main_offset) {
  struct file* file = calloc(1, sizeof(*file));
  file->image.path = realpath(path, NULL);
  file->image.at = at_address;
  const int descriptor = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (descriptor < 0 || fstat(descriptor, &status) != 0) fail("cannot be opened", path);
  file->size = (size_t)status.st_size;
  file->bytes = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const uint32_t* header = (const uint32_t*)file->bytes;
  if (file->size < 32 || header[0] != kMagic) fail("is no thin Mach-O file of 64 bits", path);
  const uint32_t* dyld_info = NULL;
  const char* command = file->bytes + 32;
  *main_offset = 0;
  for (uint32_t i = 0; i < header[4]; ++i) {
    const uint32_t* words = (const uint32_t*)command;
    switch (words[0] & kRequired) {
      case kSegment:
        file->segments[file->segment_count++] = (struct segment*)(command + 8);
        break;
      case kDyldInfo:
        dyld_info = words + 2;
        break;
      case kMain:
        memcpy(main_offset, command + 8, 8);
        break;
    }
    command += words[1];
  }
  map_segments(file, descriptor);
  close(descriptor);
  if (dyld_info != NULL) {
    const uint8_t* bytes = (const uint8_t*)file->bytes;
    rebase(file, bytes + dyld_info[0], bytes + dyld_info[0] + dyld_info[1]);
    bind(file, bytes + dyld_info[2], bytes + dyld_info[2] + dyld_info[3], 0);
    bind(file, bytes + dyld_info[6], bytes + dyld_info[6] + dyld_info[7], 1);
  } else {
    fail("has no LC_DYLD_INFO", path);
  }
  protect_segments(file);
  return &file->image;
}

// Calls visit for each section.
static void each_section(const struct image* image,
                         void (*visit)(const struct image*, const struct section*, void*), void* context) {
  const struct file* file = (const struct file*)image;
  for (uint32_t i = 0; i < file->segment_count; ++i) {
    const struct section* sections = (const struct section*)(file->segments[i] + 1);
    for (uint32_t s = 0; s < file->segments[i]->sections; ++s) visit(image, sections + s, context);
  }
}

static void note_section(const struct image* image, const struct section* section, void* context) {
  (void)context;
  if (strncmp(section->name, "__interpose", 16) != 0) return;
  void** pairs = (void**)at_address(image, section->address);
  for (uint64_t i = 0; i < section->size / 16 && g_interposed_count < kMaxInterposed; ++i) {
    if (pairs[2 * i] == NULL || pairs[2 * i + 1] == NULL) continue;
    g_interposed[g_interposed_count].replacement = pairs[2 * i];
    g_interposed[g_interposed_count++].replaced = pairs[2 * i + 1];
  }
}

void note_interposed(const struct image* image) {
  each_section(image, note_section, NULL);
}

typedef void initializer(int, char**, char**, char**);
struct arguments {
  int argc;
  char **argv, **environment;
};

static void run_section(const struct image* image, const struct section* section, void* context) {
  const struct arguments* a = context;
  char* nothing[] = {NULL};
  const char* start = at_address(image, section->address);
  if ((section->flags & 0xff) == 0x9) {  // pointers
    for (uint64_t i = 0; i < section->size / 8; ++i)
      ((initializer**)start)[i](a->argc, a->argv, a->environment, nothing);
  } else if ((section->flags & 0xff) == 0x16) {  // offsets
    for (uint64_t i = 0; i < section->size / 4; ++i) {
      ((initializer*)(image->base + ((const uint32_t*)start)[i]))(a->argc, a->argv, a->environment, nothing);
    }
  }
}

void run_initializers(const struct image* image, int argc, char** argv, char** environment) {
  struct arguments arguments = {argc, argv, environment};
  each_section(image, run_section, &arguments);
}

struct start {
  struct image* image;
  uint64_t offset;
  struct arguments arguments;
};

static int run_main(void* context) {
  struct start* start = context;
  int (*program)(int, char**, char**) = (int (*)(int, char**, char**))(start->image->base + start->offset);
  return program(start->arguments.argc, start->arguments.argv, start->arguments.environment);
}

int main(int argc, char** argv) {
  extern char** environ;
  if (argc < 3) {
    fprintf(stderr, "usage: loader DYLIB PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  uint64_t offset = 0;
  struct image* library = strcmp(argv[1], "-") != 0 ? load_image(argv[1], &offset) : NULL;
  const char* interposes = getenv("MEMPROF_LOADER_INTERPOSES");
  if (library != NULL && (interposes == NULL || *interposes != '0')) note_interposed(library);
  struct image* program = load_image(argv[2], &offset);
  if (offset == 0) fail("has no LC_MAIN", argv[2]);
  const char* has_logger = getenv("MEMPROF_LOADER_LOGGER");
  if (has_logger != NULL) set_first_logger();
  announce_image(program);
  if (library != NULL) {
    announce_image(library);
    run_initializers(library, argc - 2, argv + 2, environ);
  }
  run_initializers(program, argc - 2, argv + 2, environ);
  struct start start = {program, offset, {argc - 2, argv + 2, environ}};
  const int status = call_with_first_frame(run_main, &start);
  run_exit_functions();
  if (has_logger != NULL) dprintf(1, "the first logger had %lu calls\n", first_logger_calls());
  _exit(status);
}
