// Energies of random platforms: every energy is counts times constants, and neither a quantum nor an observer changes
// any. The constants are drawn too: most are known, few are as large as they may be.
#include "platform/energy_sums.hpp"
#include "platform/random_settings.hpp"
#include "platform/wave_sums.hpp"
#include "today.hpp"

#include <boost/test/framework.hpp>
#include <boost/test/results_collector.hpp>
#include <sstream>

namespace {

// The constant as `name: {energy: ..., standing: ..., source: ...}`, or nothing for an unknown one.
void write_constant(dice &d, std::ostringstream &to, const std::string &name, bool is_power) {
    if (d.one_in(6)) return;
    const std::uint64_t most = is_power ? 1'000'000'000 : 1'000'000'000'000, // 1 kW, 1 mJ
        value = d.one_in(60) ? most : d.of_any_size(0, 10'000'000);
    to << name << ": {" << (is_power ? "power" : "energy") << ": " << value << (is_power ? " uW" : " fJ")
       << ", standing: " << d.pick({"assumed", "extrapolated", "measured"}) << ", source: dice}\n";
}

std::string profile_of_dram(dice &d, const std::string &timing) {
    tla_hbm_config found{};
    BOOST_REQUIRE_EQUAL(tla_timing_named(timing.c_str(), &found), TLA_OK);
    std::ostringstream text;
    text << "timing: hbm2_of_somebody " << timing << "\nburst: " << found.burst_bytes << " B\n";
    for (int i = 0; i < TLA_DRAM_CONSTANT_COUNT; i++)
        write_constant(d, text, tla_dram_constant_name(static_cast<tla_dram_constant>(i)), i >= TLA_DRAM_ALL_CLOSED);
    return text.str();
}

std::string profile_of_parts(dice &d) {
    std::ostringstream text;
    for (int i = 0; i < TLA_PARTS_CONSTANT_COUNT; i++)
        write_constant(d, text, tla_parts_constant_name(static_cast<tla_parts_constant>(i)), false);
    return text.str();
}

// A random platform whose slices have banks, with energies of them, of all other parts, or of both.
struct energetic_platform {
    explicit energetic_platform(std::uint64_t seed) : drawn(seed) {
        dice d(seed * 31 + 7);
        const std::string timing = d.pick({"hbm2", "hbm3", "hbm4", "hbm4_16g", "lpddr5", "lpddr6"});
        std::map<std::string, std::string> keys{{"hbm.timing", timing}};
        const bool with_slices = !d.one_in(8), with_others = !with_slices || !d.one_in(3);
        const bool has_built_in = timing == "hbm2" || timing == "hbm3" || timing == "hbm4";
        keys["hbm.energy"] = !with_slices                  ? "none"
                             : has_built_in && d.one_in(3) ? timing + "_ayna"
                                                           : scratch.write("dram.yaml", profile_of_dram(d, timing));
        keys["system.energy"] = !with_others  ? "none"
                                : d.one_in(4) ? "published"
                                              : scratch.write("parts.yaml", profile_of_parts(d));
        if (d.one_in(3)) {
            keys["host_memory.capacity"] = d.pick({"32 MiB", "100 MiB"});
            keys["host_memory.timing"] = "ddr5";
        }
        drawn.set_also(keys);
        quantum = d.pick({"0 ns", "1 ps", "333 ps", "100 ns", "1 us", "1 ms"});
        for (const char *observer : {"--vcd", "--events", "--trace", "--record"})
            if (d.one_in(2)) observers.push_back(observer);
    }

    bool has_energy() const { return drawn.keys.count("hbm.energy") || drawn.keys.count("system.energy"); }

    // Null if the kernel cannot be of that size.
    report run(bool observed, std::string *waveform = nullptr) const {
        std::vector<std::string> words{"/bin/sh",        "-c",        "ulimit -t 60; exec \"$0\" \"$@\"",
                                       TLMALLOC_COMMAND, "run",       random_settings::config(),
                                       "--kernel",       drawn.kernel};
        for (const std::string &parameter : drawn.parameters)
            words.insert(words.end(), {"--parameter", parameter});
        for (const auto &[key, value] : drawn.keys)
            words.insert(words.end(), {"--set", key + "=" + value});
        const scratch_directory files;
        words.insert(words.end(), {"--json", files.path("report.json")});
        if (observed) {
            words.insert(words.end(), {"--set", "simulation.quantum=" + quantum});
            for (const std::string &observer : observers)
                words.insert(words.end(), {observer, files.path(observer.substr(2))});
        }
        for (std::size_t i = 4; i < words.size(); i++)
            line += (line.empty() || i == 4 ? "\ntlmalloc" : "") + (" '" + words[i] + "'");
        report result{running_command(words).wait(), nullptr};
        BOOST_REQUIRE_MESSAGE(result.run.status <= 2, "status " << result.run.status << ": " << result.run.err);
        if (result.run.status < 2)
            result.json.reset(json_load_file(files.path("report.json").c_str(), 0, nullptr), json_decref);
        if (waveform && std::filesystem::exists(files.path("vcd"))) *waveform = read_text(files.path("vcd"));
        return result;
    }

    scratch_directory scratch;
    random_settings drawn;
    std::string quantum;
    std::vector<std::string> observers;
    mutable std::string line; // what was run
};

std::string word(const report &r, const char *section, const char *key) {
    return text_of(json_object_get(json_object_get(r.json.get(), "config"), section), key);
}

// No part has energy at a cause that it cannot have.
void check_causes(const report &r) {
    std::size_t i;
    json_t *part;
    json_array_foreach(json_object_get(r.list("energy"), "parts"), i, part) {
        const auto causes = energy_sums::causes_of(part);
        const bool is_dram = text_of(part, "part") != "others";
        if (!is_dram) BOOST_CHECK_EQUAL(causes.at("refreshes") + causes.at("background"), 0);
        if (!is_dram) continue;
        BOOST_CHECK_EQUAL(causes.at("links"), 0);
        if (word(r, "mmu", "walk") != "memory") BOOST_CHECK_EQUAL(causes.at("walks") + causes.at("mapping"), 0);
        if (word(r, "controller", "free_list") == "registers" && word(r, "controller", "guard") == "off")
            BOOST_CHECK_EQUAL(causes.at("allocator"), 0);
        if (!r.list("message_sums")) BOOST_CHECK_EQUAL(causes.at("messages"), 0);
        if (word(r, "mmu", "eviction") == "off" && word(r, "controller", "move") == "off")
            BOOST_CHECK_EQUAL(causes.at("moves"), 0);
    }
}

const std::uint64_t us = 1'000'000; // ps

// All windows of a figure together. Each is shown from its end on, for a us or until the waveform ends.
std::uint64_t sum_of_windows(const report &r, const wave_sums::wave &wave, const std::string &figure) {
    const std::uint64_t next_ps = (static_cast<std::uint64_t>(r.number("sim_time_ps")) / us + 1) * us;
    const wave_sums::wave::signal *const shown = wave.find(figure);
    BOOST_REQUIRE_MESSAGE(shown, figure);
    const std::uint64_t area = shown->area + shown->last * (next_ps - wave.end_ps);
    BOOST_CHECK_EQUAL(area % us, 0u);
    return area / us;
}

// The most that open rows of all slices take in a us, in fJ. A window may count them as open for longer than they are;
// the next one makes up for it, if the run does not end before.
std::uint64_t most_of_open_rows(const report &r, const json_t *part) {
    std::uint64_t uw = 0;
    std::size_t i;
    json_t *row;
    json_array_foreach(json_object_get(part, "constants"), i, row) if (i >= TLA_DRAM_ALL_CLOSED) uw +=
        static_cast<std::uint64_t>(number(row, "power_uw")) * (i == TLA_DRAM_NEXT_OPEN ? TLA_HBM_BANKS_MAX : 1);
    const auto channels = number(json_object_get(json_object_get(r.json.get(), "config"), "hbm"), "pseudo_channels");
    return uw * (us / 1000) * static_cast<std::uint64_t>(channels) * json_array_size(r.list("slices"));
}

// Windows show no more than there is: commands of each slice, and the energy of all.
void check_windows(const report &r, const wave_sums::wave &wave) {
    const json_t *const part = json_array_get(json_object_get(r.list("energy"), "parts"), 0);
    const bool has_energy = text_of(part, "part") == "hbm";
    std::uint64_t power_mw = 0;
    std::size_t i;
    json_t *row;
    json_array_foreach(r.list("slices"), i, row) {
        const std::string name = text_of(row, "name") + ".";
        for (const std::string command : {"activates", "read_commands", "write_commands"})
            BOOST_CHECK_LE(sum_of_windows(r, wave, name + command + "_per_us"),
                           static_cast<std::uint64_t>(number(row, command.c_str())));
        if (has_energy) power_mw += sum_of_windows(r, wave, name + "power");
    }
    if (has_energy)
        BOOST_CHECK_LE(power_mw * us,
                       static_cast<std::uint64_t>(number(part, "total_fj")) + most_of_open_rows(r, part));
}

// What a platform's run was: compared, of too much energy, or refused.
enum class outcome { compared, too_much, refused };

outcome check_platform(const energetic_platform &p) {
    const report plain = p.run(false);
    if (!plain.json) return outcome::refused;
    std::string waveform;
    const report observed = p.run(true, &waveform);
    BOOST_REQUIRE(observed.json);
    BOOST_CHECK_EQUAL(plain.number("sim_time_ps"), observed.number("sim_time_ps"));
    const json_t *const energy = plain.list("energy"), *const again = observed.list("energy");
    const bool is_too_much = contains(plain.run.err, "the energy is 2^63 fJ or more");
    BOOST_CHECK_EQUAL(energy == nullptr, is_too_much);
    BOOST_CHECK_EQUAL(again == nullptr, is_too_much);
    if (is_too_much) return outcome::too_much;
    BOOST_CHECK_MESSAGE(json_equal(energy, again), "the energies differ");
    energy_sums::check(plain);
    check_causes(plain);
    if (!waveform.empty()) check_windows(observed, wave_sums::wave(waveform));
    return outcome::compared;
}

unsigned long failures() {
    using namespace boost::unit_test;
    return results_collector.results(framework::current_test_case_id()).p_assertions_failed.get();
}

} // namespace

// TLMALLOC_SEED: one platform, or the first of TLMALLOC_PLATFORMS; without either, some of the thousand of
// thousand_random_platforms_have_exact_energies, others every day.
BOOST_AUTO_TEST_CASE(energies_of_random_platforms_are_counts_times_constants_under_every_observer) {
    const char *const seed = std::getenv("TLMALLOC_SEED"), *const count = std::getenv("TLMALLOC_PLATFORMS");
    const std::uint64_t part = 15, many = count ? std::strtoull(count, nullptr, 0) : seed ? 1 : part;
    const std::uint64_t today_first = count || all_is_tested() ? 1 : 1 + today() % (1000 / part) * part;
    const std::uint64_t first = seed ? std::strtoull(seed, nullptr, 0) : today_first;
    std::map<outcome, std::uint64_t> outcomes;
    for (std::uint64_t i = first; i < first + many; i++) {
        const energetic_platform p(i);
        const unsigned long before = failures();
        if (!p.has_energy()) continue;
        outcomes[check_platform(p)]++;
        if (failures() > before) BOOST_ERROR("TLMALLOC_SEED=" << i << ":" << p.line);
    }
    BOOST_TEST_MESSAGE(outcomes[outcome::compared] << " platforms compared, " << outcomes[outcome::too_much]
                                                   << " with too much energy, " << outcomes[outcome::refused]
                                                   << " refused the kernel's size");
    if (many < 15) return;
    BOOST_CHECK_GT(outcomes[outcome::compared], many / 2);
}
