// Compiled grammars by what they were made from, shared by all requests of an engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "request/structured_output_params.h"
#include "structured/backend.h"
#include "structured/compile.h"
#include "tokenizer/tokenizer.h"

namespace quire {

struct CachedGrammar {
  std::shared_ptr<const CompiledGrammar> grammar;  // null: none
  int num_shortest = 0;  // tokens of one of the shortest texts that it admits, or fewer
};

// Any thread. Bounded in bytes; the grammar that was asked for longest ago goes first, and requests
// that use it keep it. A grammar that is being compiled is waited for, not compiled twice.
class GrammarCache {
 public:
  struct Options {
    std::int64_t vocab_size = 0;  // the model's
    std::vector<TokenId> end_ids;
    std::size_t max_bytes = std::size_t{256} << 20;
    CompileLimits limits;  // of one grammar
  };
  GrammarCache(Options options, std::shared_ptr<const Tokenizer> tokenizer);

  // The grammar of `params`. Takes as long as CompileConstraint, or as a look-up; errors are those
  // of CompileConstraint.
  Result<CachedGrammar> Compile(const StructuredOutputParams& params) QUIRE_EXCLUDES(mutex_);

  // The grammar where it is there already.
  CachedGrammar Find(const StructuredOutputParams& params) QUIRE_EXCLUDES(mutex_);

  std::size_t num_bytes() const QUIRE_EXCLUDES(mutex_);
  std::size_t num_grammars() const QUIRE_EXCLUDES(mutex_);
  const Options& options() const { return options_; }

 private:
  struct Entry {
    CachedGrammar cached;  // none while it is being compiled
    std::size_t num_bytes = 0;
    bool is_watched = false;
    std::list<std::string>::iterator place;  // in uses_
  };
  Result<CachedGrammar> CompileNow(const StructuredOutputParams& params) QUIRE_EXCLUDES(mutex_);
  Result<std::shared_ptr<const GrammarBackend>> Backend() QUIRE_EXCLUDES(backend_mutex_);
  CachedGrammar HandOut(Entry& entry) QUIRE_REQUIRES(mutex_);
  void Recount(Entry& entry) QUIRE_REQUIRES(mutex_);
  void RecountWatched() QUIRE_REQUIRES(mutex_);
  void Evict() QUIRE_REQUIRES(mutex_);

  const Options options_;
  const std::shared_ptr<const Tokenizer> tokenizer_;

  Mutex backend_mutex_;  // made with the first grammar: a start without one does not pay for it
  std::shared_ptr<const GrammarBackend> backend_ QUIRE_GUARDED_BY(backend_mutex_);

  mutable Mutex mutex_;
  CondVar compiled_;
  std::unordered_map<std::string, Entry> entries_ QUIRE_GUARDED_BY(mutex_);
  std::list<std::string> uses_ QUIRE_GUARDED_BY(mutex_);  // keys, the last used first
  std::size_t num_bytes_ QUIRE_GUARDED_BY(mutex_) = 0;    // of all entries, as last counted
  // Whose grammars somebody may use, so that they may have grown since they were counted.
  std::vector<Entry*> watched_ QUIRE_GUARDED_BY(mutex_);
};

}  // namespace quire
