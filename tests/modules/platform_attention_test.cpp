// Attention that reads the blocks of a key-value cache by DMA: every byte that arrives is checked, and what it takes.
#include "serving/command/platform_attention.hpp"
#include "serving/command/platform_law.h"
#include "serving/serve.h"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <string>

namespace {

using namespace tlmalloc;

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";
constexpr std::uint32_t planted_block = 2;   // of PE 2
constexpr std::uint64_t planted_at = 40'000; // in the middle of the 64 KiB of a layer, far from both ends of the block

// A served trace of one request: 100 tokens and 6 more, which are blocks 1 to 7 of four slices.
struct served {
    explicit served(bool by_dma) {
        settings.rules = {};
        settings.rules.blocks = 16;
        settings.rules.block_tokens = 16;
        settings.rules.step_tokens = 256;
        settings.rules.sequences = 4;
        settings.rules.depth = 1;
        settings.rules.gate = true;
        settings.layers = 4;
        settings.attention_by_dma = by_dma;
        settings.host_link.block_bytes = std::uint64_t{settings.layers} * 2 * 16 * 8 * 128 * 2; // 64 KiB a layer
        BOOST_REQUIRE_MESSAGE(
            platform_law_parse(("platform " + npu_small + " + fixed 1 us").c_str(), &settings, &law, &error) == TLA_OK,
            error.text);
        request.prompt_tokens = 100;
        request.output_tokens = 6;
        requests.items = &request;
        requests.count = 1;
    }
    ~served() {
        tla_serve_result_clear(&result);
        tla_step_law_clear(&law);
    }

    tla_status serve(void (*step)(void *, const tla_served_step *)) {
        const tla_serve_watch watch = {step, nullptr, this};
        return tla_serve(&requests, &settings.rules, &law, &watch, nullptr, &result, &error);
    }

    tla_serving_settings settings{};
    tla_serving_request request{};
    tla_serving_requests requests{};
    tla_step_law law{};
    tla_serve_result result{};
    tla_error error{};
    unsigned steps = 0;
};

// Behind the third step, one bit of the block in its slice.
void plant(void *context, const tla_served_step *) {
    if (++static_cast<served *>(context)->steps != 3) return;
    auto *const blocks = dynamic_cast<platform_blocks *>(sc_core::sc_find_object("blocks"));
    auto *const slice = dynamic_cast<tlm_utils::simple_initiator_socket<platform_blocks> *>(
        sc_core::sc_find_object("blocks.pe2_bytes"));
    BOOST_REQUIRE(blocks && slice);
    std::uint8_t byte = 0;
    tlm::tlm_generic_payload payload;
    payload.set_address(blocks->physical_address(planted_block) + planted_at);
    payload.set_data_ptr(&byte);
    payload.set_data_length(1);
    payload.set_streaming_width(1);
    payload.set_command(tlm::TLM_READ_COMMAND);
    BOOST_REQUIRE_EQUAL((*slice)->transport_dbg(payload), 1u);
    byte ^= 16;
    payload.set_command(tlm::TLM_WRITE_COMMAND);
    BOOST_REQUIRE_EQUAL((*slice)->transport_dbg(payload), 1u);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_wrong_byte_in_the_middle_of_a_block_is_found_by_the_next_step) {
    served s(true);
    BOOST_CHECK_EQUAL(s.serve(plant), TLA_WRONG_RESULT);
    BOOST_CHECK_EQUAL(s.steps, 3u);
    BOOST_CHECK_MESSAGE(
        std::string(s.error.text).rfind("attention read block 2, byte 40000, from PE 2's slice: found 0x", 0) == 0,
        s.error.text);
}

BOOST_AUTO_TEST_CASE(no_request_reads_the_middle_of_a_block_if_a_law_has_the_time_of_attention) {
    served s(false);
    BOOST_REQUIRE_MESSAGE(s.serve(plant) == TLA_OK, s.error.text);
    BOOST_CHECK_EQUAL(s.steps, 6u);
    BOOST_CHECK_EQUAL(s.result.requests[0].all.transfer_ns, 0u);
    BOOST_REQUIRE_MESSAGE(platform_law_finish(&s.law, &s.error) == TLA_OK, s.error.text);
    BOOST_CHECK_EQUAL(platform_law_attention(&s.law).bytes, 0u);
}

// Four layers take four times what the one does that is simulated, in whole nanoseconds; tiles are given back.
BOOST_AUTO_TEST_CASE(all_layers_take_what_the_one_takes_that_is_read) {
    served s(true);
    BOOST_REQUIRE_MESSAGE(s.serve(nullptr) == TLA_OK, s.error.text);
    BOOST_REQUIRE_MESSAGE(platform_law_finish(&s.law, &s.error) == TLA_OK, s.error.text);
    const platform_attention_totals totals = platform_law_attention(&s.law);
    BOOST_CHECK_EQUAL(totals.bytes, (100u + 101 + 102 + 103 + 104 + 105) * 4096);
    BOOST_CHECK_EQUAL(totals.lookups, totals.bytes / 256); // chunks
    BOOST_CHECK_EQUAL(s.result.requests[0].all.transfer_ns, 4 * totals.ps / 1000);
    BOOST_CHECK_EQUAL(s.result.requests[0].all.compute_ns, 6000u);
}
