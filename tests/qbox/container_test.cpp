// The component tlmalloc_memory in a container that follows QBox's conventions.
#include "container.hpp"
#include "random_initiator.hpp"
#include "router.hpp"

#include "../scratch_directory.hpp"

#include <boost/test/unit_test.hpp>
#include <iterator>
#include <map>
#include <sstream>
#include <vector>

namespace {

const std::string conf = TLMALLOC_SOURCE_DIR "/platform/examples/qbox/conf.lua";

// A broker, its presets, and the platform that they describe.
struct platform {
    cci_utils::consuming_broker broker{"broker"};
    std::unique_ptr<qbox::container> top;

    explicit platform(const std::vector<std::string> &arguments = {}, const std::string &file = conf) {
        cci::cci_register_broker(broker);
        qbox::preset(broker.create_broker_handle(cci::cci_originator("test")), file, arguments);
        top = std::make_unique<qbox::container>("platform");
    }
    qbox::random_initiator &initiator() { return *top->find<qbox::random_initiator>("initiator"); }
};

// The texts of the errors and warnings since the last call.
std::vector<std::string> reported;

void note_reports() {
    reported.clear();
    sc_core::sc_report_handler::set_handler([](const sc_core::sc_report &report, const sc_core::sc_actions &actions) {
        if (report.get_severity() != sc_core::SC_INFO) reported.emplace_back(report.get_msg());
        if (actions & sc_core::SC_THROW) throw report;
    });
}

// The errors that constructing a platform with these arguments reports; it throws one of them.
std::vector<std::string> errors_of(const std::vector<std::string> &arguments) {
    note_reports();
    BOOST_CHECK_THROW(platform{arguments}, sc_core::sc_report);
    return reported;
}

// The first of two begins so: the second is the container's, which says little.
void check_error(const std::string &argument, const std::string &expected) {
    const std::vector<std::string> texts = errors_of({argument});
    BOOST_REQUIRE_EQUAL(texts.size(), 2);
    BOOST_CHECK_EQUAL(texts[0].substr(0, expected.size()), expected);
    BOOST_CHECK_EQUAL(texts[1], "the arguments do not match the constructor of module mem");
}

void check_accesses(const qbox::random_initiator &initiator) {
    const qbox::random_initiator::counts &counted = initiator.counted;
    BOOST_CHECK(initiator.done);
    BOOST_CHECK_EQUAL(counted.by_call + counted.by_pointer + counted.debug, qbox::random_initiator::accesses);
    BOOST_CHECK_EQUAL(counted.wrong + counted.outside + counted.stale + counted.misplaced, 0);
    BOOST_CHECK_GT(counted.by_pointer, 1000);
    BOOST_CHECK_GT(counted.granted, 10);
    BOOST_CHECK_GT(counted.withdrawn, 10);
    BOOST_CHECK_GT(counted.freed, 10);
}

// The hole in which a policy places a block: the first one that holds it, or the smallest of these.
struct holes {
    std::map<std::uint64_t, std::uint64_t> ends; // by first address
    const bool best;

    std::uint64_t place(std::uint64_t bytes) {
        auto chosen = ends.end();
        for (auto hole = ends.begin(); hole != ends.end(); ++hole) {
            const std::uint64_t size = hole->second - hole->first;
            if (size < bytes) continue;
            if (chosen == ends.end() || (best && size < chosen->second - chosen->first)) chosen = hole;
        }
        BOOST_REQUIRE(chosen != ends.end());
        const auto [first, end] = *chosen;
        ends.erase(chosen);
        if (first + bytes < end) ends[first + bytes] = end;
        return first;
    }
    void free(std::uint64_t first, std::uint64_t bytes) {
        std::uint64_t end = first + bytes;
        const auto behind = ends.find(end);
        if (behind != ends.end()) {
            end = behind->second;
            ends.erase(behind);
        }
        const auto next = ends.lower_bound(first);
        if (next != ends.begin() && std::prev(next)->second == first)
            std::prev(next)->second = end;
        else
            ends[first] = end;
    }
};

// Blocks lie where the policy puts them, and the parameter has its name and is locked.
void check_policy(platform &whole, bool best) {
    const qbox::random_initiator &initiator = whole.initiator();
    check_accesses(initiator);
    const cci::cci_broker_handle broker = whole.broker.create_broker_handle(cci::cci_originator("test"));
    const cci::cci_param_handle policy = broker.get_param_handle("platform.mem.hbm_policy");
    BOOST_REQUIRE(policy.is_valid());
    BOOST_CHECK_EQUAL(std::string(policy.get_cci_value().get_string()), best ? "best_fit" : "first_fit");
    BOOST_CHECK(policy.is_locked());
    holes free{{{initiator.base, initiator.base + initiator.bytes}}, best};
    for (const auto &[allocated, block] : initiator.course) {
        if (allocated)
            BOOST_CHECK_EQUAL(block.address, free.place(block.bytes));
        else
            free.free(block.address, block.bytes);
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(random_accesses_in_a_container_match_a_plain_memory) {
    platform whole;
    sc_core::sc_start();
    check_accesses(whole.initiator());
}

BOOST_AUTO_TEST_CASE(relative_addresses_are_offsets_into_the_memory) {
    platform whole({"platform.mem.target_socket.relative_addresses=true"});
    whole.initiator().blocks_are_relative = true;
    sc_core::sc_start();
    check_accesses(whole.initiator());
}

BOOST_AUTO_TEST_CASE(best_fit_that_is_preset_decides_where_blocks_lie) {
    platform whole;
    sc_core::sc_start();
    check_policy(whole, true);
}

BOOST_AUTO_TEST_CASE(another_policy_that_is_preset_decides_too) {
    platform whole({"platform.mem.hbm_policy=first_fit"});
    sc_core::sc_start();
    check_policy(whole, false);
}

BOOST_AUTO_TEST_CASE(an_unknown_key_is_a_warning_with_the_nearest_one) {
    note_reports();
    platform whole({"platform.mem.hbm_polcy=buddy"});
    sc_core::sc_start();
    BOOST_REQUIRE_EQUAL(reported.size(), 1);
    BOOST_CHECK_EQUAL(reported[0], "platform.mem.hbm_polcy (preset by test): unknown key, did you mean "
                                   "\"platform.mem.hbm_policy\"?");
}

BOOST_AUTO_TEST_CASE(presets_of_the_container_are_no_unknown_keys) {
    note_reports();
    platform whole({"platform.mem.construction_priority=1", "platform.mem.log_level=3", "platform.mem.args.0=1"});
    sc_core::sc_start();
    for (const std::string &text : reported)
        BOOST_ERROR(text);
}

BOOST_AUTO_TEST_CASE(a_size_that_is_no_number_is_an_error) {
    check_error("platform.mem.target_socket.size=much",
                "platform.mem.target_socket.size: found \"much\", expected 4 KiB .. 128 GiB, in bytes");
}

BOOST_AUTO_TEST_CASE(an_address_that_is_no_address_is_an_error) {
    check_error("platform.mem.target_socket.address=-1",
                "platform.mem.target_socket.address: found -1, expected an address");
}

BOOST_AUTO_TEST_CASE(relative_addresses_are_true_or_false) {
    check_error("platform.mem.target_socket.relative_addresses=no",
                "platform.mem.target_socket.relative_addresses: found \"no\", expected true or false");
}

BOOST_AUTO_TEST_CASE(a_key_that_the_socket_decides_cannot_be_preset) {
    check_error("platform.mem.hbm.capacity=\"1 MiB\"",
                "platform.mem.hbm.capacity: target_socket decides this key; remove the preset");
}

BOOST_AUTO_TEST_CASE(a_wrong_value_has_the_text_of_a_configuration_and_its_origin) {
    check_error("platform.mem.hbm_policy=tightest",
                "platform.mem:\n  platform.mem.hbm_policy (preset by test): controller.hbm_policy: found \"tightest\", "
                "expected first_fit or best_fit or ");
}

BOOST_AUTO_TEST_CASE(a_memory_without_bytes_is_an_error) {
    check_error("platform.mem.target_socket.size=0",
                "platform.mem.target_socket.size: found 0, expected 4 KiB .. 128 GiB, in bytes");
}

BOOST_AUTO_TEST_CASE(a_library_without_module_register_is_an_error) {
    const std::vector<std::string> texts = errors_of({"platform.mem.moduletype=mute_memory"});
    BOOST_REQUIRE(!texts.empty());
    BOOST_CHECK_EQUAL(texts[0], "mute_memory.so has no function module_register: is it extern \"C\"?");
}

BOOST_AUTO_TEST_CASE(a_type_without_a_library_is_an_error) {
    const std::vector<std::string> texts = errors_of({"platform.mem.moduletype=no_such_memory"});
    BOOST_REQUIRE(!texts.empty());
    BOOST_CHECK(texts[0].find("no_such_memory.so") != std::string::npos);
}
