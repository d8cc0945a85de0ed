#include "tokenizer/stop_strings.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"

namespace quire {

namespace {

constexpr std::size_t kMaxStopBytes = 64u << 10;

}  // namespace

Result<StopStrings> StopStrings::Create(const std::vector<std::string>& stops, bool keep_stop) {
  StopStrings out;
  out.keep_stop_ = keep_stop;
  std::size_t num_bytes = 0;
  for (const std::string& stop : stops) {
    num_bytes += stop.size();
    if (num_bytes > kMaxStopBytes) {
      return InvalidArgument(StrCat("stop: at most ", kMaxStopBytes, " bytes in all"));
    }
    if (!stop.empty()) out.stops_.push_back(stop);
  }
  out.nodes_.emplace_back();
  for (std::size_t i = 0; i < out.stops_.size(); ++i) out.Insert(static_cast<int>(i));
  out.LinkFailures();
  return out;
}

void StopStrings::Insert(int stop_idx) {
  int node = 0;
  for (const char c : stops_[stop_idx]) {
    const auto byte = static_cast<unsigned char>(c);
    auto& next = nodes_[node].next;
    const auto found = std::find_if(next.begin(), next.end(),
                                    [&](const auto& edge) { return edge.first == byte; });
    if (found != next.end()) {
      node = found->second;
      continue;
    }
    const int child = static_cast<int>(nodes_.size());
    next.emplace_back(byte, child);
    const int depth = nodes_[node].depth + 1;
    nodes_.emplace_back();
    nodes_.back().depth = depth;
    node = child;
  }
  if (nodes_[node].stop_idx < 0) nodes_[node].stop_idx = stop_idx;
}

// Breadth first; a node's failure is the node of the longest proper ending that is a prefix too.
void StopStrings::LinkFailures() {
  std::vector<int> queue;
  for (const auto& [byte, child] : nodes_[0].next) queue.push_back(child);
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const int node = queue[i];
    for (const auto& [byte, child] : nodes_[node].next) {
      nodes_[child].fail = Step(nodes_[node].fail, byte);
      queue.push_back(child);
    }
    Node& here = nodes_[node];
    if (here.stop_idx < 0) here.stop_idx = nodes_[here.fail].stop_idx;
  }
}

int StopStrings::Step(int node, unsigned char byte) const {
  while (true) {
    for (const auto& [edge, child] : nodes_[node].next) {
      if (edge == byte) return child;
    }
    if (node == 0) return 0;
    node = nodes_[node].fail;
  }
}

std::string StopStrings::Append(std::string_view delta) {
  if (matched_idx_ >= 0) return {};
  if (nodes_.size() == 1) return std::string(delta);
  for (std::size_t i = 0; i < delta.size(); ++i) {
    node_ = Step(node_, static_cast<unsigned char>(delta[i]));
    if (nodes_[node_].stop_idx < 0) continue;
    matched_idx_ = nodes_[node_].stop_idx;
    held_ += delta.substr(0, i + 1);
    if (!keep_stop_) held_.resize(held_.size() - stops_[matched_idx_].size());
    return std::exchange(held_, {});
  }
  held_ += delta;
  const std::size_t ready = HeldBoundary();
  std::string out = held_.substr(0, ready);
  held_.erase(0, ready);
  return out;
}

// How much of the held text can go out: what is before the longest beginning of a stop string,
// and no half character.
std::size_t StopStrings::HeldBoundary() const {
  std::size_t ready = held_.size() - static_cast<std::size_t>(nodes_[node_].depth);
  while (ready > 0 && ready < held_.size() &&
         (static_cast<unsigned char>(held_[ready]) & 0xC0) == 0x80) {
    --ready;
  }
  return ready;
}

std::string StopStrings::Finish() { return std::exchange(held_, {}); }

std::optional<std::string_view> StopStrings::matched() const {
  if (matched_idx_ < 0) return std::nullopt;
  return stops_[matched_idx_];
}

}  // namespace quire
