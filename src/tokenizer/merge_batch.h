// Makes rules of merges that are given as texts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tokenizer/bpe.h"
#include "tokenizer/vocabulary.h"

namespace quire {

// Takes some merges, then looks up their pieces side by side. Vocabulary and rules must outlive it.
class MergeBatch {
 public:
  // `prefix_bytes`: what the right piece of a merge loses at its beginning.
  MergeBatch(const Vocabulary& vocabulary, PairRules& rules, std::size_t prefix_bytes = 0)
      : vocabulary_(vocabulary), rules_(rules), prefix_bytes_(prefix_bytes) {}

  // The texts must stay as they are until the batch is flushed. False: the batch is full now.
  bool Push(std::string_view left, std::string_view right, std::uint32_t rank);

  struct Merge {
    std::string_view left, right;
    std::uint32_t rank;
  };
  // Adds the rules of the merges that were pushed, but for those of which the vocabulary lacks a
  // piece. The first of these.
  std::optional<Merge> Flush();

  static constexpr std::size_t kPieces = 3;  // of a merge: left, right, what they make
  static constexpr std::size_t kMaxMerges = Vocabulary::kMaxBatch / kPieces;

 private:
  const Vocabulary& vocabulary_;
  PairRules& rules_;
  std::size_t prefix_bytes_;
  std::array<Merge, kMaxMerges> merges_;
  std::array<std::string, kMaxMerges> joined_;
  std::size_t size_ = 0;
};

}  // namespace quire
