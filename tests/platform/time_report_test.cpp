// Where a report says that the time of kernels went: all of it, to the picosecond, along a path without gaps.
#include "platform/run_report.hpp"
#include "unit/seeded_random.hpp"

#include <algorithm>
#include <map>

namespace {

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";

std::map<std::string, std::int64_t> kinds_of(const json_t *object) {
    std::map<std::string, std::int64_t> sums;
    std::size_t i = 0;
    json_t *row = nullptr;
    json_array_foreach(json_object_get(object, "went"), i, row) {
        BOOST_CHECK_GT(number(row, "ps"), 0);
        sums[json_string_value(json_object_get(row, "kind"))] += number(row, "ps");
        if (json_object_get(row, "unit_ps")) BOOST_CHECK_LE(number(row, "unit_ps"), number(row, "ps"));
    }
    return sums;
}

std::int64_t sum(const std::map<std::string, std::int64_t> &kinds, const std::vector<std::string> &of) {
    std::int64_t total = 0;
    for (const auto &[kind, ps] : kinds)
        if (of.empty() || std::find(of.begin(), of.end(), kind) != of.end()) total += ps;
    return total;
}

void check_accounts(const report &r, const std::string &what) {
    BOOST_TEST_CONTEXT(what) {
        BOOST_REQUIRE_MESSAGE(r.run.status == 0, r.run.err);
        std::size_t i = 0;
        json_t *row = nullptr;
        std::int64_t last_ps = 0;
        json_array_foreach(r.list("kernels"), i, row) {
            const auto kinds = kinds_of(row);
            BOOST_CHECK_EQUAL(sum(kinds, {}), number(row, "end_ps") - number(row, "start_ps"));
            BOOST_CHECK_EQUAL(sum(kinds, {"other"}), 0);
            // What the kernel itself has measured around its calls.
            const std::int64_t allocation = sum(kinds, {"alloc", "alloc_queue"}),
                               messages = sum(kinds, {"message", "message_wait", "message_credit"});
            BOOST_CHECK_GE(allocation, number(row, "device_alloc_ps")); // and slots that others allocate for messages
            BOOST_CHECK_GE(allocation + messages, number(row, "device_alloc_ps") + number(row, "message_ps"));
            if (number(row, "message_ps") == 0) BOOST_CHECK_EQUAL(allocation, number(row, "device_alloc_ps"));
            BOOST_CHECK_LE(sum(kinds, {"issue", "lookup", "walk", "fault", "move", "link", "bank", "tcm"}),
                           number(row, "dma_ps"));
            last_ps = std::max(last_ps, number(row, "end_ps"));
        }
        const json_t *const path = json_object_get(r.json.get(), "critical_path");
        BOOST_CHECK_EQUAL(number(path, "end_ps"), last_ps);
        BOOST_CHECK_EQUAL(sum(kinds_of(path), {}), last_ps);
        std::map<std::string, std::int64_t> together;
        std::int64_t at_ps = 0;
        json_array_foreach(json_object_get(path, "segments"), i, row) {
            BOOST_CHECK_EQUAL(number(row, "begin_ps"), at_ps);
            at_ps = number(row, "end_ps");
            const auto kinds = kinds_of(row);
            BOOST_CHECK_EQUAL(sum(kinds, {}), at_ps - number(row, "begin_ps"));
            for (const auto &[kind, ps] : kinds)
                together[kind] += ps;
        }
        BOOST_CHECK_EQUAL(at_ps, last_ps);
        BOOST_CHECK(together == kinds_of(path));
        BOOST_CHECK_EQUAL(sum(together, {"message_wait"}), 0); // the path goes to who made the others wait
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(shares_of_every_kernel_are_its_time_to_the_picosecond) {
    for (const std::string &kernel : kernel_names())
        check_accounts(run(npu_small, {"--kernel", kernel}), kernel);
}

BOOST_AUTO_TEST_CASE(shares_are_the_time_whatever_the_platform_is_like) {
    const std::vector<std::vector<const char *>> choices{
        {"mmu.walk=ideal", "mmu.walk=flat", "mmu.walk=memory", "mmu.unmapped=demand"},
        {"mmu.page_size=64 KiB", "mmu.page_size=2 MiB"},
        {"controller.cost.profile=fw_list", "controller.cost.node=3 ns", "controller.free_list=hbm"},
        {"dma.chunk=4 KiB", "dma.chunk=64 B", "dma.outstanding=1", "dma.outstanding=3"},
        {"hbm.timing=hbm3", "hbm.timing=hbm2", "hbm.pseudo_channels=4"},
        {"pe.dispatch=0 ns", "pe.dispatch=7 ns"},
        {"messages.memory=tcm", "messages.memory=hbm", "messages.memory=sram", "messages.slots=1"},
        {"system.pes_per_cube=2", "system.pes_per_cube=4"}};
    const std::vector<std::string> kernels = kernel_names();
    seeded_random random(19);
    for (int round = 0; round < 60; round++) {
        std::vector<std::string> arguments{"--kernel", kernels[random.between(0, kernels.size() - 1)]};
        std::string what = arguments.back();
        for (const auto &choice : choices) {
            if (random.one_in(3)) continue;
            arguments.insert(arguments.end(), {"--set", choice[random.between(0, choice.size() - 1)]});
            what += " " + arguments.back();
        }
        check_accounts(run(npu_small, arguments), what);
    }
}

// A ring of messages: the path goes from PE to PE, and is not longer than the run.
BOOST_AUTO_TEST_CASE(the_critical_path_follows_messages_to_their_senders) {
    const report r = run(npu_small, {"--kernel", "ring"});
    json_t *const segments = json_object_get(json_object_get(r.json.get(), "critical_path"), "segments");
    std::map<std::string, int> visits;
    std::string before;
    std::size_t i = 0;
    json_t *row = nullptr;
    json_array_foreach(segments, i, row) {
        const std::string where = json_string_value(json_object_get(row, "where"));
        BOOST_CHECK_EQUAL(where == "host", i == 0);
        BOOST_CHECK_NE(where, before);
        before = where;
        visits[where]++;
    }
    BOOST_CHECK_EQUAL(visits.size(), 5u); // the host and all four
    BOOST_CHECK_EQUAL(before, json_string_value(json_object_get(json_object_get(r.json.get(), "critical_path"), "pe")));
}

// Whatever ends a kernel, its time has gone somewhere; who waits in vain has waited for a message.
BOOST_AUTO_TEST_CASE(kernels_that_are_ended_have_whole_accounts_too) {
    const scratch_directory scratch;
    const std::string silent = write_silent_kernel(scratch);
    for (const std::string &kernel : {std::string("gemm"), std::string("matmul_composite"), std::string("ring"),
                                      std::string("transformer_block"), silent}) {
        const report r = run(npu_small, {"--kernel", kernel, "--set", "pe.time_limit=900 ns"});
        BOOST_CHECK_EQUAL(r.run.status, 1);
        std::size_t i = 0;
        json_t *row = nullptr;
        json_array_foreach(r.list("kernels"), i, row) {
            auto kinds = kinds_of(row);
            BOOST_CHECK_EQUAL(sum(kinds, {}), number(row, "end_ps") - number(row, "start_ps"));
            if (kernel == silent) BOOST_CHECK_EQUAL(kinds["message"], 0);
        }
    }
}

// With one slot everybody waits for credits, which the path follows to the receive that gave them.
BOOST_AUTO_TEST_CASE(the_critical_path_follows_credits_to_the_receivers) {
    const report r = run(npu_small, {"--kernel", "ring", "--set", "messages.slots=1"});
    std::int64_t credits = 0;
    std::size_t i = 0;
    json_t *row = nullptr;
    json_array_foreach(r.list("kernels"), i, row) credits += kinds_of(row)["message_credit"];
    json_t *const path = json_object_get(r.json.get(), "critical_path");
    BOOST_CHECK_GT(credits, 4 * 400000);
    BOOST_CHECK_LT(kinds_of(path)["message_credit"], 100000); // until slots have been asked for, and are told of
    BOOST_CHECK_GT(json_array_size(json_object_get(path, "segments")), 20u);
}

// Messages of many pieces, each of which waits for the credit of the one before.
BOOST_AUTO_TEST_CASE(the_report_merges_the_beginning_of_a_path_of_many_messages) {
    const report r =
        run(npu_small, {"--kernel", "ring", "--set", "messages.slots=1", "--set", "messages.slot_size=64 B"});
    check_accounts(r, "ring in pieces of 64 bytes");
    const json_t *const segments = json_object_get(json_object_get(r.json.get(), "critical_path"), "segments");
    BOOST_CHECK_EQUAL(json_array_size(segments), 1000u);
    BOOST_CHECK_EQUAL(json_string_value(json_object_get(json_array_get(segments, 0), "where")), "several");
}

// Without walks there are none, with them there are, and the account of nothing else knows of them.
BOOST_AUTO_TEST_CASE(walks_banks_and_links_stand_under_their_names) {
    const auto of_first = [](const report &r) { return json_array_get(r.list("kernels"), 0); };
    const report none = run(npu_small, {"--kernel", "gemm", "--set", "mmu.walk=ideal"}),
                 walks =
                     run(npu_small, {"--kernel", "gemm", "--set", "mmu.walk=memory", "--set", "mmu.page_size=4 KiB"});
    BOOST_CHECK_EQUAL(kinds_of(of_first(none))["walk"], 0);
    BOOST_CHECK_GT(kinds_of(of_first(walks))["walk"], 1000000);
    bool bank = false, link = false;
    std::size_t i = 0;
    json_t *row = nullptr;
    json_array_foreach(json_object_get(of_first(walks), "went"), i, row) {
        const std::string kind = json_string_value(json_object_get(row, "kind"));
        const json_t *const place = json_object_get(row, "place");
        BOOST_CHECK_EQUAL(json_is_string(place), kind == "bank" || kind == "link");
        if (!place) continue;
        bank |= contains(json_string_value(place), "hbm_ctrl");
        link |= contains(json_string_value(place), " -> ");
        BOOST_CHECK_EQUAL(json_is_integer(json_object_get(row, "channel")), kind == "bank");
    }
    BOOST_CHECK(bank && link);
}
