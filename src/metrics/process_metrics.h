// What the operating system knows of this process, under the names that every exporter uses.
#pragma once

#include "metrics/registry.h"

namespace quire {

// Adds process_resident_memory_bytes and its like, read anew for each page.
void AddProcessMetrics(MetricRegistry& registry);

}  // namespace quire
