// A serving engine over other managers of memory than that of blocks, and what their decisions take.
#include "scratch_directory.hpp"
#include "seeded_random.hpp"
#include "serving/priced_law.h"
#include "serving/serve.h"

namespace {

constexpr std::uint64_t us = 1000, ms = 1000 * us;

tla_scheduler_rules rules(std::uint32_t blocks, tla_kv_memory_kind kind, std::uint32_t block_tokens = 4) {
    tla_scheduler_rules r{blocks, 4, 100, 8, 0, 2, true, true, TLA_KV_VLLM, true, {}};
    r.memory.kind = kind;
    r.memory.block_tokens = block_tokens;
    r.memory.tensors = 2;
    r.memory.page_ptes = 1;
    return r;
}

struct run {
    run(std::vector<tla_serving_request> requests, const tla_scheduler_rules &rules,
        const tla_serving_prices *prices = nullptr) {
        const tla_serving_requests all{requests.data(), requests.size(), 0, false, nullptr};
        const tla_serving_settings none{};
        tla_step_law law{};
        BOOST_REQUIRE_EQUAL(tla_step_law_parse("fixed 1 ms", &none, &law, nullptr), TLA_OK);
        tla_serve_watch watch{};
        watch.context = this;
        watch.step = [](void *context, const tla_served_step *step) {
            static_cast<run *>(context)->steps.push_back(*step);
        };
        priced.inner = law;
        if (prices) priced.prices = *prices;
        const tla_step_law with_prices = tla_priced_law_of(&priced);
        status = tla_serve(&all, &rules, &with_prices, &watch, nullptr, &result, &error);
        tla_step_law_clear(&law);
    }
    run(const run &) = delete;
    ~run() { tla_serve_result_clear(&result); }
    tla_status status;
    tla_error error{};
    tla_priced_law priced{};
    tla_serve_result result{};
    std::vector<tla_served_step> steps;
};

std::vector<tla_serving_request> random_requests(seeded_random &random, std::size_t count) {
    std::vector<tla_serving_request> all;
    std::uint64_t arrival = 0;
    for (std::size_t i = 0; i < count; i++) {
        arrival += random.between(0, 8 * ms);
        all.push_back({i, arrival, static_cast<std::uint32_t>(random.between(1, 60)),
                       static_cast<std::uint32_t>(random.between(1, 30)), nullptr, 0});
    }
    return all;
}

} // namespace

// Whether an engine serves a request alone.
static bool is_served(const tla_scheduler_rules &r, std::vector<tla_serving_request> requests) {
    const tla_serving_requests all{requests.data(), requests.size(), 0, false, nullptr, {}};
    tla_scheduler *scheduler = nullptr;
    tla_error error{};
    const tla_status status = tla_scheduler_create(&r, &all, nullptr, &scheduler, &error);
    tla_scheduler_destroy(scheduler);
    BOOST_CHECK_MESSAGE(status == TLA_OK || error.text[0], "a refusal without a text");
    return status == TLA_OK;
}

// Every manager, with and without a longest request: what is left out is what no engine serves, and nothing else.
BOOST_AUTO_TEST_CASE(requests_that_cannot_be_served_are_left_out_and_counted) {
    seeded_random random(4242);
    std::size_t left_out = 0, whole = 0;
    for (int round = 0; round < 600; round++) {
        const int kind = static_cast<int>(random.between(0, TLA_KV_MEMORY_COUNT)); // the last: blocks
        tla_scheduler_rules r = rules(static_cast<std::uint32_t>(random.between(2, 24)),
                                      static_cast<tla_kv_memory_kind>(kind < TLA_KV_MEMORY_COUNT ? kind : 0));
        r.has_memory = kind < TLA_KV_MEMORY_COUNT;
        if (random.between(0, 1)) r.request_tokens = random.between(1, 100);
        std::vector<tla_serving_request> requests = random_requests(random, random.between(1, 12));
        const std::vector<tla_serving_request> before = requests;
        tla_serving_requests all{requests.data(), requests.size(), 0, false, nullptr, {7, 8, 0, 0}};
        tla_error error{};
        BOOST_TEST_CONTEXT("round " << round << ", kind " << kind) {
            BOOST_REQUIRE_EQUAL(tla_scheduler_skip(&r, &all, &error), TLA_OK);
            std::vector<tla_serving_request> kept(requests.begin(),
                                                  requests.begin() + static_cast<std::ptrdiff_t>(all.count));
            BOOST_CHECK_EQUAL(all.skipped.no_output, 7u);
            BOOST_CHECK_EQUAL(all.skipped.no_prompt, 8u);
            BOOST_CHECK_EQUAL(all.count + all.skipped.too_long + all.skipped.too_large, before.size());
            if (!kept.empty()) {
                BOOST_CHECK(is_served(r, kept));
                BOOST_CHECK_EQUAL(kept[0].arrival_ns, 0u);
            }
            std::size_t next = 0;
            std::uint64_t too_long = 0, offset = 0;
            for (const tla_serving_request &request : before) {
                if (next < kept.size() && kept[next].id == request.id) {
                    if (next == 0) offset = request.arrival_ns;
                    BOOST_CHECK_EQUAL(kept[next++].arrival_ns, request.arrival_ns - offset);
                    continue;
                }
                too_long += r.request_tokens && request.prompt_tokens + request.output_tokens > r.request_tokens;
                std::vector<tla_serving_request> one_more = kept;
                one_more.push_back(request);
                BOOST_CHECK(!is_served(r, one_more));
            }
            BOOST_CHECK_EQUAL(next, kept.size());
            BOOST_CHECK_EQUAL(all.skipped.too_long, too_long);
            left_out += before.size() - kept.size();
            whole += kept.size();
        }
    }
    BOOST_CHECK_GT(left_out, 500u);
    BOOST_CHECK_GT(whole, 500u);
}

BOOST_AUTO_TEST_CASE(every_manager_serves_all_requests_and_has_everything_back) {
    seeded_random random(21);
    const std::vector<tla_serving_request> requests = random_requests(random, 200);
    std::uint64_t output = 0;
    for (const tla_serving_request &r : requests)
        output += r.output_tokens;
    for (int kind = 0; kind < TLA_KV_MEMORY_COUNT; kind++) {
        const auto manager = static_cast<tla_kv_memory_kind>(kind);
        const run r(requests, rules(65, manager, 4));
        BOOST_REQUIRE_MESSAGE(!r.status, r.error.text);
        BOOST_CHECK_EQUAL(r.result.scheduler.finished, 200u);
        BOOST_CHECK_EQUAL(r.result.generated_tokens, output);
        BOOST_CHECK_EQUAL(r.result.blocks.referenced, 0u);
        BOOST_CHECK_EQUAL(r.result.blocks.free, 64u);
        BOOST_CHECK_LE(r.result.blocks.peak, 64u);
        BOOST_CHECK_GT(r.result.blocks.peak, 32u);
        if (tla_kv_memory_reserves(manager)) BOOST_CHECK_EQUAL(r.result.scheduler.preemptions, 0u);
        if (!tla_kv_memory_reserves(manager)) BOOST_CHECK_EQUAL(r.result.scheduler.refused_fragmented, 0u);
        for (const tla_served_step &step : r.steps)
            BOOST_REQUIRE_LE(step.used_blocks, step.usable_blocks);
    }
}

// Who has what is decided as by the manager of blocks that finds nothing again.
BOOST_AUTO_TEST_CASE(blocks_out_of_a_queue_are_served_as_blocks_without_an_index) {
    seeded_random random(22);
    for (int i = 0; i < 20; i++) {
        const std::vector<tla_serving_request> requests = random_requests(random, 100);
        const auto blocks = static_cast<std::uint32_t>(random.between(30, 80));
        tla_scheduler_rules plain = rules(blocks, TLA_KV_MEMORY_PAGED);
        plain.has_memory = plain.index = false;
        const run expected(requests, plain), paged(requests, rules(blocks, TLA_KV_MEMORY_PAGED)),
            mapped(requests, rules(blocks, TLA_KV_MEMORY_MAPPED));
        BOOST_REQUIRE_EQUAL(expected.steps.size(), paged.steps.size());
        BOOST_REQUIRE_EQUAL(expected.steps.size(), mapped.steps.size());
        for (std::size_t step = 0; step < expected.steps.size(); step++)
            for (const run *other : {&paged, &mapped}) {
                BOOST_REQUIRE_EQUAL(expected.steps[step].end_ns, other->steps[step].end_ns);
                BOOST_REQUIRE_EQUAL(expected.steps[step].running, other->steps[step].running);
                BOOST_REQUIRE_EQUAL(expected.steps[step].used_blocks, other->steps[step].used_blocks);
            }
        BOOST_CHECK_EQUAL(expected.result.scheduler.preemptions, paged.result.scheduler.preemptions);
    }
}

BOOST_AUTO_TEST_CASE(a_request_that_does_not_fit_alone_is_rejected_before_any_request_runs) {
    const run r({{7, 0, 40, 9, nullptr, 0}}, rules(15, TLA_KV_MEMORY_ORACLE)); // 56 tokens: 32, 16 and 8
    BOOST_CHECK_EQUAL(r.status, TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(r.error.text,
                      std::string("request 7: 40 + 9 tokens do not fit into a memory of 56 tokens under oracle: raise "
                                  "gpu_blocks, or use --skip-unservable"));
    const run fits({{7, 0, 40, 9, nullptr, 0}}, rules(15, TLA_KV_MEMORY_FIRST_FIT));
    BOOST_CHECK_EQUAL(fits.status, TLA_OK);
    const run pages({{7, 0, 1, 9, nullptr, 0}}, rules(15, TLA_KV_MEMORY_MAPPED, 64)); // not a single page
    BOOST_CHECK_EQUAL(pages.status, TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(pages.error.text, std::string("a memory of 56 tokens is invalid for the mapped manager"));
}

// Of roots of 32, 16 and 8 tokens the first request takes the largest: the second finds 24 free, and no piece for
// its 18.
BOOST_AUTO_TEST_CASE(a_region_that_fails_for_lack_of_one_piece_is_counted_as_fragmented) {
    const run r({{0, 0, 20, 4, nullptr, 0}, {1, 0, 12, 6, nullptr, 0}}, rules(15, TLA_KV_MEMORY_ORACLE));
    BOOST_REQUIRE_EQUAL(r.status, TLA_OK);
    BOOST_CHECK_GT(r.result.scheduler.refused_fragmented, 0u);
    BOOST_CHECK_EQUAL(r.result.scheduler.refused_fragmented, r.result.scheduler.refused_admission);
    BOOST_CHECK_CLOSE(r.result.mean_unused_waiting, 24.0 / 56, 1e-9);
    const run full({{0, 0, 20, 4, nullptr, 0}, {1, 0, 20, 6, nullptr, 0}}, rules(15, TLA_KV_MEMORY_ORACLE));
    BOOST_CHECK_EQUAL(full.result.scheduler.refused_fragmented, 0u); // 26 are not free at all
    BOOST_CHECK_GT(full.result.scheduler.refused_admission, 0u);
}

// A command for the region and one to give it back; a page in each of two tensors for the first tokens.
BOOST_AUTO_TEST_CASE(a_step_waits_for_what_was_decided_before_it) {
    tla_serving_prices prices{};
    prices.command.fixed_ps = 10 * us * 1000;
    prices.mapping.fixed_ps = 1 * us * 1000;
    prices.mapping.chunk_ps = 100 * us * 1000;
    prices.driver_alloc_ps = 200 * us * 1000;
    prices.driver_free_ps = 50 * us * 1000;
    const run region({{0, 0, 8, 3, nullptr, 0}}, rules(15, TLA_KV_MEMORY_FIRST_FIT), &prices);
    BOOST_REQUIRE_EQUAL(region.status, TLA_OK);
    BOOST_CHECK_EQUAL(region.result.requests[0].first_ns, ms + 210 * us);
    BOOST_CHECK_EQUAL(region.result.requests[0].last_ns, 3 * ms + 210 * us);
    BOOST_CHECK_EQUAL(region.result.requests[0].first.allocation_ns, 210 * us);
    BOOST_CHECK_EQUAL(region.priced.commands, 2u);
    BOOST_CHECK_EQUAL(region.priced.all_allocation_ps, (210 + 60) * us * 1000);
    const run mapped({{0, 0, 8, 3, nullptr, 0}}, rules(15, TLA_KV_MEMORY_MAPPED, 8), &prices);
    BOOST_REQUIRE_EQUAL(mapped.status, TLA_OK);
    BOOST_CHECK_EQUAL(mapped.result.requests[0].first.mapping_ns, 201 * us);
    BOOST_CHECK_EQUAL(mapped.result.requests[0].all.mapping_ns, 402 * us); // the ninth token has a page of its own
    BOOST_CHECK_EQUAL(mapped.priced.all_mapping_ps, (402 + 401) * us * 1000);
}

BOOST_AUTO_TEST_CASE(a_driver_takes_its_time_for_an_allocation_that_fails) {
    tla_priced_law law{};
    law.prices.driver_alloc_ps = 200'000;
    law.prices.driver_free_ps = 50'000;
    const tla_step_law with_prices = tla_priced_law_of(&law);
    tla_block_decision decision{};
    std::uint64_t all_ps = 0;
    for (const auto &[kind, takes_ps] : {std::pair{TLA_BLOCKS_REFUSED, 200'000},
                                         {TLA_BLOCKS_ALLOCATED, 200'000},
                                         {TLA_BLOCKS_RELEASED, 50'000},
                                         {TLA_BLOCKS_MOVED_OUT, 0}}) {
        decision.kind = kind;
        with_prices.blocks(with_prices.context, &decision);
        BOOST_CHECK_EQUAL(law.all_allocation_ps, all_ps += static_cast<std::uint64_t>(takes_ps));
    }
}

BOOST_AUTO_TEST_CASE(no_manager_holds_a_request_that_is_longer_than_the_longest) {
    for (int kind = 0; kind < TLA_KV_MEMORY_COUNT; kind++) {
        const tla_kv_memory_config config{static_cast<tla_kv_memory_kind>(kind), 128, 60, 2, 16, 2, 1};
        tla_kv_memory *made = nullptr;
        BOOST_REQUIRE_EQUAL(tla_kv_memory_create(&config, &made), TLA_OK);
        const tla_serving_request longest{0, 0, 50, 10, nullptr, 0}, longer{1, 0, 50, 11, nullptr, 0};
        tla_work work{};
        BOOST_CHECK_EQUAL(tla_kv_memory_hold(made, 0, &longest, 1, &work), TLA_OK);
        BOOST_CHECK_EQUAL(tla_kv_memory_hold(made, 1, &longer, 1, &work), TLA_LIMIT);
        BOOST_CHECK_EQUAL(tla_kv_memory_get_stats(made).too_long, 1u);
        tla_kv_memory_destroy(made);
    }
}

BOOST_AUTO_TEST_CASE(settings_name_a_manager_and_pages_hold_whole_tokens) {
    const auto load = [](const std::string &text, tla_serving_settings &settings) {
        std::string found;
        const auto take = [](void *context, const tla_config_finding *finding) {
            *static_cast<std::string *>(context) += finding->text;
        };
        (void)tla_serving_settings_parse(text.data(), text.size(), "s", nullptr, 0, &settings, take, &found);
        return found;
    };
    const std::string model = "gpu_blocks: 20\nlayers: 32\nkv_heads: 8\nhead_dim: 128\n";
    tla_serving_settings s{};
    BOOST_CHECK_EQUAL(load(model, s), "");
    BOOST_CHECK(!s.rules.has_memory);
    BOOST_CHECK_EQUAL(load(model + "kv_memory: oracle\n", s), "");
    BOOST_CHECK(s.rules.has_memory);
    BOOST_CHECK_EQUAL(s.rules.memory.kind, TLA_KV_MEMORY_ORACLE);
    BOOST_CHECK_EQUAL(load(model + "kv_memory: mapped\nkv_page: 2 MiB\n", s), "");
    BOOST_CHECK_EQUAL(s.rules.memory.block_tokens, 1024u);
    BOOST_CHECK_EQUAL(s.rules.memory.tensors, 64u);
    BOOST_CHECK_EQUAL(load(model + "kv_memory: mapped\nkv_page: 3 KiB\n", s),
                      "kv_page: found 3072 bytes, expected a multiple of 2048, the bytes of a token's keys in a layer");
    BOOST_CHECK_EQUAL(load("gpu_blocks: 20\nkv_memory: mapped\n", s),
                      "kv_memory: mapped needs layers, kv_heads and head_dim");
    BOOST_CHECK_EQUAL(
        load(model + "kv_memory: buddies\n", s),
        "kv_memory: found \"buddies\", expected blocks, maximum, power_of_two, oracle, first_fit, paged or "
        "mapped");
}
