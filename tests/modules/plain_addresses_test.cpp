// A memory_controller whose addresses are a base plus an offset: in commands, data, debug and DMI, for every base the
// same as at base 0.
#include "controller_bench.hpp"
#include "tests/unit/seeded_random.hpp"
#include "tlmalloc/config.h"
#include "tlmalloc/modules/npu.hpp"

#include <deque>

using namespace controller_bench;

namespace {

memory_controller::config plain(std::uint64_t hbm_base, std::uint64_t tcm_base) {
    memory_controller::config config = small();
    config.memory.sip = config.memory.die = config.memory.pe = 0;
    config.memory.layout = TLA_LAYOUT_PLAIN;
    config.memory.of[TLA_HBM].base = hbm_base;
    config.memory.of[TLA_TCM].base = tcm_base;
    return config;
}

struct place : sc_core::sc_module { // several benches in a simulation
    bench of;
    place(sc_core::sc_module_name name, std::uint64_t hbm_base) : sc_module(name), of(plain(hbm_base, 0x1234'0000)) {}
};

} // namespace

BOOST_AUTO_TEST_CASE(data_debug_and_dmi_go_to_base_and_offset_and_commands_answer_so) {
    bench b(plain(0x8000'0000, 0x1000));
    b.run([&] {
        const tla_completion block = b.cpu.command(0, alloc_command(TLA_HBM, 4096));
        BOOST_REQUIRE_EQUAL(block.value, 0x8000'0000u);
        BOOST_CHECK_EQUAL(b.cpu.command(0, alloc_command(TLA_TCM, 16)).value, 0x1000u);
        b.data.write(block.value + 100, {1, 2, 3});
        bytes seen(3);
        BOOST_CHECK_EQUAL(b.data.debug(tlm::TLM_READ_COMMAND, block.value + 100, seen), 3u);
        BOOST_CHECK(seen == bytes({1, 2, 3}));
        const std::uint8_t *direct = b.data.pointer_to(block.value + 100);
        BOOST_REQUIRE(direct);
        BOOST_CHECK_EQUAL(direct[1], 2);
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(block.value, 4096)).status, TLA_OK);
        BOOST_REQUIRE_EQUAL(b.data.lost.size(), 1u);
        BOOST_CHECK(b.data.lost[0] == std::make_pair(std::uint64_t{0x8000'0000}, std::uint64_t{0x8000'0fff}));
        sc_core::sc_time delay;
        for (const std::uint64_t nowhere : {0x7fff'ffffu, 0x8000'0000u + unsigned(slice_bytes), 0xfffu})
            BOOST_CHECK_EQUAL(b.data.read(nowhere, seen, delay), tlm::TLM_ADDRESS_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(b.cpu.command(0, free_command(TLA_KERNBENCH_HBM_BASE, 1)).status, TLA_OUT_OF_RANGE);
    });
}

BOOST_AUTO_TEST_CASE(bases_that_overlap_are_an_error_that_names_both) {
    check_refused([] { memory_controller("controller", plain(0x8000'0000, 0x8000'1000)); },
                  "/tlmalloc/memory_controller/config: memory: HBM at 0x80000000 .. 0x800fffff and TCM at 0x80001000 "
                  ".. 0x80010fff overlap");
}

BOOST_AUTO_TEST_CASE(a_memory_that_passes_2_to_the_64_is_an_error) {
    check_refused(
        [] { memory_controller("controller", plain(UINT64_MAX - 1000, 0)); },
        "/tlmalloc/memory_controller/config: memory: HBM: base 0xfffffffffffffc17 + 1048576 bytes ends past 2^64");
}

BOOST_AUTO_TEST_CASE(a_configuration_gives_its_controller_plain_addresses) {
    const char *const keys[] = {"controller.addresses=plain", "hbm.base=2 GiB", "tcm.base=4 KiB", "tcm.capacity=2 MiB",
                                "hbm.capacity_per_cube=64 MiB"};
    tla_config config{};
    BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, keys, std::size(keys), &config, nullptr, nullptr), TLA_OK);
    const memory_controller::config made = controller_config(config, {1, 2, 3}); // of whatever PE
    memory_controller controller("controller", made);
    hbm_slice slice("slice", slice_config(config, {1, 2, 3}));
    tcm local("tcm", tcm_config(config));
    controller.slice.bind(slice.in);
    controller.tcm.bind(local.in);
    initiator cpu("cpu"), data("data");
    cpu.out.bind(controller.control);
    data.out.bind(controller.in);
    cpu.body = [&] {
        BOOST_CHECK_EQUAL(cpu.command(0, alloc_command(TLA_HBM, 4096)).value, 0x8000'0000u);
        BOOST_CHECK_EQUAL(cpu.command(0, alloc_command(TLA_TCM, 16)).value, 0x1000u);
        data.write(0x8000'0000, {1, 2, 3});
        BOOST_CHECK(data.read(0x8000'0000, 3) == bytes({1, 2, 3}));
    };
    simulate({&cpu});
    BOOST_CHECK_EQUAL(cube_controller_config(config, 0, 0, TLA_SRAM).memory.layout, TLA_LAYOUT_KERNBENCH);
    BOOST_CHECK_EQUAL(host_controller_config(config).memory.layout, TLA_LAYOUT_KERNBENCH);
}

BOOST_AUTO_TEST_CASE(an_npu_has_no_plain_addresses) {
    tla_config config{};
    BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, nullptr, 0, &config, nullptr, nullptr), TLA_OK);
    config.controller.memory.layout = TLA_LAYOUT_PLAIN;
    check_refused([&] { fabric_config(config); },
                  "/tlmalloc/npu/topology: controller.addresses plain is for a single controller only: an npu has many "
                  "memories of a kind and needs the layout of phys_addr.h");
}

// Random commands of all sizes: but for the base, answers do not depend on it.
BOOST_AUTO_TEST_CASE(answers_differ_by_the_base_alone) {
    const std::uint64_t bases[] = {0, 0x8000'0000, std::uint64_t{0} - slice_bytes};
    std::vector<std::uint64_t> said[3];
    std::deque<place> places;
    for (std::size_t i = 0; i < 3; i++) {
        bench &b = places.emplace_back(("place" + std::to_string(i)).c_str(), bases[i]).of;
        b.cpu.body = [&b, &answers = said[i], base = bases[i]] {
            seeded_random random(18);
            std::vector<std::pair<std::uint64_t, std::uint64_t>> live;
            for (int n = 0; n < 2000; n++) {
                const bool take = live.empty() || random.between(1, 5) <= 3;
                const std::size_t at = live.empty() ? 0 : random.between(0, live.size() - 1);
                const std::uint64_t nbytes = random.between(1, 5000);
                const tla_completion answer = b.cpu.command(
                    0, take ? alloc_command(TLA_HBM, nbytes) : free_command(base + live[at].first, live[at].second));
                const std::uint64_t offset = take && !answer.status ? answer.value - base : answer.value;
                answers.insert(answers.end(), {std::uint64_t(answer.status), offset, answer.nodes_visited,
                                               answer.largest_free, answer.service_ps});
                if (take && !answer.status) live.push_back({offset, nbytes});
                if (!take) live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
            }
        };
    }
    simulate({&places[0].of.cpu, &places[1].of.cpu, &places[2].of.cpu});
    BOOST_CHECK_EQUAL(said[0].size(), 10'000u);
    BOOST_CHECK(said[0] == said[1]);
    BOOST_CHECK(said[0] == said[2]);
}
