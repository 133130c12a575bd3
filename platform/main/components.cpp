// The one file that knows which components a build may leave out (../components.md).
#include "main/components.hpp"

#include "cli/commands.h"
#include "experiments/experiment.hpp"
#include "trace/trace.h"
#if TLMALLOC_HAS_TORCH
#include "torch/command/as_recorded.h"
#include "torch/command/explain.h"
#include "torch/torch.h"
#endif
#if TLMALLOC_HAS_SERVING
#include "serving/experiments/workloads.hpp"
#endif

namespace {

constexpr char no_serving[] = "this build has no serving; configure with -DTLMALLOC_SERVING=ON";
constexpr char no_sweeps[] = "this build has no sweeps; configure with -DTLMALLOC_SWEEP=ON";
constexpr char no_pages[] = "this build has no report pages; configure with -DTLMALLOC_PAGES=ON";

// A macro of 0 removes all names of the component, so that the linker does not see them.
#if TLMALLOC_HAS_SERVING
#define SERVING(f) f
#else
#define SERVING(f) nullptr
#endif
#if TLMALLOC_HAS_SWEEP
#define SWEEP(f) f
#else
#define SWEEP(f) nullptr
#endif
#if TLMALLOC_HAS_PAGES
#define PAGES(f) f
#else
#define PAGES(f) nullptr
#endif

const cli_command commands[] = {
    {"run", tlmalloc_run, "build a platform, run a kernel on it, check and report", nullptr},
    {"replay", tlmalloc_replay, "replay an allocation trace: placements, failures, cost", nullptr},
#if TLMALLOC_HAS_TORCH
    {"explain", tlmalloc_explain,
     "explain where the time of a run went, or why a PyTorch recording ran out of memory, and what would help",
     nullptr},
#else
    {"explain", tlmalloc_explain, "explain where the time of a run went, and what would help", nullptr},
#endif
    {"report", PAGES(tlmalloc_report), "write a page for the browser: a run, or two side by side", no_pages},
    {"age", tlmalloc_age, "replay a trace and write the arena's state, for replays that start with it", nullptr},
    {"plan", tlmalloc_plan, "plan offsets for buffers with known lifetimes, by search or by heuristics", nullptr},
    {"serve", SERVING(tlmalloc_serve), "serve requests from a paged key-value cache, as vLLM does", no_serving},
    {"traffic", tlmalloc_traffic, "drive one pseudo-channel's timing with an address trace", nullptr},
    {"probe", tlmalloc_probe, "measure single transfers over an idle platform, and check them", nullptr},
    {"reproduce", tlmalloc_reproduce, "run experiments and compare them with published values", nullptr},
    {"sweep", SWEEP(tlmalloc_sweep), "run a command on many platforms, and store their figures", no_sweeps},
    {"study", SWEEP(tlmalloc_study), "print which keys of a sweep affect a figure, and the best point", no_sweeps},
    {"topology", tlmalloc_topology, "print and draw a fabric, and the time of a path through it", nullptr},
    {"check", tlmalloc_check, "check a configuration and print it resolved", nullptr},
    {nullptr, nullptr, nullptr, nullptr},
};

void add_experiments() {
    using namespace tlmalloc;
#if TLMALLOC_HAS_SERVING
    for (const auto workload : {prefix_caches, prefix_evictions, reservations, layer_types, serving_managers,
                                serving_rules, measured_runs, serving_blocks, request_engines})
        add_experiment_workload(workload());
#else
    for (const char *const name : {"prefix_cache", "prefix_eviction", "kv_memory", "layer_types", "serving",
                                   "serving_rules", "measured_run", "serving_blocks", "engine_requests"}) {
        experiment_workload workload{};
        workload.name = name;
        workload.missing = no_serving;
        add_experiment_workload(workload);
    }
#endif
}

} // namespace

void add_components() {
    cli_set_commands(commands);
    add_experiments();
#if TLMALLOC_HAS_TORCH
    trace_read_recordings_by(torch_read_trace);
    explain_recordings_by(explain_snapshot);
    replay_recordings_by(as_recorded);
#endif
}
