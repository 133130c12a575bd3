// Two things that happen to a message unit at one time: which of them goes first (pe_ipcq.hpp).
#define SC_INCLUDE_DYNAMIC_PROCESSES
#include "apart.hpp"
#include "message_runs.hpp"
#include "test_initiator.hpp"

using namespace test_initiator;

namespace {

struct found {
    comparison::message_result how;
    char error[400];
};

void compare(const std::vector<std::string> &sets, const std::vector<plain::program> &programs) {
    const auto f = apart<found>("the messages", [&](found &result) {
        result.how = comparison::compare_messages(comparison::message_configuration(sets), programs);
    });
    BOOST_CHECK_EQUAL(f.error, "");
    BOOST_CHECK_MESSAGE(f.how.different == 0, f.how.first);
    BOOST_CHECK_GT(f.how.transfers, 0u);
}

} // namespace

// Pieces of 160 bytes arrive every 2.5 ns, and a write of 160 bytes takes 5 ns: the third piece arrives when the first
// is in its slot, and is written before the tile, whatever kind of receive waits for it.
BOOST_AUTO_TEST_CASE(bytes_that_arrive_go_before_the_reading_of_a_piece_that_is_there) {
    const std::vector<std::string> sets = {"hbm.capacity_per_cube=96 MiB", "controller.cost.profile=ideal",
                                           "mmu.page_size=4 KiB",          "va.size=64 MiB",
                                           "system.pes_per_cube=2",        "messages.slots=4",
                                           "messages.slot_size=160 B",     "messages.read_slot=false",
                                           "tcm.write_bandwidth=32 GB/s",  "links.router_bandwidth=64 GB/s",
                                           "links.transport=once"};
    const plain::tile tile{0, 1, 640, 640};
    const plain::program sends = {{plain::call::send, 1, tile}};
    compare(sets, {sends, {{plain::call::receive, 0, tile}}});
    compare(sets, {sends, {{plain::call::receive_async, 0, tile}, {plain::call::wait, 0, {}, 0}}});
}
