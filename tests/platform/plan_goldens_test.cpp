// The planners against models of others' rules (../shared/data/allocators).
#include "shared_data.hpp"
#include "tlmalloc/plan/plan.h"

#include <boost/test/unit_test.hpp>

#include <jansson.h>
#include <memory>
#include <vector>

namespace {

using document = std::unique_ptr<json_t, void (*)(json_t *)>;

document load(const std::string &name) {
    document read(json_load_file((shared_data + "data/allocators/" + name).c_str(), 0, nullptr), json_decref);
    BOOST_REQUIRE(read);
    return read;
}

std::uint64_t number(const json_t *value) {
    BOOST_REQUIRE(json_is_integer(value));
    return static_cast<std::uint64_t>(json_integer_value(value));
}

} // namespace

BOOST_AUTO_TEST_CASE(xnnpacks_plans_are_the_golden_ones) {
    if (!shared_data_is_here("data/allocators")) return;
    const document all = load("xnnpack_planner.json");
    json_t *cases = json_object_get(all.get(), "cases"), *each, *value;
    std::size_t c, i;
    BOOST_REQUIRE_EQUAL(json_array_size(cases), 5u);
    json_array_foreach(cases, c, each) {
        json_t *values = json_object_get(each, "values");
        std::vector<tla_lifetime> tensors;
        json_array_foreach(values, i, value) tensors.push_back(
            {number(json_array_get(value, 2)), number(json_array_get(value, 3)) + 1, number(json_array_get(value, 1))});
        for (const bool repaired : {false, true}) {
            const json_t *expected = json_object_get(each, repaired ? "repaired" : "literal");
            std::vector<std::uint64_t> at(tensors.size());
            std::uint64_t height = 0;
            const tla_plan_options options{0, 1, false};
            BOOST_REQUIRE_EQUAL(tla_plan(repaired ? TLA_PLAN_XNNPACK_REPAIRED : TLA_PLAN_XNNPACK, tensors.data(),
                                         tensors.size(), &options, at.data(), &height),
                                TLA_OK);
            BOOST_CHECK_EQUAL(height, number(json_object_get(expected, "bytes")));
            json_array_foreach(values, i, value) {
                const char *name = json_string_value(json_array_get(value, 0));
                BOOST_CHECK_EQUAL(at[i], number(json_object_get(json_object_get(expected, "at"), name)));
            }
        }
    }
}
