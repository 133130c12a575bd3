// What one engine of a placement does with a program: the common part of workloads that differ in their programs.
#ifndef TLMALLOC_PLATFORM_EXPERIMENTS_EXPERIMENT_ENGINE_HPP
#define TLMALLOC_PLATFORM_EXPERIMENTS_EXPERIMENT_ENGINE_HPP

#include "experiments/experiment.hpp"
#include "replay/engine_replay.h"

namespace tlmalloc {

// Has no platform, and is finished when it is made.
class engine_run : public experiment_run {
  public:
    // null: the trace could not be read; *error says why. `capacity`: bytes.
    engine_run(const tla_config &config, const experiment_parameters &p, const alloc_trace *trace,
               std::uint64_t capacity, bool evicts, const tla_error &error);

    static tla_status check(const tla_config &config, tla_error *error);
};

// A workload whose programs are files of the parameter `program`, in a memory of the parameter `capacity`.
experiment_workload engine_workload(const char *name, const char *program,
                                    std::unique_ptr<experiment_run> (*make)(const char *, const tla_config &,
                                                                            const experiment_parameters &),
                                    tla_status (*check)(const tla_config &, const experiment_parameters &,
                                                        tla_error *));

experiment_workload engines();

} // namespace tlmalloc
#endif
