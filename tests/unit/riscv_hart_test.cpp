// The hart by golden values: what the ISA manual says, and what the header says of windows, faults and counters.
#include "tlmalloc/riscv/riscv_hart.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace {

const std::uint64_t base = 0x80000000;

// A hart with 64 KiB and a window that remembers what was written, and answers what it is told to.
struct bench {
    bench() {
        tla_riscv_config config{};
        config.memory_base = base;
        config.memory_bytes = 0x10000;
        tla_riscv_timing_defaults(&config.timing);
        config.access = [](void *context, std::uint64_t address, void *data, unsigned nbytes, bool write) {
            return static_cast<bench *>(context)->access(address, data, nbytes, write);
        };
        config.context = this;
        BOOST_REQUIRE_EQUAL(tla_riscv_create(&config, &hart), TLA_OK);
    }
    ~bench() { tla_riscv_destroy(hart); }
    bench(const bench &) = delete;
    bench &operator=(const bench &) = delete;

    tla_status access(std::uint64_t address, void *data, unsigned nbytes, bool write) {
        std::uint64_t value = 0x8877665544332211;
        if (write) {
            value = 0;
            std::memcpy(&value, data, nbytes);
        } else {
            std::memcpy(data, &value, nbytes);
        }
        seen.push_back({address, nbytes, write, value, tla_riscv_instructions(hart), tla_riscv_cycles(hart)});
        return answer;
    }

    // Loads words at the base and goes there.
    void load(const std::vector<std::uint32_t> &words) {
        BOOST_REQUIRE_EQUAL(tla_riscv_write(hart, base, words.data(), words.size() * 4), TLA_OK);
        tla_riscv_reset(hart, base);
    }
    std::uint64_t x(unsigned number) const { return tla_riscv_register(hart, number); }
    void set(unsigned number, std::uint64_t value) { tla_riscv_set_register(hart, number, value); }

    struct call {
        std::uint64_t address;
        unsigned nbytes;
        bool write;
        std::uint64_t value, instructions, cycles;
    };
    std::vector<call> seen;
    tla_status answer = TLA_OK;
    tla_riscv_hart *hart = nullptr;
};

const std::uint32_t wfi = 0x10500073;

} // namespace

BOOST_AUTO_TEST_CASE(divisions_by_zero_and_overflows_are_those_of_the_manual) {
    bench b;
    struct row {
        std::uint64_t a, by, div, rem, divw, remuw, mulh, mulhsu, mulhu;
    };
    const std::uint64_t least = std::uint64_t{1} << 63, ones = UINT64_MAX;
    const std::vector<row> rows{
        {7, 0, ones, 7, ones, 7, 0, 0, 0},
        {least, ones, least, 0, 0, 0, 0, least, least - 1},
        {0x80000000, ones, 0 - std::uint64_t{0x80000000}, 0, 0xffffffff80000000, 0xffffffff80000000, ones, 0x7fffffff,
         0x7fffffff},
        {0 - std::uint64_t{7}, 2, 0 - std::uint64_t{3}, ones, 0 - std::uint64_t{3}, 1, ones, ones, 1}};
    for (const row &r : rows) {
        b.load({0x02c5c6b3 /* div a3, a1, a2 */, 0x02c5e733 /* rem a4 */, 0x02c5c7bb /* divw a5 */,
                0x02c5f83b /* remuw a6 */, 0x02c598b3 /* mulh a7 */, 0x02c5a933 /* mulhsu s2 */,
                0x02c5b9b3 /* mulhu s3 */, wfi});
        b.set(11, r.a);
        b.set(12, r.by);
        BOOST_CHECK_EQUAL(tla_riscv_run(b.hart, 100), TLA_RISCV_WAITS);
        const std::vector<std::uint64_t> got{b.x(13), b.x(14), b.x(15), b.x(16), b.x(17), b.x(18), b.x(19)},
            expected{r.div, r.rem, r.divw, r.remuw, r.mulh, r.mulhsu, r.mulhu};
        BOOST_TEST_CONTEXT(r.a << " and " << r.by)
        BOOST_CHECK_EQUAL_COLLECTIONS(got.begin(), got.end(), expected.begin(), expected.end());
        BOOST_CHECK_EQUAL(tla_riscv_instructions(b.hart), 7u);
        BOOST_CHECK_EQUAL(tla_riscv_cycles(b.hart), 7u + 4 * 36 + 3 * 2);
    }
}

BOOST_AUTO_TEST_CASE(a_loop_counts_its_instructions_and_their_cycles_and_can_be_run_in_pieces) {
    bench b;
    b.load({0x00000513 /* li a0, 0 */, 0x00a00593 /* li a1, 10 */, 0x00b50533 /* add a0, a0, a1 */,
            0xfff58593 /* addi a1, -1 */, 0xfe059ce3 /* bnez a1, -8 */, wfi});
    BOOST_CHECK_EQUAL(tla_riscv_run(b.hart, 4), TLA_RISCV_SPENT);
    BOOST_CHECK_EQUAL(tla_riscv_pc(b.hart), base + 16);
    BOOST_CHECK_EQUAL(tla_riscv_run(b.hart, 0), TLA_RISCV_SPENT);
    BOOST_CHECK_EQUAL(tla_riscv_instructions(b.hart), 4u);
    BOOST_CHECK_EQUAL(tla_riscv_run(b.hart, UINT64_MAX), TLA_RISCV_WAITS);
    BOOST_CHECK_EQUAL(b.x(10), 55u);
    BOOST_CHECK_EQUAL(tla_riscv_instructions(b.hart), 32u);
    BOOST_CHECK_EQUAL(tla_riscv_cycles(b.hart), 32u + 9 * 2);
    BOOST_CHECK_EQUAL(tla_riscv_pc(b.hart), base + 20);
}

BOOST_AUTO_TEST_CASE(code_that_is_overwritten_is_decoded_anew) {
    bench b;
    // The nop at 0x0c becomes what stands at 0x40: addi a0, a0, 77; once by the hart, once from outside.
    b.load({0x00000013, 0x0402a303 /* lw t1, 64(t0) */, 0x0062a623 /* sw t1, 12(t0) */, 0x00000013 /* nop */, wfi});
    const std::uint32_t add = 0x04d50513, add_one = 0x00150513;
    BOOST_REQUIRE_EQUAL(tla_riscv_write(b.hart, base + 0x40, &add, 4), TLA_OK);
    b.set(5, base + 0x80);
    BOOST_CHECK_EQUAL(tla_riscv_run(b.hart, 100), TLA_RISCV_WAITS); // decodes the nop; overwrites nothing of it
    tla_riscv_reset(b.hart, base);
    b.set(5, base);
    BOOST_CHECK_EQUAL(tla_riscv_run(b.hart, 100), TLA_RISCV_WAITS);
    BOOST_CHECK_EQUAL(b.x(10), 77u);
    // Its upper half alone, by which it becomes addi a0, a0, 1.
    BOOST_REQUIRE_EQUAL(tla_riscv_write(b.hart, base + 0x0e, reinterpret_cast<const char *>(&add_one) + 2, 2), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_riscv_write(b.hart, base + 0x40, &add_one, 4), TLA_OK);
    tla_riscv_reset(b.hart, base + 0x0c);
    BOOST_CHECK_EQUAL(tla_riscv_run(b.hart, 100), TLA_RISCV_WAITS);
    BOOST_CHECK_EQUAL(b.x(10), 1u);
}

BOOST_AUTO_TEST_CASE(a_window_sees_accesses_with_their_size_and_the_counters_of_their_instruction) {
    bench b;
    b.load({0x100002b7 /* lui t0, 0x10000 */, 0x0082b503 /* ld a0, 8(t0) */, 0x00a2a823 /* sw a0, 16(t0) */,
            0x00a28a23 /* sb a0, 20(t0) */, 0x00028583 /* lb a1, 0(t0) */, wfi});
    BOOST_CHECK_EQUAL(tla_riscv_run(b.hart, 100), TLA_RISCV_WAITS);
    BOOST_REQUIRE_EQUAL(b.seen.size(), 4u);
    const std::vector<bench::call> expected{{0x10000008, 8, false, 0x8877665544332211, 2, 3},
                                            {0x10000010, 4, true, 0x44332211, 3, 5},
                                            {0x10000014, 1, true, 0x11, 4, 7},
                                            {0x10000000, 1, false, 0x8877665544332211, 5, 9}};
    for (std::size_t i = 0; i < expected.size(); i++)
        BOOST_TEST_CONTEXT("access " << i) {
            BOOST_CHECK_EQUAL(b.seen[i].address, expected[i].address);
            BOOST_CHECK_EQUAL(b.seen[i].nbytes, expected[i].nbytes);
            BOOST_CHECK_EQUAL(b.seen[i].write, expected[i].write);
            BOOST_CHECK_EQUAL(b.seen[i].value, expected[i].value);
            BOOST_CHECK_EQUAL(b.seen[i].instructions, expected[i].instructions);
            BOOST_CHECK_EQUAL(b.seen[i].cycles, expected[i].cycles);
        }
    BOOST_CHECK_EQUAL(b.x(11), 0x11u);
}

BOOST_AUTO_TEST_CASE(wfi_waits_for_the_level_and_counts_when_it_is_passed) {
    bench b;
    b.load({wfi, 0x00150513 /* addi a0, a0, 1 */, 0xff9ff06f /* j -8 */});
    BOOST_CHECK_EQUAL(tla_riscv_run(b.hart, 100), TLA_RISCV_WAITS);
    BOOST_CHECK_EQUAL(tla_riscv_run(b.hart, 100), TLA_RISCV_WAITS);
    BOOST_CHECK_EQUAL(tla_riscv_instructions(b.hart), 0u);
    tla_riscv_set_interrupt(b.hart, true);
    BOOST_CHECK_EQUAL(tla_riscv_run(b.hart, 6), TLA_RISCV_SPENT); // as long as the level is there it does not wait
    BOOST_CHECK_EQUAL(b.x(10), 2u);
    tla_riscv_set_interrupt(b.hart, false);
    BOOST_CHECK_EQUAL(tla_riscv_run(b.hart, 100), TLA_RISCV_WAITS);
    BOOST_CHECK_EQUAL(tla_riscv_instructions(b.hart), 6u);
}

BOOST_AUTO_TEST_CASE(a_fault_of_the_hart_is_reported_and_changes_nothing) {
    bench b;
    const auto fails = [&b](tla_status status, std::uint64_t pc, std::uint32_t instruction, std::uint64_t address) {
        const std::uint64_t before = tla_riscv_instructions(b.hart), cycles = tla_riscv_cycles(b.hart), a1 = b.x(11);
        for (int again = 0; again < 2; again++) {
            BOOST_CHECK_EQUAL(tla_riscv_run(b.hart, 1), TLA_RISCV_FAULT);
            const tla_riscv_fault fault = tla_riscv_last_fault(b.hart);
            BOOST_CHECK_EQUAL(fault.status, status);
            BOOST_CHECK_EQUAL(fault.pc, pc);
            BOOST_CHECK_EQUAL(fault.instruction, instruction);
            BOOST_CHECK_EQUAL(fault.address, address);
            BOOST_CHECK_EQUAL(tla_riscv_pc(b.hart), pc);
            BOOST_CHECK_EQUAL(tla_riscv_instructions(b.hart), before);
            BOOST_CHECK_EQUAL(tla_riscv_cycles(b.hart), cycles);
            BOOST_CHECK_EQUAL(b.x(11), a1);
        }
    };
    const std::uint32_t unknown[]{0x00000073 /* ecall */,
                                  0x00100073 /* ebreak */,
                                  0x30451073 /* csrw mie, a0 */,
                                  0x0000202f /* amoadd.w */,
                                  0xffffffff,
                                  0x00007003 /* load of no size */};
    for (const std::uint32_t word : unknown) {
        b.load({word});
        fails(TLA_UNSUPPORTED, base, word, base);
    }
    for (const std::uint32_t half :
         {0u, 0x2000u /* c.fld */, 0x8002u /* c.jr x0 */, 0x9002u /* c.ebreak */, 0x6001u | 5u << 7}) {
        b.load({0x00010000 | half});
        fails(TLA_UNSUPPORTED, base, half, base);
    }
    // An access that is refused, one where nothing is, one across the end of the memory.
    b.load({0x0002c583 /* lbu a1, 0(t0) */, 0x00b2b023 /* sd a1, 0(t0) */});
    b.set(5, 0x10000000);
    b.answer = TLA_BUS_ERROR;
    fails(TLA_BUS_ERROR, base, 0x0002c583, 0x10000000);
    BOOST_CHECK_EQUAL(b.seen.size(), 2u);
    b.answer = TLA_OK;
    BOOST_CHECK_EQUAL(tla_riscv_run(b.hart, 1), TLA_RISCV_SPENT);
    BOOST_CHECK_EQUAL(tla_riscv_last_fault(b.hart).status, TLA_OK);
    for (const std::uint64_t edge : {base + 0x10000 - 4, base - 4}) {
        b.set(5, edge);
        fails(TLA_OUT_OF_RANGE, base + 4, 0x00b2b023, edge);
    }
    BOOST_CHECK_EQUAL(b.seen.size(), 3u);
    // Past the end of the memory; and an instruction whose second half is.
    tla_riscv_reset(b.hart, base + 0x10000);
    fails(TLA_OUT_OF_RANGE, base + 0x10000, 0, base + 0x10000);
    const std::uint16_t low = 0x0513;
    BOOST_REQUIRE_EQUAL(tla_riscv_write(b.hart, base + 0xfffe, &low, 2), TLA_OK);
    tla_riscv_reset(b.hart, base + 0xfffe);
    fails(TLA_OUT_OF_RANGE, base + 0xfffe, 0, base + 0xfffe);
}

BOOST_AUTO_TEST_CASE(a_memory_outside_its_range_and_bytes_outside_the_memory_are_rejected) {
    tla_riscv_config config{};
    tla_riscv_hart *hart = nullptr;
    const std::pair<std::uint64_t, std::uint64_t> wrong[]{
        {0, 0}, {0, 3}, {1, 4}, {0, (std::uint64_t{1} << 30) + 2}, {UINT64_MAX - 1, 4}};
    for (const auto &range : wrong) {
        config.memory_base = range.first;
        config.memory_bytes = range.second;
        BOOST_CHECK_EQUAL(tla_riscv_create(&config, &hart), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(!hart);
    }
    config.memory_base = UINT64_MAX - 3;
    config.memory_bytes = 4;
    BOOST_REQUIRE_EQUAL(tla_riscv_create(&config, &hart), TLA_OK);
    unsigned char bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    BOOST_CHECK_EQUAL(tla_riscv_write(hart, UINT64_MAX - 3, bytes, 4), TLA_OK);
    BOOST_CHECK_EQUAL(tla_riscv_write(hart, UINT64_MAX - 3, bytes, 5), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_riscv_write(hart, UINT64_MAX - 4, bytes, 1), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_riscv_read(hart, 0, bytes, 1), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_riscv_write(hart, 0, bytes, 0), TLA_OK);
    BOOST_CHECK_EQUAL(tla_riscv_read(hart, UINT64_MAX - 1, bytes + 4, 2), TLA_OK);
    BOOST_CHECK_EQUAL(bytes[4], 3);
    tla_riscv_set_register(hart, 0, 1);
    tla_riscv_set_register(hart, 32, 1);
    BOOST_CHECK_EQUAL(tla_riscv_register(hart, 0), 0u);
    BOOST_CHECK_EQUAL(tla_riscv_register(hart, 32), 0u);
    tla_riscv_destroy(hart);
    tla_riscv_destroy(nullptr);
}
