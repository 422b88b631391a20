#include "chat/request/dry_breakers.h"

namespace mlc {
namespace {

std::vector<bool> BreakersOf(const Tokenizer& tokenizer, const std::vector<std::string>& texts) {
  std::vector<bool> breakers(static_cast<size_t>(tokenizer.vocab_size()));
  std::vector<bool> is_found(texts.size());
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    bool breaks = tokenizer.IsSpecial(id);
    const std::string& bytes = tokenizer.TokenBytes(id);
    for (size_t i = 0; i < texts.size(); ++i) {
      if (bytes.find(texts[i]) == std::string::npos) continue;
      breaks = is_found[i] = true;
    }
    breakers[static_cast<size_t>(id)] = breaks;
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    if (is_found[i]) continue;
    Result<std::vector<int32_t>> ids = tokenizer.Encode(texts[i]);
    if (ids.ok() && !ids->empty()) breakers[static_cast<size_t>(ids->back())] = true;
  }
  return breakers;
}

}  // namespace

std::shared_ptr<const std::vector<bool>> DryBreakers::Find(const Tokenizer& tokenizer,
                                                           const std::vector<std::string>& texts) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (tokens_ == nullptr || texts_ != texts) {
    tokens_ = std::make_shared<const std::vector<bool>>(BreakersOf(tokenizer, texts));
    texts_ = texts;
  }
  return tokens_;
}

}  // namespace mlc
