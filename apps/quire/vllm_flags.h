// The flags of `vllm serve` that Quire has no options for: obeyed where they ask for what is so
// anyway, refused with the reason where they ask for something else.
#pragma once

#include "apps/quire/flags.h"

namespace quire {

void AddVllmFlags(FlagSet& flags);

}  // namespace quire
