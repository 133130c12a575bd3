// Blocks of all slices of an owner that move while kernels use them, on whole platforms: runtime::move with
// controller.lockstep.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "apart.hpp"
#include "float_tensors.hpp"
#include "platform_bench.hpp"
#include "tlmalloc/modules/command_sender.hpp"

#include <algorithm>
#include <random>
#include <set>

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

struct outsider : sc_core::sc_module {
    explicit outsider(sc_core::sc_module_name name, npu &platform) : sc_module(name) {
        own.waits = true;
        for (pe_unit *pe : platform.pes()) {
            sockets.push_back(std::make_unique<tlm_utils::simple_initiator_socket<outsider>>(
                ("pe" + std::to_string(sockets.size())).c_str()));
            sockets.back()->bind(pe->controller.control);
        }
    }
    // A command to the controller of a PE.
    tla_status send(std::size_t pe, tla_command command) {
        tla_completion done{};
        sc_core::sc_time delay;
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        const tla_status status = send_command(*sockets[pe], 15 * TLA_PORT_BYTES, command, done, delay, &own);
        sc_core::wait(delay);
        return status;
    }
    std::vector<std::unique_ptr<tlm_utils::simple_initiator_socket<outsider>>> sockets;
    requester own{0, 0, true};
};

// Two cubes of two PEs.
struct bench {
    explicit bench(const std::vector<std::string> &more)
        : config(platform_bench::load({"system.cube_mesh_width=2", "controller.lockstep=sip", "controller.move=stop",
                                       "controller.move_chunk=512 B", "host_memory.capacity=1 MiB"},
                                      more)) {
        platform.reset_in.bind(line);
        sc_core::sc_report_handler::set_handler(keep_report);
    }

    void run(const std::function<void()> &body) {
        platform.host().main = [&] {
            body();
            BOOST_CHECK_MESSAGE(!platform.host().cleanup(&error), error.text);
            BOOST_CHECK_EQUAL(platform.leaks(), 0u);
            finished = true;
        };
        sc_core::sc_start();
        BOOST_CHECK(finished);
    }
    tensor *make(spread kind = spread::split, tla_memory_kind memory = TLA_HBM) {
        const auto pes = platform.host().everywhere().pes;
        const std::uint64_t nbytes = (kind == spread::replicate ? 1 : pes.size()) * part;
        tensor *made = nullptr;
        BOOST_REQUIRE_MESSAGE(!platform.host().create_tensor("t", nbytes / 4, 4, {pes, kind, memory}, &made, &error),
                              error.text);
        return made;
    }
    tla_status move(tensor *t, std::size_t number, tla_memory_kind memory = TLA_HBM) {
        return platform.host().move(t, number, memory, &error, &done);
    }
    tla_status launch(const tensor *t, std::uint64_t rounds) {
        tla_error why{};
        const tla_status status = platform.host().launch(0, {t->va.value, rounds}, &why);
        BOOST_CHECK_MESSAGE(!status, why.text);
        return status;
    }
    std::vector<float> read(const tensor *t) { return read_floats(platform.host(), t, error); }
    void write(const tensor *t, const std::vector<float> &numbers) { write_floats(platform.host(), t, numbers, error); }
    std::uint64_t used(std::size_t pe) { return platform.pes()[pe]->controller.get_statistics(TLA_HBM).arena.used; }
    // In the slice of the part's PE.
    std::uint64_t offset(const shard &s) {
        const memory_controller::config c = controller_config(config, s.where);
        return tla_pe_memory_find_site(&c.memory, s.pa).offset;
    }
    // One for each owner.
    std::set<std::pair<std::uint32_t, std::uint64_t>> offsets(const tensor *t) {
        std::set<std::pair<std::uint32_t, std::uint64_t>> all;
        for (const shard &s : t->shards)
            all.insert({config.controller.lockstep == TLA_LOCKSTEP_SIP ? s.where.sip : 100 + s.where.cube, offset(s)});
        return all;
    }

    tla_config config;
    npu platform{"npu", config, {counting, std::size(counting)}};
    outsider outside{"outside", platform};
    sc_core::sc_signal<bool> line;
    bool finished = false;
    tla_error error{};
    tla_completion done{};
};

std::vector<float> random_numbers(std::size_t count, std::mt19937 &random) {
    std::vector<float> numbers(count);
    std::generate(numbers.begin(), numbers.end(), [&] { return static_cast<float>(random() % 1000); });
    return numbers;
}

// Kernels count, and the host reads, while the block of all slices moves. Returns the end in ps.
std::uint64_t check_moves_under_kernels(const std::vector<std::string> &keys, unsigned seed) {
    bench b(keys);
    std::mt19937 random(seed);
    std::uint64_t end_ps = 0;
    b.run([&] {
        constexpr std::uint64_t rounds = 20;
        const std::size_t owners = b.config.controller.lockstep == TLA_LOCKSTEP_SIP ? b.config.system.sips : 2;
        tensor *t = b.make(), *other = b.make(), *copies = b.make(spread::replicate);
        std::vector<float> numbers = random_numbers(t->nbytes / 4, random);
        const std::vector<float> still = random_numbers(other->nbytes / 4, random),
                                 copied = random_numbers(copies->nbytes / 4, random);
        b.write(t, numbers);
        b.write(other, still);
        b.write(copies, copied);
        bool launched = false;
        sc_core::sc_spawn([&] { launched = !b.launch(t, rounds); });
        unsigned moves = 0;
        while (!launched) {
            tensor *const which = moves % 4 == 3 ? moves % 8 == 3 ? other : copies : t;
            const std::size_t number = random() % which->shards.size();
            const std::uint64_t before = which->shards[number].pa.value;
            BOOST_REQUIRE_MESSAGE(!b.move(which, number), b.error.text);
            BOOST_CHECK(which->shards[number].pa.value != before);
            BOOST_CHECK_EQUAL(which->shards[number].pa.value, b.done.value);
            for (const tensor *one : {t, other, copies})
                BOOST_CHECK_EQUAL(b.offsets(one).size(), owners);
            if (moves % 4 == 3) BOOST_CHECK(b.read(which) == (which == other ? still : copied));
            moves++;
            sc_core::wait(static_cast<double>(random() % 2000), sc_core::SC_NS);
        }
        BOOST_CHECK_GT(moves, 1u);
        for (float &number : numbers)
            number += static_cast<float>(rounds);
        BOOST_CHECK(b.read(t) == numbers);
        BOOST_CHECK(b.read(other) == still);
        BOOST_CHECK(b.read(copies) == copied);
        end_ps = to_ps(sc_core::sc_time_stamp());
    });
    return end_ps;
}

} // namespace

BOOST_AUTO_TEST_CASE(kernels_find_their_numbers_while_the_slices_of_a_sip_move_together) {
    check_moves_under_kernels({}, 1);
}

BOOST_AUTO_TEST_CASE(kernels_find_their_numbers_while_the_slices_of_a_cube_move_together) {
    check_moves_under_kernels({"controller.lockstep=cube", "controller.move=concurrent"}, 2);
}

BOOST_AUTO_TEST_CASE(kernels_with_a_tlb_find_their_numbers_while_slices_move_together_from_the_top) {
    check_moves_under_kernels({"controller.move=concurrent", "controller.hbm_policy=first_fit_top", "mmu.walk=flat",
                               "mmu.tlb_l1.entries=4", "controller.alignment=256 B"},
                              3);
}

BOOST_AUTO_TEST_CASE(kernels_of_two_sips_find_their_numbers_while_slices_move_together) {
    check_moves_under_kernels({"controller.move=concurrent", "system.sips=2"}, 4);
}

BOOST_AUTO_TEST_CASE(kernels_find_their_numbers_while_slices_that_reject_commands_move_together) {
    check_moves_under_kernels({"faults.plan=refuse rate=50000", "host.retries=50", "host.retry_delay=1 ns"}, 5);
}

BOOST_AUTO_TEST_CASE(slices_that_move_together_take_the_same_time_for_every_quantum) {
    struct figures {
        std::uint64_t end_ps;
        char error[512];
    };
    const auto end_ps = [](const char *quantum) {
        const figures f = apart<figures>(quantum, [&](figures &result) {
            result.end_ps = check_moves_under_kernels(
                {"controller.move=concurrent", "mmu.walk=flat", std::string("simulation.quantum=") + quantum}, 6);
        });
        BOOST_CHECK_MESSAGE(f.error[0] == 0, f.error);
        return f.end_ps;
    };
    const std::uint64_t without_ps = end_ps("0 ns");
    BOOST_CHECK_GT(without_ps, 0u);
    for (const char *quantum : {"1 ns", "777 ns", "1 ms"})
        BOOST_CHECK_EQUAL(end_ps(quantum), without_ps);
}

BOOST_AUTO_TEST_CASE(slices_move_at_the_same_time) {
    bench b({});
    b.run([&] {
        tensor *t = b.make();
        const std::uint64_t begin_ps = to_ps(sc_core::sc_time_stamp());
        BOOST_REQUIRE_MESSAGE(!b.move(t, 1), b.error.text);
        BOOST_CHECK_LT(to_ps(sc_core::sc_time_stamp()) - begin_ps, 2 * b.done.service_ps); // of four
        for (const pe_unit *pe : b.platform.pes()) {
            const memory_controller::statistics s = pe->controller.get_statistics(TLA_HBM);
            BOOST_CHECK_EQUAL(s.moved_blocks, 1u);
            BOOST_CHECK_EQUAL(s.moved_bytes, part);
            BOOST_CHECK_EQUAL(s.arena.used, part);
        }
    });
}

// A mapping that no MMU has makes the REMAP of one slice fail, when the others have moved or are about to.
BOOST_AUTO_TEST_CASE(when_a_slice_cannot_move_the_block_stays_in_all_slices) {
    bench b({});
    std::mt19937 random(7);
    b.run([&] {
        tensor *t = b.make();
        const std::vector<float> numbers = random_numbers(t->nbytes / 4, random);
        b.write(t, numbers);
        for (std::size_t pe = 0; pe < b.platform.pes().size(); pe++) {
            tla_command bind{};
            bind.opcode = TLA_OP_BIND;
            bind.scope = {1, 1, 1};
            bind.entries[bind.count++] = {{t->va.value + (1 << 20)}, t->shards[pe].pa, 4096, TLA_READ, 0};
            BOOST_REQUIRE_EQUAL(b.outside.send(pe, bind), TLA_OK);
            BOOST_CHECK(b.move(t, 0));
            const std::string slice = "tensor t: move of part 0 to the HBM of sip0.cube0.pe0: HBM of " +
                                      to_string(b.platform.pes()[pe]->where) + ": ";
            BOOST_CHECK_MESSAGE(std::string(b.error.text).rfind(slice, 0) == 0, b.error.text);
            BOOST_CHECK_EQUAL(b.offsets(t).size(), 1u);
            BOOST_CHECK_EQUAL(b.offsets(t).begin()->second, 0u);
            for (std::size_t i = 0; i < b.platform.pes().size(); i++)
                BOOST_CHECK_EQUAL(b.used(i), part);
            BOOST_CHECK(b.read(t) == numbers);
            bind.opcode = TLA_OP_UNBIND;
            BOOST_REQUIRE_EQUAL(b.outside.send(pe, bind), TLA_OK);
        }
        BOOST_CHECK_MESSAGE(!b.move(t, 0), b.error.text);
        BOOST_CHECK_EQUAL(b.offsets(t).begin()->second, part);
        b.launch(t, 1);
    });
}

BOOST_AUTO_TEST_CASE(a_block_of_many_slices_that_moves_does_not_move_a_second_time) {
    bench b({});
    b.run([&] {
        tensor *t = b.make();
        unsigned during = 0, from_outside = 0;
        for (unsigned after_ns = 0; after_ns < 1500; after_ns += 50) {
            bool ended = false;
            sc_core::sc_event end;
            sc_core::sc_spawn([&] {
                tla_error why{};
                BOOST_CHECK_MESSAGE(!b.platform.host().move(t, 0, TLA_HBM, &why), why.text);
                ended = true;
                end.notify();
            });
            sc_core::wait(after_ns + 1, sc_core::SC_NS);
            if (!ended) {
                BOOST_CHECK_EQUAL(b.move(t, 3), TLA_BUSY);
                BOOST_CHECK_EQUAL(b.error.text, std::string("tensor t: move of part 3 to the HBM of sip0.cube1.pe1: "
                                                            "the block moves already"));
                during++;
                tla_command command{};
                command.opcode = TLA_OP_MOVE;
                command.pa = t->shards[1].pa;
                command.elsewhere = true;
                command.to = {command.pa.value + 16 * part}; // no block of the owner
                const tla_status status = b.outside.send(1, command);
                BOOST_CHECK(status == TLA_BUSY || status == TLA_NOT_ALLOCATED);
                from_outside += status == TLA_BUSY;
            }
            if (!ended) sc_core::wait(end);
            for (std::size_t pe = 0; pe < b.platform.pes().size(); pe++)
                BOOST_CHECK_EQUAL(b.used(pe), part);
            BOOST_CHECK_EQUAL(b.offsets(t).size(), 1u);
        }
        BOOST_CHECK_GT(during, 5u);
        BOOST_CHECK_GT(from_outside, 2u);
    });
}

// One slice has moved already when the host's MOVE comes: no place with a part of the tensor is freed.
BOOST_AUTO_TEST_CASE(a_place_that_somebody_else_has_given_to_a_part_stays_until_the_tensor_is_freed) {
    bench b({});
    std::mt19937 random(9);
    unsigned stolen = 0;
    b.run([&] {
        tensor *other = nullptr;
        for (unsigned after_ns = 0; after_ns < 600; after_ns += 10) {
            tensor *t = b.make();
            const std::vector<float> numbers = random_numbers(t->nbytes / 4, random);
            b.write(t, numbers);
            sc_core::sc_spawn([&] {
                sc_core::wait(after_ns, sc_core::SC_NS);
                tla_command command{};
                command.opcode = TLA_OP_MOVE;
                command.pa = t->shards[1].pa;
                command.elsewhere = true;
                command.to = {command.pa.value + part};
                stolen += b.outside.send(1, command) == TLA_OK;
            });
            const tla_status status = b.move(t, 0);
            sc_core::wait(5, sc_core::SC_US);
            const std::size_t places = b.offsets(t).size();
            BOOST_CHECK_EQUAL(places, status ? 2u : 1u);
            for (std::size_t pe = 0; pe < b.platform.pes().size(); pe++)
                BOOST_CHECK_EQUAL(b.used(pe), places * part);
            BOOST_REQUIRE_EQUAL(
                b.platform.host().create_tensor("o", part, 4, {b.platform.host().everywhere().pes}, &other, &b.error),
                TLA_OK);
            b.write(other, std::vector<float>(part, 7));
            BOOST_CHECK(b.read(t) == numbers);
            BOOST_CHECK_MESSAGE(!b.platform.host().free_tensor(t, &b.error), b.error.text);
            BOOST_CHECK_MESSAGE(!b.platform.host().free_tensor(other, &b.error), b.error.text);
        }
    });
    BOOST_CHECK_GT(stolen, 2u);
}

// Also where a command that is rejected is sent again at once.
BOOST_AUTO_TEST_CASE(a_tensor_can_be_freed_at_any_time_while_its_block_moves_in_many_slices) {
    bench b({"host.retry_delay=0 ns"});
    b.run([&] {
        unsigned during = 0;
        for (unsigned after_ns = 0; after_ns < 2000; after_ns += 50) {
            tensor *t = b.make();
            bool ended = false;
            sc_core::sc_event end;
            sc_core::sc_spawn([&] {
                tla_error why{};
                BOOST_CHECK_MESSAGE(!b.platform.host().move(t, 1, TLA_HBM, &why), why.text);
                ended = true;
                end.notify();
            });
            sc_core::wait(after_ns + 1, sc_core::SC_NS);
            during += !ended;
            BOOST_CHECK_MESSAGE(!b.platform.host().free_tensor(t, &b.error), b.error.text);
            if (!ended) sc_core::wait(end);
            for (std::size_t pe = 0; pe < b.platform.pes().size(); pe++)
                BOOST_CHECK_EQUAL(b.used(pe), 0u);
        }
        BOOST_CHECK_GT(during, 5u);
    });
}

BOOST_AUTO_TEST_CASE(a_reset_ends_a_move_of_many_slices_at_any_time) {
    bench b({"controller.move=concurrent"});
    std::mt19937 random(8);
    b.run([&] {
        unsigned during = 0;
        std::uint64_t took_ps = 0;
        for (unsigned after_ns = 0; after_ns < 2000; after_ns += 100) {
            tensor *t = b.make();
            bool ended = false;
            sc_core::sc_event end;
            sc_core::sc_spawn([&] {
                const tla_status status = b.platform.host().move(t, 0, TLA_HBM, nullptr);
                BOOST_CHECK(!status || status == TLA_RESET);
                during += status == TLA_RESET;
                ended = true;
                end.notify();
            });
            sc_core::wait(after_ns + 1, sc_core::SC_NS);
            b.line = true;
            sc_core::wait(1, sc_core::SC_US);
            b.line = false;
            if (!ended) sc_core::wait(end);
            b.platform.host().wait_for_reset();
            BOOST_CHECK_EQUAL(b.platform.leaks(), 0u);
            // As new: the same places, and the same time.
            const std::uint64_t begin_ps = to_ps(sc_core::sc_time_stamp());
            t = b.make();
            const std::vector<float> numbers = random_numbers(t->nbytes / 4, random);
            b.write(t, numbers);
            BOOST_CHECK_MESSAGE(!b.move(t, 0), b.error.text);
            BOOST_CHECK_EQUAL(b.offsets(t).begin()->second, part);
            BOOST_CHECK(b.read(t) == numbers);
            b.launch(t, 1);
            BOOST_CHECK_MESSAGE(!b.platform.host().free_tensor(t, &b.error), b.error.text);
            const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp()) - begin_ps;
            if (took_ps > 0) BOOST_CHECK_EQUAL(now_ps, took_ps);
            took_ps = now_ps;
        }
        BOOST_CHECK_GT(during, 5u);
    });
}

BOOST_AUTO_TEST_CASE(blocks_neither_leave_slices_with_an_owner_nor_enter_them) {
    bench b({});
    b.run([&] {
        tensor *t = b.make(), *tile = b.make(spread::split, TLA_TCM);
        const std::string stays = "an owner places the blocks of the HBM, which move within their slices only: set "
                                  "controller.lockstep to off";
        const auto check = [&](tla_status status) {
            BOOST_CHECK_EQUAL(status, TLA_UNSUPPORTED);
            BOOST_CHECK_MESSAGE(std::string(b.error.text).find(stays) != std::string::npos, b.error.text);
        };
        const pe_location next = b.platform.pes()[1]->where;
        check(b.move(t, 0, TLA_TCM));
        check(b.move(tile, 0, TLA_HBM));
        check(b.platform.host().move_to(t, 0, next, TLA_HBM, &b.error));
        check(b.platform.host().move_to(t, 0, next, TLA_SRAM, &b.error));
        check(b.platform.host().move_to(t, 0, next, TLA_HOST_MEMORY, &b.error));
        check(b.platform.host().move_to(tile, 0, next, TLA_HBM, &b.error));
        BOOST_CHECK_MESSAGE(!b.platform.host().move_to(t, 1, next, TLA_HBM, &b.error), b.error.text); // its own slice
        BOOST_CHECK_MESSAGE(!b.move(tile, 0, TLA_TCM), b.error.text);
        BOOST_CHECK_MESSAGE(!b.platform.host().move_to(tile, 0, next, TLA_SRAM, &b.error), b.error.text);
        tensor *full = nullptr;
        const std::uint64_t free = (1 << 20) - part; // above the block
        BOOST_REQUIRE_MESSAGE(!b.move(t, 0), b.error.text);
        BOOST_REQUIRE_EQUAL(
            b.platform.host().create_tensor("full", free, 1, {{b.platform.pes()[3]->where}}, &full, &b.error), TLA_OK);
        BOOST_CHECK_EQUAL(b.move(t, 0), TLA_EXHAUSTED); // in a slice that has no part of the other tensor
        BOOST_CHECK_MESSAGE(std::string(b.error.text)
                                    .rfind("tensor t: move of part 0 to the HBM of sip0.cube0.pe0 "
                                           "overflow: requested 4096 bytes, 0 free",
                                           0) == 0,
                            b.error.text);
    });
}
