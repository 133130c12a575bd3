// Requests on a host without memory: read, or refused for want of memory and for nothing else.
#include "host_memory/failing.hpp"
#include "scratch_directory.hpp"
#include "serving/host_tier.h"
#include "serving/layer_study.h"
#include "serving/measured_run.h"
#include "serving/memory_study.h"
#include "serving/prefix_study.h"

#include <functional>

namespace {

const std::string measured = R"({"id":0,"arrival_s":0.0,"input":40,"output":9,"blocks":[7,8,9]})"
                             "\n"
                             R"({"id":1,"arrival_s":0.265091,"input":1,"output":2,"blocks":[]})";
const std::string azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-12-31 23:59:59.6805900,374,44\n";

// Does it with no memory from the n-th allocation on, for every n.
std::size_t exhaust(const std::function<tla_status()> &act) {
    const std::size_t before = host_memory::live();
    std::size_t refused = 0;
    for (bool all_later : {true, false})
        for (std::size_t n = 0, failed = 1; failed > 0; n++) {
            host_memory::fail_from(n, all_later);
            const tla_status status = act();
            failed = host_memory::stop();
            BOOST_REQUIRE_EQUAL(host_memory::live(), before);
            BOOST_CHECK_EQUAL(tla_status_name(status), tla_status_name(status ? TLA_NO_HOST_MEMORY : TLA_OK));
            refused += status != TLA_OK;
        }
    return refused;
}

} // namespace

BOOST_AUTO_TEST_CASE(requests_without_host_memory_are_read_or_fail_at_every_allocation) {
    const scratch_directory scratch;
    for (const std::string &text : {measured, azure}) {
        const std::string path = scratch.write("requests", text);
        const std::size_t refused = exhaust([&] {
            tla_serving_requests requests;
            const tla_status status = tla_serving_requests_read(path.c_str(), &requests, nullptr);
            BOOST_CHECK_EQUAL(requests.count > 0, status == TLA_OK);
            tla_serving_requests_free(&requests);
            return status;
        });
        BOOST_CHECK_GT(refused, 4u);
    }
}

BOOST_AUTO_TEST_CASE(a_measured_run_without_host_memory_is_compared_or_fails_at_every_allocation) {
    const scratch_directory scratch;
    const std::string seconds =
        scratch.write("seconds", "until_s,prompt_tokens,generated_tokens,running,waiting,kv_cache_pct\n"
                                 "5,0,1,1,0,2\n6,0,1,1,0,2\n7,0,1,1,0,2\n");
    const std::string served =
        scratch.write("served", "id,queued_s,scheduled_s,first_token_s,last_token_s\n0,0,0,1,2\n");
    tla_serving_request item{};
    tla_serving_requests requests{};
    requests.items = &item;
    requests.count = 1;
    const tla_served_step step{1, 0, 1, 1, 0, 1, 2};
    const tla_served ours{};
    BOOST_CHECK_GT(exhaust([&] {
                       tla_measured_run run;
                       tla_measured_deviation d;
                       tla_status status = tla_measured_run_read(seconds.c_str(), served.c_str(), &run, nullptr);
                       BOOST_CHECK_EQUAL(run.second_count > 0, status == TLA_OK);
                       if (!status) status = tla_measured_run_compare(&run, 0, &step, 1, &requests, &ours, &d, nullptr);
                       tla_measured_run_clear(&run);
                       return status;
                   }),
                   6u);
}

BOOST_AUTO_TEST_CASE(studies_without_host_memory_complete_or_fail_at_every_allocation) {
    tla_serving_requests requests;
    BOOST_REQUIRE_EQUAL(tla_serving_requests_parse(measured.data(), measured.size(), "m", &requests, nullptr), TLA_OK);
    BOOST_CHECK_GT(exhaust([&] {
                       tla_prefix_study study;
                       const tla_prefix_cache cache{UINT64_MAX, TLA_VICTIM_ARC, true, 800, 200};
                       return tla_prefix_study_run(&requests, &cache, &study, nullptr);
                   }),
                   8u);
    for (int kind = 0; kind < TLA_KV_MEMORY_COUNT; kind++)
        BOOST_CHECK_GT(exhaust([&] {
                           const tla_kv_memory_config config{
                               static_cast<tla_kv_memory_kind>(kind), 120, 60, 1, 16, 2, 1};
                           tla_memory_study study;
                           return tla_memory_study_run(&requests, &config, &study, nullptr);
                       }),
                       8u);
    BOOST_CHECK_GT(exhaust([&] {
                       const tla_kv_layers_config config{{{1, 2, 0, 0}, {3, 2, 8, 1}}, 2, 4, 0, 0};
                       const tla_kv_lengths lengths{{20, 30, 0, 0}};
                       tla_layer_study study;
                       return tla_layer_study_run(&config, &lengths, 1, &study, nullptr);
                   }),
                   8u);
    tla_serving_requests_free(&requests);
}

BOOST_AUTO_TEST_CASE(a_read_of_the_second_tier_without_host_memory_gives_its_budget_back) {
    BOOST_CHECK_GT(exhaust([] {
                       const std::uint64_t hashes[] = {10, 11};
                       std::uint32_t block = 0, found[] = {0, 0, 0};
                       tla_host_tier tier{};
                       tla_kv_table read{};
                       tla_status status = tla_host_tier_init(&tier, 4, 2);
                       for (const std::uint64_t hash : hashes)
                           if (!status) status = tla_host_tier_put(&tier, hash, &block, nullptr);
                       if (!status) {
                           BOOST_REQUIRE_EQUAL(tla_host_tier_find(&tier, hashes, 2, found, nullptr), 2u);
                           status = tla_host_tier_begin_read(&tier, found, 2, &read, nullptr);
                           BOOST_CHECK_EQUAL(tier.budget.taken, status ? 0u : 2u);
                           if (!status) tla_host_tier_end_read(&tier, &read, nullptr);
                       }
                       tla_kv_table_clear(&read);
                       tla_host_tier_clear(&tier);
                       return status;
                   }),
                   4u);
}
