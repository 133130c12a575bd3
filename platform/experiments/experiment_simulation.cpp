// All rows of an experiment are platforms of one simulation. An experiment has a process of its own, as SystemC has one
// simulation for each, because the stacks of all experiments' threads are more mappings than a process may have.
#include "experiments/experiment_simulation.hpp"

#include "cli/message.h"
#include "cli/progress.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tlmalloc {

namespace {

using row_runs = std::vector<std::shared_ptr<experiment_run>>;

// Rows that want different figures of one run share it.
std::shared_ptr<experiment_run> run_of_row(const experiment &e, std::size_t row, const row_runs &made) {
    const experiment_row &wanted = e.rows[row];
    if (!wanted.missing.empty()) return nullptr;
    for (std::size_t i = 0; i < made.size(); i++)
        if (made[i] && e.rows[i].parameters == wanted.parameters && tla_config_equal(&e.rows[i].config, &wanted.config))
            return made[i];
    return e.workload->make(("row" + std::to_string(row)).c_str(), wanted.config, wanted.parameters);
}

void run_to_the_end(const row_runs &runs) {
    for (const auto &run : runs)
        if (run && !run->finished()) run->drive();
    const sc_core::sc_time slice(100, sc_core::SC_US); // between two checks for the end
    progress_line progress = progress_begin("reproduce", "rows");
    const bool simulated =
        std::any_of(runs.begin(), runs.end(), [](const auto &run) { return run && !run->finished(); });
    while (simulated) {
        std::uint64_t done = 0;
        for (const auto &run : runs)
            done += !run || run->finished();
        progress_update(&progress, done, runs.size());
        sc_core::sc_start(slice);
        if (!sc_core::sc_pending_activity()) break;
    }
    progress_end(&progress);
}

bool simulate(const experiment &e, row_runs &runs, std::vector<double> &figures) {
    for (std::size_t i = 0; i < e.rows.size(); i++)
        runs.push_back(run_of_row(e, i, runs));
    run_to_the_end(runs);
    bool good = true;
    for (std::size_t i = 0; i < runs.size(); i++) {
        if (!runs[i]) {
            figures.push_back(std::nan(""));
            continue;
        }
        const experiment_run &run = *runs[i];
        const experiment_run &base = runs[e.rows[i].relative_to] ? *runs[e.rows[i].relative_to] : run;
        const std::size_t figure = e.rows[i].figure;
        const double own = run.finished() ? run.result(figure) : 0;
        figures.push_back(e.workload->relative && base.finished() ? 100 * base.result(figure) / own : own);
        if (run.finished() && run.leaks() == 0 && (!std::isnan(own) || e.all_figures)) continue;
        print_message("tlmalloc reproduce: %s: %s: %s", e.name.c_str(), e.rows[i].label.c_str(),
                      run.finished() && std::isnan(own) ? "the simulation did not measure the figure"
                      : run.finished()                  ? "not all memory was freed"
                      : run.failure().status            ? run.failure().text
                                                        : "the simulation did not complete");
        good = false;
    }
    return good;
}

bool read_all(int from, void *bytes, std::size_t nbytes) {
    for (auto *at = static_cast<char *>(bytes); nbytes > 0;) {
        const ssize_t n = read(from, at, nbytes);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        at += n;
        nbytes -= static_cast<std::size_t>(n);
    }
    return true;
}

// In the new process: the waiting process reports an interrupt, and this process does not outlive it.
[[noreturn]] void simulate_for(int to, const experiment &e) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        std::signal(signal, SIG_DFL);
    row_runs runs; // never destroyed: SystemC looks through all of its objects for each that goes
    std::vector<double> figures;
    bool good = false;
    try {
        good = simulate(e, runs, figures);
    } catch (const sc_core::sc_report &) { // the handler has reported it
    } catch (const std::bad_alloc &) {
        std::fprintf(stderr, "tlmalloc reproduce: TLA_NO_HOST_MEMORY: no host memory for the platform\n");
    }
    const std::size_t nbytes = figures.size() * sizeof figures[0];
    good = good && write(to, figures.data(), nbytes) == static_cast<ssize_t>(nbytes);
    _exit(good ? 0 : 1);
}

bool simulate_apart(const experiment &e, std::vector<double> &figures) {
    int channel[2];
    pid_t child = -1;
    if (pipe(channel) == 0) {
        child = fork();
        if (child == 0) simulate_for(channel[1], e);
        close(channel[1]);
    }
    if (child < 0) {
        print_message("tlmalloc reproduce: %s: cannot start a process: %s", e.name.c_str(), std::strerror(errno));
        return false;
    }
    figures.resize(e.rows.size());
    const bool came = read_all(channel[0], figures.data(), figures.size() * sizeof figures[0]);
    close(channel[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status))
        print_message("tlmalloc reproduce: %s: ended by a signal: %s", e.name.c_str(), strsignal(WTERMSIG(status)));
    return came && status == 0;
}

} // namespace

bool simulate_all(const std::vector<experiment> &experiments, std::vector<std::vector<double>> &figures) {
    figures.resize(experiments.size());
    bool good = true;
    for (std::size_t i = 0; i < experiments.size(); i++)
        good = simulate_apart(experiments[i], figures[i]) && good;
    return good;
}

} // namespace tlmalloc
