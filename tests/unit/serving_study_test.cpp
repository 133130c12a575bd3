// Studies of a serving system's memory against naive models, and against the figures that are known to the digit.
#include "seeded_random.hpp"
#include "serving/layer_study.h"
#include "serving/memory_study.h"
#include "serving/prefix_study.h"
#include "shared_data.hpp"

#include <algorithm>
#include <cmath>
#include <list>
#include <vector>

namespace {

// Requests whose blocks are `tokens` long, with the memory that they point into.
struct made_requests : tla_serving_requests {
    std::vector<tla_serving_request> all;
    std::vector<std::vector<std::uint64_t>> lists;
    made_requests() : tla_serving_requests{} {}
    made_requests(const made_requests &) = delete;
    made_requests &operator=(const made_requests &) = delete;
    void add(std::uint32_t prompt, std::uint32_t output, const std::vector<std::uint64_t> &list = {}) {
        lists.push_back(list);
        all.push_back({all.size(), 0, prompt, output, nullptr, static_cast<std::uint32_t>(list.size())});
    }
    const tla_serving_requests *finish(std::uint32_t tokens, bool of_prompt = true) {
        for (std::size_t i = 0; i < all.size(); i++)
            all[i].blocks = lists[i].data();
        items = all.data();
        count = all.size();
        block_tokens = tokens;
        blocks_of_prompt = of_prompt;
        return this;
    }
};

tla_status run_prefixes(const tla_serving_requests *requests, tla_prefix_cache cache, tla_prefix_study *study,
                        tla_error *error = nullptr) {
    return tla_prefix_study_run(requests, &cache, study, error);
}

// The same question, with a list of the blocks in the order of their last use.
tla_prefix_study naive_prefixes(const made_requests &requests, std::size_t blocks) {
    tla_prefix_study s{};
    std::list<std::uint64_t> used; // the last one first
    for (const tla_serving_request &r : requests.all) {
        std::size_t hit = 0;
        while (hit < r.block_count && std::find(used.begin(), used.end(), r.blocks[hit]) != used.end())
            hit++;
        s.tokens += r.prompt_tokens;
        s.hit_tokens += std::min<std::uint64_t>(hit * 8, r.prompt_tokens);
        s.full_blocks += r.prompt_tokens / 8;
        s.hit_full_blocks += std::min<std::uint64_t>(hit, r.prompt_tokens / 8);
        for (std::uint32_t i = 0; i < r.block_count; i++) {
            used.remove(r.blocks[i]);
            used.push_front(r.blocks[i]);
            if (used.size() <= blocks) continue;
            used.pop_back();
            s.evicted++;
        }
    }
    return s;
}

// First fit of regions, and blocks on demand, as sums of what is there after each step.
tla_memory_study naive_memory(const made_requests &requests, const tla_kv_memory_config &config) {
    struct live {
        std::size_t number;
        std::uint64_t produced, offset, held;
    };
    tla_memory_study s{};
    std::vector<live> running;
    std::list<std::size_t> waiting;
    std::vector<bool> admitted(requests.all.size());
    for (std::size_t i = 0; i < requests.all.size(); i++)
        if (requests.all[i].prompt_tokens + requests.all[i].output_tokens <= config.longest) waiting.push_back(i);
    std::size_t left = waiting.size();
    const bool paged = config.kind == TLA_KV_MEMORY_PAGED;
    const auto blocks = [&](std::uint64_t tokens) { return (tokens + config.block_tokens - 1) / config.block_tokens; };
    const auto free_blocks = [&] {
        std::uint64_t taken = 0;
        for (const live &l : running)
            taken += l.held;
        return config.tokens / config.block_tokens - taken / config.block_tokens;
    };
    const auto first_fit = [&](std::uint64_t tokens) {
        std::vector<live> sorted = running;
        std::sort(sorted.begin(), sorted.end(), [](const live &a, const live &b) { return a.offset < b.offset; });
        std::uint64_t at = 0;
        for (const live &l : sorted) {
            if (l.offset - at >= tokens) return at;
            at = l.offset + l.held;
        }
        return config.tokens - at >= tokens ? at : UINT64_MAX;
    };
    double tokens = 0, reserved = 0, held = 0;
    while (left > 0) {
        while (!waiting.empty()) {
            const tla_serving_request &r = requests.all[waiting.front()];
            const std::uint64_t need = paged ? blocks(r.prompt_tokens) * config.block_tokens
                                             : std::uint64_t{r.prompt_tokens} + r.output_tokens;
            const std::uint64_t at = paged ? 0 : first_fit(need);
            if (at == UINT64_MAX || (paged && need / config.block_tokens > free_blocks())) break;
            left -= !admitted[waiting.front()];
            admitted[waiting.front()] = true;
            running.push_back({waiting.front(), 0, at, need});
            waiting.pop_front();
        }
        for (std::size_t i = 0; i < running.size(); i++) {
            const std::uint64_t wanted =
                blocks(requests.all[running[i].number].prompt_tokens + running[i].produced + 1) * config.block_tokens;
            while (paged && i < running.size() && wanted > running[i].held && free_blocks() == 0) {
                waiting.push_front(running.back().number);
                running.pop_back();
                s.preemptions++;
            }
            if (i == running.size()) break;
            if (paged) running[i].held = wanted;
            running[i].produced++;
        }
        for (const live &l : running) {
            tokens += static_cast<double>(requests.all[l.number].prompt_tokens + l.produced);
            reserved += paged ? 0 : static_cast<double>(requests.all[l.number].output_tokens - l.produced);
            held += static_cast<double>(l.held);
        }
        s.steps++;
        running.erase(std::remove_if(running.begin(), running.end(),
                                     [&](const live &l) { return l.produced == requests.all[l.number].output_tokens; }),
                      running.end());
    }
    const double all = static_cast<double>(s.steps) * static_cast<double>(config.tokens) / 100;
    s.tokens = tokens / all;
    s.reserved = reserved / all;
    s.internal = (held - tokens - reserved) / all;
    s.external = 100 - held / all;
    return s;
}

struct shared_requests : tla_serving_requests {
    explicit shared_requests(const char *name) : tla_serving_requests{} {
        tla_error error{};
        BOOST_REQUIRE_MESSAGE(!tla_serving_requests_read((shared_data + "data/serving/" + name).c_str(), this, &error),
                              error.text);
    }
    shared_requests(const shared_requests &) = delete;
    shared_requests &operator=(const shared_requests &) = delete;
    ~shared_requests() { tla_serving_requests_free(this); }
};

double rounded(std::uint64_t part, std::uint64_t whole) {
    return std::round(1e5 * static_cast<double>(part) / static_cast<double>(whole)) / 1e3;
}

} // namespace

BOOST_AUTO_TEST_CASE(random_prompts_hit_what_a_naive_cache_holds) {
    seeded_random random(12);
    for (const std::uint64_t capacity : {0u, 7u, 8u, 40u, 100u, 400u, 100000u}) {
        made_requests requests;
        for (int i = 0; i < 200; i++) {
            const std::uint64_t prompt = random.between(1, 60);
            std::vector<std::uint64_t> list;
            std::uint64_t id = random.between(0, 3); // a tree: each block has its predecessor in its number
            for (std::uint64_t at = 0; at < prompt; at += 8, id = 4 * (id + 1) + random.between(0, 1))
                list.push_back(id);
            requests.add(static_cast<std::uint32_t>(prompt), 1, list);
        }
        tla_prefix_study study;
        tla_error error{};
        BOOST_REQUIRE_EQUAL(run_prefixes(requests.finish(8), {capacity}, &study, &error), TLA_OK);
        tla_prefix_study naive = naive_prefixes(requests, capacity / 8);
        if (capacity < 8) naive.evicted = 0; // what never came in
        BOOST_CHECK_EQUAL(study.hit_tokens, naive.hit_tokens);
        BOOST_CHECK_EQUAL(study.tokens, naive.tokens);
        BOOST_CHECK_EQUAL(study.full_blocks, naive.full_blocks);
        BOOST_CHECK_EQUAL(study.hit_full_blocks, naive.hit_full_blocks);
        BOOST_CHECK_EQUAL(study.evicted, naive.evicted);
    }
}

BOOST_AUTO_TEST_CASE(only_the_blocks_of_the_prompt_are_looked_up) {
    made_requests requests;
    requests.add(20, 12, {1, 2, 3, 4}); // the third is half prompt
    requests.add(24, 1, {1, 2, 3});
    tla_prefix_study study;
    BOOST_REQUIRE_EQUAL(run_prefixes(requests.finish(8, false), {UINT64_MAX}, &study), TLA_OK);
    BOOST_CHECK_EQUAL(study.hit_tokens, 16u);
    BOOST_CHECK_EQUAL(study.full_blocks, 5u);
}

BOOST_AUTO_TEST_CASE(requests_without_blocks_are_rejected) {
    made_requests requests;
    requests.add(20, 12);
    tla_prefix_study study;
    tla_error error{};
    BOOST_CHECK_EQUAL(run_prefixes(requests.finish(0), {100}, &study, &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(error.text, std::string("the requests have no block numbers: use requests with hash_ids"));
}

BOOST_AUTO_TEST_CASE(random_lengths_fill_a_memory_as_a_naive_model_does) {
    seeded_random random(9);
    for (const tla_kv_memory_kind kind : {TLA_KV_MEMORY_FIRST_FIT, TLA_KV_MEMORY_PAGED})
        for (int run = 0; run < 20; run++) {
            made_requests requests;
            for (int i = 0; i < 60; i++)
                requests.add(static_cast<std::uint32_t>(random.between(1, 60)),
                             static_cast<std::uint32_t>(random.between(1, 60)));
            const tla_kv_memory_config config{
                kind, random.between(120, 400), 110, 1, static_cast<std::uint32_t>(random.between(1, 20)), 1, 1};
            tla_memory_study study;
            tla_error error{};
            const tla_status status = tla_memory_study_run(requests.finish(0), &config, &study, &error);
            BOOST_REQUIRE_MESSAGE(!status, error.text);
            const tla_memory_study naive = naive_memory(requests, config);
            BOOST_CHECK_EQUAL(study.steps, naive.steps);
            BOOST_CHECK_EQUAL(study.preemptions, naive.preemptions);
            BOOST_CHECK_CLOSE(study.tokens, naive.tokens, 1e-9);
            BOOST_CHECK_SMALL(study.reserved - naive.reserved, 1e-9);
            BOOST_CHECK_SMALL(study.internal - naive.internal, 1e-9);
            BOOST_CHECK_CLOSE(study.external, naive.external, 1e-9);
        }
}

// A page of one tensor is a block: both are taken when the first of their tokens comes.
BOOST_AUTO_TEST_CASE(mapped_memory_of_one_tensor_is_filled_as_blocks_are) {
    seeded_random random(10);
    made_requests requests;
    for (int i = 0; i < 100; i++)
        requests.add(static_cast<std::uint32_t>(random.between(1, 100)),
                     static_cast<std::uint32_t>(random.between(1, 100)));
    tla_kv_memory_config config{TLA_KV_MEMORY_PAGED, 1000, 200, 1, 16, 1, 1};
    tla_memory_study paged, mapped;
    BOOST_REQUIRE_EQUAL(tla_memory_study_run(requests.finish(0), &config, &paged, nullptr), TLA_OK);
    config.kind = TLA_KV_MEMORY_MAPPED;
    BOOST_REQUIRE_EQUAL(tla_memory_study_run(requests.finish(0), &config, &mapped, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(paged.steps, mapped.steps);
    BOOST_CHECK_EQUAL(paged.preemptions, mapped.preemptions);
    BOOST_CHECK_GT(paged.preemptions, 0u);
    BOOST_CHECK_EQUAL(paged.tokens, mapped.tokens);
    BOOST_CHECK_EQUAL(paged.work.slots, mapped.work.slots);
    BOOST_CHECK_EQUAL(paged.work.chunks, 0u);
    BOOST_CHECK_GT(mapped.work.chunks, 0u);
}

BOOST_AUTO_TEST_CASE(requests_that_never_fit_are_left_out_or_end_a_study) {
    made_requests requests;
    requests.add(100, 50);
    requests.add(10, 5);
    tla_memory_study study;
    tla_error error{};
    tla_kv_memory_config config{TLA_KV_MEMORY_PAGED, 64, 100, 1, 16, 1, 1};
    BOOST_CHECK_EQUAL(tla_memory_study_run(requests.finish(0), &config, &study, &error), TLA_OK);
    BOOST_CHECK_EQUAL(study.left_out, 1u);
    config.longest = 200;
    for (int kind = 0; kind < TLA_KV_MEMORY_COUNT; kind++) {
        config.kind = static_cast<tla_kv_memory_kind>(kind);
        BOOST_CHECK_EQUAL(tla_memory_study_run(requests.finish(0), &config, &study, &error), TLA_LIMIT);
        BOOST_CHECK_EQUAL(error.text, std::string("a request is longer than the largest block of the memory"));
    }
    config.longest = 14;
    BOOST_CHECK_EQUAL(tla_memory_study_run(requests.finish(0), &config, &study, &error), TLA_INVALID_ARGUMENT);
    config.block_tokens = 0;
    BOOST_CHECK_EQUAL(tla_memory_study_run(requests.finish(0), &config, &study, &error), TLA_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(mooncakes_conversations_hit_what_is_known_to_the_digit) {
    if (!shared_data_is_here("data/serving")) return;
    const shared_requests requests("mooncake/conversation_trace.jsonl.gz");
    const std::vector<std::tuple<std::uint64_t, double, double>> known = {{1000000, 5.421, 5.540},
                                                                          {3000000, 13.818, 14.121},
                                                                          {10000000, 29.078, 29.721},
                                                                          {30000000, 36.585, 37.395},
                                                                          {UINT64_MAX, 37.362, 38.190}};
    for (const auto &[capacity, tokens, full] : known) {
        tla_prefix_study study;
        BOOST_REQUIRE_EQUAL(run_prefixes(&requests, {capacity}, &study), TLA_OK);
        BOOST_CHECK_EQUAL(rounded(study.hit_tokens, study.tokens), tokens);
        BOOST_CHECK_EQUAL(rounded(study.hit_full_blocks, study.full_blocks), full);
    }
}

// Computed independently, with ARC's ratio in fixed point. The exact ratio has 15.011 and 27.055.
BOOST_AUTO_TEST_CASE(mooncakes_conversations_hit_what_is_known_to_the_digit_by_each_rule_of_eviction) {
    if (!shared_data_is_here("data/serving")) return;
    const shared_requests requests("mooncake/conversation_trace.jsonl.gz");
    const std::vector<std::tuple<tla_prefix_cache, double, std::uint64_t>> known = {
        {{3000000, TLA_VICTIM_LRU, true, 0, 0}, 14.178, 243565},
        {{3000000, TLA_VICTIM_ARC, true, 0, 0}, 14.985, 241360},
        {{10000000, TLA_VICTIM_LRU, true, 800, 200}, 25.904, 201534},
        {{10000000, TLA_VICTIM_ARC, true, 800, 200}, 27.062, 198338}};
    for (const auto &[cache, full, evicted] : known) {
        tla_prefix_study study;
        BOOST_REQUIRE_EQUAL(run_prefixes(&requests, cache, &study), TLA_OK);
        BOOST_CHECK_EQUAL(rounded(study.hit_full_blocks, study.full_blocks), full);
        BOOST_CHECK_EQUAL(study.evicted, evicted);
    }
}

BOOST_AUTO_TEST_CASE(a_pause_between_requests_evicts_until_the_watermark_is_no_longer_reached) {
    made_requests requests;
    requests.add(80, 1, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    requests.add(8, 1, {99});
    requests.all.back().arrival_ns = UINT64_MAX; // a second is a second of arrivals: most of them change nothing
    tla_prefix_study study;
    BOOST_REQUIRE_EQUAL(run_prefixes(requests.finish(8), {80, TLA_VICTIM_LRU, true, 800, 200}, &study), TLA_OK);
    BOOST_CHECK_EQUAL(study.evicted, 3u); // of 10 two, of 8 one; 7 are below
}

BOOST_AUTO_TEST_CASE(the_lengths_of_the_paper_fill_its_memory_as_is_known) {
    if (!shared_data_is_here("data/serving")) return;
    const shared_requests requests("lengths/sharegpt2023_like.csv");
    const std::vector<std::tuple<tla_kv_memory_kind, double, double, double, double>> known = {
        {TLA_KV_MEMORY_MAXIMUM, 18.4, 11.0, 61.9, 8.7},
        {TLA_KV_MEMORY_POWER_OF_TWO, 26.6, 15.9, 11.9, 45.6},
        {TLA_KV_MEMORY_ORACLE, 39.4, 23.6, 0, 37.0},
        {TLA_KV_MEMORY_PAGED, 97.1, 0, 1.8, 1.1}};
    for (const auto &[kind, tokens, reserved, internal, external] : known) {
        const tla_kv_memory_config config{kind, 15700, 2048, 1, 16, 1, 1};
        tla_memory_study study;
        BOOST_REQUIRE_EQUAL(tla_memory_study_run(&requests, &config, &study, nullptr), TLA_OK);
        BOOST_CHECK_SMALL(study.tokens - tokens, 0.05);
        BOOST_CHECK_SMALL(study.reserved - reserved, 0.05);
        BOOST_CHECK_SMALL(study.internal - internal, 0.05);
        BOOST_CHECK_SMALL(study.external - external, 0.05);
    }
}

BOOST_AUTO_TEST_CASE(layers_save_what_the_papers_formulas_say) {
    tla_kv_layers_config config{};
    config.types[0] = {32, 1, 0, 0};
    config.types[1] = {8, 1, 0, 1};
    config.type_count = 2;
    config.block_tokens = 1;
    const tla_kv_lengths vision{{43, 6193, 0, 0}};
    tla_layer_study study;
    BOOST_REQUIRE_EQUAL(tla_layer_study_run(&config, &vision, 1, &study, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(study.needed, 32u * 43 + 8 * 6193);
    BOOST_CHECK_EQUAL(study.uniform, 40u * 6236);
    BOOST_CHECK_EQUAL(study.small_pages, study.needed); // blocks of one token waste nothing
    config.types[1] = {32, 1, 4096, 0};
    config.block_tokens = 16;
    const tla_kv_lengths gemma[] = {{{8192, 0, 0, 0}}, {{100, 0, 0, 0}}};
    BOOST_REQUIRE_EQUAL(tla_layer_study_run(&config, gemma, 2, &study, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(study.needed, 64u * 8192 - 32 * 4096 + 64 * 100);
    BOOST_CHECK_EQUAL(study.small_pages, 64u * 8192 - 32 * 4096 + 64 * 112);
    BOOST_CHECK_EQUAL(study.uniform_pages, 64u * (8192 + 112));
    BOOST_CHECK_GE(study.large_pages, study.small_pages);
    const tla_kv_lengths endless{{UINT64_MAX, UINT64_MAX, 0, 0}};
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_layer_study_run(&config, &endless, 1, &study, &error), TLA_INVALID_ARGUMENT);
}
