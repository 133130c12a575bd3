// A whole platform beside the plain event model of it: what kernels and traffic on it take.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "exact_platform.hpp"
#include "test_initiator.hpp"

using namespace test_initiator;

namespace {

void takes_the_time_of_the_plain_event_model(const comparison::row &r) {
    const comparison::result found = comparison::compare(r);
    BOOST_TEST_MESSAGE(found.ours.transfers << " transfers, " << found.different << " end at another time, mean "
                                            << found.ours.mean << " and " << found.reference.mean << " ps");
    BOOST_CHECK_EQUAL(found.different, 0u);
    BOOST_CHECK_EQUAL(found.ours.span, found.reference.span);
}

} // namespace

BOOST_AUTO_TEST_CASE(qkv_gemm_on_channels) {
    takes_the_time_of_the_plain_event_model({"qkv_gemm", "channels", 8});
}
BOOST_AUTO_TEST_CASE(qkv_gemm_on_banks_with_a_quantum) {
    takes_the_time_of_the_plain_event_model({"qkv_gemm", "hbm3", 8, 0, 10'000'000});
}
BOOST_AUTO_TEST_CASE(vector_add_on_64_pes) {
    takes_the_time_of_the_plain_event_model({"vector_add", "hbm2", 64});
}
BOOST_AUTO_TEST_CASE(a_hot_slice_read_by_three_pes) {
    takes_the_time_of_the_plain_event_model({"hot_slice", "hbm3", 8, 3});
}
BOOST_AUTO_TEST_CASE(a_hot_slice_read_by_all_of_64_pes) {
    takes_the_time_of_the_plain_event_model({"hot_slice", "channels", 64, 64});
}
BOOST_AUTO_TEST_CASE(all_to_all_on_channels) {
    takes_the_time_of_the_plain_event_model({"all_to_all", "channels", 64});
}
BOOST_AUTO_TEST_CASE(all_to_all_on_banks) {
    takes_the_time_of_the_plain_event_model({"all_to_all", "hbm2", 8});
}
