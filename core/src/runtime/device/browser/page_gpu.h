// WebGPU as the page gives it (bindings/web/runtime/webgpu.ts). Handles are small numbers; 0 is
// none.
#pragma once

#include <cstdint>

#include "platform/web/page.h"

namespace mlc::browser {

// {"found", "description", "f16", "memory_bytes", "max_buffer_bytes", "local_memory_bytes",
// "max_group_size", "offset_alignment", "max_groups"} as JSON; its length is returned, and as much
// as fits is written.
MLC_PAGE(gpu_facts) uint32_t GpuFacts(char* json, uint32_t bytes);
// The reason why the device is lost, as GpuFacts; 0: it is not lost.
MLC_PAGE(gpu_lost) uint32_t GpuLost(char* reason, uint32_t bytes);

// Sizes and offsets are multiples of 4. 0: the page has no device. A device that has no room says
// so later (GpuError).
MLC_PAGE(gpu_create) uint32_t GpuCreate(double bytes);
// 1: the buffer is one of the page's device, which is not lost. 0: its content is gone.
MLC_PAGE(gpu_has) int32_t GpuHas(uint32_t buffer);
MLC_PAGE(gpu_destroy) void GpuDestroy(uint32_t buffer);
MLC_PAGE(gpu_write)
void GpuWrite(uint32_t buffer, double offset, const void* from, uint32_t bytes);
MLC_PAGE(gpu_copy)
void GpuCopy(uint32_t from, double from_offset, uint32_t to, double to_offset, double bytes);
// Waits. 0: done; 1: the device is lost, or the buffer belongs to a lost one.
MLC_PAGE(gpu_read) int32_t GpuRead(uint32_t buffer, double offset, void* to, uint32_t bytes);
// The first error that the device reported since the last call, as GpuFacts; 0: none.
MLC_PAGE(gpu_error) uint32_t GpuError(char* reason, uint32_t bytes);

// Begins to compile a kernel, which binds `count` buffers (writes[i]: the kernel writes to it),
// then a block of numbers. The same kernel gives the same pipeline.
MLC_PAGE(gpu_pipeline)
uint32_t GpuPipeline(const char* name, const char* wgsl, const uint8_t* writes, uint32_t count);

// `bindings`: the buffer, offset and size of each pointer, in words of 32 bits.
MLC_PAGE(gpu_launch)
void GpuLaunch(uint32_t pipeline, const uint32_t* bindings, uint32_t count, const uint32_t* words,
               uint32_t num_words, uint32_t x, uint32_t y, uint32_t z);

}  // namespace mlc::browser
