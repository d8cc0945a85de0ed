// What tests of the KV cache share.
#pragma once

#include <vector>

#include "config/kv_cache_spec.h"
#include "kv/events.h"

namespace quire {

// A spec with one group a window; 0 stands for full attention.
inline KvCacheSpec SpecOfWindows(const std::vector<int>& windows) {
  KvCacheSpec spec;
  for (const int window : windows) {
    KvGroupSpec group;
    if (window > 0) group = {.kind = AttentionKind::kSlidingWindow, .window = window, .layers = {}};
    group.layers = {static_cast<std::int32_t>(spec.groups.size())};
    spec.groups.push_back(group);
  }
  spec.num_kv_heads = 1;
  spec.key_head_dim = spec.value_head_dim = 8;
  return spec;
}

}  // namespace quire
