// waveform: modules' figures in the ordered VCD with local time, and in a user's own sc_trace_file.
#include "bare.hpp"
#include "recorded_changes.hpp"
#include "scratch_directory.hpp"
#include "slow_lane.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/arena/arena.h"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/npu.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/modules/tcm.hpp"
#include "tlmalloc/modules/va_manager.hpp"

#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>

using namespace tlmalloc;
using namespace test_initiator;
using namespace recorded_changes;

namespace {

struct bench {
    bench() {
        memory_controller::config config = bare<memory_controller>();
        config.memory.of[TLA_TCM].bytes = config.memory.of[TLA_TCM].reserved = 0;
        config.cost.fixed_ps = 10'000;
        config.queue_depth = 1;
        controller = std::make_unique<memory_controller>("controller", config);
        controller->slice.bind(slice.in);
        cpu.out.bind(controller->control);
        data.out.bind(controller->in);
    }
    void run(std::function<void()> body) {
        cpu.body = std::move(body);
        simulate({&cpu, &data});
    }
    hbm_slice slice{"slice", bare<hbm_slice>()};
    std::unique_ptr<memory_controller> controller;
    initiator cpu{"cpu"}, data{"data"};
};

} // namespace

BOOST_AUTO_TEST_CASE(changes_carry_the_local_time_at_which_they_happened) {
    scratch_directory scratch;
    const std::string path = scratch.path("figures.vcd");
    bench b;
    {
        waveform wave(path);
        b.controller->record(wave);
        b.slice.record(wave);
        b.run([&] {
            // By local time; the second command is written while the first runs.
            sc_core::sc_time one, two, three;
            set_local_ps(one, 1000);
            b.cpu.post(0, alloc_command(TLA_HBM, 256), one);
            set_local_ps(two, 2000);
            b.cpu.post(TLA_PORT_BYTES, alloc_command(TLA_HBM, 512), two);
            set_local_ps(three, 7000);
            bytes read(256);
            b.data.read(std::uint64_t{1} << 37, read, three);
        });
        BOOST_CHECK_EQUAL(wave.close(), TLA_OK);
    }
    auto seen = read_vcd(path);
    const changes used{{0, 0}, {11'000, 256}, {21'000, 768}}, busy{{0, 0}, {1000, 1}, {21'000, 0}},
        depth{{0, 0}, {2000, 1}, {11'000, 0}}, read{{0, 0}, {15'000, 256}}, active{{0, 0}, {7000, 1}, {15'000, 0}};
    BOOST_CHECK(seen["hbm_used_bytes"] == used);
    BOOST_CHECK(seen["engine_busy"] == busy); // one block: the second command begins where the first ends
    BOOST_CHECK(seen["queue_depth"] == depth);
    BOOST_CHECK(seen["bytes_read"] == read);
    BOOST_CHECK(seen["accesses_active"] == active);
    const std::uint64_t capacity = std::uint64_t{6} << 30;
    BOOST_CHECK(seen["hbm_largest_free_bytes"] ==
                (changes{{0, capacity}, {11'000, capacity - 256}, {21'000, capacity - 768}}));
}

BOOST_AUTO_TEST_CASE(two_figures_of_one_name_are_reported_as_such) {
    struct twice : instrumented {
        explicit twice(sc_core::sc_module_name name) : instrumented(name, "twice") {}
        figure first{*this, "depth", 8}, second{*this, "depth", 8};
        std::vector<statistics_group> list_statistics() const override { return {}; }
    };
    scratch_directory scratch;
    twice module("module");
    waveform wave(scratch.path("twice.vcd"));
    check_refused([&] { module.record(wave); }, "/tlmalloc/waveform/declare: module already has a signal depth");
}

BOOST_AUTO_TEST_CASE(a_users_own_trace_file_gets_the_same_figures) {
    scratch_directory scratch;
    const std::string path = scratch.path("trace");
    bench b;
    sc_core::sc_trace_file *file = sc_core::sc_create_vcd_trace_file(path.c_str());
    b.controller->trace(file);
    b.slice.trace(file);
    b.run([&] {
        sc_core::wait(1, sc_core::SC_NS);
        b.cpu.command(0, alloc_command(TLA_HBM, 256));
        sc_core::wait(1, sc_core::SC_NS);
    });
    sc_core::sc_close_vcd_trace_file(file);
    const auto seen = read_vcd(path + ".vcd");
    const auto used = seen.find("hbm_used_bytes");
    BOOST_REQUIRE(used != seen.end());
    BOOST_CHECK_EQUAL(used->second.back().second, 256u);
    BOOST_CHECK_EQUAL(seen.count("bytes_written"), 1u);
}

BOOST_AUTO_TEST_CASE(a_waveform_that_cannot_be_opened_is_reported) {
    BOOST_CHECK_EXCEPTION(waveform("/no/such/wave.vcd"), std::runtime_error, [](const std::runtime_error &error) {
        return std::string(error.what()) == "/no/such/wave.vcd: cannot be written: No such file or directory";
    });
}

// What began in the kernel's past, while somebody behind the module waited, is shown when it is known, and is not lost.
BOOST_AUTO_TEST_CASE(figures_of_a_manager_whose_mmu_waits_return_to_idle) {
    va_manager::config config = bare<va_manager>();
    config.routes.push_back({0, {~0u, ~0u, ~0u}});
    va_manager manager("manager", config);
    pe_mmu mmu("mmu", bare<pe_mmu>());
    hbm_slice slice("slice", bare<hbm_slice>());
    slow_lane lane("lane");
    initiator cpu("cpu"), data("data");
    cpu.out.bind(manager.control);
    manager.out.bind(lane.in);
    lane.out.bind(mmu.control);
    data.out.bind(mmu.in);
    mmu.out.bind(slice.in);
    scratch_directory scratch;
    const std::string path = scratch.path("waiting_figures.vcd");
    {
        waveform wave(path);
        manager.record(wave);
        const std::uint64_t page = std::uint64_t{2} << 20;
        cpu.body = [&] {
            for (const tla_opcode opcode : {TLA_OP_MAP, TLA_OP_UNMAP})
                BOOST_CHECK_EQUAL(
                    cpu.command(0, map_command(TLA_TARGET_VA_MANAGER, opcode, {{page, page, page}})).status, TLA_OK);
        };
        simulate({&cpu, &data});
    }
    const auto figures = read_vcd(path);
    BOOST_CHECK_EQUAL(figures.at("maps_in_flight").back().second, 0u);
}

namespace {

struct vcd_start {
    std::set<std::string> signals;               // scopes, name and width
    std::map<std::string, std::uint64_t> values; // of scopes and name, what $dumpvars says
    bool changes = false;                        // something does, afterwards
};

vcd_start read_start(const std::string &path) {
    std::ifstream file(path);
    BOOST_REQUIRE(file);
    vcd_start found;
    std::map<std::string, std::string> names; // by code
    std::string line, scope;
    bool dumping = false;
    while (std::getline(file, line)) {
        std::istringstream words(line);
        std::string first, kind, width, code, name;
        words >> first >> kind;
        if (first == "$scope") {
            words >> name;
            scope += name + ".";
        } else if (first == "$upscope") {
            scope.erase(scope.find_last_of('.', scope.size() - 2) + 1);
        } else if (first == "$var") {
            words >> width >> code >> name;
            names[code] = scope + name;
            found.signals.insert(scope + name + " " + width);
        } else if (first == "$dumpvars" || first == "$end") {
            dumping = first == "$dumpvars";
        } else if (first[0] == 'b' && dumping) {
            found.values[names[kind]] = std::stoull(first.substr(1), nullptr, 2);
        } else if ((first[0] == '0' || first[0] == '1') && dumping) {
            found.values[names[first.substr(1)]] = std::uint64_t(first[0] == '1');
        } else if (first[0] == 'b' || first[0] == '0' || first[0] == '1') {
            found.changes = true;
        }
    }
    return found;
}

std::set<std::string> signals_of(const std::string &path) {
    return read_start(path).signals;
}

std::unique_ptr<npu> small_npu(std::vector<const char *> overrides, const char *name = "npu") {
    overrides.push_back("system.pes_per_cube=2");
    tla_config config{};
    BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, overrides.data(), overrides.size(), &config, nullptr, nullptr),
                        TLA_OK);
    return std::make_unique<npu>(name, config, kernel_table{});
}

// A free list with three blocks in use, a hole behind two of them.
std::string aged_heap(std::uint64_t capacity) {
    tla_arena_config config{};
    config.capacity = capacity;
    tla_arena *arena = nullptr;
    BOOST_REQUIRE_EQUAL(tla_arena_create(&config, &arena), TLA_OK);
    tla_block blocks[5];
    for (tla_block &block : blocks)
        BOOST_REQUIRE_EQUAL(tla_arena_alloc(arena, capacity / 8, &block, nullptr), TLA_OK);
    for (const int i : {1, 3})
        BOOST_REQUIRE_EQUAL(tla_arena_free(arena, blocks[i], nullptr), TLA_OK);
    std::size_t length = 0;
    tla_arena_snapshot(arena, nullptr, 0, &length);
    std::string text(length + 1, '\0');
    BOOST_REQUIRE_EQUAL(tla_arena_snapshot(arena, text.data(), text.size(), &length), TLA_OK);
    text.resize(length);
    tla_arena_destroy(arena);
    return text;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_waveform_and_a_trace_file_show_the_same_signals) {
    const auto platform = small_npu({"hbm.timing=hbm3", "mmu.walk=flat"});
    platform->host().main = [] {};
    scratch_directory scratch;
    waveform wave(scratch.path("wave.vcd"));
    platform->record(wave);
    sc_core::sc_trace_file *file = sc_core::sc_create_vcd_trace_file(scratch.path("trace").c_str());
    platform->trace(file);
    sc_core::sc_start(1, sc_core::SC_NS);
    sc_core::sc_close_vcd_trace_file(file);
    BOOST_CHECK_EQUAL(wave.close(), TLA_OK);
    const std::set<std::string> waves = signals_of(scratch.path("wave.vcd"));
    std::set<std::string> traced; // with the root scope of SystemC's
    for (const std::string &name : signals_of(scratch.path("trace.vcd")))
        traced.insert(name.substr(name.find('.') + 1));
    BOOST_CHECK_GT(waves.size(), 2 * 20u);
    BOOST_TEST(waves == traced, boost::test_tools::per_element());
}

// Of every memory, with every kind of front, in banks, with free lists and tables in memory, on aged heaps.
BOOST_AUTO_TEST_CASE(every_figure_starts_with_what_is_true_before_anything_happens) {
    std::vector<std::unique_ptr<npu>> platforms;
    platforms.push_back(small_npu({}, "plain"));
    platforms.push_back(small_npu({"hbm.timing=hbm3", "mmu.walk=memory", "controller.free_list=hbm",
                                   "messages.signals=true", "controller.object_signals=true"},
                                  "memory"));
    platforms.push_back(small_npu({"controller.hbm_policy=segment_cache", "controller.tcm_policy=caching_pool",
                                   "host_memory.capacity=1 GiB", "controller.host_policy=lazy"},
                                  "fronts"));
    platforms.push_back(small_npu({}, "aged"));
    const std::uint64_t capacity = platforms.back()->pes()[0]->controller.get_statistics(TLA_HBM).arena.capacity;
    BOOST_REQUIRE_EQUAL(platforms.back()->age(aged_heap(capacity), nullptr), TLA_OK);
    scratch_directory scratch;
    waveform wave(scratch.path("wave.vcd"));
    for (const auto &platform : platforms) {
        platform->host().main = [] {};
        platform->record(wave);
    }
    sc_core::sc_start(1, sc_core::SC_NS);
    BOOST_CHECK_EQUAL(wave.close(), TLA_OK);
    const vcd_start start = read_start(scratch.path("wave.vcd"));
    BOOST_CHECK(!start.changes);
    unsigned above_zero = 0;
    for (const auto &platform : platforms)
        for (const instrumented *module : platform->modules())
            for (const statistics_group &part : module->list_statistics())
                for (const statistic &s : part.statistics) {
                    const std::string name =
                        module->name() + std::string(".") + (part.name ? std::string(part.name) + "_" : "") + s.name;
                    const auto shown = start.values.find(name);
                    if (shown == start.values.end()) continue;
                    BOOST_CHECK_MESSAGE(shown->second == s.value,
                                        name << " starts with " << shown->second << ", expected " << s.value);
                    above_zero += s.value > 0;
                }
    BOOST_CHECK_GT(above_zero, 40u);
    BOOST_CHECK_EQUAL(start.values.at("aged.sip0.cube0.pe0.controller.hbm_used_bytes"), capacity / 8 * 3);
    BOOST_CHECK_GT(start.values.at("aged.sip0.cube0.pe0.controller.hbm_fragmentation_permille"), 0u);
}

BOOST_AUTO_TEST_CASE(signals_of_parts_that_a_module_has_not_are_not_shown) {
    const auto platform = small_npu({});
    platform->host().main = [] {};
    scratch_directory scratch;
    waveform wave(scratch.path("wave.vcd"));
    platform->record(wave);
    sc_core::sc_start(1, sc_core::SC_NS);
    BOOST_CHECK_EQUAL(wave.close(), TLA_OK);
    for (const std::string &name : signals_of(scratch.path("wave.vcd")))
        BOOST_CHECK_MESSAGE(!std::regex_search(name, std::regex("row_|refreshes|walks_in_flight|\\.hits")), name);
}

// Allocators are made for the first command; buddies of 15 MiB are four free blocks before and after it.
BOOST_AUTO_TEST_CASE(an_unused_list_is_reported_as_it_will_be) {
    const auto platform = small_npu({"controller.tcm_policy=buddy"});
    const memory_controller &controller = platform->pes()[0]->controller;
    tla_arena_stats before{}, after{};
    bool finished = false;
    platform->host().main = [&] {
        before = controller.get_statistics(TLA_TCM).arena;
        shard block{};
        tla_error error{};
        BOOST_CHECK_EQUAL(platform->host().allocate({0, 0, 0}, TLA_TCM, 64, &block, &error), TLA_OK);
        BOOST_CHECK_EQUAL(platform->host().release(block, &error), TLA_OK);
        after = controller.get_statistics(TLA_TCM).arena;
        finished = true;
    };
    sc_core::sc_start();
    BOOST_CHECK(finished);
    BOOST_CHECK_EQUAL(before.free_blocks, 4u);
    BOOST_CHECK_EQUAL(before.free_blocks, after.free_blocks);
    BOOST_CHECK_EQUAL(before.largest_free, after.largest_free);
    BOOST_CHECK_EQUAL(before.free, after.free);
}

BOOST_AUTO_TEST_CASE(every_statistic_has_a_name_of_its_own_and_the_unit_that_the_name_says) {
    const auto platform = small_npu({"hbm.timing=hbm3"});
    platform->host().main = [] {};
    sc_core::sc_start(1, sc_core::SC_NS);
    std::set<std::string> modules;
    for (const instrumented *module : platform->modules())
        for (const statistics_group &part : module->list_statistics()) {
            modules.insert(module->kind());
            std::set<std::string> names;
            for (const statistic &s : part.statistics) {
                const std::string name = s.name, unit = s.unit;
                BOOST_CHECK_MESSAGE(names.insert(name).second, module->kind() << ": " << name << " stands there twice");
                BOOST_CHECK_MESSAGE((unit == "ps") == std::regex_search(name, std::regex("_ps$")), name << unit);
                BOOST_CHECK_MESSAGE((unit == "bytes") == std::regex_search(name, std::regex("bytes")), name << unit);
                BOOST_CHECK_MESSAGE(!unit.empty() && *s.meaning, name);
            }
        }
    BOOST_CHECK_EQUAL(modules.size(), 12u);
}

BOOST_AUTO_TEST_CASE(statistics_are_printed_with_units_and_meaning) {
    bench b;
    b.run([&] { b.cpu.command(0, alloc_command(TLA_HBM, 256)); });
    std::ostringstream out;
    b.controller->print_statistics(out);
    BOOST_TEST_INFO(out.str());
    BOOST_CHECK(std::regex_search(
        out.str(), std::regex("controller.hbm +used_bytes +256 bytes +allocated now\n.*peak_used_bytes +256 bytes")));
    BOOST_CHECK(out.str().find("controller.tcm") == std::string::npos); // it has none
}

BOOST_AUTO_TEST_CASE(a_closed_waveform_declares_no_signal) {
    scratch_directory scratch;
    waveform wave(scratch.path("closed.vcd"));
    BOOST_REQUIRE_EQUAL(wave.close(), TLA_OK);
    const tla_wave_signal signal = wave.declare("scope", "signal", 8);
    wave.set(signal, 0, 1);
    BOOST_CHECK(wave.unmatched().empty());
}
