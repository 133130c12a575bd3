// Platforms of random shapes and of random topology files beside the plain event model of them: every transfer ends at
// the same picosecond.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "apart.hpp"
#include "random_platform.hpp"
#include "scratch_directory.hpp"
#include "test_initiator.hpp"

using namespace test_initiator;

namespace {

struct found {
    std::size_t transfers, different;
    char error[512];
};

void compare(std::uint64_t seed, found &result) {
    const scratch_directory scratch;
    const std::string file = scratch.path("topology.yaml");
    random_platform platform(seed);
    std::string topology;
    const std::vector<std::string> sets = platform.settings(file, topology);
    if (!topology.empty()) scratch.write("topology.yaml", topology);
    const comparison::result both = comparison::compare(
        comparison::configuration(sets), [&](comparison::run &on) { platform.transfer(on); },
        seed % 3 ? sc_core::SC_ZERO_TIME : sc_core::sc_time(1234567, sc_core::SC_PS)); // every third in slices
    result.transfers = both.ours.transfers;
    result.different = both.different;
}

} // namespace

BOOST_AUTO_TEST_CASE(random_platforms_take_the_time_of_the_plain_event_model) {
    const seeds all(100);
    std::size_t transfers = 0;
    for (std::uint64_t seed = all.first; seed < all.first + all.count; seed++) {
        const std::string name = "seed " + std::to_string(seed);
        const auto f = apart<found>(name, [&](found &result) { compare(seed, result); });
        BOOST_CHECK_MESSAGE(!*f.error, name << ": " << f.error);
        BOOST_CHECK_MESSAGE(f.different == 0,
                            name << ": " << f.different << " of " << f.transfers << " end at another time");
        transfers += f.transfers;
    }
    BOOST_TEST_MESSAGE(all.count << " platforms, " << transfers << " transfers");
    BOOST_CHECK_GT(transfers, all.count);
}
