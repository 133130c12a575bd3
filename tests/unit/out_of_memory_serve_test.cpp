// A serving engine on a host without memory: it serves, or refuses for want of memory and for nothing else.
#include "host_memory/failing.hpp"
#include "serving/serve.h"
#include "small_profile.hpp"

#include <vector>

namespace {

const std::uint64_t blocks[] = {1, 2, 3, 4, 5, 6};

struct outcome {
    tla_status status;
    std::uint64_t end_ns;
};

outcome use(const std::string &settings_path, const char *law_text, const char *rules) {
    tla_serving_request items[] = {{0, 0, 20, 9, blocks, 6}, {1, 10, 30, 20, blocks, 6}, {2, 20, 9, 40, blocks, 2}};
    const tla_serving_requests requests{items, 3, 4, false, nullptr};
    const char *const overrides[] = {"skew_correction=true", "kv_heads=1", "head_dim=16", rules};
    tla_serving_settings settings{};
    tla_step_law law{};
    tla_serve_result result{};
    tla_status status =
        tla_serving_settings_load(settings_path.c_str(), overrides, std::size(overrides), &settings, nullptr, nullptr);
    if (!status) status = tla_step_law_parse(law_text, &settings, &law, nullptr);
    if (!status) status = tla_serve(&requests, &settings.rules, &law, nullptr, nullptr, &result, nullptr);
    const outcome o{status, result.end_ns};
    tla_serve_result_clear(&result);
    tla_step_law_clear(&law);
    return o;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_serving_engine_without_host_memory_serves_or_fails_at_every_allocation) {
    const scratch_directory scratch;
    write_small_profile(scratch);
    const std::string settings = scratch.write("settings.json", small_settings),
                      profile = "profile " + scratch.path("");
    for (const auto &[law, rules] :
         {std::pair<const char *, const char *>{"fixed 1 ms + 1 us/token", "kv_rules=lmcache"},
          {"fixed 1 ms + 1 us/token", "host_blocks=5"},
          {profile.c_str(), "kv_rules=vllm"}}) {
        const outcome whole = use(settings, law, rules);
        BOOST_REQUIRE_EQUAL(whole.status, TLA_OK);
        const std::size_t before = host_memory::live();
        std::size_t refused = 0;
        for (bool all_later : {true, false})
            for (std::size_t n = 0, failed = 1; failed > 0; n++) {
                host_memory::fail_from(n, all_later);
                const outcome o = use(settings, law, rules);
                failed = host_memory::stop();
                BOOST_REQUIRE_EQUAL(host_memory::live(), before);
                BOOST_CHECK_EQUAL(tla_status_name(o.status), tla_status_name(o.status ? TLA_NO_HOST_MEMORY : TLA_OK));
                if (!o.status) BOOST_CHECK_EQUAL(o.end_ns, whole.end_ns);
                refused += o.status != TLA_OK;
            }
        BOOST_CHECK_GT(refused, 20u);
    }
}
