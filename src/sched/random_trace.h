// Random traces of arrivals, aborts and failures through a scheduler, for property tests.
#pragma once

#include <cstdint>
#include <string>

namespace quire {

// What a trace saw: `fault` is empty when everything held, else it names the seed and the step.
struct TraceReport {
  std::string fault;
  std::int64_t num_steps = 0;
  std::int64_t num_preemptions = 0;
  std::int64_t num_hits = 0;
  std::int64_t num_finished = 0;
};

// Runs one trace, all of whose choices follow from `seed`, until every request has ended.
TraceReport RunRandomTrace(std::uint64_t seed);

}  // namespace quire
