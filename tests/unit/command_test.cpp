// Control descriptors: the byte layout of command.h, and every kind of damage.
#include "tlmalloc/command/command.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace {

using bytes = std::vector<uint8_t>;

bytes encode(const tla_command &command) {
    bytes out(TLA_COMMAND_MAX_BYTES, 0xEE);
    size_t length = 0;
    BOOST_REQUIRE_EQUAL(tla_command_encode(&command, out.data(), out.size(), &length), TLA_OK);
    out.resize(length);
    return out;
}

tla_command command_of(tla_opcode opcode, tla_target target, uint32_t request_id = 0x01020304) {
    tla_command command{};
    command.opcode = opcode;
    command.target = target;
    command.correlation_id = 0x0A0B0C0D;
    command.request_id = request_id;
    return command;
}

// Decodes an exact copy on the heap, so that reading past its end is seen by the address sanitizer.
tla_status decode(const bytes &descriptor, tla_command &command, std::string *text = nullptr) {
    bytes copy(descriptor);
    copy.shrink_to_fit();
    tla_error error{};
    tla_status status = tla_command_decode(copy.data(), copy.size(), &command, &error);
    if (text) *text = error.text;
    return status;
}

void check_refused(const bytes &descriptor, const std::string &found, const std::string &expected) {
    tla_command command;
    std::string text;
    BOOST_CHECK_EQUAL(decode(descriptor, command, &text), TLA_BAD_COMMAND);
    BOOST_CHECK_MESSAGE(text.find(found) != std::string::npos, text << ", without " << found);
    BOOST_CHECK_MESSAGE(text.find(expected) != std::string::npos, text << ", without " << expected);
    BOOST_CHECK_EQUAL(command.nbytes, 0u);
    BOOST_CHECK_EQUAL(command.count, 0u);
    BOOST_CHECK_EQUAL(tla_command_decode(descriptor.data(), descriptor.size(), &command, nullptr), TLA_BAD_COMMAND);
}

bytes with(bytes descriptor, size_t at, std::initializer_list<uint8_t> values) {
    std::copy(values.begin(), values.end(), descriptor.begin() + std::ptrdiff_t(at));
    return descriptor;
}

tla_command map_of(uint32_t count, tla_opcode opcode = TLA_OP_MAP) {
    auto command = command_of(opcode, TLA_TARGET_PE_MMU);
    command.scope = {1, 2, 0x80000003};
    command.count = count;
    for (uint32_t i = 0; i < count; i++)
        command.entries[i] = {{0x100000000u + 4096u * i}, {0x7000u + 512u * i}, 4096u - i, TLA_READ | TLA_WRITE, 9};
    return command;
}

tla_command launch_of(uint32_t count) {
    auto command = command_of(TLA_OP_LAUNCH, TLA_TARGET_PROCESSING_ELEMENT);
    command.kernel = 2, command.program = 3, command.programs = 6, command.count = count;
    command.target_start_ps = 0x123456789A;
    command.pes.cubes[1] = 0x8001, command.pes.cubes[15] = 0x0010;
    for (uint32_t i = 0; i < count; i++)
        command.arguments[i] = 0xABCDEF0000000000 + i;
    return command;
}

} // namespace

BOOST_AUTO_TEST_CASE(an_alloc_is_these_32_bytes) {
    auto command = command_of(TLA_OP_ALLOC, TLA_TARGET_MEMORY_CONTROLLER);
    command.memory = TLA_TCM;
    command.nbytes = 0x1122334455667788;
    command.object = 0x51;
    const bytes expected{'T', 'L', 'A', 'C', 1,    1, 32, 0, 0x0D, 0x0C, 0x0B, 0x0A, 4,    3,    2,    1,
                         1,   0,   0,   0,   0x51, 0, 0,  0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11};
    BOOST_TEST(encode(command) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_alloc_encodes_its_format_and_stream_after_its_channel) {
    auto command = command_of(TLA_OP_ALLOC, TLA_TARGET_MEMORY_CONTROLLER);
    command.memory = TLA_SRAM;
    command.format = TLA_FORMAT_BINARY_BUFFER;
    command.stream = 0x1234;
    const bytes encoded = encode(command), expected{2, 8, 0x34, 0x12};
    BOOST_CHECK(bytes(encoded.begin() + 16, encoded.begin() + 20) == expected);
    tla_command back;
    BOOST_REQUIRE_EQUAL(decode(encoded, back), TLA_OK);
    BOOST_CHECK_EQUAL(back.memory, TLA_SRAM);
    BOOST_CHECK_EQUAL(back.format, TLA_FORMAT_BINARY_BUFFER);
    BOOST_CHECK_EQUAL(back.stream, 0x1234u);
    bytes out(64);
    size_t length = 0;
    command.stream = 0x10000;
    BOOST_CHECK_EQUAL(tla_command_encode(&command, out.data(), out.size(), &length), TLA_INVALID_ARGUMENT);
    command.stream = 0;
    command.format = TLA_FORMAT_COUNT;
    BOOST_CHECK_EQUAL(tla_command_encode(&command, out.data(), out.size(), &length), TLA_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(a_trim_is_these_24_bytes) {
    auto command = command_of(TLA_OP_TRIM, TLA_TARGET_MEMORY_CONTROLLER);
    command.memory = TLA_TCM;
    const bytes expected{'T', 'L', 'A', 'C', 11, 1, 24, 0, 0x0D, 0x0C, 0x0B, 0x0A, 4, 3, 2, 1, //
                         1,   0,   0,   0,   0,  0, 0,  0};
    BOOST_TEST(encode(command) == expected, boost::test_tools::per_element());
    tla_command back;
    BOOST_REQUIRE_EQUAL(decode(encode(command), back), TLA_OK);
    BOOST_CHECK_EQUAL(back.opcode, TLA_OP_TRIM);
    BOOST_CHECK_EQUAL(back.memory, TLA_TCM);
    command.memory = TLA_MEMORY_KIND_COUNT;
    bytes out(64);
    size_t length = 0;
    BOOST_CHECK_EQUAL(tla_command_encode(&command, out.data(), out.size(), &length), TLA_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(a_pin_is_these_32_bytes_and_what_else_counts_24) {
    auto command = command_of(TLA_OP_PIN, TLA_TARGET_MEMORY_CONTROLLER);
    command.pa.value = 0x1122334455667788;
    command.timeout_ps = 0x99AABBCCDDEEFF01;
    const bytes expected{'T',  'L',  'A',  'C',  14,   1,    32,   0,    0x0D, 0x0C, 0x0B,
                         0x0A, 4,    3,    2,    1,    0x88, 0x77, 0x66, 0x55, 0x44, 0x33,
                         0x22, 0x11, 0x01, 0xFF, 0xEE, 0xDD, 0xCC, 0xBB, 0xAA, 0x99};
    BOOST_TEST(encode(command) == expected, boost::test_tools::per_element());
    tla_command back;
    BOOST_REQUIRE_EQUAL(decode(expected, back), TLA_OK);
    BOOST_CHECK_EQUAL(back.pa.value, command.pa.value);
    BOOST_CHECK_EQUAL(back.timeout_ps, command.timeout_ps);
    for (const auto &[opcode, number] : {std::pair{TLA_OP_REF, 12}, {TLA_OP_UNREF, 13}, {TLA_OP_UNPIN, 15}}) {
        command.opcode = opcode;
        bytes shorter = with(with(expected, 4, {uint8_t(number)}), 6, {24});
        shorter.resize(24);
        BOOST_TEST(encode(command) == shorter, boost::test_tools::per_element());
        BOOST_REQUIRE_EQUAL(decode(shorter, back), TLA_OK);
        BOOST_CHECK_EQUAL(back.opcode, opcode);
        BOOST_CHECK_EQUAL(back.pa.value, command.pa.value);
        BOOST_CHECK_EQUAL(back.timeout_ps, 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_place_is_these_40_bytes) {
    auto command = command_of(TLA_OP_PLACE, TLA_TARGET_MEMORY_CONTROLLER);
    command.pa = {0x4000000002000};
    command.nbytes = 0x3000;
    command.object = 77;
    const bytes expected{'T', 'L',  'A', 'C', 16, 1, 40, 0, 0x0D, 0x0C, 0x0B, 0x0A, 4, 3, 2, 1, //
                         0,   0x20, 0,   0,   0,  0, 4,  0, 0,    0x30, 0,    0,    0, 0, 0, 0, //
                         77,  0,    0,   0,   0,  0, 0,  0};
    BOOST_TEST(encode(command) == expected, boost::test_tools::per_element());
    tla_command back;
    BOOST_REQUIRE_EQUAL(decode(encode(command), back), TLA_OK);
    BOOST_CHECK_EQUAL(back.opcode, TLA_OP_PLACE);
    BOOST_CHECK_EQUAL(back.pa.value, command.pa.value);
    BOOST_CHECK_EQUAL(back.nbytes, 0x3000u);
    BOOST_CHECK_EQUAL(back.object, 77u);
}

BOOST_AUTO_TEST_CASE(batches_and_keys_are_decoded_as_they_were_encoded) {
    tla_command back;
    auto command = command_of(TLA_OP_ALLOC_BATCH, TLA_TARGET_MEMORY_CONTROLLER);
    command.memory = TLA_SRAM, command.format = TLA_FORMAT_KV_MLA, command.stream = 5, command.object = 6;
    command.nbytes = 0x1122334455667788, command.count = TLA_COMMAND_MAX_BLOCKS, command.batch = TLA_BATCH_CARVED;
    BOOST_CHECK_EQUAL(encode(command).size(), 40u);
    BOOST_REQUIRE_EQUAL(decode(encode(command), back), TLA_OK);
    BOOST_CHECK_EQUAL(back.memory, TLA_SRAM);
    BOOST_CHECK_EQUAL(back.format, TLA_FORMAT_KV_MLA);
    BOOST_CHECK_EQUAL(back.nbytes, command.nbytes);
    BOOST_CHECK_EQUAL(back.count, command.count);
    BOOST_CHECK_EQUAL(back.batch, TLA_BATCH_CARVED);
    check_refused(with(encode(command), 32, {233}), "count of 233", "at most 232");
    check_refused(with(encode(command), 36, {2}), "kind 2", "0 (contiguous) or 1 (carved)");
    command.opcode = TLA_OP_EVICT, command.busy = true;
    BOOST_REQUIRE_EQUAL(decode(encode(command), back), TLA_OK);
    BOOST_CHECK(back.busy);
    check_refused(with(encode(command), 32, {2}), "busy 2", "0 or 1");
    check_refused(with(encode(command), 39, {1}), "EVICT with busy 1", "and 0");

    auto many = command_of(TLA_OP_FREE_BATCH, TLA_TARGET_MEMORY_CONTROLLER);
    many.count = TLA_COMMAND_MAX_BLOCKS;
    for (uint32_t i = 0; i < many.count; i++)
        many.blocks[i] = {{0x700000000000u + i}, 1000u + i};
    BOOST_CHECK_EQUAL(encode(many).size(), 24u + 16 * 232);
    BOOST_REQUIRE_EQUAL(decode(encode(many), back), TLA_OK);
    BOOST_CHECK_EQUAL(back.blocks[231].pa.value, 0x700000000000u + 231);
    BOOST_CHECK_EQUAL(back.blocks[231].nbytes, 1231u);
    check_refused(with(encode(many), 16, {233}), "count of 233", "at most 232");
    check_refused(with(encode(many), 20, {1}), "0x00000001 after its count", "must be 0");
    bytes out(TLA_COMMAND_MAX_BYTES);
    size_t length = 0;
    many.count++;
    BOOST_CHECK_EQUAL(tla_command_encode(&many, out.data(), out.size(), &length), TLA_INVALID_ARGUMENT);

    many.opcode = TLA_OP_PUT, many.count = 3, many.key = 0xFEDCBA9876543210;
    many.meta = {9, 2, {2, 0xFFFFFFFF}, 0x123456789A, 256};
    const bytes put = encode(many);
    BOOST_CHECK_EQUAL(put.size(), 72u + 24);
    BOOST_REQUIRE_EQUAL(decode(put, back), TLA_OK);
    BOOST_CHECK_EQUAL(back.key, many.key);
    BOOST_CHECK_EQUAL(back.meta.dtype, 9u);
    BOOST_CHECK_EQUAL(back.meta.shape[1], 0xFFFFFFFFu);
    BOOST_CHECK_EQUAL(back.meta.first_position, 0x123456789Au);
    BOOST_CHECK_EQUAL(back.meta.positions, 256u);
    BOOST_CHECK_EQUAL(back.blocks[2].pa.value, many.blocks[2].pa.value);
    check_refused(with(put, 29, {7}), "7 dimensions", "at most 6");
    check_refused(with(put, 29, {1}), "1 dimensions", "0 as the size of unused dimensions");
    check_refused(with(put, 30, {1}), "and then 1", "0");
    many.meta.dimensions = 1;
    BOOST_CHECK_EQUAL(tla_command_encode(&many, out.data(), out.size(), &length), TLA_INVALID_ARGUMENT);
    for (const tla_opcode opcode : {TLA_OP_GET, TLA_OP_REMOVE}) {
        auto one = command_of(opcode, TLA_TARGET_MEMORY_CONTROLLER);
        one.key = 5, one.memory = TLA_TCM;
        BOOST_REQUIRE_EQUAL(decode(encode(one), back), TLA_OK);
        BOOST_CHECK_EQUAL(back.key, 5u);
        BOOST_CHECK_EQUAL(back.memory, TLA_TCM);
        check_refused(with(encode(one), 24, {9}), "channel 9", "3 (M_CPU memory)");
        check_refused(with(encode(one), 28, {9}), "0x00000009 after it", "must be 0");
    }
}

BOOST_AUTO_TEST_CASE(the_result_of_a_get_decodes_to_the_encoded_values) {
    const tla_mem_object_meta meta{1, 6, {1, 2, 3, 4, 5, 6}, 7, 8};
    std::vector<tla_placed_block> blocks(TLA_COMMAND_MAX_BLOCKS, {{0x123456789ABCDEF}, 42});
    bytes out(TLA_COMMAND_MAX_BYTES);
    BOOST_CHECK_EQUAL(tla_object_result_encode(&meta, blocks.data(), TLA_COMMAND_MAX_BLOCKS, out.data()),
                      48u + 16 * 232);
    tla_mem_object_meta back{};
    uint32_t count = 0;
    tla_object_result_decode(out.data(), &back, &count);
    BOOST_CHECK_EQUAL(count, 232u);
    BOOST_CHECK_EQUAL(back.shape[5], 6u);
    BOOST_CHECK_EQUAL(back.positions, 8u);
    const tla_placed_block last = tla_placed_block_decode(out.data() + 48 + 16 * 231);
    BOOST_CHECK_EQUAL(last.pa.value, 0x123456789ABCDEFu);
    BOOST_CHECK_EQUAL(last.nbytes, 42u);
    BOOST_CHECK_EQUAL(tla_batch_result_encode(blocks.data(), 2, out.data()), 16u);
    BOOST_CHECK_EQUAL(tla_placed_block_decode(out.data()).pa.value, 0x123456789ABCDEFu);
}

BOOST_AUTO_TEST_CASE(a_map_is_these_bytes) {
    auto command = command_of(TLA_OP_MAP, TLA_TARGET_PE_MMU);
    command.scope = {1, 2, 0x80000003};
    command.count = 1;
    command.entries[0] = {{0x100001000}, {0x4000000002000}, 0x3000, TLA_READ, 5};
    const bytes expected{'T', 'L',  'A', 'C', 3, 2, 64, 0, 0x0D, 0x0C, 0x0B, 0x0A, 4, 3, 2, 1,    //
                         1,   0,    0,   0,   1, 0, 0,  0, 2,    0,    0,    0,    3, 0, 0, 0x80, // count and scope
                         0,   0x10, 0,   0,   1, 0, 0,  0, 0,    0x20, 0,    0,    0, 0, 4, 0,    // va, pa
                         0,   0x30, 0,   0,   0, 0, 0,  0, 1,    0,    0,    0,    5, 0, 0, 0};   // nbytes, flags, asid
    BOOST_TEST(encode(command) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_launch_is_these_bytes) {
    const bytes expected{
        'T',  'L',  'A',  'C',  7,    4,    80,   0,   0x0D, 0x0C, 0x0B, 0x0A, 4, 3, 2,    1, //
        2,    0,    0,    0,    3,    0,    0,    0,   6,    0,    0,    0,    1, 0, 0,    0, // ..., count
        0x9A, 0x78, 0x56, 0x34, 0x12, 0,    0,    0,                                          // target start
        0,    0,    1,    0x80, 0,    0,    0,    0,   0,    0,    0,    0,    0, 0, 0,    0, // cubes 0 to 7
        0,    0,    0,    0,    0,    0,    0,    0,   0,    0,    0,    0,    0, 0, 0x10, 0, // 8 to 15
        0,    0,    0,    0,    0,    0xEF, 0xCD, 0xAB};                                      // the argument
    BOOST_TEST(encode(launch_of(1)) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_completion_is_these_64_bytes) {
    const tla_completion completion{0x0A0B0C0D, 0x01020304, TLA_FRAGMENTED, TLA_OP_ALLOC, {TLA_LOCATION_PE, 3, 5, 6},
                                    0x11,       0x22,       0x33,           0x44,         0x55,
                                    0x6600};
    const bytes expected{'T',  'L', 'A', 'D', 4, 3, 2, 1, 2,    1,    0x56, 0x66, 0x0D, 0x0C, 0x0B, 0x0A, //
                         0x11, 0,   0,   0,   0, 0, 0, 0, 0x22, 0,    0,    0,    0,    0,    0,    0,    //
                         0x33, 0,   0,   0,   0, 0, 0, 0, 0x44, 0,    0,    0,    0,    0,    0,    0,    //
                         0x55, 0,   0,   0,   0, 0, 0, 0, 0,    0x66, 0,    0,    0,    0,    0,    0};
    bytes out(TLA_COMPLETION_BYTES);
    tla_completion_encode(&completion, out.data());
    BOOST_TEST(out == expected, boost::test_tools::per_element());
    tla_completion back{};
    BOOST_REQUIRE_EQUAL(tla_completion_decode(out.data(), &back), TLA_OK);
    BOOST_CHECK_EQUAL(back.request_id, completion.request_id);
    BOOST_CHECK_EQUAL(back.correlation_id, completion.correlation_id);
    BOOST_CHECK_EQUAL(back.failed_at.kind, TLA_LOCATION_PE);
    BOOST_CHECK_EQUAL(back.failed_at.sip, 3u);
    BOOST_CHECK_EQUAL(back.failed_at.cube, 5u);
    BOOST_CHECK_EQUAL(back.failed_at.pe, 6u);
    BOOST_CHECK_EQUAL(back.status, completion.status);
    BOOST_CHECK_EQUAL(back.opcode, completion.opcode);
    BOOST_CHECK_EQUAL(back.value, completion.value);
    BOOST_CHECK_EQUAL(back.nbytes, completion.nbytes);
    BOOST_CHECK_EQUAL(back.total_free, completion.total_free);
    BOOST_CHECK_EQUAL(back.largest_free, completion.largest_free);
    BOOST_CHECK_EQUAL(back.nodes_visited, completion.nodes_visited);
    BOOST_CHECK_EQUAL(back.service_ps, completion.service_ps);
}

BOOST_AUTO_TEST_CASE(scalar_commands_are_decoded_as_they_were_encoded) {
    for (tla_opcode opcode : {TLA_OP_ALLOC, TLA_OP_FREE, TLA_OP_VA_ALLOC, TLA_OP_VA_FREE}) {
        auto sent = command_of(opcode, TLA_TARGET_VA_MANAGER, 7);
        sent.nbytes = 0xFEDCBA9876543210;
        if (opcode == TLA_OP_ALLOC) sent.memory = TLA_TCM, sent.object = 0xF0000001;
        if (opcode == TLA_OP_FREE) sent.pa.value = 0x7FFFFFFFFFFFF;
        if (opcode == TLA_OP_VA_FREE) sent.va.value = 0x8000000000000001;
        tla_command received;
        BOOST_REQUIRE_EQUAL(decode(encode(sent), received), TLA_OK);
        BOOST_CHECK_EQUAL(received.opcode, sent.opcode);
        BOOST_CHECK_EQUAL(received.target, sent.target);
        BOOST_CHECK_EQUAL(received.request_id, 7u);
        BOOST_CHECK_EQUAL(received.correlation_id, 0x0A0B0C0Du);
        BOOST_CHECK_EQUAL(received.object, sent.object);
        BOOST_CHECK_EQUAL(received.nbytes, sent.nbytes);
        BOOST_CHECK_EQUAL(received.memory, sent.memory);
        BOOST_CHECK_EQUAL(received.pa.value, sent.pa.value);
        BOOST_CHECK_EQUAL(received.va.value, sent.va.value);
    }
}

BOOST_AUTO_TEST_CASE(maps_and_unmaps_of_every_length_are_decoded_as_they_were_encoded) {
    for (tla_opcode opcode : {TLA_OP_MAP, TLA_OP_UNMAP, TLA_OP_INVALIDATE, TLA_OP_TAKE_BACK, TLA_OP_PAUSE, TLA_OP_REMAP,
                              TLA_OP_RESUME, TLA_OP_BIND, TLA_OP_UNBIND}) {
        for (uint32_t count = 1; count <= TLA_COMMAND_MAX_ENTRIES; count++) {
            auto sent = map_of(count, opcode);
            tla_command received;
            auto descriptor = encode(sent);
            BOOST_REQUIRE_EQUAL(descriptor.size(), 32 + 32 * count);
            BOOST_REQUIRE_EQUAL(tla_command_claimed_length(descriptor.data()), descriptor.size());
            BOOST_REQUIRE_EQUAL(decode(descriptor, received), TLA_OK);
            BOOST_REQUIRE_EQUAL(received.count, count);
            BOOST_REQUIRE_EQUAL(received.scope.sip_mask, 1u);
            BOOST_REQUIRE_EQUAL(received.scope.die_mask, 2u);
            BOOST_REQUIRE_EQUAL(received.scope.pe_mask, 0x80000003u);
            for (uint32_t i = 0; i < count; i++) {
                BOOST_REQUIRE_EQUAL(received.entries[i].va.value, sent.entries[i].va.value);
                BOOST_REQUIRE_EQUAL(received.entries[i].pa.value, sent.entries[i].pa.value);
                BOOST_REQUIRE_EQUAL(received.entries[i].nbytes, sent.entries[i].nbytes);
                BOOST_REQUIRE_EQUAL(received.entries[i].flags, sent.entries[i].flags);
                BOOST_REQUIRE_EQUAL(received.entries[i].asid, 9u);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(launches_are_decoded_as_they_were_encoded) {
    for (uint32_t count = 0; count <= TLA_COMMAND_MAX_ARGUMENTS; count++) {
        auto sent = launch_of(count);
        tla_command received;
        BOOST_REQUIRE_EQUAL(decode(encode(sent), received), TLA_OK);
        BOOST_CHECK_EQUAL(received.kernel, 2u);
        BOOST_CHECK_EQUAL(received.program, 3u);
        BOOST_CHECK_EQUAL(received.programs, 6u);
        BOOST_CHECK_EQUAL(received.target_start_ps, sent.target_start_ps);
        BOOST_CHECK_EQUAL(tla_pe_set_count(&received.pes), 3u);
        BOOST_CHECK(std::equal(received.pes.cubes, received.pes.cubes + TLA_CUBE_DIE_COUNT, sent.pes.cubes));
        BOOST_REQUIRE_EQUAL(received.count, count);
        for (uint32_t i = 0; i < count; i++)
            BOOST_CHECK_EQUAL(received.arguments[i], sent.arguments[i]);
    }
}

BOOST_AUTO_TEST_CASE(a_dma_of_pes_is_decoded_as_it_was_encoded) {
    for (const bool write : {false, true}) {
        auto sent = command_of(TLA_OP_PE_DMA, TLA_TARGET_IO_CPU);
        sent.pa.value = 0x7FFFFFFFFFFFF;
        sent.nbytes = 0xFEDCBA9876543210;
        sent.target_start_ps = 0x1122334455667788;
        sent.write = write;
        sent.pattern = 0xA5;
        sent.pes.cubes[3] = 0x81;
        const bytes descriptor = encode(sent);
        BOOST_CHECK_EQUAL(descriptor.size(), 80u);
        tla_command received;
        BOOST_REQUIRE_EQUAL(decode(descriptor, received), TLA_OK);
        BOOST_CHECK_EQUAL(received.pa.value, sent.pa.value);
        BOOST_CHECK_EQUAL(received.nbytes, sent.nbytes);
        BOOST_CHECK_EQUAL(received.target_start_ps, sent.target_start_ps);
        BOOST_CHECK_EQUAL(received.write, write);
        BOOST_CHECK_EQUAL(received.pattern, 0xA5u);
        BOOST_CHECK_EQUAL(received.pes.cubes[3], 0x81u);
        check_refused(with(descriptor, 40, {2}), "write 2", "0 or 1");
        check_refused(with(descriptor, 45, {1}), "at most 255", "PE_DMA");
    }
}

BOOST_AUTO_TEST_CASE(a_command_that_cannot_be_encoded_is_rejected_and_writes_nothing) {
    bytes out(TLA_COMMAND_MAX_BYTES, 0xEE);
    const bytes untouched = out;
    size_t length = 99;
    auto refused = [&](const tla_command &command, size_t capacity) {
        BOOST_CHECK_EQUAL(tla_command_encode(&command, out.data(), capacity, &length), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(length, 99u);
        BOOST_CHECK(out == untouched);
    };
    refused(command_of(tla_opcode(0), TLA_TARGET_PE_MMU), out.size());
    refused(command_of(TLA_OP_ALLOC, tla_target(0)), out.size());
    refused(command_of(TLA_OP_ALLOC, TLA_TARGET_MEMORY_CONTROLLER), 31);
    auto many = map_of(2);
    refused(many, 95);
    many.count = TLA_COMMAND_MAX_ENTRIES + 1;
    refused(many, SIZE_MAX);
    auto launch = launch_of(TLA_COMMAND_MAX_ARGUMENTS);
    launch.count++;
    refused(launch, SIZE_MAX);
    launch = launch_of(0);
    launch.program = launch.programs;
    refused(launch, out.size());
    launch = launch_of(0);
    launch.program = 4; // 4, 5 and 6 of 6
    refused(launch, out.size());
    auto nowhere = command_of(TLA_OP_ALLOC, TLA_TARGET_MEMORY_CONTROLLER);
    nowhere.memory = TLA_MEMORY_KIND_COUNT;
    refused(nowhere, out.size());
}

BOOST_AUTO_TEST_CASE(damaged_headers_are_rejected_with_value_and_range) {
    auto good = encode(command_of(TLA_OP_ALLOC, TLA_TARGET_MEMORY_CONTROLLER));
    check_refused({}, "0 bytes", "at least the 16 bytes of the header");
    check_refused(bytes(good.begin(), good.begin() + 15), "15 bytes", "16");
    check_refused(with(good, 0, {'t'}), "0x43414c74", "\"TLAC\"");
    check_refused(with(good, 4, {0}), "opcode 0", "1 to 28");
    check_refused(with(good, 4, {29}), "opcode 29", "1 to 28");
    check_refused(with(good, 5, {0}), "target 0", "1 to 7");
    check_refused(with(good, 5, {8}), "target 8", "1 to 7");
    check_refused(with(good, 6, {33}), "claims 33", "but has 32");
    check_refused(with(good, 6, {0, 0x80}), "claims 32768", "but has 32");
    BOOST_CHECK_EQUAL(tla_command_claimed_length(with(good, 3, {'D'}).data()), 0u);
}

BOOST_AUTO_TEST_CASE(damaged_bodies_are_rejected_with_value_and_range) {
    auto alloc = encode(command_of(TLA_OP_ALLOC, TLA_TARGET_MEMORY_CONTROLLER));
    check_refused(with(alloc, 16, {5}), "channel 5", "0 (HBM), 1 (TCM), 2 (SRAM), 3 (M_CPU memory) or 4 (host memory)");
    check_refused(with(alloc, 17, {9}), "format 9", "0 to 8");
    auto trim = encode(command_of(TLA_OP_TRIM, TLA_TARGET_MEMORY_CONTROLLER));
    check_refused(with(trim, 16, {5}), "TRIM of channel 5", "4 (host memory)");
    check_refused(with(trim, 23, {1}), "TRIM with 0x01000000 after its channel", "must be 0");
    auto place = encode(command_of(TLA_OP_PLACE, TLA_TARGET_MEMORY_CONTROLLER));
    check_refused(with(place, 36, {9}), "PLACE with 0x00000009 after its object", "must be 0");
    auto longer = with(alloc, 6, {40});
    longer.resize(40);
    check_refused(longer, "40 bytes", "must be 32");
    auto map = encode(map_of(2));
    check_refused(with(map, 16, {3}), "96 bytes", "must be 128");
    check_refused(with(map, 16, {1}), "96 bytes", "must be 64");
    check_refused(with(map, 16, {120}), "count of 120", "at most 119");
    check_refused(with(map, 16, {0xFF, 0xFF, 0xFF, 0xFF}), "count of 4294967295", "at most 119");
    auto cut = with(map, 6, {24});
    cut.resize(24);
    check_refused(cut, "24 bytes", "at least 32");
    auto launch = encode(launch_of(0));
    check_refused(with(launch, 20, {6}), "program 6 of 6", "less than their number");
    check_refused(with(launch, 20, {4}), "program 4 of 6 on 3 PEs", "less than their number");
    check_refused(with(launch, 24, {0}), "program 3 of 0", "less than their number");
    check_refused(with(launch, 28, {17}), "count of 17", "at most 16");
    check_refused(with(launch, 28, {1}), "72 bytes", "must be 80");
    auto short_launch = with(launch, 6, {71});
    short_launch.resize(71);
    check_refused(short_launch, "71 bytes", "at least 72");
}

BOOST_AUTO_TEST_CASE(a_rejected_body_still_identifies_its_sender) {
    auto alloc = encode(command_of(TLA_OP_ALLOC, TLA_TARGET_MEMORY_CONTROLLER, 0xCAFE));
    tla_command command;
    BOOST_REQUIRE_EQUAL(decode(with(alloc, 16, {9}), command), TLA_BAD_COMMAND);
    BOOST_CHECK_EQUAL(command.opcode, TLA_OP_ALLOC);
    BOOST_CHECK_EQUAL(command.target, TLA_TARGET_MEMORY_CONTROLLER);
    BOOST_CHECK_EQUAL(command.request_id, 0xCAFEu);
    BOOST_CHECK_EQUAL(command.memory, TLA_HBM);
}

BOOST_AUTO_TEST_CASE(a_misdirected_descriptor_is_well_formed) {
    tla_command command;
    BOOST_CHECK_EQUAL(decode(encode(command_of(TLA_OP_ALLOC, TLA_TARGET_PE_MMU)), command), TLA_OK);
    BOOST_CHECK_EQUAL(command.target, TLA_TARGET_PE_MMU);
}

BOOST_AUTO_TEST_CASE(damaged_completions_are_rejected) {
    const tla_completion completion{2, 1, TLA_OK, TLA_OP_FREE, {}, 0, 0, 0, 0, 0, 0};
    bytes good(TLA_COMPLETION_BYTES), none(TLA_COMPLETION_BYTES);
    tla_completion_encode(&completion, good.data());
    tla_completion back{};
    back.request_id = 42;
    auto decoded = [&](const bytes &b) { return tla_completion_decode(b.data(), &back); };
    BOOST_CHECK_EQUAL(decoded(none), TLA_BAD_COMMAND);
    BOOST_CHECK_EQUAL(decoded(with(good, 3, {'C'})), TLA_BAD_COMMAND);
    BOOST_CHECK_EQUAL(decoded(with(good, 8, {TLA_STATUS_COUNT})), TLA_BAD_COMMAND);
    BOOST_CHECK_EQUAL(decoded(with(good, 9, {29})), TLA_BAD_COMMAND);
    BOOST_CHECK_EQUAL(decoded(with(good, 11, {0x80})), TLA_BAD_COMMAND);       // no kind of location
    BOOST_CHECK_EQUAL(decoded(with(good, 10, {1})), TLA_BAD_COMMAND);          // a PE of none
    BOOST_CHECK_EQUAL(decoded(with(good, 10, {0x10, 0x20})), TLA_BAD_COMMAND); // a cube of an IO_CPU
    BOOST_CHECK_EQUAL(back.request_id, 42u);
    BOOST_CHECK_EQUAL(decoded(with(good, 9, {0})), TLA_OK);
    BOOST_CHECK_EQUAL(back.request_id, 1u);
    BOOST_CHECK_EQUAL(back.correlation_id, 2u);
}

BOOST_AUTO_TEST_CASE(random_damage_is_decoded_or_rejected_with_a_text) {
    std::mt19937 random(2);
    std::vector<bytes> good{encode(command_of(TLA_OP_ALLOC, TLA_TARGET_MEMORY_CONTROLLER)),
                            encode(map_of(3)),
                            encode(map_of(TLA_COMMAND_MAX_ENTRIES)),
                            encode(launch_of(2)),
                            encode(command_of(TLA_OP_PE_DMA, TLA_TARGET_IO_CPU)),
                            encode(command_of(TLA_OP_TRIM, TLA_TARGET_MEMORY_CONTROLLER)),
                            encode(command_of(TLA_OP_PIN, TLA_TARGET_MEMORY_CONTROLLER)),
                            encode(command_of(TLA_OP_EVICT, TLA_TARGET_MEMORY_CONTROLLER)),
                            encode(command_of(TLA_OP_ALLOC_BATCH, TLA_TARGET_MEMORY_CONTROLLER)),
                            encode(command_of(TLA_OP_PUT, TLA_TARGET_MEMORY_CONTROLLER)),
                            encode(command_of(TLA_OP_GET, TLA_TARGET_MEMORY_CONTROLLER)),
                            encode(command_of(TLA_OP_FREE_BATCH, TLA_TARGET_MEMORY_CONTROLLER)),
                            encode(command_of(TLA_OP_UNREF, TLA_TARGET_MEMORY_CONTROLLER)),
                            encode(command_of(TLA_OP_VA_ALLOC, TLA_TARGET_VA_MANAGER))};
    unsigned refused = 0, accepted = 0;
    for (int i = 0; i < 20000; i++) {
        bytes damaged = good[random() % good.size()];
        for (unsigned n = 1 + random() % 4; n > 0; n--)
            damaged[random() % std::min<size_t>(damaged.size(), 80)] = uint8_t(random());
        if (random() % 3 == 0) damaged.resize(random() % 120);
        if (random() % 2 == 0 && damaged.size() >= 8)
            damaged[6] = uint8_t(damaged.size()), damaged[7] = uint8_t(damaged.size() >> 8);
        tla_command command;
        std::string text;
        if (decode(damaged, command, &text) == TLA_OK) {
            accepted++;
            BOOST_REQUIRE(encode(command) == damaged); // what is accepted has one spelling
        } else {
            refused++;
            BOOST_REQUIRE(!text.empty());
        }
    }
    BOOST_CHECK_GT(refused, 1000u);
    BOOST_CHECK_GT(accepted, 1000u);
}

BOOST_AUTO_TEST_CASE(every_opcode_has_a_name_of_its_own) {
    std::set<std::string> names;
    for (int opcode = TLA_OP_ALLOC; opcode <= TLA_OP_LAST; opcode++) {
        const char *const name = tla_opcode_name(static_cast<tla_opcode>(opcode));
        BOOST_REQUIRE(name);
        BOOST_CHECK(names.insert(name).second);
    }
    BOOST_CHECK_EQUAL(tla_opcode_name(TLA_OP_EVICT), "EVICT");
    BOOST_CHECK(!tla_opcode_name(static_cast<tla_opcode>(0)));
    BOOST_CHECK(!tla_opcode_name(static_cast<tla_opcode>(TLA_OP_LAST + 1)));
}

BOOST_AUTO_TEST_CASE(an_invalid_number_of_entries_is_reported_with_its_range) {
    for (tla_opcode opcode : {TLA_OP_MAP, TLA_OP_UNMAP, TLA_OP_INVALIDATE, TLA_OP_TAKE_BACK, TLA_OP_PAUSE, TLA_OP_REMAP,
                              TLA_OP_RESUME, TLA_OP_BIND, TLA_OP_UNBIND})
        for (uint32_t count : {0u, TLA_COMMAND_MAX_ENTRIES + 1u, 1000000u}) {
            tla_command command = map_of(1, opcode);
            const auto bytes = encode(command);
            check_refused(with(bytes, 16, {uint8_t(count & 0xff)}), "count of " + std::to_string(count & 0xff),
                          count & 0xff ? "" : "at least 1");
            command.count = count;
            std::vector<uint8_t> room(TLA_COMMAND_MAX_BYTES);
            size_t length = 0;
            BOOST_CHECK_EQUAL(tla_command_encode(&command, room.data(), room.size(), &length), TLA_INVALID_ARGUMENT);
            tla_error why{};
            tla_command_explain(&command, &why);
            BOOST_CHECK_EQUAL(why.text, std::string(tla_opcode_name(opcode)) + ": count " + std::to_string(count) +
                                            " must be " + (count ? "at most 119" : "at least 1"));
        }
    tla_command none = map_of(1);
    none.opcode = tla_opcode(31);
    tla_error why{};
    tla_command_explain(&none, &why);
    BOOST_CHECK_EQUAL(why.text, "command: opcode 31 must be 1 .. 28");
}

BOOST_AUTO_TEST_CASE(the_member_that_no_descriptor_can_express_is_named) {
    const auto why = [](const tla_command &command) {
        std::vector<uint8_t> room(TLA_COMMAND_MAX_BYTES);
        size_t length = 0;
        BOOST_CHECK_EQUAL(tla_command_encode(&command, room.data(), room.size(), &length), TLA_INVALID_ARGUMENT);
        tla_error error{};
        tla_command_explain(&command, &error);
        return std::string(error.text);
    };
    BOOST_CHECK_EQUAL(why(command_of(TLA_OP_FREE, tla_target(0))), "FREE: target 0 must be 1 .. 7 (tla_target)");
    tla_command launch = launch_of(0);
    launch.programs = 5;
    BOOST_CHECK_EQUAL(why(launch), "LAUNCH: programs 5 must be at least program 3 and its 3 PEs");
    tla_command alloc = command_of(TLA_OP_ALLOC, TLA_TARGET_MEMORY_CONTROLLER);
    alloc.memory = TLA_MEMORY_KIND_COUNT;
    BOOST_CHECK_EQUAL(why(alloc),
                      "ALLOC: memory (5), format (0), stream (0), batch (0) or meta is out of range for a descriptor");
}
