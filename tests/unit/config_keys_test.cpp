// The keys of configurations as programs see them: what each key is, values by name and text, and findings about them.
#include "config_parsing.hpp"
#include "model/config/platform.h"
#include "tlmalloc/config/keys.h"

#include <map>

using namespace config_parsing;

namespace {

std::vector<tla_config_key> keys_of(tla_key_scope scope) {
    std::vector<tla_config_key> keys;
    const auto take = [](void *context, const tla_config_key *key) {
        static_cast<std::vector<tla_config_key> *>(context)->push_back(*key);
    };
    tla_config_each_key(scope, take, &keys);
    return keys;
}

struct finding {
    string file, text, key;
    std::size_t line, override;
};

void keep_finding_of_key(void *context, const tla_config_finding *f) {
    static_cast<std::vector<finding> *>(context)->push_back(
        {f->file, f->text, f->key ? f->key : "", f->line, f->override});
}

struct loaded {
    tla_status status;
    tla_config config;
    std::vector<finding> findings;
};

loaded load_settings(tla_key_scope scope, const std::vector<tla_config_setting> &settings, const char *path = nullptr) {
    loaded result{};
    std::memset(&result.config, 0x5a, sizeof result.config);
    result.status = tla_config_load_settings(scope, path, settings.data(), settings.size(), &result.config,
                                             keep_finding_of_key, &result.findings);
    BOOST_CHECK_EQUAL(result.status == TLA_OK, result.findings.empty());
    const std::string before(sizeof result.config, 0x5a);
    if (result.status) BOOST_CHECK(std::memcmp(&result.config, before.data(), before.size()) == 0);
    return result;
}

string text_of(const tla_config &config, const string &key) {
    tla_config_text text{};
    BOOST_CHECK_EQUAL(tla_config_get(&config, key.c_str(), &text), TLA_OK);
    return text.text;
}

constexpr tla_key_scope scopes[] = {TLA_KEYS_OF_PLATFORM, TLA_KEYS_OF_MODULE};

} // namespace

// The page for users has the same keys, in the same order and the same words.
BOOST_AUTO_TEST_CASE(the_reference_has_every_key_as_it_is_described) {
    const string page = printed(tla_config_print_reference);
    std::size_t at = 0;
    for (const tla_config_key &key : keys_of(TLA_KEYS_OF_PLATFORM)) {
        const string row = string("| `") + key.name + "` | " + key.range.text + " | " + key.default_text + " | " +
                           key.source + " | " + key.meaning + " |\n";
        const std::size_t found = page.find(row, at);
        BOOST_REQUIRE_MESSAGE(found != string::npos, row);
        at = found + row.size();
    }
    BOOST_CHECK_EQUAL(page.size(), at);
}

BOOST_AUTO_TEST_CASE(keys_are_visited_in_the_order_of_a_configuration_and_found_by_their_names) {
    const tla_config config = good("");
    strings visited;
    const auto take = [](void *context, const char *key, const char *text, bool is_number, uint64_t number) {
        tla_config_key described{};
        BOOST_REQUIRE(tla_config_find_key(TLA_KEYS_OF_PLATFORM, key, &described));
        BOOST_CHECK_EQUAL(described.name, key);
        BOOST_CHECK_EQUAL(described.is_number, is_number);
        if (is_number) BOOST_CHECK_MESSAGE(described.least <= number && number <= described.most, key << " " << text);
        static_cast<strings *>(context)->push_back(key);
    };
    tla_config_each(&config, take, &visited);
    const std::vector<tla_config_key> platform = keys_of(TLA_KEYS_OF_PLATFORM), module = keys_of(TLA_KEYS_OF_MODULE);
    BOOST_REQUIRE_EQUAL(platform.size(), visited.size());
    for (std::size_t i = 0; i < platform.size(); i++) {
        BOOST_CHECK_EQUAL(platform[i].name, visited[i]);
        BOOST_CHECK_EQUAL(module[i].name, visited[i]);
    }
    BOOST_REQUIRE_EQUAL(module.size(), platform.size() + 2);
    BOOST_CHECK_EQUAL(module[platform.size()].name, "hbm.capacity");
    BOOST_CHECK_EQUAL(module[platform.size() + 1].name, "tcm.present");
    tla_config_key key{};
    key.name = "as before";
    BOOST_CHECK(!tla_config_find_key(TLA_KEYS_OF_PLATFORM, "hbm.capacity", &key));
    BOOST_CHECK(!tla_config_find_key(TLA_KEYS_OF_MODULE, "hbm", &key));
    BOOST_CHECK(!tla_config_find_key(TLA_KEYS_OF_MODULE, "", &key));
    BOOST_CHECK_EQUAL(key.name, "as before");
}

BOOST_AUTO_TEST_CASE(a_key_has_its_unit_its_limits_and_its_words) {
    tla_config_key key{};
    BOOST_REQUIRE(tla_config_find_key(TLA_KEYS_OF_PLATFORM, "hbm.burst", &key));
    BOOST_CHECK_EQUAL(key.unit, "bytes");
    BOOST_CHECK_EQUAL(key.range.text, "1 B .. 64 KiB, a power of two");
    BOOST_CHECK_EQUAL(key.default_text, "256 B");
    BOOST_CHECK_EQUAL(key.source, "KernBench ADR-0033: burst = flit");
    BOOST_CHECK(key.is_number && key.power_of_two && key.least == 1 && key.most == 65536);
    BOOST_REQUIRE(tla_config_find_key(TLA_KEYS_OF_PLATFORM, "controller.guard", &key));
    BOOST_CHECK_EQUAL(key.unit, "");
    BOOST_CHECK_EQUAL(key.range.text, "off or report or error");
    BOOST_CHECK(!key.is_number && !key.power_of_two && key.least == 0 && key.most == 0);
    const std::map<string, string> units{{"system.sips", ""},
                                         {"mmu.overhead", "picoseconds"},
                                         {"hbm.pseudo_channel_bandwidth", "bytes per second"},
                                         {"pe.gemm_rate", "operations per second"},
                                         {"workload.kernel", ""},
                                         {"simulation.link_signals", ""}};
    for (const auto &[name, unit] : units) {
        BOOST_REQUIRE(tla_config_find_key(TLA_KEYS_OF_PLATFORM, name.c_str(), &key));
        BOOST_CHECK_EQUAL(key.unit, unit);
    }
}

// Every default as a setting is accepted, limits too, and what lies outside is a finding about the key and the setting.
BOOST_AUTO_TEST_CASE(a_value_outside_the_range_of_its_key_is_a_finding_about_key_and_setting) {
    for (const tla_key_scope scope : scopes)
        for (const tla_config_key &key : keys_of(scope)) {
            const string excess = key.most == UINT64_MAX ? "-1" : std::to_string(key.most) + "999999999 B";
            const loaded bad =
                load_settings(scope, {{"system.sips", "1"}, {key.name, key.is_number ? excess.c_str() : ""}});
            BOOST_REQUIRE_MESSAGE(bad.status == TLA_SYNTAX, key.name);
            const finding &f = bad.findings.front();
            BOOST_CHECK_EQUAL(f.key, key.name);
            BOOST_CHECK_EQUAL(f.override, 2u);
            BOOST_CHECK_EQUAL(f.file, "--set");
            BOOST_CHECK_MESSAGE(f.text.rfind(string(key.name) + ": found \"", 0) == 0, f.text);
        }
}

// All keys at once, each with the text that is read back, in any form that reads it.
BOOST_AUTO_TEST_CASE(a_configuration_that_is_read_back_key_by_key_is_set_again_by_the_same_texts) {
    const tla_config config = good("system: {sips: 2}\nhbm: {timing: hbm3, burst: 128 B}\nmmu: {page_size: 64 KiB}\n"
                                   "controller: {hbm_policy: buddy, guard: report, cost: {clock: 2 ns}}\n");
    std::vector<std::pair<string, string>> texts;
    for (const tla_config_key &key : keys_of(TLA_KEYS_OF_PLATFORM))
        texts.emplace_back(key.name, text_of(config, key.name));
    std::vector<tla_config_setting> settings;
    for (const auto &[key, text] : texts)
        settings.push_back({key.c_str(), text.c_str()});
    const loaded again = load_settings(TLA_KEYS_OF_PLATFORM, settings);
    BOOST_REQUIRE_EQUAL(again.status, TLA_OK);
    BOOST_CHECK(tla_config_equal(&config, &again.config));
    tla_config_text text{};
    text.text[0] = 'x';
    BOOST_CHECK_EQUAL(tla_config_get(&config, "hbm", &text), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(text.text, "");
}

BOOST_AUTO_TEST_CASE(settings_apply_after_the_file_in_their_order_and_words_stand_alone) {
    const scratch_directory directory;
    const string path = directory.write("platform.yaml", "hbm: {burst: 64 B}\nmmu: {page_size: 1 KiB}\n");
    loaded bad = load_settings(TLA_KEYS_OF_PLATFORM, {}, path.c_str());
    BOOST_REQUIRE_EQUAL(bad.findings.size(), 1u);
    BOOST_CHECK_EQUAL(bad.findings[0].key, "mmu.page_size");
    BOOST_CHECK_EQUAL(bad.findings[0].line, 2u);
    BOOST_CHECK_EQUAL(bad.findings[0].override, 0u);
    BOOST_CHECK_EQUAL(bad.findings[0].file, path);
    write_text(path, "hbm: {burst: 64 B}\n");
    const loaded set =
        load_settings(TLA_KEYS_OF_PLATFORM, {{" hbm.burst ", "32 B"}, {"hbm.burst", "  128 B "}}, path.c_str());
    BOOST_CHECK_EQUAL(text_of(set.config, "hbm.burst"), "128 B");
    bad = load_settings(TLA_KEYS_OF_PLATFORM, {}, "none/such.yaml");
    BOOST_CHECK_EQUAL(bad.status, TLA_IO);
    BOOST_CHECK_EQUAL(bad.findings[0].key, "");
    // Only what is set counts as set.
    BOOST_CHECK_EQUAL(
        text_of(load_settings(TLA_KEYS_OF_PLATFORM, {{"mmu.page_size", "64 KiB"}}).config, "va.page_size"), "64 KiB");
}

BOOST_AUTO_TEST_CASE(findings_name_their_setting_whatever_they_are) {
    const string long_text(600, 'x');
    const std::vector<tla_config_setting> settings{{"hbm.brust", "1"},        {"mmu", "1"},
                                                   {"hbm.burst", "64"},       {"workload.kernel", long_text.c_str()},
                                                   {long_text.c_str(), "1"},  {"mmu.page_size", "64 KiB"},
                                                   {"va.page_size", "1 MiB"}, {"va.size", "1088 KiB"}};
    const loaded bad = load_settings(TLA_KEYS_OF_PLATFORM, settings);
    BOOST_REQUIRE_EQUAL(bad.findings.size(), 6u);
    const std::vector<std::pair<string, string>> expected{
        {"", "unknown key \"hbm.brust\", did you mean \"hbm.burst\"?"},
        {"", "found a section, expected one of its keys, such as mmu."},
        {"hbm.burst", "hbm.burst: found \"64\", which has no unit"},
        {"workload.kernel", "workload.kernel: found a text of 600 characters, expected at most 511"},
        {"", "unknown key \"xxx"},
        {"va.size", "va.size 1088 KiB must be a multiple of va.page_size, 1 MiB"}};
    const std::size_t numbers[] = {1, 2, 3, 4, 5, 8};
    for (std::size_t i = 0; i < expected.size(); i++) {
        BOOST_CHECK_EQUAL(bad.findings[i].key, expected[i].first);
        BOOST_CHECK_EQUAL(bad.findings[i].text.substr(0, expected[i].second.size()), expected[i].second);
        BOOST_CHECK_EQUAL(bad.findings[i].override, numbers[i]);
    }
}

// The same of overrides, whose findings begin with the override's text.
BOOST_AUTO_TEST_CASE(findings_of_overrides_have_the_text_of_settings_behind_their_own) {
    const std::vector<std::pair<string, string>> said{
        {"hbm.brust", "1"}, {"hbm", "1"}, {"hbm.burst", "64"}, {"mmu.pages_2m", "true"}, {"mmu.page_size", "1 GiB"}};
    strings texts;
    std::vector<tla_config_setting> settings;
    for (const auto &[key, value] : said) {
        texts.push_back(key + "=" + value);
        settings.push_back({key.c_str(), value.c_str()});
    }
    std::vector<const char *> overrides;
    for (const string &text : texts)
        overrides.push_back(text.c_str());
    tla_config config{};
    std::vector<finding> found;
    BOOST_CHECK_EQUAL(
        tla_config_load(nullptr, overrides.data(), overrides.size(), &config, keep_finding_of_key, &found), TLA_SYNTAX);
    const std::vector<finding> plain = load_settings(TLA_KEYS_OF_PLATFORM, settings).findings;
    BOOST_REQUIRE_EQUAL(found.size(), plain.size());
    BOOST_CHECK_GE(found.size(), 4u);
    for (std::size_t i = 0; i < found.size(); i++) {
        BOOST_CHECK_EQUAL(found[i].key, plain[i].key);
        BOOST_CHECK_EQUAL(found[i].override, plain[i].override);
        BOOST_CHECK_EQUAL(found[i].text, "\"" + texts[found[i].override - 1] + "\": " + plain[i].text);
    }
    found.clear();
    const char *const no_override = "hbm.burst";
    BOOST_CHECK_EQUAL(tla_config_load(nullptr, &no_override, 1, &config, keep_finding_of_key, &found), TLA_SYNTAX);
    BOOST_CHECK(found[0].key.empty() && found[0].override == 1);
}

// Findings in a file name their key as well, and the key again where it is written twice.
BOOST_AUTO_TEST_CASE(findings_of_a_file_name_their_key_or_none) {
    const std::vector<std::pair<string, string>> cases{
        {"hbm: {burst: 3 B}", "hbm.burst"},
        {"hbm: {burst: [1, 2]}", "hbm.burst"},
        {"hbm: {burst: 1 B, burst: 1 B}", "hbm.burst"},
        {"hbm: {brust: 1 B}", ""},
        {"hbm: 3", ""},
        {"hbm: [", ""},
        {"hbm: {timing: none.yaml}", "hbm.timing"},
        {"workload: {asid: 7}", "workload.asid"},
        {"controller: {cost: {profile: no_such}}", "controller.cost.profile"}};
    for (const auto &[text, key] : cases) {
        std::vector<finding> found;
        tla_config config{};
        BOOST_CHECK_EQUAL(
            tla_config_parse(text.data(), text.size(), "f", nullptr, 0, &config, keep_finding_of_key, &found),
            TLA_SYNTAX);
        BOOST_REQUIRE(!found.empty());
        BOOST_CHECK_MESSAGE(found.back().key == key, text << ": " << found.back().key << ": " << found.back().text);
        BOOST_CHECK_EQUAL(found.back().override, 0u);
    }
}

BOOST_AUTO_TEST_CASE(the_nearest_key_is_the_one_that_a_finding_names) {
    const std::map<string, string> nearest{{"hbm.brust", "hbm.burst"},
                                           {"controler.hbm_polcy", "controller.hbm_policy"},
                                           {"page_size", "mmu.page_size\" or \"va.page_size"},
                                           {"hmb", "hbm"},
                                           {"something.else.entirely", ""},
                                           {"", ""}};
    for (const auto &[name, expected] : nearest)
        for (const tla_key_scope scope : scopes) {
            tla_config_text found{};
            found.text[0] = 'x';
            BOOST_CHECK_EQUAL(tla_config_suggest(scope, name.c_str(), &found), !expected.empty());
            BOOST_CHECK_EQUAL(found.text, expected);
            const loaded bad = load_settings(scope, {{name.c_str(), "1"}});
            const bool said = bad.findings.at(0).text.find("did you mean \"" + expected + "\"?") != string::npos;
            BOOST_CHECK_EQUAL(said, !expected.empty());
        }
    tla_config_text found{};
    BOOST_CHECK(tla_config_suggest(TLA_KEYS_OF_MODULE, "tcm.presnt", &found));
    BOOST_CHECK_EQUAL(found.text, "tcm.present");
    BOOST_CHECK(tla_config_suggest(TLA_KEYS_OF_PLATFORM, "tcm.presnt", &found) == false);
}

// ---- a module that stands alone ----

BOOST_AUTO_TEST_CASE(a_module_that_stands_alone_has_a_slice_of_its_own_size) {
    const loaded alone = load_settings(TLA_KEYS_OF_MODULE, {{"hbm.capacity", "64 MiB"}});
    BOOST_REQUIRE_EQUAL(alone.status, TLA_OK);
    BOOST_CHECK_EQUAL(alone.config.hbm.capacity, 64u << 20);
    BOOST_CHECK_EQUAL(alone.config.controller.memory.of[TLA_HBM].bytes, 64u << 20);
    BOOST_CHECK_EQUAL(text_of(alone.config, "hbm.capacity_per_cube"), "256 MiB");
    BOOST_CHECK_EQUAL(text_of(alone.config, "hbm.capacity"), "64 MiB");
    BOOST_CHECK_EQUAL(text_of(load_settings(TLA_KEYS_OF_MODULE, {}).config, "hbm.capacity"), "6 GiB");
    const loaded of_cube =
        load_settings(TLA_KEYS_OF_MODULE, {{"hbm.capacity_per_cube", "64 MiB"}, {"system.pes_per_cube", "2"}});
    BOOST_CHECK_EQUAL(text_of(of_cube.config, "hbm.capacity"), "32 MiB");
    // A platform has no such keys, and reads what was resolved.
    const loaded platform = load_settings(TLA_KEYS_OF_PLATFORM, {{"hbm.capacity", "64 MiB"}});
    BOOST_CHECK_EQUAL(platform.status, TLA_SYNTAX);
    const string text = printed(alone.config);
    BOOST_CHECK_EQUAL(good(text).hbm.capacity, 64u << 20);
}

BOOST_AUTO_TEST_CASE(findings_about_the_size_of_a_slice_stand_at_its_key) {
    const auto check = [](const std::vector<tla_config_setting> &settings, const string &text, std::size_t number) {
        const loaded bad = load_settings(TLA_KEYS_OF_MODULE, settings);
        BOOST_REQUIRE_EQUAL(bad.findings.size(), 1u);
        BOOST_CHECK_EQUAL(bad.findings[0].text.substr(0, text.size()), text);
        BOOST_CHECK_EQUAL(bad.findings[0].key, "hbm.capacity");
        BOOST_CHECK_EQUAL(bad.findings[0].override, number);
    };
    check({{"hbm.capacity", "64"}}, "hbm.capacity: found \"64\", which has no unit", 1);
    check({{"hbm.capacity_per_cube", "64 MiB"}, {"hbm.capacity", "64 MiB"}},
          "found hbm.capacity and hbm.capacity_per_cube, expected one of them", 2);
    check({{"hbm.capacity", "64 GiB"}},
          "hbm.capacity 64 GiB times system.pes_per_cube, 4, must be at most 128 GiB: set system.pes_per_cube to 1", 1);
    BOOST_CHECK_EQUAL(
        load_settings(TLA_KEYS_OF_MODULE, {{"hbm.capacity", "64 GiB"}, {"system.pes_per_cube", "1"}}).status, TLA_OK);
}

BOOST_AUTO_TEST_CASE(a_controller_that_stands_alone_may_have_no_tcm) {
    const loaded without = load_settings(TLA_KEYS_OF_MODULE, {{"tcm.present", "false"}});
    BOOST_REQUIRE_EQUAL(without.status, TLA_OK);
    BOOST_CHECK(!without.config.tcm_present);
    BOOST_CHECK_EQUAL(without.config.controller.memory.of[TLA_TCM].bytes, 0u);
    BOOST_CHECK_EQUAL(without.config.controller.memory.of[TLA_TCM].reserved, 0u);
    BOOST_CHECK_EQUAL(text_of(without.config, "tcm.present"), "false");
    // Both bases are 0 by default; a TCM that is not there lies nowhere.
    BOOST_CHECK_EQUAL(
        load_settings(TLA_KEYS_OF_MODULE, {{"tcm.present", "false"}, {"controller.addresses", "plain"}}).status,
        TLA_OK);
    BOOST_CHECK_EQUAL(load_settings(TLA_KEYS_OF_MODULE, {{"controller.addresses", "plain"}}).status, TLA_SYNTAX);
    const loaded with = load_settings(TLA_KEYS_OF_MODULE, {});
    BOOST_CHECK(with.config.tcm_present && with.config.controller.memory.of[TLA_TCM].bytes == 16u << 20);
    BOOST_CHECK(!tla_config_equal(&with.config, &without.config));
    BOOST_CHECK(good("").tcm_present);
    BOOST_CHECK_EQUAL(load_settings(TLA_KEYS_OF_MODULE, {{"tcm.present", "maybe"}}).findings.at(0).text,
                      "tcm.present: found \"maybe\", expected false or true");
    BOOST_CHECK_EQUAL(load_settings(TLA_KEYS_OF_PLATFORM, {{"tcm.present", "false"}}).status, TLA_SYNTAX);
}
