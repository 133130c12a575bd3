// Accesses over the border of two slices, whose bytes are neighbours by virtual and by physical address.
#include "platform_bench.hpp"

namespace {

using namespace platform_benches;

// Two slices of 4000 bytes, which one tensor fills to the last byte.
void check_border(const std::vector<std::string> &keys) {
    platform_bench b({"hbm.capacity_per_cube=8000 B", "dma.chunk=4 KiB"}, keys);
    b.run_and_clean_up([&] {
        tensor *t = b.make(8000, TLA_HBM);
        BOOST_REQUIRE(t);
        bytes data(8000);
        for (std::size_t i = 0; i < data.size(); i++)
            data[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
        b.write(t, data);
        tla_paddr tile{};
        tla_paddr_pe_tcm(0, 0, 0, 0, &tile);
        for (const std::uint64_t first : {3990u, 3999u, 0u}) {
            const std::uint64_t nbytes = first ? 20 : 8000;
            sc_core::sc_time delay;
            BOOST_CHECK_EQUAL(b.platform.pes()[0]->dma.transfer(
                                  {pe_dma::direction::read, {t->va.value + first}, tile, 1, nbytes, nbytes}, delay),
                              TLA_OK);
            sc_core::wait(delay);
            const auto begin = data.begin() + static_cast<std::ptrdiff_t>(first);
            BOOST_CHECK(b.look(tile.value, nbytes) == bytes(begin, begin + static_cast<std::ptrdiff_t>(nbytes)));
        }
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(an_access_over_the_border_of_two_slices_finds_its_bytes) {
    check_border({});
}

BOOST_AUTO_TEST_CASE(an_access_over_the_border_of_two_slices_finds_its_bytes_by_walks_and_ranges) {
    check_border({"mmu.walk=flat", "mmu.ranges=4"});
}
