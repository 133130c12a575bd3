// The control port: descriptors in bursts and in words, completions out.
#include "tlmalloc/command/control_port.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace {

using bytes = std::vector<uint8_t>;

bytes alloc_descriptor(uint32_t tag = 1) {
    tla_command command{};
    command.opcode = TLA_OP_ALLOC;
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    command.request_id = tag;
    command.nbytes = 4096;
    bytes out(64);
    size_t length = 0;
    BOOST_REQUIRE_EQUAL(tla_command_encode(&command, out.data(), out.size(), &length), TLA_OK);
    out.resize(length);
    return out;
}

bytes largest_descriptor() {
    tla_command command{};
    command.opcode = TLA_OP_MAP;
    command.target = TLA_TARGET_PE_MMU;
    command.count = TLA_COMMAND_MAX_ENTRIES;
    bytes out(TLA_COMMAND_MAX_BYTES);
    size_t length = 0;
    BOOST_REQUIRE_EQUAL(tla_command_encode(&command, out.data(), out.size(), &length), TLA_OK);
    return out;
}

struct port {
    tla_control_port registers{};
    std::string text;
    bool complete = false;

    tla_status write(uint32_t offset, const bytes &data) {
        tla_error error{};
        tla_status status =
            tla_control_port_write(&registers, offset, data.data(), uint32_t(data.size()), &complete, &error);
        text = error.text;
        return status;
    }
    uint32_t state() {
        uint8_t word[4];
        BOOST_REQUIRE_EQUAL(tla_control_port_read(&registers, TLA_PORT_STATE, word, 4), TLA_OK);
        return uint32_t(word[0] | word[1] << 8 | word[2] << 16) | uint32_t(word[3]) << 24;
    }
    tla_status completion(tla_completion &out) {
        uint8_t raw[TLA_COMPLETION_BYTES];
        BOOST_REQUIRE_EQUAL(tla_control_port_read(&registers, TLA_PORT_COMPLETION, raw, sizeof raw), TLA_OK);
        return tla_completion_decode(raw, &out);
    }
    void finish(uint32_t tag) {
        const tla_completion done{0, tag, TLA_OK, TLA_OP_ALLOC, {}, 0x1000, 4096, 0, 0, 0, 0};
        tla_control_port_complete(&registers, &done);
    }
    bool holds(const bytes &descriptor) const {
        return registers.staged == descriptor.size() &&
               std::equal(descriptor.begin(), descriptor.end(), registers.command);
    }
};

void check_dropped(port &p, uint32_t offset, const bytes &data, const std::string &found) {
    BOOST_CHECK_EQUAL(p.write(offset, data), TLA_BAD_COMMAND);
    BOOST_CHECK_MESSAGE(p.text.find(found) != std::string::npos, p.text << ", without " << found);
    BOOST_CHECK(p.text.find("must ") != std::string::npos || p.text.find("claims") != std::string::npos);
    BOOST_CHECK(!p.complete);
    BOOST_CHECK_EQUAL(p.state(), unsigned(TLA_PORT_IDLE));
}

} // namespace

BOOST_AUTO_TEST_CASE(a_burst_submits_a_descriptor) {
    port p;
    BOOST_CHECK_EQUAL(p.state(), unsigned(TLA_PORT_IDLE));
    BOOST_REQUIRE_EQUAL(p.write(0, alloc_descriptor()), TLA_OK);
    BOOST_CHECK(p.complete);
    BOOST_CHECK(p.holds(alloc_descriptor()));
    BOOST_CHECK_EQUAL(p.state(), unsigned(TLA_PORT_RUNNING));
}

BOOST_AUTO_TEST_CASE(pieces_of_any_size_do_the_same_as_a_burst) {
    auto whole = alloc_descriptor();
    for (size_t piece = 1; piece < whole.size(); piece++) {
        port p;
        for (size_t at = 0; at < whole.size(); at += piece) {
            BOOST_REQUIRE(!p.complete);
            size_t end = std::min(at + piece, whole.size());
            BOOST_REQUIRE_EQUAL(
                p.write(uint32_t(at), bytes(whole.begin() + std::ptrdiff_t(at), whole.begin() + std::ptrdiff_t(end))),
                TLA_OK);
            BOOST_REQUIRE_EQUAL(p.state(), unsigned(end == whole.size() ? TLA_PORT_RUNNING : TLA_PORT_STAGING));
        }
        BOOST_REQUIRE(p.complete);
        BOOST_REQUIRE(p.holds(whole));
    }
}

BOOST_AUTO_TEST_CASE(the_largest_descriptor_fills_the_command_area) {
    port p;
    BOOST_REQUIRE_EQUAL(p.write(0, largest_descriptor()), TLA_OK);
    BOOST_CHECK(p.complete);
    BOOST_CHECK(p.holds(largest_descriptor()));
}

BOOST_AUTO_TEST_CASE(a_write_at_0_begins_again) {
    port p;
    auto first = alloc_descriptor(1), second = alloc_descriptor(2);
    BOOST_REQUIRE_EQUAL(p.write(0, bytes(first.begin(), first.begin() + 20)), TLA_OK);
    BOOST_REQUIRE_EQUAL(p.write(0, second), TLA_OK);
    BOOST_CHECK(p.complete);
    BOOST_CHECK(p.holds(second));
}

BOOST_AUTO_TEST_CASE(a_completion_can_be_read_back_until_the_next_submission) {
    port p;
    tla_completion done{};
    BOOST_CHECK_EQUAL(p.completion(done), TLA_BAD_COMMAND); // all zero
    p.write(0, alloc_descriptor(5));
    p.finish(5);
    BOOST_CHECK_EQUAL(p.state(), unsigned(TLA_PORT_DONE));
    BOOST_REQUIRE_EQUAL(p.completion(done), TLA_OK);
    BOOST_CHECK_EQUAL(done.request_id, 5u);
    BOOST_CHECK_EQUAL(done.value, 0x1000u);
    BOOST_REQUIRE_EQUAL(p.completion(done), TLA_OK);
    auto next = alloc_descriptor(6);
    p.write(0, bytes(next.begin(), next.begin() + 8));
    BOOST_CHECK_EQUAL(p.completion(done), TLA_OK);
    p.write(8, bytes(next.begin() + 8, next.end()));
    BOOST_CHECK_EQUAL(p.completion(done), TLA_BAD_COMMAND);
    p.finish(6);
    BOOST_REQUIRE_EQUAL(p.completion(done), TLA_OK);
    BOOST_CHECK_EQUAL(done.request_id, 6u);
}

BOOST_AUTO_TEST_CASE(a_running_command_makes_the_port_busy) {
    port p;
    p.write(0, alloc_descriptor(1));
    BOOST_CHECK_EQUAL(p.write(0, alloc_descriptor(2)), TLA_BUSY);
    BOOST_CHECK(!p.text.empty());
    BOOST_CHECK(!p.complete);
    BOOST_CHECK(p.holds(alloc_descriptor(1)));
    p.finish(1);
    BOOST_CHECK_EQUAL(p.write(0, alloc_descriptor(2)), TLA_OK);
    BOOST_CHECK(p.complete);
}

BOOST_AUTO_TEST_CASE(a_completion_without_a_command_is_ignored) {
    port p;
    p.finish(1);
    tla_completion done{};
    BOOST_CHECK_EQUAL(p.completion(done), TLA_BAD_COMMAND);
    BOOST_CHECK_EQUAL(p.state(), unsigned(TLA_PORT_IDLE));
}

BOOST_AUTO_TEST_CASE(writes_outside_the_command_area_are_rejected_and_change_nothing) {
    port p;
    auto descriptor = alloc_descriptor();
    p.write(0, bytes(descriptor.begin(), descriptor.begin() + 16));
    for (uint32_t offset : {0xEFFu, 0xF00u, 0xF40u, 0xFFEu, 0xFFFFFFFEu}) {
        BOOST_CHECK_EQUAL(p.write(offset, bytes(2)), TLA_OUT_OF_RANGE);
        BOOST_CHECK(p.text.find("command area") != std::string::npos);
    }
    BOOST_CHECK_EQUAL(p.write(0, bytes(TLA_COMMAND_MAX_BYTES + 1)), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(p.write(16, bytes(descriptor.begin() + 16, descriptor.end())), TLA_OK);
    BOOST_CHECK(p.complete);
}

BOOST_AUTO_TEST_CASE(damaged_descriptors_are_dropped) {
    auto good = alloc_descriptor();
    auto damaged = [&](size_t at, uint8_t value) {
        bytes copy = good;
        copy[at] = value;
        return copy;
    };
    port p;
    check_dropped(p, 0, damaged(0, 'X'), "58 4c 41 43");
    check_dropped(p, 0, damaged(6, 0), "claims 0");
    check_dropped(p, 0, damaged(6, 15), "claims 15");
    check_dropped(p, 0, damaged(7, 0x0F), "claims 3872");
    check_dropped(p, 0, damaged(7, 0xFF), "claims");
    check_dropped(p, 0, damaged(6, 24), "claims 24");
    check_dropped(p, 4, good, "at 0x4");
    BOOST_CHECK_EQUAL(p.text, "write at 0x4 of a control port: must be at 0x0");
    BOOST_CHECK_EQUAL(p.write(0, bytes(good.begin(), good.begin() + 16)), TLA_OK);
    check_dropped(p, 20, bytes(good.begin() + 20, good.end()), "at 0x14");
    BOOST_CHECK_EQUAL(p.write(0, bytes(good.begin(), good.begin() + 16)), TLA_OK);
    check_dropped(p, 16, bytes(17), "33 bytes");
    BOOST_CHECK_EQUAL(p.write(0, good), TLA_OK);
    BOOST_CHECK(p.complete);
}

BOOST_AUTO_TEST_CASE(a_dropped_descriptor_leaves_the_last_completion) {
    port p;
    p.write(0, alloc_descriptor(9));
    p.finish(9);
    check_dropped(p, 0, bytes(32, 'X'), "58 58 58 58");
    tla_completion done{};
    BOOST_REQUIRE_EQUAL(p.completion(done), TLA_OK);
    BOOST_CHECK_EQUAL(done.request_id, 9u);
}

BOOST_AUTO_TEST_CASE(only_completion_and_state_can_be_read) {
    port p;
    p.write(0, alloc_descriptor());
    bytes all(TLA_PORT_BYTES - TLA_PORT_COMPLETION, 0xEE);
    BOOST_REQUIRE_EQUAL(tla_control_port_read(&p.registers, TLA_PORT_COMPLETION, all.data(), uint32_t(all.size())),
                        TLA_OK);
    for (size_t i = 0; i < all.size(); i++)
        BOOST_CHECK_EQUAL(all[i], i == TLA_PORT_STATE - TLA_PORT_COMPLETION ? unsigned(TLA_PORT_RUNNING) : 0u);
    uint8_t word[4];
    BOOST_CHECK_EQUAL(tla_control_port_read(&p.registers, 0, word, 4), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_control_port_read(&p.registers, 0xEFC, word, 4), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_control_port_read(&p.registers, 0xFFD, word, 4), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_control_port_read(&p.registers, 0xFFFFFFFF, word, 4), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_control_port_read(&p.registers, TLA_PORT_STATE, word, UINT32_MAX), TLA_OUT_OF_RANGE);
}

BOOST_AUTO_TEST_CASE(the_result_of_a_command_stays_in_the_command_area_until_the_next_write) {
    tla_control_port port{};
    std::uint8_t word[4] = {};
    BOOST_CHECK_EQUAL(tla_control_port_read(&port, 0, word, 4), TLA_OUT_OF_RANGE);
    port.state = TLA_PORT_RUNNING;
    const tla_completion completion{};
    const std::uint8_t left[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    tla_control_port_complete_with(&port, &completion, left, 12);
    BOOST_CHECK_EQUAL(tla_control_port_read(&port, 8, word, 4), TLA_OK);
    BOOST_CHECK_EQUAL(word[3], 12u);
    BOOST_CHECK_EQUAL(tla_control_port_read(&port, 9, word, 4), TLA_OUT_OF_RANGE); // past it
    BOOST_CHECK_EQUAL(tla_control_port_read(&port, 12, word, 1), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_control_port_read(&port, TLA_PORT_STATE, word, 4), TLA_OK);
    BOOST_CHECK_EQUAL(word[0], TLA_PORT_DONE);
    bool complete = false;
    const std::uint8_t magic[4] = {'T', 'L', 'A', 'C'};
    BOOST_CHECK_EQUAL(tla_control_port_write(&port, 0, magic, 4, &complete, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_control_port_read(&port, 0, word, 4), TLA_OUT_OF_RANGE);
}

BOOST_AUTO_TEST_CASE(a_reset_ends_what_a_port_has_and_keeps_its_ids) {
    tla_control_port port{};
    BOOST_CHECK(!tla_control_port_reset(&port)); // never used
    BOOST_CHECK_EQUAL(port.state, TLA_PORT_IDLE);
    tla_command command{};
    command.opcode = TLA_OP_ALLOC;
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    command.nbytes = 100;
    command.correlation_id = 3;
    command.request_id = 17;
    uint8_t descriptor[TLA_COMMAND_MAX_BYTES];
    std::size_t length = 0;
    BOOST_REQUIRE_EQUAL(tla_command_encode(&command, descriptor, sizeof descriptor, &length), TLA_OK);
    bool complete = false;
    const auto write = [&](std::size_t nbytes) {
        return tla_control_port_write(&port, 0, descriptor, uint32_t(nbytes), &complete, nullptr);
    };
    const auto is_ended = [&] {
        tla_completion ended{};
        BOOST_CHECK_EQUAL(tla_completion_decode(port.completion, &ended), TLA_OK);
        return port.state == TLA_PORT_DONE && ended.status == TLA_RESET && ended.correlation_id == 3 &&
               ended.request_id == 17 && ended.opcode == TLA_OP_ALLOC && ended.value == 0 && port.result == 0;
    };
    BOOST_REQUIRE_EQUAL(write(8), TLA_OK);
    BOOST_CHECK(!tla_control_port_reset(&port)); // begun, and nothing before it
    BOOST_CHECK_EQUAL(port.state, TLA_PORT_IDLE);
    BOOST_REQUIRE_EQUAL(write(length), TLA_OK);
    BOOST_REQUIRE(complete);
    BOOST_CHECK(tla_control_port_reset(&port)); // running
    BOOST_CHECK(is_ended());
    tla_completion late{};
    late.value = 5;
    tla_control_port_complete(&port, &late); // whoever executed it comes late
    BOOST_CHECK(is_ended());
    BOOST_REQUIRE_EQUAL(write(length), TLA_OK);
    tla_completion done{};
    done.correlation_id = 3;
    done.request_id = 17;
    done.opcode = TLA_OP_ALLOC;
    done.value = 0x1000;
    const uint8_t left[4] = {1, 2, 3, 4};
    tla_control_port_complete_with(&port, &done, left, sizeof left);
    BOOST_CHECK(tla_control_port_reset(&port)); // done
    BOOST_CHECK(is_ended());
    BOOST_REQUIRE_EQUAL(write(8), TLA_OK);
    BOOST_CHECK(tla_control_port_reset(&port)); // begun, after one that was done
    BOOST_CHECK(is_ended());
}
