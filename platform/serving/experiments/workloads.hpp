// The workloads of serving for experiments.
#ifndef TLMALLOC_PLATFORM_SERVING_EXPERIMENTS_WORKLOADS_HPP
#define TLMALLOC_PLATFORM_SERVING_EXPERIMENTS_WORKLOADS_HPP

#include "experiments/experiment.hpp"

namespace tlmalloc {

experiment_workload prefix_caches(); // studies.cpp, as the next three
experiment_workload prefix_evictions();
experiment_workload reservations();
experiment_workload layer_types();
experiment_workload serving_managers(); // managers.cpp
experiment_workload serving_rules();    // rules.cpp
experiment_workload measured_runs();    // measured.cpp
experiment_workload serving_blocks();   // blocks.cpp
experiment_workload request_engines();  // engine.cpp

} // namespace tlmalloc
#endif
