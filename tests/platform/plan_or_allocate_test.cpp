// `tlmalloc reproduce plan_or_allocate`: the page's table, what must hold between its rows, and rows that cannot be.
#include "platform/experiment_figures.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

namespace {

const std::string configs = TLMALLOC_SOURCE_DIR "/configs/";

std::string fixed(double value, int digits) {
    char text[40];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

// An experiment of one row with these parameters and settings, beside a network of two ops.
command_result run_row(const std::string &with, const std::string &set = "", const std::string &figure = "whole") {
    scratch_directory scratch;
    scratch.write("net.yaml", "name: net\ninputs: {x: 8 KiB}\nops:\n"
                              "  - {name: a, inputs: x, outputs: {y: 12 KiB}}\n"
                              "  - {name: v, inputs: y, reshape: z}\n"
                              "  - {name: b, inputs: x z, outputs: {out: 4 KiB}}\noutputs: out\n");
    scratch.write("wrong.yaml", "name: net\ninputs: {x: 8 KiB}\nops:\n  - {name: a, inputs: w, outputs: {y: 4 B}}\n"
                                "outputs: y\n");
    scratch.write("heap.csv", "time_ns,op,id,bytes\n1,alloc,0,4096\n2,alloc,1,4096\n3,free,0,4096\n");
    const std::string row = "name: e\nunit: u\nworkload: network\n"
                            "set: {system.pes_per_cube: 2, hbm.capacity_per_cube: 2 MiB, mmu.page_size: 4 KiB}\n"
                            "with: {network: net.yaml, memory: plan, heap: heap.csv, events: 0}\nrows:\n"
                            "  - {label: a, figure: " +
                            figure + ", with: {" + with + "}, set: {" + set + "}}\n";
    return run_tlmalloc({"reproduce", scratch.write("e.yaml", row)});
}

} // namespace

BOOST_AUTO_TEST_CASE(the_page_has_the_figures_of_the_run_and_the_plan_is_ahead_in_them) {
    const auto found = figures_of({configs + "experiments/plan_or_allocate.yaml"});
    const std::string page = read_text(configs + "experiments/README.md");
    const auto figure = [&](const std::string &row, const char *name) {
        const auto at = found.find(row + ": " + name);
        BOOST_REQUIRE_MESSAGE(at != found.end(), row << ": " << name);
        return at->second.first;
    };
    const std::vector<std::pair<const char *, int>> columns = {
        {"whole", 1}, {"kernel", 1},   {"allocation", 1}, {"mapping", 1},  {"freeing", 1},
        {"peak", 0},  {"reserved", 0}, {"tlb_misses", 0}, {"row_hits", 1},
    };
    std::size_t rows = 0;
    for (const auto &each : found) {
        const std::string row = each.first.substr(0, each.first.find(": "));
        if (each.first != row + ": whole") continue;
        std::string line = "| " + row + " |";
        for (const auto &[name, digits] : columns)
            line += " " + fixed(figure(row, name), digits) + " |";
        BOOST_CHECK_MESSAGE(contains(page, line + "\n"), "not in the page: " << line);
        rows++;
        BOOST_CHECK_LT(figure(row, "kernel"), figure(row, "whole"));
        BOOST_CHECK_LE(figure(row, "peak"), figure(row, "reserved"));
        BOOST_CHECK_GE(figure(row, "peak"), 161);
    }
    BOOST_CHECK_EQUAL(rows * columns.size(), found.size());
    // In every front, on every heap, with every page: mapped once, a plan's pages stay in the TLBs.
    for (const std::string where : {"", ", aged", ", 2 MiB pages"}) {
        const std::string plan = "planned" + where, each = "first_fit" + where;
        for (const char *name : {"whole", "kernel", "tlb_misses", "allocation", "mapping", "freeing"})
            BOOST_CHECK_MESSAGE(figure(plan, name) < figure(each, name), plan << ": " << name);
        BOOST_CHECK_EQUAL(figure(plan, "freeing"), 0);
    }
    BOOST_CHECK_GT(figure("record table", "peak"), figure("planned", "peak"));
}

BOOST_AUTO_TEST_CASE(every_figure_of_a_small_network_on_every_way_to_memory) {
    for (const char *memory : {"plan", "record_table", "allocate"})
        for (const char *style : {"fast", "exact"})
            for (const char *events : {"0", "3"}) {
                const command_result run = run_row("memory: " + std::string(memory) + ", events: " + events,
                                                   "simulation.style: " + std::string(style), "peak");
                BOOST_CHECK_MESSAGE(run.status == 0, run.out + run.err);
                BOOST_CHECK_MESSAGE(contains(run.out, " 16 "), run.out); // y or z, and out
            }
}

BOOST_AUTO_TEST_CASE(a_row_that_cannot_be_is_refused_with_its_place) {
    const auto refused = [](const std::string &with, const std::string &text) {
        const command_result run = run_row(with);
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, text), run.err);
    };
    refused("memory: planned", "memory: found \"planned\", expected plan or record_table or allocate");
    refused("network: wrong.yaml",
            "wrong.yaml:4:23: inputs: found \"w\", expected inputs and what ops further up make");
    refused("network: none.yaml", "none.yaml");
    refused("network: heap.csv", "heap.csv:");
    refused("heap: net.yaml, events: 1", "net.yaml");
    refused("haep: net.yaml", "unknown parameter haep of workload network, did you mean \"heap\"?");
}

BOOST_AUTO_TEST_CASE(a_row_that_meets_errors_or_has_no_room_fails) {
    const command_result broken = run_row("memory: plan", "faults.plan: \"uncorrectable rate=1000000\"");
    BOOST_CHECK_NE(broken.status, 0);
    BOOST_CHECK_MESSAGE(!broken.err.empty(), broken.out);
    const command_result small = run_row("memory: allocate", "hbm.capacity_per_cube: 32 KiB");
    BOOST_CHECK_NE(small.status, 0);
    BOOST_CHECK_MESSAGE(contains(small.err, "overflow: requested 12288 bytes"), small.err);
}
