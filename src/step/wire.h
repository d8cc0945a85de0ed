// StepPlan, StepMasks and StepResult as bytes and back, for workers in other threads, processes and
// machines. docs/wire.md gives the layout.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "step/plan.h"
#include "step/result.h"

namespace quire {

// Replaces `out` by the message; its capacity is reused.
void EncodePlan(const StepPlan& plan, std::vector<std::uint8_t>& out);
void EncodeMasks(const StepMasks& masks, std::vector<std::uint8_t>& out);
void EncodeResult(const StepResult& result, std::vector<std::uint8_t>& out);

// Reads one whole message, reusing the lists that `out` has. kDataLoss when the bytes are anything
// else than what the encoder of this version makes; `out` then holds anything. Takes time and
// memory in proportion to the bytes, whatever they say.
//
// Numbers are taken as they are: whether an id, a block or a token exists is the reader's to check.
Status DecodePlan(std::span<const std::uint8_t> bytes, StepPlan& out);
Status DecodeMasks(std::span<const std::uint8_t> bytes, StepMasks& out);
Status DecodeResult(std::span<const std::uint8_t> bytes, StepResult& out);

}  // namespace quire
