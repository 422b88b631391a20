/* Calls compiled kernels on arrays, on whatever processor this was compiled for.
 *
 *   kernel_runner kernels.so calls results
 *
 * `calls` holds, one after another: u32 length of a name, the name, u32 number of arrays; for each
 * array five u32 (type code, bits, lanes, whether the kernel writes it, dimensions), its dimensions
 * as i64, its bytes. `results` gets the bytes of each written array, in that order.
 *
 * An array lies between pages that may not be touched and ends as near to the second as 64 bytes of
 * alignment allow; what is left behind it is 0xFF, NaN for kernels that read it, and must stay so.
 * What a kernel does not write is read-only. Loops over threads run as TASKS tasks, in turn.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dlpack/dlpack.h"
#include "tvm/ffi/c_api.h"

enum { TASKS = 3, MAX_ARRAYS = 16, MAX_DIMENSIONS = 8, MAX_NAME = 200 };
static const size_t kAlignment = 64;
static char current[MAX_NAME + 1] = "no kernel yet";

static void Fail(const char* what) {
  fprintf(stderr, "%s: %s\n", current, what);
  exit(1);
}

/* What generated code calls. */

typedef struct {
  void* sync_handle;
  int32_t num_task;
} ParallelEnv;
typedef int (*ParallelLambda)(int task, ParallelEnv* env, void* data);

static int ParallelLaunch(ParallelLambda lambda, void* data, int num_task) {
  ParallelEnv env = {NULL, num_task > 0 ? num_task : TASKS};
  for (int task = 0; task < env.num_task; ++task) {
    if (lambda(task, &env, data) != 0) return -1;
  }
  return 0;
}

static void* AllocWorkspace(int device, int id, uint64_t bytes, int code, int bits) {
  (void)device, (void)id, (void)code, (void)bits;
  size_t size = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = aligned_alloc(kAlignment, size);
  if (memory != NULL) memset(memory, 0xFF, size);
  return memory;
}

static int FreeWorkspace(int device, int id, void* memory) {
  (void)device, (void)id;
  free(memory);
  return 0;
}

void TVMFFIErrorSetRaisedFromCStrParts(const char* kind, const char** parts, int32_t count) {
  fprintf(stderr, "%s: %s: ", current, kind);
  for (int32_t i = 0; i < count; ++i) {
    if (parts[i] != NULL) fputs(parts[i], stderr);
  }
  fputs("\n", stderr);
}

static void SetHook(void* library, const char* name, void* function) {
  void** place = dlsym(library, name);
  if (place != NULL) *place = function;
}

/* Arrays. */

typedef struct {
  DLTensor tensor;
  int64_t shape[MAX_DIMENSIONS];
  uint32_t written;
  size_t bytes, mapped;
  char* memory;
} Array;

static void Read(FILE* file, void* out, size_t bytes) {
  if (bytes > 0 && fread(out, 1, bytes, file) != bytes) Fail("the calls end too early");
}

static size_t RoundUp(size_t value, size_t step) { return (value + step - 1) / step * step; }

static void Place(Array* array) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  array->mapped = RoundUp(array->bytes, page) + 2 * page;
  array->memory =
      mmap(NULL, array->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (array->memory == MAP_FAILED) Fail("no memory");
  memset(array->memory, 0xFF, array->mapped);
  char* end = array->memory + array->mapped - page;
  array->tensor.data = end - RoundUp(array->bytes, kAlignment);
  mprotect(array->memory, page, PROT_NONE);
  mprotect(end, page, PROT_NONE);
}

static void ReadArray(FILE* file, Array* array) {
  uint32_t head[5];
  Read(file, head, sizeof(head));
  if (head[4] > MAX_DIMENSIONS) Fail("too many dimensions");
  Read(file, array->shape, head[4] * sizeof(int64_t));
  array->tensor = (DLTensor){
      .device = {kDLCPU, 0},
      .ndim = (int32_t)head[4],
      .dtype = {(uint8_t)head[0], (uint8_t)head[1], (uint16_t)head[2]},
      .shape = array->shape,
  };
  array->written = head[3];
  array->bytes = head[1] * head[2] / 8;
  for (uint32_t i = 0; i < head[4]; ++i) array->bytes *= (size_t)array->shape[i];
  Place(array);
  Read(file, array->tensor.data, array->bytes);
  if (!array->written) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    mprotect(array->memory + page, array->mapped - 2 * page, PROT_READ);
  }
}

static void WriteArray(FILE* file, const Array* array) {
  const unsigned char* data = array->tensor.data;
  for (size_t i = array->bytes; i < RoundUp(array->bytes, kAlignment); ++i) {
    if (data[i] != 0xFF) Fail("wrote past the end of an array");
  }
  if (array->written && fwrite(data, 1, array->bytes, file) != array->bytes) Fail("cannot write");
}

static void Call(void* library, FILE* calls, FILE* results) {
  static Array arrays[MAX_ARRAYS];
  TVMFFIAny values[MAX_ARRAYS], result;
  uint32_t count;
  Read(calls, &count, sizeof(count));
  if (count > MAX_ARRAYS) Fail("too many arrays");
  memset(values, 0, sizeof(values));
  memset(&result, 0, sizeof(result));
  for (uint32_t i = 0; i < count; ++i) {
    ReadArray(calls, &arrays[i]);
    values[i].type_index = kTVMFFIDLTensorPtr;
    values[i].v_ptr = &arrays[i].tensor;
  }
  char symbol[MAX_NAME + 20];
  snprintf(symbol, sizeof(symbol), "__tvm_ffi_%s", current);
  TVMFFISafeCallType kernel = (TVMFFISafeCallType)dlsym(library, symbol);
  if (kernel == NULL) Fail("not in the library");
  if (kernel(NULL, values, (int32_t)count, &result) != 0) exit(1);
  for (uint32_t i = 0; i < count; ++i) {
    WriteArray(results, &arrays[i]);
    munmap(arrays[i].memory, arrays[i].mapped);
  }
}

static void OnSignal(int number) {
  dprintf(2, "%s: %s\n", current, strsignal(number));
  _exit(1);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int deadly[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE};
  for (int i = 0; i < 4; ++i) signal(deadly[i], OnSignal);
  void* library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) Fail(dlerror());
  SetHook(library, "__TVMBackendParallelLaunch", (void*)ParallelLaunch);
  SetHook(library, "__TVMBackendAllocWorkspace", (void*)AllocWorkspace);
  SetHook(library, "__TVMBackendFreeWorkspace", (void*)FreeWorkspace);
  FILE *calls = fopen(argv[2], "rb"), *results = fopen(argv[3], "wb");
  if (calls == NULL || results == NULL) Fail("cannot open the files");
  for (uint32_t length; fread(&length, sizeof(length), 1, calls) == 1;) {
    if (length > MAX_NAME) Fail("the name is too long");
    Read(calls, current, length);
    current[length] = '\0';
    Call(library, calls, results);
  }
  return fclose(results) == 0 ? 0 : 1;
}
