// What we add to xgrammar: token masks that are made when a text first needs them.
// cmake/XGrammar.cmake joins it to xgrammar's sources.
//
// A mask says which tokens may follow in one state of a grammar. xgrammar makes all of them when it
// compiles a grammar; for a schema of some kilobytes that takes seconds, and a text meets few.
#pragma once

#include <xgrammar/limits.h>
#include <xgrammar/xgrammar.h>

#include <cstdint>

namespace xgrammar {

// Of the masks that all grammars keep, and of those that one may keep nevertheless. A grammar that
// would take more drops its own.
constexpr int64_t kMostMaskBytes = 64 << 20, kFewMaskBytes = 8 << 20;

// Makes all masks of a grammar ahead. The engine never does: a text meets few of them.
void MakeAllMasks(CompiledGrammar grammar);

// The bytes of the masks that the grammar keeps now.
int64_t MaskBytes(const CompiledGrammar& grammar);

}  // namespace xgrammar
