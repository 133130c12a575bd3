// The table of a platform's keys, and the structs of modules that it fills.
#include "config_parsing.hpp"
#include "model/config/loader.h"
#include "model/config/platform.h"

#include <iostream>

using namespace config_parsing;

namespace {

// A member that no key fills by itself: it follows from others, from where a module stands, or is not used.
struct member {
    std::size_t offset, size;
};

#define MEMBER_OF(part, path)                                                                                          \
    {                                                                                                                  \
        offsetof(tla_config, part) + offsetof(decltype(tla_config::part), path),                                       \
            sizeof(decltype(tla_config::part)::path)                                                                   \
    }

using memory = tla_pe_memory_config;
constexpr std::size_t at_memory = offsetof(tla_config, controller) + offsetof(tla_controller_parameters, memory);
using cost = tla_cost_profile;

#define PART(kind, path)                                                                                               \
    {                                                                                                                  \
        at_memory + offsetof(memory, of) + kind * sizeof(tla_memory_part) + offsetof(tla_memory_part, path),           \
            sizeof(tla_memory_part::path)                                                                              \
    }

const std::vector<member> without_key{
    // the place in the topology, and what follows from it
    MEMBER_OF(hbm, capacity),
    MEMBER_OF(system, topology_path),
    {offsetof(tla_config, tcm_present), sizeof(tla_config::tcm_present)}, // of a module that stands alone
    {offsetof(tla_config, topology), 4 * sizeof(std::uint32_t)},          // sips, cubes, PEs
    {at_memory + offsetof(memory, sip), 3 * sizeof(std::uint32_t)},       // sip, die, pe
    PART(TLA_HBM, bytes),
    PART(TLA_TCM, bytes),
    PART(TLA_SRAM, bytes),
    PART(TLA_M_CPU_MEMORY, bytes),
    PART(TLA_HOST_MEMORY, bytes),
    // those of the other memories, of which nothing is reserved and which have no plain addresses in a platform
    PART(TLA_SRAM, reserved),
    PART(TLA_SRAM, base),
    PART(TLA_M_CPU_MEMORY, reserved),
    PART(TLA_M_CPU_MEMORY, base),
    PART(TLA_HOST_MEMORY, reserved),
    PART(TLA_HOST_MEMORY, base),
    MEMBER_OF(topology, host_memory),
    MEMBER_OF(host_memory, ecc_latency_ps), // it has no faults
    // what the controller works out from its guard and its free list
    PART(TLA_HBM, reserved),
    {at_memory + offsetof(memory, guarded), sizeof(memory::guarded)},
    // what the name of a profile, and the text of a fault plan, stand for
    MEMBER_OF(hbm_timing, has_profile),
    MEMBER_OF(hbm_timing, profile),
    MEMBER_OF(host_memory_timing, has_profile),
    MEMBER_OF(host_memory_timing, profile),
    MEMBER_OF(hbm_energy, has_profile),
    MEMBER_OF(hbm_energy, profile),
    MEMBER_OF(parts_energy, has_profile),
    MEMBER_OF(parts_energy, profile),
    {offsetof(tla_config, faults) + offsetof(tla_fault_parameters, plan) + offsetof(tla_fault_injection, count),
     sizeof(tla_fault_injection) - offsetof(tla_fault_injection, count)},
    // what other parts say
    MEMBER_OF(mmu, larger_page_sizes),
    MEMBER_OF(mmu, retry),
    {offsetof(tla_config, va) + offsetof(tla_va_parameters, space) + offsetof(tla_va_space_config, larger_page_sizes),
     sizeof(tla_va_space_config::larger_page_sizes)},
    MEMBER_OF(dma, asid),
    MEMBER_OF(dma, tell_extent),
    MEMBER_OF(pe, quantum_ps),
    MEMBER_OF(pe, asid),
    MEMBER_OF(pe, retry),
    MEMBER_OF(pe, collectives.sip_columns),
    MEMBER_OF(pe, collectives.sips_joined),
    MEMBER_OF(messages, asid),
    MEMBER_OF(messages, retry),
    MEMBER_OF(host, asid),
    MEMBER_OF(host, page_size),
    MEMBER_OF(host, hbm_reserved),
    MEMBER_OF(host, tcm_reserved),
    MEMBER_OF(host, fronts),
    MEMBER_OF(host, parts),
    MEMBER_OF(host, segment_fronts),
    MEMBER_OF(host, lockstep),
    MEMBER_OF(host, hbm_slice),
    MEMBER_OF(host, memory),
    MEMBER_OF(host, moves),
    MEMBER_OF(host, delegates),
    MEMBER_OF(controller, compaction.planner),
    MEMBER_OF(controller, compaction.nodes),
    MEMBER_OF(workload, uses), // of the kernel, which whoever loads the configuration knows
};

// Events that do not happen in a part have no price there.
const std::vector<std::pair<std::size_t, std::vector<std::size_t>>> prices_without_key{
    {offsetof(tla_config, controller) + offsetof(tla_controller_parameters, cost),
     {offsetof(cost, chunk_ps), offsetof(cost, pte_write_ps), offsetof(cost, table_level_ps),
      offsetof(cost, invalidate_ps)}},
    {offsetof(tla_config, mmu) + offsetof(tla_mmu_parameters, cost),
     {offsetof(cost, node_ps), offsetof(cost, insert_node_ps), offsetof(cost, probe_ps), offsetof(cost, bin_search_ps),
      offsetof(cost, split_ps), offsetof(cost, merge_ps), offsetof(cost, metadata_line_ps), offsetof(cost, alloc_ps),
      offsetof(cost, free_ps), offsetof(cost, node_created_ps), offsetof(cost, node_released_ps),
      offsetof(cost, walk_ps), offsetof(cost, walk_node_ps), offsetof(cost, class_lookup_ps),
      offsetof(cost, list_pop_ps), offsetof(cost, list_push_ps), offsetof(cost, slot_ps),
      offsetof(cost, driver_call_ps), offsetof(cost, clock_ps)}},
    {offsetof(tla_config, va) + offsetof(tla_va_parameters, cost),
     {offsetof(cost, alloc_ps), offsetof(cost, bin_search_ps), offsetof(cost, walk_ps), offsetof(cost, walk_node_ps),
      offsetof(cost, metadata_line_ps), offsetof(cost, chunk_ps), offsetof(cost, pte_write_ps),
      offsetof(cost, table_level_ps), offsetof(cost, invalidate_ps), offsetof(cost, class_lookup_ps),
      offsetof(cost, list_pop_ps), offsetof(cost, list_push_ps), offsetof(cost, slot_ps),
      offsetof(cost, driver_call_ps), offsetof(cost, clock_ps)}},
};

#if defined(__GNUC__) && !defined(__clang__)
template <typename... Parts>
void clear_padding_of(Parts &...parts) {
    (__builtin_clear_padding(&parts), ...);
}

// False where the compiler cannot. Part by part too: of the whole, GCC 12 does not clear what is deeper.
bool clear_padding(tla_config &c) {
    const auto clear_gap = [&](std::size_t begin, std::size_t end) { // and between two parts
        std::memset(reinterpret_cast<char *>(&c) + begin, 0, end - begin);
    };
    clear_gap(offsetof(tla_config, tcm_present) + sizeof c.tcm_present, offsetof(tla_config, va));
    clear_gap(offsetof(tla_config, hbm_timing) + sizeof c.hbm_timing, offsetof(tla_config, hbm_energy));
    clear_gap(offsetof(tla_config, hbm_energy) + sizeof c.hbm_energy, offsetof(tla_config, parts_energy));
    clear_gap(offsetof(tla_config, parts_energy) + sizeof c.parts_energy, offsetof(tla_config, tcm));
    clear_gap(offsetof(tla_config, host_memory_timing) + sizeof c.host_memory_timing, offsetof(tla_config, controller));
    clear_gap(offsetof(tla_config, links) + sizeof c.links, offsetof(tla_config, dma));
    clear_padding_of(c.system, c.hbm, c.hbm_timing, c.hbm_energy, c.parts_energy, c.tcm, c.sram, c.m_cpu_memory,
                     c.host_memory, c.host_memory_timing, c.controller, c.mmu, c.pages, c.va, c.io_cpu, c.m_cpu,
                     c.topology, c.links, c.dma, c.pe, c.messages, c.host, c.simulation, c.faults, c.workload,
                     c.mmu.tlb_l1, c.mmu.tlb_l2, c.mmu.walkers, c.mmu.retry, c.pe.retry, c.pe.collectives,
                     c.messages.retry, c.host.retry, c.faults.plan, c.controller.memory, c.controller.move,
                     c.controller.compaction);
    for (tla_memory_part &part : c.controller.memory.of)
        clear_padding_of(part);
    // Nor what is behind an array.
    char *const at = reinterpret_cast<char *>(&c.controller.memory);
    std::memset(at + offsetof(memory, guarded) + sizeof(bool), 0,
                offsetof(memory, guard_history) - offsetof(memory, guarded) - sizeof(bool));
    using parameters = tla_controller_parameters;
    std::memset(reinterpret_cast<char *>(&c.controller) + offsetof(parameters, object_signals) + sizeof(bool), 0,
                offsetof(parameters, move) - offsetof(parameters, object_signals) - sizeof(bool));
    const std::size_t behind_firmware = offsetof(parameters, firmware) + sizeof(tla_riscv_timing);
    std::memset(reinterpret_cast<char *>(&c.controller) + behind_firmware, 0,
                offsetof(parameters, cost) - behind_firmware);
    const std::size_t end = offsetof(memory, layout) + sizeof(tla_address_layout);
    std::memset(at + end, 0, sizeof(memory) - end);
    return true;
}
#else
bool clear_padding(tla_config &) {
    return false;
}
#endif

struct row {
    const tla_schema_key &key;
    tla_value default_value;
};

std::vector<row> rows() {
    std::vector<row> result;
    for (std::size_t i = 0; i < tla_platform_key_count; i++) {
        const tla_schema_key &key = tla_platform_keys[i];
        tla_value value{};
        tla_error error{};
        BOOST_REQUIRE_MESSAGE(tla_value_parse(&key.form, key.default_text, &value, &error) == TLA_OK,
                              key.key << ": " << error.text);
        result.push_back({key, value});
    }
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(every_byte_of_a_parameter_belongs_to_one_key_or_follows_from_others) {
    tla_config marked;
    std::memset(&marked, 1, sizeof marked);
    if (!clear_padding(marked)) {
        std::cout << "test skipped: GCC's __builtin_clear_padding is not here" << std::endl;
        return;
    }
    std::vector<int> owners(sizeof marked, 0);
    const auto take = [&](std::size_t offset, std::size_t size) {
        for (std::size_t i = offset; i < offset + size; i++)
            owners[i]++;
    };
    for (const row &r : rows())
        take(r.key.offset, r.key.size);
    for (const member &m : without_key)
        take(m.offset, m.size);
    for (const auto &[base, prices] : prices_without_key)
        for (const std::size_t price : prices)
            take(base + price, sizeof(std::uint64_t));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < sizeof marked; i++)
        if (reinterpret_cast<const unsigned char *>(&marked)[i] != 0 && owners[i] != 1 && wrong++ < 8)
            BOOST_ERROR("byte " << i << " of tla_config belongs to " << owners[i] << " keys or rules");
}

BOOST_AUTO_TEST_CASE(every_default_lies_in_its_range_and_reads_back_as_it_is_printed) {
    for (const row &r : rows()) {
        const tla_schema_key &key = r.key;
        tla_config config{};
        tla_error error{};
        BOOST_CHECK_MESSAGE(tla_schema_store(&key, &config, key.default_text, &error) == TLA_OK,
                            key.key << ": " << error.text);
        const tla_value stored = tla_schema_get(&key, &config);
        BOOST_CHECK_EQUAL(stored.number, r.default_value.number); // it fits its member
        BOOST_CHECK_EQUAL(stored.text, r.default_value.text);
        tla_value again{};
        const std::string printed = tla_value_print(&key.form, &stored).text;
        BOOST_REQUIRE_MESSAGE(tla_value_parse(&key.form, printed.c_str(), &again, &error) == TLA_OK, printed);
        BOOST_CHECK_EQUAL(again.number, stored.number);
        BOOST_CHECK_EQUAL(again.text, stored.text);
    }
}

// A reader has room for so many sections in one another.
BOOST_AUTO_TEST_CASE(no_key_lies_in_more_sections_than_a_reader_keeps) {
    for (const row &r : rows()) {
        const std::string key = r.key.key;
        BOOST_CHECK_LE(std::count(key.begin(), key.end(), '.'), TLA_CONFIG_SECTIONS_DEEP);
    }
}

BOOST_AUTO_TEST_CASE(every_member_holds_every_value_of_its_range) {
    for (const row &r : rows()) {
        const tla_schema_key &key = r.key;
        tla_config config{};
        for (const std::uint64_t number : {key.min, key.max}) {
            tla_value limit{};
            limit.number = number;
            if (!tla_schema_is_number(&key)) continue;
            tla_schema_set(&key, &config, &limit);
            BOOST_CHECK_MESSAGE(tla_schema_get(&key, &config).number == number, key.key);
        }
    }
}

// What a C++ user begins with and what an empty file says, of every struct that a module takes.
BOOST_AUTO_TEST_CASE(the_structs_of_modules_begin_as_an_empty_configuration_has_them) {
    tla_config empty = good(""), filled{};
    std::memset(&filled, 0xa5, sizeof filled);
    filled.system = empty.system; // of the platform itself, not of a module
    filled.hbm_timing = empty.hbm_timing;
    filled.host_memory_timing = empty.host_memory_timing;
    filled.hbm_energy = empty.hbm_energy;
    filled.parts_energy = empty.parts_energy;
    filled.links = empty.links;
    std::memcpy(filled.cost_profile, empty.cost_profile, sizeof empty.cost_profile);
    filled.pages = empty.pages;
    filled.tcm_present = empty.tcm_present;
    filled.faults = empty.faults;
    filled.workload = empty.workload;
    tla_hbm_defaults(&filled.hbm);
    tla_tcm_defaults(&filled.tcm);
    tla_sram_defaults(&filled.sram);
    tla_m_cpu_memory_defaults(&filled.m_cpu_memory);
    tla_host_memory_defaults(&filled.host_memory);
    tla_controller_defaults(&filled.controller);
    tla_mmu_defaults(&filled.mmu);
    tla_va_defaults(&filled.va);
    tla_io_cpu_defaults(&filled.io_cpu);
    tla_m_cpu_defaults(&filled.m_cpu);
    tla_topology_defaults(&filled.topology);
    tla_dma_defaults(&filled.dma);
    tla_pe_defaults(&filled.pe);
    tla_messages_defaults(&filled.messages);
    tla_host_defaults(&filled.host);
    tla_simulation_defaults(&filled.simulation);
    BOOST_CHECK(tla_config_equal(&filled, &empty));
    if (clear_padding(filled) && clear_padding(empty)) // what follows from others too
        BOOST_CHECK(std::memcmp(&filled, &empty, sizeof empty) == 0);
}

// A profile, a fault plan and a guard reach the parts that they concern.
BOOST_AUTO_TEST_CASE(the_configuration_derives_values_from_several_keys) {
    const tla_config c = good("system: {pes_per_cube: 8}\nhbm: {capacity_per_cube: 16 GiB}\ntcm: {capacity: 2 MiB}\n"
                              "controller: {guard: report, free_list: hbm, list_reserve: 4 KiB}\n"
                              "mmu: {page_size: 64 KiB, pages_2m: true, pages_1g: true}\nva: {page_size: 2 MiB}\n"
                              "host: {retries: 7, retry_delay: 3 ns}\nsimulation: {quantum: 5 ns, look_ahead: 1 ms}\n"
                              "faults: {plan: refuse pe=1 at=2ns, seed: 9}\n");
    BOOST_CHECK_EQUAL(c.hbm.capacity, std::uint64_t{2} << 30);
    BOOST_CHECK_EQUAL(c.controller.memory.of[TLA_HBM].bytes, std::uint64_t{2} << 30);
    BOOST_CHECK_EQUAL(c.controller.memory.of[TLA_TCM].bytes, 2u << 20);
    BOOST_CHECK_EQUAL(c.mmu.larger_page_sizes[0], 2u << 20);
    BOOST_CHECK_EQUAL(c.mmu.larger_page_sizes[1], 1u << 30);
    BOOST_CHECK_EQUAL(c.mmu.larger_page_sizes[2], 0u);
    BOOST_CHECK_EQUAL(c.va.space.larger_page_sizes[0], 1u << 30);
    BOOST_CHECK_EQUAL(c.va.space.larger_page_sizes[1], 0u);
    BOOST_CHECK_EQUAL(c.host.page_size, 2u << 20);
    BOOST_CHECK_EQUAL(c.host.hbm_reserved, 4096u);
    BOOST_CHECK_EQUAL(c.host.tcm_reserved, 1u << 20);
    BOOST_CHECK_EQUAL(c.mmu.retry.retries, 7u);
    BOOST_CHECK_EQUAL(c.pe.retry.delay_ps, 3000u);
    BOOST_CHECK_EQUAL(c.pe.quantum_ps, 5000u);
    BOOST_CHECK_EQUAL(c.simulation.look_ahead_ps, 1'000'000'000u);
    BOOST_CHECK(c.dma.tell_extent);
    BOOST_CHECK_EQUAL(c.faults.plan.count, 1u);
    BOOST_CHECK_EQUAL(c.faults.plan.seed, 9u);
    BOOST_CHECK(!c.host.moves);
    BOOST_CHECK(good("controller: {move: stop}\n").host.moves);
    BOOST_CHECK_EQUAL(c.faults.plan.faults[0].at_ps, 2000u);
    BOOST_CHECK(!good("controller: {free_list: sram, list_reserve: 4 KiB}\n").host.hbm_reserved);
    const tla_config other = good("mmu: {asids: 4}\nworkload: {asid: 3}\n");
    BOOST_CHECK(other.host.asid == 3 && other.dma.asid == 3 && other.pe.asid == 3);
}
