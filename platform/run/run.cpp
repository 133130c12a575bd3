// `tlmalloc run CONFIG`: builds the platform, runs one kernel on all PEs, checks its numbers, reports.
#include "cli/commands.h"
#include "cli/config_json.h"
#include "cli/installed.hpp"
#include "cli/json_writer.h"
#include "cli/kernel_name.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/overrides.h"
#include "cli/progress.h"
#include "cli/read_text.h"
#include "cli/report_words.hpp"
#include "events/event_log.hpp"
#include "events/run_trace.hpp"
#include "programs/kernel_file.h"
#include "run/energy_report.hpp"
#include "run/event_recorder.hpp"
#include "run/recording.hpp"
#include "run/run_report.hpp"
#include "run/supervisor.hpp"
#include "run/watch.h"
#include "tlmalloc/modules/detail/time_queue.hpp"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <unistd.h>

namespace {

using namespace tlmalloc;

struct run_options {
    const char *config, *kernel, *json, *vcd, *from, *record, *events, *trace, *output;
    bool watch;
    std::uint64_t events_limit, trace_limit; // 0: not given
    text_list set, parameters, vcd_scopes;
};

constexpr std::uint64_t events_limit_default = 1'000'000, trace_limit_default = 500'000, limit_max = 1'000'000'000;

void read_scope(const argp_state *state, const option_row *option, const char *text, void *scopes) {
    if (!*text) argument_error(state, "--%s is empty, expected scopes or signals", option->name);
    option_each(state, option, text, scopes);
}

const option_row option_table[] = {
    {"kernel", 'k', "KERNEL", option_text, offsetof(run_options, kernel),
     "kernel to run: a name, or your own FILE.c or FILE.so (default: workload.kernel of the configuration)"},
    {"parameter", 'p', "NAME=VALUE", option_each, offsetof(run_options, parameters),
     "set a parameter of the kernel: a size, a choice (repeatable)"},
    {"json", 'j', "FILE", option_text, offsetof(run_options, json), "write the report with all figures as JSON"},
    {"vcd", 'v', "FILE", option_text, offsetof(run_options, vcd),
     "write the waveform: a VCD, or an FST if FILE ends in .fst (by vcd2fst of the package gtkwave)"},
    {"vcd-scope", 'w', "PATTERN", read_scope, offsetof(run_options, vcd_scopes),
     "write only the matching scopes and signals of the waveform, such as sip0.cube0.pe3 or '*.hbm_used_bytes' "
     "(repeatable)"},
    {"from", 'f', "SNAPSHOT", option_text, offsetof(run_options, from),
     "start every HBM free list in the state that `tlmalloc age' wrote"},
    {"record", 'r', "DIR", option_text, offsetof(run_options, record),
     "write the requests to each memory as a trace for `tlmalloc replay'"},
    {"events", 'e', "FILE", option_text, offsetof(run_options, events),
     "write the event log: commands, mappings, transfers, messages, where the time went, link loads; compressed if "
     "FILE ends in .gz"},
    {"events-limit", 'l', "N", option_number, offsetof(run_options, events_limit),
     "write only the first N events (default 1000000)", 1, limit_max},
    {"trace", 't', "FILE", option_text, offsetof(run_options, trace),
     "write a timeline for Perfetto, chrome://tracing or speedscope: kernels, engines, MMUs, memories, links; "
     "compressed if FILE ends in .gz"},
    {"trace-limit", 'm', "N", option_number, offsetof(run_options, trace_limit),
     "write only the first N events of the timeline (default 500000)", 1, limit_max},
    {"watch", 0, nullptr, option_flag, offsetof(run_options, watch),
     "run again whenever the kernel, its includes, the configuration or a file that it names changes, until Ctrl-C, "
     "and keep the page of --output up to date; needs --kernel FILE"},
    {"output", 'o', "FILE.html", option_text, offsetof(run_options, output),
     "with --watch: the page for the browser, which an open browser refreshes by itself"},
    {"set", 's', "KEY=VALUE", option_each, offsetof(run_options, set),
     "override a key: path.to.key=value (repeatable)"},
    {}};

void check_arguments(const argp_state *state, const void *read) {
    const auto &options = *static_cast<const run_options *>(read);
    if (!options.config) argument_error(state, "expected a CONFIG");
    if (!options.vcd && options.vcd_scopes.count) argument_error(state, "--vcd-scope needs --vcd");
    if (!options.events && options.events_limit) argument_error(state, "--events-limit needs --events");
    if (!options.trace && options.trace_limit) argument_error(state, "--trace-limit needs --trace");
    if (!options.watch && options.output)
        argument_error(state, "--output needs --watch: for the page of one run write --json, then `tlmalloc report'");
    if (!options.watch) return;
    if (!options.output) argument_error(state, "--watch needs --output FILE.html, the page");
    if (!options.kernel || !tl_is_kernel_file(options.kernel))
        argument_error(state, "--watch needs --kernel FILE.c, the file that you edit");
    if (options.json || options.vcd || options.record || options.events || options.trace)
        argument_error(state, "--watch excludes --json, --vcd, --record, --events and --trace");
}

const command_line parser = {"CONFIG",
                             "Builds the platform of CONFIG, runs a kernel on every PE and compares the result with a "
                             "reference. Exit status 0: the result is right and no memory leaked.",
                             option_table,
                             {"CONFIG", 0, nullptr, argument_once, offsetof(run_options, config)},
                             check_arguments};

int fail(const char *text) {
    std::fprintf(stderr, "tlmalloc run: %s\n", text);
    return CLI_FAILED;
}

// Modules' reports go to stderr, so that stdout has only the table; errors end the run.
void report(const sc_core::sc_report &r, const sc_core::sc_actions &actions) {
    if (r.get_severity() >= sc_core::SC_WARNING)
        std::fprintf(stderr, "tlmalloc run: %s: %s\n", r.get_severity() == sc_core::SC_WARNING ? "warning" : "error",
                     words_of(r).c_str());
    if (actions & sc_core::SC_THROW) throw r;
}

// A kernel of the command line that is a file, for as long as it runs.
struct opened_kernel {
    tl_kernel_file file{};
    ~opened_kernel() {
        tl_kernel_file_close(&file);
        tl_kernel_file_remove_scratch(); // of one that was not opened
    }
};

// Compiles are a matter of a second; a compiler that waits for something never ends.
constexpr unsigned compiler_limit_ms = 60'000;

// Only what need not run the kernel's own code, which a process of its own does.
tla_status prepare_kernel(const char *word, opened_kernel &own, tla_error &error) {
    output_protect(word);
    return tl_kernel_file_prepare(word, installed(TLMALLOC_HEADERS).c_str(),
                                  installed(std::filesystem::path(TLMALLOC_DATA) / "kernels").c_str(),
                                  compiler_limit_ms, &own.file, &error);
}

tla_status open_kernel(opened_kernel &own, kernel_choice &choice, tla_error &error) {
    if (const tla_status status = tl_kernel_file_open(&own.file, &error)) return status;
    choice.kernel = &own.file.kernel;
    choice.title = std::string(choice.kernel->name) + " (" + own.file.path + ")";
    return TLA_OK;
}

tla_status choose_kernel(const char *word, kernel_choice &choice, tla_error &error) {
    if (const tla_status status = kernel_name_check(word, &error)) return status;
    choice.kernel = tl_find_kernel(word);
    choice.title = word;
    return TLA_OK;
}

// Reads the files of a kernel's tensors, for a run of this size.
tla_status read_files(const char *word, const tl_workload &size, kernel_choice &choice, tla_error &error) {
    for (std::uint32_t i = 0; i < tl_kernel_tensor_count(choice.kernel); i++) {
        const tl_kernel_tensor &tensor = choice.kernel->tensors[i];
        const std::uint64_t nbytes = tl_kernel_tensor_bytes(choice.kernel, &size, i);
        if (nbytes == UINT64_MAX)
            return tla_error_set(&error, TLA_INVALID_ARGUMENT, "tensor %s has more than 2^62 bytes", tensor.name);
        if (!tensor.file) continue;
        choice.files[i].resize(nbytes);
        if (const tla_status status = tl_kernel_file_read(word, &tensor, nbytes, choice.files[i].data(), &error))
            return status;
    }
    return TLA_OK;
}

// Runs until the workload has finished; false when the simulation ran out of events before.
bool simulate(const npu &platform, const workload &work) {
    const sc_core::sc_time slice(10, sc_core::SC_US); // between looks at the host's clock
    progress_line progress = progress_begin("run", "PEs");
    progress_update(&progress, 0, platform.pes().size());
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

struct run_files {
    std::FILE *json = nullptr, *vcd = nullptr, *events = nullptr, *trace = nullptr;
    std::string snapshot;
    recording record;
};

tla_status open_files(const run_options &options, const tla_config &config, run_files &files, tla_error &error) {
    output_protect(options.from);
    if (options.from) {
        char *text = nullptr;
        std::size_t length = 0;
        if (const tla_status status = read_text(options.from, ARENA_SNAPSHOT_BYTES_MAX, &text, &length, &error))
            return status;
        files.snapshot.assign(text, length);
        std::free(text);
    }
    tla_status status = output_open("--json", options.json, &files.json, &error);
    if (!status) status = output_open_waveform("--vcd", options.vcd, &files.vcd, &error);
    if (!status) status = output_open("--events", options.events, &files.events, &error);
    if (!status) status = output_open("--trace", options.trace, &files.trace, &error);
    if (!status && options.record) status = files.record.open(options.record, config, &error);
    return status;
}

// The logs and traces of the events of a run.
struct told_events {
    void begin(const run_options &options, const run_files &files, npu &platform, workload &work,
               const std::string &kernel) {
        if (files.events) {
            log = std::make_unique<event_log>(files.events, text_file::is_compressed(options.events), kernel.c_str());
            recorder.tell(*log, options.events_limit ? options.events_limit : events_limit_default);
        }
        if (files.trace) {
            trace = std::make_unique<run_trace>(files.trace, text_file::is_compressed(options.trace), kernel.c_str(),
                                                options.config);
            recorder.tell(*trace, options.trace_limit ? options.trace_limit : trace_limit_default);
        }
        if (log || trace) recorder.follow(platform, work);
    }

    // Says what had no room.
    void end(const npu &platform, const workload &work) {
        if (!log && !trace) return;
        recorder.finish(platform, work);
        if (log) warn_of_lost("event log", recorder.lost(*log), "--events-limit");
        if (trace) warn_of_lost("trace", recorder.lost(*trace), "--trace-limit");
    }

    static void warn_of_lost(const char *what, std::uint64_t lost, const char *option) {
        if (lost)
            std::fprintf(stderr, "tlmalloc run: warning: the %s is truncated: %llu events were dropped: raise %s\n",
                         what, static_cast<unsigned long long>(lost), option);
    }

    std::unique_ptr<event_log> log;
    std::unique_ptr<run_trace> trace;
    event_recorder recorder;
};

// The first four, and the number of the others.
std::string first_of(const std::vector<std::string> &leaks) {
    std::string text;
    for (std::size_t i = 0; i < leaks.size() && i < 4; i++)
        text += (i ? "; " : "") + leaks[i];
    return leaks.size() > 4 ? text + "; and " + std::to_string(leaks.size() - 4) + " more" : text;
}

// A kernel that ignores the failure of a call often computes a wrong result, or keeps a tile.
void print_ignored_failure(const workload &work) {
    const pe_unit *const pe = work.first_failed_call();
    if (!pe) return;
    const tla_error &failed = pe->element.last_run().failed;
    std::fprintf(stderr, "tlmalloc run: the kernel on %s ignored a failed call: %s: %s\n", to_string(pe->where).c_str(),
                 tla_status_name(failed.status), failed.text);
}

// Ends the waveform and puts the files in their places; false with the reason on stderr.
bool finish_files(waveform *wave) {
    tla_error error{};
    if (wave) wave->close(); // write errors stay in the stream, and the commit reports them
    if (!output_commit(&error)) return true;
    std::fprintf(stderr, "tlmalloc run: %s\n", error.text);
    return false;
}

// The arguments beside the configuration and the kernel, so that the run can be repeated.
json_t *command_json(const run_options &options) {
    json_t *command = json_object(), *parameters = json_array();
    for (std::size_t i = 0; i < options.parameters.count; i++)
        json_array_append_new(parameters, json_from_text(options.parameters.items[i]));
    json_object_set_new(command, "parameters", parameters);
    json_object_set_new(command, "from", options.from ? json_from_text(options.from) : json_null());
    return command;
}

// How far the event queue may run ahead of SystemC's time (time_queue.hpp): 1 us if simulation.quantum is 0. Event logs
// and traces list events in the order in which they become known, so with them the queue then does not run ahead.
std::uint64_t quantum_of(const tla_config &config, const run_files &files) {
    const std::uint64_t usual_ps = 1'000'000;
    return config.simulation.quantum_ps == 0 && !files.events && !files.trace ? usual_ps : config.simulation.quantum_ps;
}

int run(const run_options &options, run_files &files, const tla_config &config, kernel_choice &choice) {
    const double begin_s = host_seconds();
    std::unique_ptr<waveform> wave;
    if (files.vcd) wave = std::make_unique<waveform>(files.vcd);
    const std::string name = "npu", below = name + ".";
    for (std::size_t i = 0; i < options.vcd_scopes.count; i++)
        wave->select(below + options.vcd_scopes.items[i]);

    told_events events; // outlives the platform
    npu platform(name.c_str(), config, {&choice.kernel->run, 1});
    tl_workload size = tl_kernel_workload(choice.kernel, static_cast<std::uint32_t>(platform.pes().size()),
                                          config.workload.elements_per_pe, config.workload.seed);
    tla_error error{};
    for (std::size_t i = 0; i < options.parameters.count; i++)
        if (tl_kernel_set_parameter(choice.kernel, options.parameters.items[i], &size, &error)) {
            print_message("tlmalloc run: --parameter: %s", error.text);
            return CLI_BAD_INPUT;
        }
    if (const tla_status status = read_files(options.kernel ? options.kernel : "", size, choice, error)) {
        print_message("tlmalloc run: --kernel: %s", error.text);
        return cli_exit_status(status);
    }
    workload work(platform, choice, size, workload::demand_of(config));
    if (files.json || files.events || files.trace) work.keep_accounts();
    platform.host().main = [&] { work.main(); };
    if (wave) platform.record(*wave);
    if (wave && !wave->unmatched().empty()) {
        print_message("tlmalloc run: --vcd-scope: '%s' matches no scope or signal of the platform: name one such as "
                      "sip0.cube0.pe0 or '*.hbm_used_bytes'",
                      wave->unmatched().c_str() + below.size());
        return CLI_BAD_INPUT;
    }
    files.record.follow(platform);
    if (options.from) {
        if (platform.age(files.snapshot, &error)) {
            print_message("tlmalloc run: %s: %s", options.from, error.text);
            return CLI_BAD_INPUT;
        }
    }
    events.begin(options, files, platform, work, choice.title);
    time_queue::of_simulation().allow_quantum(quantum_of(config, files));
    if (!simulate(platform, work)) {
        output_drop(files.json);
        events.end(platform, work);
        finish_files(wave.get()); // shows where it stuck
        return fail("deadlock: the simulation ended before the kernel completed");
    }

    events.end(platform, work);
    const std::vector<std::string> leaks = platform.leaked();
    print_run(output_table(), platform, work, host_seconds() - begin_s);
    print_energy(output_table(), platform, config);
    warn_of_lost_mappings(stderr, platform);
    warn_of_too_much_energy(stderr, platform, config);
    bool ok = true;
    if (work.failure().status) {
        std::fprintf(stderr, "tlmalloc run: %s: %s\n", tla_status_name(work.failure().status), work.failure().text);
        ok = false;
    } else if (work.wrong_result().status) {
        std::fprintf(stderr, "tlmalloc run: wrong result: %s\n", work.wrong_result().text);
        ok = false;
    }
    print_waits(stderr, platform); // behind what stopped the kernel, which may be why
    if (!leaks.empty()) {
        std::fprintf(stderr, "tlmalloc run: %zu leak%s: not all memory was freed: %s\n", leaks.size(),
                     leaks.size() == 1 ? "" : "s", first_of(leaks).c_str());
        ok = false;
    }
    if (!ok && !work.failure().status) print_ignored_failure(work);
    json_t *json = files.json ? run_json(platform, work, config) : nullptr;
    if (json) json_object_set_new(json, "command", command_json(options));
    if (json_write(json, 0, files.json, &error)) {
        output_drop(files.json);
        ok = false;
        std::fprintf(stderr, "tlmalloc run: %s\n", error.text);
    }
    json_decref(json);
    ok = finish_files(wave.get()) && ok;
    return ok ? CLI_OK : CLI_FAILED;
}

// From here on nothing but the kernel is missing.
int run_kernel(const run_options &options, run_files &files, const tla_config &config, kernel_choice &choice) {
    try {
        return run(options, files, config, choice);
    } catch (const sc_core::sc_report &) {
        return CLI_FAILED; // the handler has reported it
    } catch (const std::exception &problem) {
        return fail(problem.what());
    }
}

// The kernel of a file, in the process that runs it.
int run_file(const run_options &options, run_files &files, tla_config &config, opened_kernel &own) {
    kernel_choice choice;
    tla_error error{};
    if (const tla_status status = open_kernel(own, choice, error)) {
        std::fprintf(stderr, "tlmalloc run: --kernel: %s\n", error.text);
        return cli_exit_status(status);
    }
    // The effects of keys on the kernel are known only now. A pipe cannot be read twice.
    if (std::filesystem::is_regular_file(options.config)) {
        const tla_status status = overrides_load_to_run(&options.set, options.config, choice.kernel, &config);
        if (status) return cli_exit_status(status);
    }
    std::snprintf(config.workload.kernel, sizeof config.workload.kernel, "%s", choice.kernel->name); // for the report
    config.workload.uses = tl_kernel_uses(choice.kernel);
    return run_kernel(options, files, config, choice);
}

int run_watched(const run_options &options) {
    const cli_command *const pages = cli_find_command("report");
    if (!pages || !pages->run) {
        print_message("tlmalloc run: --watch: %s", pages ? pages->missing : "this build has no pages");
        return CLI_BAD_INPUT;
    }
    const std::filesystem::path data = TLMALLOC_DATA;
    const std::string include = installed(TLMALLOC_HEADERS), shared = installed(data / "kernels"),
                      script = installed(data / "report/watch.js");
    const watch_request request{options.config,     options.kernel,  options.output, options.from,  options.set,
                                options.parameters, include.c_str(), shared.c_str(), script.c_str()};
    return watch_run(&request);
}

int run_command(const run_options &options) {
    tla_config config{};
    tla_error error{};
    opened_kernel own;
    kernel_choice choice;
    const bool is_file = options.kernel && tl_is_kernel_file(options.kernel);
    tla_status chosen = TLA_OK;
    if (is_file)
        chosen = prepare_kernel(options.kernel, own, error);
    else if (options.kernel)
        chosen = choose_kernel(options.kernel, choice, error);
    if (chosen) {
        std::fprintf(stderr, "tlmalloc run: --kernel: %s\n", error.text);
        return cli_exit_status(chosen);
    }
    // The uses of a file's kernel are known when it has been opened, in its own process.
    const tla_status loaded = is_file ? overrides_load(&options.set, options.config, &config)
                                      : overrides_load_to_run(&options.set, options.config, choice.kernel, &config);
    if (loaded) return cli_exit_status(loaded);
    if (config.controller.memory.layout != TLA_LAYOUT_KERNBENCH) {
        std::fputs("tlmalloc run: controller.addresses is plain: set it to kernbench, because plain addresses support "
                   "a single controller only\n",
                   stderr);
        return CLI_BAD_INPUT;
    }
    if (!options.kernel && choose_kernel(config.workload.kernel, choice, error)) return CLI_BAD_INPUT;
    sc_core::sc_report_handler::set_handler(report);
    run_files files;
    if (const tla_status status = open_files(options, config, files, error)) {
        std::fprintf(stderr, "tlmalloc run: %s\n", error.text);
        return cli_exit_status(status);
    }
    if (!is_file) return run_kernel(options, files, config, choice);
    return supervise("tlmalloc run", options.kernel, [&] { return run_file(options, files, config, own); });
}

} // namespace

int tlmalloc_run(int argc, char **argv) {
    run_options options{};
    command_line_read(&parser, argc, argv, &options);
    const int exit_status = options.watch ? run_watched(options) : run_command(options);
    text_list_clear(&options.set);
    text_list_clear(&options.parameters);
    text_list_clear(&options.vcd_scopes);
    return exit_status;
}
