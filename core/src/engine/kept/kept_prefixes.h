// The prefix cache outside the device: it copies what the prefix cache of an engine holds into the
// host's memory and into files, and brings it back for requests that begin alike. Files outlive the
// process.
//
//   KeptPrefixes kept(loop, engine, places);                        // on the compute thread
//   if (auto reading = kept.Find(request)) kept.Read(reading, id, then);
//
// When a sequence gives its pages back, its blocks are candidates. The file thread looks which of
// them are missing. Then, one block after another, the compute thread copies the pages if the
// prefix cache still holds them, and the file thread puts them where they are missing. So one block
// is copied at a time, and a step waits for one copy at most.
//
// When an engine starts, what was used last comes back before a request asks for it.
//
// With a sliding window only the tokens within the first window are kept.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <string_view>
#include <vector>

#include "engine/kept/block_keys.h"
#include "engine/kept/block_store.h"
#include "engine/kept/newest_blocks.h"
#include "engine/request.h"

namespace mlc {

class Engine;
class EngineLoop;
class Sequence;

// Its methods run on the compute thread. It must outlive the loop's threads.
class KeptPrefixes {
 public:
  KeptPrefixes(EngineLoop* loop, Engine* engine, PrefixPlaces places);
  // Whether the engine has a prefix cache whose pages can be kept.
  static bool Suits(const Engine& engine);

  // Blocks of a request's prompt that are kept and that the prefix cache does not hold.
  struct Reading {
    PrefixIds prefix;
    std::vector<PrefixBlock> blocks;
    int held = 0;                    // tokens that the prefix cache had
    std::atomic<bool> ended{false};  // nobody needs the rest
  };
  // Null if there are too few of them to wait for.
  std::shared_ptr<Reading> Find(const Request& request) const;
  // Brings the blocks into the prefix cache while the request is held; then calls `then` on the
  // compute thread. What cannot be read, or has no room, is left out.
  void Read(std::shared_ptr<Reading> reading, RequestId id, std::function<void()> then);

  // Writes into files what still waits, for some seconds at most. No commands run any more.
  void Finish();
  int64_t memory_bytes() const { return store_.memory().num_bytes(); }

 private:
  // A sequence whose blocks may be missing.
  struct Candidate {
    PrefixIds prefix;
    int num_computed = 0;
    std::vector<int> ends;            // where other requests may begin; empty: it goes on
    std::vector<PrefixBlock> blocks;  // all of them
    std::deque<PrefixBlock> missing;  // in order
  };

  void Retired(const Sequence& sequence, bool ends);
  // How many of the first tokens can be kept.
  int Reach(int num_tokens) const;
  // Puts the longest tail behind the blocks, and what a prefix needs at its end. If that is not
  // kept, blocks are taken away. False if nothing behind the first `held` tokens is left.
  bool FindEnd(const PrefixIds& prefix, int held, int size, std::vector<PrefixBlock>* full) const;
  void BringNext();
  KeptBytes ReadBlock(const PrefixIds& prefix, const PrefixBlock& block) const;
  void WriteNextCandidate();
  void WriteNextBlock();
  // Marks the blocks as used: the last one first, so that those in front, without which the others
  // are of no use, are the newest.
  void UseAll(const std::vector<PrefixBlock>& blocks);
  // Of `writing_`, on the file thread.
  void FindMissing();
  void Write(const PrefixBlock& block, const BlockMemory::Body& body);
  // The blocks that end where other requests may begin, and what these need there.
  void AddEnds(std::vector<PrefixBlock>* blocks) const;
  // A copy of what its next missing block has. Null, and no block is left, if it cannot be had.
  BlockMemory::Body CopyNext(PrefixBlock* block);
  bool Adopt(const PrefixIds& prefix, const PrefixBlock& block, std::string_view body, int held);

  EngineLoop* loop_;
  Engine* engine_;
  BlockKeys keys_;
  BlockStore store_;    // used by the file thread, but for what any thread may use
  int least_gain_;      // tokens for which a request waits
  int window_;          // 0: none
  bool copies_ = true;  // the device's pages can be copied
  std::deque<std::shared_ptr<Candidate>> candidates_;
  std::shared_ptr<Candidate> writing_;
  // Of the blocks that come back at the start: those that are still to come, and those that were
  // damaged or stand behind one that was; used by the file thread.
  std::deque<NewestBlock> newest_;
  std::set<ContentHash> lost_;
};

}  // namespace mlc
