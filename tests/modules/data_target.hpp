// What every target of data must do with a generic payload, good or bad, whatever stands in front of the bytes. `base`
// and `size`: a range of addresses that can be read and written, contiguous, and ended by an address that cannot.
#ifndef TLMALLOC_TESTS_MODULES_DATA_TARGET_HPP
#define TLMALLOC_TESTS_MODULES_DATA_TARGET_HPP

#include "test_initiator.hpp"

#include <algorithm>

namespace data_targets {

using namespace test_initiator;

struct data_target {
    initiator &from;
    std::uint64_t base, size;

    tlm::tlm_response_status send(tlm::tlm_command command, std::uint64_t address, std::uint8_t *data, unsigned length,
                                  unsigned width, std::uint8_t *enables = nullptr, unsigned enable_length = 0) {
        tlm::tlm_generic_payload payload;
        payload.set_command(command);
        payload.set_address(address);
        payload.set_data_ptr(data);
        payload.set_data_length(length);
        payload.set_streaming_width(width);
        payload.set_byte_enable_ptr(enables);
        payload.set_byte_enable_length(enable_length);
        sc_core::sc_time delay(3, sc_core::SC_NS); // T9: added to, never overwritten
        const tlm::tlm_response_status status = from.send(payload, delay);
        sc_core::wait(delay);
        return status;
    }

    void check_bad_accesses() {
        const bytes kept = pattern(64, 7);
        from.write(base, kept);
        from.write(base + size - 64, kept);
        bytes data = pattern(64, 8), enables(4, 0xff);
        for (tlm::tlm_command command : {tlm::TLM_READ_COMMAND, tlm::TLM_WRITE_COMMAND}) {
            // past the end, by one byte and by far; an address plus a length that wraps 2^64
            BOOST_CHECK_EQUAL(send(command, base + size, data.data(), 1, 1), tlm::TLM_ADDRESS_ERROR_RESPONSE);
            BOOST_CHECK_EQUAL(send(command, base + size - 63, data.data(), 64, 64), tlm::TLM_ADDRESS_ERROR_RESPONSE);
            BOOST_CHECK_EQUAL(send(command, UINT64_MAX, data.data(), 64, 64), tlm::TLM_ADDRESS_ERROR_RESPONSE);
            BOOST_CHECK_EQUAL(send(command, UINT64_MAX - 62, data.data(), 64, 64), tlm::TLM_ADDRESS_ERROR_RESPONSE);
            // length 0, streaming width 0
            BOOST_CHECK_EQUAL(send(command, base, data.data(), 0, 0), tlm::TLM_BURST_ERROR_RESPONSE);
            BOOST_CHECK_EQUAL(send(command, base, data.data(), 0, 8), tlm::TLM_BURST_ERROR_RESPONSE);
            BOOST_CHECK_EQUAL(send(command, base, data.data(), 64, 0), tlm::TLM_BURST_ERROR_RESPONSE);
            // no data, byte enables without a length
            BOOST_CHECK_EQUAL(send(command, base, nullptr, 64, 64), tlm::TLM_GENERIC_ERROR_RESPONSE);
            BOOST_CHECK_EQUAL(send(command, base, data.data(), 64, 64, enables.data(), 0),
                              tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
        }
        BOOST_CHECK(from.read(base, 64) == kept);
        BOOST_CHECK(from.read(base + size - 64, 64) == kept);
    }

    void check_the_last_byte() {
        from.write(base + size - 1, {0xa5});
        BOOST_CHECK(from.read(base + size - 1, 1) == bytes{0xa5});
        const bytes whole = pattern(300, 9);
        from.write(base + size - 300, whole);
        BOOST_CHECK(from.read(base + size - 300, 300) == whole);
    }

    void check_ignore() {
        const bytes kept = pattern(16, 10);
        from.write(base, kept);
        bytes data(16, 0);
        BOOST_CHECK_EQUAL(send(tlm::TLM_IGNORE_COMMAND, base, data.data(), 16, 16), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK(from.read(base, 16) == kept);
    }

    // Streaming: `length` bytes over `width` addresses; what stays is the last byte for each address.
    void check_streaming() {
        from.write(base, bytes(32, 0x11));
        bytes data = pattern(20, 11);
        BOOST_CHECK_EQUAL(send(tlm::TLM_WRITE_COMMAND, base, data.data(), 20, 8), tlm::TLM_OK_RESPONSE);
        bytes expected(32, 0x11);
        for (unsigned i = 0; i < 20; i++)
            expected[i % 8] = data[i];
        BOOST_CHECK(from.read(base, 32) == expected);
        bytes got(20, 0);
        BOOST_CHECK_EQUAL(send(tlm::TLM_READ_COMMAND, base, got.data(), 20, 8), tlm::TLM_OK_RESPONSE);
        for (unsigned i = 0; i < 20; i++)
            BOOST_CHECK_EQUAL(got[i], expected[i % 8]);
        // wider than the data: an ordinary access, also where base + width lies past the end
        BOOST_CHECK_EQUAL(send(tlm::TLM_READ_COMMAND, base + size - 20, got.data(), 20, 4000), tlm::TLM_OK_RESPONSE);
        // only the span counts: 64 bytes over the last 8
        bytes over = pattern(64, 12);
        BOOST_CHECK_EQUAL(send(tlm::TLM_WRITE_COMMAND, base + size - 8, over.data(), 64, 8), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK(from.read(base + size - 8, 8) == bytes(over.end() - 8, over.end()));
    }

    // Byte enables, shorter and longer than the data and with streaming, against a byte-by-byte reference.
    void check_byte_enables() {
        for (unsigned enable_length : {1u, 3u, 5u, 16u, 40u})
            for (unsigned width : {7u, 24u}) {
                bytes enables(enable_length);
                for (unsigned i = 0; i < enable_length; i++)
                    enables[i] = (i * 7 + 1) % 3 ? 0xff : 0x00;
                bytes memory = pattern(24, enable_length), data = pattern(24, 13);
                from.write(base, memory);
                BOOST_CHECK_EQUAL(
                    send(tlm::TLM_WRITE_COMMAND, base, data.data(), 24, width, enables.data(), enable_length),
                    tlm::TLM_OK_RESPONSE);
                for (unsigned i = 0; i < 24; i++)
                    if (enables[i % enable_length]) memory[i % width] = data[i];
                BOOST_CHECK(from.read(base, 24) == memory);
                bytes got(24, 0x5a), expected = got; // disabled bytes keep what was there
                for (unsigned i = 0; i < 24; i++)
                    if (enables[i % enable_length]) expected[i] = memory[i % width];
                BOOST_CHECK_EQUAL(
                    send(tlm::TLM_READ_COMMAND, base, got.data(), 24, width, enables.data(), enable_length),
                    tlm::TLM_OK_RESPONSE);
                BOOST_CHECK(got == expected);
            }
    }

    // Debug access: all of it or nothing here, and what it wrote is what a transaction reads.
    void check_debug() {
        bytes data = pattern(1000, 14);
        BOOST_CHECK_EQUAL(from.debug(tlm::TLM_WRITE_COMMAND, base + 3, data), 1000u);
        BOOST_CHECK(from.read(base + 3, 1000) == data);
        bytes got(1000);
        BOOST_CHECK_EQUAL(from.debug(tlm::TLM_READ_COMMAND, base + 3, got), 1000u);
        BOOST_CHECK(got == data);
        bytes one(1), none, ignored(4);
        BOOST_CHECK_EQUAL(from.debug(tlm::TLM_READ_COMMAND, base + size - 1, one), 1u);
        BOOST_CHECK_EQUAL(from.debug(tlm::TLM_READ_COMMAND, base + size, one), 0u);
        BOOST_CHECK_EQUAL(from.debug(tlm::TLM_READ_COMMAND, UINT64_MAX, ignored), 0u);
        BOOST_CHECK_EQUAL(from.debug(tlm::TLM_READ_COMMAND, base, none), 0u);
        BOOST_CHECK_EQUAL(from.debug(tlm::TLM_IGNORE_COMMAND, base, ignored), 0u);
    }

    void check_everything() {
        check_bad_accesses();
        check_the_last_byte();
        check_ignore();
        check_streaming();
        check_byte_enables();
        check_debug();
    }
};

} // namespace data_targets

#endif
