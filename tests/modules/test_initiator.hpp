// An initiator for tests: drives sockets from a SystemC thread and holds every target to the rules of the generic
// payload (IEEE 1666 clause 14) with every transaction it makes.
#ifndef TLMALLOC_TESTS_MODULES_TEST_INITIATOR_HPP
#define TLMALLOC_TESTS_MODULES_TEST_INITIATOR_HPP

#include "tlmalloc/command/control_port.h"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <initializer_list>
#include <string>
#include <systemc>
#include <tlm>
#include <tlm_utils/simple_initiator_socket.h>
#include <vector>

namespace tlm { // so that Boost.Test can print them
inline std::ostream &operator<<(std::ostream &out, tlm_response_status status) {
    tlm_generic_payload payload;
    payload.set_response_status(status);
    return out << payload.get_response_string();
}
} // namespace tlm

namespace test_initiator {

using bytes = std::vector<std::uint8_t>;

// Warnings and errors that modules reported, in order, as "id: text". Errors also throw, as SystemC's default is.
inline std::vector<std::string> &reports() {
    static std::vector<std::string> list;
    return list;
}

inline void keep_report(const sc_core::sc_report &report, const sc_core::sc_actions &actions) {
    if (report.get_severity() >= sc_core::SC_WARNING)
        reports().push_back(std::string(report.get_msg_type()) + ": " + report.get_msg());
    if (actions & sc_core::SC_THROW) throw report;
}

// An extension that no module knows.
struct unknown_extension : tlm::tlm_extension<unknown_extension> {
    tlm::tlm_extension_base *clone() const override { return new unknown_extension; }
    void copy_from(const tlm::tlm_extension_base &) override {}
};

class initiator : public sc_core::sc_module {
  public:
    tlm_utils::simple_initiator_socket<initiator> out{"out"};
    std::function<void()> body; // runs as a thread from time 0
    bool finished = false;
    tlmalloc::requester *as = nullptr;                         // who is said to ask; nobody says without it
    std::vector<std::pair<std::uint64_t, std::uint64_t>> lost; // DMI that was withdrawn: first and last address

    explicit initiator(sc_core::sc_module_name name) : sc_module(name) {
        TLMALLOC_HAS_PROCESS(initiator);
        SC_THREAD(run);
        out.register_invalidate_direct_mem_ptr(this, &initiator::withdraw_dmi);
    }

    // One transaction. Whatever the answer: there is one, time has not gone back, and nothing but the response status,
    // the DMI hint and, for a read that went well, the data has changed.
    tlm::tlm_response_status send(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        unknown_extension extension;
        payload.set_extension(&extension);
        if (as) payload.set_extension(as);
        payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
        const auto before = payload.get_command();
        const std::uint64_t address = payload.get_address(), start_ps = tlmalloc::local_ps(delay);
        std::uint8_t *const data = payload.get_data_ptr(), *const enables = payload.get_byte_enable_ptr();
        const unsigned length = payload.get_data_length(), width = payload.get_streaming_width(),
                       enable_length = payload.get_byte_enable_length();
        const bytes data_before(data, data ? data + length : data);
        const bytes enables_before(enables, enables ? enables + enable_length : enables);
        out->b_transport(payload, delay);
        const tlm::tlm_response_status status = payload.get_response_status();
        BOOST_CHECK(status != tlm::TLM_INCOMPLETE_RESPONSE);
        BOOST_CHECK(payload.get_command() == before);
        BOOST_CHECK_EQUAL(payload.get_address(), address);
        BOOST_CHECK(payload.get_data_ptr() == data);
        BOOST_CHECK(payload.get_byte_enable_ptr() == enables);
        BOOST_CHECK_EQUAL(payload.get_data_length(), length);
        BOOST_CHECK_EQUAL(payload.get_streaming_width(), width);
        BOOST_CHECK_EQUAL(payload.get_byte_enable_length(), enable_length);
        BOOST_CHECK_GE(tlmalloc::local_ps(delay), start_ps);
        if (before != tlm::TLM_READ_COMMAND || status != tlm::TLM_OK_RESPONSE)
            BOOST_CHECK(std::equal(data_before.begin(), data_before.end(), data));
        BOOST_CHECK(std::equal(enables_before.begin(), enables_before.end(), enables));
        payload.clear_extension(&extension);
        if (as) payload.clear_extension(as);
        return status;
    }

    tlm::tlm_response_status access(tlm::tlm_command command, std::uint64_t address, bytes &data,
                                    sc_core::sc_time &delay) {
        tlm::tlm_generic_payload payload;
        payload.set_command(command);
        payload.set_address(address);
        payload.set_data_ptr(data.data());
        payload.set_data_length(static_cast<unsigned>(data.size()));
        payload.set_streaming_width(static_cast<unsigned>(data.size()));
        return send(payload, delay);
    }

    tlm::tlm_response_status write(std::uint64_t address, bytes data, sc_core::sc_time &delay) {
        return access(tlm::TLM_WRITE_COMMAND, address, data, delay);
    }

    tlm::tlm_response_status read(std::uint64_t address, bytes &data, sc_core::sc_time &delay) {
        return access(tlm::TLM_READ_COMMAND, address, data, delay);
    }

    // The same where the time does not matter, which has passed on return; an access that fails is an error of the
    // test.
    void write(std::uint64_t address, const bytes &data) {
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(write(address, data, delay), tlm::TLM_OK_RESPONSE);
        sc_core::wait(delay);
    }

    bytes read(std::uint64_t address, std::size_t length) {
        bytes data(length, 0xee);
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(read(address, data, delay), tlm::TLM_OK_RESPONSE);
        sc_core::wait(delay);
        return data;
    }

    // Debug access; it takes no time and does not touch the payload but for its data.
    unsigned debug(tlm::tlm_command command, std::uint64_t address, bytes &data) {
        tlm::tlm_generic_payload payload;
        payload.set_command(command);
        payload.set_address(address);
        payload.set_data_ptr(data.data());
        payload.set_data_length(static_cast<unsigned>(data.size()));
        const sc_core::sc_time now = sc_core::sc_time_stamp();
        const unsigned moved = out->transport_dbg(payload);
        BOOST_CHECK_LE(moved, data.size());
        BOOST_CHECK_EQUAL(payload.get_address(), address);
        BOOST_CHECK(payload.get_data_ptr() == data.data());
        BOOST_CHECK_EQUAL(payload.get_data_length(), data.size());
        BOOST_CHECK(sc_core::sc_time_stamp() == now);
        return moved;
    }

    // --- commands, at a control port whose address is `port` ---

    tlm::tlm_response_status post(std::uint64_t port, const tla_command &command, sc_core::sc_time &delay) {
        bytes descriptor(TLA_COMMAND_MAX_BYTES);
        std::size_t length = 0;
        BOOST_CHECK_EQUAL(tla_command_encode(&command, descriptor.data(), descriptor.size(), &length), TLA_OK);
        descriptor.resize(length);
        return write(port, descriptor, delay);
    }

    tla_completion completion(std::uint64_t port, sc_core::sc_time &delay) {
        bytes data(TLA_COMPLETION_BYTES);
        BOOST_CHECK_EQUAL(read(port + TLA_PORT_COMPLETION, data, delay), tlm::TLM_OK_RESPONSE);
        tla_completion decoded{};
        decoded.status = TLA_STATUS_COUNT; // stays when there is none
        tla_completion_decode(data.data(), &decoded);
        return decoded;
    }

    tla_completion command(std::uint64_t port, const tla_command &command, sc_core::sc_time &delay) {
        BOOST_CHECK_EQUAL(post(port, command, delay), tlm::TLM_OK_RESPONSE);
        return completion(port, delay);
    }

    tla_completion command(std::uint64_t port, const tla_command &what) {
        sc_core::sc_time delay;
        const tla_completion answer = command(port, what, delay);
        sc_core::wait(delay);
        return answer;
    }

    std::uint32_t state(std::uint64_t port, sc_core::sc_time &delay) {
        bytes data(4);
        BOOST_CHECK_EQUAL(read(port + TLA_PORT_STATE, data, delay), tlm::TLM_OK_RESPONSE);
        std::uint32_t value = 0;
        for (unsigned i = 0; i < 4; i++)
            value |= std::uint32_t{data[i]} << 8 * i; // little-endian on every host
        return value;
    }

    // Asks for a pointer to an address; the null pointer when it is refused.
    const std::uint8_t *pointer_to(std::uint64_t address) {
        tlm::tlm_generic_payload payload;
        tlm::tlm_dmi dmi;
        payload.set_read();
        payload.set_address(address);
        if (!out->get_direct_mem_ptr(payload, dmi)) return nullptr;
        return dmi.get_dmi_ptr() + (address - dmi.get_start_address());
    }

  private:
    void withdraw_dmi(sc_dt::uint64 first, sc_dt::uint64 last) { lost.emplace_back(first, last); }

    void run() {
        if (body) body();
        finished = true;
    }
};

// Runs the simulation until nothing is left to do; every initiator must have come to the end of its body.
inline void simulate(std::initializer_list<const initiator *> initiators) {
    sc_core::sc_report_handler::set_handler(keep_report);
    sc_core::sc_start();
    for (const initiator *i : initiators)
        BOOST_CHECK_MESSAGE(i->finished, i->name() << " did not finish");
}

// Whether `make` reports exactly this error (id and text) and so cannot build its module.
template <typename Make>
void check_refused(Make make, const std::string &report) {
    sc_core::sc_report_handler::set_handler(keep_report);
    reports().clear();
    BOOST_CHECK_THROW(make(), sc_core::sc_report);
    BOOST_REQUIRE_EQUAL(reports().size(), 1u);
    BOOST_CHECK_EQUAL(reports()[0], report);
}

inline tla_command alloc_command(tla_memory_kind kind, std::uint64_t nbytes) {
    tla_command command{};
    command.opcode = TLA_OP_ALLOC;
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    command.memory = kind;
    command.nbytes = nbytes;
    return command;
}

inline tla_command free_command(std::uint64_t pa, std::uint64_t nbytes) {
    tla_command command{};
    command.opcode = TLA_OP_FREE;
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    command.pa = {pa};
    command.nbytes = nbytes;
    return command;
}

struct mapping {
    std::uint64_t va, pa, nbytes;
    std::uint32_t flags = TLA_READ | TLA_WRITE;
};

inline tla_command map_command(tla_target target, tla_opcode opcode, std::initializer_list<mapping> entries,
                               tla_scope scope = {~0u, ~0u, ~0u}) {
    tla_command command{};
    command.opcode = opcode;
    command.target = target;
    command.scope = scope;
    for (const mapping &m : entries)
        command.entries[command.count++] = {{m.va}, {m.pa}, m.nbytes, m.flags, 0};
    return command;
}

// Bytes that tell their place: the same for the same seed.
inline bytes pattern(std::size_t length, unsigned seed = 1) {
    bytes data(length);
    std::uint32_t state = seed * 2654435761u + 1;
    for (std::uint8_t &b : data) {
        state = state * 1664525u + 1013904223u;
        b = static_cast<std::uint8_t>(state >> 24);
    }
    return data;
}

} // namespace test_initiator

#endif
