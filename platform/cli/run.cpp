// `tlmalloc run CONFIG`: builds the platform, runs one kernel on all PEs, checks its numbers, reports.
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/overrides.h"
#include "cli/progress.h"
#include "cli/run_report.hpp"

#include <argp.h>
#include <fstream>
#include <iterator>
#include <memory>

namespace {

using namespace tlmalloc;

struct run_options {
    const char *config = nullptr, *kernel = nullptr, *json = nullptr, *vcd = nullptr, *from = nullptr;
    overrides set{};
};

enum { option_kernel = 'k', option_json = 'j', option_vcd = 'v', option_set = 's', option_from = 'f' };

const argp_option option_table[] = {
    {"kernel", option_kernel, "NAME", 0, "the kernel to run (default: workload.kernel of the configuration)", 0},
    {"json", option_json, "FILE", 0, "write the report, every figure of it, as JSON", 0},
    {"vcd", option_vcd, "FILE", 0, "write the waveform", 0},
    {"from", option_from, "SNAPSHOT", 0, "let every HBM free list begin as `tlmalloc age' left it", 0},
    {"set", option_set, "KEY=VALUE", 0, "override a key: path.to.key=value (repeatable)", 0},
    {nullptr, 0, nullptr, 0, nullptr, 0}};

error_t parse_option(int key, char *text, argp_state *state) {
    auto &options = *static_cast<run_options *>(state->input);
    switch (key) {
    case option_kernel:
        options.kernel = text;
        return 0;
    case option_json:
        options.json = text;
        return 0;
    case option_vcd:
        options.vcd = text;
        return 0;
    case option_from:
        options.from = text;
        return 0;
    case option_set:
        if (!overrides_add(&options.set, text)) argp_failure(state, CLI_FAILED, 0, "no host memory");
        return 0;
    case ARGP_KEY_ARG:
        if (options.config) argp_error(state, "found a second argument '%s', expected one CONFIG", text);
        options.config = text;
        return 0;
    case ARGP_KEY_END:
        if (!options.config) argp_error(state, "expected a CONFIG");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

const argp parser = {
    option_table,
    parse_option,
    "CONFIG",
    "Builds the platform that CONFIG describes, runs a kernel on every PE and compares the result with "
    "a reference. Exit status 0: the numbers are right and nothing leaked.",
    nullptr,
    nullptr,
    nullptr};

int fail(const char *text) {
    std::fprintf(stderr, "tlmalloc run: %s\n", text);
    return CLI_FAILED;
}

// What modules report goes to stderr, so that stdout holds the table alone; errors end the run.
void report(const sc_core::sc_report &r, const sc_core::sc_actions &actions) {
    if (r.get_severity() >= sc_core::SC_WARNING)
        std::fprintf(stderr, "tlmalloc run: %s: %s: %s\n",
                     r.get_severity() == sc_core::SC_WARNING ? "warning" : "error", r.get_msg_type(), r.get_msg());
    if (actions & sc_core::SC_THROW) throw r;
}

const tl_kernel_info *find_kernel(const char *name) {
    const tl_kernel_info *kernel = tl_find_kernel(name);
    if (kernel) return kernel;
    std::fprintf(stderr, "tlmalloc run: found kernel '%s', expected one of:", name);
    for (std::uint32_t i = 0; const tl_kernel_info *known = tl_kernel_at(i); i++)
        std::fprintf(stderr, " %s", known->name);
    std::fprintf(stderr, "\n");
    return nullptr;
}

std::vector<tl_kernel> kernel_functions() {
    std::vector<tl_kernel> functions;
    for (std::uint32_t i = 0; const tl_kernel_info *kernel = tl_kernel_at(i); i++)
        functions.push_back(kernel->run);
    return functions;
}

// Runs until the workload says that it has finished; false when the simulation ran dry before.
bool simulate(const npu &platform, const workload &work) {
    const sc_core::sc_time slice(10, sc_core::SC_US); // between looks at the host's clock
    progress_line progress = progress_begin("kernels done");
    do {
        sc_core::sc_start(slice);
        std::uint64_t done = 0;
        for (const pe_unit *pe : platform.pes())
            done += pe->element.last_run().end_ps > 0;
        progress_update(&progress, done, platform.pes().size());
    } while (!work.finished() && sc_core::sc_pending_activity());
    progress_end(&progress);
    return work.finished();
}

bool write_json(const char *path, json_t *json) {
    output file{};
    tla_error error{};
    bool written = !output_open(&file, path, &error);
    if (written) {
        written = json_dumpf(json, file.stream, JSON_INDENT(2)) == 0 && std::fputc('\n', file.stream) != EOF;
        if (written)
            written = !output_commit(&file, &error);
        else
            tla_error_set(&error, TLA_IO, "%s: cannot be written", path);
    }
    if (!written) std::fprintf(stderr, "tlmalloc run: %s\n", error.text);
    output_discard(&file);
    return written;
}

int run(const run_options &options, const tla_config &config, const tl_kernel_info &kernel) {
    const double begin_s = host_seconds();
    const std::vector<tl_kernel> functions = kernel_functions();
    std::unique_ptr<waveform> wave;
    if (options.vcd) wave = std::make_unique<waveform>(options.vcd);

    npu platform("npu", config, {functions.data(), functions.size()});
    const tl_workload size{static_cast<std::uint32_t>(platform.pes().size()), config.workload.elements_per_pe,
                           config.workload.seed};
    workload work(platform, kernel, size, config.mmu.unmapped == TLA_UNMAPPED_DEMAND);
    platform.host().main = [&] { work.main(); };
    if (wave) platform.record(*wave);
    if (options.from) {
        std::ifstream file(options.from, std::ios::binary);
        const std::string snapshot{std::istreambuf_iterator<char>(file), {}};
        if (!file) {
            std::fprintf(stderr, "tlmalloc run: %s: cannot be read\n", options.from);
            return CLI_FAILED;
        }
        tla_error error{};
        if (platform.age(snapshot, &error)) {
            std::fprintf(stderr, "tlmalloc run: %s: %s\n", options.from, error.text);
            return CLI_BAD_INPUT;
        }
    }
    if (!simulate(platform, work)) return fail("the simulation ended before the kernel did: a deadlock");

    const std::uint64_t leaks = platform.leaks();
    print_run(stdout, platform, work, host_seconds() - begin_s);
    bool ok = true;
    if (work.failure().status) {
        std::fprintf(stderr, "tlmalloc run: %s: %s\n", tla_status_name(work.failure().status), work.failure().text);
        ok = false;
    } else if (work.wrong_result().status) {
        std::fprintf(stderr, "tlmalloc run: wrong result: %s\n", work.wrong_result().text);
        ok = false;
    }
    if (leaks) {
        std::fprintf(stderr, "tlmalloc run: %llu leaks: something was not given back\n",
                     static_cast<unsigned long long>(leaks));
        ok = false;
    }
    if (options.json) {
        json_t *json = run_json(platform, work, config);
        ok = write_json(options.json, json) && ok;
        json_decref(json);
    }
    if (wave && wave->close()) {
        std::fprintf(stderr, "tlmalloc run: %s: cannot be written\n", options.vcd);
        ok = false;
    }
    return ok ? CLI_OK : CLI_FAILED;
}

} // namespace

int tlmalloc_run(int argc, char **argv) {
    run_options options;
    argp_err_exit_status = CLI_BAD_INPUT;
    argp_parse(&parser, argc, argv, 0, nullptr, &options);
    tla_config config{};
    int exit_status = cli_exit_status(overrides_load(&options.set, options.config, &config));
    overrides_clear(&options.set);
    if (exit_status != CLI_OK) return exit_status;
    const tl_kernel_info *kernel = find_kernel(options.kernel ? options.kernel : config.workload.kernel);
    if (!kernel) return CLI_BAD_INPUT;
    sc_core::sc_report_handler::set_handler(report);
    try {
        return run(options, config, *kernel);
    } catch (const sc_core::sc_report &) {
        return CLI_FAILED; // told by the handler
    } catch (const std::exception &error) {
        return fail(error.what());
    }
}
