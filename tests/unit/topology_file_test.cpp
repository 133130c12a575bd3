// Topology files: what is printed reads back the same, and what is wrong is told with its place.
#include "config_parsing.hpp"
#include "seeded_random.hpp"

using namespace config_parsing;

namespace {

struct topology_end {
    void operator()(tla_topology *topology) const { tla_topology_destroy(topology); }
};
using topology_owner = std::unique_ptr<tla_topology, topology_end>;

tla_topology_shape small() {
    tla_topology_shape shape;
    tla_topology_defaults(&shape);
    shape.pes_per_cube = 1;
    return shape;
}

// One cube with one PE, without a mesh: everything hangs on one router.
const string nodes = "nodes:\n"
                     "  - {name: host, kind: host}\n"
                     "  - {name: sip0.pcie_ep, kind: pcie_ep, overhead: 5 ns, store_and_forward: true}\n"
                     "  - {name: sip0.io_cpu, kind: io_cpu}\n"
                     "  - {name: middle, kind: router, x: 1 mm, y: 1500 um}\n"
                     "  - {name: sip0.cube0.pe0, kind: pe}\n"
                     "  - {name: sip0.cube0.hbm_ctrl.pe0, kind: hbm_ctrl}\n"
                     "  - {name: sip0.cube0.m_cpu, kind: m_cpu}\n"
                     "  - {name: sip0.cube0.sram, kind: sram}\n";
const string links = "links:\n"
                     "  - {between: host sip0.pcie_ep, bandwidth: 64 GB/s}\n"
                     "  - {between: sip0.pcie_ep middle, bandwidth: 512 GB/s, length: 25 mm}\n"
                     "  - {between: sip0.io_cpu middle, bandwidth: 512 GB/s, length: 25 mm, routing: 1 mm}\n"
                     "  - {between: sip0.cube0.pe0 middle, bandwidth: 256 GB/s}\n"
                     "  - {between: sip0.cube0.hbm_ctrl.pe0 middle, bandwidth: 256 GB/s}\n"
                     "  - {between: sip0.cube0.m_cpu middle, bandwidth: 256 GB/s}\n"
                     "  - {between: sip0.cube0.sram middle, bandwidth: 128 GB/s}\n";

topology_owner load(const string &text, const tla_topology_shape &shape, strings &findings, tla_status expected) {
    scratch_directory scratch;
    const string path = scratch.write("t.yaml", text);
    tla_topology *made = nullptr;
    BOOST_CHECK_EQUAL(tla_topology_load(path.c_str(), &shape, &made, collect, &findings), expected);
    for (string &finding : findings)
        if (finding.rfind(path, 0) == 0) finding.erase(0, path.size() + 1);
    BOOST_CHECK_EQUAL(made != nullptr, expected == TLA_OK);
    return topology_owner(made);
}

void check_refused(const string &text, const strings &expected) {
    strings findings;
    load(text, small(), findings, TLA_SYNTAX);
    BOOST_CHECK_EQUAL_COLLECTIONS(findings.begin(), findings.end(), expected.begin(), expected.end());
}

} // namespace

BOOST_AUTO_TEST_CASE(a_memory_of_the_host_is_listed_where_it_has_one) {
    tla_topology_shape with_memory = small();
    with_memory.host_memory = true;
    strings findings;
    load(nodes + links, with_memory, findings, TLA_SYNTAX);
    BOOST_REQUIRE_EQUAL(findings.size(), 1u);
    BOOST_CHECK_EQUAL(findings[0], "0:0: missing node host.memory: host_memory.capacity above 0 B needs it");
    const string more_nodes = nodes + "  - {name: host.memory, kind: host_memory}\n",
                 more_links = links + "  - {between: host.memory host, bandwidth: 512 GB/s}\n";
    findings.clear();
    const topology_owner made = load(more_nodes + more_links, with_memory, findings, TLA_OK);
    BOOST_REQUIRE(made);
    const uint32_t node = tla_topology_node_of(made.get(), TLA_NODE_HOST_MEMORY, 0, 0, 0);
    BOOST_REQUIRE(node != TLA_NO_NODE);
    BOOST_CHECK_EQUAL(tla_topology_nodes(made.get())[node].name, "host.memory");
    BOOST_CHECK(load(more_nodes + more_links, small(), findings, TLA_OK)); // a memory that is not used
    check_refused(nodes + "  - {name: memory, kind: host_memory}\n" + links,
                  {"10:12: unknown node \"memory\" of kind host_memory: the platform has host.memory"});
}

BOOST_AUTO_TEST_CASE(a_topology_is_read_as_it_is_listed) {
    strings findings;
    const topology_owner t = load(nodes + links, small(), findings, TLA_OK);
    BOOST_REQUIRE(t && findings.empty());
    BOOST_CHECK_EQUAL(tla_topology_node_count(t.get()), 8u);
    BOOST_CHECK_EQUAL(tla_topology_link_count(t.get()), 14u);
    const tla_topology_node &end_point = tla_topology_nodes(t.get())[1], &middle = tla_topology_nodes(t.get())[3];
    BOOST_CHECK(end_point.store_and_forward && end_point.overhead_ps == 5000);
    BOOST_CHECK(!middle.store_and_forward && middle.overhead_ps == 0); // nothing is left of the row before
    BOOST_CHECK(middle.x_um == 1000 && middle.y_um == 1500 && middle.sip == TLA_NO_NODE);
    const tla_topology_link &chosen = tla_topology_links(t.get())[4], &plain = tla_topology_links(t.get())[2];
    BOOST_CHECK(chosen.length_um == 25000 && chosen.routing == 1000 && chosen.latency_ps == 250);
    BOOST_CHECK(plain.length_um == 25000 && plain.routing == 25000 && plain.bandwidth == 512000000000);
    BOOST_CHECK_EQUAL(tla_topology_node_of(t.get(), TLA_NODE_HBM_CTRL, 0, 0, 0), 5u);
}

BOOST_AUTO_TEST_CASE(a_printed_topology_reads_back_the_same) {
    seeded_random random(20261122);
    for (int round = 0; round < 12; round++) {
        tla_topology_shape shape = small();
        shape.sips = static_cast<std::uint32_t>(random.between(1, 3));
        shape.cube_mesh_width = static_cast<std::uint32_t>(random.between(1, 3));
        shape.cube_mesh_height = static_cast<std::uint32_t>(random.between(1, 3));
        shape.pes_per_cube = static_cast<std::uint32_t>(random.between(1, 16));
        shape.routing = static_cast<tla_routing>(random.between(0, TLA_ROUTING_COUNT - 1));
        shape.sip_topology = static_cast<tla_sip_topology>(random.between(0, TLA_SIP_TOPOLOGY_COUNT - 1));
        shape.router_pitch_um = random.between(0, 5000);
        shape.pe_bandwidth = random.between(1, 1000) * 1234567890;
        tla_topology *made = nullptr;
        BOOST_REQUIRE_EQUAL(tla_topology_of_shape(&shape, &made, nullptr), TLA_OK);
        const topology_owner first(made);
        const string text = printed([&](FILE *out) { return tla_topology_print(first.get(), out); });
        strings findings;
        const topology_owner second = load(text, shape, findings, TLA_OK);
        BOOST_REQUIRE(second);
        BOOST_REQUIRE_EQUAL(tla_topology_node_count(first.get()), tla_topology_node_count(second.get()));
        BOOST_REQUIRE_EQUAL(tla_topology_link_count(first.get()), tla_topology_link_count(second.get()));
        for (std::uint32_t i = 0; i < tla_topology_node_count(first.get()); i++) {
            const tla_topology_node &a = tla_topology_nodes(first.get())[i], &b = tla_topology_nodes(second.get())[i];
            BOOST_REQUIRE(std::strcmp(a.name, b.name) == 0 && a.kind == b.kind && a.sip == b.sip && a.cube == b.cube &&
                          a.index == b.index && a.x_um == b.x_um && a.y_um == b.y_um &&
                          a.overhead_ps == b.overhead_ps && a.store_and_forward == b.store_and_forward &&
                          a.rank == b.rank);
        }
        for (std::uint32_t i = 0; i < tla_topology_link_count(first.get()); i++) {
            const tla_topology_link &a = tla_topology_links(first.get())[i], &b = tla_topology_links(second.get())[i];
            BOOST_REQUIRE(a.from == b.from && a.to == b.to && a.length_um == b.length_um && a.routing == b.routing &&
                          a.routing_at_end == b.routing_at_end && a.latency_ps == b.latency_ps &&
                          a.bandwidth == b.bandwidth);
        }
    }
}

BOOST_AUTO_TEST_CASE(a_link_that_is_cut_names_the_parts_that_cannot_reach_each_other) {
    string cut = links;
    cut.erase(cut.find("  - {between: sip0.cube0.hbm_ctrl.pe0"),
              cut.find("  - {between: sip0.cube0.m_cpu") - cut.find("  - {between: sip0.cube0.hbm_ctrl.pe0"));
    check_refused(nodes + cut, {"0:0: host and sip0.cube0.hbm_ctrl.pe0 cannot reach each other: links from the first "
                                "reach only 7 of 8 nodes"});
    check_refused(nodes,
                  {"0:0: host and sip0.pcie_ep cannot reach each other: links from the first reach only 1 of 8 nodes"});
    check_refused("", {"0:0: missing node host: the platform needs it"});
}

BOOST_AUTO_TEST_CASE(invalid_nodes_are_reported_with_their_place) {
    check_refused(
        nodes +
            "  - {name: middle, kind: router}\n  - {kind: router}\n  - {name: a, kind: rooter, x: 3}\n"
            "  - {name: sip0.cube1.pe0, kind: pe}\n  - {name: a b, kind: router}\n  - 7\n" +
            links,
        {"10:12: node \"middle\" appears twice", "11:5: missing key name",
         "12:21: kind: found \"rooter\", expected router or pe or hbm_ctrl or m_cpu or sram or conn or ucie or "
         "io_ucie or io_noc or io_cpu or pcie_ep or switch or host or host_memory, did you mean \"router\"?",
         "12:32: x: found \"3\", which has no unit, expected a length with a unit (um, mm)",
         "13:12: unknown node \"sip0.cube1.pe0\" of kind pe: the platform has nodes up to sip0.cube0.pe0",
         "14:12: invalid name or kind of a node: the name must have letters, digits and _ - . and at most 47 "
         "characters",
         "15:5: nodes: found \"7\", expected a mapping with keys such as name"});
}

BOOST_AUTO_TEST_CASE(invalid_links_are_reported_with_their_place) {
    check_refused(
        nodes + links +
            "  - {between: sip0.cube0.pe0, bandwidth: 1 GB/s}\n"
            "  - {between: sip0.cube0.pe1 midle, bandwidth: 1 GB/s}\n"
            "  - {between: middle middle, bandwidth: 1 GB/s}\n"
            "  - {between: host middle}\n"
            "  - {between: host middle, bandwidth: 0 B/s, lenght: 1 mm}\n",
        {"18:15: between: found \"sip0.cube0.pe0\", expected the names of two nodes with a space between them",
         "19:15: unknown node \"sip0.cube0.pe1\", did you mean \"sip0.cube0.pe0\"?",
         "19:15: unknown node \"midle\", did you mean \"middle\"?",
         "20:15: link from middle to itself: must connect two nodes", "21:5: missing key bandwidth",
         "22:39: bandwidth: found \"0 B/s\", expected 1 MB/s .. 1000 TB/s",
         "22:46: unknown key \"lenght\", expected between, length, bandwidth, routing or routing_at_end, did you mean "
         "\"length\"?"});
}

BOOST_AUTO_TEST_CASE(a_configuration_names_the_file_beside_it) {
    scratch_directory scratch;
    scratch.write("fabric.yaml", nodes + links);
    const string config = scratch.write("c.yaml", "system: {pes_per_cube: 1, topology_file: fabric.yaml}\n");
    tla_config c{};
    strings findings;
    BOOST_REQUIRE_EQUAL(tla_config_load(config.c_str(), nullptr, 0, &c, collect, &findings), TLA_OK);
    tla_topology *made = nullptr;
    BOOST_REQUIRE_EQUAL(tla_config_topology(&c, &made, collect, &findings), TLA_OK);
    BOOST_CHECK_EQUAL(tla_topology_node_count(made), 8u);
    tla_topology_destroy(made);

    const string small_file = scratch.write("d.yaml", "system:\n  pes_per_cube: 2\n  topology_file: fabric.yaml\n");
    BOOST_CHECK_EQUAL(tla_config_load(small_file.c_str(), nullptr, 0, &c, collect, &findings), TLA_SYNTAX);
    const string folder = config.substr(0, config.size() - 6);
    const strings expected{
        folder + "fabric.yaml:0:0: missing node sip0.cube0.pe1: the platform needs it",
        small_file + ":3:18: system.topology_file: found \"fabric.yaml\", expected a file with a valid topology"};
    BOOST_CHECK_EQUAL_COLLECTIONS(findings.begin(), findings.end(), expected.begin(), expected.end());

    scratch.write("fabric.yaml", "nodes: 3\n"); // it has changed
    findings.clear();
    BOOST_CHECK_EQUAL(tla_config_topology(&c, &made, collect, &findings), TLA_SYNTAX);
    BOOST_CHECK(!made && findings.size() == 1);
    check_findings("system: {topology_file: /no/such.yaml}\n",
                   {"/no/such.yaml:0:0: cannot be read: No such file or directory",
                    "f:1:25: system.topology_file: found \"/no/such.yaml\", expected a file with a valid topology"});
    tla_config shape = good("");
    BOOST_REQUIRE_EQUAL(tla_config_topology(&shape, &made, nullptr, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_topology_node_count(made), 32 + 2 * 4 + 2 + 4 + 16 + 3 + 5 + 2u);
    tla_topology_destroy(made);
}
