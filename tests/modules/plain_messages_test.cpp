// Messages on random platforms beside the plain event model of them: every call returns, and every transfer of the DMA
// engines starts and ends, at the same picosecond.
#define SC_INCLUDE_DYNAMIC_PROCESSES
#include "apart.hpp"
#include "message_runs.hpp"
#include "plain_collectives.hpp"
#include "test_initiator.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <tuple>

using namespace test_initiator;

namespace {

using strings = std::vector<std::string>;
using comparison::message_result;

class draw {
  public:
    explicit draw(std::uint64_t seed) : random_(seed) {}
    std::uint64_t between(std::uint64_t least, std::uint64_t most) { return least + random_() % (most - least + 1); }
    bool one_in(std::uint64_t n) { return random_() % n == 0; }
    const std::string &of(const strings &all) { return all[random_() % all.size()]; }

  private:
    std::mt19937_64 random_;
};

// Half of the platforms have round figures, so that much happens at one time; the others have odd ones.
strings settings(draw &d, bool collective) {
    strings sets = {"hbm.capacity_per_cube=96 MiB", "controller.cost.profile=ideal", "mmu.page_size=4 KiB",
                    "va.size=64 MiB"};
    const bool odd = d.one_in(2);
    const auto set = [&](const std::string &key, const std::string &value) { sets.push_back(key + "=" + value); };
    const auto maybe = [&](const std::string &key, const strings &values) {
        const std::string &value = d.of(values);
        if (d.one_in(2)) set(key, value);
    };
    const auto bytes = [&](const std::string &key, std::uint64_t least, std::uint64_t most) {
        set(key, std::to_string(odd ? d.between(least, most) : d.between(least, most) / 16 * 16 + 16) + " B");
    };
    const auto time = [&](const std::string &key, std::uint64_t most_ps) {
        if (d.one_in(2)) set(key, std::to_string(odd ? d.between(0, most_ps) : d.between(0, 4) * 500) + " ps");
    };
    const auto bandwidth = [&](const std::string &key) {
        if (d.one_in(2)) set(key, std::to_string(odd ? d.between(3, 700) : 32u << d.between(0, 4)) + " GB/s");
    };
    const bool many_sips = collective && d.one_in(2);
    set("system.pes_per_cube", std::to_string(many_sips ? d.between(1, 2) : d.between(collective ? 1 : 2, 4)));
    if (d.one_in(3)) set("system.cube_mesh_width", std::to_string(d.between(1, many_sips ? 2 : 3)));
    if (d.one_in(3)) set("system.cube_mesh_height", "2");
    if (many_sips)
        set("system.sips", std::to_string(d.between(2, 6)));
    else if (d.one_in(4))
        set("system.sips", "2");
    set("messages.slots", d.of({"1", "2", "3", "4", "7", "64"}));
    bytes("messages.slot_size", 64, d.one_in(2) ? 600 : 5000);
    if (d.one_in(2)) set("messages.credit", std::to_string(d.between(1, 256)) + " B");
    maybe("messages.memory", {"hbm", "sram", "sram"});
    maybe("messages.back_pressure", {"poll"});
    maybe("messages.poll_interval", {"1 ns", "3 ns", "777 ps", "20 ns", "1 us"});
    if (d.one_in(5)) set("messages.costs", d.of({"kernbench", "kernbench_hop", "kernbench_free"}));
    maybe("messages.overhead", {"9500 ps", "1 ns", "333 ps", "2 us"});
    if (d.one_in(3)) set("messages.read_slot", "false");
    if (odd)
        set("dma.chunk", std::to_string(d.between(20, 1100)) + " B");
    else
        set("dma.chunk", std::to_string(32u << d.between(0, 5)) + " B");
    maybe("dma.outstanding", {"1", "2", "3", "7", "16"});
    for (const char *key : {"dma.bandwidth", "tcm.read_bandwidth", "tcm.write_bandwidth", "sram.read_bandwidth",
                            "sram.write_bandwidth", "links.router_bandwidth", "links.pe_bandwidth",
                            "links.hbm_bandwidth", "links.sram_bandwidth", "hbm.pseudo_channel_bandwidth"})
        bandwidth(key);
    for (const char *key : {"tcm.latency", "sram.latency", "hbm.controller_latency", "mmu.overhead", "pe.dispatch",
                            "cube.router_overhead", "links.ucie_overhead"})
        time(key, 9000);
    set("controller.cost.fixed", std::to_string(odd ? d.between(1, 90'000) : d.between(1, 9) * 1000) + " ps");
    maybe("links.transport", {"once"});
    maybe("mmu.overhead_at", {"call"});
    if (collective) maybe("pe.vector_cycle", {"1 ns", "333 ps"});
    maybe("links.flit", {"64 B", "128 B", "512 B"});
    maybe("links.wire", {"0 ps", "7 ps", "50 ps"});
    maybe("hbm.burst", {"64 B", "128 B"});
    return sets;
}

// Each program does its part of one order of messages, so that none waits for ever.
std::vector<plain::program> random_programs(draw &d, unsigned pes) {
    std::vector<plain::program> programs(pes);
    std::vector<std::vector<std::size_t>> handles(pes);
    const std::uint64_t pattern = d.between(0, 3); // any to any, one way of a pair, all to one, ring
    const std::uint64_t half = comparison::message_run::room / 2;
    for (std::uint64_t n = d.between(1, 3 + 4 * pes), i = 0; i < n; i++) {
        auto from = static_cast<unsigned>(d.between(0, pes - 1)),
             to = static_cast<unsigned>((from + d.between(1, pes - 1)) % pes);
        if (pattern == 1) from = 0, to = 1;
        if (pattern == 2) from = static_cast<unsigned>(1 + i % (pes - 1)), to = 0;
        if (pattern == 3) to = (from + 1) % pes;
        plain::tile t{d.between(0, 999), d.between(1, d.one_in(3) ? 5 : 1), d.between(1, d.one_in(3) ? 9000 : 700), 0};
        t.pitch = t.row_bytes + (d.one_in(2) ? d.between(0, 40) : 0);
        const auto pause = [&](unsigned who) {
            if (d.one_in(4)) programs[who].push_back({plain::call::pause, 0, {}, d.between(0, 3000) * 500});
        };
        pause(from);
        programs[from].push_back({plain::call::send, to, t});
        pause(to);
        t.at += half;
        if (d.one_in(3)) {
            handles[to].push_back(programs[to].size());
            programs[to].push_back({plain::call::receive_async, from, t});
        } else {
            programs[to].push_back({plain::call::receive, from, t});
        }
        for (unsigned who = 0; who < pes; who++)
            if (!handles[who].empty() && (d.one_in(3) || i + 1 == n)) {
                const auto which = static_cast<std::ptrdiff_t>(d.between(0, handles[who].size() - 1));
                programs[who].push_back({plain::call::wait, 0, {}, handles[who][static_cast<std::size_t>(which)]});
                handles[who].erase(handles[who].begin() + which);
            }
    }
    for (unsigned who = 0; who < pes; who++)
        for (const std::size_t handle : handles[who])
            programs[who].push_back({plain::call::wait, 0, {}, handle});
    return programs;
}

struct found {
    message_result how;
    char error[400];
};

using comparing = std::function<message_result(std::uint64_t seed, std::string &text)>;

void compare_all(const comparing &what, std::uint64_t count) {
    const seeds all(count);
    std::size_t calls = 0, transfers = 0;
    for (std::uint64_t seed = all.first; seed < all.first + all.count; seed++) {
        const std::string name = "seed " + std::to_string(seed);
        const auto f = apart<found>(name, [&](found &result) {
            std::string text;
            result.how = what(seed, text);
            if (seeds::is_one()) std::fprintf(stderr, "%s\n", text.c_str());
        });
        BOOST_CHECK_MESSAGE(!*f.error, name << ": " << f.error);
        BOOST_CHECK_MESSAGE(f.how.different == 0, name << ": " << f.how.different << " of " << f.how.calls
                                                       << " calls and " << f.how.transfers
                                                       << " transfers have another time; the first: " << f.how.first);
        BOOST_CHECK_EQUAL(f.how.late, 0u);
        calls += f.how.calls;
        transfers += f.how.transfers;
    }
    BOOST_TEST_MESSAGE(all.count << " platforms, " << calls << " calls, " << transfers << " transfers");
    BOOST_CHECK_GT(calls, all.count);
}

message_result compare_random_messages(std::uint64_t seed, std::string &text) {
    draw d(seed);
    const strings sets = settings(d, false);
    for (const std::string &set : sets)
        text += " --set '" + set + "'";
    const tla_config config = comparison::message_configuration(sets);
    const auto pes = static_cast<unsigned>(config.system.sips * config.system.cube_mesh_width *
                                           config.system.cube_mesh_height * config.system.pes_per_cube);
    const std::vector<plain::program> programs = random_programs(d, pes);
    static const char *const names[] = {"send", "receive", "receive_async", "wait", "pause", "add"};
    for (std::size_t p = 0; p < programs.size(); p++)
        for (const plain::call &c : programs[p])
            text += "\n" + std::to_string(p) + ": " + names[c.what] + " " + std::to_string(c.peer) + " of " +
                    std::to_string(c.data.rows) + " x " + std::to_string(c.data.row_bytes) + ", " +
                    std::to_string(c.other);
    return comparison::compare_messages(config, programs);
}

// A collective by the kernel language, beside the calls that it is said to consist of.
message_result compare_random_collective(std::uint64_t seed, std::string &text) {
    draw d(seed);
    strings sets = settings(d, true);
    const std::string algorithm = d.of({"ring", "torus_2d", "mesh_2d", "hierarchical", "hierarchical", "hierarchical"}),
                      topology = d.of({"switch", "ring", "torus", "mesh"});
    plain::collectives::passage passage;
    passage.around = d.one_in(2) && algorithm == "hierarchical";
    passage.mesh = topology == "mesh";
    passage.in_order = d.one_in(2);
    sets.push_back("collectives.algorithm=" + algorithm);
    sets.push_back("system.sip_topology=" + topology);
    if (passage.around) sets.push_back("collectives.between_sips=rings");
    if (passage.in_order) sets.push_back("collectives.receives=in_order");
    const tla_config config = comparison::message_configuration(sets);
    const unsigned sips = config.system.sips, width = config.system.cube_mesh_width,
                   height = config.system.cube_mesh_height, in_cube = config.system.pes_per_cube,
                   pes = sips * width * height * in_cube;
    const auto square = [](unsigned size) { // columns of a grid that is as square as it can be
        unsigned columns = 1;
        while (columns * columns < size || size % columns != 0)
            columns++;
        return columns;
    };
    std::vector<unsigned> extent = {pes / square(pes), square(pes)};
    if (algorithm == "ring") extent = {pes};
    const unsigned in_row = topology == "ring" ? sips : square(sips);
    if (algorithm == "hierarchical") extent = {sips / in_row, in_row, height, width, in_cube};
    const auto elements = static_cast<std::uint32_t>(d.between(1, d.one_in(3) ? 3000 : 200));
    plain::collectives plan(algorithm, extent, elements, passage);
    const bool rings = algorithm == "ring" || algorithm == "torus_2d";
    const std::string what =
        d.of(rings ? strings{"all_reduce", "all_reduce", "reduce_scatter", "all_gather", "broadcast", "barrier"}
                   : strings{"all_reduce", "all_reduce", "broadcast", "barrier"});
    const auto root = static_cast<unsigned>(d.between(0, pes - 1));
    for (const std::string &set : sets)
        text += " --set '" + set + "'";
    text += "\n" + what + " of " + std::to_string(elements) + " from " + std::to_string(root);
    const std::vector<plain::program> programs = what == "all_reduce"       ? plan.all_reduce()
                                                 : what == "reduce_scatter" ? plan.reduce_scatter()
                                                 : what == "all_gather"     ? plan.all_gather()
                                                 : what == "broadcast"      ? plan.broadcast_from(root)
                                                                            : plan.barrier();
    return comparison::compare_messages(config, programs, [=](tl_context *tl, const tl_tile &all) {
        tl_world world;
        tla_status status = tl_world_init(tl, &world);
        const tl_tile vector{all.pa, 1, elements, TL_F32, 0}, token{all.pa, 1, 1, TL_F32, 0},
            room{{all.pa.value + plain::collectives::room_at}, 1, tl_room(&world, elements), TL_F32, 0};
        if (status != TLA_OK) return status;
        if (what == "all_reduce") return tl_all_reduce(tl, &world, &vector, &room);
        if (what == "reduce_scatter") return tl_reduce_scatter(tl, &world, &vector, &room);
        if (what == "all_gather") return tl_all_gather(tl, &world, &vector);
        if (what == "broadcast") return tl_broadcast(tl, &world, root, &vector);
        return tl_barrier(tl, &world, &token);
    });
}

// What lies one after the other in an all-reduce: messages weigh more than reads of slots, these more than additions.
struct steps {
    std::uint64_t messages = 0, reads = 0, additions = 0;

    bool operator<(const steps &o) const {
        return std::tie(messages, reads, additions) < std::tie(o.messages, o.reads, o.additions);
    }
    std::string text() const {
        return std::to_string(messages) + " messages, " + std::to_string(reads) + " reads, " +
               std::to_string(additions) + " additions";
    }
};

// Along the longest way through the calls of all programs, in the order of each program and of messages.
steps longest_way(const std::vector<plain::program> &programs) {
    std::vector<steps> at(programs.size());
    std::vector<std::size_t> next(programs.size(), 0);
    std::map<std::pair<std::size_t, std::size_t>, std::deque<steps>> sent; // by sender and receiver
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        for (std::size_t p = 0; p < programs.size(); p++)
            for (; next[p] < programs[p].size(); next[p]++, goes_on = true) {
                const plain::call *c = &programs[p][next[p]];
                if (c->what == plain::call::receive_async) continue; // until it is waited for
                if (c->what == plain::call::wait) c = &programs[p][c->other];
                if (c->what == plain::call::add) at[p].additions++;
                if (c->what == plain::call::send) {
                    sent[{p, c->peer}].push_back(at[p]);
                } else if (c->what != plain::call::add) {
                    auto &due = sent[{c->peer, p}];
                    if (due.empty()) break;
                    due.front().messages++;
                    at[p] = std::max(at[p], due.front());
                    at[p].reads++;
                    due.pop_front();
                }
            }
    }
    for (std::size_t p = 0; p < programs.size(); p++)
        if (next[p] < programs[p].size()) throw std::runtime_error("a program waits for ever");
    return *std::max_element(at.begin(), at.end());
}

std::string way_of(std::vector<unsigned> extent, const plain::collectives::passage &passage) {
    return longest_way(plain::collectives("hierarchical", std::move(extent), 128, passage).all_reduce()).text();
}

} // namespace

// KernBench's 6 SIPs of 4 x 4 cubes of a PE: 11 and 13 make the 24 accesses of its published differences.
BOOST_AUTO_TEST_CASE(rings_of_3_x_2_sips_have_kernbenchs_messages_reads_and_additions_in_a_row) {
    const std::vector<unsigned> torus = {2, 3, 4, 4, 1}, ring = {1, 6, 4, 4, 1};
    BOOST_CHECK_EQUAL(way_of(torus, {true, false, true}), "11 messages, 13 reads, 9 additions");
    BOOST_CHECK_EQUAL(way_of(ring, {true, false, true}), "13 messages, 15 reads, 11 additions");
    BOOST_CHECK_EQUAL(way_of(torus, {true, true, true}), "12 messages, 15 reads, 9 additions");
    BOOST_CHECK_EQUAL(way_of(torus, {false, false, true}), "12 messages, 15 reads, 9 additions");
}

BOOST_AUTO_TEST_CASE(random_messages_take_the_time_of_the_plain_event_model) {
    compare_all(compare_random_messages, 60);
}
BOOST_AUTO_TEST_CASE(random_collectives_take_the_time_of_their_messages_and_additions) {
    compare_all(compare_random_collective, 40);
}
