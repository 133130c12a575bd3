// The battery's rules T1 to T12: responses, addresses, byte enables, streaming, and the initiator's property.
#ifndef TLMALLOC_TESTING_CONFORMANCE_TRANSPORT_HPP
#define TLMALLOC_TESTING_CONFORMANCE_TRANSPORT_HPP

#include "tlmalloc/testing/conformance_probe.hpp"

namespace tlmalloc::testing::conformance {

// --- responses and addresses -----------------------------------------------------------------------------------------

inline void t1(probe &p) {
    p.read(p.first(), 4);
    for (const tlm::tlm_command command : {tlm::TLM_READ_COMMAND, tlm::TLM_WRITE_COMMAND, tlm::TLM_IGNORE_COMMAND}) {
        if (command == tlm::TLM_WRITE_COMMAND && !p.target->writable) continue;
        for (probe::request &r : p.bad_requests(command))
            require(p.send_bad(r) != tlm::TLM_INCOMPLETE_RESPONSE,
                    "an invalid request returns TLM_INCOMPLETE_RESPONSE");
    }
}

inline void t2_done(probe &p) {
    for (unsigned i = 0; i < 8; i++) {
        p.write(p.first() + i * 40 + i, probe::pattern(i, 33));
        require(p.read(p.first() + i * 40 + i, 33) == probe::pattern(i, 33), "bytes read differ from bytes written");
    }
}

inline void t2_untouched(probe &p) {
    if (p.target->writable) {
        p.write(p.first(), probe::pattern(1, 64));
        p.write(p.last() - 63, probe::pattern(2, 64));
    }
    const bytes before = p.both_ends();
    for (const tlm::tlm_command command : {tlm::TLM_READ_COMMAND, tlm::TLM_WRITE_COMMAND}) {
        if (command == tlm::TLM_WRITE_COMMAND && !p.target->writable) continue;
        for (probe::request &r : p.bad_requests(command)) {
            const bytes data = r.data;
            if (!is_error(p.send_bad(r))) continue; // T3, T5 to T7 require an error
            require(r.data == data, "a failed read changed the buffer");
            require(p.both_ends() == before, "a failed write changed the memory");
        }
    }
}

inline void t3_last(probe &p) {
    p.read(p.last(), 1);
    p.read(p.last() - 7, 8);
    if (!p.target->writable) return;
    p.write(p.last(), {0x77});
    require(p.read(p.last(), 1) == bytes{0x77}, "the last byte does not keep its value");
}

inline void t3_refused(probe &p, std::uint64_t address) {
    if (!p.target->bounded) throw not_applicable{"the target is not responsible for addresses after the memory"};
    probe::request r{tlm::TLM_READ_COMMAND, address, bytes(8)};
    const tlm::tlm_response_status status = p.send(r);
    require(status == tlm::TLM_ADDRESS_ERROR_RESPONSE || status == tlm::TLM_GENERIC_ERROR_RESPONSE,
            "an access outside does not return an address error");
}

inline void t3_end(probe &p) {
    t3_refused(p, p.last() - 3);
}

inline void t3_behind(probe &p) {
    if (p.last() == UINT64_MAX) throw not_applicable{"no address follows the last address"};
    t3_refused(p, p.last() + 1);
}

inline void t3_wrap(probe &p) {
    t3_refused(p, UINT64_MAX - 3);
}

inline void t4(probe &p) {
    const bytes before = p.read(p.first(), 64);
    probe::request r{tlm::TLM_IGNORE_COMMAND, p.first(), bytes(64, 0xa5)};
    require(p.send(r) != tlm::TLM_INCOMPLETE_RESPONSE, "TLM_IGNORE returns TLM_INCOMPLETE_RESPONSE");
    require(r.data == bytes(64, 0xa5), "TLM_IGNORE changed the buffer");
    require(p.read(p.first(), 64) == before, "TLM_IGNORE changed the memory");
}

// --- byte enables ----------------------------------------------------------------------------------------------------

// Writes or reads `length` bytes under the pattern, and compares each byte with its expected value.
inline void enabled(probe &p, tlm::tlm_command command, std::size_t length, const bytes &enables) {
    const std::uint64_t at = p.first() + 8;
    if (p.target->writable) p.write(at, probe::pattern(1, length));
    const bytes memory = p.read(at, length);
    probe::request r{command, at, probe::pattern(2, length), {}, {}, enables};
    const tlm::tlm_response_status status = p.send(r);
    if (status == tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE) throw not_applicable{"the target does not support byte enables"};
    require(status == tlm::TLM_OK_RESPONSE,
            "an access with byte enables fails with another error than a byte-enable error");
    const bytes result = command == tlm::TLM_WRITE_COMMAND ? p.read(at, length) : r.data;
    const bytes &on = command == tlm::TLM_WRITE_COMMAND ? probe::pattern(2, length) : memory;
    const bytes &off = command == tlm::TLM_WRITE_COMMAND ? memory : probe::pattern(2, length);
    for (std::size_t i = 0; i < length; i++)
        require(result[i] == (enables[i % enables.size()] ? on[i] : off[i]),
                "byte " + std::to_string(i) + " does not match its byte enable");
}

inline void t5_write(probe &p) {
    enabled(p, tlm::TLM_WRITE_COMMAND, 8, {255, 0, 255, 255, 0, 0, 0, 255});
}

inline void t5_read(probe &p) {
    enabled(p, tlm::TLM_READ_COMMAND, 8, {0, 255, 255, 0, 255, 0, 255, 0});
    enabled(p, tlm::TLM_READ_COMMAND, 4, {0, 0, 0, 0});
}

inline void t5_short(probe &p) {
    for (const tlm::tlm_command command : {tlm::TLM_READ_COMMAND, tlm::TLM_WRITE_COMMAND}) {
        if (command == tlm::TLM_WRITE_COMMAND && !p.target->writable) continue;
        enabled(p, command, 16, {255, 0});
        enabled(p, command, 61, {255, 0, 0, 255, 255});
        enabled(p, command, 29, {255});
    }
}

inline void t5_long(probe &p) {
    for (const tlm::tlm_command command : {tlm::TLM_READ_COMMAND, tlm::TLM_WRITE_COMMAND}) {
        if (command == tlm::TLM_WRITE_COMMAND && !p.target->writable) continue;
        enabled(p, command, 5, {0, 255, 255, 0, 255, 255, 255, 255, 0, 255, 255, 0});
    }
}

inline void t5_empty(probe &p) {
    probe::request r{tlm::TLM_READ_COMMAND, p.first(), bytes(8), {}, {}, bytes()};
    require(is_error(p.send_bad(r)), "byte enables without a length do not return an error");
}

// --- streaming and length --------------------------------------------------------------------------------------------

inline void t6_wrap(probe &p) {
    const std::uint64_t at = p.last() - 3; // in the last word: the span is the width, not the length
    if (p.target->writable) p.write(at, {1, 2, 3, 4});
    const bytes word = p.read(at, 4);
    probe::request r{tlm::TLM_READ_COMMAND, at, bytes(14, 0xa5), {}, 4u};
    tlm::tlm_response_status status = p.send(r);
    if (status == tlm::TLM_BURST_ERROR_RESPONSE) throw not_applicable{"the target does not support streaming"};
    require(status == tlm::TLM_OK_RESPONSE, "a streaming read fails with another error than a burst error");
    for (std::size_t i = 0; i < r.data.size(); i++)
        require(r.data[i] == word[i % 4], "a streaming read does not wrap to its start address");
    if (!p.target->writable) return;
    probe::request w{tlm::TLM_WRITE_COMMAND, at, probe::pattern(3, 10), {}, 4u};
    require(p.send(w) == tlm::TLM_OK_RESPONSE, "a streaming write fails");
    const bytes data = probe::pattern(3, 10);
    require(p.read(at, 4) == bytes{data[8], data[9], data[6], data[7]},
            "a streaming write does not end with its last beats");
}

inline void t6_wide(probe &p) {
    probe::request r{tlm::TLM_READ_COMMAND, p.first(), bytes(8), {}, 64u};
    require(p.send(r) == tlm::TLM_OK_RESPONSE, "a streaming width above the length fails");
    require(r.data == p.read(p.first(), 8), "a streaming width above the length changes the bytes read");
}

inline void t6_zero(probe &p) {
    probe::request r{tlm::TLM_READ_COMMAND, p.first(), bytes(8), {}, 0u};
    require(is_error(p.send(r)), "a streaming width of 0 does not return an error");
}

inline void t7(probe &p) {
    probe::request r{tlm::TLM_READ_COMMAND, p.first(), bytes(8), 0u, 4u};
    require(is_error(p.send(r)), "a length of 0 does not return an error");
}

// --- the initiator's property
// -----------------------------------------------------------------------------------------

inline void t8(probe &p) {
    for (const tlm::tlm_command command : {tlm::TLM_READ_COMMAND, tlm::TLM_WRITE_COMMAND}) {
        if (command == tlm::TLM_WRITE_COMMAND && !p.target->writable) continue;
        probe::request r{command, p.first() + 4, probe::pattern(4), {}, {}, bytes{255, 0, 255}};
        const bytes enables = *r.enables;
        for (const bool with : {false, true}) {
            if (!with)
                r.enables.reset();
            else
                r.enables = enables;
            tlm::tlm_generic_payload &payload = p.make(r);
            p.transport(payload);
            const bool kept = payload.get_address() == r.address && payload.get_command() == command;
            p.from.give_back(payload);
            require(kept, "the target changed the address or command of the payload");
            require(!with || *r.enables == enables, "the target changed the byte enables");
            require(command == tlm::TLM_READ_COMMAND || r.data == probe::pattern(4),
                    "the target changed the data of a write");
        }
    }
}

inline void t9_delay(probe &p) {
    sc_core::wait(sc_core::sc_time(5, sc_core::SC_US));
    const sc_core::sc_time begin = sc_core::sc_time_stamp(), delay(3, sc_core::SC_US);
    probe::request r{tlm::TLM_READ_COMMAND, p.first(), bytes(8), {}, {}, {}, delay};
    p.send(r);
    require(sc_core::sc_time_stamp() >= begin + delay, "the access ends before its annotated time");
    require(sc_core::sc_time_stamp() < begin + delay * 2, "the delay grew by much more than the access costs");
}

inline void t9_together(probe &p) {
    if (!p.target->writable) throw not_applicable{"the target is read only"};
    bool others[3] = {};
    std::exception_ptr trouble;
    for (unsigned i = 0; i < 3; i++)
        sc_core::sc_spawn([&, i] {
            try {
                for (unsigned round = 0; round < 20; round++) {
                    const std::uint64_t at = p.first() + 64 * i;
                    p.write(at, probe::pattern(round * 3 + i));
                    require(p.read(at, 32) == probe::pattern(round * 3 + i), "calls of several threads interfere");
                }
            } catch (...) {
                trouble = std::current_exception();
            }
            others[i] = true;
        });
    for (int i = 0; i < 1000 && !(others[0] && others[1] && others[2]); i++)
        sc_core::wait(sc_core::sc_time(1, sc_core::SC_US));
    if (trouble) std::rethrow_exception(trouble);
    require(others[0] && others[1] && others[2], "calls of several threads do not return");
}

inline void t10(probe &p) {
    unknown_extension extension;
    bytes data(8);
    probe::request r{tlm::TLM_READ_COMMAND, p.first(), data};
    tlm::tlm_generic_payload &payload = p.make(r);
    payload.set_extension(&extension);
    const std::vector<const void *> before = extensions(payload);
    p.transport(payload);
    sc_core::wait(sc_core::sc_time(1, sc_core::SC_US));
    const bool ok = payload.is_response_ok(), same = extensions(payload) == before;
    payload.clear_extension(&extension);
    p.from.give_back(payload);
    require(ok, "an access with an unknown extension fails");
    require(same, "the target changed the extensions");
}

inline void t11(probe &p) {
    probe::request r{tlm::TLM_READ_COMMAND, p.first(), bytes(8)};
    tlm::tlm_generic_payload &payload = p.make(r);
    p.transport(payload);
    const bool hint = payload.is_dmi_allowed();
    p.from.give_back(payload);
    tlm::tlm_dmi data;
    require(!hint || p.dmi(tlm::TLM_READ_COMMAND, p.first(), data), "the DMI hint is set, but DMI is declined");
}

inline void t12(probe &p) {
    for (unsigned i = 0; i < 4; i++) {
        bytes data = probe::pattern(i);
        for (const tlm::tlm_command command : {tlm::TLM_WRITE_COMMAND, tlm::TLM_READ_COMMAND}) {
            if (command == tlm::TLM_WRITE_COMMAND && !p.target->writable) continue;
            bytes buffer = command == tlm::TLM_WRITE_COMMAND ? data : bytes(32, 0xa5);
            tlm::tlm_generic_payload payload; // without a manager: destroyed after the call
            payload.set_command(command);
            payload.set_address(p.first() + 7);
            payload.set_data_ptr(buffer.data());
            payload.set_data_length(32);
            payload.set_streaming_width(32);
            sc_core::sc_time delay;
            p.from.out->b_transport(payload, delay);
            sc_core::wait(delay);
            require(payload.is_response_ok(), "an access without a memory manager fails");
            require(command == tlm::TLM_WRITE_COMMAND || !p.target->writable || buffer == data,
                    "an access without a memory manager returns wrong bytes");
        }
    }
}

} // namespace tlmalloc::testing::conformance

#endif
