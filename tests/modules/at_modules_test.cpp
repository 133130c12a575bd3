// Four phases through controller, fabric, MMU and control windows: LT's times, several initiators, commands that take
// long.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "bare.hpp"
#include "tlmalloc/command/control_port.h"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/interconnect.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/tcm.hpp"
#include "tlmalloc/modules/time.hpp"
#include "tlmalloc/testing/base_protocol_checker.hpp"
#include "tlmalloc/testing/initiator.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

using namespace tlmalloc;
using namespace tlmalloc::testing;
using sc_core::sc_time;

namespace {

constexpr std::uint64_t slice_bytes = 1 << 20, tcm_bytes = 1 << 16;

// initiator, checker -> fabric -> controller -> memories, and a second initiator; commands beside.
struct system_under_test : sc_core::sc_module {
    initiator first{"first"}, second{"second"}, commands{"commands"};
    base_protocol_checker first_checker{"first_checker"}, second_checker{"second_checker"},
        command_checker{"command_checker"};
    hbm_slice slice{"slice", slice_config()};
    tcm local{"tcm", tcm_config()};
    memory_controller controller{"controller", controller_config()};
    interconnect fabric;

    static hbm_slice::config slice_config() {
        hbm_slice::config c = bare<hbm_slice>();
        c.capacity = slice_bytes;
        c.latency_ps = 5'000;
        c.direction_switch_ps = 2'000;
        return c;
    }
    static tcm::config tcm_config() {
        tcm::config c = bare<tcm>();
        c.capacity = tcm_bytes;
        c.read_bandwidth = 32'000'000'000;
        return c;
    }
    static memory_controller::config controller_config() {
        memory_controller::config c = bare<memory_controller>();
        c.memory.of[TLA_HBM].bytes = slice_bytes;
        c.memory.of[TLA_TCM].bytes = tcm_bytes;
        c.memory.of[TLA_TCM].reserved = 0;
        c.latency_ps = 3'000;
        c.outstanding = 4096;
        c.cost.fixed_ps = 1'000'000;
        return c;
    }
    static std::uint64_t base(bool in_tcm) {
        tla_paddr pa{};
        if (in_tcm)
            tla_paddr_pe_tcm(0, 0, 0, 0, &pa);
        else
            tla_paddr_pe_hbm(0, 0, 0, 0, slice_bytes, &pa);
        return pa.value;
    }
    static interconnect::config fabric_config(tla_transport transport) {
        interconnect::config c = bare<interconnect>();
        c.transport = transport;
        c.nodes.resize(2);
        c.links = {{0, 1, 2'000, 128'000'000'000, 0}, {1, 0, 2'000, 128'000'000'000, 0}};
        c.sources = {0, 0};
        c.targets = {1, 1};
        c.windows = {{base(false), slice_bytes, 0, false}, {base(true), tcm_bytes, 1, false}};
        c.outstanding = 4096;
        return c;
    }

    system_under_test(sc_core::sc_module_name name, tla_transport transport)
        : sc_module(name), fabric("fabric", fabric_config(transport)) {
        first.out.bind(first_checker.in);
        first_checker.out.bind(fabric.in);
        second.out.bind(second_checker.in);
        second_checker.out.bind(fabric.in);
        fabric.out.bind(controller.in);
        fabric.out.bind(controller.in);
        controller.slice.bind(slice.in);
        controller.tcm.bind(local.in);
        commands.out.bind(command_checker.in);
        command_checker.out.bind(controller.control);
        for (initiator *i : {&first, &second, &commands})
            i->style = coding::approximately_timed;
    }
};

// A simulation of the system with a body for its thread, checked at the end.
struct bench : sc_core::sc_module {
    std::vector<std::unique_ptr<system_under_test>> systems;
    std::function<void()> body;
    bool finished = false;

    explicit bench(sc_core::sc_module_name name, unsigned count = 1, tla_transport transport = TLA_TRANSPORT_PER_FLIT)
        : sc_module(name) {
        for (unsigned i = 0; i < count; i++)
            systems.push_back(std::make_unique<system_under_test>(("system" + std::to_string(i)).c_str(), transport));
        TLMALLOC_HAS_PROCESS(bench);
        SC_THREAD(main);
    }

    void main() {
        body();
        finished = true;
    }

    void run(std::function<void()> what) {
        body = std::move(what);
        sc_core::sc_start();
        BOOST_TEST(finished);
        for (const auto &s : systems)
            for (const auto &[checker, from] : {std::pair{&s->first_checker, &s->first},
                                                {&s->second_checker, &s->second},
                                                {&s->command_checker, &s->commands}}) {
                BOOST_TEST(checker->report() == "");
                BOOST_TEST(checker->in_flight() == 0u);
                BOOST_TEST(from->in_use() == 0u);
            }
    }
};

std::vector<std::uint8_t> encoded(const tla_command &command) {
    std::vector<std::uint8_t> bytes(TLA_COMMAND_MAX_BYTES);
    std::size_t length = 0;
    BOOST_TEST(tla_command_encode(&command, bytes.data(), bytes.size(), &length) == TLA_OK);
    bytes.resize(length);
    return bytes;
}

std::vector<std::uint8_t> alloc(std::uint32_t tag) {
    tla_command command{};
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    command.opcode = TLA_OP_ALLOC;
    command.request_id = tag;
    command.nbytes = 4096;
    return encoded(command);
}

// Takes commands as a processing element does: they are done at a time that is not known when they arrive.
struct slow_module : sc_core::sc_module, private command_handler {
    control_window window{"control", "slow_module", TLA_TARGET_MEMORY_CONTROLLER, 4, *this};

    explicit slow_module(sc_core::sc_module_name name) : sc_module(name) {
        TLMALLOC_HAS_PROCESS(slow_module);
        SC_THREAD(main);
    }

  private:
    std::uint64_t execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) override {
        tags[port] = command.request_id;
        return arrival_ps;
    }

    void main() { // port 1 is done at 2 us, port 0 at 3 us
        for (const unsigned port : {1u, 0u}) {
            sc_core::wait(sc_time(port == 1 ? 2 : 1, sc_core::SC_US));
            tla_completion completion{};
            completion.request_id = tags[port];
            completion.opcode = TLA_OP_ALLOC;
            window.complete(port, completion, to_ps(sc_core::sc_time_stamp()));
        }
    }

    std::uint32_t tags[4] = {};
};

// Calls of one system, and accesses in four phases of the other. The stated tolerance is none: requests that are
// accepted at once, from one initiator whose responses end at once.
void check_chain(tla_transport transport) {
    bench b("bench", 2, transport);
    b.run([&] {
        const unsigned seed = 42;
        BOOST_TEST_MESSAGE("seed " << seed);
        std::mt19937_64 random(seed);
        struct item {
            tlm::tlm_command command;
            std::uint64_t address, gap_ps;
            std::vector<std::uint8_t> data;
        };
        std::vector<item> items;
        for (int i = 0; i < 2000; i++) {
            const bool in_tcm = random() % 2;
            const std::uint64_t length = 1 + random() % 600;
            items.push_back({random() % 2 ? tlm::TLM_READ_COMMAND : tlm::TLM_WRITE_COMMAND,
                             system_under_test::base(in_tcm) + random() % ((in_tcm ? tcm_bytes : slice_bytes) - length),
                             random() % 20'000,
                             std::vector<std::uint8_t>(length, static_cast<std::uint8_t>(random()))});
        }
        initiator &lt = b.systems[0]->first, &at = b.systems[1]->first;
        lt.style = coding::loosely_timed;
        std::vector<item> called = items;
        std::vector<std::uint64_t> expected(items.size());
        std::uint64_t at_ps = 0;
        for (std::size_t n = 0; n < items.size(); n++) { // each by a thread at once, ahead of the kernel
            at_ps += items[n].gap_ps;
            const auto call = [&, n, at_ps] {
                item &i = called[n];
                auto &payload = lt.make(i.command, i.address, i.data.data(), i.data.size());
                sc_time delay = from_ps(at_ps);
                lt.transport(payload, delay);
                expected[n] = local_ps(delay);
                lt.give_back(payload);
            };
            sc_core::sc_spawn(call, ("call" + std::to_string(10'000 + n)).c_str()); // names decide at one time
        }
        std::vector<tlm::tlm_generic_payload *> sent;
        for (item &i : items) {
            sc_core::wait(from_ps(i.gap_ps));
            sent.push_back(&at.make(i.command, i.address, i.data.data(), i.data.size()));
            at.begin(*sent.back());
        }
        std::vector<std::uint64_t> came;
        for (auto *payload : sent)
            came.push_back(to_ps(at.finish(*payload)));
        sc_core::wait(sc_time(1, sc_core::SC_US)); // for the last call
        for (std::size_t i = 0; i < sent.size(); i++) {
            BOOST_TEST(came[i] == expected[i]);
            BOOST_TEST((items[i].data == called[i].data));
            at.give_back(*sent[i]);
        }
    });
}

void check_slow_initiator(tla_transport transport) {
    bench b("bench", 1, transport);
    b.run([&] {
        system_under_test &s = *b.systems[0];
        s.first.ending = response_end::call;
        s.first.response_delay = sc_time(1, sc_core::SC_MS);
        std::uint8_t mine[64] = {}, yours[64] = {};
        auto &a = s.first.make(tlm::TLM_READ_COMMAND, system_under_test::base(false), mine, sizeof mine);
        auto &c = s.first.make(tlm::TLM_READ_COMMAND, system_under_test::base(false), mine, sizeof mine);
        auto &other = s.second.make(tlm::TLM_READ_COMMAND, system_under_test::base(false), yours, sizeof yours);
        s.first.begin(a);
        s.first.begin(c);
        s.second.begin(other);
        s.second.finish(other);
        BOOST_TEST(sc_core::sc_time_stamp() < sc_time(1, sc_core::SC_US));
        const sc_time first_response = s.first.finish(a);
        BOOST_TEST(s.first.finish(c) == first_response + s.first.response_delay);
        s.first.give_back(a);
        s.first.give_back(c);
        s.second.give_back(other);
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(the_chain_to_the_memories_answers_at_the_same_times) {
    check_chain(TLA_TRANSPORT_PER_FLIT);
}
BOOST_AUTO_TEST_CASE(the_chain_over_links_occupied_once_answers_at_the_same_times) {
    check_chain(TLA_TRANSPORT_ONCE);
}
BOOST_AUTO_TEST_CASE(an_initiator_that_is_slow_to_end_its_responses_holds_up_itself_only) {
    check_slow_initiator(TLA_TRANSPORT_PER_FLIT);
}
BOOST_AUTO_TEST_CASE(an_initiator_that_is_slow_over_links_occupied_once_holds_up_itself_only) {
    check_slow_initiator(TLA_TRANSPORT_ONCE);
}

BOOST_AUTO_TEST_CASE(the_response_to_a_read_of_a_completion_comes_when_the_command_is_done) {
    bench b("bench");
    b.run([&] {
        initiator &from = b.systems[0]->commands;
        std::vector<std::uint8_t> descriptor = alloc(7);
        std::uint8_t answer[TLA_COMPLETION_BYTES] = {};
        auto &write = from.make(tlm::TLM_WRITE_COMMAND, 0, descriptor.data(), descriptor.size());
        auto &read = from.make(tlm::TLM_READ_COMMAND, TLA_PORT_COMPLETION, answer, sizeof answer);
        from.begin(write);
        from.begin(read);
        BOOST_TEST(to_ps(from.finish(write)) == 0u);
        BOOST_TEST(to_ps(from.finish(read)) == 1'000'000u); // the price of a command
        tla_completion completion{};
        BOOST_TEST(tla_completion_decode(answer, &completion) == TLA_OK);
        BOOST_TEST(completion.request_id == 7u);
        BOOST_TEST(completion.value == system_under_test::base(false));
        from.give_back(write);
        from.give_back(read);
    });
}

BOOST_AUTO_TEST_CASE(a_poll_of_the_state_overtakes_a_read_that_waits_for_a_completion) {
    bench b("bench");
    b.run([&] {
        initiator &from = b.systems[0]->commands;
        std::vector<std::uint8_t> descriptor = alloc(1);
        std::uint8_t answer[TLA_COMPLETION_BYTES] = {};
        std::uint32_t state = 0;
        auto &write = from.make(tlm::TLM_WRITE_COMMAND, 0, descriptor.data(), descriptor.size());
        auto &read = from.make(tlm::TLM_READ_COMMAND, TLA_PORT_COMPLETION, answer, sizeof answer);
        auto &poll = from.make(tlm::TLM_READ_COMMAND, TLA_PORT_STATE, &state, sizeof state);
        for (auto *payload : {&write, &read, &poll})
            from.begin(*payload);
        BOOST_TEST(to_ps(from.finish(poll)) == 0u);
        BOOST_TEST(state == static_cast<std::uint32_t>(TLA_PORT_RUNNING));
        BOOST_TEST(to_ps(from.finish(read)) == 1'000'000u);
        from.finish(write);
        for (auto *payload : {&write, &read, &poll})
            from.give_back(*payload);
    });
}

BOOST_AUTO_TEST_CASE(reads_that_wait_in_a_control_window_hold_up_no_other) {
    bench b("bench");
    slow_module module("module");
    initiator from("from");
    base_protocol_checker checker("checker");
    from.out.bind(checker.in);
    checker.out.bind(module.window);
    from.style = coding::approximately_timed;
    b.run([&] {
        std::vector<std::uint8_t> descriptors[2] = {alloc(10), alloc(11)}, answers[2];
        std::vector<tlm::tlm_generic_payload *> writes, reads;
        for (unsigned port : {0u, 1u}) {
            answers[port].resize(TLA_COMPLETION_BYTES);
            auto &d = descriptors[port];
            writes.push_back(&from.make(tlm::TLM_WRITE_COMMAND, port * TLA_PORT_BYTES, d.data(), d.size()));
            from.begin(*writes.back());
            reads.push_back(&from.make(tlm::TLM_READ_COMMAND, port * TLA_PORT_BYTES + TLA_PORT_COMPLETION,
                                       answers[port].data(), answers[port].size()));
            from.begin(*reads.back());
        }
        for (auto *payload : writes)
            BOOST_TEST(to_ps(from.finish(*payload)) == 0u);
        BOOST_TEST(to_ps(from.finish(*reads[0])) == 3'000'000u);
        BOOST_TEST(to_ps(from.finish(*reads[1])) == 2'000'000u);
        for (unsigned port : {0u, 1u}) {
            tla_completion completion{};
            BOOST_TEST(tla_completion_decode(answers[port].data(), &completion) == TLA_OK);
            BOOST_TEST(completion.request_id == 10 + port);
            from.give_back(*writes[port]);
            from.give_back(*reads[port]);
        }
    });
    BOOST_TEST(checker.report() == "");
    BOOST_TEST(from.in_use() == 0u);
}
