// The functions that the page gives to the core (bindings/web/runtime/module.ts). Those that are
// marked "waits" may suspend the call that is running.
#pragma once

#include <cstdint>

#define MLC_PAGE(name) extern "C" __attribute__((import_module("mlc"), import_name(#name)))

// The bytes of a file; -1: there is no such file. `path` ends with a zero byte.
MLC_PAGE(file_size) double mlc_page_file_size(const char* path);
// Reads without waiting. 0: done; 1: it must wait; 2: the read failed.
MLC_PAGE(file_read)
int32_t mlc_page_file_read(const char* path, double offset, void* to, uint32_t bytes);
// Waits. 0: done; 1: this browser cannot wait; 2: the read failed.
MLC_PAGE(file_read_later)
int32_t mlc_page_file_read_later(const char* path, double offset, void* to, uint32_t bytes);
// Adds bytes to a new file, which file_keep then puts in place of `path`.
MLC_PAGE(file_add) void mlc_page_file_add(const void* data, uint32_t bytes);
MLC_PAGE(file_keep) void mlc_page_file_keep(const char* path);

// Waits. Links a model library into this module. 0: failed; the reason is written to `reason`.
MLC_PAGE(library_open)
int32_t mlc_page_library_open(const char* path, char* reason, uint32_t bytes);
// The address of an exported function or object; 0: there is none.
MLC_PAGE(library_symbol) void* mlc_page_library_symbol(int32_t library, const char* name);
MLC_PAGE(library_close) void mlc_page_library_close(int32_t library);
