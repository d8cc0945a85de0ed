// The families by name; each is defined in a file of its own.
#pragma once

#include "model/families/family.h"

namespace quire {

extern const Family kLlama;
extern const Family kMistral;
extern const Family kQwen2;
extern const Family kQwen3;

}  // namespace quire
