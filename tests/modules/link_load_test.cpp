// What links carry and what waits for them, on a whole platform: in the fabric's figures and in the waveform.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "bare.hpp"
#include "scratch_directory.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/npu.hpp"
#include "tlmalloc/modules/tcm.hpp"

#include <array>
#include <fstream>
#include <map>
#include <sstream>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

constexpr std::uint64_t window = interconnect::meter_window_ps;

struct transfer {
    unsigned pe, slice;
    std::uint64_t nbytes;
    bool reads = false;
};

// KernBench's cube: PE 0 and PE 1 are at r0c0 and r0c1, so are their slices. A router takes 2 ns, links 1 ns for a
// flit.
struct bench {
    explicit bench(const char *more = "simulation.link_signals=false") : config(load(more)) {}

    static tla_config load(const char *more) {
        const char *const overrides[] = {more, "system.pes_per_cube=8", "cube.pe_places=corners",
                                         "mmu.unmapped=pa_fallback", "mmu.overhead=0 ns"};
        tla_config config{};
        BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, overrides, std::size(overrides), &config, nullptr, nullptr),
                            TLA_OK);
        return config;
    }

    // All at one time, without the TCM.
    void run(const std::vector<transfer> &transfers) {
        platform.host().main = [&] {
            std::size_t left = transfers.size();
            sc_core::sc_event all_done;
            for (const transfer &t : transfers)
                sc_core::sc_spawn(
                    [&, t] {
                        move(t);
                        if (--left == 0) all_done.notify();
                    },
                    sc_core::sc_gen_unique_name("issuer"));
            sc_core::wait(all_done);
        };
        sc_core::sc_start();
    }

    void move(const transfer &t) {
        tla_paddr pa{};
        BOOST_REQUIRE_EQUAL(tla_paddr_pe_hbm(0, 0, t.slice, 0x10000 * t.pe, config.hbm.capacity, &pa), TLA_OK);
        pe_dma::request what{};
        what.way = t.reads ? pe_dma::direction::read : pe_dma::direction::write;
        what.va.value = pa.value;
        what.rows = 1;
        what.row_bytes = what.pitch = t.nbytes;
        what.has_tile = false;
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(platform.pes()[t.pe]->dma.transfer(what, delay), TLA_OK);
        sc_core::wait(delay);
    }

    tla_fabric_load load_of(std::uint32_t link) const { return tla_fabric_link_load(platform.fabric().fabric(), link); }
    // Of the link between two nodes of the cube, by their names in it.
    tla_fabric_load load_of(const std::string &from, const std::string &to) const {
        const std::uint32_t a = tla_topology_node_named(&platform.graph(), ("sip0.cube0." + from).c_str());
        const std::uint32_t b = tla_topology_node_named(&platform.graph(), ("sip0.cube0." + to).c_str());
        for (std::uint32_t i = 0; i < links(); i++) {
            const tla_topology_link &l = tla_topology_links(&platform.graph())[i];
            if (l.from == a && l.to == b) return load_of(i);
        }
        BOOST_ERROR("no link from " << from << " to " << to);
        return {};
    }
    std::uint32_t links() const { return tla_topology_link_count(&platform.graph()); }
    tla_fabric_load sum() const {
        tla_fabric_load all{};
        for (std::uint32_t i = 0; i < links(); i++) {
            const tla_fabric_load one = load_of(i);
            all.nbytes += one.nbytes;
            all.messages += one.messages;
            all.busy_ps += one.busy_ps;
            all.waited_ps += one.waited_ps;
        }
        return all;
    }

    tla_config config;
    npu platform{"npu", config, {}};
};

void one_transfer(bool reads) {
    bench b;
    const std::uint64_t nbytes = 16 * 1024;
    b.run({{1, 0, nbytes, reads}});
    const std::vector<std::pair<std::string, std::string>> way{
        {"pe1", "r0c1"}, {"r0c1", "r0c0"}, {"r0c0", "hbm_ctrl.pe0"}};
    for (const auto &[from, to] : way) {
        const tla_fabric_load data = reads ? b.load_of(to, from) : b.load_of(from, to);
        const tla_fabric_load others = reads ? b.load_of(from, to) : b.load_of(to, from);
        BOOST_CHECK_EQUAL(data.nbytes, nbytes);
        BOOST_CHECK_EQUAL(data.messages, nbytes / b.config.dma.chunk);
        BOOST_CHECK_EQUAL(data.busy_ps, nbytes * 1000 / 256);
        BOOST_CHECK_EQUAL(others.nbytes + others.busy_ps, 0u);
        BOOST_CHECK_EQUAL(others.messages, 1u); // a request, or an acknowledgement
    }
    BOOST_CHECK_EQUAL(b.sum().nbytes, way.size() * nbytes); // and nothing on other links
    BOOST_CHECK_EQUAL(b.sum().messages, way.size() * (nbytes / b.config.dma.chunk + 1));
    BOOST_CHECK_EQUAL(b.sum().waited_ps, 0u);
}

// For every signal by its full name the sum over all windows.
std::map<std::string, std::uint64_t> sums_of(const std::string &path) {
    std::ifstream file(path);
    std::map<std::string, std::string> names;
    std::map<std::string, std::uint64_t> sums, values, since;
    std::string line, scope;
    std::uint64_t now = 0;
    while (std::getline(file, line)) {
        std::istringstream words(line);
        std::string first, second, third, code, name;
        words >> first >> second;
        if (first == "$scope") {
            words >> third;
            scope += third + ".";
        } else if (first == "$upscope") {
            scope.erase(scope.find_last_of('.', scope.size() - 2) + 1);
        } else if (first == "$var") {
            words >> third >> code >> name;
            names[code] = scope + name;
        } else if (first[0] == '#') {
            now = std::stoull(first.substr(1));
        } else if (first[0] == 'b' && names.count(second)) {
            const std::string &signal = names[second];
            if (signal.rfind("npu.fabric.", 0) != 0) continue;
            BOOST_CHECK_EQUAL(now % window, 0u);
            sums[signal] += values[signal] * ((now - since[signal]) / window);
            values[signal] = std::stoull(first.substr(1), nullptr, 2);
            since[signal] = now;
        }
    }
    for (const auto &[signal, value] : values)
        BOOST_CHECK_MESSAGE(value == 0, signal << " does not come to rest");
    return sums;
}

// Over all windows a signal is what the links of its group have counted.
void waveform_and_figures(bool every_link = false) {
    scratch_directory scratch;
    bench b(every_link ? "simulation.link_signals=true" : "simulation.link_signals=false");
    {
        waveform wave(scratch.path("w.vcd"));
        b.platform.record(wave);
        std::vector<transfer> transfers;
        for (unsigned pe = 0; pe < 8; pe++)
            transfers.push_back({pe, pe % 3, 40'000 + 1000 * pe, pe % 2 == 1});
        b.run(transfers);
        BOOST_CHECK_EQUAL(wave.close(), TLA_OK);
    }
    std::map<std::string, std::uint64_t> expected;
    const tla_topology_node *const nodes = tla_topology_nodes(&b.platform.graph());
    for (std::uint32_t i = 0; i < b.links(); i++) {
        const tla_topology_link &l = tla_topology_links(&b.platform.graph())[i];
        const std::string name = nodes[l.from].name;
        std::string scope = "npu.fabric.";
        for (const char *part : {"sip0.", "cube0."})
            if (name.find(part) != std::string::npos) scope += part;
        scope += std::string(tla_node_kind_name(nodes[l.from].kind)) + "_to_" + tla_node_kind_name(nodes[l.to].kind);
        expected[scope + "_busy_ps"] += b.load_of(i).busy_ps;
        expected[scope + "_waited_ps"] += b.load_of(i).waited_ps;
    }
    BOOST_CHECK_GT(expected.at("npu.fabric.sip0.cube0.router_to_hbm_ctrl_busy_ps"), window);
    BOOST_CHECK_GT(expected.at("npu.fabric.sip0.cube0.router_to_hbm_ctrl_waited_ps"), window);
    std::map<std::string, std::uint64_t> seen = sums_of(scratch.path("w.vcd"));
    BOOST_CHECK_EQUAL(seen.size(), expected.size() + (every_link ? 2 * b.links() : 0));
    if (every_link)
        for (const auto &[from, to, name] :
             std::vector<std::array<std::string, 3>>{{"pe1", "r0c1", "pe1_to_r0c1"},
                                                     {"r0c1", "r0c0", "r0c1_to_r0c0"},
                                                     {"r0c0", "hbm_ctrl.pe0", "r0c0_to_hbm_ctrl_pe0"},
                                                     {"ucie-W.conn0", "r0c0", "ucie_W_conn0_to_r0c0"}}) {
            expected["npu.fabric.sip0.cube0.links." + name + "_busy_ps"] = b.load_of(from, to).busy_ps;
            expected["npu.fabric.sip0.cube0.links." + name + "_waited_ps"] = b.load_of(from, to).waited_ps;
        }
    for (const auto &[signal, sum] : expected)
        BOOST_CHECK_MESSAGE(seen[signal] == sum, signal << ": " << seen[signal] << ", expected " << sum);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_write_puts_its_bytes_on_the_links_of_its_way_and_on_no_other) {
    one_transfer(false);
}
BOOST_AUTO_TEST_CASE(a_read_puts_its_bytes_on_the_links_of_its_way_back) {
    one_transfer(true);
}

BOOST_AUTO_TEST_CASE(two_transfers_to_one_slice_wait_for_its_link_alone) {
    bench b;
    b.run({{0, 0, 16 * 1024}, {1, 0, 8 * 1024}});
    const tla_fabric_load shared = b.load_of("r0c0", "hbm_ctrl.pe0");
    BOOST_CHECK_EQUAL(shared.nbytes, 24u * 1024);
    BOOST_CHECK_EQUAL(shared.busy_ps, 24'000u * 1024 / 256);
    // The flits of the shorter one wait for those of the longer one and the other way round: at least one of a pair.
    BOOST_CHECK_GT(shared.waited_ps, 32u * 1000);
    BOOST_CHECK_EQUAL(b.load_of("pe0", "r0c0").nbytes, 16u * 1024);
    BOOST_CHECK_EQUAL(b.load_of("r0c1", "r0c0").nbytes, 8u * 1024);
    for (const auto &[from, to] :
         std::vector<std::pair<std::string, std::string>>{{"pe0", "r0c0"}, {"pe1", "r0c1"}, {"r0c1", "r0c0"}})
        BOOST_CHECK_EQUAL(b.load_of(from, to).waited_ps, 0u);
}

BOOST_AUTO_TEST_CASE(the_waveform_of_links_adds_up_to_their_figures) {
    waveform_and_figures();
}
BOOST_AUTO_TEST_CASE(every_link_has_signals_of_its_own_where_that_is_asked_for) {
    waveform_and_figures(true);
}

// A wait or a message that is longer than windows: the values of every window, by hand.
BOOST_AUTO_TEST_CASE(a_message_over_several_windows_fills_those_in_between) {
    const std::uint64_t gb = 1'000'000'000;
    interconnect::config config = bare<interconnect>();
    config.nodes.resize(2);
    config.links = {{0, 1, 0, gb, 0, 0}, {1, 0, 0, gb, 0, 0}};
    config.sources = {0};
    config.targets = {1};
    config.windows = {{0, 4096, 0, false}};
    config.groups = {{"there", {0}}};
    interconnect fabric("fabric", config);
    initiator cpu("cpu");
    tcm memory("memory", bare<tcm>());
    cpu.out.bind(fabric.in);
    fabric.out.bind(memory.in);
    scratch_directory scratch;
    {
        waveform wave(scratch.path("w.vcd"));
        fabric.record(wave);
        cpu.body = [&] {
            sc_core::sc_spawn([&] { // from 60 ns on it waits until 420 ns: 40, 100, 100, 100, 20; and is through at 430
                sc_core::sc_time later(60, sc_core::SC_NS);
                cpu.write(0, bytes(10), later);
            });
            sc_core::sc_time delay(50, sc_core::SC_NS);
            cpu.write(0, bytes(370), delay); // 370 ns from 50 ns on: 50, 100, 100, 100, 20
        };
        simulate({&cpu});
    }
    std::ifstream file(scratch.path("w.vcd"));
    std::stringstream text;
    text << file.rdbuf();
    std::string expected;
    const auto change = [&](std::uint64_t at, std::uint64_t busy, std::uint64_t waited) {
        const auto binary = [](std::uint64_t v) {
            std::string digits;
            for (; v; v /= 2)
                digits.insert(0, 1, static_cast<char>('0' + v % 2));
            return digits.empty() ? "0" : digits;
        };
        expected += "#" + std::to_string(at) + "\n";
        if (busy != UINT64_MAX) expected += "b" + binary(busy) + " !\n";
        if (waited != UINT64_MAX) expected += "b" + binary(waited) + " \"\n";
    };
    change(100'000, 50'000, 40'000);
    change(200'000, 100'000, 100'000);
    change(500'000, 30'000, 20'000);
    change(600'000, 0, 0);
    BOOST_CHECK_MESSAGE(text.str().find(expected) != std::string::npos, text.str() << "expected\n" << expected);
}

BOOST_AUTO_TEST_CASE(a_group_with_an_unknown_link_is_rejected) {
    interconnect::config config = bare<interconnect>();
    config.nodes.resize(2);
    config.links = {{0, 1, 0, 1, 0, 0}};
    config.groups = {{"a", {0, 1}}};
    check_refused([&] { interconnect("fabric", config); },
                  "/tlmalloc/interconnect/config: a group names an unknown link");
}
