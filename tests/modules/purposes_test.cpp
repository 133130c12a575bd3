// Why memories are accessed, in platforms: each purpose is counted where it must be, and all purposes add up to the
// totals.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "apart.hpp"
#include "platform_bench.hpp"
#include "random_platform.hpp"
#include "scratch_directory.hpp"

#include <array>
#include <numeric>

namespace {

using namespace platform_benches;

struct moved { // bytes, by purpose
    std::array<std::uint64_t, TLA_PURPOSE_COUNT> read{}, written{};
};

// Adds a memory's bytes to `all`; false if they do not add up to its totals.
template <typename Statistics>
bool add(const Statistics &s, moved &all) {
    for (std::size_t i = 0; i < TLA_PURPOSE_COUNT; i++) {
        all.read[i] += s.bytes_read_for[i];
        all.written[i] += s.bytes_written_for[i];
    }
    return std::accumulate(std::begin(s.bytes_read_for), std::end(s.bytes_read_for), std::uint64_t{0}) ==
               s.bytes_read &&
           std::accumulate(std::begin(s.bytes_written_for), std::end(s.bytes_written_for), std::uint64_t{0}) ==
               s.bytes_written;
}

bool commands_add_up(const hbm_slice::statistics &s) {
    std::uint64_t commands[TLA_HBM_OPS] = {}, activates = 0;
    for (const int op : {TLA_HBM_READ, TLA_HBM_WRITE}) {
        commands[op] = std::accumulate(std::begin(s.commands_for[op]), std::end(s.commands_for[op]), std::uint64_t{0});
        activates = std::accumulate(std::begin(s.activates_for[op]), std::end(s.activates_for[op]), activates);
        for (std::size_t i = 0; i < TLA_PURPOSE_COUNT; i++) // no access, no command
            if (s.commands_for[op][i] > 0 && (op == TLA_HBM_READ ? s.bytes_read_for : s.bytes_written_for)[i] == 0)
                return false;
    }
    return commands[TLA_HBM_READ] == s.read_commands && commands[TLA_HBM_WRITE] == s.write_commands &&
           activates == s.activates;
}

struct counted {
    moved slices, tcms, shared, host; // shared: by a cube
    bool adds_up = true;

    explicit counted(npu &platform) {
        for (const pe_unit *pe : platform.pes()) {
            const hbm_slice::statistics s = pe->slice.get_statistics();
            adds_up = add(s, slices) && commands_add_up(s) && adds_up;
            adds_up = add(pe->tcm.get_statistics(), tcms) && adds_up;
        }
        for (const cube_memory *memory : platform.cube_memories())
            adds_up = add(memory->memory.get_statistics(), shared) && adds_up;
        if (platform.memory_of_host())
            adds_up = add(platform.memory_of_host()->memory.get_statistics(), host) && adds_up;
    }
};

constexpr std::uint64_t part = 2048;

// Copies the PE's part of a tensor, and sends it to the other PE.
const tl_kernel sending_kernel = [](tl_context *tl) {
    const std::uint64_t id = tl_program_id(tl, TL_ALL);
    tl_tile tile{}, other{};
    tla_status status = tl_alloc(tl, 1, part / 4, TL_F32, &tile);
    if (!status) status = tl_alloc(tl, 1, part / 4, TL_F32, &other);
    if (!status) status = tl_load(tl, &tile, {tl_argument(tl, 0) + id * part}, part);
    if (!status) status = tl_store(tl, {tl_argument(tl, 1) + id * part}, part, &tile);
    if (!status && id == 0) status = tl_send(tl, 1, &tile);
    if (!status && id == 1) status = tl_recv(tl, 0, &other);
    tl_free(tl, &other);
    tl_free(tl, &tile);
    return status;
};

// Two PEs copy a tensor, one sends its part to the other, and a block moves into the TCM.
moved copy_and_send(const std::vector<std::string> &more, moved *tcms = nullptr) {
    tla_config config = platform_bench::load({"hbm.timing=hbm2", "controller.move=stop"}, more);
    const tl_kernel kernels[] = {sending_kernel};
    npu platform{"npu", config, {kernels, 1}};
    host &h = platform.host();
    bool finished = false;
    h.main = [&] {
        tla_error error{};
        tensor *from = nullptr, *to = nullptr;
        const bytes data(2 * part, 7);
        bytes back(2 * part);
        BOOST_REQUIRE_EQUAL(h.create_tensor("from", 2 * part, 1, h.everywhere(), &from, &error), TLA_OK);
        BOOST_REQUIRE_EQUAL(h.create_tensor("to", 2 * part, 1, h.everywhere(), &to, &error), TLA_OK);
        BOOST_CHECK_EQUAL(h.write_tensor(*from, data.data(), &error), TLA_OK);
        BOOST_CHECK_MESSAGE(!h.launch(0, {from->va.value, to->va.value}, &error), error.text);
        BOOST_CHECK_EQUAL(h.read_tensor(*to, back.data(), &error), TLA_OK);
        BOOST_CHECK(back == data);
        if (config.controller.free_list == TLA_LIST_REGISTERS) // blocks under a list in memory stay
            BOOST_CHECK_MESSAGE(!h.move(to, 0, TLA_TCM, &error, nullptr), error.text);
        BOOST_CHECK_EQUAL(h.cleanup(&error), TLA_OK);
        finished = true;
    };
    sc_core::sc_report_handler::set_handler(keep_report);
    sc_core::sc_start();
    BOOST_CHECK(finished);
    const counted all(platform);
    BOOST_CHECK(all.adds_up);
    if (tcms) *tcms = all.tcms;
    return all.slices;
}

void check(const moved &found, const moved &expected) {
    for (std::size_t i = 0; i < TLA_PURPOSE_COUNT; i++) {
        BOOST_TEST_CONTEXT(tla_purpose_name(static_cast<tla_purpose>(i))) {
            BOOST_CHECK_EQUAL(found.read[i], expected.read[i]);
            BOOST_CHECK_EQUAL(found.written[i], expected.written[i]);
        }
    }
}

} // namespace

// In the order of tla_purpose: kernel, walk, allocator, mapping, move, message, host.
BOOST_AUTO_TEST_CASE(kernels_host_moves_and_messages_count_apart) {
    moved tcms;
    const moved slices = copy_and_send({}, &tcms);
    check(slices, {{2 * part, 0, 0, 0, part, 0, 2 * part}, {2 * part, 0, 0, 0, 0, 0, 2 * part}});
    check(tcms, {{2 * part, 0, 0, 0, 0, 2 * part, 0}, {2 * part, 0, 0, 0, part, 2 * part, 0}}); // the slot lies there
}

BOOST_AUTO_TEST_CASE(slots_in_a_slice_are_accessed_for_messages) {
    const moved slices = copy_and_send({"messages.memory=hbm"});
    check(slices, {{2 * part, 0, 0, 0, part, part, 2 * part}, {2 * part, 0, 0, 0, 0, part, 2 * part}});
}

BOOST_AUTO_TEST_CASE(tables_in_memory_are_written_by_mappings_and_read_by_walks) {
    const moved slices = copy_and_send({"mmu.walk=memory"});
    BOOST_CHECK_GT(slices.read[TLA_PURPOSE_WALK], 0u);
    BOOST_CHECK_EQUAL(slices.written[TLA_PURPOSE_WALK], 0u);
    BOOST_CHECK_GT(slices.written[TLA_PURPOSE_MAPPING], 0u);
    BOOST_CHECK_EQUAL(slices.read[TLA_PURPOSE_MAPPING], 0u);
    BOOST_CHECK_EQUAL(slices.read[TLA_PURPOSE_KERNEL], 2 * part);
    BOOST_CHECK_EQUAL(slices.read[TLA_PURPOSE_HOST], 2 * part);
}

BOOST_AUTO_TEST_CASE(free_lists_in_memory_are_accessed_for_the_allocator) {
    const moved slices = copy_and_send({"controller.free_list=hbm", "controller.list_reserve=64 KiB"});
    BOOST_CHECK_GT(slices.read[TLA_PURPOSE_ALLOCATOR], 0u);
    BOOST_CHECK_GT(slices.written[TLA_PURPOSE_ALLOCATOR], 0u);
    BOOST_CHECK_EQUAL(slices.written[TLA_PURPOSE_KERNEL], 2 * part);
}

// Pages that leave for the host's memory and return.
BOOST_AUTO_TEST_CASE(copies_of_pages_are_moves) {
    platform_bench b({"mmu.unmapped=demand", "mmu.eviction=clock", "host_memory.capacity=4 MiB",
                      "hbm.capacity_per_cube=64 KiB", "mmu.fault_latency=1 us", "dma.chunk=512 B", "hbm.timing=hbm4"},
                     {});
    const std::uint64_t nbytes = 128 << 10;
    b.run([&] {
        tensor *from = b.make(nbytes, TLA_HBM, {}, spread::demand), *to = b.make(nbytes, TLA_HBM, {}, spread::demand);
        b.write(from, bytes(nbytes, 3));
        BOOST_CHECK_EQUAL(b.platform.host().launch(0, {from->va.value, to->va.value, nbytes / 2}, &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.platform.host().cleanup(&b.error), TLA_OK);
    });
    const runtime::paging_counts pages = b.platform.host().paging_statistics();
    const counted all(b.platform);
    BOOST_CHECK(all.adds_up);
    BOOST_CHECK_GT(pages.fetched_bytes, 0u);
    BOOST_CHECK_GT(pages.written_bytes, 0u);
    BOOST_CHECK_EQUAL(all.slices.written[TLA_PURPOSE_MOVE], pages.fetched_bytes);
    BOOST_CHECK_EQUAL(all.host.read[TLA_PURPOSE_MOVE], pages.fetched_bytes);
    BOOST_CHECK_EQUAL(all.slices.read[TLA_PURPOSE_MOVE], pages.written_bytes);
    BOOST_CHECK_EQUAL(all.host.written[TLA_PURPOSE_MOVE], pages.written_bytes);
    BOOST_CHECK_EQUAL(all.slices.read[TLA_PURPOSE_KERNEL], nbytes);
}

BOOST_AUTO_TEST_CASE(purposes_add_up_on_random_platforms) {
    struct found {
        bool adds_up;
        char error[256];
    };
    const seeds all(20);
    for (std::uint64_t seed = all.first; seed < all.first + all.count; seed++) {
        const std::string name = "seed " + std::to_string(seed);
        const auto f = apart<found>(name, [&](found &result) {
            const scratch_directory scratch;
            random_platform drawn(seed);
            std::string topology;
            const std::vector<std::string> sets = drawn.settings(scratch.path("topology.yaml"), topology);
            if (!topology.empty()) scratch.write("topology.yaml", topology);
            comparison::compare(
                comparison::configuration(sets),
                [&](comparison::run &on) {
                    drawn.transfer(on);
                    result.adds_up = counted(on.platform()).adds_up;
                },
                sc_core::SC_ZERO_TIME);
        });
        BOOST_CHECK_MESSAGE(!*f.error && f.adds_up, name << ": " << f.error);
    }
}
