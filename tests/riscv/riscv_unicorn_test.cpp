// The hart beside Unicorn: random programs end with the same registers, memory, place and number of instructions, and
// the firmware takes as many for every request.
#include "oracle.hpp"
#include "random_program.hpp"
#include "start_firmware.hpp"

#include "tlmalloc/arena/arena.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

enum : std::uint64_t { memory_base = 0x80000000, memory_bytes = 0x10000, data_at = memory_base + 0xc000 };

// Small numbers, ends of ranges, and anything.
std::uint64_t some_value(seeded_random &random) {
    const std::uint64_t any = random.between(0, UINT64_MAX - 1);
    switch (random.between(0, 5)) {
    case 0:
        return random.between(0, 3);
    case 1:
        return 0 - random.between(0, 3);
    case 2:
        return std::uint64_t{1} << random.between(0, 63);
    case 3:
        return (std::uint64_t{1} << random.between(0, 63)) - 1;
    case 4:
        return any & 0xffffffff;
    default:
        return any;
    }
}

struct hart {
    hart() {
        tla_riscv_config config{};
        config.memory_base = memory_base;
        config.memory_bytes = memory_bytes;
        tla_riscv_timing_defaults(&config.timing);
        BOOST_REQUIRE_EQUAL(tla_riscv_create(&config, &it), TLA_OK);
    }
    ~hart() { tla_riscv_destroy(it); }
    hart(const hart &) = delete;
    hart &operator=(const hart &) = delete;

    tla_riscv_hart *it = nullptr;
};

// Where an image waits for its first request.
std::uint64_t first_wait(const tla_firmware &firmware) {
    const hart h;
    BOOST_REQUIRE_EQUAL(tla_riscv_write(h.it, TLA_FIRMWARE_BASE, firmware.bytes, firmware.nbytes), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_riscv_run(h.it, 1000), TLA_RISCV_WAITS);
    return tla_riscv_pc(h.it);
}

// Random requests to an image, and a range of which most is taken: after each the same answer at the same place, in as
// many instructions. `size` says what is taken next.
template <typename Size>
void check_beside_unicorn(const tla_firmware &firmware, std::uint64_t capacity, std::uint64_t nodes, const Size &size) {
    enum { requests = 20000 };
    seeded_random random(1);
    const started_firmware engine = start_firmware(firmware, capacity, nodes);
    const tla_riscv_hart *const hart = tla_firmware_engine_hart(engine.get());
    const std::uint64_t waits_at = first_wait(firmware);

    std::ostringstream commands;
    commands << "memory " << TLA_FIRMWARE_BASE << " " << TLA_FIRMWARE_MEMORY_BYTES << "\nmemory " << TLA_MAILBOX_BASE
             << " 4096\nwrite " << TLA_FIRMWARE_BASE << " " << hex_of(firmware.bytes, firmware.nbytes) << "\nset 32 "
             << TLA_FIRMWARE_BASE << "\nrun\n";
    const auto command = [&commands](std::uint64_t pc, const std::vector<std::uint64_t> &request) {
        commands << "write " << TLA_MAILBOX_BASE << " " << hex_of(request.data(), 24) << "\nset 32 " << pc + 4
                 << "\nrun\nshow " << TLA_MAILBOX_BASE + TLA_MAILBOX_ANSWER_OFFSET << " 2\n";
    };
    command(waits_at, {TLA_MAILBOX_BEGIN, nodes, capacity}); // where it first waits: checked below
    std::vector<std::vector<std::uint64_t>> expected;
    std::vector<tla_block> live;
    unsigned failures = 0;
    for (int i = 0; i < requests; i++) {
        std::vector<std::uint64_t> request{TLA_MAILBOX_TAKE, 0, size(random)};
        const std::size_t which = live.empty() ? 0 : random.between(0, live.size() - 1);
        if (!live.empty() && random.one_in(2))
            request = {TLA_MAILBOX_GIVE_BACK, live[which].offset, live[which].nbytes};
        const std::uint64_t before = tla_riscv_instructions(hart);
        command(tla_riscv_pc(hart), request);
        const tla_firmware_answer answer =
            ask_firmware(engine.get(), static_cast<tla_mailbox_operation>(request[0]), request[1], request[2]);
        // Beside those of Unicorn the WFI that the interrupt ended.
        expected.push_back({tla_riscv_instructions(hart) - before - 1, tla_riscv_pc(hart)});
        expected.push_back({answer.offset, answer.status});
        failures += answer.status != TLA_MAILBOX_DONE;
        if (answer.status) continue;
        if (request[0] == TLA_MAILBOX_TAKE) {
            live.push_back({answer.offset, request[2]});
        } else {
            live[which] = live.back();
            live.pop_back();
        }
    }
    const auto answers = ask_oracle(commands.str());
    BOOST_REQUIRE_EQUAL(answers.size(), expected.size() + 3);
    BOOST_CHECK_EQUAL(answers[0][1], waits_at);
    std::size_t differences = 0;
    for (std::size_t i = 0; i < expected.size(); i++)
        differences += answers[i + 3] != expected[i];
    BOOST_CHECK_EQUAL(differences, 0u);
    BOOST_TEST_MESSAGE(failures << " of " << requests << " requests fail");
}

} // namespace

BOOST_AUTO_TEST_CASE(random_programs_end_as_on_unicorn) {
    enum { programs = 300, length = 400 };
    seeded_random random(1);
    std::ostringstream commands;
    std::vector<std::vector<std::uint64_t>> expected;
    std::uint64_t instructions = 0;
    for (int n = 0; n < programs; n++) {
        const random_program program(random, length);
        std::vector<std::uint64_t> data(0x4000 / 8);
        for (std::uint64_t &word : data)
            word = some_value(random);
        const std::size_t code = program.halves().size() * 2;
        hart h;
        BOOST_REQUIRE_EQUAL(tla_riscv_write(h.it, memory_base, program.halves().data(), code), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_riscv_write(h.it, data_at, data.data(), data.size() * 8), TLA_OK);
        commands << "memory " << memory_base << " " << memory_bytes << "\nwrite " << memory_base << " "
                 << hex_of(program.halves().data(), code) << "\nwrite " << data_at << " "
                 << hex_of(data.data(), data.size() * 8) << "\nset 32 " << memory_base << "\n";
        for (unsigned r = 1; r < 32; r++) {
            std::uint64_t value = some_value(random);
            if (r == random_program::sp) value = data_at + 0x1000 + 16 * random.between(0, 99);
            if (r == random_program::s0) value = data_at + 0x2000 + random.between(0, 99); // odd ones too
            tla_riscv_set_register(h.it, r, value);
            commands << "set " << r << " " << value << "\n";
        }
        commands << "run\nregisters\nsum\nclear\n";

        const tla_riscv_stop stop = tla_riscv_run(h.it, 10 * length);
        const tla_riscv_fault fault = tla_riscv_last_fault(h.it);
        BOOST_REQUIRE_MESSAGE(stop == TLA_RISCV_WAITS, "program " << n << ": " << tla_status_name(fault.status)
                                                                  << " at " << std::hex << fault.pc << ": "
                                                                  << fault.instruction);
        expected.push_back({tla_riscv_instructions(h.it), tla_riscv_pc(h.it)});
        instructions += tla_riscv_instructions(h.it);
        expected.emplace_back();
        for (unsigned r = 1; r < 32; r++)
            expected.back().push_back(tla_riscv_register(h.it, r));
        std::vector<unsigned char> memory(memory_bytes);
        BOOST_REQUIRE_EQUAL(tla_riscv_read(h.it, memory_base, memory.data(), memory.size()), TLA_OK);
        expected.push_back({hash_of(memory)});
    }
    const auto answers = ask_oracle(commands.str());
    BOOST_REQUIRE_EQUAL(answers.size(), expected.size());
    for (std::size_t i = 0; i < answers.size(); i++)
        BOOST_TEST_CONTEXT("program " << i / 3
                                      << (i % 3 == 0   ? ": count, pc"
                                          : i % 3 == 1 ? ": registers"
                                                       : ": memory"))
    BOOST_CHECK_EQUAL_COLLECTIONS(expected[i].begin(), expected[i].end(), answers[i].begin(), answers[i].end());
    BOOST_TEST_MESSAGE(instructions << " instructions of " << programs << " programs");
    BOOST_CHECK_GT(instructions, 10000u);
}

BOOST_AUTO_TEST_CASE(the_list_takes_the_instructions_that_it_takes_on_unicorn) {
    check_beside_unicorn(tla_firmware_first_fit, 1 << 16, 1024,
                         [](seeded_random &random) { return random.between(1, 3000); });
}

BOOST_AUTO_TEST_CASE(offset_bins_take_the_instructions_that_they_take_on_unicorn) {
    check_beside_unicorn(tla_firmware_offset_bins, 1 << 16, 1024,
                         [](seeded_random &random) { return random.between(1, 3000); });
}

BOOST_AUTO_TEST_CASE(buddies_take_the_instructions_that_they_take_on_unicorn) {
    check_beside_unicorn(tla_firmware_buddy, 8191, 8192, // of every order one block, at first
                         [](seeded_random &random) { return std::uint64_t{1} << random.between(0, 10); });
}
