// Step messages from strangers: refused, or exactly what their meaning encodes to.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/log.h"
#include "step/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  std::vector<std::uint8_t> again;
  quire::StepPlan plan;
  if (quire::DecodePlan(bytes, plan).ok()) {
    quire::EncodePlan(plan, again);
    QUIRE_CHECK(again == std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
  }
  quire::StepMasks masks;
  if (quire::DecodeMasks(bytes, masks).ok()) {
    quire::EncodeMasks(masks, again);
    QUIRE_CHECK(again == std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
  }
  quire::StepResult result;
  if (quire::DecodeResult(bytes, result).ok()) {
    quire::EncodeResult(result, again);
    QUIRE_CHECK(again == std::vector<std::uint8_t>(bytes.begin(), bytes.end()));
  }
  return 0;
}
