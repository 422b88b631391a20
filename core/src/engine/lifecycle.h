// What an app on a phone asks of an engine beside answers: to take less memory, to be warm before
// the first request, and to take less power.
//
//   ThermalLimits limits = LimitsFor(ThermalState::kSerious, {/*num_threads=*/8, 4, 2048});
//   // {4, 2, 512}: half of the threads and sequences, a quarter of the rows
#pragma once

#include <cstdint>

namespace mlc {

// How much memory is given back. Each level includes the ones before it.
enum class TrimLevel {
  kCaches,  // what only the prefix cache holds
  kPages,   // also the memory of all KV pages that no running answer uses
  kAll,     // also the pages of running answers, which are computed again, and mapped weights
};

struct TrimmedMemory {
  int num_pages = 0;         // KV pages whose memory went back
  int64_t page_bytes = 0;    // of them; 0 on devices that keep their memory
  int64_t weight_bytes = 0;  // weights that the system may drop and read again
};

// The names are those of iOS. Android's: none, light is kNominal, moderate is kFair, severe is
// kSerious, all others are kCritical.
enum class ThermalState { kNominal, kFair, kSerious, kCritical };

struct ThermalLimits {
  int num_threads = 1;
  int max_sequences = 1;  // running at the same time
  int max_rows = 1;       // of one step
};

// Lowers `full` for a hot device. No limit is below 1. Answers stay the same, because a row's
// result does not depend on threads, batches or chunks.
ThermalLimits LimitsFor(ThermalState state, const ThermalLimits& full);

}  // namespace mlc
