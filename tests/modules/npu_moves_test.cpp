// Blocks of tensors that move while kernels use them, in a platform: runtime::move, and the way of its commands.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "float_tensors.hpp"
#include "platform_bench.hpp"
#include "tlmalloc/modules/command_sender.hpp"

#include <algorithm>
#include <random>

namespace {

using namespace platform_benches;

constexpr std::uint64_t chunk = 512, chunks = 8, part = chunk * chunks;

// Each PE adds 1 to all its numbers, chunk by chunk, as often as the second argument says.
const tl_kernel counting_kernel = [](tl_context *tl) {
    tl_tile ones{}, tile{};
    const std::uint64_t base = tl_argument(tl, 0) + tl_program_id(tl, TL_ALL) * part;
    tla_status status = tl_alloc(tl, 1, chunk / 4, TL_F32, &ones);
    if (!status) status = tl_alloc(tl, 1, chunk / 4, TL_F32, &tile);
    if (!status) status = tl_fill(tl, &ones, 1);
    for (std::uint64_t round = 0; round < tl_argument(tl, 1) && !status; round++)
        for (std::uint64_t c = 0; c < chunks && !status; c++) {
            status = tl_load(tl, &tile, {base + c * chunk}, chunk);
            if (!status) status = tl_add(tl, &tile, &tile, &ones);
            if (!status) status = tl_store(tl, {base + c * chunk}, chunk, &tile);
        }
    tl_free(tl, &tile);
    tl_free(tl, &ones);
    return status;
};

// Somebody else than the host, who sends commands to the PEs' controllers.
struct outsider : sc_core::sc_module {
    outsider(sc_core::sc_module_name name, npu &platform) : sc_module(name) {
        for (pe_unit *pe : platform.pes()) {
            sockets.push_back(std::make_unique<tlm_utils::simple_initiator_socket<outsider>>(
                ("pe" + std::to_string(sockets.size())).c_str()));
            sockets.back()->bind(pe->controller.control);
        }
    }
    std::vector<std::unique_ptr<tlm_utils::simple_initiator_socket<outsider>>> sockets;
};

struct bench {
    explicit bench(const std::vector<std::string> &more)
        : config(platform_bench::load({"controller.tcm_policy=best_fit", "controller.move_chunk=512 B"}, more)) {
        own.waits = true;
    }

    void run(const std::function<void()> &body) {
        platform.host().main = [&] {
            body();
            BOOST_CHECK_EQUAL(platform.host().cleanup(&error), TLA_OK);
            BOOST_CHECK_EQUAL(platform.leaks(), 0u);
            finished = true;
        };
        sc_core::sc_report_handler::set_handler(keep_report);
        sc_core::sc_start();
        BOOST_CHECK(finished);
    }

    tensor *make(tlmalloc::runtime::sharding where) {
        tensor *made = nullptr;
        const std::uint64_t bytes = (where.kind == spread::replicate ? 1 : where.pes.size()) * part;
        BOOST_REQUIRE_EQUAL(platform.host().create_tensor("t", bytes / 4, 4, where, &made, &error), TLA_OK);
        return made;
    }
    tensor *make() { return make(platform.host().everywhere()); }

    tla_status move(tensor *t, std::size_t number, tla_memory_kind memory) {
        return platform.host().move(t, number, memory, &error, &done);
    }

    std::vector<float> read(const tensor *t) { return read_floats(platform.host(), t, error); }
    void write(const tensor *t, const std::vector<float> &numbers) { write_floats(platform.host(), t, numbers, error); }

    tla_status move_from_outside(std::size_t pe, tla_paddr pa, tla_memory_kind memory) {
        tla_command command{};
        command.opcode = TLA_OP_MOVE;
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        command.pa = pa;
        command.memory = memory;
        sc_core::sc_time delay;
        const tla_status status = send_command(*outside.sockets[pe], 15 * TLA_PORT_BYTES, command, done, delay, &own);
        sc_core::wait(delay);
        return status;
    }

    tla_config config;
    npu platform{"npu", config, {&counting_kernel, 1}};
    outsider outside{"outside", platform};
    requester own{0, 0, true};
    bool finished = false;
    tla_error error{};
    tla_completion done{};
};

} // namespace

static void check_moves_during_a_launch(const std::vector<std::string> &keys, unsigned seed) {
    bench b(keys);
    std::mt19937 random(seed);
    b.run([&] {
        const std::size_t pes = b.platform.pes().size();
        const std::uint64_t rounds = 20;
        tensor *t = b.make();
        std::vector<float> numbers(t->nbytes / 4);
        std::generate(numbers.begin(), numbers.end(), [&] { return static_cast<float>(random() % 1000); });
        b.write(t, numbers);
        bool launched = false;
        sc_core::sc_event end;
        sc_core::sc_spawn([&] {
            tla_error why{};
            BOOST_CHECK_MESSAGE(!b.platform.host().launch(0, {t->va.value, rounds}, &why), why.text);
            launched = true;
            end.notify(sc_core::SC_ZERO_TIME);
        });
        unsigned moves = 0;
        while (!launched) {
            const std::uint64_t before = t->shards[moves % pes].pa.value;
            const tla_memory_kind to = random() % 2 ? TLA_HBM : TLA_TCM;
            BOOST_CHECK_MESSAGE(!b.move(t, moves % pes, to), b.error.text);
            BOOST_CHECK(t->shards[moves % pes].pa.value != before);
            moves++;
            sc_core::wait(static_cast<double>(random() % 2000), sc_core::SC_NS);
        }
        BOOST_CHECK_GT(moves, 2u);
        for (float &number : numbers)
            number += static_cast<float>(rounds);
        BOOST_CHECK(b.read(t) == numbers);
    });
    std::uint64_t moved = 0, stops = 0;
    for (const pe_unit *pe : b.platform.pes())
        for (const tla_memory_kind kind : {TLA_HBM, TLA_TCM}) {
            const memory_controller::statistics s = pe->controller.get_statistics(kind);
            moved += s.moved_bytes;
            stops += s.stop_ps;
        }
    BOOST_CHECK_GT(moved, 0u);
    BOOST_CHECK_GT(stops, 0u);
}

BOOST_AUTO_TEST_CASE(kernels_find_their_numbers_while_their_blocks_stop_and_move) {
    check_moves_during_a_launch({"controller.move=stop"}, 1);
}

BOOST_AUTO_TEST_CASE(kernels_find_their_numbers_while_their_blocks_move) {
    check_moves_during_a_launch({"controller.move=concurrent"}, 2);
}

BOOST_AUTO_TEST_CASE(kernels_with_a_tlb_and_walkers_find_their_numbers_while_their_blocks_move) {
    check_moves_during_a_launch({"controller.move=concurrent", "mmu.walk=flat", "mmu.tlb_l1.entries=4"}, 3);
}

BOOST_AUTO_TEST_CASE(kernels_whose_tables_lie_in_memory_find_their_numbers_while_their_blocks_move) {
    check_moves_during_a_launch({"controller.move=concurrent", "mmu.walk=memory"}, 4);
}

BOOST_AUTO_TEST_CASE(kernels_of_two_sips_find_their_numbers_while_their_blocks_move) {
    check_moves_during_a_launch({"controller.move=concurrent", "system.sips=2", "system.cube_mesh_width=2"}, 5);
}

BOOST_AUTO_TEST_CASE(kernels_under_a_guard_find_their_numbers_while_their_blocks_move) {
    check_moves_during_a_launch({"controller.move=concurrent", "controller.guard=error"}, 6);
}

// The host writes and reads a tensor by physical addresses, and frees it, while somebody else moves its blocks.
static void check_moves_under_the_host(const std::vector<std::string> &keys, unsigned seed) {
    bench b(keys);
    std::mt19937 random(seed);
    unsigned moved = 0, rejected = 0;
    b.run([&] {
        const std::size_t pes = b.platform.pes().size();
        tensor *t = nullptr;
        bool ends = false;
        sc_core::sc_event ended;
        sc_core::sc_spawn([&] {
            while (!ends) {
                sc_core::wait(static_cast<double>(random() % 1000), sc_core::SC_NS);
                if (!t) continue;
                const std::size_t pe = random() % pes;
                const tla_status status = b.move_from_outside(pe, t->shards[pe].pa, random() % 2 ? TLA_HBM : TLA_TCM);
                (status ? rejected : moved)++;
            }
            ended.notify(sc_core::SC_ZERO_TIME);
        });
        for (unsigned round = 0; round < 20; round++) {
            tensor *made = b.make();
            t = made;
            for (unsigned step = 0; step < 4; step++) {
                const std::vector<float> numbers(made->nbytes / 4, static_cast<float>(random() % 1000));
                b.write(made, numbers);
                sc_core::wait(static_cast<double>(random() % 3000), sc_core::SC_NS);
                BOOST_CHECK(b.read(made) == numbers);
            }
            t = nullptr;
            BOOST_CHECK_MESSAGE(!b.platform.host().free_tensor(made, &b.error), b.error.text);
        }
        ends = true;
        sc_core::wait(ended);
    });
    BOOST_CHECK_GT(moved, 20u);
    BOOST_TEST_MESSAGE(moved << " moves, " << rejected << " rejected");
}

BOOST_AUTO_TEST_CASE(the_host_finds_the_bytes_of_blocks_that_others_stop_and_move) {
    check_moves_under_the_host({"controller.move=stop", "host.retries=100"}, 7);
}

BOOST_AUTO_TEST_CASE(the_host_finds_the_bytes_of_blocks_that_others_move) {
    check_moves_under_the_host({"controller.move=concurrent", "host.retries=100"}, 8);
}

BOOST_AUTO_TEST_CASE(copies_of_a_tensor_move_by_themselves) {
    bench b({"controller.move=stop", "system.cube_mesh_width=2"});
    b.run([&] {
        tensor *t = b.make({b.platform.host().everywhere().pes, spread::replicate});
        const std::vector<float> numbers(t->nbytes / 4, 5);
        b.write(t, numbers);
        BOOST_REQUIRE_EQUAL(t->shards.size(), 4u); // two of each cube
        const std::uint64_t first = t->shards[0].pa.value, second = t->shards[2].pa.value;
        BOOST_CHECK_EQUAL(b.move_from_outside(2, {second}, TLA_TCM), TLA_OK);
        BOOST_CHECK_EQUAL(t->shards[0].pa.value, first);
        BOOST_CHECK_EQUAL(t->shards[2].pa.value, b.done.value);
        BOOST_CHECK(t->shards[2].pa.value != second);
        BOOST_CHECK(b.read(t) == numbers);
    });
}

BOOST_AUTO_TEST_CASE(pages_on_demand_move_as_other_blocks) {
    bench b({"controller.move=stop", "mmu.unmapped=demand"});
    b.run([&] {
        tensor *t = b.make({b.platform.host().everywhere().pes, spread::demand});
        tla_error why{};
        BOOST_CHECK_MESSAGE(!b.platform.host().launch(0, {t->va.value, 1}, &why), why.text);
        BOOST_REQUIRE(!t->shards.empty());
        const std::vector<float> before = b.read(t);
        for (std::size_t i = 0; i < t->shards.size(); i++)
            BOOST_CHECK_MESSAGE(!b.move(t, i, i % 2 ? TLA_HBM : TLA_TCM), b.error.text);
        BOOST_CHECK(b.read(t) == before);
        BOOST_CHECK_MESSAGE(!b.platform.host().launch(0, {t->va.value, 1}, &why), why.text);
        BOOST_CHECK(b.read(t) != before);
    });
}

BOOST_AUTO_TEST_CASE(blocks_in_the_memories_of_cubes_and_of_the_host_move_within_them) {
    bench b({"controller.move=stop", "host_memory.capacity=1 MiB"});
    b.run([&] {
        for (const tla_memory_kind memory : {TLA_SRAM, TLA_M_CPU_MEMORY, TLA_HOST_MEMORY}) {
            tensor *t = b.make({b.platform.host().everywhere().pes, spread::split, memory});
            std::vector<float> numbers(t->nbytes / 4, 3);
            b.write(t, numbers);
            const std::uint64_t before = t->shards[1].pa.value;
            BOOST_CHECK_MESSAGE(!b.move(t, 1, memory), b.error.text);
            BOOST_CHECK(t->shards[1].pa.value != before);
            BOOST_CHECK(b.read(t) == numbers);
            tla_error why{};
            BOOST_CHECK_MESSAGE(!b.platform.host().launch(0, {t->va.value, 1}, &why), why.text);
            BOOST_CHECK(b.read(t) == std::vector<float>(numbers.size(), 4));
        }
    });
}

BOOST_AUTO_TEST_CASE(moves_that_cannot_be_say_why_and_leave_the_block) {
    bench b({"controller.move=stop", "tcm.scheduler_reserve=0 B", "tcm.capacity=64 KiB"});
    b.run([&] {
        tensor *t = b.make(), *filler = nullptr;
        const std::uint64_t pa = t->shards[0].pa.value;
        const auto check = [&](tla_status status, const std::string &text) {
            BOOST_CHECK_EQUAL(status, b.error.status);
            BOOST_CHECK_MESSAGE(std::string(b.error.text).find(text) != std::string::npos, b.error.text);
            BOOST_CHECK_EQUAL(t->shards[0].pa.value, pa);
        };
        tensor foreign = *t;
        check(b.move(&foreign, 0, TLA_TCM), "unknown tensor");
        check(b.move(t, 2, TLA_TCM), "tensor t: move of part 2: the tensor has 2 parts");
        check(b.move(t, 0, TLA_SRAM), "move of part 0 to the SRAM of sip0.cube0: its controller does not have this");
        check(b.move(t, 0, TLA_HOST_MEMORY), "the host has no memory in this platform");
        const std::vector<pe_location> first{b.platform.pes()[0]->where};
        BOOST_REQUIRE_EQUAL(
            b.platform.host().create_tensor("f", 62 * 1024, 1, {first, spread::split, TLA_TCM}, &filler, &b.error),
            TLA_OK);
        check(b.move(t, 0, TLA_TCM), "TCM of sip0.cube0.pe0 overflow: requested 4096 bytes, 2048 free");
        tensor *fixed = b.make({first, spread::split, TLA_HBM, false, true});
        BOOST_CHECK_EQUAL(b.move(fixed, 0, TLA_HBM), TLA_UNSUPPORTED);
        BOOST_CHECK_EQUAL(b.error.text, std::string("tensor t: move of part 0: it is fixed, or belongs to a plan, and "
                                                    "is reached by physical addresses"));
    });
}

BOOST_AUTO_TEST_CASE(without_the_key_no_block_moves) {
    bench b({});
    b.run([&] {
        tensor *t = b.make();
        BOOST_CHECK_EQUAL(b.move(t, 0, TLA_TCM), TLA_UNSUPPORTED);
        BOOST_CHECK_EQUAL(b.error.text,
                          std::string("tensor t: move of part 0: set controller.move to stop or concurrent"));
    });
}

BOOST_AUTO_TEST_CASE(a_pool_keeps_its_blocks_in_their_places) {
    bench b({"controller.move=stop", "host.pool=caching_pool"});
    b.run([&] {
        tensor *t = b.make();
        BOOST_CHECK_EQUAL(b.move(t, 0, TLA_TCM), TLA_UNSUPPORTED);
        BOOST_CHECK_EQUAL(b.error.text, std::string("tensor t: move of part 0: set host.pool to none"));
    });
}
