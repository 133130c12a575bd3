// Presets of an instance: names of keys below it, its configuration, and messages with who preset a value.
#include "config_parsing.hpp"
#include "tlmalloc/config/presets.h"

#include <set>

using namespace config_parsing;

namespace {

constexpr const char *sections_of_instances[] = {nullptr, "controller", "mmu", "hbm", "tcm"};

strings key_names(const char *section) {
    strings names;
    const auto take = [](void *context, const tla_config_key *key) {
        static_cast<strings *>(context)->push_back(key->name);
    };
    tla_config_each_key(tla_preset_scope(section), take, &names);
    return names;
}

struct preset_result {
    tla_status status;
    tla_config config;
    strings lines;
};

preset_result load_presets(const char *section, const std::vector<tla_preset> &presets) {
    preset_result result{};
    std::memset(&result.config, 0x5a, sizeof result.config);
    const auto take = [](void *context, const char *line) { static_cast<strings *>(context)->push_back(line); };
    result.status =
        tla_presets_load("top.x", section, presets.data(), presets.size(), &result.config, take, &result.lines);
    BOOST_CHECK_EQUAL(result.status == TLA_OK, result.lines.empty());
    const string before(sizeof result.config, 0x5a);
    if (result.status) BOOST_CHECK(std::memcmp(&result.config, before.data(), before.size()) == 0);
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_key_has_one_name_below_an_instance_and_is_found_by_it) {
    for (const char *const section : sections_of_instances) {
        const strings keys = key_names(section);
        std::set<string> names;
        for (const string &key : keys) {
            const string name = tla_preset_name(section, key.c_str());
            BOOST_CHECK_MESSAGE(names.insert(name).second, name << " is the name of two keys");
            const bool own = section && key.rfind(string(section) + ".", 0) == 0;
            BOOST_CHECK_EQUAL(name, own ? key.substr(std::strlen(section) + 1) : key);
            tla_config_key found{};
            BOOST_REQUIRE(tla_preset_find_key(section, name.c_str(), &found));
            BOOST_CHECK_EQUAL(found.name, key);
            if (own) BOOST_CHECK(!tla_preset_find_key(section, key.c_str(), &found));
        }
        BOOST_CHECK_EQUAL(names.size(), keys.size());
    }
}

BOOST_AUTO_TEST_CASE(only_presets_count_as_set) {
    const preset_result made = load_presets("mmu", {{"page_size", "64 KiB", "a"}, {"hbm.capacity", "64 MiB", nullptr}});
    BOOST_REQUIRE_EQUAL(made.status, TLA_OK);
    BOOST_CHECK_EQUAL(made.config.va.space.page_size, 65536u);
    BOOST_CHECK_EQUAL(made.config.hbm.capacity, 64u << 20);
    const tla_config empty = good("");
    for (const char *const section : sections_of_instances) {
        const preset_result none = load_presets(section, {});
        BOOST_CHECK(tla_config_equal(&none.config, &empty));
    }
    BOOST_CHECK_EQUAL(
        load_presets(nullptr, {{"controller.hbm_policy", "best_fit", "a"}}).config.controller.memory.of[0].policy,
        good("controller: {hbm_policy: best_fit}").controller.memory.of[0].policy);
}

// The text behind the originator is that of the same value in a file.
BOOST_AUTO_TEST_CASE(findings_have_the_name_the_originator_and_the_text_of_a_file) {
    const std::vector<std::pair<string, string>> wrong{
        {"hbm.burst", "64"},        {"hbm.burst", "3 B"},   {"controller.guard", "on"}, {"controller.ports", "true"},
        {"mmu.page_size", "1 KiB"}, {"workload.asid", "3"}, {"hbm.timing", "hbm9"}};
    for (const char *const section : sections_of_instances)
        for (const auto &[key, value] : wrong) {
            const string name = tla_preset_name(section, key.c_str());
            const preset_result bad = load_presets(section, {{name.c_str(), value.c_str(), "bad.json"}});
            const std::size_t dot = key.find('.');
            const result file = parse(key.substr(0, dot) + ": {" + key.substr(dot + 1) + ": " + value + "}");
            BOOST_REQUIRE_EQUAL(bad.lines.size(), 1u);
            const string text = file.findings.at(0).substr(file.findings[0].find(": ") + 2);
            BOOST_CHECK_EQUAL(bad.lines[0], "top.x." + name + " (preset by bad.json): " + text);
        }
}

BOOST_AUTO_TEST_CASE(all_findings_come_together_and_unknown_names_are_among_them) {
    const preset_result bad = load_presets("controller", {{"hbm_polcy", "buddy", "a"},
                                                          {"hbm_policy", "tightest", nullptr},
                                                          {"guard", "on", "b"},
                                                          {"nothing_like_it_at_all", "1", "c"}});
    BOOST_REQUIRE_EQUAL(bad.lines.size(), 4u);
    BOOST_CHECK_EQUAL(bad.lines[0], "top.x.hbm_polcy (preset by a): unknown key, did you mean \"top.x.hbm_policy\"?");
    BOOST_CHECK_EQUAL(bad.lines[1], "top.x.nothing_like_it_at_all (preset by c): unknown key");
    const string third =
        "top.x.hbm_policy (preset by an unknown originator): controller.hbm_policy: found \"tightest\"";
    BOOST_CHECK_EQUAL(bad.lines[2].substr(0, third.size()), third);
    const string fourth = "top.x.guard (preset by b): controller.guard: found \"on\", expected";
    BOOST_CHECK_EQUAL(bad.lines[3].substr(0, fourth.size()), fourth);
    BOOST_CHECK_EQUAL(load_presets("controller", {{"no", "1", "c"}}).status, TLA_SYNTAX);
}

BOOST_AUTO_TEST_CASE(the_nearest_name_is_one_below_the_instance) {
    const auto nearest = [](const char *section, const char *name) {
        tla_config_text text{};
        text.text[0] = 'x';
        return tla_preset_suggest(section, name, &text) ? string(text.text) : "none" + string(text.text);
    };
    BOOST_CHECK_EQUAL(nearest("controller", "hbm_polcy"), "hbm_policy");
    BOOST_CHECK_EQUAL(nearest("controller", "controller.hbm_policy"), "hbm_policy");
    BOOST_CHECK_EQUAL(nearest(nullptr, "hbm_policy"), "controller.hbm_policy");
    BOOST_CHECK_EQUAL(nearest("hbm", "capcity"), "capacity");
    BOOST_CHECK_EQUAL(nearest("hbm", "hbm.capacity"), "capacity");
    BOOST_CHECK_EQUAL(nearest("mmu", "tlb_l1.entry"), "tlb_l1.entries");
    BOOST_CHECK_EQUAL(nearest("mmu", "nothing_like_it_at_all"), "none");
}

// Several keys end with a word: each is named below the instance.
BOOST_AUTO_TEST_CASE(every_name_of_a_suggestion_is_below_the_instance) {
    for (const char *const section : sections_of_instances) {
        const tla_preset preset = {"chunk", "1", "a"};
        tla_config_text nearest;
        BOOST_REQUIRE(tla_preset_suggest(section, preset.name, &nearest));
        string expected = string("top.x.chunk (preset by a): unknown key, did you mean \"top.x.") + nearest.text;
        for (std::size_t at = expected.find("\" or \""); at != string::npos; at = expected.find("\" or \"", at + 6))
            expected.insert(at + 6, "top.x.");
        BOOST_CHECK_EQUAL(tla_preset_unknown("top.x", section, &preset).text, expected + "\"?");
    }
}

// Names of other tools may have any characters, and any length.
BOOST_AUTO_TEST_CASE(a_message_is_one_line_with_whole_names) {
    const tla_preset strange = {"hbm_polcy\n\x1b", "1", "a\tb"}, misspelt = {"hbm_polcy", "1", "a"};
    BOOST_CHECK_EQUAL(tla_preset_unknown("top.x", "controller", &strange).text,
                      "top.x.hbm_polcy?? (preset by a?b): unknown key, did you mean \"top.x.hbm_policy\"?");
    BOOST_CHECK_EQUAL(tla_preset_unused(&strange, nullptr, 0).text,
                      "hbm_polcy?? = \"1\" (preset by a?b) is no parameter");
    for (const std::size_t length : {99u, 300u, 377u, 378u, 379u, 380u, 400u, 500u}) {
        const string instance(length, 'x'), line = tla_preset_unknown(instance.c_str(), "controller", &misspelt).text;
        const string whole = "\"" + instance + ".hbm_policy\"?", alone = "\"hbm_policy\"?";
        const string &expected = length + 11 <= 390 ? whole : alone;
        BOOST_CHECK_EQUAL(line.substr(line.size() - expected.size()), expected);
        BOOST_CHECK_EQUAL(line.substr(line.size() - expected.size() - 4, 4), "ean ");
    }
}

BOOST_AUTO_TEST_CASE(an_unused_preset_names_the_nearest_parameter) {
    const char *const parameters[] = {"top.slice.capacity", "top.slice.burst"};
    const tla_preset near = {"top.sclie.capacity", "1 GiB", "first.json"}, far = {"elsewhere", "\x1b", nullptr};
    BOOST_CHECK_EQUAL(tla_preset_unused(&near, parameters, 2).text,
                      "top.sclie.capacity = \"1 GiB\" (preset by first.json) is no parameter, did you mean "
                      "\"top.slice.capacity\"?");
    BOOST_CHECK_EQUAL(tla_preset_unused(&far, parameters, 2).text,
                      "elsewhere = \"\\x1b\" (preset by an unknown originator) is no parameter");
    const string longest(3000, 'x');
    const tla_preset huge = {longest.c_str(), longest.c_str(), longest.c_str()};
    BOOST_CHECK_LT(std::strlen(tla_preset_unused(&huge, parameters, 2).text), sizeof(tla_preset_text));
    BOOST_CHECK_LT(std::strlen(tla_preset_unknown(longest.c_str(), "mmu", &huge).text), sizeof(tla_preset_text));
}
