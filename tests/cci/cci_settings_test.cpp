// Every key as a CCI parameter: presets, brokers, resolved values, reports.
#include "tlmalloc/cci/cci_settings.hpp"

#include "tlmalloc/cci/cci_text.hpp"
#include "tlmalloc/config/presets.h"
#include "tlmalloc/modules.hpp"

#include <boost/test/unit_test.hpp>
#include <map>
#include <memory>
#include <random>
#include <set>

using namespace tlmalloc;
using strings = std::vector<std::string>;

namespace {

// What is reported, by id; errors do not throw unless a test wants them to.
std::vector<std::pair<std::string, std::string>> reports;

void keep_report(const sc_core::sc_report &report, const sc_core::sc_actions &actions) {
    if (report.get_severity() >= sc_core::SC_WARNING) reports.emplace_back(report.get_msg_type(), report.get_msg());
    if (actions & sc_core::SC_THROW) throw report;
}

strings reported(const std::string &id) {
    strings texts;
    for (const auto &[type, text] : reports)
        if (type == id) texts.push_back(text);
    return texts;
}

// A process has one global broker.
::cci::cci_broker_handle presets_of(const std::string &originator) {
    static cci_utils::consuming_broker global("global");
    static bool registered = false;
    if (!registered) {
        ::cci::cci_register_broker(global);
        sc_core::sc_report_handler::set_handler(keep_report);
        sc_core::sc_report_handler::set_actions(sc_core::SC_ERROR, sc_core::SC_DISPLAY);
        registered = true;
    }
    return ::cci::cci_get_global_broker(::cci::cci_originator(originator));
}

template <typename Value>
void preset(const std::string &name, const Value &value, const std::string &by = "first.json") {
    presets_of(by).set_preset_cci_value(name, ::cci::cci_value(value));
}

std::string value_of(const std::string &name) {
    const ::cci::cci_param_untyped_handle handle = presets_of("reader").get_param_handle(name);
    BOOST_REQUIRE_MESSAGE(handle.is_valid(), name);
    return text_of_cci_value(handle.get_cci_value());
}

// A module whose only part is the configuration of an instance.
struct parent : sc_core::sc_module {
    std::unique_ptr<cci_utils::broker> own_broker;
    std::vector<std::unique_ptr<cci_settings>> settings;

    parent(sc_core::sc_module_name name, const std::vector<std::pair<std::string, cci_instance>> &instances,
           const std::function<void(parent &)> &before = {})
        : sc_module(name) {
        if (before) before(*this);
        for (const auto &[instance, what] : instances)
            settings.push_back(std::make_unique<cci_settings>(instance, what));
    }
};

constexpr std::pair<cci_instance, const char *> instances_of_all[] = {{cci_instance::npu, nullptr},
                                                                      {cci_instance::memory_controller, "controller"},
                                                                      {cci_instance::pe_mmu, "mmu"},
                                                                      {cci_instance::hbm_slice, "hbm"},
                                                                      {cci_instance::tcm, "tcm"}};

std::vector<tla_config_key> keys_of_instance(const char *section) {
    std::vector<tla_config_key> keys;
    const auto take = [](void *context, const tla_config_key *key) {
        static_cast<std::vector<tla_config_key> *>(context)->push_back(*key);
    };
    tla_config_each_key(tla_preset_scope(section), take, &keys);
    return keys;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_key_is_a_parameter_with_its_range_and_meaning_and_there_is_no_other) {
    const ::cci::cci_broker_handle broker = presets_of("test");
    for (const auto &[what, section] : instances_of_all) {
        const parent top("top", {{"x", what}});
        std::set<std::string> expected, found;
        for (const tla_config_key &key : keys_of_instance(section)) {
            const std::string name = std::string("top.x.") + tla_preset_name(section, key.name);
            expected.insert(name);
            const ::cci::cci_param_untyped_handle handle = broker.get_param_handle(name);
            BOOST_REQUIRE_MESSAGE(handle.is_valid(), name);
            const std::string description = handle.get_description();
            BOOST_CHECK(description.find(key.meaning) != std::string::npos);
            BOOST_CHECK(description.find(key.range.text) != std::string::npos);
            BOOST_CHECK_EQUAL(text_of_cci_value(handle.get_default_cci_value()), key.default_text);
            tla_config_text resolved;
            BOOST_REQUIRE_EQUAL(tla_config_get(&top.settings[0]->config(), key.name, &resolved), TLA_OK);
            BOOST_CHECK_EQUAL(value_of(name), resolved.text);
            BOOST_CHECK(handle.is_locked());
            BOOST_CHECK(broker.get_param_handle<cci_text>(name).is_valid());
        }
        for (const ::cci::cci_param_untyped_handle &handle : broker.get_param_handles())
            found.insert(handle.name());
        BOOST_CHECK_EQUAL_COLLECTIONS(found.begin(), found.end(), expected.begin(), expected.end());
        const strings names = top.settings[0]->parameters();
        BOOST_CHECK(std::set<std::string>(names.begin(), names.end()) == expected);
    }
    BOOST_CHECK(broker.get_param_handles().empty());
    BOOST_CHECK(reports.empty());
}

BOOST_AUTO_TEST_CASE(texts_integers_and_bools_are_presets_and_only_presets_count_as_set) {
    preset("top.mmu.page_size", "64 KiB");
    preset("top.mmu.ports", 7);
    preset("top.mmu.pages_2m", true);
    preset("top.mmu.controller.hbm_policy", "best_fit");
    preset("top.mmu.walk", "flat");
    const parent top("top", {{"mmu", cci_instance::pe_mmu}});
    const tla_config &config = top.settings[0]->config();
    BOOST_CHECK(top.settings[0]->accepted());
    BOOST_CHECK_EQUAL(top.settings[0]->name(), "top.mmu");
    BOOST_CHECK_EQUAL(config.mmu.page_size, 65536u);
    BOOST_CHECK_EQUAL(config.mmu.ports, 7u);
    BOOST_CHECK(config.pages.size_2m);
    BOOST_CHECK_EQUAL(value_of("top.mmu.va.page_size"), "64 KiB"); // follows
    BOOST_CHECK_EQUAL(value_of("top.mmu.ports"), "7");
    BOOST_CHECK_EQUAL(value_of("top.mmu.pages_2m"), "true");
    BOOST_CHECK_EQUAL(value_of("top.mmu.controller.hbm_policy"), "best_fit");
    BOOST_CHECK(reports.empty());
    // Nothing changes a resolved value.
    ::cci::cci_param_untyped_handle handle = presets_of("other").get_param_handle("top.mmu.page_size");
    handle.set_cci_value(::cci::cci_value("4 KiB"));
    BOOST_CHECK_EQUAL(reports.size(), 1u);
    handle.unlock();
    BOOST_CHECK(handle.is_locked());
    handle.set_cci_value(::cci::cci_value("4 KiB"));
    BOOST_CHECK_EQUAL(value_of("top.mmu.page_size"), "64 KiB");
}

// Lua up to 5.2 has no integers.
BOOST_AUTO_TEST_CASE(a_floating_point_number_that_is_whole_is_an_integer) {
    const std::pair<double, const char *> numbers[] = {{8.0, "8"},
                                                       {0.0, "0"},
                                                       {-0.0, "0"},
                                                       {-8.0, "-8"},
                                                       {4294967296.0, "4294967296"},
                                                       {9007199254740992.0, "9007199254740992"}};
    for (const auto &[number, text] : numbers)
        BOOST_CHECK_EQUAL(text_of_cci_value(::cci::cci_value(number)), text);
    for (const double number : {8.5, 0.1, 18014398509481984.0, 1e300, -1e300})
        BOOST_CHECK_EQUAL(text_of_cci_value(::cci::cci_value(number)), ::cci::cci_value(number).to_json());
    preset("top.c.ports", 8.0);
    preset("top.d.ports", 8.5);
    preset("top.d.hbm.capacity", 64.0);
    const parent top("top", {{"c", cci_instance::memory_controller}, {"d", cci_instance::memory_controller}});
    BOOST_CHECK_EQUAL(top.settings[0]->config().controller.ports, 8u);
    BOOST_CHECK_EQUAL(value_of("top.c.ports"), "8");
    const strings errors = reported("/tlmalloc/cci/config");
    BOOST_REQUIRE_EQUAL(errors.size(), 1u);
    BOOST_CHECK(errors[0].find("found \"8.5\", expected an integer") != std::string::npos);
    BOOST_CHECK(errors[0].find("found \"64\", which has no unit") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(all_wrong_presets_are_one_error_with_texts_of_a_file_and_the_defaults_apply) {
    preset("top.c.hbm_policy", "tightest", "first.json");
    preset("top.c.hbm.capacity", 64, "second.json");
    preset("top.c.guard", true, "second.json");
    preset("top.c.hbm_polcy", "buddy", "second.json");
    parent top("top", {{"c", cci_instance::memory_controller}});
    BOOST_CHECK(!top.settings[0]->accepted());
    const strings errors = reported("/tlmalloc/cci/config");
    BOOST_REQUIRE_EQUAL(errors.size(), 1u);
    for (const char *const text :
         {"top.c:\n",
          "\n  top.c.hbm_policy (preset by first.json): controller.hbm_policy: found \"tightest\", expected ",
          "\n  top.c.hbm.capacity (preset by second.json): hbm.capacity: found \"64\", which has no unit",
          "\n  top.c.guard (preset by second.json): controller.guard: found \"true\", expected off or report or error"})
        BOOST_CHECK_MESSAGE(errors[0].find(text) != std::string::npos, errors[0]);
    // The misspelt one is known before the error, which may be the last report.
    BOOST_REQUIRE_EQUAL(reports.size(), 2u);
    BOOST_CHECK_EQUAL(reports[0].first, "/tlmalloc/cci/unknown");
    BOOST_CHECK_EQUAL(reports[0].second,
                      "top.c.hbm_polcy (preset by second.json): unknown key, did you mean \"top.c.hbm_policy\"?");
    tla_config empty{};
    BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, nullptr, 0, &empty, nullptr, nullptr), TLA_OK);
    BOOST_CHECK(tla_config_equal(&top.settings[0]->config(), &empty));
    BOOST_CHECK_EQUAL(value_of("top.c.hbm_policy"), "first_fit");
    BOOST_CHECK_EQUAL(value_of("top.c.hbm.capacity"), "6 GiB");
}

BOOST_AUTO_TEST_CASE(an_error_that_throws_leaves_no_parameter) {
    const ::cci::cci_broker_handle broker = presets_of("test");
    sc_core::sc_report_handler::set_actions(sc_core::SC_ERROR, sc_core::SC_THROW);
    preset("c.hbm_policy", "tightest");
    BOOST_CHECK_THROW(cci_settings("c", cci_instance::memory_controller), sc_core::sc_report);
    BOOST_CHECK(broker.get_param_handles().empty());
}

// The part before the NUL is a value, the whole is none.
BOOST_AUTO_TEST_CASE(a_text_with_a_nul_is_no_value) {
    preset("top.c.ports", std::string("8\0x", 3));
    const parent top("top", {{"c", cci_instance::memory_controller}});
    BOOST_CHECK(!top.settings[0]->accepted());
    const strings errors = reported("/tlmalloc/cci/config");
    BOOST_REQUIRE_EQUAL(errors.size(), 1u);
    BOOST_CHECK_MESSAGE(errors[0].find("8\\u0000x") != std::string::npos, errors[0]);
}

BOOST_AUTO_TEST_CASE(a_name_that_is_taken_is_one_error_and_nothing_is_made) {
    const ::cci::cci_broker_handle broker = presets_of("test");
    sc_core::sc_report_handler::set_actions(sc_core::SC_ERROR, sc_core::SC_THROW);
    const cci_settings first("c", cci_instance::memory_controller);
    const std::size_t parameters = broker.get_param_handles().size();
    BOOST_CHECK_THROW(cci_settings("c", cci_instance::tcm), sc_core::sc_report);
    BOOST_REQUIRE_EQUAL(reports.size(), 1u);
    BOOST_CHECK_EQUAL(reports[0].first, "/tlmalloc/cci/name");
    BOOST_CHECK_EQUAL(broker.get_param_handles().size(), parameters);
}

// An integer of another model, in the place of one key: CCI renames the parameter of that key.
BOOST_AUTO_TEST_CASE(a_single_name_that_is_taken_is_an_error) {
    preset("c.ports", 8);
    const ::cci::cci_param<int> other("c.ports", 3, "", ::cci::CCI_ABSOLUTE_NAME, ::cci::cci_originator("other"));
    reports.clear();
    const cci_settings made("c", cci_instance::memory_controller);
    const strings taken = reported("/tlmalloc/cci/name");
    BOOST_REQUIRE_EQUAL(taken.size(), 1u);
    BOOST_CHECK_MESSAGE(taken[0].find(": c.ports;") != std::string::npos, taken[0]);
    BOOST_CHECK(made.accepted());
    BOOST_CHECK_EQUAL(made.config().controller.ports, 8u);
    BOOST_CHECK_EQUAL(other.get_value(), 8);
}

// A name that begins with another one, and an instance below another.
BOOST_AUTO_TEST_CASE(instances_with_similar_names_have_their_own_presets) {
    preset("top.a.hbm_policy", "buddy");
    preset("top.a.b.hbm_policy", "best_fit");
    preset("top.ab.hbm_policy", "worst_fit");
    preset("top.ab.hbm_polcy", "worst_fit");
    const std::vector<std::pair<std::string, cci_instance>> names{{"a", cci_instance::memory_controller},
                                                                  {"a.b", cci_instance::memory_controller},
                                                                  {"ab", cci_instance::memory_controller},
                                                                  {"", cci_instance::memory_controller}};
    const parent top("top", names);
    const tla_stack_policy expected[] = {TLA_BUDDY, TLA_BEST_FIT, TLA_WORST_FIT, TLA_FIRST_FIT};
    for (std::size_t i = 0; i < names.size(); i++)
        BOOST_CHECK_EQUAL(top.settings[i]->config().controller.memory.of[TLA_HBM].policy, expected[i]);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    // One instance knows it as its own; the one around it has no key near to it.
    strings unknown = reported("/tlmalloc/cci/unknown");
    std::sort(unknown.begin(), unknown.end());
    BOOST_REQUIRE_GE(unknown.size(), 1u);
    BOOST_CHECK_EQUAL(reports.size(), unknown.size());
    BOOST_CHECK(std::count_if(unknown.begin(), unknown.end(), [](const std::string &text) {
                    return text.rfind("top.ab.hbm_polcy (preset by first.json): unknown key, did you mean "
                                      "\"top.ab.hbm_policy\"?",
                                      0) == 0;
                }) == 1);
}

// An error may be the last report; an instance that comes later, below this one, has presets nobody has used yet.
BOOST_AUTO_TEST_CASE(no_preset_of_an_inner_instance_is_unknown_before_an_error) {
    const char *const later[] = {"b.hbm_policy", "b.hbm_polcy", "hbm.capacity",     "slice.capacity", "slice.hbm.burst",
                                 "mmu.walk",     "c.mmu.walk",  "controller.ports", "npu.system.sips"};
    for (const auto &[what, section] : instances_of_all) {
        const std::string name = std::string("top.") + (section ? section : "npu");
        for (const char *const below : later) {
            tla_config_key key;
            if (!tla_preset_find_key(section, below, &key)) preset(name + "." + below, "no value of anything");
        }
        preset(name + "." + tla_preset_name(section, "controller.ports"), "none");
        preset(name + "." + tla_preset_name(section, "controller.prots"), "8");
        reports.clear();
        const parent top("top", {{name.substr(4), what}});
        BOOST_CHECK(!top.settings[0]->accepted());
        const strings unknown = reported("/tlmalloc/cci/unknown");
        BOOST_REQUIRE_EQUAL(unknown.size(), 1u);
        BOOST_CHECK_MESSAGE(unknown[0].find("ports\"?") != std::string::npos, unknown[0]);
    }
}

BOOST_AUTO_TEST_CASE(an_instance_that_is_made_again_reads_its_presets_again) {
    const ::cci::cci_broker_handle broker = presets_of("test");
    for (const unsigned ports : {8u, 9u, 10u}) {
        preset("top.c.ports", ports);
        const parent top("top", {{"c", cci_instance::memory_controller}});
        BOOST_CHECK_EQUAL(top.settings[0]->config().controller.ports, ports);
        BOOST_CHECK_EQUAL(value_of("top.c.ports"), std::to_string(ports));
        const auto typed = broker.get_param_handle<cci_text>("top.c.ports");
        BOOST_CHECK_EQUAL(typed.get_value().text, std::to_string(ports));
        BOOST_CHECK(typed.is_locked());
    }
    BOOST_CHECK(broker.get_param_handles().empty());
    BOOST_CHECK(reports.empty());
}

BOOST_AUTO_TEST_CASE(a_preset_that_comes_too_late_is_reported) {
    preset("top.c.ports", 8);
    preset("top.c.hbm_policy", "buddy");
    preset("top.c.guard", "report");
    const parent top("top", {{"c", cci_instance::memory_controller}});
    preset("top.c.ports", 9, "late.json");            // changed
    preset("top.c.hbm_policy", "buddy", "late.json"); // the same
    preset("top.c.hbm.capacity", "1 GiB", "late.json");
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    const strings late = reported("/tlmalloc/cci/late");
    BOOST_REQUIRE_EQUAL(late.size(), 2u);
    BOOST_CHECK_EQUAL(value_of("top.c.ports"), "8");
    std::set<std::string> names;
    for (const std::string &text : late)
        names.insert(text.substr(0, text.find("):")));
    const std::set<std::string> expected{"top.c.hbm.capacity (preset by late.json", "top.c.ports (preset by late.json"};
    BOOST_CHECK(names == expected);
}

BOOST_AUTO_TEST_CASE(unused_presets_are_reported_with_the_nearest_name) {
    preset("top.c.hbm_polcy", "buddy");
    preset("top.c.target_socket.address", 4096);
    preset("top.c.target_sockets", 4096);
    preset("top.sclie.capacity", "1 GiB");
    preset("top.slice.capacity", "1 GiB");
    parent top("top", {{"c", cci_instance::memory_controller}, {"slice", cci_instance::hbm_slice}});
    top.settings[0]->ignore("target_socket");
    BOOST_CHECK(reports.empty());
    BOOST_CHECK_EQUAL(report_unused_cci_presets(), 4u);
    const strings unused = reported("/tlmalloc/cci/unused");
    BOOST_REQUIRE_EQUAL(unused.size(), 4u);
    BOOST_CHECK_EQUAL(unused[3], "top.sclie.capacity = \"1 GiB\" (preset by first.json) is no parameter, did you mean "
                                 "\"top.slice.capacity\"?");
    sc_core::sc_start(sc_core::SC_ZERO_TIME);
    const strings unknown = reported("/tlmalloc/cci/unknown");
    BOOST_REQUIRE_EQUAL(unknown.size(), 2u);
    BOOST_CHECK_EQUAL(unknown[0],
                      "top.c.hbm_polcy (preset by first.json): unknown key, did you mean \"top.c.hbm_policy\"?");
    BOOST_CHECK_EQUAL(unknown[1], "top.c.target_sockets (preset by first.json): unknown key");
}

BOOST_AUTO_TEST_CASE(a_private_broker_of_a_parent_has_the_presets_and_the_parameters) {
    const ::cci::cci_broker_handle global = presets_of("global.json");
    preset("top.c.ports", 9);
    const parent top("top", {{"c", cci_instance::memory_controller}}, [](parent &self) {
        self.own_broker = std::make_unique<cci_utils::broker>("private");
        ::cci::cci_broker_handle own = ::cci::cci_register_broker(*self.own_broker);
        own.set_preset_cci_value("top.c.hbm_policy", ::cci::cci_value("buddy"));
    });
    const tla_config &config = top.settings[0]->config();
    BOOST_CHECK_EQUAL(config.controller.memory.of[TLA_HBM].policy, tla_stack_policy{TLA_BUDDY});
    tla_controller_parameters defaults;
    tla_controller_defaults(&defaults);
    BOOST_CHECK_EQUAL(config.controller.ports, defaults.ports); // the global one is not asked
    BOOST_CHECK(global.get_param_handles().empty());
    BOOST_CHECK(reports.empty());
}

// A private broker hands on what it exposes.
BOOST_AUTO_TEST_CASE(an_exposed_parameter_has_the_preset_of_the_broker_above) {
    const ::cci::cci_broker_handle global = presets_of("global.json");
    preset("top.c.ports", 9);
    preset("top.c.hbm_policy", "buddy");
    const parent top("top", {{"c", cci_instance::memory_controller}}, [](parent &self) {
        self.own_broker = std::make_unique<cci_utils::broker>("private");
        self.own_broker->expose.insert("top.c.ports");
        ::cci::cci_register_broker(*self.own_broker);
    });
    const tla_config &config = top.settings[0]->config();
    BOOST_CHECK_EQUAL(config.controller.ports, 9u);
    BOOST_CHECK_EQUAL(config.controller.memory.of[TLA_HBM].policy, tla_stack_policy{TLA_FIRST_FIT});
    BOOST_CHECK_EQUAL(global.get_param_handles().size(), 1u);
    BOOST_CHECK_EQUAL(value_of("top.c.ports"), "9");
    BOOST_CHECK_EQUAL(report_unused_cci_presets(), 1u);
    BOOST_CHECK_EQUAL(reports.size(), 1u);
}

BOOST_AUTO_TEST_CASE(an_instance_may_be_the_module_itself_or_lie_outside_the_hierarchy) {
    preset("top.hbm_policy", "buddy");
    preset("elsewhere.hbm_policy", "buddy");
    const parent top("top", {{"", cci_instance::memory_controller}});
    const cci_settings outside("elsewhere", cci_instance::memory_controller);
    for (const cci_settings *const one : {static_cast<const cci_settings *>(top.settings[0].get()), &outside})
        BOOST_CHECK_EQUAL(one->config().controller.memory.of[TLA_HBM].policy, tla_stack_policy{TLA_BUDDY});
    BOOST_CHECK_EQUAL(top.settings[0]->name(), "top");
    BOOST_CHECK(reports.empty());
}

// Modules below an instance keep the names of their sockets.
BOOST_AUTO_TEST_CASE(no_object_is_renamed_because_of_a_parameter) {
    presets_of("test");
    struct all : sc_core::sc_module {
        cci_settings of_controller{"controller", cci_instance::memory_controller}, of_mmu{"mmu", cci_instance::pe_mmu},
            of_slice{"slice", cci_instance::hbm_slice}, of_tcm{"tcm", cci_instance::tcm},
            of_npu{"npu", cci_instance::npu};
        hbm_slice slice{"slice", slice_config(of_slice.config(), {})};
        tlmalloc::tcm local{"tcm", tcm_config(of_tcm.config())};
        memory_controller controller{"controller", controller_config(of_controller.config(), {})};
        pe_mmu mmu{"mmu", pe_mmu::config(of_mmu.config().mmu)};
        npu platform{"npu", of_npu.config(), {}};
        explicit all(sc_core::sc_module_name name) : sc_module(name) {}
    };
    const all top("top");
    for (const auto &[id, text] : reports)
        BOOST_ERROR(id << ": " << text);
    BOOST_CHECK(sc_core::sc_find_object("top.mmu.walk") != nullptr);
    BOOST_CHECK_EQUAL(value_of("top.mmu.walk"), "ideal");
}

// Random presets of random instances: each module gets what a file with the same values gives, and the same texts.
BOOST_AUTO_TEST_CASE(random_presets_resolve_as_the_same_values_in_a_file) {
    std::mt19937 random(42);
    const std::string by[] = {"first.json", "second.lua"};
    const auto any_value = [&](const tla_config_key &key) {
        switch (random() % 32) {
        case 0:
            return ::cci::cci_value("nonsense");
        case 1:
            return ::cci::cci_value(static_cast<int>(random() % 20) - 4);
        case 2:
            return ::cci::cci_value(static_cast<double>(random() % 40) / 4);
        case 3:
            return ::cci::cci_value(random() % 2 == 0);
        case 4:
            return ::cci::cci_value::from_json(random() % 2 ? "[1, \"two\"]" : "{\"a\": 1}");
        case 5:
            return ::cci::cci_value(); // null
        case 6:
            return ::cci::cci_value(std::string(random() % 700, 'x'));
        default:
            return ::cci::cci_value(std::string(key.default_text));
        }
    };
    unsigned accepted = 0;
    for (unsigned round = 0; round < 200; round++) {
        const auto &[what, section] = instances_of_all[random() % std::size(instances_of_all)];
        const std::vector<tla_config_key> keys = keys_of_instance(section);
        const std::string instance = "r" + std::to_string(round);
        struct one {
            std::string value, by;
        };
        std::map<std::size_t, one> values; // by the key's number
        for (unsigned i = 0; i < 4; i++) {
            const std::size_t number = random() % keys.size();
            const ::cci::cci_value value = any_value(keys[number]);
            values[number] = {text_of_cci_value(value), by[random() % 2]};
            presets_of(values[number].by)
                .set_preset_cci_value(instance + "." + tla_preset_name(section, keys[number].name), value);
        }
        std::vector<tla_config_setting> settings;
        strings places;
        for (const auto &[number, one] : values) {
            settings.push_back({keys[number].name, one.value.c_str()});
            places.push_back(instance + "." + tla_preset_name(section, keys[number].name) + " (preset by " + one.by +
                             "): ");
        }
        std::pair<strings, std::string> context{places, instance + ":"};
        const auto take = [](void *opaque, const tla_config_finding *finding) {
            auto &[prefixes, all] = *static_cast<std::pair<strings, std::string> *>(opaque);
            all += "\n  " + (finding->override ? prefixes[finding->override - 1] : std::string(finding->file) + ": ") +
                   finding->text;
        };
        tla_config expected{};
        const tla_status status = tla_config_load_settings(tla_preset_scope(section), nullptr, settings.data(),
                                                           settings.size(), &expected, take, &context);
        reports.clear();
        const cci_settings made(instance, what);
        BOOST_CHECK_EQUAL(made.accepted(), status == TLA_OK);
        BOOST_CHECK_EQUAL(reports.size(), status != TLA_OK);
        for (const std::string &text : reported("/tlmalloc/cci/config"))
            BOOST_CHECK_EQUAL(text, context.second);
        if (!status) BOOST_CHECK(tla_config_equal(&made.config(), &expected));
        accepted += made.accepted();
    }
    BOOST_CHECK_GT(accepted, 30u);
    BOOST_CHECK_LT(accepted, 170u);
}
