// Experiments: the contents of configs/experiments/*.yaml, and the workloads that they can name.
#ifndef TLMALLOC_PLATFORM_EXPERIMENTS_EXPERIMENT_HPP
#define TLMALLOC_PLATFORM_EXPERIMENTS_EXPERIMENT_HPP

#include "model/config/value.h"
#include "tlmalloc/modules/npu.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tlmalloc {

// Parameters of a workload: numbers in the unit of their type, and files.
struct experiment_parameters {
    std::map<std::string, std::uint64_t> numbers;
    std::map<std::string, std::string> files; // paths from where the program runs

    std::uint64_t at(const std::string &name) const { return numbers.at(name); }
    bool has(const std::string &name) const { return numbers.count(name) || files.count(name); }
    bool operator==(const experiment_parameters &other) const {
        return numbers == other.numbers && files == other.files;
    }
};

// One row while it runs. Several live in one simulation; one without a platform is finished when it is made.
class experiment_run {
  public:
    virtual ~experiment_run() = default;

    // Called when all rows exist: a workload that advances the simulation itself, step by step, does so here.
    virtual void drive() {}

    virtual bool finished() const { return finished_; }
    // In the order of experiment_workload::figures; NaN: was not measured.
    virtual double result(std::size_t figure) const { return results_[figure]; }
    virtual const tla_error &failure() const { return failure_; }
    virtual std::uint64_t leaks() const { return 0; }

  protected:
    bool finished_ = false;
    std::vector<double> results_;
    tla_error failure_{};
};

// A row with a platform of its own and a workload on it.
class platform_run : public experiment_run {
  public:
    platform_run(const char *name, const tla_config &config, const kernel_table &kernels = {})
        : platform_(name, config, kernels) {}
    std::uint64_t leaks() const override { return platform_.leaks(); }

  protected:
    npu platform_;
};

struct experiment_parameter {
    const char *name;
    tla_value_type type;                                // TEXT: a file
    const char *(*value_name)(std::uint64_t) = nullptr; // NAMED
    bool is_data = false; // a file of the data folder, without which a row is skipped; else beside the experiment
};

struct experiment_workload {
    const char *name;
    std::vector<experiment_parameter> parameters; // all of them are required
    std::vector<const char *> figures; // the figures that a row can name, by default the first; empty: a single figure
    bool relative; // a row's figure is 100 * the result of another (the first, or relative_to) / its own
    std::function<std::unique_ptr<experiment_run>(const char *, const tla_config &, const experiment_parameters &)>
        make;
    // Checks a row before the run; null: no check.
    tla_status (*check)(const tla_config &, const experiment_parameters &, tla_error *) = nullptr;
    std::vector<const char *> units{}; // of the figures, where each has its own: then a file may ask for all of them
    // This build has it not: "this build has no serving; configure with ..."; the name alone counts then.
    const char *missing = nullptr;
};

// The workloads of this folder, and the added ones.
const std::vector<experiment_workload> &experiment_workloads();

// Before an experiment is loaded.
void add_experiment_workload(experiment_workload workload);

// The kind of value with which a row is compared.
enum class standing {
    none,        // there is no such value: the model's figure stands alone
    published,   // others measured or simulated it
    closed_form, // it follows from the parameters, by a formula that the source names
    input,       // an input of the configuration: the row shows only that the model reproduces it
};
const char *standing_name(standing s);

struct experiment_row {
    std::string label, unit, source, note; // note: a remark about the figure for readers, may be empty
    std::size_t figure = 0;                // of the workload's
    standing reference_is = standing::none;
    std::optional<double> reference, bound_pct; // reference: unless standing::none
    std::optional<double> at_most;              // of a figure that is a deviation itself, in its unit
    std::size_t relative_to = 0;                // of a relative workload: the row that is 100
    bool fitted = false;                        // something about the row was chosen so that it fits
    tla_config config{};
    experiment_parameters parameters;
    std::string missing; // the file without which it does not run; empty: it runs
};

struct experiment {
    std::string name, about, unit;
    const experiment_workload *workload = nullptr;
    bool takes_long = false;  // and runs only when it is named
    bool all_figures = false; // the rows of the file are repeated for each of the workload's figures
    std::vector<experiment_row> rows;

    // Returns the figure of a row; empty where the workload has a single figure.
    std::string figure_name(const experiment_row &row) const {
        return workload->figures.empty() ? "" : workload->figures[row.figure];
    }
};

// Reads and checks a file, whose findings go to stderr as "file:line:column: error: ...". configs/experiments/README.md
// describes the form. Files of data lie in the folder `data`. TLA_SYNTAX for any finding, TLA_IO when the file cannot
// be read. For an experiment whose workload is missing only name and workload are read.
tla_status load_experiment(const std::string &path, const std::string &data, experiment &made);

} // namespace tlmalloc
#endif
