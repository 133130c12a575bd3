// The energy of memories, links, MMUs and allocators in a report: every constant counts what the report says of its
// part.
#include "platform/energy_sums.hpp"

#include <map>
#include <sstream>

namespace {

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

using settings = std::vector<std::string>;

// A profile of 1 fJ each, and of 1 pJ for wires, so that the energy of a constant is its count.
std::string profile_of_ones() {
    std::ostringstream text;
    for (int i = 0; i < TLA_PARTS_CONSTANT_COUNT; i++)
        text << tla_parts_constant_name(static_cast<tla_parts_constant>(i)) << ": {energy: 1 "
             << (i == TLA_PARTS_WIRE ? "pJ" : "fJ") << ", standing: assumed, source: a test}\n";
    return text.str();
}

report run_with(const std::string &kernel, const settings &keys) {
    settings words{"--kernel", kernel};
    for (const std::string &key : keys)
        words.insert(words.end(), {"--set", key});
    report result = run(npu_small, words);
    BOOST_REQUIRE_MESSAGE(result.run.status == 0, result.run.err);
    return result;
}

const json_t *parts_of(const report &r) {
    const json_t *const parts = json_object_get(r.list("energy"), "parts");
    const json_t *const last = json_array_get(parts, json_array_size(parts) - 1);
    BOOST_CHECK_EQUAL(text_of(last, "part"), "others");
    return last;
}

std::map<std::string, std::int64_t> constants_of(const report &r) {
    std::map<std::string, std::int64_t> totals;
    std::size_t i;
    json_t *row;
    json_array_foreach(json_object_get(parts_of(r), "constants"), i, row) totals[text_of(row, "constant")] =
        number(row, "total_fj");
    BOOST_CHECK_EQUAL(totals.size(), static_cast<std::size_t>(TLA_PARTS_CONSTANT_COUNT));
    return totals;
}

// 8 * bytes of the kinds of links with these words in their names.
std::int64_t bits_of(const report &r, const settings &words) {
    std::int64_t bits = 0;
    std::size_t i;
    json_t *row;
    json_array_foreach(r.list("link_kinds"), i, row) {
        const std::string kind = text_of(row, "kind");
        for (const std::string &word : words)
            if (kind == word) bits += 8 * number(row, "bytes");
    }
    return bits;
}

} // namespace

BOOST_AUTO_TEST_CASE(each_constant_of_parts_counts_what_the_report_says_of_its_part) {
    scratch_directory scratch;
    const std::string ones = scratch.write("ones.yaml", profile_of_ones());
    for (const settings &more : {settings{"system.sips=2"}, settings{"mmu.walk=flat", "system.cube_mesh_width=2"},
                                 settings{"mmu.walk=memory", "mmu.page_size=4 KiB"}, settings{"messages.memory=sram"}})
        for (const std::string kernel : {"gemm", "ring"}) {
            settings keys = more;
            keys.push_back("system.energy=" + ones);
            const report r = run_with(kernel, keys);
            const std::int64_t total = energy_sums::check_total(parts_of(r));
            BOOST_CHECK_EQUAL(energy_sums::check_total(r.list("energy")), total);
            const auto counts = constants_of(r);
            std::int64_t sum = 0;
            for (const auto &[name, fj] : counts)
                sum += fj;
            BOOST_CHECK_EQUAL(sum, total);
            BOOST_CHECK_EQUAL(counts.at("tcm_read"), r.sum("tcms", "bytes_read"));
            BOOST_CHECK_EQUAL(counts.at("tcm_write"), r.sum("tcms", "bytes_written"));
            BOOST_CHECK_EQUAL(counts.at("sram_read"), r.sum("srams", "bytes_read"));
            BOOST_CHECK_EQUAL(counts.at("m_cpu_write"), r.sum("m_cpu_memories", "bytes_written"));
            BOOST_CHECK_EQUAL(counts.at("tlb_lookup"), r.sum("mmus", "hits") + r.sum("mmus", "misses"));
            BOOST_CHECK_EQUAL(counts.at("ucie"), bits_of(r, {"ucie_to_ucie", "ucie_to_io_ucie", "io_ucie_to_ucie"}));
            BOOST_CHECK_EQUAL(counts.at("pcie"), bits_of(r, {"host_to_pcie_ep", "pcie_ep_to_host", "pcie_ep_to_switch",
                                                             "switch_to_pcie_ep", "pcie_ep_to_pcie_ep"}));
            BOOST_CHECK_GT(counts.at("pcie"), 0);
            BOOST_CHECK_GT(counts.at("wire"), 0);
            const bool in_memory = more.front() == "mmu.walk=memory";
            BOOST_CHECK_EQUAL(counts.at("table_write"),
                              in_memory ? 0 : r.sum("mmus", "maps") + r.sum("mmus", "unmaps"));
            std::int64_t cycles = 0;
            std::size_t i;
            json_t *row;
            json_array_foreach(r.list("controllers"), i, row) cycles += number(row, "busy_ps") / 1000;
            BOOST_CHECK_EQUAL(counts.at("engine_cycle"), cycles);
            BOOST_CHECK_GT(cycles, 0);
            BOOST_CHECK_EQUAL(counts.at("instruction"), 0);
            const auto causes = energy_sums::causes_of(parts_of(r));
            BOOST_CHECK_EQUAL(causes.at("links"), counts.at("wire") + counts.at("router") + counts.at("ucie") +
                                                      counts.at("pcie") + counts.at("host_memory_link"));
            BOOST_CHECK_EQUAL(causes.at("allocator"), counts.at("engine_cycle"));
            BOOST_CHECK_EQUAL(causes.at("mapping"), counts.at("table_write"));
        }
}

BOOST_AUTO_TEST_CASE(parts_and_slices_add_up_and_the_run_prints_both) {
    const report r = run_with("gemm", {"hbm.timing=hbm4", "hbm.energy=hbm4_ayna", "system.energy=published"});
    const std::int64_t slices = energy_sums::check_total(json_array_get(json_object_get(r.list("energy"), "parts"), 0));
    BOOST_CHECK_EQUAL(energy_sums::check_total(r.list("energy")), slices + energy_sums::check_total(parts_of(r)));
    BOOST_CHECK_EQUAL(text_of(parts_of(r), "profile"), "published");
    BOOST_CHECK_MESSAGE(contains(r.run.out, "\nother parts: ") && contains(r.run.out, "\nHBM: "), r.run.out);
    const report alone = run_with("gemm", {"hbm.timing=hbm4", "system.energy=published"});
    BOOST_CHECK(json_equal(parts_of(alone), parts_of(r)));
    BOOST_CHECK_EQUAL(json_array_size(json_object_get(alone.list("energy"), "parts")), 1u);
    BOOST_CHECK_EQUAL(alone.number("sim_time_ps"), run_with("gemm", {"hbm.timing=hbm4"}).number("sim_time_ps"));
}
