// Descriptors of an ALLOC and a FREE that name slices of an owner.
#include "tlmalloc/command/command.h"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <string>
#include <vector>

namespace {

using bytes = std::vector<uint8_t>;

tla_command command_of(tla_opcode opcode) {
    tla_command command{};
    command.opcode = opcode;
    command.target = TLA_TARGET_M_CPU;
    command.correlation_id = 5;
    command.request_id = 6;
    command.nbytes = 0x1122334455667788;
    if (opcode == TLA_OP_FREE) command.pa.value = 0x8877665544332211;
    command.of_units = true;
    command.units = TLA_UNITS_RANGE;
    command.pes.cubes[0] = 0x8003;
    command.pes.cubes[15] = 0x0100;
    return command;
}

bytes encode(const tla_command &command) {
    bytes out(TLA_COMMAND_MAX_BYTES);
    size_t length = 0;
    BOOST_REQUIRE_EQUAL(tla_command_encode(&command, out.data(), out.size(), &length), TLA_OK);
    out.resize(length);
    return out;
}

tla_status decode(bytes descriptor, tla_command &command, std::string *text = nullptr) {
    descriptor.shrink_to_fit();
    tla_error error{};
    const tla_status status = tla_command_decode(descriptor.data(), descriptor.size(), &command, &error);
    if (text) *text = error.text;
    return status;
}

} // namespace

BOOST_AUTO_TEST_CASE(units_are_these_40_bytes_behind_the_scalars_of_an_alloc) {
    const bytes all = encode(command_of(TLA_OP_ALLOC));
    bytes expected(40);
    expected[0] = TLA_UNITS_RANGE;
    expected[8] = 0x03, expected[9] = 0x80, expected[39] = 0x01;
    BOOST_CHECK_EQUAL(all[6], 72);
    BOOST_TEST(bytes(all.begin() + 32, all.end()) == expected, boost::test_tools::per_element());
    tla_command plain = command_of(TLA_OP_ALLOC);
    plain.of_units = false;
    bytes without = encode(plain);
    BOOST_CHECK_EQUAL(without.size(), 32u);
    without[6] = 72;
    BOOST_CHECK(std::equal(without.begin(), without.end(), all.begin()));
}

BOOST_AUTO_TEST_CASE(commands_about_units_are_decoded_as_they_were_encoded) {
    for (const tla_opcode opcode : {TLA_OP_ALLOC, TLA_OP_FREE})
        for (const tla_units_mode mode : {TLA_UNITS_SINGLE, TLA_UNITS_RANGE, TLA_UNITS_COMMON})
            for (const tla_target target : {TLA_TARGET_IO_CPU, TLA_TARGET_M_CPU}) {
                tla_command sent = command_of(opcode), received{};
                sent.units = mode;
                sent.target = target;
                BOOST_REQUIRE_EQUAL(decode(encode(sent), received), TLA_OK);
                BOOST_CHECK(received.of_units);
                BOOST_CHECK_EQUAL(received.units, mode);
                BOOST_CHECK_EQUAL(received.target, target);
                BOOST_CHECK_EQUAL(received.nbytes, sent.nbytes);
                BOOST_CHECK_EQUAL(received.pa.value, sent.pa.value);
                BOOST_CHECK_EQUAL(std::memcmp(&received.pes, &sent.pes, sizeof sent.pes), 0);
            }
}

BOOST_AUTO_TEST_CASE(sizes_of_units_are_8_bytes_each_behind_the_pes) {
    for (const tla_opcode opcode : {TLA_OP_ALLOC, TLA_OP_FREE}) {
        tla_command sent = command_of(opcode), received{};
        sent.units = TLA_UNITS_COMMON;
        const bytes alike = encode(sent);
        sent.count = 4;
        const uint64_t sizes[] = {1, 0x1122334455667788, 3, 0x0102030405060708};
        std::copy(std::begin(sizes), std::end(sizes), sent.extents);
        const bytes all = encode(sent);
        BOOST_CHECK_EQUAL(all.size(), 72u + 4 * 8);
        BOOST_CHECK_EQUAL(all[6], all.size());
        BOOST_CHECK(std::equal(all.begin(), all.begin() + 6, alike.begin()));
        BOOST_CHECK(std::equal(all.begin() + 8, all.begin() + 72, alike.begin() + 8));
        for (size_t i = 0; i < 4; i++)
            for (size_t byte = 0; byte < 8; byte++)
                BOOST_CHECK_EQUAL(all[72 + 8 * i + byte], sizes[i] >> 8 * byte & 0xFF);
        BOOST_REQUIRE_EQUAL(decode(all, received), TLA_OK);
        BOOST_CHECK_EQUAL(received.count, 4u);
        BOOST_CHECK(std::equal(std::begin(sizes), std::end(sizes), received.extents));
        BOOST_CHECK_EQUAL(received.nbytes, sent.nbytes);
    }
    tla_command most = command_of(TLA_OP_ALLOC), received{}; // of every PE of a SIP
    most.units = TLA_UNITS_COMMON;
    std::fill(std::begin(most.pes.cubes), std::end(most.pes.cubes), static_cast<uint16_t>(0xFFFF));
    most.count = TLA_COMMAND_MAX_UNITS;
    std::fill(std::begin(most.extents), std::end(most.extents), most.nbytes);
    BOOST_CHECK_EQUAL(decode(encode(most), received), TLA_OK);
    BOOST_CHECK_EQUAL(received.count, 256u);
}

BOOST_AUTO_TEST_CASE(sizes_that_do_not_fit_their_units_are_rejected) {
    const auto check = [](const tla_command &command, const std::string &found) {
        const std::string text = found + ": must have none, or in mode 3 (common) one for each PE, at least 1 and its "
                                         "bytes the largest of them";
        uint8_t out[128];
        size_t length = 0;
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_command_encode(&command, out, sizeof out, &length), TLA_INVALID_ARGUMENT);
        tla_command_explain(&command, &error);
        BOOST_CHECK_EQUAL(error.text, text);
        tla_command plain = command, received{};
        plain.count = 0;
        bytes bad = encode(plain);
        for (uint32_t i = 0; i < command.count; i++)
            for (size_t byte = 0; byte < 8; byte++)
                bad.push_back(static_cast<uint8_t>(command.extents[i] >> 8 * byte));
        bad[6] = static_cast<uint8_t>(bad.size());
        std::string why;
        BOOST_CHECK_EQUAL(decode(bad, received, &why), TLA_BAD_COMMAND);
        BOOST_CHECK_EQUAL(why, text);
        BOOST_CHECK_EQUAL(received.count, 0u);
    };
    tla_command good = command_of(TLA_OP_ALLOC);
    good.units = TLA_UNITS_COMMON;
    good.nbytes = 9;
    good.count = 4;
    std::fill(good.extents, good.extents + 4, 9u);
    const std::string of_9 = "ALLOC of 9 bytes in units of mode ";
    tla_command bad = good;
    bad.units = TLA_UNITS_RANGE;
    check(bad, of_9 + "2 with 4 sizes for 4 PEs");
    bad = good;
    bad.count = 3;
    check(bad, of_9 + "3 with 3 sizes for 4 PEs");
    bad = good;
    bad.extents[2] = 0;
    check(bad, of_9 + "3 with 4 sizes for 4 PEs");
    bad = good;
    bad.extents[3] = 10;
    check(bad, of_9 + "3 with 4 sizes for 4 PEs");
    bad = good;
    bad.opcode = TLA_OP_FREE;
    bad.nbytes = 10;
    check(bad, "FREE of 10 bytes in units of mode 3 with 4 sizes for 4 PEs");
    bytes odd = encode(good);
    odd.push_back(0);
    odd[6]++;
    std::string why;
    BOOST_CHECK_EQUAL(decode(odd, bad, &why), TLA_BAD_COMMAND);
    BOOST_CHECK_MESSAGE(why.find("descriptor of 105 bytes: must be 32") != std::string::npos, why);
    bytes many(72 + 8 * 300); // more sizes than there are PEs
    std::copy(odd.begin(), odd.begin() + 72, many.begin());
    many[6] = static_cast<uint8_t>(many.size());
    many[7] = static_cast<uint8_t>(many.size() >> 8);
    BOOST_CHECK_EQUAL(decode(many, bad, &why), TLA_BAD_COMMAND);
    BOOST_CHECK_MESSAGE(why.find("with 300 sizes for 4 PEs") != std::string::npos, why);
}

BOOST_AUTO_TEST_CASE(units_of_an_invalid_mode_or_for_another_target_are_rejected) {
    const auto cannot_be_encoded = [](const tla_command &command, const std::string &why) {
        uint8_t out[128];
        size_t length = 0;
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_command_encode(&command, out, sizeof out, &length), TLA_INVALID_ARGUMENT);
        tla_command_explain(&command, &error);
        BOOST_CHECK_MESSAGE(std::string(error.text).find(why) != std::string::npos, error.text);
    };
    for (const tla_opcode opcode : {TLA_OP_ALLOC, TLA_OP_FREE}) {
        tla_command command = command_of(opcode);
        command.units = TLA_UNITS_LOCKSTEP; // without units
        cannot_be_encoded(command, "mode 1 must be 0 (single), 2 (range) or 3 (common)");
        command = command_of(opcode);
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        cannot_be_encoded(command, "target 1 5 (IO_CPU) or 6 (M_CPU)");
        const bytes good = encode(command_of(opcode));
        const auto check = [&](size_t at, uint8_t value, const std::string &why) {
            bytes bad = good;
            std::string text;
            bad[at] = value;
            BOOST_CHECK_EQUAL(decode(bad, command, &text), TLA_BAD_COMMAND);
            BOOST_CHECK_MESSAGE(text.find(why) != std::string::npos, text);
            BOOST_CHECK(!command.of_units);
        };
        const std::string name = tla_opcode_name(opcode);
        check(32, 1, name + " in units of mode 1 and then 0: must be 0 (single), 2 (range) or 3 (common), and 0");
        check(35, 9, "mode 150994946");
        check(36, 9, "and then 9");
        check(5, TLA_TARGET_MEMORY_CONTROLLER, "descriptor of 72 bytes: must be 32");
    }
}
