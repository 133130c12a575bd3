// `tlmalloc topology`: totals, every term of a path, pictures, and files that are written, read and refused.
#include "platform/command_line.hpp"

namespace {

const std::string kernbench = TLMALLOC_SOURCE_DIR "/configs/kernbench.yaml";

std::size_t count(const std::string &text, const std::string &part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        found++;
    return found;
}

bool graphviz_is_here() {
    if (std::system("command -v neato >/dev/null 2>&1") == 0) return true;
    BOOST_TEST_MESSAGE("test skipped: neato is not here");
    return false;
}

} // namespace

BOOST_AUTO_TEST_CASE(nodes_and_links_are_counted_by_kind) {
    const command_result run = run_tlmalloc({"topology", kernbench});
    BOOST_CHECK_EQUAL(run.status, 0);
    BOOST_CHECK_EQUAL(run.err, "");
    BOOST_CHECK_EQUAL(
        run.out,
        "2 SIPs x 16 cubes x 8 PEs: 256 PEs; paths are straight\n"
        "\n"
        "nodes                             count   overhead\n"
        "router                             1024   2 ns\n"
        "pe                                  256   0 ns\n"
        "hbm_ctrl                            256   0 ns\n"
        "m_cpu                                32   0 ns\n"
        "sram                                 32   0 ns\n"
        "conn                                544   0 ns\n"
        "ucie                                128   8 ns\n"
        "io_ucie                               8   8 ns\n"
        "io_noc                                2   0 ns\n"
        "io_cpu                                2   0 ns\n"
        "pcie_ep                               2   5 ns\n"
        "switch                                1   5 ns\n"
        "host                                  1   0 ns\n"
        "total                              2288\n"
        "\n"
        "links, both ways                  count   bandwidth                  length                 total, one "
        "direction\n"
        "router, router                     1536   256 GB/s                   3 mm                   393.2 TB/s\n"
        "router, pe                          256   256 GB/s                   0 mm                   65.5 TB/s\n"
        "router, hbm_ctrl                    256   256 GB/s                   0 mm                   65.5 TB/s\n"
        "router, m_cpu                        32   256 GB/s                   0 mm                   8.2 TB/s\n"
        "router, sram                         32   128 GB/s                   0 mm                   4.1 TB/s\n"
        "router, conn                        512   128 GB/s                   1500 um                65.5 TB/s\n"
        "conn, ucie                          512   128 GB/s                   0 mm                   65.5 TB/s\n"
        "conn, io_ucie                        32   768 GB/s                   0 mm                   24.6 TB/s\n"
        "conn, io_noc                         32   768 GB/s                   0 mm                   24.6 TB/s\n"
        "ucie, ucie                           48   512 GB/s                   1 mm                   24.6 TB/s\n"
        "ucie, io_ucie                         8   512 GB/s                   1 mm                   4.1 TB/s\n"
        "io_noc, io_cpu                        2   768 GB/s                   0 mm                   1.5 TB/s\n"
        "io_noc, pcie_ep                       2   768 GB/s                   0 mm                   1.5 TB/s\n"
        "pcie_ep, switch                       2   512 GB/s                   0 mm                   1.0 TB/s\n"
        "pcie_ep, host                         2   64 GB/s                    0 mm                   0.1 TB/s\n"
        "total                              3264\n");
}

BOOST_AUTO_TEST_CASE(a_path_is_printed_with_every_term) {
    const command_result run =
        run_tlmalloc({"topology", kernbench, "--path", "sip0.cube0.pe1", "sip0.cube0.hbm_ctrl.pe0"});
    BOOST_CHECK_EQUAL(run.status, 0);
    BOOST_CHECK_EQUAL(
        run.out, "sip0.cube0.pe1 to sip0.cube0.hbm_ctrl.pe0: 16 KiB in 64 flits, 3 links, without other traffic\n"
                 "\n"
                 "ns                                         overhead           fill           wire   link\n"
                 "sip0.cube0.pe1                                    -          1.000              -   256 GB/s, 0 mm\n"
                 "sip0.cube0.r0c1                               2.000          1.000          0.030   256 GB/s, 3 mm\n"
                 "sip0.cube0.r0c0                               2.000          1.000              -   256 GB/s, 0 mm\n"
                 "sip0.cube0.hbm_ctrl.pe0                           -              -              -\n"
                 "the first flit                                4.000          3.000          0.030\n"
                 "\n"
                 "the first flit                                                                              7.030\n"
                 "the other flits, after the first at the slowest link                             +         63.000\n"
                 "total                                                                            =         70.030\n");
    // FROM and TO before CONFIG, what stores and forwards, what is hidden; KernBench's 4 KiB: 57.5 + 8 of commit.
    const command_result host =
        run_tlmalloc({"topology", "--path", "sip0.pcie_ep", "sip0.cube0.hbm_ctrl.pe0", kernbench, "--bytes", "4 KiB"});
    BOOST_CHECK_EQUAL(host.status, 0);
    BOOST_CHECK_MESSAGE(contains(host.out,
                                 "sip0.pcie_ep                                  5.000          0.334          "
                                 "    -   768 GB/s, 0 mm; stores and forwards\n"),
                        host.out);
    BOOST_CHECK_MESSAGE(contains(host.out, " -          2.000\ntotal"), host.out);
    BOOST_CHECK_MESSAGE(contains(host.out, "=         57.527\n"), host.out);
    const command_result message =
        run_tlmalloc({"topology", kernbench, "--path", "sip0.cube0.hbm_ctrl.pe0", "sip0.cube0.pe0", "--bytes", "0"});
    BOOST_CHECK_MESSAGE(contains(message.out, "a message without data, 2 links") &&
                            contains(message.out, "=          2.000\n"),
                        message.out);
    // A flit that is not full takes the time of its own bytes.
    const command_result small =
        run_tlmalloc({"topology", kernbench, "--path", "sip0.cube0.hbm_ctrl.pe0", "sip0.cube0.pe0", "--bytes", "64"});
    BOOST_CHECK_MESSAGE(contains(small.out, "64 B in 1 flit, 2 links") &&
                            contains(small.out, "sip0.cube0.hbm_ctrl.pe0                           -          0.250"),
                        small.out);
    const command_result once = run_tlmalloc({"topology", kernbench, "--set", "links.transport=once", "--path",
                                              "sip0.cube0.pe1", "sip0.cube0.hbm_ctrl.pe0"});
    BOOST_CHECK_EQUAL(
        once.out,
        "sip0.cube0.pe1 to sip0.cube0.hbm_ctrl.pe0: 16 KiB as one item, 3 links, without other traffic\n"
        "\n"
        "ns                                         overhead           fill           wire   link\n"
        "sip0.cube0.pe1                                    -              -              -   256 GB/s, 0 mm\n"
        "sip0.cube0.r0c1                               2.000              -          0.030   256 GB/s, 3 mm\n"
        "sip0.cube0.r0c0                               2.000              -              -   256 GB/s, 0 mm\n"
        "sip0.cube0.hbm_ctrl.pe0                           -              -              -\n"
        "the item, without its bytes                   4.000              -          0.030\n"
        "\n"
        "the item, without its bytes                                                                 4.030\n"
        "the item, on the slowest link                                                    +         64.000\n"
        "total                                                                            =         68.030\n");
    const command_result collected = run_tlmalloc(
        {"topology", kernbench, "--set", "links.transport=once", "--path", "sip0.pcie_ep", "sip0.cube0.hbm_ctrl.pe0"});
    BOOST_CHECK_MESSAGE(!contains(collected.out, "stores and forwards"), collected.out);
    const command_result still = run_tlmalloc({"topology", kernbench, "--path", "host", "host"});
    BOOST_CHECK_MESSAGE(contains(still.out, "0 links") && contains(still.out, "=              -\n"), still.out);
}

BOOST_AUTO_TEST_CASE(routing_and_shapes_come_from_the_configuration) {
    const auto routers = [](const std::string &setting) {
        const command_result run = run_tlmalloc(
            {"topology", kernbench, "--set", setting, "--path", "sip0.cube0.pe0", "sip0.cube15.hbm_ctrl.pe7"});
        BOOST_CHECK_EQUAL(run.status, 0);
        return count(run.out, ".r0c") + count(run.out, ".r1c") + count(run.out, ".r2c") + count(run.out, ".r3c") +
               count(run.out, ".r4c") + count(run.out, ".r5c");
    };
    BOOST_CHECK_EQUAL(routers("links.routing=straight"), 42u);
    BOOST_CHECK_EQUAL(routers("links.routing=free_ports"), 9u);
    BOOST_CHECK_EQUAL(routers("links.routing=shortest"), 13u);
    const command_result ring =
        run_tlmalloc({"topology", kernbench, "--set", "system.sip_topology=ring", "--set", "system.sips=4", "--set",
                      "links.flit=4 KiB", "--path", "sip0.pcie_ep", "sip3.pcie_ep"});
    BOOST_CHECK_MESSAGE(contains(ring.out, "16 KiB in 4 flits, 1 links"), ring.out);
}

BOOST_AUTO_TEST_CASE(a_file_that_is_written_is_the_same_fabric_when_it_is_named) {
    scratch_directory scratch;
    const command_result written = run_tlmalloc({"topology", kernbench, "--yaml"});
    BOOST_CHECK_EQUAL(written.status, 0);
    const std::string file = scratch.write("fabric.yaml", written.out);
    const std::string named = "system.topology_file=" + file;
    const command_result again = run_tlmalloc({"topology", kernbench, "--set", named, "--yaml"});
    BOOST_CHECK_EQUAL(again.status, 0);
    BOOST_CHECK(again.out == written.out);
    const std::vector<std::string> path{"--path", "sip0.cube3.pe5", "sip1.cube9.hbm_ctrl.pe2", "--bytes", "10 KiB"};
    std::vector<std::string> of_shape{"topology", kernbench}, of_file{"topology", kernbench, "--set", named};
    of_shape.insert(of_shape.end(), path.begin(), path.end());
    of_file.insert(of_file.end(), path.begin(), path.end());
    BOOST_CHECK_EQUAL(run_tlmalloc(of_shape).out, run_tlmalloc(of_file).out);
    BOOST_CHECK(contains(run_tlmalloc({"topology", kernbench, "--set", named}).out, "nodes and links of " + file));

    // A link is cut: every command tells so.
    std::string cut = written.out;
    const std::size_t at = cut.find("  - {between: sip1.cube4.r4c1 sip1.cube4.hbm_ctrl.pe5");
    BOOST_REQUIRE(at != std::string::npos);
    cut.erase(at, cut.find('\n', at) + 1 - at);
    scratch.write("cut.yaml", cut);
    const std::string config =
        scratch.write("config.yaml", "system: {sips: 2, cube_mesh_width: 4, cube_mesh_height: 4, "
                                     "pes_per_cube: 8,\n  topology_file: cut.yaml}\n");
    for (const std::string command : {"topology", "check", "run"}) {
        const command_result run = run_tlmalloc({command, config});
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_EQUAL(run.out, "");
        BOOST_CHECK_EQUAL(
            run.err,
            scratch.path("cut.yaml") +
                ": error: host and sip1.cube4.hbm_ctrl.pe5 cannot reach each other: links from the first reach only "
                "2287 of 2288 nodes\n" +
                config +
                ":2:18: error: system.topology_file: found \"cut.yaml\", expected a file with a valid topology\n");
    }
    const command_result over =
        run_shell("\"$tlmalloc\" topology '" + kernbench + "' --set '" + named + "' --yaml >> '" + file + "'");
    BOOST_CHECK_EQUAL(over.status, 2); // its own input
    BOOST_CHECK(contains(over.err, "standard output"));
}

BOOST_AUTO_TEST_CASE(a_run_on_a_listed_fabric_is_that_on_its_shape) {
    scratch_directory scratch;
    const std::string small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";
    const std::string file = scratch.write("fabric.yaml", run_tlmalloc({"topology", small, "--yaml"}).out);
    const std::string shape = scratch.path("a.vcd"), listed = scratch.path("b.vcd"), slower = scratch.path("c.vcd");
    const std::string named = "system.topology_file=" + file;
    BOOST_CHECK_EQUAL(run_tlmalloc({"run", small, "--vcd", shape}).status, 0);
    BOOST_CHECK_EQUAL(run_tlmalloc({"run", small, "--set", named, "--vcd", listed}).status, 0);
    BOOST_CHECK_EQUAL(run_tlmalloc({"run", small, "--set", "links.flit=1 KiB", "--vcd", slower}).status, 0);
    BOOST_CHECK(read_text(shape) == read_text(listed));
    BOOST_CHECK(read_text(shape) != read_text(slower));
}

BOOST_AUTO_TEST_CASE(a_picture_has_every_node_where_it_stands) {
    if (!graphviz_is_here()) return;
    scratch_directory scratch;
    const std::string svg = scratch.path("f.svg"), second = scratch.path("g.svg");
    const std::vector<std::string> command{"topology", kernbench, "--path", "sip0.cube0.pe0", "sip0.cube0.hbm_ctrl.pe7",
                                           "--svg"};
    for (const std::string &file : {svg, second}) {
        std::vector<std::string> words = command;
        words.push_back(file);
        BOOST_CHECK_EQUAL(run_tlmalloc(words).status, 0);
    }
    const std::string text = read_text(svg);
    BOOST_CHECK_EQUAL(count(text, "class=\"node\""), 2288u);
    BOOST_CHECK_EQUAL(count(text, "class=\"edge\""), 3264u);
    BOOST_CHECK_EQUAL(count(text, "stroke=\"#cb181d\""), 12u);
    BOOST_CHECK(text == read_text(second));
    BOOST_CHECK_EQUAL(run_tlmalloc({"topology", kernbench, "--svg", svg}).status, 0);
    BOOST_CHECK_EQUAL(count(read_text(svg), "stroke=\"#cb181d\""), 0u);
}

BOOST_AUTO_TEST_CASE(without_graphviz_no_file_is_left) {
    scratch_directory scratch;
    const std::string svg = scratch.path("f.svg");
    const command_result run =
        run_shell("PATH=/no/such/folder \"$tlmalloc\" topology '" + kernbench + "' --svg '" + svg + "'");
    BOOST_CHECK_EQUAL(run.status, 1);
    BOOST_CHECK_EQUAL(run.out, "");
    BOOST_CHECK_EQUAL(run.err, "tlmalloc topology: --svg: neato is missing: install Graphviz (the package graphviz)\n");
    BOOST_CHECK(!std::filesystem::exists(svg));
}

BOOST_AUTO_TEST_CASE(invalid_words_are_rejected_with_the_closest_match) {
    const auto refused = [](std::vector<std::string> words, const std::string &says) {
        words.insert(words.begin(), {"topology", kernbench});
        const command_result run = run_tlmalloc(words);
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_EQUAL(run.out, "");
        BOOST_CHECK_MESSAGE(contains(run.err, says), run.err);
    };
    refused({"--path", "sip0.cube0.pe9", "host"}, "--path: unknown node \"sip0.cube0.pe9\", did you mean ");
    refused({"--path", "host", "sip0.cube0.hbm_crtl.pe3"}, "did you mean \"sip0.cube0.hbm_ctrl.pe3\"?");
    refused({"--path", "host"}, "--path: found 'host' alone, expected FROM TO");
    refused({"--bytes", "1 KiB"}, "--bytes needs --path");
    refused({"--path", "host", "host", "--bytes", "2 GiB"}, "--bytes: found '2 GiB', expected at most 1 GiB");
    refused({"--path", "host", "host", "--yaml"}, "--yaml and --path exclude each other");
    refused({"other.yaml"}, "found a second argument 'other.yaml', expected one CONFIG");
    refused({"--set", "cube.pe_places=r0c0"},
            "--set: error: \"cube.pe_places=r0c0\": places for 1 PEs, but a cube has 8");
    refused({"--svg", kernbench}, "is the input");
    BOOST_CHECK_EQUAL(run_tlmalloc({"topology"}).status, 2);
}
