// The families by name; each is defined in a file of its own.
#pragma once

#include "model/families/family.h"

namespace quire {

extern const Family kGranite;
extern const Family kLlama;
extern const Family kMistral;
extern const Family kPhi3;
extern const Family kQwen2;
extern const Family kQwen3;
extern const Family kSmollm3;

}  // namespace quire
