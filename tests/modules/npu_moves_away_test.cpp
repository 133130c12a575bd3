// Blocks of tensors that move to other controllers, also while kernels use them: runtime::move_to.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "float_tensors.hpp"
#include "platform_bench.hpp"
#include "tlmalloc/modules/command_sender.hpp"

#include <algorithm>
#include <random>

namespace {

using namespace platform_benches;

constexpr std::uint64_t part = 4096;

// Each PE adds 1 to all numbers of its part, chunk by chunk, as often as the second argument says.
const tl_kernel counting[] = {[](tl_context *tl) {
    constexpr std::uint64_t chunk = 512;
    tl_tile ones{}, tile{};
    const std::uint64_t base = tl_argument(tl, 0) + tl_program_id(tl, TL_ALL) * part;
    tla_status status = tl_alloc(tl, 1, chunk / 4, TL_F32, &ones);
    if (!status) status = tl_alloc(tl, 1, chunk / 4, TL_F32, &tile);
    if (!status) status = tl_fill(tl, &ones, 1);
    for (std::uint64_t round = 0; round < tl_argument(tl, 1) && !status; round++)
        for (std::uint64_t at = 0; at < part && !status; at += chunk) {
            status = tl_load(tl, &tile, {base + at}, chunk);
            if (!status) status = tl_add(tl, &tile, &tile, &ones);
            if (!status) status = tl_store(tl, {base + at}, chunk, &tile);
        }
    tl_free(tl, &tile);
    tl_free(tl, &ones);
    return status;
}};

struct bench {
    explicit bench(const std::vector<std::string> &more)
        : config(platform_bench::load(
              {"controller.move=stop", "controller.move_chunk=512 B", "host_memory.capacity=1 MiB"}, more)) {
        outside.socket.bind(platform.pes()[0]->controller.control);
    }

    void run(const std::function<void()> &body) {
        platform.host().main = [&] {
            body();
            BOOST_CHECK_MESSAGE(!platform.host().cleanup(&error), error.text);
            BOOST_CHECK_EQUAL(platform.leaks(), 0u);
            finished = true;
        };
        sc_core::sc_report_handler::set_handler(keep_report);
        sc_core::sc_start();
        BOOST_CHECK(finished);
    }
    tensor *make(spread kind = spread::split) {
        tensor *made = nullptr;
        const auto pes = platform.host().everywhere().pes;
        const std::uint64_t nbytes = (kind == spread::replicate ? 1 : pes.size()) * part;
        BOOST_REQUIRE_EQUAL(platform.host().create_tensor("t", nbytes / 4, 4, {pes, kind}, &made, &error), TLA_OK);
        return made;
    }
    tla_status move(tensor *t, std::size_t number, std::size_t pe, tla_memory_kind memory = TLA_HBM) {
        return platform.host().move_to(t, number, platform.pes()[pe]->where, memory, &error, &done);
    }
    std::vector<float> read(const tensor *t) { return read_floats(platform.host(), t, error); }
    void write(const tensor *t, const std::vector<float> &numbers) { write_floats(platform.host(), t, numbers, error); }
    std::uint64_t used(std::size_t pe, tla_memory_kind memory = TLA_HBM) {
        return platform.pes()[pe]->controller.get_statistics(memory).arena.used;
    }

    // Sent to the first PE's controller by somebody else.
    tla_status count(tla_opcode opcode, tla_paddr pa) {
        tla_command command{};
        command.opcode = opcode;
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        command.pa = pa;
        sc_core::sc_time delay;
        const tla_status status = send_command(outside.socket, 15 * TLA_PORT_BYTES, command, done, delay, &outside.own);
        sc_core::wait(delay);
        return status;
    }

    struct outsider : sc_core::sc_module {
        explicit outsider(sc_core::sc_module_name name) : sc_module(name) { own.waits = true; }
        tlm_utils::simple_initiator_socket<outsider> socket{"socket"};
        requester own{0, 0, true};
    };

    tla_config config;
    npu platform{"npu", config, {counting, std::size(counting)}};
    outsider outside{"outside"};
    bool finished = false;
    tla_error error{};
    tla_completion done{};
};

std::vector<float> random_numbers(std::size_t count, std::mt19937 &random) {
    std::vector<float> numbers(count);
    std::generate(numbers.begin(), numbers.end(), [&] { return static_cast<float>(random() % 1000); });
    return numbers;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_block_moves_to_every_memory_of_the_platform_and_back) {
    bench b({});
    std::mt19937 random(1);
    b.run([&] {
        tensor *t = b.make();
        const std::vector<float> numbers = random_numbers(t->nbytes / 4, random);
        b.write(t, numbers);
        for (const tla_memory_kind memory : {TLA_HBM, TLA_SRAM, TLA_TCM, TLA_M_CPU_MEMORY, TLA_HOST_MEMORY, TLA_TCM}) {
            const std::uint64_t before = t->shards[0].pa.value;
            BOOST_REQUIRE_MESSAGE(!b.move(t, 0, 1, memory), b.error.text);
            tla_memory_kind now = TLA_HBM;
            BOOST_REQUIRE_EQUAL(tla_memory_kind_of(t->shards[0].pa, &now), TLA_OK);
            BOOST_CHECK_EQUAL(now, memory);
            BOOST_CHECK_EQUAL(t->shards[0].pa.value, b.done.value);
            BOOST_CHECK(t->shards[0].pa.value != before);
            BOOST_CHECK_EQUAL(t->shards[0].where.pe, 1u);
            BOOST_CHECK(b.read(t) == numbers);
            BOOST_CHECK_MESSAGE(!b.platform.host().launch(0, {t->va.value, 0}, &b.error), b.error.text);
        }
        BOOST_CHECK_EQUAL(b.used(0), 0u);
        BOOST_CHECK_EQUAL(b.used(1), part);
        BOOST_REQUIRE_MESSAGE(!b.move(t, 0, 0), b.error.text);
        BOOST_REQUIRE_MESSAGE(!b.move(t, 0, 0), b.error.text); // in its slice
        BOOST_CHECK_EQUAL(b.used(0), part);
        BOOST_CHECK_MESSAGE(!b.platform.host().launch(0, {t->va.value, 3}, &b.error), b.error.text);
        std::vector<float> counted = numbers;
        for (float &number : counted)
            number += 3;
        BOOST_CHECK(b.read(t) == counted);
    });
}

// Kernels count while parts go from slice to slice: they find the numbers that they would find without moves.
static void check_moves_between_slices(const std::vector<std::string> &keys, unsigned seed) {
    bench b(keys);
    std::mt19937 random(seed);
    b.run([&] {
        const std::size_t pes = b.platform.pes().size();
        constexpr std::uint64_t rounds = 20;
        tensor *t = b.make();
        std::vector<float> numbers = random_numbers(t->nbytes / 4, random);
        b.write(t, numbers);
        bool launched = false;
        sc_core::sc_spawn([&] {
            tla_error why{};
            BOOST_CHECK_MESSAGE(!b.platform.host().launch(0, {t->va.value, rounds}, &why), why.text);
            launched = true;
        });
        unsigned moves = 0;
        while (!launched) {
            const std::size_t to = random() % pes;
            BOOST_CHECK_MESSAGE(!b.move(t, moves % pes, to, random() % 4 ? TLA_HBM : TLA_SRAM), b.error.text);
            moves++;
            sc_core::wait(static_cast<double>(random() % 2000), sc_core::SC_NS);
        }
        BOOST_CHECK_GT(moves, 2u);
        for (float &number : numbers)
            number += static_cast<float>(rounds);
        BOOST_CHECK(b.read(t) == numbers);
    });
    std::uint64_t moved = 0;
    for (const pe_unit *pe : b.platform.pes())
        moved += pe->controller.get_statistics(TLA_HBM).moved_blocks;
    BOOST_CHECK_GT(moved, 0u);
}

BOOST_AUTO_TEST_CASE(two_kernels_find_their_numbers_while_parts_stop_and_go_to_other_slices) {
    check_moves_between_slices({}, 2);
}

BOOST_AUTO_TEST_CASE(four_kernels_find_their_numbers_while_parts_go_to_other_slices) {
    check_moves_between_slices({"system.pes_per_cube=4", "controller.move=concurrent"}, 3);
}

BOOST_AUTO_TEST_CASE(eight_kernels_of_two_sips_find_their_numbers_while_parts_go_to_other_slices) {
    check_moves_between_slices(
        {"system.sips=2", "system.cube_mesh_width=2", "controller.move=concurrent", "mmu.walk=flat"}, 4);
}

BOOST_AUTO_TEST_CASE(kernels_under_a_guard_find_their_numbers_while_parts_go_to_other_slices) {
    check_moves_between_slices({"controller.move=concurrent", "controller.guard=error"}, 5);
}

BOOST_AUTO_TEST_CASE(a_block_that_cannot_leave_stays_and_its_new_place_is_free) {
    bench b({});
    std::mt19937 random(6);
    b.run([&] {
        tensor *t = b.make(), *copies = b.make(spread::replicate), *full = nullptr;
        const std::vector<float> numbers = random_numbers(t->nbytes / 4, random);
        b.write(t, numbers);
        const auto check_stays = [&](tla_status status, const char *words) {
            BOOST_CHECK_MESSAGE(std::string(b.error.text).find(words) != std::string::npos, b.error.text);
            BOOST_CHECK_EQUAL(b.error.status, status);
            BOOST_CHECK(b.read(t) == numbers);
            BOOST_CHECK_EQUAL(t->shards[0].where.pe, 0u);
        };
        BOOST_CHECK(b.move(copies, 0, 1));
        check_stays(TLA_UNSUPPORTED, "blocks of a replicated tensor or a matrix stay at their controllers");
        BOOST_CHECK(b.platform.host().move_to(t, 0, {0, 0, 9}, TLA_HBM, &b.error));
        check_stays(TLA_INVALID_ARGUMENT, "unknown PE");
        BOOST_CHECK(b.move(t, 7, 1));
        check_stays(TLA_OUT_OF_RANGE, "the tensor has 2 parts");
        // All that is free in the other slice.
        const std::uint64_t free = b.platform.pes()[1]->controller.get_statistics(TLA_HBM).arena.largest_free;
        const auto only = [&](std::size_t pe) { return std::vector<pe_location>{b.platform.pes()[pe]->where}; };
        BOOST_REQUIRE_EQUAL(b.platform.host().create_tensor("full", free, 1, {only(1)}, &full, &b.error), TLA_OK);
        BOOST_CHECK(b.move(t, 0, 1));
        check_stays(TLA_EXHAUSTED, "move of part 0 to the");
        BOOST_CHECK_EQUAL(b.platform.host().free_tensor(full, &b.error), TLA_OK);
        // A block that the controller does not move gives its new place back.
        BOOST_CHECK_EQUAL(b.platform.host().free_tensor(copies, &b.error), TLA_OK);
        const std::uint64_t used = b.used(1);
        BOOST_REQUIRE_EQUAL(b.count(TLA_OP_REF, t->shards[0].pa), TLA_OK);
        BOOST_CHECK(b.move(t, 0, 1));
        check_stays(TLA_UNSUPPORTED, "the block is counted or under a key");
        BOOST_CHECK_EQUAL(b.used(1), used);
        BOOST_REQUIRE_EQUAL(b.count(TLA_OP_UNREF, t->shards[0].pa), TLA_OK);
    });
}

BOOST_AUTO_TEST_CASE(a_tensor_can_be_freed_at_any_time_while_a_part_leaves) {
    bench b({});
    b.run([&] {
        unsigned during = 0;
        for (unsigned after_ns = 0; after_ns < 1500; after_ns += 30) {
            tensor *t = b.make();
            bool ended = false;
            sc_core::sc_event end;
            sc_core::sc_spawn([&] {
                tla_error why{};
                BOOST_CHECK_MESSAGE(!b.platform.host().move_to(t, 0, b.platform.pes()[1]->where, TLA_HBM, &why),
                                    why.text);
                ended = true;
                end.notify();
            });
            sc_core::wait(after_ns, sc_core::SC_NS);
            during += !ended;
            if (after_ns == 0) sc_core::wait(1, sc_core::SC_PS); // the call has begun
            BOOST_CHECK_MESSAGE(!b.platform.host().free_tensor(t, &b.error), b.error.text);
            if (!ended) sc_core::wait(end);
            BOOST_CHECK_EQUAL(b.used(0), 0u);
            BOOST_CHECK_EQUAL(b.used(1), 0u);
        }
        BOOST_CHECK_GT(during, 10u);
    });
}
