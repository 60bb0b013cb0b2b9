// SPDX-License-Identifier: Apache-2.0
// The truth about Python stacks: at every Nth allocation of an object asks the interpreter itself for its
// frames (as tracemalloc does) and has memprof record a block at that very moment.  With `growth` the
// interval grows with the calls, so that a program that lasts is seen to its end: each e-fold of the calls
// has `growth` blocks.
//
// usage from Python (ctypes.PyDLL): probe_start(N, most, growth, report); ...; probe_stop();
// probe_write(path)
//     report: the address of memprof_report_alloc.  Block i is reported at FIRST_ADDRESS + i * ADDRESS_STEP.
//     The file: for each block a line "i S" (S: 1 in a sub-interpreter), then a line "LINE\tNAME\tFILE" for
//     each frame, leaf first; control characters of names are spaces.
#define Py_BUILD_CORE 1
#include <Python.h>
#include <stdatomic.h>

#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_interpframe.h>
#endif
#include <internal/pycore_frame.h>
#include <internal/pycore_pystate.h>

#define EXPORT __attribute__((visibility("default")))
#define FIRST_ADDRESS 0x10000000ull
#define ADDRESS_STEP 0x1000ull
#define MOST_FRAMES 200

typedef void (*Report)(const void*, size_t, unsigned);
typedef struct {
  PyCodeObject* code;
  int line;
} Place;
typedef struct {
  int count;
  int is_of_sub_interpreter;
  Place* places;
} Truth;

static PyMemAllocatorEx old_allocators[2];
static Report report;
static unsigned long every, growth;
static _Atomic unsigned long calls, next_call;
static long max;
static _Atomic long taken;
static Truth* truths;
static _Thread_local int inside;

static int line_of(struct _PyInterpreterFrame* frame) {
#if PY_VERSION_HEX >= 0x030c0000
  return PyUnstable_InterpreterFrame_GetLine(frame);
#else
  return PyCode_Addr2Line(frame->f_code, _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT));
#endif
}

static PyCodeObject* code_of(struct _PyInterpreterFrame* frame) {
#if PY_VERSION_HEX >= 0x030d0000
  return _PyFrame_GetCode(frame);
#else
  return frame->f_code;
#endif
}

static struct _PyInterpreterFrame* first_complete(struct _PyInterpreterFrame* frame) {
  while (frame != NULL && _PyFrame_IsIncomplete(frame)) {
    frame = frame->previous;
  }
  return frame;
}

static struct _PyInterpreterFrame* current(void) {
  PyThreadState* thread = PyThreadState_Get();
#if PY_VERSION_HEX >= 0x030d0000
  return thread->current_frame;
#else
  return thread->cframe->current_frame;
#endif
}

__attribute__((noinline)) static void take(void) {
  const long i = atomic_fetch_add(&taken, 1);
  if (i >= max) {
    atomic_store(&taken, max);
    return;
  }
  Place places[MOST_FRAMES];
  int count = 0;
  for (struct _PyInterpreterFrame* frame = first_complete(current()); frame != NULL && count < MOST_FRAMES;
       frame = first_complete(frame->previous)) {
    places[count].code = code_of(frame);
    const int line = line_of(frame);
    places[count].line = line > 0 ? line : 0;  // an instruction without a line
    Py_INCREF(places[count].code);
    ++count;
  }
  truths[i].count = count;
  truths[i].is_of_sub_interpreter = PyThreadState_Get()->interp != PyInterpreterState_Main();
  truths[i].places = malloc((size_t)count * sizeof(Place));
  memcpy(truths[i].places, places, (size_t)count * sizeof(Place));
  report((const void*)(FIRST_ADDRESS + (unsigned long long)i * ADDRESS_STEP), 64, 0);
}

static inline void note(void) {
  if (report == NULL || inside) {
    return;
  }
  const unsigned long call = atomic_fetch_add(&calls, 1);
  unsigned long next = atomic_load(&next_call);
  if (call >= next && atomic_load(&taken) < max &&
      atomic_compare_exchange_strong(&next_call, &next, call + every + (growth == 0 ? 0 : call / growth))) {
    inside = 1;
    take();
    inside = 0;
  }
}

static void* hook_malloc(void* ctx, size_t size) {
  const PyMemAllocatorEx* old = ctx;
  void* block = old->malloc(old->ctx, size);
  note();
  return block;
}
static void* hook_calloc(void* ctx, size_t count, size_t size) {
  const PyMemAllocatorEx* old = ctx;
  void* block = old->calloc(old->ctx, count, size);
  note();
  return block;
}
static void* hook_realloc(void* ctx, void* block, size_t size) {
  const PyMemAllocatorEx* old = ctx;
  void* moved = old->realloc(old->ctx, block, size);
  note();
  return moved;
}
static void hook_free(void* ctx, void* block) {
  const PyMemAllocatorEx* old = ctx;
  old->free(old->ctx, block);
}

EXPORT void probe_start(unsigned long n, long max_blocks, unsigned long growth_blocks,
                        Report memprof_report_alloc) {
  static const PyMemAllocatorDomain domains[2] = {PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};
  every = n;
  growth = growth_blocks;
  max = max_blocks;
  truths = calloc((size_t)max, sizeof(Truth));
  for (int i = 0; i < 2; ++i) {
    PyMem_GetAllocator(domains[i], &old_allocators[i]);
    PyMemAllocatorEx hooks = {&old_allocators[i], hook_malloc, hook_calloc, hook_realloc, hook_free};
    PyMem_SetAllocator(domains[i], &hooks);
  }
  report = memprof_report_alloc;
}

EXPORT long probe_stop(void) {
  report = NULL;
  return taken;
}

// `text` may have surrogates; memprof writes them as they are.
static void write_text(FILE* file, PyObject* text) {
  PyObject* bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogatepass");
  const char* at = bytes == NULL ? "?" : PyBytes_AS_STRING(bytes);
  for (; *at != 0; ++at) {
    fputc((unsigned char)*at < ' ' ? ' ' : *at, file);
  }
  Py_XDECREF(bytes);
}

EXPORT int probe_write(const char* path) {
  FILE* file = fopen(path, "w");
  if (file == NULL) {
    return -1;
  }
  for (long i = 0; i < taken; ++i) {
    fprintf(file, "%ld %d\n", i, truths[i].is_of_sub_interpreter);
    for (int k = 0; k < truths[i].count; ++k) {
      const Place* place = &truths[i].places[k];
      fprintf(file, "%d\t", place->line);
      write_text(file, place->code->co_qualname);
      fputc('\t', file);
      write_text(file, place->code->co_filename);
      fputc('\n', file);
    }
  }
  return fclose(file);
}
