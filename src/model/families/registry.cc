#include "model/families/families.h"
#include "model/families/family.h"

namespace quire {

std::span<const Family* const> Families() {
  static constexpr const Family* kFamilies[] = {&kLlama,   &kMistral, &kQwen2,  &kQwen3,
                                                &kGranite, &kPhi3,    &kSmollm3};
  return kFamilies;
}

}  // namespace quire
