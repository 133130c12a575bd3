// `tlmalloc reproduce faults_oversubscription`: the page's table, laws between its rows, and rows that cannot be.
#include "platform/experiment_figures.hpp"
#include "platform/run_report.hpp"

#include <cstdio>
#include <jansson.h>
#include <map>

namespace {

const std::string configs = TLMALLOC_SOURCE_DIR "/configs/";

std::string cell(const char *form, double value) {
    char text[32];
    std::snprintf(text, sizeof text, form, value);
    return std::string(" ") + text + " |";
}

} // namespace

BOOST_AUTO_TEST_CASE(the_page_has_the_price_of_oversubscription_with_both_policies) {
    const row_figures found = all_figures_of(configs + "experiments/faults_oversubscription.yaml");
    const std::string page = read_text(configs + "experiments/README.md");
    for (const std::string policy : {"clock", "lru"}) {
        double before = 0;
        for (const char *ratio : {"1.0", "1.25", "1.5", "1.75", "2.0"}) {
            auto of = found.at(policy + ", " + ratio);
            const double slowdown = of["kernel"] / found.at(policy + ", 1.0").at("kernel");
            const std::string line = "\n| " + policy + ", " + ratio + " |" + cell("%.1f", of["kernel"] / 1e3) +
                                     cell("%.2f", slowdown) + cell("%.0f", of["evictions"]) +
                                     cell("%.0f", of["write_backs"]) + cell("%.0f", of["fetches"]);
            BOOST_CHECK_MESSAGE(contains(page, line), "not in the page: " << line);
            BOOST_CHECK_CLOSE(of["oversubscription"], std::stod(ratio), 1e-9);
            BOOST_CHECK_GT(slowdown, before);
            BOOST_CHECK_LE(of["write_backs"], of["evictions"]);
            BOOST_CHECK_GE(of["fetches"], 210); // every page of the input, at least once
            before = slowdown;
        }
    }
}

BOOST_AUTO_TEST_CASE(kernels_whose_tensors_are_twice_the_size_of_hbm_are_right) {
    const std::string platform = configs + "npu_small.yaml";
    for (const std::string kernel : {"gemm", "layer_norm", "mlp", "transpose", "vector_add"}) {
        const report whole = run(platform, {"--kernel", kernel});
        std::int64_t pages = 0;
        std::size_t i = 0;
        json_t *row = nullptr;
        json_array_foreach(whole.list("tensors"), i, row) pages += (number(row, "bytes") - 1) / 4096 + 1;
        for (const char *policy : {"clock", "lru"})
            for (const char *walk : {"ideal", "flat"}) {
                std::vector<std::string> arguments{"--kernel", kernel};
                for (const std::string &set :
                     {std::string("mmu.eviction=") + policy, std::string("mmu.walk=") + walk,
                      std::string("mmu.unmapped=demand"), std::string("mmu.page_size=4 KiB"),
                      std::string("host_memory.capacity=16 MiB"),
                      "hbm.capacity_per_cube=" + std::to_string(pages / 2 * 4096 / 4 * 4) + " B"})
                    arguments.insert(arguments.end(), {"--set", set});
                const report r = run(platform, arguments);
                BOOST_TEST_CONTEXT(kernel << ", " << policy << ", " << walk) {
                    BOOST_CHECK_MESSAGE(r.run.status == 0, r.run.err);
                    BOOST_CHECK_GT(number(r.list("paging"), "evictions"), 0);
                    BOOST_CHECK_EQUAL(r.sum("mmus", "faults"), 0);
                    BOOST_CHECK_EQUAL(r.number("leaks"), 0);
                }
            }
    }
}

BOOST_AUTO_TEST_CASE(an_invalid_row_of_oversubscription_is_rejected_with_its_place) {
    const auto refused = [](const std::string &with, const std::string &set, const std::string &text) {
        scratch_directory scratch;
        const std::string row = "name: e\nunit: us\nworkload: oversubscription\nplatform: " + configs +
                                "npu_small.yaml\nset: {" + set + "}\nrows:\n  - {label: a, with: {" + with + "}}\n";
        const command_result run = run_tlmalloc({"reproduce", scratch.write("e.yaml", row)});
        BOOST_CHECK_NE(run.status, 0);
        BOOST_CHECK_MESSAGE(contains(run.err, text), run.err);
    };
    const std::string evicts = "mmu.unmapped: demand, host_memory.capacity: 1 MiB, mmu.eviction: lru";
    refused("rows: 4, columns: 4", "mmu.unmapped: demand",
            "e.yaml:7:5: error: mmu.eviction: found off, expected clock or lru");
    refused("rows: 0, columns: 4", evicts, "e.yaml:7:5: error: parameter 'rows' of transpose: found '0'");
    refused("rows: 4, columns: 4", "mmu.eviction: lru", "set mmu.unmapped to demand");
}
