// One PE's two memories against ADR-0048 D3, D6, D7.
#include "tlmalloc/memory/pe_memory.h"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <string>

namespace {
const uint64_t slice = uint64_t{6} << 30;   // 48 GB a cube, 8 slices (ADR-0019)
const uint64_t tcm = uint64_t{16} << 20;    // ADR-0040
const uint64_t reserve = uint64_t{1} << 20; // top of the TCM (ADR-0014)

tla_pe_memory_config config_of(uint32_t pe) {
    return {1, 2, pe, {{slice}, {tcm, reserve}}};
}

struct pe_fixture {
    explicit pe_fixture(tla_pe_memory_config config = config_of(3)) {
        BOOST_REQUIRE_EQUAL(tla_pe_memory_create(&config, &memory), TLA_OK);
    }
    ~pe_fixture() { tla_pe_memory_destroy(memory); }
    pe_fixture(const pe_fixture &) = delete;
    pe_fixture &operator=(const pe_fixture &) = delete;
    tla_paddr alloc(tla_memory_kind kind, uint64_t nbytes) {
        tla_paddr pa{};
        BOOST_REQUIRE_EQUAL(tla_pe_memory_alloc(memory, kind, nbytes, &pa, nullptr), TLA_OK);
        return pa;
    }
    tla_pe_memory *memory = nullptr;
};
} // namespace

BOOST_AUTO_TEST_CASE(hbm_addresses_name_the_pe_that_owns_them) {
    pe_fixture f;
    f.alloc(TLA_HBM, 100);
    tla_paddr_fields fields{};
    BOOST_REQUIRE_EQUAL(tla_paddr_decode(f.alloc(TLA_HBM, 7), &fields), TLA_OK);
    BOOST_CHECK_EQUAL(fields.sip, 1u);
    BOOST_CHECK_EQUAL(fields.die, 2u);
    BOOST_CHECK_EQUAL(fields.unit, TLA_UNIT_HBM);
    BOOST_CHECK_EQUAL(fields.offset, 3 * slice + 100); // byte granular: no alignment (ADR-0048 D1)
}

BOOST_AUTO_TEST_CASE(tcm_offset_is_the_sub_unit_offset) {
    pe_fixture f;
    f.alloc(TLA_TCM, 64);
    tla_paddr_fields fields{};
    BOOST_REQUIRE_EQUAL(tla_paddr_decode(f.alloc(TLA_TCM, 64), &fields), TLA_OK);
    BOOST_CHECK_EQUAL(fields.unit, TLA_UNIT_TCM);
    BOOST_CHECK_EQUAL(fields.pe, 3u);
    BOOST_CHECK_EQUAL(fields.offset, 64u);
}

BOOST_AUTO_TEST_CASE(the_two_channels_do_not_share_space) {
    pe_fixture f;
    f.alloc(TLA_TCM, tcm - reserve);
    BOOST_CHECK_EQUAL(tla_pe_memory_get_stats(f.memory, TLA_TCM).free, 0u);
    BOOST_CHECK_EQUAL(tla_pe_memory_get_stats(f.memory, TLA_HBM).used, 0u);
    f.alloc(TLA_HBM, slice);
}

BOOST_AUTO_TEST_CASE(the_scheduler_reserve_is_addressable_but_never_allocated) {
    pe_fixture f;
    tla_paddr pa{};
    BOOST_CHECK_EQUAL(tla_pe_memory_alloc(f.memory, TLA_TCM, tcm - reserve + 1, &pa, nullptr), TLA_EXHAUSTED);
    BOOST_REQUIRE_EQUAL(tla_paddr_pe_tcm(1, 2, 3, tcm - reserve, &pa), TLA_OK);
    tla_memory_kind kind{};
    uint64_t offset = 0;
    BOOST_CHECK_EQUAL(tla_pe_memory_locate(tla_pe_memory_get_config(f.memory), pa, reserve, &kind, &offset), TLA_OK);
    BOOST_CHECK_EQUAL(kind, TLA_TCM);
    BOOST_CHECK_EQUAL(offset, tcm - reserve);
    BOOST_CHECK_EQUAL(tla_pe_memory_free(f.memory, pa, reserve, nullptr), TLA_OUT_OF_RANGE);
}

BOOST_AUTO_TEST_CASE(free_finds_the_channel_from_the_address_and_gives_all_back) {
    pe_fixture f;
    tla_paddr a = f.alloc(TLA_HBM, 4096), b = f.alloc(TLA_TCM, 4096);
    BOOST_CHECK_EQUAL(tla_pe_memory_free(f.memory, b, 4096, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_pe_memory_get_stats(f.memory, TLA_TCM).used, 0u);
    BOOST_CHECK_EQUAL(tla_pe_memory_get_stats(f.memory, TLA_HBM).used, 4096u);
    BOOST_CHECK_EQUAL(tla_pe_memory_free(f.memory, a, 4096, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_pe_memory_free(f.memory, a, 4096, nullptr), TLA_NOT_ALLOCATED);
    BOOST_CHECK_EQUAL(tla_pe_memory_free(f.memory, a, 0, nullptr), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_pe_memory_get_stats(f.memory, TLA_HBM).free_blocks, 1u);
}

BOOST_AUTO_TEST_CASE(addresses_of_other_pes_are_out_of_range) {
    pe_fixture f;
    const uint64_t next_slice = 4 * slice;
    struct {
        uint32_t sip, die, pe;
        bool hbm;
    } others[] = {{1, 2, 2, true}, {1, 2, 4, true}, {0, 2, 3, true}, {1, 3, 3, true}, {1, 2, 4, false}};
    for (const auto &other : others) {
        tla_paddr pa{};
        BOOST_REQUIRE_EQUAL(other.hbm ? tla_paddr_pe_hbm(other.sip, other.die, other.pe, 0, slice, &pa)
                                      : tla_paddr_pe_tcm(other.sip, other.die, other.pe, 0, &pa),
                            TLA_OK);
        BOOST_CHECK_EQUAL(tla_pe_memory_free(f.memory, pa, 1, nullptr), TLA_OUT_OF_RANGE);
    }
    tla_paddr control{};
    BOOST_REQUIRE_EQUAL(tla_paddr_pe_control(1, 2, 3, TLA_CONTROL_PE_MMU, 0, &control), TLA_OK);
    BOOST_CHECK_EQUAL(tla_pe_memory_free(f.memory, control, 1, nullptr), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_pe_memory_free(f.memory, tla_paddr{UINT64_MAX}, 1, nullptr), TLA_OUT_OF_RANGE);
    // The last byte of the slice is this PE's, one more is not.
    tla_paddr_fields last{1, 2, TLA_UNIT_HBM, 0, TLA_CONTROL_MEMORY_CONTROLLER, next_slice - 1};
    tla_paddr pa{};
    BOOST_REQUIRE_EQUAL(tla_paddr_encode(&last, &pa), TLA_OK);
    tla_memory_kind kind{};
    uint64_t offset = 0;
    BOOST_CHECK_EQUAL(tla_pe_memory_locate(tla_pe_memory_get_config(f.memory), pa, 1, &kind, &offset), TLA_OK);
    BOOST_CHECK_EQUAL(offset, slice - 1);
    BOOST_CHECK_EQUAL(tla_pe_memory_locate(tla_pe_memory_get_config(f.memory), pa, 2, &kind, &offset),
                      TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_pe_memory_locate(tla_pe_memory_get_config(f.memory), pa, UINT64_MAX, &kind, &offset),
                      TLA_OUT_OF_RANGE);
}

BOOST_AUTO_TEST_CASE(a_failure_names_memory_pe_and_largest_block) {
    pe_fixture f;
    tla_paddr pa{};
    BOOST_REQUIRE_EQUAL(tla_pe_memory_alloc(f.memory, TLA_HBM, slice + 1, &pa, nullptr), TLA_EXHAUSTED);
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_pe_memory_explain(f.memory, TLA_HBM, slice + 1, &error), TLA_EXHAUSTED);
    BOOST_CHECK(std::strstr(error.text, "HBM of sip1.cube2.pe3 overflow") != nullptr);
    BOOST_CHECK_EQUAL(error.requested, slice + 1);
    BOOST_CHECK_EQUAL(error.largest_free, slice);
    tla_pe_memory_explain(f.memory, TLA_TCM, 1, &error);
    BOOST_CHECK(std::strstr(error.text, "TCM of sip1.cube2.pe3") != nullptr);
}

BOOST_AUTO_TEST_CASE(configurations_that_no_address_can_name_are_rejected) {
    tla_pe_memory_config bad[8];
    for (tla_pe_memory_config &config : bad)
        config = config_of(3);
    bad[0].sip = 16;
    bad[1].die = 16;
    bad[2].pe = 16;
    bad[3].of[TLA_HBM].bytes = TLA_HBM_WINDOW_BYTES / 4 + 1; // pe 3 would end past the window
    bad[4].of[TLA_TCM].bytes = TLA_SUB_UNIT_BYTES + 1;
    bad[5].of[TLA_TCM].reserved = tcm + 1;
    bad[6].of[TLA_HBM].policy = TLA_POLICY_COUNT;
    bad[7].of[TLA_TCM].policy = TLA_POLICY_COUNT;
    for (const tla_pe_memory_config &config : bad) {
        tla_pe_memory *memory = reinterpret_cast<tla_pe_memory *>(1);
        BOOST_CHECK_EQUAL(tla_pe_memory_create(&config, &memory), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(memory == nullptr);
    }
    tla_pe_memory_config largest = config_of(3);
    largest.of[TLA_HBM].bytes = TLA_HBM_WINDOW_BYTES / 4;
    largest.of[TLA_TCM].bytes = TLA_SUB_UNIT_BYTES;
    pe_fixture f(largest);
    BOOST_CHECK_EQUAL(tla_pe_memory_get_config(f.memory)->of[TLA_TCM].bytes, TLA_SUB_UNIT_BYTES);
}

BOOST_AUTO_TEST_CASE(a_cubes_sram_and_the_memory_of_its_m_cpu_are_allocated_as_a_pes) {
    for (const tla_memory_kind kind : {TLA_SRAM, TLA_M_CPU_MEMORY}) {
        tla_pe_memory_config config{};
        config.sip = 1;
        config.die = 2;
        (kind == TLA_SRAM ? config.of[TLA_SRAM].bytes : config.of[TLA_M_CPU_MEMORY].bytes) = 4096;
        (kind == TLA_SRAM ? config.of[TLA_SRAM].policy : config.of[TLA_M_CPU_MEMORY].policy) = TLA_FIRST_FIT_TOP;
        BOOST_CHECK_EQUAL(tla_pe_memory_bytes(&config, kind), 4096u);
        BOOST_CHECK_EQUAL(tla_pe_memory_capacity(&config, kind), 4096u);
        BOOST_CHECK_EQUAL(tla_pe_memory_bytes(&config, TLA_HBM), 0u);
        pe_fixture f(config);
        tla_paddr first{}, pa{};
        BOOST_REQUIRE_EQUAL(
            kind == TLA_SRAM ? tla_paddr_sram(1, 2, 0, &first) : tla_paddr_m_cpu_memory(1, 2, 0, &first), TLA_OK);
        const tla_paddr top = f.alloc(kind, 100);
        BOOST_CHECK_EQUAL(top.value, first.value + 3996);
        tla_memory_kind found{};
        uint64_t offset = 0;
        BOOST_CHECK_EQUAL(tla_pe_memory_locate(&config, top, 100, &found, &offset), TLA_OK);
        BOOST_CHECK_EQUAL(found, kind);
        BOOST_CHECK_EQUAL(offset, 3996u);
        BOOST_CHECK_EQUAL(tla_pe_memory_locate(&config, top, 101, &found, &offset), TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(tla_memory_kind_of(top, &found), TLA_OK);
        BOOST_CHECK_EQUAL(found, kind);
        BOOST_CHECK_EQUAL(tla_pe_memory_address(&config, kind, 4095, &pa), TLA_OK);
        BOOST_CHECK_EQUAL(pa.value, first.value + 4095);
        BOOST_CHECK_EQUAL(tla_pe_memory_address(&config, kind, 4096, &pa), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(tla_pe_memory_address(&config, TLA_HBM, 0, &pa), TLA_INVALID_ARGUMENT);
        tla_error error{};
        tla_pe_memory_explain(f.memory, kind, 4096, &error);
        const std::string text = error.text;
        BOOST_CHECK_EQUAL(text.rfind(kind == TLA_SRAM ? "SRAM of sip1.cube2 " : "M_CPU memory of sip1.cube2 ", 0), 0u);
        BOOST_CHECK_EQUAL(tla_pe_memory_free(f.memory, top, 100, nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(tla_pe_memory_get_stats(f.memory, kind).free_blocks, 1u);
        (kind == TLA_SRAM ? config.of[TLA_SRAM].bytes : config.of[TLA_M_CPU_MEMORY].bytes) = TLA_SUB_UNIT_BYTES + 1;
        BOOST_CHECK_EQUAL(tla_pe_memory_check_config(&config, &error), TLA_INVALID_ARGUMENT);
    }
}

BOOST_AUTO_TEST_CASE(the_hosts_memory_is_allocated_as_a_pes) {
    tla_pe_memory_config config{};
    config.of[TLA_HOST_MEMORY].bytes = 4096;
    config.of[TLA_HOST_MEMORY].policy = TLA_FIRST_FIT_TOP;
    BOOST_CHECK_EQUAL(tla_pe_memory_bytes(&config, TLA_HOST_MEMORY), 4096u);
    BOOST_CHECK_EQUAL(tla_pe_memory_capacity(&config, TLA_HOST_MEMORY), 4096u);
    BOOST_CHECK_EQUAL(tla_pe_memory_bytes(&config, TLA_HBM), 0u);
    pe_fixture f(config);
    tla_paddr first{}, pa{};
    BOOST_REQUIRE_EQUAL(tla_paddr_host_memory(0, &first), TLA_OK);
    const tla_paddr top = f.alloc(TLA_HOST_MEMORY, 100);
    BOOST_CHECK_EQUAL(top.value, first.value + 3996);
    tla_memory_kind found{};
    uint64_t offset = 0;
    BOOST_CHECK_EQUAL(tla_pe_memory_locate(&config, top, 100, &found, &offset), TLA_OK);
    BOOST_CHECK_EQUAL(found, TLA_HOST_MEMORY);
    BOOST_CHECK_EQUAL(offset, 3996u);
    BOOST_CHECK_EQUAL(tla_pe_memory_locate(&config, top, 101, &found, &offset), TLA_OUT_OF_RANGE);
    BOOST_CHECK_EQUAL(tla_pe_memory_address(&config, TLA_HOST_MEMORY, 4096, &pa), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(tla_memory_kind_of(top, &found), TLA_OK);
    BOOST_CHECK_EQUAL(found, TLA_HOST_MEMORY);
    tla_error error{};
    tla_pe_memory_explain(f.memory, TLA_HOST_MEMORY, 4096, &error);
    BOOST_CHECK_EQUAL(std::string(error.text).rfind("host memory overflow: requested 4096 bytes, 3996 free", 0), 0u);
    BOOST_CHECK_EQUAL(tla_pe_memory_free(f.memory, top, 100, nullptr), TLA_OK);
    BOOST_CHECK_EQUAL(tla_pe_memory_get_stats(f.memory, TLA_HOST_MEMORY).free_blocks, 1u);
    config.sip = config.die = config.pe = 3; // whoever stands there, it is the host's
    BOOST_CHECK_EQUAL(tla_pe_memory_locate(&config, top, 100, &found, &offset), TLA_OK);
    BOOST_CHECK_EQUAL(tla_pe_memory_address(&config, TLA_HOST_MEMORY, 3996, &pa), TLA_OK);
    BOOST_CHECK_EQUAL(pa.value, top.value);
    config.of[TLA_HOST_MEMORY].bytes = TLA_HOST_MEMORY_BYTES + 1;
    BOOST_CHECK_EQUAL(tla_pe_memory_check_config(&config, &error), TLA_INVALID_ARGUMENT);
    BOOST_CHECK_EQUAL(std::string(error.text).rfind("host memory: bytes is 2199023255553: must be 0 .. ", 0), 0u);
}

// --- plain addresses -------------------------------------------------------------------------------------------------

static tla_pe_memory_config plain(uint64_t hbm_base, uint64_t tcm_base) {
    tla_pe_memory_config config{};
    config.of[TLA_HBM].bytes = 1 << 20;
    config.of[TLA_TCM].bytes = 1 << 16;
    config.of[TLA_TCM].reserved = 4096;
    config.layout = TLA_LAYOUT_PLAIN;
    config.of[TLA_HBM].base = hbm_base;
    config.of[TLA_TCM].base = tcm_base;
    return config;
}

BOOST_AUTO_TEST_CASE(a_plain_address_is_base_and_offset) {
    const uint64_t top = UINT64_MAX - ((1 << 20) - 1);
    for (const auto &[hbm_base, tcm_base] : {std::pair<uint64_t, uint64_t>{0, 0x8000'0000},
                                             {0x8000'0000, 0x8010'0000}, // one behind the other
                                             {0x1000'0000, 0},
                                             {top, 0x1234'5000}}) { // ends at 2^64
        const tla_pe_memory_config config = plain(hbm_base, tcm_base);
        pe_fixture f(config);
        BOOST_CHECK_EQUAL(f.alloc(TLA_HBM, 1000).value, hbm_base);
        const tla_paddr second = f.alloc(TLA_HBM, 24);
        BOOST_CHECK_EQUAL(second.value, hbm_base + 1000);
        BOOST_CHECK_EQUAL(f.alloc(TLA_TCM, 64).value, tcm_base);
        tla_memory_kind found{};
        uint64_t offset = 0;
        tla_paddr pa{};
        BOOST_CHECK_EQUAL(tla_pe_memory_address(&config, TLA_HBM, (1 << 20) - 1, &pa), TLA_OK);
        BOOST_CHECK_EQUAL(pa.value, hbm_base + ((1 << 20) - 1));
        BOOST_CHECK_EQUAL(tla_pe_memory_address(&config, TLA_HBM, 1 << 20, &pa), TLA_INVALID_ARGUMENT);
        BOOST_CHECK_EQUAL(tla_pe_memory_address(&config, TLA_SRAM, 0, &pa), TLA_INVALID_ARGUMENT);
        BOOST_REQUIRE_EQUAL(tla_pe_memory_locate(&config, {hbm_base + 0xffff0}, 16, &found, &offset), TLA_OK);
        BOOST_CHECK(found == TLA_HBM && offset == 0xffff0);
        BOOST_CHECK_EQUAL(tla_pe_memory_locate(&config, {hbm_base + 0xffff0}, 17, &found, &offset), TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(tla_pe_memory_locate(&config, {hbm_base - 1}, 1, &found, &offset), TLA_OUT_OF_RANGE);
        BOOST_REQUIRE_EQUAL(tla_pe_memory_locate(&config, {tcm_base + 65535}, 1, &found, &offset), TLA_OK);
        BOOST_CHECK(found == TLA_TCM && offset == 65535);
        BOOST_CHECK_EQUAL(tla_pe_memory_free(f.memory, {hbm_base}, 1000, nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(tla_pe_memory_free(f.memory, {hbm_base}, 1000, nullptr), TLA_NOT_ALLOCATED);
        BOOST_CHECK_EQUAL(tla_pe_memory_free(f.memory, {TLA_KERNBENCH_HBM_BASE}, 1, nullptr), TLA_OUT_OF_RANGE);
        BOOST_CHECK_EQUAL(tla_pe_memory_free(f.memory, second, 24, nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(tla_pe_memory_get_stats(f.memory, TLA_HBM).free_blocks, 1u);
    }
}

BOOST_AUTO_TEST_CASE(bases_that_overlap_or_pass_2_to_the_64_are_rejected_with_a_text) {
    const auto refusal = [](const tla_pe_memory_config &config) {
        tla_error error{};
        BOOST_CHECK_EQUAL(tla_pe_memory_check_config(&config, &error), TLA_INVALID_ARGUMENT);
        tla_pe_memory *none = nullptr;
        BOOST_CHECK_EQUAL(tla_pe_memory_create(&config, &none), TLA_INVALID_ARGUMENT);
        BOOST_CHECK(none == nullptr);
        return std::string(error.text);
    };
    BOOST_CHECK_EQUAL(refusal(plain(UINT64_MAX - 0xffffe, 0)),
                      "HBM: base 0xfffffffffff00001 + 1048576 bytes ends past 2^64");
    BOOST_CHECK_EQUAL(refusal(plain(0x1000, 0x1000)), "HBM at 0x1000 .. 0x100fff and TCM at 0x1000 .. 0x10fff overlap");
    BOOST_CHECK_EQUAL(refusal(plain(0x10000, 1)), "TCM at 0x1 .. 0x10000 and HBM at 0x10000 .. 0x10ffff overlap");
    tla_pe_memory_config inside = plain(0, 0x8000'0000);
    inside.of[TLA_SRAM].bytes = 1; // the last byte of the HBM
    inside.of[TLA_SRAM].base = 0xfffff;
    BOOST_CHECK_EQUAL(refusal(inside), "HBM at 0x0 .. 0xfffff and SRAM at 0xfffff .. 0xfffff overlap");
    inside.of[TLA_SRAM].base = 0x100000;
    BOOST_CHECK_EQUAL(tla_pe_memory_check_config(&inside, nullptr), TLA_OK);
    tla_pe_memory_config aligned = plain(0x1020, 0x8000'0000);
    aligned.alignment = 64;
    BOOST_CHECK_EQUAL(refusal(aligned), "HBM: base 0x1020 is not a multiple of alignment 64");
    tla_pe_memory_config large = plain(0, TLA_HOST_MEMORY_BYTES); // a memory of the host's size, but no larger
    large.of[TLA_HBM].bytes = TLA_HOST_MEMORY_BYTES;
    BOOST_CHECK_EQUAL(tla_pe_memory_check_config(&large, nullptr), TLA_OK);
    large.of[TLA_HBM].bytes++;
    BOOST_CHECK_EQUAL(refusal(large), "HBM: bytes is 2199023255553: must be 0 .. 2199023255552");
    tla_pe_memory_config none = plain(0, 0);
    none.of[TLA_TCM].bytes = none.of[TLA_TCM].reserved = 0; // what there is not overlaps nothing
    BOOST_CHECK_EQUAL(tla_pe_memory_check_config(&none, nullptr), TLA_OK);
}

BOOST_AUTO_TEST_CASE(the_constants_are_where_the_layout_begins) {
    tla_paddr pa{};
    tla_paddr_pe_hbm(0, 0, 0, 0, 1, &pa);
    BOOST_CHECK_EQUAL(pa.value, TLA_KERNBENCH_HBM_BASE);
    tla_paddr_pe_tcm(0, 0, 0, 0, &pa);
    BOOST_CHECK_EQUAL(pa.value, TLA_KERNBENCH_TCM_BASE);
    tla_paddr_pe_tcm(3, 2, 1, 0, &pa);
    BOOST_CHECK_EQUAL(pa.value, 3 * TLA_KERNBENCH_SIP_STRIDE + 2 * TLA_KERNBENCH_DIE_STRIDE + TLA_KERNBENCH_PE_STRIDE);
    tla_paddr_sram(0, 0, 0, &pa);
    BOOST_CHECK_EQUAL(pa.value, TLA_KERNBENCH_SRAM_BASE);
    tla_paddr_m_cpu_memory(0, 0, 0, &pa);
    BOOST_CHECK_EQUAL(pa.value, TLA_KERNBENCH_M_CPU_MEMORY_BASE);
    tla_paddr_host_memory(0, &pa);
    BOOST_CHECK_EQUAL(pa.value, TLA_KERNBENCH_HOST_MEMORY_BASE);
}

BOOST_AUTO_TEST_CASE(a_channels_controller_is_found_by_its_place) {
    tla_paddr pa{}, expected{};
    BOOST_REQUIRE_EQUAL(tla_memory_kind_control(TLA_TCM, 1, 2, 3, 0x40, &pa), TLA_OK);
    tla_paddr_pe_control(1, 2, 3, TLA_CONTROL_MEMORY_CONTROLLER, 0x40, &expected);
    BOOST_CHECK_EQUAL(pa.value, expected.value);
    BOOST_REQUIRE_EQUAL(tla_memory_kind_control(TLA_SRAM, 1, 2, 99, 0x40, &pa), TLA_OK); // no PE is looked at
    tla_paddr_sram_control(1, 2, 0x40, &expected);
    BOOST_CHECK_EQUAL(pa.value, expected.value);
    BOOST_REQUIRE_EQUAL(tla_memory_kind_control(TLA_M_CPU_MEMORY, 1, 2, 0, 0x40, &pa), TLA_OK);
    tla_paddr_m_cpu_memory_control(1, 2, 0x40, &expected);
    BOOST_CHECK_EQUAL(pa.value, expected.value);
    const tla_paddr of_cube = expected;
    BOOST_REQUIRE_EQUAL(tla_memory_kind_control(TLA_HOST_MEMORY, 99, 99, 99, 0x40, &pa), TLA_OK); // nor any place
    tla_paddr_host_memory_control(0x40, &expected);
    BOOST_CHECK_EQUAL(pa.value, expected.value);
    BOOST_CHECK_EQUAL(tla_memory_kind_control(TLA_MEMORY_KIND_COUNT, 1, 2, 3, 0, &pa), TLA_INVALID_ARGUMENT);
    tla_memory_kind kind{};
    tla_paddr_m_cpu_control(1, 2, 0, &pa); // the window before its memory
    BOOST_CHECK_EQUAL(tla_memory_kind_of(pa, &kind), TLA_OUT_OF_RANGE);
    for (const tla_paddr control : {of_cube, expected})
        BOOST_CHECK_EQUAL(tla_memory_kind_of(control, &kind), TLA_OUT_OF_RANGE);
}

BOOST_AUTO_TEST_CASE(channels_have_names) {
    BOOST_CHECK_EQUAL(tla_memory_kind_name(TLA_HBM), "hbm");
    BOOST_CHECK_EQUAL(tla_memory_kind_name(TLA_TCM), "tcm");
    BOOST_CHECK_EQUAL(tla_memory_kind_name(TLA_SRAM), "sram");
    BOOST_CHECK_EQUAL(tla_memory_kind_name(TLA_M_CPU_MEMORY), "m_cpu");
    BOOST_CHECK_EQUAL(tla_memory_kind_name(TLA_HOST_MEMORY), "host");
    BOOST_CHECK(tla_memory_kind_name(TLA_MEMORY_KIND_COUNT) == nullptr);
    BOOST_CHECK(tla_memory_kind_title(TLA_MEMORY_KIND_COUNT) == nullptr);
}
