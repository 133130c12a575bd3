// `tlmalloc reproduce plan_or_allocate`: the page's table, what must hold between its rows, and rows that cannot be.
#include "platform/command_line.hpp"

#include <cstdio>
#include <jansson.h>
#include <map>
#include <vector>

namespace {

const std::string configs = TLMALLOC_SOURCE_DIR "/configs/";

std::string fixed(double value, int digits) {
    char text[40];
    std::snprintf(text, sizeof text, "%.*f", digits, value);
    return text;
}

// What `tlmalloc reproduce plan_or_allocate` finds: of each row, each figure.
std::map<std::string, std::map<std::string, double>> figures() {
    scratch_directory scratch;
    const command_result run =
        run_tlmalloc({"reproduce", configs + "experiments/plan_or_allocate.yaml", "--json", scratch.path("r.json")});
    BOOST_CHECK_MESSAGE(run.status == 0, run.out + run.err);
    json_t *report = json_load_file(scratch.path("r.json").c_str(), 0, nullptr);
    BOOST_REQUIRE(report);
    json_t *rows = json_object_get(json_array_get(json_object_get(report, "experiments"), 0), "rows"), *row;
    std::map<std::string, std::map<std::string, double>> found;
    std::size_t i;
    json_array_foreach(rows, i, row)
        found[json_string_value(json_object_get(row, "label"))][json_string_value(json_object_get(row, "figure"))] =
            json_number_value(json_object_get(row, "model"));
    json_decref(report);
    return found;
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
                            "with: {network: net.yaml, memory: plan, trace: heap.csv, aged: false}\nrows:\n"
                            "  - {label: a, figure: " +
                            figure + ", with: {" + with + "}, set: {" + set + "}}\n";
    return run_tlmalloc({"reproduce", scratch.write("e.yaml", row)});
}

} // namespace

BOOST_AUTO_TEST_CASE(the_page_has_the_figures_of_the_run_and_the_plan_is_ahead_in_them) {
    const auto found = figures();
    const std::string page = read_text(configs + "experiments/README.md");
    const auto figure = [&](const std::string &row, const char *name) { return found.at(row).at(name); };
    const std::vector<std::pair<const char *, int>> columns = {
        {"whole", 1}, {"kernel", 1},   {"allocation", 1}, {"mapping", 1},  {"freeing", 1},
        {"peak", 0},  {"reserved", 0}, {"tlb_misses", 0}, {"row_hits", 1},
    };
    BOOST_CHECK_EQUAL(found.size(), 13u);
    for (const auto &each : found) {
        const std::string &row = each.first;
        BOOST_CHECK_EQUAL(each.second.size(), columns.size());
        std::string line = "| " + row + " |";
        for (const auto &[name, digits] : columns)
            line += " " + fixed(figure(row, name), digits) + " |";
        BOOST_CHECK_MESSAGE(contains(page, line + "\n"), "not in the page: " << line);
        BOOST_CHECK_LT(figure(row, "kernel"), figure(row, "whole"));
        BOOST_CHECK_LE(figure(row, "peak"), figure(row, "reserved"));
        BOOST_CHECK_GE(figure(row, "peak"), 2 * 64 + 1 + 2 * 16); // what lives at once, at softmax
    }
    // On every heap, with every page: mapped once, a plan's pages stay in the TLBs.
    for (const std::string where : {"", ", aged", ", 2 MiB pages"}) {
        const std::string plan = "planned" + where, each = "first_fit" + where;
        for (const char *name : {"whole", "kernel", "tlb_misses", "allocation", "mapping", "freeing"})
            BOOST_CHECK_MESSAGE(figure(plan, name) < figure(each, name), plan << ": " << name);
        BOOST_CHECK_EQUAL(figure(plan, "freeing"), 0);
        BOOST_CHECK_EQUAL(figure(plan, "peak"), 2 * 64 + 1 + 2 * 16);
    }
    BOOST_CHECK_GT(figure("record table", "peak"), figure("planned", "peak"));
}

BOOST_AUTO_TEST_CASE(every_figure_of_a_small_network_on_every_way_to_memory) {
    for (const char *memory : {"plan", "record_table", "allocate"})
        for (const char *aged : {"false", "true"}) {
            const command_result run = run_row("memory: " + std::string(memory) + ", aged: " + aged, "", "peak");
            BOOST_CHECK_MESSAGE(run.status == 0, run.out + run.err);
            BOOST_CHECK_MESSAGE(contains(run.out, " 16 "), run.out); // y or z, and out
        }
}

BOOST_AUTO_TEST_CASE(an_invalid_row_is_rejected_with_its_place) {
    const auto refused = [](const std::string &with, const std::string &text) {
        const command_result run = run_row(with);
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, text), run.err);
    };
    refused("memory: planned", "memory: found \"planned\", expected plan or record_table or allocate");
    refused("network: wrong.yaml", "wrong.yaml:4:23: inputs: found \"w\", expected inputs, or outputs of earlier ops");
    refused("network: none.yaml", "none.yaml");
    refused("network: heap.csv", "heap.csv:");
    refused("tarce: net.yaml", "unknown parameter tarce of workload network, did you mean \"trace\"?");
}

BOOST_AUTO_TEST_CASE(a_row_that_meets_errors_or_has_no_room_fails) {
    const command_result broken = run_row("memory: plan", "faults.plan: \"uncorrectable rate=1000000\"");
    BOOST_CHECK_NE(broken.status, 0);
    BOOST_CHECK_MESSAGE(!broken.err.empty(), broken.out);
    const command_result small = run_row("memory: allocate", "hbm.capacity_per_cube: 32 KiB");
    BOOST_CHECK_NE(small.status, 0);
    BOOST_CHECK_MESSAGE(contains(small.err, "overflow: requested 12288 bytes"), small.err);
    const command_result no_trace = run_row("trace: net.yaml, aged: true");
    BOOST_CHECK_NE(no_trace.status, 0);
    BOOST_CHECK_MESSAGE(contains(no_trace.err, "net.yaml"), no_trace.err);
}
