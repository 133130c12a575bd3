// The 51-bit physical address (ADR-0001 Rev 2): every unit round-trips, every reserved encoding is refused.
#include "tlmalloc/base/phys_addr.h"

#include <boost/test/unit_test.hpp>

#include <random>

namespace {
bool is_control(tla_unit unit) {
    return unit == TLA_UNIT_PE_CONTROL || unit == TLA_UNIT_M_CPU_CONTROL || unit == TLA_UNIT_SRAM_CONTROL ||
           unit == TLA_UNIT_HOST_CONTROL;
}

uint64_t limit_of(tla_unit unit) {
    if (unit == TLA_UNIT_HBM) return TLA_HBM_WINDOW_BYTES;
    if (unit == TLA_UNIT_HOST_MEMORY) return TLA_HOST_MEMORY_BYTES;
    return is_control(unit) ? TLA_CONTROL_BLOCK_BYTES : TLA_SUB_UNIT_BYTES;
}

bool same(const tla_paddr_fields &a, const tla_paddr_fields &b) {
    return a.sip == b.sip && a.die == b.die && a.unit == b.unit && a.pe == b.pe && a.block == b.block &&
           a.offset == b.offset;
}

tla_status decode(uint64_t value) {
    tla_paddr_fields fields{};
    return tla_paddr_decode(tla_paddr{value}, &fields);
}
} // namespace

BOOST_AUTO_TEST_CASE(hbm_address_of_kernbench_round_trips) {
    // KernBench's round trip: sip 3, die 5, HBM offset 0x1000.
    tla_paddr_fields fields{3, 5, TLA_UNIT_HBM, 0, TLA_CONTROL_MEMORY_CONTROLLER, 0x1000}, back{};
    tla_paddr pa{};
    BOOST_REQUIRE_EQUAL(tla_paddr_encode(&fields, &pa), TLA_OK);
    BOOST_CHECK_EQUAL(pa.value, uint64_t{3} << 47 | uint64_t{5} << 42 | uint64_t{1} << 37 | 0x1000);
    BOOST_REQUIRE_EQUAL(tla_paddr_decode(pa, &back), TLA_OK);
    BOOST_CHECK(same(fields, back));
}

BOOST_AUTO_TEST_CASE(random_fields_of_every_unit_round_trip) {
    const unsigned seed = 20260107;
    BOOST_TEST_MESSAGE("seed " << seed);
    std::mt19937_64 random(seed);
    for (int i = 0; i < 200000; i++) {
        tla_paddr_fields fields{}, back{};
        fields.sip = static_cast<uint32_t>(random() % TLA_SIP_COUNT);
        fields.die = static_cast<uint32_t>(random() % TLA_CUBE_DIE_COUNT);
        const tla_unit units[] = {TLA_UNIT_HBM,          TLA_UNIT_TCM,         TLA_UNIT_PE_CONTROL,
                                  TLA_UNIT_M_CPU,        TLA_UNIT_SRAM,        TLA_UNIT_M_CPU_CONTROL,
                                  TLA_UNIT_SRAM_CONTROL, TLA_UNIT_HOST_MEMORY, TLA_UNIT_HOST_CONTROL};
        fields.unit = units[random() % std::size(units)];
        if (fields.unit == TLA_UNIT_HOST_MEMORY || fields.unit == TLA_UNIT_HOST_CONTROL)
            fields.sip = 0, fields.die = TLA_HOST_DIE;
        if (fields.unit == TLA_UNIT_TCM || fields.unit == TLA_UNIT_PE_CONTROL)
            fields.pe = static_cast<uint32_t>(random() % TLA_PE_COUNT);
        if (is_control(fields.unit)) fields.block = static_cast<tla_control_block>(random() % TLA_CONTROL_BLOCK_COUNT);
        fields.offset = random() % limit_of(fields.unit);
        tla_paddr pa{};
        BOOST_REQUIRE_EQUAL(tla_paddr_encode(&fields, &pa), TLA_OK);
        BOOST_REQUIRE_EQUAL(pa.value >> TLA_PADDR_BITS, 0u);
        BOOST_REQUIRE_EQUAL(tla_paddr_decode(pa, &back), TLA_OK);
        BOOST_REQUIRE(same(fields, back));
    }
}

BOOST_AUTO_TEST_CASE(every_address_that_decodes_encodes_to_itself) {
    const unsigned seed = 20260108;
    BOOST_TEST_MESSAGE("seed " << seed);
    std::mt19937_64 random(seed);
    int decoded = 0;
    for (int i = 0; i < 400000; i++) {
        // Few high bits, so that reserved fields are often zero.
        uint64_t value = random() >> (13 + random() % 20);
        if (random() % 2) value |= uint64_t{1} << 37;
        if (random() % 8 == 0) value |= uint64_t{TLA_HOST_DIE} << 42;
        tla_paddr_fields fields{};
        tla_status status = tla_paddr_decode(tla_paddr{value}, &fields);
        if (status) {
            BOOST_REQUIRE_EQUAL(status, TLA_OUT_OF_RANGE);
            continue;
        }
        tla_paddr pa{};
        BOOST_REQUIRE_EQUAL(tla_paddr_encode(&fields, &pa), TLA_OK);
        BOOST_REQUIRE_EQUAL(pa.value, value);
        decoded++;
    }
    BOOST_CHECK_GT(decoded, 1000);
}

BOOST_AUTO_TEST_CASE(bits_above_50_are_rejected) {
    for (int bit = 51; bit < 64; bit++)
        BOOST_CHECK_EQUAL(decode(uint64_t{1} << bit | uint64_t{1} << 37), TLA_OUT_OF_RANGE);
}

BOOST_AUTO_TEST_CASE(dies_that_are_not_a_cube_are_rejected) {
    for (uint64_t die = 0; die < 32; die++)
        for (uint64_t sip = 0; sip < 16; sip++) {
            const bool is_something = die < 16 || (die == TLA_HOST_DIE && sip == 0);
            BOOST_CHECK_EQUAL(decode(sip << 47 | die << 42 | uint64_t{1} << 37),
                              is_something ? TLA_OK : TLA_OUT_OF_RANGE);
        }
}

BOOST_AUTO_TEST_CASE(the_hosts_memory_and_its_controller_lie_on_the_last_die_of_the_first_sip) {
    tla_paddr pa{};
    tla_paddr_fields fields{};
    const uint64_t die = uint64_t{31} << 42;
    BOOST_REQUIRE_EQUAL(tla_paddr_host_memory(0x800, &pa), TLA_OK);
    BOOST_CHECK_EQUAL(pa.value, die | 0x800);
    BOOST_REQUIRE_EQUAL(tla_paddr_decode(pa, &fields), TLA_OK);
    BOOST_CHECK(same(fields, {0, TLA_HOST_DIE, TLA_UNIT_HOST_MEMORY, 0, TLA_CONTROL_MEMORY_CONTROLLER, 0x800}));
    BOOST_REQUIRE_EQUAL(tla_paddr_host_memory(TLA_HOST_MEMORY_BYTES - 1, &pa), TLA_OK);
    BOOST_CHECK_EQUAL(pa.value, die | ((uint64_t{1} << 41) - 1));
    BOOST_CHECK_EQUAL(tla_paddr_host_memory(TLA_HOST_MEMORY_BYTES, &pa), TLA_INVALID_ARGUMENT);
    BOOST_REQUIRE_EQUAL(tla_paddr_host_memory_control(0x40, &pa), TLA_OK);
    BOOST_CHECK_EQUAL(pa.value, die | uint64_t{1} << 41 | 0x40);
    BOOST_REQUIRE_EQUAL(tla_paddr_decode(pa, &fields), TLA_OK);
    BOOST_CHECK(same(fields, {0, TLA_HOST_DIE, TLA_UNIT_HOST_CONTROL, 0, TLA_CONTROL_MEMORY_CONTROLLER, 0x40}));
    BOOST_CHECK_EQUAL(tla_paddr_host_memory_control(TLA_CONTROL_BLOCK_BYTES, &pa), TLA_INVALID_ARGUMENT);
    BOOST_REQUIRE_EQUAL(tla_paddr_va_manager_control(TLA_CONTROL_BLOCK_BYTES + 0x40, &pa), TLA_OK);
    BOOST_CHECK_EQUAL(pa.value, die | uint64_t{1} << 41 | uint64_t{2} << 24 | 0x40);
    BOOST_CHECK_EQUAL(tla_paddr_va_manager_control(0, &pa), TLA_OK);
    BOOST_CHECK_EQUAL(pa.value, die | uint64_t{1} << 41 | uint64_t{1} << 24);
    BOOST_CHECK_EQUAL(tla_paddr_va_manager_control(TLA_VA_MANAGER_CONTROL_BYTES, &pa), TLA_INVALID_ARGUMENT);
    BOOST_REQUIRE_EQUAL(tla_paddr_host_control(0x40, &pa), TLA_OK);
    BOOST_CHECK_EQUAL(pa.value, die | uint64_t{1} << 41 | uint64_t{3} << 24 | 0x40);
    BOOST_CHECK_EQUAL(tla_paddr_host_control(TLA_CONTROL_BLOCK_BYTES, &pa), TLA_INVALID_ARGUMENT);
    for (int bit = 29; bit < 41; bit++) { // reserved in the control space
        BOOST_CHECK_EQUAL(decode(die | uint64_t{1} << 41 | uint64_t{1} << bit), TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(decode(die | uint64_t{1} << bit), TLA_OK);
    }
    for (int bit = 47; bit < 64; bit++) // of another SIP, or beyond the address
        BOOST_CHECK_EQUAL(decode(die | uint64_t{1} << bit), TLA_OUT_OF_RANGE);
    for (const tla_unit unit : {TLA_UNIT_HOST_MEMORY, TLA_UNIT_HOST_CONTROL}) {
        const tla_paddr_fields elsewhere[] = {{1, TLA_HOST_DIE, unit, 0, TLA_CONTROL_MEMORY_CONTROLLER, 0},
                                              {0, TLA_HOST_DIE - 1, unit, 0, TLA_CONTROL_MEMORY_CONTROLLER, 0},
                                              {0, 0, unit, 0, TLA_CONTROL_MEMORY_CONTROLLER, 0},
                                              {0, TLA_HOST_DIE, unit, 1, TLA_CONTROL_MEMORY_CONTROLLER, 0},
                                              {0, TLA_HOST_DIE, TLA_UNIT_HBM, 0, TLA_CONTROL_MEMORY_CONTROLLER, 0}};
        for (const tla_paddr_fields &f : elsewhere)
            BOOST_CHECK_EQUAL(tla_paddr_encode(&f, &pa), TLA_INVALID_ARGUMENT);
    }
}

BOOST_AUTO_TEST_CASE(bits_between_the_hbm_selector_and_the_die_are_reserved) {
    for (int bit = 38; bit < 42; bit++) {
        BOOST_CHECK_EQUAL(decode(uint64_t{1} << bit), TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(decode(uint64_t{1} << bit | uint64_t{1} << 37), TLA_OUT_OF_RANGE);
    }
}

BOOST_AUTO_TEST_CASE(units_3_to_7_are_reserved) {
    for (uint64_t unit = 0; unit < 8; unit++)
        BOOST_CHECK_EQUAL(decode(unit << 34), unit <= 2 ? TLA_OK : TLA_OUT_OF_RANGE);
}

BOOST_AUTO_TEST_CASE(m_cpu_and_sram_have_no_pe) {
    for (uint64_t unit = 1; unit <= 2; unit++)
        for (uint64_t pe = 1; pe < 16; pe++) {
            BOOST_CHECK_EQUAL(decode(unit << 34 | pe << 30), TLA_OUT_OF_RANGE);
            BOOST_CHECK_EQUAL(decode(unit << 34 | pe << 30 | uint64_t{1} << 29), TLA_OUT_OF_RANGE);
        }
}

BOOST_AUTO_TEST_CASE(the_cubes_other_memories_lie_behind_the_m_cpus_window_and_in_the_sram) {
    tla_paddr pa{};
    tla_paddr_fields fields{};
    BOOST_REQUIRE_EQUAL(tla_paddr_sram(2, 3, 0x800, &pa), TLA_OK);
    BOOST_CHECK_EQUAL(pa.value, uint64_t{2} << 47 | uint64_t{3} << 42 | uint64_t{2} << 34 | 0x800);
    BOOST_REQUIRE_EQUAL(tla_paddr_decode(pa, &fields), TLA_OK);
    BOOST_CHECK(same(fields, {2, 3, TLA_UNIT_SRAM, 0, TLA_CONTROL_MEMORY_CONTROLLER, 0x800}));
    BOOST_REQUIRE_EQUAL(tla_paddr_m_cpu_memory(2, 3, 0x800, &pa), TLA_OK);
    BOOST_CHECK_EQUAL(pa.value, uint64_t{2} << 47 | uint64_t{3} << 42 | uint64_t{1} << 34 | uint64_t{1} << 24 | 0x800);
    BOOST_REQUIRE_EQUAL(tla_paddr_decode(pa, &fields), TLA_OK);
    BOOST_CHECK(same(fields, {2, 3, TLA_UNIT_M_CPU, 0, TLA_CONTROL_MEMORY_CONTROLLER, 0x1000800}));
    BOOST_CHECK_EQUAL(tla_paddr_sram(0, 0, TLA_SUB_UNIT_BYTES - 1, &pa), TLA_OK);
    BOOST_CHECK_EQUAL(tla_paddr_sram(0, 0, TLA_SUB_UNIT_BYTES, &pa), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_paddr_sram(0, TLA_IO_DIE, 0, &pa), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_paddr_m_cpu_memory(0, 0, TLA_M_CPU_MEMORY_BYTES - 1, &pa), TLA_OK);
    BOOST_CHECK_EQUAL(tla_paddr_m_cpu_memory(0, 0, TLA_M_CPU_MEMORY_BYTES, &pa), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_paddr_m_cpu_memory(0, 0, UINT64_MAX, &pa), TLA_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(controllers_of_the_cubes_other_memories_have_windows_of_their_own) {
    tla_paddr pa{};
    tla_paddr_fields fields{};
    BOOST_REQUIRE_EQUAL(tla_paddr_sram_control(2, 3, 0x40, &pa), TLA_OK);
    BOOST_CHECK_EQUAL(pa.value, uint64_t{2} << 47 | uint64_t{3} << 42 | uint64_t{2} << 34 | uint64_t{1} << 29 | 0x40);
    BOOST_REQUIRE_EQUAL(tla_paddr_decode(pa, &fields), TLA_OK);
    BOOST_CHECK(same(fields, {2, 3, TLA_UNIT_SRAM_CONTROL, 0, TLA_CONTROL_MEMORY_CONTROLLER, 0x40}));
    BOOST_REQUIRE_EQUAL(tla_paddr_m_cpu_memory_control(2, 3, 0x40, &pa), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_paddr_decode(pa, &fields), TLA_OK);
    BOOST_CHECK(same(fields, {2, 3, TLA_UNIT_M_CPU_CONTROL, 0, TLA_CONTROL_MEMORY_CONTROLLER, 0x40}));
    BOOST_CHECK_EQUAL(tla_paddr_sram_control(0, 0, TLA_CONTROL_BLOCK_BYTES, &pa), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_paddr_m_cpu_memory_control(0, 0, TLA_CONTROL_BLOCK_BYTES, &pa), TLA_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(fields_out_of_range_are_rejected_and_write_nothing) {
    const tla_paddr_fields good{1, 2, TLA_UNIT_TCM, 3, TLA_CONTROL_MEMORY_CONTROLLER, 4};
    tla_paddr_fields bad[] = {good, good, good, good, good, good, good, good, good};
    bad[0].sip = TLA_SIP_COUNT;
    bad[1].die = TLA_CUBE_DIE_COUNT;
    bad[2].pe = TLA_PE_COUNT;
    bad[3].offset = TLA_SUB_UNIT_BYTES;
    bad[4].unit = TLA_UNIT_HBM; // pe 3, which HBM has none of
    bad[5].unit = TLA_UNIT_HBM;
    bad[5].pe = 0;
    bad[5].offset = TLA_HBM_WINDOW_BYTES;
    bad[6].unit = TLA_UNIT_PE_CONTROL;
    bad[6].block = TLA_CONTROL_BLOCK_COUNT;
    bad[7].unit = TLA_UNIT_PE_CONTROL;
    bad[7].offset = TLA_CONTROL_BLOCK_BYTES;
    bad[8].unit = TLA_UNIT_SRAM; // pe 3
    for (const tla_paddr_fields &fields : bad) {
        tla_paddr pa{0x1234};
        BOOST_CHECK_EQUAL(tla_paddr_encode(&fields, &pa), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(pa.value, 0x1234u);
    }
}

BOOST_AUTO_TEST_CASE(a_pe_slice_begins_at_pe_times_slice_size) {
    const uint64_t slice = uint64_t{6} << 30; // 48 GB a cube, 8 slices (ADR-0019)
    for (uint32_t pe = 0; pe < 8; pe++) {
        tla_paddr pa{};
        tla_paddr_fields fields{};
        BOOST_REQUIRE_EQUAL(tla_paddr_pe_hbm(1, 15, pe, 0x1000, slice, &pa), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_paddr_decode(pa, &fields), TLA_OK);
        BOOST_CHECK_EQUAL(fields.unit, TLA_UNIT_HBM);
        BOOST_CHECK_EQUAL(fields.offset, pe * slice + 0x1000);
        BOOST_CHECK_EQUAL(fields.offset / slice, pe);
    }
}

BOOST_AUTO_TEST_CASE(a_pe_slice_stays_inside_the_hbm_window) {
    tla_paddr pa{};
    const uint64_t slice = uint64_t{6} << 30;
    BOOST_CHECK_EQUAL(tla_paddr_pe_hbm(0, 0, 0, slice, slice, &pa), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_paddr_pe_hbm(0, 0, 16, 0, slice, &pa), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_paddr_pe_hbm(0, 0, 1, 0, TLA_HBM_WINDOW_BYTES, &pa), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_paddr_pe_hbm(0, 0, 0, TLA_HBM_WINDOW_BYTES - 1, TLA_HBM_WINDOW_BYTES, &pa), TLA_OK);
    BOOST_CHECK_EQUAL(tla_paddr_pe_hbm(0, 0, 15, 0, UINT64_MAX, &pa), TLA_INVALID_ARGUMENT);
}

BOOST_AUTO_TEST_CASE(tcm_and_control_factories_decode_to_their_unit) {
    tla_paddr pa{};
    tla_paddr_fields fields{};
    BOOST_REQUIRE_EQUAL(tla_paddr_pe_tcm(2, 3, 4, 0x800, &pa), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_paddr_decode(pa, &fields), TLA_OK);
    BOOST_CHECK(same(fields, {2, 3, TLA_UNIT_TCM, 4, TLA_CONTROL_MEMORY_CONTROLLER, 0x800}));
    BOOST_REQUIRE_EQUAL(tla_paddr_pe_control(2, 3, 4, TLA_CONTROL_PE_MMU, 0x40, &pa), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_paddr_decode(pa, &fields), TLA_OK);
    BOOST_CHECK(same(fields, {2, 3, TLA_UNIT_PE_CONTROL, 4, TLA_CONTROL_PE_MMU, 0x40}));
}

BOOST_AUTO_TEST_CASE(command_processors_have_control_windows_of_their_own) {
    tla_paddr pa{};
    tla_paddr_fields fields{};
    BOOST_REQUIRE_EQUAL(tla_paddr_io_cpu_control(3, 0x1F00, &pa), TLA_OK);
    BOOST_CHECK_EQUAL(pa.value, uint64_t{3} << 47 | uint64_t{16} << 42 | 0x1F00);
    BOOST_REQUIRE_EQUAL(tla_paddr_decode(pa, &fields), TLA_OK);
    BOOST_CHECK_EQUAL(fields.unit, TLA_UNIT_IO_CPU);
    BOOST_CHECK_EQUAL(fields.offset, 0x1F00u);
    BOOST_CHECK_EQUAL(tla_paddr_io_cpu_control(3, TLA_CONTROL_BLOCK_BYTES, &pa), TLA_INVALID_ARGUMENT);
    BOOST_REQUIRE_EQUAL(tla_paddr_m_cpu_control(1, 7, 0x1000, &pa), TLA_OK);
    BOOST_REQUIRE_EQUAL(tla_paddr_decode(pa, &fields), TLA_OK);
    BOOST_CHECK_EQUAL(fields.unit, TLA_UNIT_M_CPU);
    BOOST_CHECK_EQUAL(fields.die, 7u);
    BOOST_CHECK_EQUAL(tla_paddr_m_cpu_control(1, 7, TLA_CONTROL_BLOCK_BYTES, &pa), TLA_INVALID_ARGUMENT);
    // The rest of the IO chiplet's terabyte is not modelled.
    BOOST_CHECK_EQUAL(tla_paddr_decode({uint64_t{16} << 42 | uint64_t{1} << 24}, &fields), TLA_OUT_OF_RANGE);
}
