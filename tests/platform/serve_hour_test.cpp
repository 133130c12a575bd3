// Mooncake's conversation hour on 256 PEs: every decision is a command, and what is found is what is found without.
#include "platform/command_line.hpp"
#include "shared_data.hpp"

#include <jansson.h>

namespace {

const std::string source = TLMALLOC_SOURCE_DIR "/";

json_t *hour(const std::string &law) {
    const command_result run =
        run_tlmalloc({"serve", shared_data + "data/serving/mooncake/conversation_trace.jsonl.gz", "--settings",
                      source + "configs/serving/mooncake_256.yaml", "--step-time", law, "--json", "-"});
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    json_t *json = json_loads(run.out.c_str(), 0, nullptr);
    BOOST_REQUIRE(json);
    return json;
}

std::uint64_t count_of(const json_t *json, const char *key) {
    return static_cast<std::uint64_t>(json_integer_value(json_object_get(json, key)));
}

} // namespace

BOOST_AUTO_TEST_CASE(an_hour_on_256_pes_finds_what_is_found_without_them) {
    if (!shared_data_is_here("data/serving")) return;
    const std::string law = "fixed 10 ms + 1 us/token";
    json_t *const with = hour("platform " + source + "configs/kernbench.yaml + " + law), *const without = hour(law);
    for (const json_t *json : {with, without}) {
        BOOST_CHECK_EQUAL(count_of(json, "requests"), 12031u);
        BOOST_CHECK_EQUAL(count_of(json, "completed"), 12031u);
        BOOST_CHECK_EQUAL(count_of(json, "hit_tokens"), 41708032u);
        BOOST_CHECK_EQUAL(count_of(json, "preemptions"), 0u);
    }
    const json_t *const kv = json_object_get(with, "kv"), *const platform = json_object_get(kv, "platform");
    const std::uint64_t taken = count_of(kv, "taken"), found = count_of(kv, "revived") + count_of(kv, "shared");
    for (const char *key : {"alloc", "map", "unmap"})
        BOOST_CHECK_EQUAL(count_of(platform, key), taken);
    BOOST_CHECK_GE(count_of(platform, "ref"), found);
    BOOST_CHECK_EQUAL(count_of(platform, "free"), count_of(platform, "alloc") + count_of(platform, "ref"));
    std::uint64_t commands = 0;
    for (const char *key : {"alloc", "ref", "free", "map", "unmap"})
        commands += count_of(platform, key);
    BOOST_CHECK_EQUAL(commands, 1430816u);
    json_decref(with);
    json_decref(without);
}

BOOST_AUTO_TEST_CASE(the_hour_meets_the_bounds_of_its_experiment) {
    if (!shared_data_is_here("data/serving")) return;
    const command_result run = run_tlmalloc({"reproduce", source + "configs/experiments/serving_hour.yaml"});
    BOOST_CHECK_EQUAL(run.status, 0);
    BOOST_CHECK_MESSAGE(!contains(run.out, "skipped") && contains(run.out, " 41708032     41708032 "), run.out);
}
