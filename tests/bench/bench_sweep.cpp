// What a sweep costs beside its runs: points a second, and a point's time of the processor beside that of the same run
// as a program of its own.
//
//   bench_sweep [--points=N] [--jobs=N] [--rounds=N] [--json=FILE]
//
// The points are a kernel on the smallest platform (vector_add on four PEs) by sizes of pages and walkers. In every
// round all points run once by `tlmalloc sweep' and a tenth of them once each by `tlmalloc run --json', so that both
// meet the same moods of the machine.
#include "measuring.hpp"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

struct options {
    std::uint64_t points = 1000, jobs = 1, rounds = 3;
    const char *json = nullptr;
};

const std::string platform = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

// A point for each number of slots of a walker's queue, which change little.
std::string sweep_text(std::uint64_t points) {
    std::string slots;
    for (std::uint64_t i = 0; i < points; i++)
        slots += (i ? ", " : "") + std::to_string(i);
    return "name: bench\ncommand: run\nplatform: " + platform +
           "\nset: {--kernel: vector_add}\nkeys: [{key: mmu.walkers.merge_slots, values: [" + slots +
           "]}]\nfigures: {end: sim_time_ps}\n";
}

struct scratch_folder {
    std::string path = (std::filesystem::temp_directory_path() / "bench_sweep-XXXXXX").string();
    scratch_folder() {
        if (!mkdtemp(path.data())) fail("no folder for the results");
    }
    scratch_folder(const scratch_folder &) = delete;
    scratch_folder &operator=(const scratch_folder &) = delete;
    ~scratch_folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
};

double wall_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace

int main(int argc, char **argv) {
    options o;
    read_options(argc, argv, "What a sweep costs beside its runs.",
                 {{{"points", 'p', "N", 0, "of the sweep (default 1000)", 0}, &o.points},
                  {{"jobs", 'b', "N", 0, "of the sweep (default 1)", 0}, &o.jobs},
                  {{"rounds", 'r', "N", 0, "of both (default 3)", 0}, &o.rounds}},
                 &o.json);
    if (o.points > 4096) fail("there are at most 4096 points");
    const scratch_folder scratch;
    const std::string file = scratch.path + "/s.yaml", report = "--json=" + scratch.path + "/r.json",
                      jobs = std::to_string(o.jobs);
    if (!(std::ofstream(file) << sweep_text(o.points) << std::flush)) fail("the sweep cannot be written");
    std::vector<double> swept, bare, rates;
    for (std::uint64_t round = 0; round < o.rounds; round++) {
        const std::string results = scratch.path + "/" + std::to_string(round) + ".sqlite";
        const double begin = wall_s();
        const double ns = program_ns(
            TLMALLOC_PROGRAM, {"tlmalloc", "sweep", file.c_str(), "-o", results.c_str(), "--jobs", jobs.c_str()});
        rates.push_back(static_cast<double>(o.points) / (wall_s() - begin));
        swept.push_back(ns / static_cast<double>(o.points + 1)); // the base is a run too
        const std::uint64_t runs = (o.points + 9) / 10;
        double all = 0;
        for (std::uint64_t i = 0; i < runs; i++) {
            const std::string set = "--set=mmu.walkers.merge_slots=" + std::to_string(i * o.points / runs);
            all += program_ns(TLMALLOC_PROGRAM, {"tlmalloc", "run", "--kernel=vector_add", set.c_str(), report.c_str(),
                                                 platform.c_str()});
        }
        bare.push_back(all / static_cast<double>(runs));
    }
    const double point_ms = 1e-6 * median(swept), run_ms = 1e-6 * median(bare),
                 overhead = 100 * (point_ms / run_ms - 1);
    std::printf("%llu points with %llu jobs: %.4g a second\n", static_cast<unsigned long long>(o.points),
                static_cast<unsigned long long>(o.jobs), median(rates));
    std::printf("processor: %.3f ms a point, %.3f ms a run alone, %+.1f %%\n", point_ms, run_ms, overhead);
    return write_figures(json_pack("{s:I, s:I, s:f, s:f, s:f, s:f}", "points", static_cast<json_int_t>(o.points),
                                   "jobs", static_cast<json_int_t>(o.jobs), "points_per_s", median(rates), "point_ms",
                                   point_ms, "run_ms", run_ms, "overhead_pct", overhead),
                         o.json);
}
