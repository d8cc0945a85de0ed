#include "structured/grammar_cache.h"

#include <utility>

#include "base/strings.h"

namespace quire {
namespace {

// Injective: each text stands behind its length.
std::string KeyOf(const StructuredOutputParams& params) {
  std::string key =
      StrCat(static_cast<int>(params.kind), params.disable_any_whitespace ? "w" : "",
             params.disable_additional_properties ? "p" : "", ":", params.text.size(), ":",
             params.text, params.whitespace_pattern.size(), ":", params.whitespace_pattern);
  for (const std::string& choice : params.choices) key += StrCat(choice.size(), ":", choice);
  return key;
}

}  // namespace

GrammarCache::GrammarCache(Options options, std::shared_ptr<const Tokenizer> tokenizer)
    : options_(std::move(options)), tokenizer_(std::move(tokenizer)) {}

Result<CachedGrammar> GrammarCache::Compile(const StructuredOutputParams& params) {
  if (tokenizer_ == nullptr) {
    return InvalidArgument("structured_outputs: the model has no tokenizer to constrain it with");
  }
  const std::string key = KeyOf(params);
  {
    MutexLock lock(mutex_);
    for (;;) {
      const auto found = entries_.find(key);
      if (found == entries_.end()) break;
      if (found->second.cached.grammar != nullptr) {
        uses_.splice(uses_.begin(), uses_, found->second.place);
        return found->second.cached;
      }
      compiled_.wait(mutex_);
    }
    uses_.push_front(key);
    entries_[key].place = uses_.begin();
  }
  Result<CachedGrammar> made = CompileNow(params);
  {
    MutexLock lock(mutex_);
    Entry& entry = entries_[key];
    if (made.ok()) {
      entry.cached = *made;
      entry.num_bytes = made->grammar->num_bytes() + 2 * key.size();
      num_bytes_ += entry.num_bytes;
      Evict();
    } else {
      uses_.erase(entry.place);
      entries_.erase(key);
    }
  }
  compiled_.notify_all();
  return made;
}

CachedGrammar GrammarCache::Find(const StructuredOutputParams& params) {
  const std::string key = KeyOf(params);
  MutexLock lock(mutex_);
  const auto found = entries_.find(key);
  if (found == entries_.end() || found->second.cached.grammar == nullptr) return {};
  uses_.splice(uses_.begin(), uses_, found->second.place);
  return found->second.cached;
}

Result<CachedGrammar> GrammarCache::CompileNow(const StructuredOutputParams& params) {
  QUIRE_ASSIGN_OR_RETURN(const auto backend, Backend());
  QUIRE_ASSIGN_OR_RETURN(CompiledConstraint made,
                         CompileConstraint(*backend, params, options_.limits));
  CachedGrammar cached{.grammar = std::move(made.grammar)};
  const auto tokens = tokenizer_->Encode(made.shortest, {.add_special_tokens = false});
  if (tokens.ok()) cached.num_shortest = static_cast<int>(tokens->size());
  return cached;
}

Result<std::shared_ptr<const GrammarBackend>> GrammarCache::Backend() {
  MutexLock lock(backend_mutex_);
  if (backend_ == nullptr) {
    QUIRE_ASSIGN_OR_RETURN(backend_, CreateXgrammarBackend(MakeConstraintVocabulary(
                                         *tokenizer_, options_.vocab_size, options_.end_ids)));
  }
  return backend_;
}

// Masks that requests made since are counted again here.
void GrammarCache::Evict() {
  num_bytes_ = 0;
  for (auto& [key, entry] : entries_) {
    if (const auto& grammar = entry.cached.grammar; grammar != nullptr) {
      entry.num_bytes = grammar->num_bytes() + 2 * key.size();
    }
    num_bytes_ += entry.num_bytes;
  }
  auto last = uses_.end();
  while (num_bytes_ > options_.max_bytes && last != uses_.begin()) {
    --last;
    const auto entry = entries_.find(*last);
    if (entry->second.cached.grammar == nullptr) continue;
    num_bytes_ -= entry->second.num_bytes;
    entries_.erase(entry);
    last = uses_.erase(last);
  }
}

std::size_t GrammarCache::num_bytes() const {
  MutexLock lock(mutex_);
  return num_bytes_;
}

std::size_t GrammarCache::num_grammars() const {
  MutexLock lock(mutex_);
  return entries_.size();
}

}  // namespace quire
