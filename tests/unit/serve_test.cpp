// A run of the serving engine: when things happen, and where the time goes.
#include "scratch_directory.hpp"
#include "serving/serve.h"

namespace {

constexpr std::uint64_t ms = 1000000;

struct run {
    run(std::vector<tla_serving_request> requests, const tla_scheduler_rules &rules, const std::string &text) {
        const tla_serving_requests all{requests.data(), requests.size(), 0, false, nullptr};
        const tla_serving_settings none{};
        tla_step_law law{};
        BOOST_REQUIRE_EQUAL(tla_step_law_parse(text.c_str(), &none, &law, nullptr), TLA_OK);
        tla_serve_watch watch{};
        watch.context = this;
        watch.step = [](void *context, const tla_served_step *step) {
            static_cast<run *>(context)->steps.push_back(*step);
        };
        watch.blocks = [](void *context, std::uint64_t now_ns, const tla_block_decision *d) {
            static_cast<run *>(context)->decisions.push_back({now_ns, *d});
        };
        status = tla_serve(&all, &rules, &law, &watch, &done, &result, &error);
        tla_step_law_clear(&law);
    }
    run(const run &) = delete;
    ~run() { tla_serve_result_clear(&result); }
    std::uint64_t end_ms(std::size_t step) const { return steps.at(step).end_ns / ms; }
    tla_status status;
    tla_error error{};
    std::size_t done = 0;
    tla_serve_result result{};
    std::vector<tla_served_step> steps;
    std::vector<std::pair<std::uint64_t, tla_block_decision>> decisions;
};

tla_serving_request request(std::uint64_t arrival_ns, std::uint32_t prompt, std::uint32_t output) {
    return {0, arrival_ns, prompt, output, nullptr, 0};
}

tla_scheduler_rules rules(std::uint32_t blocks, std::uint32_t depth = 2) {
    return {blocks, 4, 100, 8, 0, depth, true, true};
}

} // namespace

// The second step is formed when the first begins; who comes meanwhile waits for the rest of it and the whole next one.
BOOST_AUTO_TEST_CASE(a_step_is_formed_when_its_predecessor_begins) {
    const run r({request(0, 8, 3), request(ms / 2, 4, 1), request(10 * ms, 4, 2)}, rules(20), "fixed 1 ms");
    BOOST_REQUIRE_EQUAL(r.status, TLA_OK);
    const tla_served *s = r.result.requests;
    BOOST_CHECK_EQUAL(s[0].first_ns, 1 * ms);
    BOOST_CHECK_EQUAL(s[0].last_ns, 3 * ms);
    BOOST_CHECK_EQUAL(s[1].queued_ns, 1 * ms);
    BOOST_CHECK_EQUAL(s[1].scheduled_ns, 1 * ms);
    BOOST_CHECK_EQUAL(s[1].first_ns, 3 * ms);
    BOOST_CHECK_EQUAL(s[1].last_ns, 3 * ms);
    BOOST_CHECK_EQUAL(s[1].all.compute_ns, 2 * ms);
    BOOST_CHECK_EQUAL(s[2].queued_ns, 10 * ms);
    BOOST_CHECK_EQUAL(s[2].last_ns, 12 * ms);
    BOOST_CHECK_EQUAL(r.result.end_ns, 12 * ms);
    BOOST_CHECK_EQUAL(r.result.generated_tokens, 6u);
    BOOST_CHECK_EQUAL(r.done, 3u);
    BOOST_REQUIRE_EQUAL(r.steps.size(), 5u);
    BOOST_CHECK_EQUAL(r.steps[0].prompt_tokens, 8u);
    BOOST_CHECK_EQUAL(r.steps[2].prompt_tokens, 4u);
    BOOST_CHECK_EQUAL(r.steps[2].generated_tokens, 2u);
    BOOST_CHECK_EQUAL(r.steps[2].running + r.steps[2].used_blocks, 0u);
    BOOST_CHECK_EQUAL(r.steps[0].used_blocks, 3u); // the decode of the second step has its block
}

BOOST_AUTO_TEST_CASE(with_one_step_in_flight_a_step_is_formed_when_its_predecessor_ends) {
    const run r({request(0, 8, 2), request(ms / 2, 4, 1)}, rules(20, 1), "fixed 1 ms");
    BOOST_REQUIRE_EQUAL(r.status, TLA_OK);
    BOOST_CHECK_EQUAL(r.result.requests[1].queued_ns, 1 * ms);
    BOOST_CHECK_EQUAL(r.result.requests[1].first_ns, 2 * ms);
    BOOST_CHECK_EQUAL(r.result.end_ns, 2 * ms);
}

// Two requests of three blocks at the end on a cache of five: the younger one is preempted and waits.
BOOST_AUTO_TEST_CASE(a_preempted_request_waits_and_its_time_adds_up) {
    const run r({request(0, 8, 5), request(0, 8, 5)}, rules(6, 1), "fixed 1 ms");
    BOOST_REQUIRE_EQUAL(r.status, TLA_OK);
    BOOST_CHECK_EQUAL(r.result.scheduler.preemptions, 1u);
    BOOST_CHECK_EQUAL(r.result.scheduler.refused_running, 1u);
    BOOST_CHECK_GT(r.result.scheduler.refused_gate, 0u);
    const tla_served &first = r.result.requests[0], &second = r.result.requests[1];
    BOOST_CHECK_EQUAL(first.last_ns, 5 * ms);
    BOOST_CHECK_EQUAL(second.preemptions, 1u);
    BOOST_CHECK_EQUAL(second.first_ns, 1 * ms);
    BOOST_CHECK_EQUAL(second.waited_first_ns, 0u);
    BOOST_CHECK_EQUAL(second.waited_ns, 4 * ms);
    BOOST_CHECK_EQUAL(second.last_ns, 9 * ms);
    BOOST_CHECK_EQUAL(second.waited_ns + second.all.compute_ns, second.last_ns - second.queued_ns);
    BOOST_CHECK_EQUAL(r.result.scheduler.recomputed_tokens, 1u); // its two blocks are there still
    BOOST_CHECK_EQUAL(r.result.blocks.peak, 5u);
}

// One block of 4 holds 3 tokens for a millisecond and 4 for the next; then two hold 5.
BOOST_AUTO_TEST_CASE(use_and_fragmentation_are_means_over_time) {
    const run r({request(0, 3, 3)}, rules(11, 1), "fixed 1 ms");
    BOOST_REQUIRE_EQUAL(r.status, TLA_OK);
    BOOST_CHECK_CLOSE(r.result.mean_use, (1 + 1 + 2) / 3.0 / 10, 1e-9);
    BOOST_CHECK_CLOSE(r.result.mean_internal_fragmentation, (1 / 4.0 + 0 + 3 / 8.0) / 3, 1e-9);
}

BOOST_AUTO_TEST_CASE(a_watcher_gets_every_decision_about_blocks) {
    const run r({request(0, 8, 2)}, rules(6, 1), "fixed 1 ms");
    BOOST_REQUIRE_EQUAL(r.status, TLA_OK);
    std::vector<tla_block_decision_kind> kinds;
    for (const auto &[now_ns, d] : r.decisions)
        kinds.push_back(d.kind);
    const std::vector<tla_block_decision_kind> expected = {
        TLA_BLOCKS_LOOKED_UP, TLA_BLOCKS_ALLOCATED, TLA_BLOCKS_ENTERED, TLA_BLOCKS_ALLOCATED, TLA_BLOCKS_RELEASED};
    BOOST_CHECK(kinds == expected);
    BOOST_CHECK_EQUAL(r.decisions[1].second.count, 2u);
    BOOST_CHECK_EQUAL(r.decisions[1].second.work.slots, 2u);
    BOOST_CHECK_EQUAL(r.decisions[3].first, 1 * ms);
    BOOST_CHECK_EQUAL(r.decisions[4].second.count, 3u);
    BOOST_CHECK_EQUAL(r.decisions[4].second.work.slots, 3u);
}

BOOST_AUTO_TEST_CASE(a_time_that_leaves_the_clock_is_rejected) {
    const run r({request(0, 8, 2000)}, rules(600), "fixed 9000000 s");
    BOOST_CHECK_EQUAL(r.status, TLA_LIMIT);
    BOOST_CHECK_EQUAL(std::string(r.error.text), "a step ends later than 2^63 ns after the first arrival");
    BOOST_CHECK(!r.result.requests);
}
