// Pictures of experiments: the model's figures beside the values of the comparison.
#ifndef TLMALLOC_PLATFORM_EXPERIMENTS_EXPERIMENT_PLOT_HPP
#define TLMALLOC_PLATFORM_EXPERIMENTS_EXPERIMENT_PLOT_HPP

#include "experiments/experiment.hpp"

#include <cstdio>

namespace tlmalloc {

struct experiment_result {
    double model = 0;
    std::optional<double> deviation_pct;
    bool missed = false;
};

struct plot_files {
    std::FILE *data = nullptr, *script = nullptr, *picture = nullptr; // picture: where gnuplot is installed
};

// DIR/NAME.dat, DIR/NAME.gp and, with `picture`, DIR/NAME.svg.
tla_status open_plot(const std::string &directory, const experiment &e, bool picture, plot_files &files,
                     tla_error &error);

// Writes them; false, with a message, when gnuplot fails: then there is no picture.
bool plot(const plot_files &files, const experiment &e, const std::vector<experiment_result> &results);

} // namespace tlmalloc
#endif
