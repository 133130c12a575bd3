// Experiments are simulated, each in a process of its own where there are several.
#ifndef TLMALLOC_PLATFORM_EXPERIMENTS_EXPERIMENT_SIMULATION_HPP
#define TLMALLOC_PLATFORM_EXPERIMENTS_EXPERIMENT_SIMULATION_HPP

#include "experiments/experiment.hpp"

namespace tlmalloc {

// figures[i][j]: the figure of row j of experiment i, NaN where nothing was measured and that is right. False, with
// messages, when a row has not ended successfully; the figures are then undefined.
bool simulate_all(const std::vector<experiment> &experiments, std::vector<std::vector<double>> &figures);

} // namespace tlmalloc
#endif
