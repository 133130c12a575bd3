// The component tlmalloc_memory in a container that follows QBox's conventions.
#include "container.hpp"
#include "random_initiator.hpp"
#include "router.hpp"

#include "../scratch_directory.hpp"

#include <boost/test/unit_test.hpp>
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

// The texts of the reports that constructing a platform with these arguments makes; it throws one of them.
std::vector<std::string> errors_of(const std::vector<std::string> &arguments) {
    static std::vector<std::string> texts;
    texts.clear();
    sc_core::sc_report_handler::set_handler([](const sc_core::sc_report &report, const sc_core::sc_actions &actions) {
        texts.emplace_back(report.get_msg());
        if (actions & sc_core::SC_THROW) throw report;
    });
    BOOST_CHECK_THROW(platform{arguments}, sc_core::sc_report);
    return texts;
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

BOOST_AUTO_TEST_CASE(an_error_in_the_constructor_comes_before_the_misleading_one) {
    const std::vector<std::string> texts = errors_of({"platform.mem.target_socket.size=much"});
    BOOST_REQUIRE_EQUAL(texts.size(), 2);
    BOOST_CHECK_EQUAL(texts[0], "platform.mem.target_socket.size: no number; every target on a router has one");
    BOOST_CHECK_EQUAL(texts[1], "the arguments do not match the constructor of module mem");
}

BOOST_AUTO_TEST_CASE(a_type_without_a_library_is_an_error) {
    const std::vector<std::string> texts = errors_of({"platform.mem.moduletype=no_such_memory"});
    BOOST_REQUIRE(!texts.empty());
    BOOST_CHECK(texts[0].find("no_such_memory.so") != std::string::npos);
}
