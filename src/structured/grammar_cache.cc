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
      if (found->second.cached.grammar != nullptr) return HandOut(found->second);
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
      made = HandOut(entry);
      RecountWatched();
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
  return HandOut(found->second);
}

CachedGrammar GrammarCache::HandOut(Entry& entry) {
  uses_.splice(uses_.begin(), uses_, entry.place);
  if (!entry.is_watched) watched_.push_back(&entry);
  entry.is_watched = true;
  return entry.cached;
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

void GrammarCache::Recount(Entry& entry) {
  num_bytes_ -= entry.num_bytes;
  entry.num_bytes = entry.cached.grammar->num_bytes() + 2 * entry.place->size();
  num_bytes_ += entry.num_bytes;
}

// Masks that requests made since are counted here. What nobody uses any more grows no further until
// it is handed out again.
void GrammarCache::RecountWatched() {
  std::erase_if(watched_, [this](Entry* entry) QUIRE_REQUIRES(mutex_) {
    entry->is_watched = entry->cached.grammar.use_count() > 1;
    Recount(*entry);
    return !entry->is_watched;
  });
}

void GrammarCache::Evict() {
  auto last = uses_.end();
  while (num_bytes_ > options_.max_bytes && last != uses_.begin()) {
    --last;
    const auto entry = entries_.find(*last);
    if (entry->second.cached.grammar == nullptr) continue;
    num_bytes_ -= entry->second.num_bytes;
    if (entry->second.is_watched) std::erase(watched_, &entry->second);
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
