// A memory of a controller in two parts: the register L1 of its control ports, and what reports say of the parts.
#include "../unit/seeded_random.hpp"
#include "apart.hpp"
#include "object_commands.hpp"

using namespace object_commands;

namespace {

constexpr std::uint64_t eighth = slice_bytes / 8;

// L1 has two eighths of the slice, and staging needs one.
memory_controller::config divided() {
    memory_controller::config config = priced();
    config.partition = {TLA_DIVIDED_HBM, 250, eighth, 0, 1};
    return config;
}

bytes word(std::uint64_t value) {
    bytes data(8);
    for (unsigned i = 0; i < 8; i++)
        data[i] = static_cast<std::uint8_t>(value >> 8 * i);
    return data;
}

struct register_bench : bench {
    using bench::bench;

    std::uint64_t l1(unsigned port = 0) {
        const bytes read = cpu.read(port * TLA_PORT_BYTES + TLA_PORT_L1, 8);
        std::uint64_t value = 0;
        for (unsigned i = 0; i < 8; i++)
            value |= std::uint64_t{read[i]} << 8 * i;
        return value;
    }
    tlm::tlm_response_status write(std::uint64_t value, std::uint64_t at = TLA_PORT_L1) {
        sc_core::sc_time delay;
        return cpu.write(at, word(value), delay);
    }
    tla_status alloc(std::uint64_t nbytes, tla_opcode opcode = TLA_OP_ALLOC) {
        tla_command command = alloc_command(TLA_HBM, nbytes);
        command.opcode = opcode;
        return cpu.command(0, command).status;
    }
};

const std::string warning = "/tlmalloc/memory_controller/control: port 0: ";

} // namespace

BOOST_AUTO_TEST_CASE(every_port_reads_and_writes_the_register_of_l1) {
    register_bench b(divided());
    b.run([&] {
        BOOST_CHECK_EQUAL(b.l1(), 2 * eighth);
        BOOST_CHECK_EQUAL(b.write(3 * eighth), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(b.l1(), 3 * eighth);
        BOOST_CHECK_EQUAL(b.l1(5), 3 * eighth);
        bytes some(12); // state, the register but for its last byte, and one byte between them
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.cpu.read(TLA_PORT_STATE + 3, some, delay), tlm::TLM_OK_RESPONSE);
        BOOST_CHECK_EQUAL(some[5 + 2], 0x06); // 0x060000
        BOOST_CHECK_EQUAL(b.cpu.debug(tlm::TLM_READ_COMMAND, TLA_PORT_L1 + 2, some), 12u);
        BOOST_CHECK_EQUAL(some[0], 0x06);
        BOOST_CHECK_EQUAL(b.alloc(6 * eighth), TLA_EXHAUSTED);
        BOOST_CHECK_EQUAL(b.alloc(5 * eighth), TLA_OK);
        BOOST_CHECK_EQUAL(b.alloc(3 * eighth, TLA_OP_EVICT), TLA_OK);
        BOOST_CHECK_EQUAL(b.alloc(1, TLA_OP_EVICT), TLA_EXHAUSTED);
    });
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "l1_bytes"), 3 * eighth);
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "l1_used_bytes"), 3 * eighth);
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "peak_l1_used_bytes"), 3 * eighth);
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "part_shortages"), 2u);
}

BOOST_AUTO_TEST_CASE(a_write_of_l1_that_is_refused_leaves_it_and_says_why) {
    register_bench b(divided());
    b.run([&] {
        reports().clear();
        BOOST_CHECK_EQUAL(b.write(eighth - 1), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_REQUIRE_EQUAL(reports().size(), 1u);
        BOOST_CHECK_EQUAL(reports()[0], warning + "L1 of the HBM of 131071 bytes: staging needs at least 131072");
        BOOST_CHECK_EQUAL(b.alloc(6 * eighth), TLA_OK);
        BOOST_CHECK_EQUAL(b.write(3 * eighth), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_REQUIRE_EQUAL(reports().size(), 2u);
        BOOST_CHECK_EQUAL(reports()[1], warning + "L1 of the HBM of 393216 bytes: L2 has blocks of 786432 bytes, and "
                                                  "would have 655360");
        BOOST_CHECK_EQUAL(b.l1(), 2 * eighth);
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(b.cpu.write(TLA_PORT_L1, bytes(4), delay), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.write(eighth, TLA_PORT_L1 + 8), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.l1(), 2 * eighth);
        reports().clear();
    });
}

BOOST_AUTO_TEST_CASE(a_controller_without_two_parts_has_no_register_of_l1) {
    register_bench b(priced());
    b.run([&] {
        BOOST_CHECK_EQUAL(b.l1(), 0u);
        BOOST_CHECK_EQUAL(b.write(eighth), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.alloc(slice_bytes), TLA_OK);
        reports().clear();
    });
    BOOST_CHECK_EQUAL(statistic_of(b.controller, "l1_bytes"), UINT64_MAX);
}

BOOST_AUTO_TEST_CASE(a_reset_gives_l1_the_bytes_that_it_had_at_the_beginning) {
    register_bench b(divided());
    sc_core::sc_signal<bool> reset{"reset"};
    b.controller.reset_in.bind(reset);
    b.run([&] {
        BOOST_CHECK_EQUAL(b.write(eighth), tlm::TLM_OK_RESPONSE);
        reset.write(true);
        sc_core::wait(1, sc_core::SC_NS);
        BOOST_CHECK_EQUAL(b.write(3 * eighth), tlm::TLM_GENERIC_ERROR_RESPONSE);
        reset.write(false);
        sc_core::wait(1, sc_core::SC_NS);
        BOOST_CHECK_EQUAL(b.l1(), 2 * eighth);
    });
}

BOOST_AUTO_TEST_CASE(a_write_of_l1_makes_a_pass_due_as_a_command_does) {
    memory_controller::config config = divided();
    config.watermark = {1000, 1000, 1'000'000};
    register_bench b(config);
    b.run([&] {
        tla_command evict = alloc_command(TLA_HBM, eighth), put = group(TLA_OP_PUT);
        evict.opcode = TLA_OP_EVICT;
        const std::uint64_t pa = b.cpu.command(0, evict).value;
        put.key = 1, put.count = 1, put.blocks[0].pa = {pa};
        b.cpu.command(0, put);
        b.cpu.command(0, free_command(pa, eighth));
        sc_core::wait(3, sc_core::SC_US);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).passes, 0u);
        BOOST_CHECK_EQUAL(b.write(eighth), tlm::TLM_OK_RESPONSE);
        sc_core::wait(1, sc_core::SC_US);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).passes, 1u);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).objects.l1_used, 0u);
    });
}

namespace {

struct figures {
    std::uint64_t end_ps, hash, refused;
    char error[512];
};

// Random commands and borders of a sender that runs ahead of the clock for a quantum at most.
figures ahead_by(std::uint64_t quantum_ps) {
    const figures f = apart<figures>("a sender that runs ahead", [&](figures &result) {
        register_bench b(divided());
        b.run([&] {
            seeded_random random(6);
            sc_core::sc_time ahead;
            for (unsigned i = 0; i < 600; i++) {
                ahead += from_ps(random.between(0, 50'000));
                tla_command take = alloc_command(TLA_HBM, random.between(1, slice_bytes / 20));
                if (random.one_in(2)) take.opcode = TLA_OP_EVICT;
                const tla_completion made = b.cpu.command(0, take, ahead);
                result.hash = result.hash * 31 + made.value + static_cast<std::uint64_t>(made.status);
                if (made.status == TLA_OK && !random.one_in(9))
                    b.cpu.command(0, free_command(made.value, take.nbytes), ahead);
                if (random.one_in(4)) {
                    const auto answer = b.cpu.write(TLA_PORT_L1, word(random.between(0, slice_bytes)), ahead);
                    result.refused += answer != tlm::TLM_OK_RESPONSE;
                }
                result.hash = result.hash * 31 + tla_controller_counts(b.controller.get_statistics(TLA_HBM)).allocs +
                              b.controller.get_statistics(TLA_HBM).objects.l1;
                if (to_ps(ahead) < quantum_ps) continue;
                sc_core::wait(ahead);
                ahead = {};
            }
            sc_core::wait(ahead);
            result.end_ps = to_ps(sc_core::sc_time_stamp());
            reports().clear();
        });
    });
    BOOST_CHECK_MESSAGE(f.error[0] == 0, f.error);
    return f;
}

} // namespace

BOOST_AUTO_TEST_CASE(borders_are_the_same_for_every_quantum) {
    const figures without = ahead_by(0);
    BOOST_CHECK_GT(without.refused, 10u);
    BOOST_CHECK_LT(without.refused, 140u);
    for (const std::uint64_t quantum_ps : {1'000u, 777'000u, 1'000'000'000u}) {
        const figures with = ahead_by(quantum_ps);
        BOOST_CHECK_EQUAL(with.end_ps, without.end_ps);
        BOOST_CHECK_EQUAL(with.hash, without.hash);
        BOOST_CHECK_EQUAL(with.refused, without.refused);
    }
}
