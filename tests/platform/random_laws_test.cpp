// Laws that hold for every platform: random ones, of all keys and all kernels (random_settings.hpp).
#include "platform/energy_sums.hpp"
#include "platform/log_sums.hpp"
#include "platform/random_settings.hpp"
#include "platform/trace_sums.hpp"
#include "platform/wave_sums.hpp"
#include "today.hpp"

#include <boost/test/execution_monitor.hpp>
#include <boost/test/framework.hpp>
#include <boost/test/results_collector.hpp>
#include <boost/test/unit_test_log.hpp>
#include <fstream>
#include <iostream>
#include <regex>

namespace {

using files = std::map<std::string, std::string>; // texts by name

// As a shell takes them.
std::string line_of(const std::vector<std::string> &words) {
    std::string line;
    for (const std::string &word : words)
        line += word.find_first_of(" ;/") == std::string::npos || word[0] == '/' ? " " + word : " '" + word + "'";
    return line;
}

// What is run, and how often: a platform, the quanta, which are look-aheads too, what is told beside the report.
struct experiment {
    std::string kernel;
    std::vector<std::string> parameters;
    std::map<std::string, std::string> keys;
    std::string quantum, other_quantum;
    std::set<std::string> observers; // of the run with `quantum`
    unsigned patience_s = 60;        // of the processor's time, after which a run is taken for one that does not end

    explicit experiment(std::uint64_t seed) {
        const random_settings drawn(seed);
        kernel = drawn.kernel;
        parameters = drawn.parameters;
        keys = drawn.keys;
        dice d(~seed);
        const std::vector<std::string> quanta{"1 ps", "333 ps", "1 ns", "100 ns", "1 us", "1 ms"};
        quantum = d.pick(quanta);
        other_quantum = d.pick(quanta);
        for (const char *observer : {"--vcd", "--events", "--trace", "--record"})
            if (d.one_in(2)) observers.insert(observer);
    }

    bool has(const std::string &key, const std::string &part) const {
        const auto found = keys.find(key);
        return found != keys.end() && contains(found->second, part);
    }

    std::vector<std::string> arguments() const {
        std::vector<std::string> all{"run", random_settings::config(), "--kernel", kernel};
        for (const std::string &parameter : parameters)
            all.insert(all.end(), {"--parameter", parameter});
        for (const auto &[key, value] : keys)
            all.insert(all.end(), {"--set", key + "=" + value});
        return all;
    }

    std::string command() const { return "tlmalloc" + line_of(arguments()); }
};

struct ended_run {
    command_result result;
    report told;      // without --json: no json
    std::string text; // the report, but for quantum and look-ahead
    files written;    // by option; of --record by the names of its files
};

std::string without_the_quantum(const std::string &text) {
    return std::regex_replace(text, std::regex("\"(quantum|look_ahead)\": \"[^\"]*\""), "");
}

// A run has no initiator that could look ahead, and says so.
std::string without_the_warning(const std::string &err) {
    return std::regex_replace(err, std::regex("[^\n]*: simulation.look_ahead has no effect with [^\n]*\n"), "");
}

std::vector<std::string> set_quantum(const std::string &quantum) {
    return {"--set", "simulation.quantum=" + quantum, "--set", "simulation.look_ahead=" + quantum};
}

// The table, but for the time on the host.
std::string table(const ended_run &r) {
    return std::regex_replace(r.result.out, std::regex("simulated in [0-9.]+ s"), "");
}

ended_run run(const experiment &e, const std::string &quantum, const std::set<std::string> &observers) {
    const scratch_directory scratch;
    std::vector<std::string> words{
        "/bin/sh", "-c", "ulimit -t " + std::to_string(e.patience_s) + "; exec \"$0\" \"$@\"", TLMALLOC_COMMAND};
    const std::vector<std::string> arguments = e.arguments();
    words.insert(words.end(), arguments.begin(), arguments.end());
    for (const std::string &observer : observers)
        words.insert(words.end(), {observer, scratch.path(observer)});
    for (const char *observer : {"--events", "--trace"}) // whole
        if (observers.count(observer)) words.insert(words.end(), {observer + std::string("-limit"), "1000000000"});
    const std::vector<std::string> ahead = set_quantum(quantum);
    if (quantum != "0 ns") words.insert(words.end(), ahead.begin(), ahead.end());
    ended_run r{running_command(words).wait(), {}, {}, {}};
    r.result.err = without_the_warning(r.result.err);
    for (const std::string &observer : observers) {
        if (!std::filesystem::exists(scratch.path(observer))) continue;
        if (observer != "--record") r.written[observer] = read_text(scratch.path(observer));
        if (observer == "--record")
            for (const auto &file : std::filesystem::directory_iterator(scratch.path(observer)))
                r.written[observer + " " + file.path().filename().string()] = read_text(file.path().string());
    }
    if (r.written.count("--json")) {
        r.text = without_the_quantum(r.written["--json"]);
        r.told = {r.result, trace_sums::parse(r.written["--json"])};
    }
    return r;
}

// --- laws ------------------------------------------------------------------------------------------------------------

// A run verifies its result and gives everything back, or says what has stopped it, which is something that was set.
void check_end(const experiment &e, const ended_run &r) {
    const std::string &err = r.result.err;
    if (r.result.status == 2) { // the kernel cannot be of that size, or the like
        BOOST_CHECK_MESSAGE(contains(err, "expected") && r.result.out.empty(), err);
        return;
    }
    BOOST_REQUIRE_MESSAGE(r.result.status <= 1 && r.told.json, "status " << r.result.status << ": " << err);
    const std::string status = text_of(r.told.json.get(), "status");
    const bool refused = e.has("faults.plan", "refuse");
    bool has_segments = false;
    for (const char *memory : {"hbm", "tcm", "sram", "m_cpu", "host"})
        has_segments = has_segments || e.has("controller." + std::string(memory) + "_policy", "segmented");
    BOOST_CHECK_MESSAGE(contains(r.result.out, "; leaks 0\n"), r.result.out << err);
    if (r.result.status == 0) {
        BOOST_CHECK_MESSAGE(contains(r.result.out, "result verified") || contains(r.result.out, "nothing to verify"),
                            r.result.out);
        BOOST_CHECK_EQUAL(status, "TLA_OK");
        return;
    }
    const bool explained =
        (status == "TLA_EXHAUSTED" || status == "TLA_FRAGMENTED" || status == "TLA_LIMIT") ||
        (status == "TLA_OUT_OF_RANGE" && has_segments) ||
        (status == "TLA_TIMEOUT" && e.has("pe.time_limit", "s") && contains(err, "more than pe.time_limit")) ||
        (status == "TLA_BUSY" && refused) ||
        // a write of a message to a channel that is out is lost, with a warning
        (status == "TLA_DEADLOCK" && e.has("faults.plan", "channel_out") &&
         contains(err, "a pseudo-channel or bank has failed: write")) ||
        (status == "TLA_BUS_ERROR" && (e.has("faults.plan", "uncorrectable") || e.has("faults.plan", "channel_out") ||
                                       contains(err, ": a page fault failed: ")));
    BOOST_CHECK_MESSAGE(explained, status << ": " << err);
}

void check_same(const ended_run &one, const ended_run &other, bool with_waveform) {
    BOOST_CHECK_EQUAL(one.result.status, other.result.status);
    BOOST_CHECK_EQUAL(one.result.err, other.result.err);
    BOOST_CHECK_EQUAL(table(one), table(other));
    if (one.told.json && other.told.json) BOOST_CHECK_MESSAGE(one.text == other.text, "the reports differ");
    for (const auto &[name, text] : one.written)
        if (other.written.count(name) && ((name == "--vcd" && with_waveform) || name.rfind("--record", 0) == 0))
            BOOST_CHECK_MESSAGE(text == other.written.at(name), "what " << name << " writes differs");
}

std::int64_t bytes_of(const report &r, const std::string &key) {
    std::int64_t sum = 0;
    for (const char *list : {"slices", "srams", "m_cpu_memories", "host_memory"})
        sum += r.sum(list, key.c_str());
    return sum;
}

// What engines have moved is what has come to memories, beside what the host wrote and read.
void check_bytes(const experiment &e, const ended_run &r, const event_log &log, const wave_sums::wave &wave) {
    std::map<std::string, std::int64_t> by_engine, for_messages;
    for (const json_t *row : log.of("transfer"))
        (json_is_true(json_object_get(row, "for_message")) ? for_messages : by_engine)[text_of(row, "engine")] +=
            number(row, "bytes");
    for (const auto &[way, figure] : {std::pair("read", ".dma.bytes_read"), std::pair("write", ".dma.bytes_written")}) {
        std::int64_t shown = 0;
        for (const auto &[name, signal] : wave.signals)
            if (contains(name, figure)) shown += static_cast<std::int64_t>(signal.last);
        BOOST_CHECK_MESSAGE(shown == by_engine[way] + for_messages[way],
                            "engines " << way << " " << shown << ", transfers have " << by_engine[way] << " and "
                                       << for_messages[way] << " of messages");
    }
    if (e.has("mmu.walk", "memory") || e.has("controller.free_list", "hbm") || e.has("mmu.unmapped", "demand")) return;
    const tl_kernel_info *const kernel = tl_find_kernel(e.kernel.c_str());
    if (!kernel) return;
    std::int64_t in = 0, out = 0;
    const std::size_t cubes = json_array_size(r.told.list("srams"));
    for (std::uint32_t i = 0; i < tl_kernel_tensor_count(kernel); i++) {
        const std::int64_t nbytes = number(json_array_get(r.told.list("tensors"), i), "bytes");
        const bool copies = kernel->tensors[i].spread == TL_REPLICATED;
        if (tl_kernel_goes_in(kernel, i)) in += nbytes * static_cast<std::int64_t>(copies ? cubes : 1);
        if (tl_kernel_comes_out(kernel, i)) out += nbytes;
    }
    const json_t *const sums = r.told.list("message_sums");
    const bool slots_here = (e.has("messages.memory", "hbm") || e.has("messages.memory", "sram")) &&
                            !e.has("messages.costs", "kernbench"); // a table charges then, not the memory
    const std::int64_t messages = sums && slots_here ? number(sums, "received_bytes") : 0;
    BOOST_CHECK_EQUAL(bytes_of(r.told, "bytes_read"), by_engine["read"] + for_messages["read"] + out);
    BOOST_CHECK_EQUAL(bytes_of(r.told, "bytes_written"), by_engine["write"] + in + messages);
    BOOST_CHECK_GE(r.told.sum("tcms", "bytes_written"), by_engine["read"]);
    BOOST_CHECK_GE(r.told.sum("tcms", "bytes_read"), by_engine["write"]);
}

unsigned long failures() {
    using namespace boost::unit_test;
    return results_collector.results(framework::current_test_case_id()).p_assertions_failed.get();
}

// Which law does not hold; "" if all do.
struct trial {
    explicit trial(const experiment &of) : e(of) {}

    // How the last run that was compared was started.
    std::string more;

    const char *broken() {
        const char *law = "";
        const auto holds = [&](const char *name, const std::function<void()> &check) {
            const unsigned long before = failures();
            law = name;
            try {
                check();
            } catch (const boost::execution_aborted &) { // a BOOST_REQUIRE has told it
                return false;
            } catch (const std::exception &problem) {
                BOOST_ERROR(name << ": " << problem.what());
            }
            return failures() == before;
        };
        const std::set<std::string> all{"--json", "--vcd", "--events", "--trace", "--record"};
        std::set<std::string> some = e.observers;
        some.insert("--json");
        ended_run plain, told;
        if (!holds("a run verifies, or says what stopped it", [&] {
                plain = run(e, "0 ns", {"--json"});
                status = plain.result.status;
                check_end(e, plain);
            }))
            return law;
        if (!holds("quantum and look-ahead change nothing", [&] {
                more = line_of(set_quantum(e.other_quantum));
                check_same(plain, run(e, e.other_quantum, {}), false);
            }))
            return law;
        if (!holds("observers change nothing", [&] {
                more = " --vcd V --events E --trace T --record R";
                told = run(e, "0 ns", all);
                check_same(plain, told, false);
            }))
            return law;
        if (!holds("neither a quantum nor observers change anything", [&] {
                more = line_of(set_quantum(e.quantum));
                for (const std::string &observer : e.observers)
                    more += " " + observer + " FILE";
                check_same(told, run(e, e.quantum, some), true);
            }))
            return law;
        more = " --vcd V --events E --trace T";
        if (plain.result.status != 0) return "";
        const log_sums::logged logged{told.told, event_log(told.written["--events"]), told.written["--events"]};
        if (!holds("the event log adds up to the report", [&] { log_sums::check_all(logged); })) return law;
        if (!holds("the trace adds up to the report", [&] {
                const trace_sums::traced traced{told.told, "",
                                                chrome_trace(trace_sums::parse(told.written["--trace"]))};
                trace_sums::check_all(traced, false);
            }))
            return law;
        const wave_sums::wave wave(told.written["--vcd"]);
        if (!holds("the waveform adds up to the report", [&] {
                wave_sums::check_figures(wave, told.told);
                wave_sums::check_activity(wave, told.told);
            }))
            return law;
        if (!holds("energies by cause are counts times constants", [&] { energy_sums::check(plain.told); })) return law;
        if (!holds("bytes that DMA moves come to memories", [&] { check_bytes(e, told, logged.log, wave); }))
            return law;
        return "";
    }

    int status = 0;

  private:
    const experiment e;
};

// --- what fails, made short ------------------------------------------------------------------------------------------

// Leaves out settings, half of them at a time, then fewer, as long as the same law does not hold and the command has
// the same exit status: settings that no longer fit together are another matter.
experiment shrink(experiment e, const std::string &law, int status) {
    std::ofstream nowhere("/dev/null");
    boost::unit_test::unit_test_log.set_stream(nowhere);
    const auto still = [&](const experiment &shorter) {
        trial less(shorter);
        return less.broken() == law && less.status == status;
    };
    e.patience_s = 10;
    experiment bare = e;
    bare.parameters.clear();
    if (!e.parameters.empty() && still(bare)) e = bare;
    for (std::size_t length = (e.keys.size() + 1) / 2; length > 0; length = length > 1 ? (length + 1) / 2 : 0)
        for (std::size_t first = 0; first < e.keys.size();) {
            experiment shorter = e;
            auto from = std::next(shorter.keys.begin(), static_cast<std::ptrdiff_t>(first));
            auto to = std::next(from, static_cast<std::ptrdiff_t>(std::min(length, e.keys.size() - first)));
            shorter.keys.erase(from, to);
            if (still(shorter))
                e = shorter;
            else
                first += length;
        }
    boost::unit_test::unit_test_log.set_stream(std::cout);
    return e;
}

void check_platforms(std::uint64_t first, std::uint64_t count) {
    std::uint64_t refused = 0, ended = 0;
    for (std::uint64_t seed = first; seed < first + count; seed++) {
        const experiment e(seed);
        trial whole(e);
        const std::string law = whole.broken();
        refused += whole.status == 2;
        ended += whole.status == 1;
        if (law.empty()) continue;
        const experiment least = shrink(e, law, whole.status);
        trial again(least);
        again.broken();
        BOOST_ERROR("TLMALLOC_SEED=" << seed << ": it does not hold that " << law << ":\n  " << least.command()
                                     << "\n  and with" << again.more);
    }
    BOOST_TEST_MESSAGE(count << " platforms; " << refused << " refused the kernel's size, " << ended
                             << " were stopped by a limit, a fault or a memory that is full");
    if (count < 20) return;
    BOOST_CHECK_LT(refused, count / 3);
    BOOST_CHECK_LT(ended, count / 3);
}

} // namespace

// TLMALLOC_SEED: one platform, or the first of TLMALLOC_PLATFORMS; without either, some of the thousand that
// thousand_random_platforms_keep_the_laws draws, others every day.
BOOST_AUTO_TEST_CASE(random_platforms_keep_the_laws) {
    const char *const seed = std::getenv("TLMALLOC_SEED"), *const count = std::getenv("TLMALLOC_PLATFORMS");
    const std::uint64_t part = 15, many = count ? std::strtoull(count, nullptr, 0) : seed ? 1 : part;
    const std::uint64_t first = count || all_is_tested() ? 1 : 1 + today() % (1000 / part) * part;
    check_platforms(seed ? std::strtoull(seed, nullptr, 0) : first, many);
}

BOOST_AUTO_TEST_CASE(every_key_and_every_kernel_is_drawn_or_listed_with_a_reason) {
    std::map<std::string, std::set<std::string>> values;
    std::set<std::string> kernels, parameters;
    std::uint64_t refused = 0;
    const std::uint64_t count = 3000;
    for (std::uint64_t seed = 1; seed <= count; seed++) {
        const random_settings drawn(seed);
        kernels.insert(drawn.kernel);
        for (const std::string &parameter : drawn.parameters)
            parameters.insert(drawn.kernel + " " + parameter.substr(0, parameter.find('=')));
        for (const auto &[key, value] : drawn.keys)
            values[key].insert(value);
        refused += !drawn.refused.empty();
        BOOST_CHECK_MESSAGE(drawn.clear,
                            "TLMALLOC_SEED=" << seed << ": " << (drawn.refused.empty() ? "-" : drawn.refused.front()));
    }
    BOOST_TEST_MESSAGE(refused << " of " << count << " are refused at first");
    BOOST_CHECK_LT(refused, count / 3);
    for (std::size_t i = 0; i < tla_platform_key_count; i++) {
        const std::string key = tla_platform_keys[i].key;
        const bool never = keys_never_drawn().count(key) > 0;
        BOOST_CHECK_MESSAGE(values.count(key) != never,
                            key << (never ? " is drawn, though it is listed" : " is never drawn, and not listed"));
    }
    for (const auto &[key, reason] : keys_never_drawn())
        BOOST_CHECK_MESSAGE(!reason.empty() && random_settings::is_key(key), key << " is listed, and no key");
    for (std::uint32_t i = 0; tl_kernel_at(i); i++) {
        const tl_kernel_info *const kernel = tl_kernel_at(i);
        BOOST_CHECK_MESSAGE(kernels.count(kernel->name), kernel->name);
        for (std::uint32_t p = 0; p < tl_kernel_parameter_count(kernel); p++)
            BOOST_CHECK_MESSAGE(parameters.count(kernel->name + std::string(" ") + kernel->parameters[p].name),
                                kernel->name << " " << kernel->parameters[p].name);
    }
}
