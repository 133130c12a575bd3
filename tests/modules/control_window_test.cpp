// control_window: descriptors in bursts and words, completions, the state register, and what it refuses.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "test_initiator.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/control_window.hpp"

using namespace tlmalloc;
using namespace test_initiator;

namespace {

// A target whose commands take the time that the test says. Commands of `held` ports are completed by hand.
class device : public sc_core::sc_module, private command_handler {
  public:
    control_window window;
    std::vector<tla_command> commands;
    std::vector<std::uint64_t> arrivals;
    std::uint64_t accept_ps = 0, service_ps = 0;
    bool held = false;

    explicit device(sc_core::sc_module_name name)
        : sc_module(name), window("control", "device", TLA_TARGET_MEMORY_CONTROLLER, 4, *this) {}

  private:
    std::uint64_t execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) override {
        commands.push_back(command);
        arrivals.push_back(arrival_ps);
        if (!held) {
            tla_completion completion = control_window::answer_to(command);
            completion.value = command.nbytes + 1;
            window.complete(port, completion, arrival_ps + service_ps);
        }
        return arrival_ps + accept_ps;
    }
};

struct bench {
    bench() { cpu.out.bind(target.window); }
    void run(std::function<void()> body) {
        cpu.body = std::move(body);
        simulate({&cpu});
    }
    device target{"target"};
    initiator cpu{"cpu"};
};

tla_command tagged(std::uint32_t tag) {
    tla_command command = alloc_command(TLA_TCM, 100 + tag);
    command.request_id = tag;
    return command;
}

bytes descriptor(const tla_command &command) {
    bytes data(TLA_COMMAND_MAX_BYTES);
    std::size_t length = 0;
    BOOST_CHECK_EQUAL(tla_command_encode(&command, data.data(), data.size(), &length), TLA_OK);
    data.resize(length);
    return data;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_burst_submits_its_command_and_the_completion_is_read_back) {
    bench b;
    b.target.accept_ps = 10;
    b.target.service_ps = 5000;
    b.run([&] {
        sc_core::sc_time delay;
        set_local_ps(delay, 700);
        BOOST_CHECK_EQUAL(b.cpu.post(0, tagged(7), delay), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(local_ps(delay), 710u); // posted: it ends when the command is accepted
        const tla_completion answer = b.cpu.completion(0, delay);
        BOOST_CHECK_EQUAL(local_ps(delay), 5700u); // the read ends when the command is done
        BOOST_CHECK_EQUAL(answer.request_id, 7u);
        BOOST_CHECK_EQUAL(answer.value, 108u);
        b.cpu.completion(0, delay); // again: it is there
        BOOST_CHECK_EQUAL(local_ps(delay), 5700u);
    });
    BOOST_REQUIRE_EQUAL(b.target.commands.size(), 1u);
    BOOST_CHECK_EQUAL(b.target.commands[0].nbytes, 107u);
    BOOST_CHECK_EQUAL(b.target.arrivals[0], 700u);
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(four_byte_stores_in_ascending_order_do_the_same_as_one_burst) {
    bench b;
    b.run([&] {
        const bytes burst = descriptor(tagged(9));
        sc_core::sc_time delay;
        for (std::size_t at = 0; at < burst.size(); at += 4) {
            BOOST_CHECK_EQUAL(b.target.commands.size(), 0u);
            BOOST_CHECK_EQUAL(b.cpu.state(0, delay), at ? unsigned{TLA_PORT_STAGING} : unsigned{TLA_PORT_IDLE});
            const auto word = burst.begin() + static_cast<std::ptrdiff_t>(at);
            BOOST_CHECK_EQUAL(b.cpu.write(at, bytes(word, word + 4), delay), tlm::TLM_OK_RESPONSE);
        }
        BOOST_CHECK_EQUAL(b.cpu.completion(0, delay).request_id, 9u);
    });
    BOOST_REQUIRE_EQUAL(b.target.commands.size(), 1u);
    BOOST_CHECK_EQUAL(b.target.commands[0].nbytes, 109u);
}

BOOST_AUTO_TEST_CASE(the_state_register_can_be_polled_without_waiting) {
    bench b;
    b.target.service_ps = 1000;
    b.run([&] {
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.cpu.state(0, delay), unsigned{TLA_PORT_IDLE});
        b.cpu.post(0, tagged(1), delay);
        for (std::uint64_t at : {0u, 400u, 999u, 1000u, 1001u}) {
            set_local_ps(delay, at);
            BOOST_CHECK_EQUAL(b.cpu.state(0, delay), unsigned{at < 1000 ? TLA_PORT_RUNNING : TLA_PORT_DONE});
            BOOST_CHECK_EQUAL(local_ps(delay), at); // polling takes no time
        }
    });
}

BOOST_AUTO_TEST_CASE(a_read_of_the_completion_blocks_until_the_target_has_finished) {
    bench b;
    b.target.held = true;
    initiator finisher("finisher");
    device other("other"); // what the second initiator is bound to; it does nothing there
    finisher.out.bind(other.window);
    finisher.body = [&] {
        sc_core::wait(20, sc_core::SC_NS);
        tla_completion completion{};
        completion.request_id = 3;
        b.target.window.complete(0, completion, 25'000); // known at 20 ns, done at 25 ns
    };
    b.cpu.body = [&] {
        sc_core::sc_time delay;
        b.cpu.post(0, tagged(3), delay);
        BOOST_CHECK_EQUAL(b.cpu.state(0, delay), unsigned{TLA_PORT_RUNNING});
        BOOST_CHECK_EQUAL(b.cpu.completion(0, delay).request_id, 3u);
        BOOST_CHECK_EQUAL(local_ps(delay), 25'000u);
    };
    simulate({&b.cpu, &finisher});
}

BOOST_AUTO_TEST_CASE(a_command_to_a_busy_port_is_rejected_and_other_ports_are_free) {
    bench b;
    b.target.service_ps = 1000;
    b.run([&] {
        sc_core::sc_time delay;
        b.cpu.post(0, tagged(1), delay);
        BOOST_CHECK_EQUAL(b.cpu.post(0, tagged(2), delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.cpu.post(TLA_PORT_BYTES, tagged(3), delay), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(b.cpu.completion(0, delay).request_id, 1u);         // the first is not disturbed
        BOOST_CHECK_EQUAL(b.cpu.command(0, tagged(4), delay).request_id, 4u); // and now the port is free
    });
    BOOST_CHECK_EQUAL(b.target.commands.size(), 3u);
    BOOST_CHECK_EQUAL(b.target.window.rejected(), 1u);
    BOOST_REQUIRE_EQUAL(reports().size(), 1u);
    BOOST_CHECK_EQUAL(reports()[0],
                      "/tlmalloc/device/control: port 0: write of a command while the previous one is still executing");
}

BOOST_AUTO_TEST_CASE(a_misdirected_descriptor_is_rejected_and_leaves_its_completion) {
    bench b;
    b.run([&] {
        tla_command command = tagged(5);
        command.target = TLA_TARGET_PE_MMU;
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.cpu.post(TLA_PORT_BYTES, command, delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        const tla_completion answer = b.cpu.completion(TLA_PORT_BYTES, delay);
        BOOST_CHECK_EQUAL(answer.status, TLA_MISDIRECTED);
        BOOST_CHECK_EQUAL(answer.request_id, 5u);
        BOOST_CHECK_EQUAL(answer.opcode, TLA_OP_ALLOC);
    });
    BOOST_CHECK(b.target.commands.empty());
    BOOST_REQUIRE_EQUAL(reports().size(), 1u);
    BOOST_CHECK_EQUAL(
        reports()[0],
        "/tlmalloc/device/control: port 1: descriptor for target 2, but this is target 1 (correlation 0, request 5)");
}

BOOST_AUTO_TEST_CASE(a_damaged_descriptor_is_rejected_and_the_next_descriptor_is_accepted) {
    bench b;
    b.run([&] {
        sc_core::sc_time delay;
        bytes magic = descriptor(tagged(1)), channel = magic, opcode = magic, gap = magic;
        magic[0] ^= 1;
        BOOST_CHECK_EQUAL(b.cpu.write(0, magic, delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        channel[16] = 9;
        BOOST_CHECK_EQUAL(b.cpu.write(0, channel, delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.cpu.completion(0, delay).status, TLA_BAD_COMMAND);
        opcode[4] = 99;
        BOOST_CHECK_EQUAL(b.cpu.write(0, opcode, delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.cpu.completion(0, delay).request_id, 1u); // so that the sender knows which
        gap.resize(16);
        BOOST_CHECK_EQUAL(b.cpu.write(0, gap, delay), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(b.cpu.write(20, bytes(4), delay), tlm::TLM_GENERIC_ERROR_RESPONSE); // 16 .. 19 left out
        BOOST_CHECK_EQUAL(b.cpu.command(0, tagged(2), delay).request_id, 2u);
    });
    BOOST_CHECK_EQUAL(b.target.commands.size(), 1u);
    BOOST_CHECK_EQUAL(b.target.window.rejected(), 4u);
    BOOST_REQUIRE_EQUAL(reports().size(), 4u);
    BOOST_CHECK_EQUAL(reports()[0], "/tlmalloc/device/control: descriptor begins with 55 4c 41 43 or claims 0 bytes: "
                                    "must begin with \"TLAC\" and its length");
    BOOST_CHECK_EQUAL(reports()[1], "/tlmalloc/device/control: ALLOC from channel 9: must be 0 (HBM), 1 (TCM), 2 "
                                    "(SRAM), 3 (M_CPU memory) or 4 (host memory) (correlation 0, request 1)");
    BOOST_CHECK(reports()[2].rfind("/tlmalloc/device/control: descriptor with opcode 99: must be 1 to ", 0) == 0);
    BOOST_CHECK_EQUAL(reports()[3],
                      "/tlmalloc/device/control: write at 0x14 of a control port: must be at 0x10 or at 0x0");
}

BOOST_AUTO_TEST_CASE(accesses_with_an_invalid_command_offset_or_length_are_rejected) {
    bench b;
    b.run([&] {
        sc_core::sc_time delay;
        const auto status = [&](tlm::tlm_command command, std::uint64_t address, std::size_t length) {
            bytes data(length);
            return b.cpu.access(command, address, data, delay);
        };
        BOOST_CHECK_EQUAL(status(tlm::TLM_READ_COMMAND, 0, 4), tlm::TLM_ADDRESS_ERROR_RESPONSE); // write only
        BOOST_CHECK_EQUAL(status(tlm::TLM_WRITE_COMMAND, TLA_PORT_COMPLETION, 4), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(status(tlm::TLM_WRITE_COMMAND, TLA_PORT_STATE, 4), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(status(tlm::TLM_READ_COMMAND, TLA_PORT_BYTES - 4, 8), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(status(tlm::TLM_READ_COMMAND, 4 * TLA_PORT_BYTES + TLA_PORT_STATE, 4),
                          tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(status(tlm::TLM_READ_COMMAND, UINT64_MAX, 4), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(status(tlm::TLM_WRITE_COMMAND, 0, 0), tlm::TLM_BURST_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(status(tlm::TLM_IGNORE_COMMAND, 0, 4), tlm::TLM_OK_RESPONSE);
        bytes data(8), enables(1, 0xff);
        tlm::tlm_generic_payload payload;
        payload.set_write();
        payload.set_data_ptr(data.data());
        payload.set_data_length(8);
        payload.set_streaming_width(4);
        BOOST_CHECK_EQUAL(b.cpu.send(payload, delay), tlm::TLM_BURST_ERROR_RESPONSE);
        payload.set_streaming_width(8);
        payload.set_byte_enable_ptr(enables.data());
        payload.set_byte_enable_length(1);
        BOOST_CHECK_EQUAL(b.cpu.send(payload, delay), tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE);
        payload.set_byte_enable_ptr(nullptr);
        payload.set_data_ptr(nullptr);
        BOOST_CHECK_EQUAL(b.cpu.send(payload, delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(delay, sc_core::SC_ZERO_TIME);
    });
    BOOST_CHECK(b.target.commands.empty());
}

BOOST_AUTO_TEST_CASE(debug_reads_registers_and_never_writes_them) {
    bench b;
    b.run([&] {
        sc_core::sc_time delay;
        b.cpu.command(0, tagged(6), delay);
        bytes completion(TLA_COMPLETION_BYTES), command = descriptor(tagged(8)), past(4);
        BOOST_CHECK_EQUAL(b.cpu.debug(tlm::TLM_READ_COMMAND, TLA_PORT_COMPLETION, completion), completion.size());
        tla_completion decoded{};
        BOOST_CHECK_EQUAL(tla_completion_decode(completion.data(), &decoded), TLA_OK);
        BOOST_CHECK_EQUAL(decoded.request_id, 6u);
        BOOST_CHECK_EQUAL(b.cpu.debug(tlm::TLM_WRITE_COMMAND, 0, command), 0u);
        BOOST_CHECK_EQUAL(b.cpu.debug(tlm::TLM_READ_COMMAND, 4 * TLA_PORT_BYTES, past), 0u);
    });
    BOOST_CHECK_EQUAL(b.target.commands.size(), 1u);
    BOOST_CHECK_EQUAL(b.target.window.rejected(), 0u);
}

BOOST_AUTO_TEST_CASE(a_window_that_is_given_up_before_the_simulation_is_left_alone) {
    alignas(device) unsigned char place[sizeof(device)];
    (new (place) device("given_up"))->~device();
    std::memset(place, 0xff, sizeof place);
    bench b;
    b.run([&] {
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.cpu.post(0, tagged(0), delay), tlm::TLM_OK_RESPONSE);
    });
    BOOST_CHECK_EQUAL(b.target.commands.size(), 1u);
}

BOOST_AUTO_TEST_CASE(a_killed_call_keeps_its_callers_identity) {
    struct : requester {
        bool freed = false;
        void free() override { freed = true; }
    } who;
    bench b;
    b.target.held = true;
    b.cpu.body = [&] {
        sc_core::sc_time delay;
        tla_completion done{};
        send_command(b.cpu.out, 0, tagged(1), done, delay, &who);
    };
    sc_core::sc_spawn([&] {
        sc_core::wait(10, sc_core::SC_NS);
        const auto waiting = b.cpu.get_child_objects();
        for (sc_core::sc_object *const child : waiting)
            if (sc_core::sc_process_handle process{child}; process.valid()) process.kill();
    });
    sc_core::sc_start();
    BOOST_CHECK(!b.cpu.finished);
    BOOST_CHECK_EQUAL(b.target.commands.size(), 1u);
    BOOST_CHECK(!who.freed);
}
