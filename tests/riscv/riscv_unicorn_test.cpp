// The hart beside Unicorn: random programs end with the same registers, memory, place and number of instructions.
#include "oracle.hpp"
#include "random_program.hpp"

#include "tlmalloc/device/riscv_hart.h"

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
