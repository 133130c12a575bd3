// Laws of messages on random platforms: every run ends with the right numbers, nothing leaks, and its report depends on
// neither the quantum nor who watches.
#include "platform/command_line.hpp"
#include "today.hpp"

#include <random>
#include <sstream>

namespace {

const std::string small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

using words = std::vector<std::string>;

class draw {
  public:
    explicit draw(std::uint64_t seed) : random_(seed) {}

    unsigned number(unsigned least, unsigned most) {
        return least + static_cast<unsigned>(random_() % (most - least + 1));
    }
    const std::string &one_of(const words &all) { return all[random_() % all.size()]; }
    bool happens(unsigned percent) { return random_() % 100 < percent; }

  private:
    std::mt19937 random_;
};

// A platform and a kernel that sends messages. Sizes are small, odd, and mostly no multiples of each other: what
// travels is split everywhere, and slots and credits run out.
words random_run(std::uint64_t seed) {
    draw d(seed);
    words sets;
    const auto set = [&sets](const std::string &key, const std::string &value) { sets.push_back(key + "=" + value); };
    const auto maybe = [&](unsigned percent, const std::string &key, const words &values) {
        const std::string &value = d.one_of(values);
        if (d.happens(percent)) set(key, value);
    };
    const auto bytes = [](unsigned nbytes) { return std::to_string(nbytes) + " B"; };
    const std::string kernel = d.one_of({"ring", "ring", "pe2pe", "all_reduce", "all_reduce", "attention"});
    maybe(60, "system.pes_per_cube", {"1", "2", "3"});
    maybe(40, "system.cube_mesh_width", {"2", "3"});
    maybe(20, "system.cube_mesh_height", {"2"});
    maybe(30, "system.sips", {"2", "3"});
    maybe(60, "system.sip_topology", {"ring", "torus", "mesh"});
    set("dma.chunk", bytes(d.happens(50) ? d.number(20, 1100) : 1u << d.number(5, 12)));
    maybe(60, "dma.outstanding", {"1", "2", "3", "7"});
    maybe(30, "dma.bandwidth", {"8 GB/s", "64 GB/s"});
    if (d.happens(60)) set("messages.credit", bytes(d.number(1, 256)));
    set("messages.slot_size", bytes(d.happens(50) ? d.number(64, 5000) : 64u << d.number(0, 6)));
    maybe(70, "messages.slots", {"1", "2", "3", "7", "64"});
    maybe(60, "messages.memory", {"hbm", "sram"});
    maybe(50, "messages.back_pressure", {"poll"});
    maybe(30, "messages.poll_interval", {"1 ns", "3 ns", "1 us"});
    maybe(20, "messages.costs", {"kernbench", "kernbench_hop", "kernbench_free"});
    maybe(30, "messages.overhead", {"1 ns", "9500 ps", "1 us"});
    maybe(30, "messages.read_slot", {"false"});
    maybe(30, "hbm.burst", {"32 B", "256 B"});
    maybe(30, "hbm.timing", {"hbm2"});
    maybe(30, "mmu.page_size", {"4 KiB"});
    maybe(30, "mmu.walk", {"memory"});
    maybe(30, "pe.dispatch", {"0 ns", "700 ps"});
    maybe(20, "pe.launch", {"0 ns"});
    maybe(60, "collectives.algorithm", {"torus_2d", "mesh_2d", "hierarchical", "hierarchical"});
    maybe(50, "collectives.between_sips", {"rings"});
    maybe(50, "collectives.receives", {"in_order"});
    words arguments = {"--kernel", kernel};
    if (kernel == "attention")
        for (const std::string &size : {"queries=" + d.one_of({"1", "3", "16"}), "keys=" + d.one_of({"40", "64"})})
            arguments.insert(arguments.end(), {"--parameter", size});
    else
        set("workload.elements_per_pe", d.one_of({"1", "5", "64", "301", "1000", "3000"}));
    for (const std::string &key : sets)
        arguments.insert(arguments.end(), {"--set", key});
    return arguments;
}

std::string line_of(const words &arguments) {
    std::string line;
    for (const std::string &word : arguments)
        line += " '" + word + "'";
    return line;
}

// The report without the quantum.
std::string report_of(words arguments, const std::string &quantum, const words &observers) {
    const scratch_directory scratch;
    const std::string json = scratch.path("report.json"), line = line_of(arguments);
    arguments.insert(arguments.begin(), {"run", small, "--json", json, "--set", "simulation.quantum=" + quantum});
    for (const std::string &observer : observers)
        arguments.insert(arguments.end(), {"--" + observer, scratch.path(observer)});
    const command_result run = run_tlmalloc(arguments);
    BOOST_CHECK_MESSAGE(run.status == 0 && run.out.find("result verified; leaks 0") != std::string::npos,
                        line << " at quantum " << quantum << ": status " << run.status << ": " << run.err);
    std::istringstream lines(run.status == 0 ? read_text(json) : "");
    std::string text, rest;
    while (std::getline(lines, text))
        if (text.find("\"quantum\"") == std::string::npos) rest += text + '\n';
    return rest;
}

// The waveform, with the signals of messages.
std::string waveform_of(words arguments, const std::string &quantum) {
    const scratch_directory scratch;
    const std::string wave = scratch.path("wave.vcd");
    arguments.insert(arguments.begin(), {"run", small, "--vcd", wave, "--set", "simulation.quantum=" + quantum, "--set",
                                         "messages.signals=true"});
    return run_tlmalloc(arguments).status == 0 ? read_text(wave) : "";
}

void messages_keep_their_laws(const std::vector<std::uint64_t> &seeds) {
    const words quanta = {"1 ps", "100 ps", "333 ps", "1 ns", "5 ns", "10 us"}, observers = {"vcd", "events", "trace"};
    for (const std::uint64_t seed : seeds) {
        const words arguments = random_run(seed);
        draw d(seed + 1'000'000);
        const std::string expected = report_of(arguments, "0 ns", {}), quantum = d.one_of(quanta),
                          observer = d.one_of(observers);
        if (expected.empty()) continue; // said above
        BOOST_CHECK_MESSAGE(report_of(arguments, quantum, {}) == expected,
                            seed << line_of(arguments) << ": differs at quantum " << quantum);
        BOOST_CHECK_MESSAGE(report_of(arguments, "1 us", {}) == expected,
                            seed << line_of(arguments) << ": differs at quantum 1 us");
        BOOST_CHECK_MESSAGE(report_of(arguments, "0 ns", {observer}) == expected,
                            seed << line_of(arguments) << ": differs with --" << observer);
        BOOST_CHECK_MESSAGE(report_of(arguments, quantum, {"vcd", "trace"}) == expected,
                            seed << line_of(arguments) << ": differs with --vcd and --trace at quantum " << quantum);
        BOOST_CHECK_MESSAGE(waveform_of(arguments, "0 ns") == waveform_of(arguments, quantum),
                            seed << line_of(arguments) << ": the waveform differs at quantum " << quantum);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(messages_are_right_on_random_platforms_whatever_the_quantum_and_who_watches) {
    messages_keep_their_laws(numbers_of_today(1, 20, 4));
}
BOOST_AUTO_TEST_CASE(messages_are_right_on_many_random_platforms) {
    messages_keep_their_laws(numbers_of_today(1000, 1399, 1));
}

// Runs that computed wrong numbers, leaked or never ended when a part of a control message counted as the whole.
BOOST_AUTO_TEST_CASE(control_messages_that_are_split_take_effect_once) {
    const std::vector<words> runs = {{"dma.chunk=64 B", "messages.credit=128 B"},
                                     {"dma.chunk=16 B", "messages.credit=256 B"},
                                     {"dma.chunk=100 B"},
                                     {"dma.chunk=8 B", "workload.elements_per_pe=64"},
                                     {"dma.chunk=1 B", "messages.credit=3 B", "workload.elements_per_pe=16"},
                                     {"system.pes_per_cube=2", "dma.chunk=1000 B", "messages.slots=2"},
                                     {"dma.chunk=100 B", "messages.slot_size=256 B", "messages.slots=1"},
                                     {"system.pes_per_cube=3", "messages.slots=2", "messages.slot_size=256 B",
                                      "messages.memory=sram", "dma.chunk=1000 B", "messages.credit=256 B"},
                                     {"dma.chunk=48 B", "messages.credit=256 B"}};
    for (const words &sets : runs) {
        words arguments = {"run", small, "--kernel", "ring"};
        for (const std::string &key : sets)
            arguments.insert(arguments.end(), {"--set", key});
        const command_result run = run_tlmalloc(arguments);
        BOOST_CHECK_MESSAGE(run.status == 0 && run.out.find("result verified; leaks 0") != std::string::npos,
                            line_of(arguments) << run.err);
    }
}
