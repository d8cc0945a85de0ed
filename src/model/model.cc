#include "model/model.h"

#include <utility>

#include "base/strings.h"
#include "model/families/family.h"

namespace quire {

Result<std::unique_ptr<Model>> LoadModel(ops::OpContext& ctx,
                                         std::shared_ptr<const Checkpoint> checkpoint,
                                         const ModelConfig& config, const LoadOptions& options) {
  for (const Family* family : Families()) {
    if (family->name == config.family) {
      return family->load(ctx, std::move(checkpoint), config, options);
    }
  }
  return Unimplemented(StrCat("model family ", Printable(config.family), " is not supported"));
}

}  // namespace quire
