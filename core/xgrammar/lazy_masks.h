// What we add to xgrammar: token masks that are made when a text first needs them, and a limit of
// the parser's work. cmake/XGrammar.cmake joins it to xgrammar's sources.
//
// A mask says which tokens may follow in one state of a grammar. xgrammar makes all of them when it
// compiles a grammar; for a schema of some kilobytes that takes seconds, and a text meets few.
#ifndef MLC_XGRAMMAR_LAZY_MASKS_H_
#define MLC_XGRAMMAR_LAZY_MASKS_H_

#include <xgrammar/xgrammar.h>

#include <cstdint>

namespace xgrammar {

// The number of rows that the parser may still advance on this thread. Then it throws.
extern thread_local int64_t rows_left;

// Makes masks ahead, in the order in which texts need them, until the parser has advanced
// `num_rows` rows on this thread, and all masks of a small grammar. Counts in `rows_left`.
void MakeFirstMasks(CompiledGrammar grammar, int64_t num_rows);

// The bytes of the masks that are made so far.
int64_t MaskBytes(const CompiledGrammar& grammar);

}  // namespace xgrammar

#endif  // MLC_XGRAMMAR_LAZY_MASKS_H_
