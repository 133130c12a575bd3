// The scheduler beside the naive one, step by step, and what it refuses.
#include "naive_scheduler.hpp"
#include "sanitized.hpp"
#include "seeded_random.hpp"

#include <map>
#include <string>

namespace {

// Requests in memory; some share prefixes, as conversations do.
struct trace {
    trace(seeded_random &random, const tla_scheduler_rules &rules, std::size_t count) : blocks(count) {
        std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> numbers; // of (predecessor, content)
        const std::uint64_t room = (rules.blocks - 1) * std::uint64_t{rules.block_tokens},
                            families = random.between(1, 6);
        for (std::size_t i = 0; i < count; i++) {
            tla_serving_request r{};
            r.id = i;
            r.prompt_tokens = static_cast<std::uint32_t>(random.between(1, std::max<std::uint64_t>(1, room * 2 / 3)));
            r.output_tokens =
                static_cast<std::uint32_t>(random.between(1, std::max<std::uint64_t>(1, room + 1 - r.prompt_tokens)));
            if (random.one_in(2)) r.output_tokens = std::min(r.output_tokens, 6u);
            std::uint64_t before = random.between(1, families);
            const std::uint64_t shared = random.between(0, 8);
            for (std::uint64_t b = 0; b < (r.prompt_tokens + r.output_tokens) / rules.block_tokens; b++) {
                const std::uint64_t content = b < shared ? 0 : 1 + random.between(0, 2);
                before = numbers.emplace(std::make_pair(before, content), 100 + numbers.size()).first->second;
                blocks[i].push_back(before);
            }
            requests.push_back(r);
        }
        for (std::size_t i = 0; i < count; i++) {
            requests[i].blocks = blocks[i].data();
            requests[i].block_count = static_cast<std::uint32_t>(blocks[i].size());
        }
        all = {requests.data(), count, rules.block_tokens, false, nullptr};
    }
    std::vector<std::vector<std::uint64_t>> blocks;
    std::vector<tla_serving_request> requests;
    tla_serving_requests all{};
};

tla_scheduler_rules random_rules(seeded_random &random) {
    tla_scheduler_rules r{};
    r.blocks = static_cast<std::uint32_t>(random.between(2, 30));
    r.block_tokens = static_cast<std::uint32_t>(random.between(1, 8));
    r.step_tokens = random.between(1, 60);
    r.sequences = static_cast<std::uint32_t>(random.between(1, 9));
    r.depth = static_cast<std::uint32_t>(random.between(1, 2));
    r.index = !random.one_in(4);
    r.gate = !random.one_in(4);
    r.kv_rules = random.one_in(3) ? TLA_KV_LMCACHE : TLA_KV_VLLM;
    if (r.index && random.one_in(2)) r.host_blocks = static_cast<std::uint32_t>(random.between(1, 40));
    if (r.host_blocks && random.one_in(2)) r.host_budget = random.between(1, 12);
    return r;
}

// BOOST_REQUIRE_EQUAL, which takes longer than a step.
#define REQUIRE_SAME(found, expected)                                                                                  \
    do {                                                                                                               \
        if ((found) != (expected)) BOOST_REQUIRE_EQUAL(found, expected);                                               \
    } while (false)

void check_same(const tla_scheduler *s, const naive_scheduler &naive) {
    const tla_scheduler_stats stats = tla_scheduler_get_stats(s);
    REQUIRE_SAME(stats.running, naive.running.size());
    REQUIRE_SAME(stats.waiting, naive.waiting.size());
    REQUIRE_SAME(stats.preemptions, naive.preemptions);
    REQUIRE_SAME(stats.hit_tokens, naive.hits);
    REQUIRE_SAME(stats.host_hit_tokens, naive.host_hits);
    const tla_host_tier_stats host = tla_scheduler_host_stats(s);
    REQUIRE_SAME(host.free + host.cached + host.read, naive.rules.host_blocks);
    REQUIRE_SAME(host.cached + host.read, naive.host.entries.size());
    REQUIRE_SAME(host.read, naive.host.read());
    REQUIRE_SAME(host.moved_out, naive.host.moved_out);
    REQUIRE_SAME(host.moved_in, naive.host.moved_in);
    REQUIRE_SAME(host.kept, naive.host.kept);
    REQUIRE_SAME(host.lost, naive.host.lost);
    REQUIRE_SAME(host.evicted, naive.host.evicted);
    REQUIRE_SAME(stats.recomputed_tokens, naive.recomputed);
    const tla_kv_blocks *blocks = tla_scheduler_blocks(s);
    const tla_kv_blocks_stats kv = tla_kv_blocks_get_stats(blocks);
    REQUIRE_SAME(kv.free + kv.cached + kv.referenced, kv.usable);
    std::vector<std::uint32_t> held(kv.usable + 1);
    std::uint64_t tokens = 0, filled = 0;
    for (std::uint32_t r = 0; r < naive.states.size(); r++) {
        const tla_kv_table *table = tla_scheduler_table(s, r);
        const std::vector<std::uint32_t> &plain = naive.states[r].table.blocks;
        REQUIRE_SAME(table->count, plain.size());
        REQUIRE_SAME(std::equal(plain.begin(), plain.end(), table->blocks), true);
        REQUIRE_SAME(table->entered, naive.states[r].table.entered);
        for (const std::uint32_t block : plain)
            held[block]++;
        if (naive.states[r].running) tokens += naive.states[r].computed;
    }
    for (std::uint32_t block = 0; block <= kv.usable; block++) {
        std::uint32_t references = 0;
        REQUIRE_SAME(tla_kv_blocks_references(blocks, block, &references), TLA_OK);
        REQUIRE_SAME(references, held[block]); // no block in two requests without a reference each
        filled += held[block] > 1 ? (held[block] - 1) * naive.rules.block_tokens : 0;
    }
    REQUIRE_SAME(stats.slots_filled, tokens - filled);
}

// What stands in the blocks of both tiers, by what the scheduler tells about them: every block that a request is given
// with content has that of its place in the request.
struct contents {
    const naive_scheduler *naive = nullptr;
    const tla_scheduler *scheduler = nullptr;
    std::map<std::uint32_t, std::uint64_t> here, host, entered;
    std::map<std::uint32_t, std::uint32_t> read; // blocks of the second tier, by how many
    std::uint64_t moved_out = 0, moved_in = 0, holds = 0;

    // A block that is read is nobody's to write.
    void hear_reads(const tla_block_decision &d) {
        for (std::uint32_t i = 0; i < d.count && d.host_blocks; i++) {
            const std::uint32_t block = d.host_blocks[i];
            if (d.kind == TLA_BLOCKS_HELD) read[block]++;
            if (d.kind == TLA_BLOCKS_LET_GO && --read.at(block) == 0) read.erase(block);
            if (d.kind == TLA_BLOCKS_MOVED_OUT) REQUIRE_SAME(read.count(block), 0u);
            if (d.kind == TLA_BLOCKS_MOVED_IN) REQUIRE_SAME(read.count(block), 1u);
        }
        holds += d.kind == TLA_BLOCKS_HELD ? d.count : 0;
    }

    // By LMCache's rules content is in the index once.
    void enter(std::uint32_t block, std::uint64_t hash) {
        here[block] = hash;
        for (const auto &[other, content] : entered)
            if (naive->rules.kv_rules == TLA_KV_LMCACHE && other != block) REQUIRE_SAME(content == hash, false);
        entered[block] = hash;
    }

    void hear(const tla_block_decision &d) {
        hear_reads(d);
        if (!d.blocks) return;
        const std::vector<std::uint64_t> all = naive->hashes(
            d.request, (naive->requests.items[d.request].prompt_tokens + naive->states[d.request].generated) /
                           naive->rules.block_tokens);
        const tla_kv_table &table = *tla_scheduler_table(scheduler, d.request);
        const auto place = [&](std::uint32_t i) {
            return static_cast<std::size_t>(std::find(table.blocks, table.blocks + table.count, d.blocks[i]) -
                                            table.blocks);
        };
        for (std::uint32_t i = 0; i < d.count; i++) {
            if (d.kind == TLA_BLOCKS_ALLOCATED && i < d.found) REQUIRE_SAME(here[d.blocks[i]], all.at(place(i)));
            if (d.kind == TLA_BLOCKS_ALLOCATED && i >= d.found) here[d.blocks[i]] = 0;
            if (d.kind == TLA_BLOCKS_ALLOCATED && i >= d.found) entered.erase(d.blocks[i]);
            if (d.kind == TLA_BLOCKS_ENTERED) enter(d.blocks[i], all.at(place(i)));
            if (d.kind == TLA_BLOCKS_MOVED_OUT) host[d.host_blocks[i]] = here[d.blocks[i]];
            if (d.kind == TLA_BLOCKS_MOVED_IN) {
                here[d.blocks[i]] = host[d.host_blocks[i]];
                REQUIRE_SAME(here[d.blocks[i]], all.at(place(i)));
            }
        }
        moved_out += d.kind == TLA_BLOCKS_MOVED_OUT ? d.count : 0;
        moved_in += d.kind == TLA_BLOCKS_MOVED_IN ? d.count : 0;
    }
};

// Of all that was played: a second tier that is never used would conserve everything.
struct played_moves {
    std::uint64_t out = 0, in = 0, kept = 0, lost = 0, evicted = 0, busy = 0, hits = 0;
};

// Forms and processes steps in a random order, as time would have it, until all is done. How many steps there were.
std::uint64_t play(seeded_random &random, played_moves &moves) {
    const tla_scheduler_rules rules = random_rules(random);
    const trace t(random, rules, random.between(1, 25));
    tla_scheduler *s = nullptr;
    tla_error error{};
    contents memory;
    const tla_scheduler_watch watch = {
        [](void *context, const tla_block_decision *d) { static_cast<contents *>(context)->hear(*d); }, nullptr,
        &memory};
    BOOST_REQUIRE_MESSAGE(
        tla_scheduler_create(&rules, &t.all, rules.host_blocks ? &watch : nullptr, &s, &error) == TLA_OK, error.text);
    naive_scheduler naive(rules, t.all);
    memory.naive = &naive;
    memory.scheduler = s;
    std::uint32_t arrived = 0;
    std::uint64_t steps = 0;
    for (;;) {
        bool formed = false;
        if (arrived < t.all.count && (random.one_in(3) || tla_scheduler_idle(s))) {
            tla_scheduler_arrive(s, arrived);
            naive.arrive(arrived++);
        }
        if (tla_scheduler_in_flight(s) < rules.depth && !random.one_in(6)) {
            tla_step step{};
            REQUIRE_SAME(tla_scheduler_form(s, &step), TLA_OK);
            const std::vector<naive_scheduler::part> expected = naive.form();
            REQUIRE_SAME(step.count, expected.size());
            for (std::size_t i = 0; i < step.count; i++) {
                const tla_step_part &part = step.parts[i];
                REQUIRE_SAME(part.request, expected[i].request);
                REQUIRE_SAME(part.tokens, expected[i].tokens);
                REQUIRE_SAME(part.computed, expected[i].computed);
                REQUIRE_SAME(part.yields, expected[i].yields);
                BOOST_REQUIRE_GE(part.block_count * std::uint64_t{rules.block_tokens}, part.computed + part.tokens);
            }
            formed = step.count > 0;
            steps += formed;
        }
        if (!formed && tla_scheduler_in_flight(s)) {
            tla_step_result made{};
            BOOST_REQUIRE_EQUAL(tla_scheduler_process(s, &made), TLA_OK);
            naive.process();
        }
        check_same(s, naive);
        if (arrived == t.all.count && tla_scheduler_idle(s) && tla_scheduler_in_flight(s) == 0) break;
    }
    for (std::uint32_t r = 0; r < t.all.count; r++)
        REQUIRE_SAME(tla_scheduler_generated(s, r), t.requests[r].output_tokens);
    REQUIRE_SAME(tla_kv_blocks_get_stats(tla_scheduler_blocks(s)).references, 0u);
    const tla_host_tier_stats host = tla_scheduler_host_stats(s);
    REQUIRE_SAME(host.read, 0u);
    REQUIRE_SAME(memory.moved_out, host.moved_out);
    REQUIRE_SAME(memory.moved_in, host.moved_in);
    REQUIRE_SAME(memory.holds, host.moved_in);
    REQUIRE_SAME(memory.read.empty(), true);
    moves.out += host.moved_out;
    moves.in += host.moved_in;
    moves.kept += host.kept;
    moves.lost += host.lost;
    moves.evicted += host.evicted;
    moves.busy += host.busy;
    moves.hits += tla_scheduler_get_stats(s).host_hit_tokens;
    REQUIRE_SAME(tla_scheduler_get_stats(s).finished, t.all.count);
    tla_scheduler_destroy(s);
    return steps;
}

void play_steps(std::uint64_t seed, std::uint64_t steps) {
    seeded_random random(seed);
    played_moves moves;
    for (std::uint64_t played = 0; played < steps;)
        played += play(random, moves);
    for (const std::uint64_t moved :
         {moves.out, moves.in, moves.kept, moves.lost, moves.evicted, moves.busy, moves.hits})
        BOOST_CHECK_GT(moved, 0u);
    BOOST_TEST_MESSAGE(moves.out << " blocks out, " << moves.in << " in, " << moves.kept << " kept, " << moves.lost
                                 << " lost, " << moves.evicted << " evicted, " << moves.busy << " reads waited");
}

tla_scheduler_rules plain_rules() {
    return {10, 4, 16, 8, 0, 2, true, true};
}

std::string refusal(const tla_scheduler_rules &rules, std::vector<tla_serving_request> requests,
                    std::uint32_t block_tokens) {
    const tla_serving_requests all{requests.data(), requests.size(), block_tokens, false, nullptr};
    tla_scheduler *s = nullptr;
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_scheduler_create(&rules, &all, nullptr, &s, &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK(s == nullptr);
    return error.text;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_million_random_steps_are_those_of_a_naive_scheduler_and_conserve_every_block) {
    play_steps(1, is_sanitized() ? 100000 : 1000000);
}

// The goldens of configs/serving that serve_command_test checks, from the naive scheduler and a loop of its own.
BOOST_AUTO_TEST_CASE(the_naive_scheduler_gives_the_goldens_of_the_small_trace) {
    struct golden {
        tla_scheduler_rules rules;
        std::uint64_t steps, preemptions, hits, recomputed, end_us;
    };
    tla_serving_requests requests{};
    tla_error error{};
    BOOST_REQUIRE_MESSAGE(tla_serving_requests_read(TLMALLOC_SOURCE_DIR "/configs/serving/small_requests.jsonl",
                                                    &requests, &error) == TLA_OK,
                          error.text);
    BOOST_REQUIRE_EQUAL(requests.block_tokens, 16u);
    for (const golden &g :
         {golden{{120, 16, 256, 32, 0, 2, true, true}, 684, 24, 4208, 1506, 1688920},
          golden{{120, 16, 256, 32, 0, 1, true, true}, 677, 21, 4208, 1381, 1673240},
          golden{{120, 16, 256, 32, 0, 2, false, true}, 790, 11, 0, 2842, 2008180},
          golden{{120, 16, 256, 32, 0, 2, true, false}, 683, 37, 4336, 4450, 1692340},
          golden{{80, 16, 256, 32, 0, 2, true, true}, 1069, 24, 3648, 1092, 2460320},
          golden{{120, 16, 256, 32, 0, 2, true, true, TLA_KV_LMCACHE}, 686, 24, 4096, 3705, 1739900}}) {
        naive_scheduler naive(g.rules, requests);
        std::deque<std::uint64_t> ends_us;
        std::uint64_t now_us = 0, steps = 0;
        std::uint32_t arrived = 0;
        for (;;) {
            while (arrived < requests.count && requests.items[arrived].arrival_ns <= now_us * 1000)
                naive.arrive(arrived++);
            std::uint64_t tokens = 0;
            if (ends_us.size() < g.rules.depth)
                for (const naive_scheduler::part &p : naive.form())
                    tokens += p.tokens;
            if (tokens > 0) {
                ends_us.push_back((ends_us.empty() ? now_us : ends_us.back()) + 2000 + 20 * tokens);
                steps++;
            } else if (!ends_us.empty()) {
                now_us = ends_us.front();
                ends_us.pop_front();
                naive.process();
            } else if (arrived < requests.count) {
                now_us = (requests.items[arrived].arrival_ns + 999) / 1000;
            } else {
                break;
            }
        }
        BOOST_CHECK_EQUAL(steps, g.steps);
        BOOST_CHECK_EQUAL(naive.preemptions, g.preemptions);
        BOOST_CHECK_EQUAL(naive.hits, g.hits);
        BOOST_CHECK_EQUAL(naive.recomputed, g.recomputed);
        BOOST_CHECK_EQUAL(now_us, g.end_us);
    }
    tla_serving_requests_free(&requests);
}

BOOST_AUTO_TEST_CASE(requests_that_cannot_be_served_and_block_sizes_that_do_not_divide_are_rejected) {
    const std::uint64_t blocks[] = {7};
    const tla_serving_request fits{3, 0, 30, 7, blocks, 1}, longer{4, 0, 30, 8, blocks, 1};
    BOOST_CHECK_EQUAL(refusal(plain_rules(), {fits, longer}, 4),
                      "30 + 8 tokens need 10 blocks of 4 tokens, more than the 9 usable blocks of the cache: raise "
                      "gpu_blocks, or use --skip-unservable");
    BOOST_CHECK_EQUAL(refusal(plain_rules(), {fits}, 6),
                      "block_tokens: found 4, expected a multiple or a divisor of 6, the tokens of a block of the "
                      "requests (or prefix_caching false)");
    tla_scheduler_rules rules = plain_rules();
    rules.request_tokens = 36;
    BOOST_CHECK_EQUAL(refusal(rules, {fits}, 4),
                      "30 + 7 tokens exceed the limit of 36: raise max_model_len, or use --skip-unservable");
    rules = plain_rules();
    rules.step_tokens = 0;
    refusal(rules, {fits}, 4);
}

// Blocks of 8 and of 2 tokens are known by those of 4 in the file.
BOOST_AUTO_TEST_CASE(blocks_of_another_size_are_distinguished_by_the_blocks_of_the_file) {
    const std::uint64_t one[] = {1, 2, 3, 4}, other[] = {1, 2, 5, 6}, unlike[] = {9, 10, 11, 12};
    std::vector<tla_serving_request> requests = {
        {0, 0, 16, 1, one, 4}, {1, 0, 16, 1, other, 4}, {2, 0, 16, 1, unlike, 4}};
    const tla_serving_requests all{requests.data(), requests.size(), 4, false, nullptr};
    for (const auto &[block_tokens, hits] : {std::pair<std::uint32_t, std::uint64_t>{4, 8}, {8, 8}, {2, 8}, {16, 0}}) {
        const tla_scheduler_rules rules{100, block_tokens, 1000, 8, 0, 2, true, true};
        tla_scheduler *s = nullptr;
        tla_step step{};
        BOOST_REQUIRE_EQUAL(tla_scheduler_create(&rules, &all, nullptr, &s, nullptr), TLA_OK);
        for (std::uint32_t i = 0; i < 3; i++)
            tla_scheduler_arrive(s, i);
        BOOST_REQUIRE_EQUAL(tla_scheduler_form(s, &step), TLA_OK);
        BOOST_CHECK_EQUAL(step.count, 3u);
        BOOST_CHECK_EQUAL(tla_scheduler_get_stats(s).hit_tokens, hits);
        tla_scheduler_destroy(s);
    }
}
