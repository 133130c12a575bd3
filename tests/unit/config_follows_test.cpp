// Which keys that are not written have another value because of a key that is: the documented ones alone.
#include "model/config/platform.h"

#include <boost/test/unit_test.hpp>
#include <set>
#include <string>
#include <vector>

namespace {

// Other values of a key than its own, as far as they can be guessed from its form.
std::vector<std::string> values_of(const tla_schema_key &key, const tla_config &config) {
    const std::uint64_t now = tla_schema_get(&key, &config).number;
    std::vector<std::string> all;
    if (std::string(key.key) == "controller.cost.profile") return {"ideal", "fw_list", "driver_cuda_malloc"};
    if (std::string(key.key) == "hbm.timing") return {"hbm2", "hbm3"};
    if (std::string(key.key) == "host_memory.timing") return {"ddr5"};
    if (key.form.type == TLA_VALUE_BOOLEAN) return {"true", "false"};
    if (key.form.type == TLA_VALUE_NAMED) {
        for (std::uint64_t i = 0; key.form.name(i); i++)
            all.emplace_back(key.form.name(i));
        return all;
    }
    if (key.form.type > TLA_VALUE_LAST_NUMBER) return {};
    for (const std::uint64_t number : {now * 2, now / 2, now + 1, key.min, key.max})
        all.emplace_back(tla_number_print(key.form.type, number).text);
    return all;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_key_changes_itself_and_those_that_follow_it) {
    tla_config plain;
    BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, nullptr, 0, &plain, nullptr, nullptr), TLA_OK);
    std::size_t tried = 0;
    std::set<std::string> leaders;
    for (std::size_t i = 0; i < tla_platform_key_count; i++) {
        const tla_schema_key &leader = tla_platform_keys[i];
        bool moved = false;
        for (const std::string &value : values_of(leader, plain)) {
            const std::string word = std::string(leader.key) + "=" + value;
            const char *const words[] = {word.c_str()};
            tla_config changed;
            if (tla_config_load(nullptr, words, 1, &changed, nullptr, nullptr) != TLA_OK) continue;
            for (std::size_t k = 0; k < tla_platform_key_count; k++) {
                const tla_schema_key &key = tla_platform_keys[k];
                const tla_value before = tla_schema_get(&key, &plain), after = tla_schema_get(&key, &changed);
                if (before.number == after.number && std::string(before.text) == after.text) continue;
                if (k == i)
                    moved = true;
                else
                    BOOST_CHECK_MESSAGE(tla_platform_key_follows(key.key, leader.key),
                                        word << " changes " << key.key << " too");
                if (k != i) leaders.insert(leader.key);
            }
        }
        tried += moved;
    }
    BOOST_CHECK_GT(tried, tla_platform_key_count * 3 / 4);
    BOOST_TEST(leaders == (std::set<std::string>{"controller.cost.clock", "controller.cost.profile", "mmu.page_size"}),
               boost::test_tools::per_element());
}
