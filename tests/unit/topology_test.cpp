// Topologies: how many nodes and links a shape has, where its parts stand, which way paths lead, and what is refused.
#include "plain_paths.hpp"
#include "seeded_random.hpp"

#include "tlmalloc/config.h"

#include <cstring>
#include <map>
#include <set>

using std::string;

namespace {

tla_topology_shape kernbench() {
    tla_topology_shape shape;
    tla_topology_defaults(&shape);
    shape.sips = 2;
    shape.cube_mesh_width = shape.cube_mesh_height = 4;
    shape.pes_per_cube = 8;
    return shape;
}

template <std::size_t Size>
void set(char (&member)[Size], const string &text) {
    BOOST_REQUIRE(text.size() < Size);
    std::memset(member, 0, Size);
    std::memcpy(member, text.data(), text.size());
}

topology_owner make(const tla_topology_shape &shape) {
    tla_topology *topology = nullptr;
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(tla_topology_of_shape(&shape, &topology, &error) == TLA_OK, error.text);
    return topology_owner(topology);
}

string refusal(const tla_topology_shape &shape) {
    tla_topology *topology = nullptr;
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_topology_of_shape(&shape, &topology, &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK(!topology);
    return error.text;
}

std::uint32_t count(const tla_topology *t, tla_node_kind kind) {
    std::uint32_t found = 0;
    for (std::uint32_t i = 0; i < tla_topology_node_count(t); i++)
        found += tla_topology_nodes(t)[i].kind == kind;
    return found;
}

std::uint32_t cubes_between(const tla_topology_shape &s, std::uint32_t a, std::uint32_t b) {
    const auto apart = [](std::uint32_t x, std::uint32_t y) { return x < y ? y - x : x - y; };
    return apart(a % s.cube_mesh_width, b % s.cube_mesh_width) + apart(a / s.cube_mesh_width, b / s.cube_mesh_width);
}

// The router on which a node hangs.
string router_of(const tla_topology *t, const string &name) {
    const std::uint32_t node = tla_topology_node_named(t, name.c_str());
    for (std::uint32_t i = 0; i < tla_topology_link_count(t); i++) {
        const tla_topology_link &link = tla_topology_links(t)[i];
        if (link.from == node && tla_topology_nodes(t)[link.to].kind == TLA_NODE_ROUTER)
            return tla_topology_nodes(t)[link.to].name;
    }
    return "none";
}

} // namespace

// A cube has 32 routers, 8 PEs, 8 controllers, M_CPU, SRAM, 4 ports and 16 connections; a chiplet 3 nodes, 4 PHYs and
// 16 connections; then switch and host.
BOOST_AUTO_TEST_CASE(kernbench_has_70_nodes_a_cube_and_23_an_io_chiplet) {
    const topology_owner t = make(kernbench());
    BOOST_CHECK_EQUAL(tla_topology_node_count(t.get()), 2 * (23 + 16 * 70) + 2);
    const std::map<tla_node_kind, unsigned> expected{{TLA_NODE_ROUTER, 2 * 16 * 32},
                                                     {TLA_NODE_PE, 256},
                                                     {TLA_NODE_HBM_CTRL, 256},
                                                     {TLA_NODE_M_CPU, 32},
                                                     {TLA_NODE_SRAM, 32},
                                                     {TLA_NODE_UCIE, 128},
                                                     {TLA_NODE_IO_UCIE, 8},
                                                     {TLA_NODE_IO_NOC, 2},
                                                     {TLA_NODE_CONN, 2 * (16 * 16 + 4 * 4)},
                                                     {TLA_NODE_IO_CPU, 2},
                                                     {TLA_NODE_PCIE_EP, 2},
                                                     {TLA_NODE_SWITCH, 1},
                                                     {TLA_NODE_HOST, 1}};
    for (const auto &[kind, number] : expected)
        BOOST_CHECK_MESSAGE(count(t.get(), kind) == number, tla_node_kind_name(kind) << " " << count(t.get(), kind));
    // Of the 60 links of a 6 x 6 mesh 12 touch the hole; then what hangs on routers, and two links a connection. A SIP
    // has 24 between cubes, and in its chiplet two, two a connection and one a PHY.
    const unsigned cube = 48 + 8 + 8 + 2 + 2 * 16, sip = 16 * cube + 24 + 2 + 2 * 16 + 4;
    BOOST_CHECK_EQUAL(tla_topology_link_count(t.get()), 2 * (2 * sip + 2 + 2));
}

BOOST_AUTO_TEST_CASE(a_host_with_a_memory_has_one_node_and_one_link_more) {
    tla_topology_shape s = kernbench();
    const topology_owner without = make(s);
    s.host_memory = true;
    const topology_owner t = make(s);
    BOOST_CHECK_EQUAL(tla_topology_node_count(t.get()), tla_topology_node_count(without.get()) + 1);
    BOOST_CHECK_EQUAL(tla_topology_link_count(t.get()), tla_topology_link_count(without.get()) + 2);
    BOOST_CHECK_EQUAL(tla_topology_node_of(without.get(), TLA_NODE_HOST_MEMORY, 0, 0, 0), TLA_NO_NODE);
    const std::uint32_t memory = tla_topology_node_of(t.get(), TLA_NODE_HOST_MEMORY, 9, 9, 9);
    BOOST_REQUIRE(memory != TLA_NO_NODE);
    BOOST_CHECK_EQUAL(tla_topology_nodes(t.get())[memory].name, "host.memory");
    unsigned links = 0;
    for (std::uint32_t i = 0; i < tla_topology_link_count(t.get()); i++) {
        const tla_topology_link &link = tla_topology_links(t.get())[i];
        if (link.from != memory) continue;
        links++;
        BOOST_CHECK_EQUAL(tla_topology_nodes(t.get())[link.to].name, "host");
        BOOST_CHECK_EQUAL(link.bandwidth, 512'000'000'000u);
    }
    BOOST_CHECK_EQUAL(links, 1u);
}

BOOST_AUTO_TEST_CASE(parts_stand_where_kernbench_has_them) {
    const topology_owner t = make(kernbench());
    const char *const routers[] = {"r0c0", "r0c1", "r1c4", "r1c5", "r4c0", "r4c1", "r5c4", "r5c5"};
    for (int pe = 0; pe < 8; pe++) {
        const string cube = "sip1.cube7.", number = "pe" + std::to_string(pe);
        BOOST_CHECK_EQUAL(router_of(t.get(), cube + number), cube + routers[pe]);
        BOOST_CHECK_EQUAL(router_of(t.get(), cube + "hbm_ctrl." + number), cube + routers[pe]);
    }
    BOOST_CHECK_EQUAL(router_of(t.get(), "sip0.cube0.m_cpu"), "sip0.cube0.r0c2");
    BOOST_CHECK_EQUAL(router_of(t.get(), "sip0.cube0.sram"), "sip0.cube0.r3c0");
    const char *const west[] = {"r0c0", "r2c0", "r3c0", "r5c0"}, *const south[] = {"r5c0", "r5c2", "r5c3", "r5c5"};
    for (int i = 0; i < 4; i++) {
        BOOST_CHECK_EQUAL(router_of(t.get(), "sip0.cube0.ucie-W.conn" + std::to_string(i)),
                          string("sip0.cube0.") + west[i]);
        BOOST_CHECK_EQUAL(router_of(t.get(), "sip0.cube0.ucie-S.conn" + std::to_string(i)),
                          string("sip0.cube0.") + south[i]);
    }
    BOOST_CHECK_EQUAL(tla_topology_node_named(t.get(), "sip0.cube0.r2c2"), TLA_NO_NODE);
}

BOOST_AUTO_TEST_CASE(nodes_are_found_by_name_and_by_where_they_are) {
    const topology_owner t = make(kernbench());
    for (std::uint32_t i = 0; i < tla_topology_node_count(t.get()); i++)
        BOOST_REQUIRE_EQUAL(tla_topology_node_named(t.get(), tla_topology_nodes(t.get())[i].name), i);
    const auto name = [&](tla_node_kind kind, unsigned sip, unsigned cube, unsigned index) -> string {
        const std::uint32_t node = tla_topology_node_of(t.get(), kind, sip, cube, index);
        return node == TLA_NO_NODE ? "none" : tla_topology_nodes(t.get())[node].name;
    };
    BOOST_CHECK_EQUAL(name(TLA_NODE_PE, 1, 15, 7), "sip1.cube15.pe7");
    BOOST_CHECK_EQUAL(name(TLA_NODE_HBM_CTRL, 0, 3, 2), "sip0.cube3.hbm_ctrl.pe2");
    BOOST_CHECK_EQUAL(name(TLA_NODE_M_CPU, 1, 0, 0), "sip1.cube0.m_cpu");
    BOOST_CHECK_EQUAL(name(TLA_NODE_SRAM, 0, 15, 0), "sip0.cube15.sram");
    BOOST_CHECK_EQUAL(name(TLA_NODE_IO_CPU, 1, 0, 0), "sip1.io_cpu");
    BOOST_CHECK_EQUAL(name(TLA_NODE_PCIE_EP, 0, 0, 0), "sip0.pcie_ep");
    BOOST_CHECK_EQUAL(name(TLA_NODE_HOST, 9, 9, 9), "host");
    BOOST_CHECK_EQUAL(name(TLA_NODE_PE, 2, 0, 0), "none");
    BOOST_CHECK_EQUAL(name(TLA_NODE_PE, 0, 16, 0), "none");
    BOOST_CHECK_EQUAL(name(TLA_NODE_PE, 0, 0, 8), "none");
    BOOST_CHECK_EQUAL(name(TLA_NODE_ROUTER, 0, 0, 0), "none");
}

BOOST_AUTO_TEST_CASE(links_stand_in_pairs_that_are_alike) {
    const topology_owner t = make(kernbench());
    const tla_topology_link *links = tla_topology_links(t.get());
    for (std::uint32_t i = 0; i < tla_topology_link_count(t.get()); i += 2) {
        const tla_topology_link &a = links[i], &b = links[i + 1];
        BOOST_REQUIRE(a.from == b.to && a.to == b.from && a.length_um == b.length_um && a.routing == b.routing &&
                      a.routing_at_end == b.routing_at_end && a.latency_ps == b.latency_ps &&
                      a.bandwidth == b.bandwidth);
        BOOST_REQUIRE_EQUAL(a.latency_ps, a.length_um / 100); // 10 ps/mm
    }
}

// No port is a shortcut inside its cube; with KernBench's free ports they are.
BOOST_AUTO_TEST_CASE(paths_inside_a_cube_pass_no_port) {
    for (const tla_routing routing : {TLA_ROUTE_STRAIGHT, TLA_ROUTE_FREE_PORTS, TLA_ROUTE_SHORTEST}) {
        tla_topology_shape shape = kernbench();
        shape.routing = routing;
        const topology_owner t = make(shape);
        plain_paths paths(t.get());
        unsigned through_ports = 0;
        for (const string from : {"pe0", "pe3", "pe5", "pe7", "m_cpu", "r0c5", "r3c1"})
            for (unsigned pe = 0; pe < 8; pe++)
                for (const string &to : {"hbm_ctrl.pe" + std::to_string(pe), "pe" + std::to_string(pe)}) {
                    const string cube = "sip0.cube5.";
                    through_ports +=
                        paths.passes(paths.path(paths.at(cube + from), paths.at(cube + to)), TLA_NODE_UCIE);
                }
        BOOST_CHECK_EQUAL(through_ports > 0, routing == TLA_ROUTE_FREE_PORTS);
    }
}

// From corner to corner of 4 x 4 cubes: six routers in each, since the last is entered where its column is; each of the
// 6 crossings two ports. KernBench's 573 ns have 2 * (42 * 2 + 12 * 8) ns of overhead in them.
BOOST_AUTO_TEST_CASE(the_path_to_the_farthest_slice_passes_42_routers_and_crosses_six_times) {
    const topology_owner t = make(kernbench());
    plain_paths paths(t.get());
    const auto path = paths.path(paths.at("sip0.cube0.pe0"), paths.at("sip0.cube15.hbm_ctrl.pe7"));
    BOOST_CHECK_EQUAL(paths.passes(path, TLA_NODE_ROUTER), 42u);
    BOOST_CHECK_EQUAL(paths.passes(path, TLA_NODE_UCIE), 12u);
    for (const std::uint32_t link : path) { // along the first connections: rows first, then columns
        const string name = tla_topology_nodes(t.get())[tla_topology_links(t.get())[link].to].name;
        const char *const at = name.find("cube15") == string::npos ? "conn0" : "conn3";
        if (name.find("conn") != string::npos) BOOST_CHECK_MESSAGE(name.substr(name.size() - 5) == at, name);
        BOOST_CHECK_MESSAGE(name.find("cube4.") == string::npos, name);
    }
}

// By length alone, with names in descending order: KernBench's 573 ns have 2 * (13 * 2 + 18 * 8) ns of overhead, all
// 120 remote PEs enter cube 0 by one connection, and seven of eight PEs enter the next cube by one.
BOOST_AUTO_TEST_CASE(the_shortest_path_to_the_farthest_slice_passes_13_routers_and_18_ports) {
    tla_topology_shape shape = kernbench();
    shape.routing = TLA_ROUTE_SHORTEST;
    const topology_owner t = make(shape);
    plain_paths paths(t.get());
    const auto path = paths.path(paths.at("sip0.cube0.pe0"), paths.at("sip0.cube15.hbm_ctrl.pe7"));
    BOOST_CHECK_EQUAL(paths.passes(path, TLA_NODE_ROUTER), 13u);
    BOOST_CHECK_EQUAL(paths.passes(path, TLA_NODE_UCIE), 18u);
    BOOST_CHECK_EQUAL(paths.routing(path), 6000u); // of the crossings
    const auto last_connection = [&](const string &from, const string &to) {
        string last;
        for (const std::uint32_t link : paths.path(paths.at(from), paths.at(to)))
            if (const tla_topology_node &node = tla_topology_nodes(t.get())[tla_topology_links(t.get())[link].to];
                node.kind == TLA_NODE_CONN)
                last = node.name;
        return last;
    };
    std::set<string> entries;
    for (unsigned cube = 1; cube < 16; cube++)
        for (unsigned pe = 0; pe < 8; pe++)
            entries.insert(last_connection("sip0.cube" + std::to_string(cube) + ".pe" + std::to_string(pe),
                                           "sip0.cube0.hbm_ctrl.pe0"));
    BOOST_CHECK_EQUAL(entries.size(), 1u);
    unsigned by_one = 0;
    for (unsigned pe = 0; pe < 8; pe++) {
        const auto eastward = paths.path(paths.at("sip0.cube0.pe" + std::to_string(pe)),
                                         paths.at("sip0.cube1.hbm_ctrl.pe" + std::to_string(pe)));
        for (const std::uint32_t link : eastward)
            by_one += paths.name(tla_topology_links(t.get())[link].to) == "sip0.cube1.ucie-W.conn3";
    }
    BOOST_CHECK_EQUAL(by_one, 7u);
}

BOOST_AUTO_TEST_CASE(nodes_have_ranks_by_their_names_where_paths_are_the_shortest) {
    for (int routing = 0; routing < TLA_ROUTING_COUNT; routing++) {
        tla_topology_shape shape = kernbench();
        shape.routing = static_cast<tla_routing>(routing);
        const topology_owner t = make(shape);
        std::map<std::uint32_t, string> by_rank;
        const std::uint32_t count = tla_topology_node_count(t.get());
        for (std::uint32_t i = 0; i < count; i++)
            by_rank[tla_topology_nodes(t.get())[i].rank] = tla_topology_nodes(t.get())[i].name;
        if (routing != TLA_ROUTE_SHORTEST) {
            BOOST_CHECK_EQUAL(by_rank.size(), 1u);
            BOOST_CHECK(by_rank.count(0));
            continue;
        }
        BOOST_REQUIRE_EQUAL(by_rank.size(), count);
        BOOST_CHECK_EQUAL(by_rank[1], "sip1.pcie_ep");
        BOOST_CHECK_EQUAL(by_rank[count], "fabric.switch0");
        for (std::uint32_t rank = 2; rank <= count; rank++)
            BOOST_REQUIRE(by_rank[rank - 1] > by_rank[rank]);
    }
}

BOOST_AUTO_TEST_CASE(data_of_the_host_enter_the_first_cube_at_its_first_router) {
    const topology_owner t = make(kernbench());
    plain_paths paths(t.get());
    const auto path = paths.path(paths.at("sip0.pcie_ep"), paths.at("sip0.cube0.hbm_ctrl.pe0"));
    string names = "sip0.pcie_ep";
    for (const std::uint32_t link : path)
        names += " " + paths.name(tla_topology_links(t.get())[link].to);
    BOOST_CHECK_EQUAL(names, "sip0.pcie_ep sip0.io_noc sip0.io_ucie-0.conn0 sip0.io_ucie-0 sip0.cube0.ucie-W "
                             "sip0.cube0.ucie-W.conn0 sip0.cube0.r0c0 sip0.cube0.hbm_ctrl.pe0");
    // Of the four PHYs the one in whose row the cube lies.
    const auto far = paths.path(paths.at("sip0.pcie_ep"), paths.at("sip0.cube11.hbm_ctrl.pe0"));
    BOOST_CHECK_EQUAL(paths.name(tla_topology_links(t.get())[far[2]].to), "sip0.io_ucie-2");
}

// KernBench's figures by hand: uncontended, payload there, commit of 8 ns, and a zero-byte answer that pays again.
BOOST_AUTO_TEST_CASE(kernbenchs_uncontended_figures_follow_from_the_structure) {
    const topology_owner t = make(kernbench());
    plain_paths paths(t.get());
    const auto end = [&](const string &from, const string &to, std::uint64_t nbytes) {
        const auto hops = paths.hops(paths.at(from), paths.at(to));
        tla_path_terms terms{};
        BOOST_REQUIRE_EQUAL(tla_path_terms_of(hops.data(), hops.size(), 256, nbytes, &terms), TLA_OK);
        return terms.end_ps;
    };
    const auto write = [&](const string &from, const string &to, std::uint64_t nbytes) {
        // The acknowledgement goes back the same way: overheads and wires.
        std::uint64_t back = 0;
        for (const tla_path_hop &hop : paths.hops(paths.at(from), paths.at(to)))
            back += hop.overhead_ps + hop.latency_ps;
        return end(from, to, nbytes) + 8000 + back;
    };
    BOOST_CHECK_EQUAL(write("sip0.cube0.pe0", "sip0.cube0.hbm_ctrl.pe0", 16384), 77000u);
    BOOST_CHECK_EQUAL(write("sip0.cube0.pe1", "sip0.cube0.hbm_ctrl.pe0", 16384), 82060u); // 3 mm of wire, twice
    BOOST_CHECK_EQUAL(write("sip0.cube0.pe0", "sip0.cube0.hbm_ctrl.pe0", 32768), 141000u);
    BOOST_CHECK_CLOSE(double(write("sip0.cube0.pe0", "sip0.cube15.hbm_ctrl.pe7", 16384)), 573000., 1.);
    const auto host_write = [&](std::uint64_t nbytes) {
        return double(end("sip0.pcie_ep", "sip0.cube0.hbm_ctrl.pe0", nbytes) + 8000);
    };
    BOOST_CHECK_CLOSE(host_write(4096), 65530., .5);
    BOOST_CHECK_CLOSE(host_write(65536), 545000., .5);
    BOOST_CHECK_CLOSE(host_write(1 << 20), 8230000., .5);
}

BOOST_AUTO_TEST_CASE(sips_are_linked_by_a_switch_in_a_ring_or_in_a_grid) {
    const auto links_of = [](tla_sip_topology kind, unsigned sips, unsigned width) {
        tla_topology_shape shape;
        tla_topology_defaults(&shape);
        shape.sip_topology = kind;
        shape.sips = sips;
        shape.sip_grid_width = width;
        const topology_owner t = make(shape);
        unsigned links = 0;
        for (std::uint32_t i = 0; i < tla_topology_link_count(t.get()); i += 2) {
            const auto is = [&](std::uint32_t node) {
                const tla_node_kind k = tla_topology_nodes(t.get())[node].kind;
                return k == TLA_NODE_PCIE_EP || k == TLA_NODE_SWITCH;
            };
            links += is(tla_topology_links(t.get())[i].from) && is(tla_topology_links(t.get())[i].to);
        }
        return links;
    };
    BOOST_CHECK_EQUAL(links_of(TLA_SIPS_SWITCH, 8, 0), 8u);
    BOOST_CHECK_EQUAL(links_of(TLA_SIPS_RING, 1, 0), 0u);
    BOOST_CHECK_EQUAL(links_of(TLA_SIPS_RING, 2, 0), 1u); // not the same twice
    BOOST_CHECK_EQUAL(links_of(TLA_SIPS_RING, 4, 0), 4u);
    BOOST_CHECK_EQUAL(links_of(TLA_SIPS_TORUS, 16, 0), 32u);
    BOOST_CHECK_EQUAL(links_of(TLA_SIPS_TORUS, 6, 0), 9u); // 3 x 2: a row's ends joined, a column of two is not
    BOOST_CHECK_EQUAL(links_of(TLA_SIPS_MESH, 6, 0), 7u);
    BOOST_CHECK_EQUAL(links_of(TLA_SIPS_MESH, 6, 6), 5u);
    BOOST_CHECK_EQUAL(links_of(TLA_SIPS_TORUS, 7, 0), 7u); // a prime number is one row
    tla_topology_shape shape = kernbench();
    shape.sip_topology = TLA_SIPS_RING;
    shape.sips = 6;
    const topology_owner t = make(shape);
    plain_paths paths(t.get());
    const auto around = paths.path(paths.at("sip0.cube0.pe0"), paths.at("sip4.cube0.hbm_ctrl.pe0"));
    BOOST_CHECK_EQUAL(paths.passes(around, TLA_NODE_PCIE_EP), 3u); // by sip5, and not through the host
    BOOST_CHECK_EQUAL(paths.passes(around, TLA_NODE_HOST), 0u);
}

// Whatever the shape: nodes and links by formula, and every path as long as it must be.
BOOST_AUTO_TEST_CASE(random_shapes_are_whole_and_their_paths_take_no_shortcut) {
    seeded_random random(20261122);
    for (int round = 0; round < 200; round++) {
        tla_topology_shape shape;
        tla_topology_defaults(&shape);
        shape.cube_mesh_width = static_cast<std::uint32_t>(random.between(1, 16));
        shape.cube_mesh_height = static_cast<std::uint32_t>(random.between(1, 16 / shape.cube_mesh_width));
        shape.sips = static_cast<std::uint32_t>(random.between(1, random.one_in(20) ? 16 : 4));
        shape.sip_topology = static_cast<tla_sip_topology>(random.between(0, TLA_SIP_TOPOLOGY_COUNT - 1));
        shape.mesh_rows = static_cast<std::uint32_t>(random.between(1, 9));
        shape.mesh_columns = static_cast<std::uint32_t>(random.between(1, 9));
        shape.connections = static_cast<std::uint32_t>(random.between(1, 6));
        shape.routing = static_cast<tla_routing>(random.between(0, TLA_ROUTING_COUNT - 1));
        const bool hole = shape.mesh_rows >= 6 && shape.mesh_columns >= 6;
        const std::uint32_t routers = shape.mesh_rows * shape.mesh_columns - (hole ? 4 : 0);
        shape.pes_per_cube = static_cast<std::uint32_t>(random.between(1, std::min(16u, routers)));
        const topology_owner t = make(shape);
        const std::uint32_t cubes = shape.cube_mesh_width * shape.cube_mesh_height;
        const std::uint32_t phys = std::min(4u, shape.cube_mesh_height);
        const std::uint32_t in_cube = routers + 2 * shape.pes_per_cube + 2 + 4 + 4 * shape.connections;
        const std::uint32_t in_chiplet = 3 + phys * (1 + shape.connections);
        BOOST_REQUIRE_EQUAL(tla_topology_node_count(t.get()),
                            shape.sips * (cubes * in_cube + in_chiplet) + 1 + (shape.sip_topology == TLA_SIPS_SWITCH));
        std::set<string> places;
        for (std::uint32_t pe = 0; pe < shape.pes_per_cube; pe++) {
            const string name = "sip0.cube0.pe" + std::to_string(pe);
            BOOST_REQUIRE(places.insert(router_of(t.get(), name)).second);
            BOOST_REQUIRE_EQUAL(router_of(t.get(), name),
                                router_of(t.get(), "sip0.cube0.hbm_ctrl.pe" + std::to_string(pe)));
        }
        plain_paths paths(t.get());
        const auto any = [&](std::uint32_t below) { return static_cast<std::uint32_t>(random.between(0, below - 1)); };
        for (int pair = 0; pair < 20; pair++) {
            const std::uint32_t sip = any(shape.sips), cube = any(cubes), to_sip = any(shape.sips),
                                to_cube = any(cubes);
            const std::uint32_t from = tla_topology_node_of(t.get(), TLA_NODE_PE, sip, cube, any(shape.pes_per_cube));
            const std::uint32_t to =
                tla_topology_node_of(t.get(), TLA_NODE_HBM_CTRL, to_sip, to_cube, any(shape.pes_per_cube));
            const auto path = paths.path(from, to);
            BOOST_REQUIRE_EQUAL(paths.passes(path, TLA_NODE_HOST), 0u);
            BOOST_REQUIRE_EQUAL(paths.passes(path, TLA_NODE_IO_NOC), sip == to_sip ? 0u : 2u);
            BOOST_REQUIRE_EQUAL(paths.passes(path, TLA_NODE_PE) + paths.passes(path, TLA_NODE_HBM_CTRL), 2u);
            if (sip == to_sip && (shape.routing == TLA_ROUTE_STRAIGHT || cube == to_cube)) {
                const bool free = shape.routing == TLA_ROUTE_FREE_PORTS;
                if (!free)
                    BOOST_REQUIRE_EQUAL(paths.passes(path, TLA_NODE_UCIE), 2 * cubes_between(shape, cube, to_cube));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(the_largest_shapes_are_made) {
    for (const auto &[width, height] : {std::pair{16u, 1u}, {1u, 16u}, {3u, 5u}, {1u, 1u}}) {
        tla_topology_shape shape = kernbench();
        shape.cube_mesh_width = width;
        shape.cube_mesh_height = height;
        shape.sips = 16;
        shape.pes_per_cube = 16;
        const topology_owner t = make(shape);
        BOOST_CHECK_EQUAL(count(t.get(), TLA_NODE_PE), 16 * width * height * 16);
    }
}

BOOST_AUTO_TEST_CASE(a_shape_that_cannot_work_is_rejected_with_the_reason) {
    const auto with = [](auto change) {
        tla_topology_shape shape = kernbench();
        change(shape);
        return refusal(shape);
    };
    using shape = tla_topology_shape;
    BOOST_CHECK_EQUAL(with([](shape &s) { set(s.pe_places, "r0c0 r0c1 r1c4 r1c5 r4c0 r4c1 r5c4 r6c5"); }),
                      "PE 7 at r6c5 is outside the mesh of 6 rows and 6 columns");
    BOOST_CHECK_EQUAL(with([](shape &s) { set(s.pe_places, "r0c0 r0c1 r1c4 r1c5 r2c3 r4c1 r5c4 r5c5"); }),
                      "PE 4 at r2c3 is in the hole of the mesh: name the place of a router");
    BOOST_CHECK_EQUAL(with([](shape &s) { set(s.pe_places, "r0c0 r0c1 r1c4 r0c1 r4c0 r4c1 r5c4 r5c5"); }),
                      "PE 1 and PE 3 are both at r0c1: give them different routers");
    BOOST_CHECK_EQUAL(with([](shape &s) { set(s.pe_places, "r0c0 r0c1"); }), "places for 2 PEs, but a cube has 8");
    BOOST_CHECK_EQUAL(with([](shape &s) { s.mesh_rows = s.mesh_columns = 2; }),
                      "8 PEs of a cube: must be at most as many as its routers, 4");
    BOOST_CHECK_EQUAL(with([](shape &s) { set(s.m_cpu_place, "r0c9"); }),
                      "the M_CPU at r0c9 is outside the mesh of 6 rows and 6 columns");
    BOOST_CHECK_EQUAL(with([](shape &s) { set(s.sram_place, "r3c3"); }),
                      "the SRAM at r3c3 is in the hole of the mesh: name the place of a router");
    BOOST_CHECK_EQUAL(with([](shape &s) { set(s.mesh_hole, "r0c2..r5c2"), set(s.m_cpu_place, "r0c1"); }),
                      "connection 1 of side N at r0c2 is in the hole of the mesh: name the place of a router");
    BOOST_CHECK_EQUAL(with([](shape &s) {
                          set(s.mesh_hole, "r0c2..r5c2");
                          set(s.m_cpu_place, "r0c1");
                          set(s.connection_places, "0 1 4 5");
                      }),
                      "the hole covers all rows: r0c1 and r0c3 cannot reach each other");
    BOOST_CHECK_EQUAL(with([](shape &s) { set(s.mesh_hole, "r3c3..r2c2"); }),
                      "hole r3c3..r2c2: write the upper left corner, then the lower right corner");
    BOOST_CHECK_EQUAL(with([](shape &s) { set(s.mesh_hole, "r5c5..r6c6"); }),
                      "hole r5c5..r6c6 reaches outside the mesh of 6 rows and 6 columns");
    BOOST_CHECK_EQUAL(with([](shape &s) { set(s.connection_places, "0 2 3"); }),
                      "places for 3 connections, but a side has 4");
    BOOST_CHECK_EQUAL(with([](shape &s) { set(s.connection_places, "0 2 3 6"); }),
                      "connection 3 of side E at r6c5 is outside the mesh of 6 rows and 6 columns");
    BOOST_CHECK_EQUAL(with([](shape &s) { set(s.phy_faces, "cube0.W cube16.N"); }),
                      "cube16.N: the cube must be 0 .. 15");
    BOOST_CHECK_EQUAL(with([](shape &s) { set(s.phy_faces, "cube0.E"); }),
                      "cube0.E faces cube1: name a side at the edge of the cubes");
    BOOST_CHECK_EQUAL(with([](shape &s) { set(s.phy_faces, "cube0.N cube1.N cube0.N"); }), "cube0.N appears twice");
    BOOST_CHECK_EQUAL(with([](shape &s) {
                          s.sip_topology = TLA_SIPS_MESH;
                          s.sip_grid_width = 3;
                      }),
                      "a grid of width 3 for 2 SIPs: all rows must be complete");
    BOOST_CHECK_EQUAL(with([](shape &s) { s.router_bandwidth = 0; }),
                      "link between sip0.cube0.r0c0 and sip0.cube0.r0c1: the bandwidth must be above 0");
    BOOST_CHECK_EQUAL(with([](shape &s) { s.cube_mesh_width = 5; }), "the shape has a number out of range");
}

BOOST_AUTO_TEST_CASE(invalid_nodes_and_links_are_rejected_and_change_nothing) {
    tla_topology *made = nullptr;
    BOOST_CHECK_EQUAL(tla_topology_create(1, 17, 1, &made), TLA_INVALID_ARGUMENT);
    BOOST_REQUIRE_EQUAL(tla_topology_create(1, 2, 2, &made), TLA_OK);
    const topology_owner t(made);
    tla_error error{};
    const auto add = [&](const string &name, tla_node_kind kind) {
        tla_topology_node node{};
        set(node.name, name);
        node.kind = kind;
        return tla_topology_add_node(made, &node, &error);
    };
    BOOST_CHECK_EQUAL(add("host", TLA_NODE_HOST), TLA_OK);
    BOOST_CHECK_EQUAL(add("sip0.cube1.pe1", TLA_NODE_PE), TLA_OK);
    BOOST_CHECK_EQUAL(add("anything", TLA_NODE_ROUTER), TLA_OK);
    BOOST_CHECK_EQUAL(add("sip0.cube1.pe1", TLA_NODE_ROUTER), TLA_OVERLAP);
    BOOST_CHECK_EQUAL(string(error.text), "node \"sip0.cube1.pe1\" appears twice");
    BOOST_CHECK_EQUAL(add("sip0.cube1.pe2", TLA_NODE_PE), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(string(error.text),
                      "unknown node \"sip0.cube1.pe2\" of kind pe: the platform has nodes up to sip0.cube1.pe1");
    for (const string name : {"sip0.cube1.pe01", "sip0.cube1.hbm_ctrl.pe1", "pe1", "sip0.pe0", "sip0.cube1.pe1x"})
        BOOST_CHECK_EQUAL(add(name, TLA_NODE_PE), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(add("a b", TLA_NODE_ROUTER), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(add("", TLA_NODE_ROUTER), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_topology_node_count(made), 3u);

    const auto link = [&](std::uint32_t from, std::uint32_t to, std::uint64_t bandwidth) {
        tla_topology_link l{};
        l.from = from;
        l.to = to;
        l.bandwidth = bandwidth;
        return tla_topology_add_link(made, &l, &error);
    };
    BOOST_CHECK_EQUAL(link(0, 3, 1), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(link(1, 1, 1), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(link(0, 1, 0), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_topology_link_count(made), 0u);
    BOOST_CHECK_EQUAL(link(0, 1, 1), TLA_OK);
    BOOST_CHECK_EQUAL(tla_topology_link_count(made), 2u);
    BOOST_CHECK_EQUAL(tla_topology_check(made, &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(string(error.text), "missing node sip0.pcie_ep: the platform needs it");
}

BOOST_AUTO_TEST_CASE(parts_that_cannot_reach_each_other_are_named) {
    tla_topology *made = nullptr;
    BOOST_REQUIRE_EQUAL(tla_topology_create(1, 1, 1, &made), TLA_OK);
    const topology_owner t(made);
    tla_error error{};
    const std::vector<std::pair<string, tla_node_kind>> nodes{{"host", TLA_NODE_HOST},
                                                              {"sip0.pcie_ep", TLA_NODE_PCIE_EP},
                                                              {"sip0.io_cpu", TLA_NODE_IO_CPU},
                                                              {"sip0.cube0.pe0", TLA_NODE_PE},
                                                              {"sip0.cube0.hbm_ctrl.pe0", TLA_NODE_HBM_CTRL},
                                                              {"sip0.cube0.m_cpu", TLA_NODE_M_CPU},
                                                              {"sip0.cube0.sram", TLA_NODE_SRAM}};
    for (const auto &[name, kind] : nodes) {
        tla_topology_node node{};
        set(node.name, name);
        node.kind = kind;
        BOOST_REQUIRE_EQUAL(tla_topology_add_node(made, &node, &error), TLA_OK);
    }
    const auto link = [&](std::uint32_t from, std::uint32_t to) {
        tla_topology_link l{};
        l.from = from;
        l.to = to;
        l.bandwidth = 1;
        BOOST_REQUIRE_EQUAL(tla_topology_add_link(made, &l, &error), TLA_OK);
    };
    for (std::uint32_t node = 1; node < 7; node++)
        if (node != 4) link(node, node == 5 ? 3 : node - 1); // all but the slice
    link(6, 3);
    BOOST_CHECK_EQUAL(tla_topology_check(made, &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(
        string(error.text),
        "host and sip0.cube0.hbm_ctrl.pe0 cannot reach each other: links from the first reach only 6 of 7 nodes");
    link(4, 6);
    BOOST_CHECK_EQUAL(tla_topology_check(made, &error), TLA_OK);
}
