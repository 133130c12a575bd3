// Blocks of a key-value cache on a platform: what is in them is checked, and who refers to them.
#include "serving/command/platform_blocks.hpp"
#include "tlmalloc/config.h"

#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

namespace {

using namespace tlmalloc;

constexpr std::uint64_t block_bytes = 10000; // no whole pages

struct reader : sc_core::sc_module {
    explicit reader(sc_core::sc_module_name name) : sc_module(name) {}
    tlm_utils::simple_initiator_socket<reader> memory{"memory"};
};

// A platform with 8 blocks, of which block 0 is a placeholder.
struct cache {
    // With `all` bytes of its blocks there is a pattern in all of them.
    explicit cache(const std::vector<const char *> &keys = {}, std::uint64_t all = 0) {
        tla_config config{};
        BOOST_REQUIRE_EQUAL(tla_config_load(TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml", keys.data(), keys.size(),
                                            &config, nullptr, nullptr),
                            TLA_OK);
        platform = std::make_unique<npu>("npu", config, kernel_table{});
        reads.memory.bind(platform->pes()[2]->controller.in);
        const std::uint64_t pattern = all ? all : platform_blocks::end_bytes;
        blocks = std::make_unique<platform_blocks>("blocks", *platform, 8, all ? all : block_bytes,
                                                   config.mmu.page_size, pattern, 0, pattern);
    }
    void decide(tla_block_decision_kind kind, const std::vector<std::uint32_t> &which, std::uint32_t found = 0) {
        tla_block_decision d{};
        d.kind = kind;
        d.blocks = which.data();
        d.count = static_cast<std::uint32_t>(which.size());
        d.found = found;
        blocks->hear(d);
    }
    std::uint64_t commands() const {
        const platform_counts c = blocks->counts();
        return c.alloc + c.free + c.ref + c.map + c.unmap;
    }
    tla_status run() { return blocks->run(took, &error); }
    // Turns a bit of a byte of a block over, in the slice of PE 2.
    void plant(std::uint32_t block, std::uint64_t at) {
        std::uint8_t byte = 0;
        tlm::tlm_generic_payload payload;
        payload.set_address(blocks->physical_address(block) + at);
        payload.set_data_ptr(&byte);
        payload.set_data_length(1);
        payload.set_streaming_width(1);
        payload.set_command(tlm::TLM_READ_COMMAND);
        BOOST_REQUIRE_EQUAL(reads.memory->transport_dbg(payload), 1u);
        byte ^= 1;
        payload.set_command(tlm::TLM_WRITE_COMMAND);
        BOOST_REQUIRE_EQUAL(reads.memory->transport_dbg(payload), 1u);
    }

    std::unique_ptr<npu> platform;
    reader reads{"reads"};
    std::unique_ptr<platform_blocks> blocks;
    platform_blocks::times took;
    tla_error error{};
};

} // namespace

BOOST_AUTO_TEST_CASE(decisions_are_commands_and_leave_the_platform_as_it_was) {
    cache c;
    c.decide(TLA_BLOCKS_ALLOCATED, {1, 2, 3});
    BOOST_REQUIRE_MESSAGE(c.run() == TLA_OK, c.error.text);
    BOOST_CHECK_EQUAL(c.commands(), 6u); // ALLOC and MAP of each
    BOOST_CHECK_GT(c.took.allocation_ps, 0u);
    BOOST_CHECK_GT(c.took.mapping_ps, 0u);
    c.decide(TLA_BLOCKS_ENTERED, {1, 2});
    c.decide(TLA_BLOCKS_ALLOCATED, {1, 2, 4}, 2);
    BOOST_REQUIRE_MESSAGE(c.run() == TLA_OK, c.error.text);
    BOOST_CHECK_EQUAL(c.commands(), 12u); // REF of the index and of the request, ALLOC and MAP of block 4
    c.decide(TLA_BLOCKS_RELEASED, {1, 2, 3});
    c.decide(TLA_BLOCKS_RELEASED, {1, 2, 4});
    BOOST_REQUIRE_MESSAGE(c.run() == TLA_OK, c.error.text);
    BOOST_CHECK_EQUAL(c.commands(), 20u); // six FREE, of which blocks 3 and 4 have an UNMAP before
    c.decide(TLA_BLOCKS_ALLOCATED, {2});  // which the index gives up
    BOOST_REQUIRE_MESSAGE(c.run() == TLA_OK, c.error.text);
    BOOST_CHECK_EQUAL(c.commands(), 24u);
    BOOST_CHECK_GT(c.platform->leaks(), 0u);
    BOOST_REQUIRE_MESSAGE(c.blocks->finish(&c.error) == TLA_OK, c.error.text);
    BOOST_CHECK_EQUAL(c.platform->leaks(), 0u);
}

BOOST_AUTO_TEST_CASE(a_wrong_byte_at_an_end_of_a_block_is_found_when_it_is_read) {
    cache c;
    c.decide(TLA_BLOCKS_ALLOCATED, {5, 6});
    BOOST_REQUIRE_MESSAGE(c.run() == TLA_OK, c.error.text);
    c.plant(6, block_bytes - 1);
    c.decide(TLA_BLOCKS_ALLOCATED, {5}, 1);
    BOOST_REQUIRE_MESSAGE(c.run() == TLA_OK, c.error.text);
    c.decide(TLA_BLOCKS_ALLOCATED, {6}, 1);
    BOOST_CHECK_EQUAL(c.run(), TLA_WRONG_RESULT);
    BOOST_CHECK_EQUAL(std::string(c.error.text).rfind("block 6, byte 9999, in PE 2's slice: found 0x", 0), 0u);
    BOOST_CHECK_EQUAL(c.run(), TLA_WRONG_RESULT); // it stays
}

BOOST_AUTO_TEST_CASE(with_a_pattern_everywhere_a_wrong_byte_anywhere_is_found_when_its_block_is_read) {
    constexpr std::uint64_t large = (3 << 20) + 8; // of which a mebibyte is compared at once
    cache c({}, large);
    c.decide(TLA_BLOCKS_ALLOCATED, {5, 6});
    c.decide(TLA_BLOCKS_ALLOCATED, {5, 6}, 2);
    BOOST_REQUIRE_MESSAGE(c.run() == TLA_OK, c.error.text);
    c.plant(6, (2 << 20) + 77);
    c.decide(TLA_BLOCKS_ALLOCATED, {6}, 1);
    BOOST_CHECK_EQUAL(c.run(), TLA_WRONG_RESULT);
    BOOST_CHECK_EQUAL(std::string(c.error.text).rfind("block 6, byte 2097229, in PE 2's slice: found 0x", 0), 0u);
}

BOOST_AUTO_TEST_CASE(allocating_a_block_that_another_request_holds_is_a_wrong_result) {
    cache c;
    c.decide(TLA_BLOCKS_ALLOCATED, {1});
    c.decide(TLA_BLOCKS_ENTERED, {1});
    c.decide(TLA_BLOCKS_ALLOCATED, {1});
    BOOST_CHECK_EQUAL(c.run(), TLA_WRONG_RESULT);
}

namespace {

// What two blocks take that are allocated, found and given up.
std::uint64_t allocation_ps(const std::vector<const char *> &keys) {
    cache c(keys);
    c.decide(TLA_BLOCKS_ALLOCATED, {1, 2});
    c.decide(TLA_BLOCKS_ALLOCATED, {1, 2}, 2);
    c.decide(TLA_BLOCKS_RELEASED, {1, 2});
    c.decide(TLA_BLOCKS_RELEASED, {1, 2});
    BOOST_REQUIRE_MESSAGE(c.run() == TLA_OK, c.error.text);
    BOOST_REQUIRE_MESSAGE(c.blocks->finish(&c.error) == TLA_OK, c.error.text);
    BOOST_CHECK_EQUAL(c.platform->leaks(), 0u);
    return c.took.allocation_ps;
}

} // namespace

// Its call has the command in it, so that what is left of the controllers' own times is that of four commands about
// references: two REF and two FREE.
BOOST_AUTO_TEST_CASE(allocations_and_last_references_are_calls_of_the_hosts_driver) {
    const std::vector<const char *> serial = {"host.driver=serial", "host.driver_alloc=30 us", "host.driver_free=7 us"};
    const std::uint64_t calls_ps = 2 * (30'000'000 + 7'000'000), ps = allocation_ps(serial);
    BOOST_CHECK_GT(ps, calls_ps);
    BOOST_CHECK_LT(ps, calls_ps + 1'000'000);
}

BOOST_AUTO_TEST_CASE(a_step_waits_for_what_an_asynchronous_driver_has_asked_of_the_sip) {
    cache c({"host.driver=asynchronous", "host.driver_alloc=30 us", "host.driver_free=7 us"});
    c.decide(TLA_BLOCKS_ALLOCATED, {1, 2, 3});
    BOOST_REQUIRE_MESSAGE(c.run() == TLA_OK, c.error.text);
    // Three calls one after the other, of which mappings hide some.
    BOOST_CHECK_LE(c.took.allocation_ps, 90'000'000u);
    BOOST_CHECK_GE(c.took.allocation_ps + c.took.mapping_ps, 90'000'000u);
    BOOST_REQUIRE_MESSAGE(c.blocks->finish(&c.error) == TLA_OK, c.error.text);
}
