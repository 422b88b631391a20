// Drafting by Medusa's heads (arXiv 2401.10774). Head k reads the target's hidden state behind a
// token and guesses the token k + 2 places later: the one at place 1 is known already. The heads
// have no pages, and one call makes the logits of all of them.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/speculation/tree_drafter.h"

namespace mlc {

constexpr char kMedusa[] = "medusa";  // ModelInfo::draft_kind

class MedusaDrafter : public TreeDrafter {
 public:
  static constexpr size_t kMostStates = 1024;  // one for each sequence

  // `heads`: a model with a head alone (Model::RunHead). `vocab_size` is the tokenizer's.
  static Result<std::unique_ptr<MedusaDrafter>> Create(std::unique_ptr<Model> heads,
                                                       int vocab_size);

  bool reads_states() const override { return true; }
  bool drafts_at_once() const override { return true; }
  void TakeStates(const Sequence& sequence, int first, int count, const float* states) override;
  void Clear() override { last_.clear(); }
  size_t num_states() const { return last_.size(); }

 protected:
  std::vector<Run> Begin(const std::vector<DraftTask>& tasks) override;
  Status Start(std::vector<Run>* runs) override;
  Status Continue(std::vector<Run>* runs) override;

 private:
  using TreeDrafter::TreeDrafter;
  // Of a sequence's last computed row.
  struct Last {
    int position = 0;
    int64_t taken = 0;  // when
    std::vector<float> state = {};
  };

  std::unordered_map<SequenceId, Last> last_;
  int64_t now_ = 0;  // number of calls of TakeStates
};

}  // namespace mlc
