// The system's side of memory: pages that are given back, and pages that are read ahead.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mlc {

// Gives the whole system pages inside [data, data + bytes) back to the system. Their content is
// lost; the addresses stay valid, and the system gives new pages when they are written again. Only
// for memory that was allocated, not for mapped files. Returns the number of bytes given back: 0
// when there is no whole page, or when the system cannot.
int64_t DiscardMemory(void* data, int64_t bytes);

// Reads one byte of every system page, so that all are in memory. Returns the number of bytes.
int64_t TouchMemory(const void* data, int64_t bytes);

// Says that few places of a mapped file are read, each alone: the system then reads no more of the
// file than these. Does nothing where the system takes no such word.
void ReadScattered(void* data, int64_t bytes);

// Says that all of some allocated memory will be used again and again: where it was not used yet,
// Linux then takes pages of 2 MB for it, and the CPU looks up fewer addresses. Does nothing
// elsewhere.
void UseLargePages(void* data, int64_t bytes);

// A range of addresses that nobody can read or write (address_map.h); null when the process has
// none left. Not in a browser.
void* ReserveAddresses(size_t bytes);
// `begin` is what ReserveAddresses returned for `bytes`.
void GiveBackAddresses(void* begin, size_t bytes);

}  // namespace mlc
