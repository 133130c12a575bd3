// Moves of blocks that lie in all slices of an owner, by the runtime without a simulation: the owner and the
// controllers of the slices are those of the core, and any command may fail.
#include "../unit/seeded_random.hpp"
#include "model/command/slice_owner.h"
#include "tlmalloc/command/control_port.h"
#include "tlmalloc/memory/controller.h"
#include "tlmalloc/modules/runtime.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <memory>

using namespace tlmalloc;

namespace {

constexpr std::uint32_t owner_port = 7, pes = 4;
constexpr std::uint64_t slice_bytes = 1 << 16, first_va = std::uint64_t{1} << 32;

runtime::config settings() {
    runtime::config c;
    for (std::uint32_t pe = 0; pe < pes; pe++)
        c.pes.push_back({0, 0, pe});
    c.retry = {2, 50};
    c.lockstep = TLA_LOCKSTEP_CUBE;
    c.hbm_slice = slice_bytes;
    c.moves = true;
    return c;
}

tla_pe_memory_config memory_of(std::uint32_t pe) {
    tla_pe_memory_config memory{};
    memory.pe = pe;
    memory.of[TLA_HBM].bytes = slice_bytes;
    memory.of[TLA_TCM].bytes = 4096;
    memory.validate = true;
    return memory;
}

class device : public runtime {
  public:
    // What a command is answered with, if not TLA_OK: asked before each. A MOVE can also fail at its end.
    std::function<tla_status(const tla_command &)> refuse = [](const tla_command &) { return TLA_OK; };
    std::function<bool()> fails_to_copy = [] { return false; };
    std::vector<tla_command> commands;

    device() : runtime(settings()) {
        std::vector<tla_owned_slice> slices;
        for (std::uint32_t pe = 0; pe < pes; pe++) {
            tla_controller_config c{};
            c.memory = memory_of(pe);
            c.owner_port = owner_port;
            c.move = {TLA_MOVE_STOP, 1024, 1};
            tla_controller *made = nullptr;
            BOOST_REQUIRE_EQUAL(tla_controller_create(&c, &made), TLA_OK);
            controllers.emplace_back(made, tla_controller_destroy);
            tla_paddr base{};
            tla_pe_memory_address(&c.memory, TLA_HBM, 0, &base);
            slices.push_back({window_of(pe), base, {TLA_LOCATION_PE, 0, 0, pe}});
        }
        const tla_lockstep_config list{pes, 0, slice_bytes, 0, TLA_BOTTOM_UP};
        tla_slice_owner *made = nullptr;
        BOOST_REQUIRE_EQUAL(tla_slice_owner_create(slices.data(), &list, &made), TLA_OK);
        owner.reset(made);
    }

    std::uint64_t used(std::uint32_t pe) const {
        return tla_controller_get_stats(controllers[pe].get(), TLA_HBM).memory.used;
    }
    std::uint64_t owned() const { return tla_slice_owner_get_stats(owner.get()).allocated; }
    // The offset of a part in its slice, to which the MMUs must lead too.
    std::uint64_t offset(const tensor &t, std::size_t part) {
        const shard &s = t.shards[part];
        BOOST_REQUIRE_EQUAL(table.at({t.va.value + s.offset, s.where.pe}), s.pa.value);
        const tla_pe_memory_config memory = memory_of(s.where.pe);
        return tla_pe_memory_find_site(&memory, s.pa).offset;
    }
    // Of a block whose bytes are told by their virtual address.
    void write(const tensor &t) {
        for (const shard &s : t.shards)
            for (std::uint64_t i = 0; i < s.nbytes; i++)
                bytes[s.pa.value + i] = static_cast<std::uint8_t>((s.offset + i) * 31 >> 3);
    }
    void check(const tensor &t) {
        for (std::size_t part = 0; part < t.shards.size(); part++) {
            const shard &s = t.shards[part];
            offset(t, part);
            for (std::uint64_t i = 0; i < s.nbytes; i++)
                BOOST_REQUIRE_EQUAL(bytes[s.pa.value + i], static_cast<std::uint8_t>((s.offset + i) * 31 >> 3));
        }
    }

  private:
    std::uint64_t now_ps() const override { return time_ps; }
    void wait_for_ps(std::uint64_t duration_ps) override { time_ps += duration_ps; }
    void between_faults(const std::function<void()> &change) override { change(); }
    tla_status send(way, std::uint64_t, const tla_command &, tla_completion &, std::uint64_t &) override {
        return TLA_UNSUPPORTED;
    }
    void post(way to, const std::vector<tla_sent_command *> &all) override {
        std::map<std::uint64_t, int> ports;
        for (tla_sent_command *p : all) {
            BOOST_CHECK_EQUAL(ports[p->port_address]++, 0); // a port takes one command at a time
            const tla_status refused = refuse(*p->command);
            if (!refused) serve(to, p->port_address, *p->command, p->completion);
            p->status = refused ? refused : p->completion.status;
            commands.push_back(*p->command);
        }
        time_ps += 10;
    }

    static std::uint64_t window_of(std::uint32_t pe) {
        tla_paddr pa{};
        tla_memory_kind_control(TLA_HBM, 0, 0, pe, 0, &pa);
        return pa.value;
    }
    void serve(way to, std::uint64_t port, const tla_command &command, tla_completion &done) {
        if (to == way::addresses) return serve_addresses(command, done);
        if (command.target == TLA_TARGET_M_CPU) return serve_owner(command, done);
        std::uint32_t pe = 0;
        while (window_of(pe) != port)
            pe++;
        done = execute(pe, 0, command);
    }
    void serve_addresses(const tla_command &c, tla_completion &done) {
        done.value = next_va;
        if (c.opcode == TLA_OP_VA_ALLOC) next_va += (c.nbytes + 4095) / 4096 * 4096;
        for (std::uint32_t i = 0; i < c.count; i++)
            if (c.opcode == TLA_OP_MAP)
                table[{c.entries[i].va.value, pe_of(c.entries[i].pa)}] = c.entries[i].pa.value;
            else
                BOOST_CHECK_EQUAL(table.erase({c.entries[i].va.value, pe_of(c.entries[i].pa)}), 1u);
    }
    void serve_owner(const tla_command &c, tla_completion &done) {
        tla_work work{};
        done.status = tla_slice_owner_decide(owner.get(), &c, &work);
        if (!done.status) {
            tla_slice_owner_tell(owner.get(), time_ps);
            tla_sent_command *sent = nullptr;
            while (const std::size_t count = tla_slice_owner_next(owner.get(), &sent))
                for (std::size_t i = 0; i < count; i++) {
                    sent[i].completion = execute(static_cast<std::uint32_t>(i), owner_port, *sent[i].command);
                    sent[i].status = static_cast<tla_status>(sent[i].completion.status);
                }
            const tla_slice_owner_result told = tla_slice_owner_get_result(owner.get());
            done.status = told.status;
            done.value = told.offset;
        }
        const tla_bank_stats list = tla_slice_owner_get_stats(owner.get());
        done.total_free = list.free;
        done.largest_free = list.largest_free;
    }
    std::uint32_t pe_of(tla_paddr pa) const {
        std::uint32_t pe = 0;
        for (; pe < pes; pe++) {
            const tla_pe_memory_config memory = memory_of(pe);
            if (tla_pe_memory_find_site(&memory, pa).memory != TLA_MEMORY_KIND_COUNT) break;
        }
        return pe;
    }
    tla_completion execute(std::uint32_t pe, std::uint32_t port, const tla_command &command) {
        tla_controller_outcome outcome;
        tla_controller *const c = controllers[pe].get();
        tla_controller_execute(c, port, TLA_WHO_UNKNOWN, &command, time_ps, &outcome);
        return outcome.begun ? lead(pe) : outcome.completion;
    }
    tla_completion lead(std::uint32_t pe) {
        tla_controller *const c = controllers[pe].get();
        tla_move_step step{};
        for (;;)
            switch (tla_controller_move_next(c, time_ps, &step)) {
            case TLA_MOVE_SENDS:
                for (std::uint32_t i = 0; i < step.command->count && step.command->opcode == TLA_OP_REMAP; i++)
                    table.at({step.command->entries[i].va.value, pe}) = step.command->entries[i].pa.value;
                tla_controller_move_sent(c, TLA_OK);
                break;
            case TLA_MOVE_COPIES: {
                const bool fails = fails_to_copy();
                const std::uint64_t from = step.from.pa.value & ~(slice_bytes - 1),
                                    to = step.to.pa.value & ~(slice_bytes - 1);
                for (std::uint64_t i = 0; i < step.nbytes && !fails; i++)
                    bytes[to + step.to.offset + i] = bytes[from + step.from.offset + i];
                tla_controller_move_copied(c, !fails);
                break;
            }
            case TLA_MOVE_ENDS:
                return step.outcome.completion;
            default:
                break;
            }
    }

    std::vector<std::unique_ptr<tla_controller, decltype(&tla_controller_destroy)>> controllers;
    std::unique_ptr<tla_slice_owner, decltype(&tla_slice_owner_destroy)> owner{nullptr, tla_slice_owner_destroy};
    std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint64_t> table; // VA and PE of the part: PA
    std::map<std::uint64_t, std::uint8_t> bytes;                            // by physical address
    std::uint64_t time_ps = 0, next_va = first_va;
};

struct bench {
    device d;
    tla_error error{};
    tensor *t = nullptr;

    // Parts of 34, 34, 33 and 33 bytes, in a heap with another block before and behind them.
    bench() {
        make("before", 40);
        t = make("t", 134);
        make("behind", 400);
    }
    tensor *make(const char *name, std::uint64_t nbytes) {
        tensor *made = nullptr;
        BOOST_REQUIRE_MESSAGE(!d.create_tensor(name, nbytes, 1, d.everywhere(), &made, &error), error.text);
        d.write(*made);
        return made;
    }
    std::vector<std::uint64_t> offsets() {
        std::vector<std::uint64_t> all;
        for (std::size_t part = 0; part < t->shards.size(); part++)
            all.push_back(d.offset(*t, part));
        return all;
    }
    void check() {
        for (const tensor &one : d.tensors())
            d.check(one);
        for (std::uint32_t pe = 0; pe < pes; pe++)
            BOOST_REQUIRE_EQUAL(d.used(pe), d.owned());
    }
    void end() {
        d.refuse = [](const tla_command &) { return TLA_OK; };
        d.fails_to_copy = [] { return false; };
        check();
        BOOST_CHECK_MESSAGE(!d.cleanup(&error), error.text);
        BOOST_CHECK_EQUAL(d.owned(), 0u);
    }
};

const std::vector<std::uint64_t> there(4, 10), moved(4, 144);

} // namespace

BOOST_AUTO_TEST_CASE(the_block_of_all_slices_moves_to_one_offset_and_the_owner_frees_the_old_one_at_the_end) {
    bench b;
    BOOST_CHECK(b.offsets() == there);
    b.d.commands.clear();
    tla_completion done{};
    BOOST_REQUIRE_MESSAGE(!b.d.move(b.t, 2, TLA_HBM, &b.error, &done), b.error.text);
    BOOST_CHECK(b.offsets() == moved);
    BOOST_CHECK_EQUAL(done.value, b.t->shards[2].pa.value);
    std::vector<tla_opcode> sent;
    for (const tla_command &c : b.d.commands)
        sent.push_back(c.opcode);
    const std::vector<tla_opcode> expected{TLA_OP_ALLOC, TLA_OP_MOVE, TLA_OP_MOVE,
                                           TLA_OP_MOVE,  TLA_OP_MOVE, TLA_OP_FREE};
    BOOST_CHECK_EQUAL_COLLECTIONS(sent.begin(), sent.end(), expected.begin(), expected.end());
    BOOST_CHECK_EQUAL(b.d.commands.front().nbytes, 34u);
    BOOST_CHECK_EQUAL(b.d.owned(), 10u + 34u + 100u);
    b.check();
    BOOST_REQUIRE_MESSAGE(!b.d.move(b.t, 0, TLA_HBM, &b.error), b.error.text); // into the hole
    BOOST_CHECK(b.offsets() == there);
    b.end();
}

// The command with this number, counted from a move's beginning, fails with every status: then no part has moved, or
// all have; what is left over is freed at the clean-up.
BOOST_AUTO_TEST_CASE(whichever_command_of_a_move_fails_the_block_moves_in_all_slices_or_in_none) {
    unsigned none = 0, all = 0;
    for (const tla_status status : {TLA_BUSY, TLA_LIMIT, TLA_NO_HOST_MEMORY, TLA_BUS_ERROR, TLA_UNMAPPED})
        for (unsigned fails = 0; fails < 6; fails++) {
            bench b;
            unsigned count = 0;
            std::uint32_t id = 0; // TLA_BUSY: whenever it is sent again
            b.d.refuse = [&](const tla_command &c) {
                if (count++ == fails) id = c.request_id;
                return c.request_id == id ? status : TLA_OK;
            };
            const tla_status ended = b.d.move(b.t, 1, TLA_HBM, &b.error);
            b.check();
            const bool has_moved = fails == 5; // only the last FREE is missing
            BOOST_CHECK(b.offsets() == (has_moved ? moved : there));
            const bool is_owed = has_moved && (status == TLA_BUSY || status == TLA_LIMIT);
            BOOST_CHECK_EQUAL(ended, is_owed ? TLA_OK : status);
            (has_moved ? all : none)++;
            BOOST_CHECK_EQUAL(b.d.owned(), has_moved ? 10u + 34u + 100u + 34u : 10u + 34u + 100u);
            if (has_moved && !is_owed) {
                BOOST_CHECK_NE(std::string(b.error.text).find("the block has moved, but its old place is not free"),
                               std::string::npos);
                continue; // for good
            }
            b.end();
        }
    BOOST_CHECK_EQUAL(none, 25u);
    BOOST_CHECK_EQUAL(all, 5u);
}

BOOST_AUTO_TEST_CASE(a_copy_that_fails_in_any_slice_leaves_the_block_in_all_slices) {
    for (unsigned fails = 0; fails < pes; fails++) {
        bench b;
        unsigned copies = 0;
        b.d.fails_to_copy = [&] { return copies++ == fails; };
        BOOST_CHECK_EQUAL(b.d.move(b.t, 3, TLA_HBM, &b.error), TLA_BUS_ERROR);
        const std::string slice = "tensor t: move of part 3 to the HBM of sip0.cube0.pe3: HBM of sip0.cube0.pe" +
                                  std::to_string(fails) + ": ";
        BOOST_CHECK_EQUAL(std::string(b.error.text).rfind(slice, 0), 0u);
        BOOST_CHECK(b.offsets() == there);
        BOOST_CHECK_EQUAL(b.d.owned(), 10u + 34u + 100u);
        b.end();
    }
}

BOOST_AUTO_TEST_CASE(a_part_is_moved_back_again_and_again) {
    bench b;
    unsigned copies = 0; // the last of the first four fails, and the first two attempts to go back
    b.d.fails_to_copy = [&] { return ++copies > 3 && copies < 10; };
    BOOST_CHECK_EQUAL(b.d.move(b.t, 0, TLA_HBM, &b.error), TLA_BUS_ERROR);
    BOOST_CHECK(b.offsets() == there);
    BOOST_CHECK_EQUAL(b.d.owned(), 10u + 34u + 100u);
    b.end();
}

// A small part is alone in a block that has the size of the larger ones.
BOOST_AUTO_TEST_CASE(a_part_that_cannot_be_moved_back_has_its_place_until_the_tensor_is_freed) {
    for (const bool moves_again : {false, true}) {
        bench b;
        unsigned copies = 0;
        b.d.fails_to_copy = [&] { return copies++ != 3; }; // the last part moves, and stays
        BOOST_CHECK_EQUAL(b.d.move(b.t, 0, TLA_HBM, &b.error), TLA_BUS_ERROR);
        BOOST_CHECK_NE(std::string(b.error.text)
                           .find("1 of 4 parts could not be moved back: the block has both places until its tensor is "
                                 "freed"),
                       std::string::npos);
        BOOST_CHECK((b.offsets() == std::vector<std::uint64_t>{10, 10, 10, 144}));
        BOOST_CHECK_EQUAL(b.d.owned(), 10u + 34u + 100u + 34u);
        b.check();
        b.d.fails_to_copy = [] { return false; };
        if (moves_again) { // each place is a block of its own now
            BOOST_CHECK_MESSAGE(!b.d.move(b.t, 0, TLA_HBM, &b.error), b.error.text);
            BOOST_CHECK((b.offsets() == std::vector<std::uint64_t>{178, 178, 178, 144}));
            BOOST_CHECK_MESSAGE(!b.d.move(b.t, 3, TLA_HBM, &b.error), b.error.text);
            BOOST_CHECK((b.offsets() == std::vector<std::uint64_t>{178, 178, 178, 10}));
            BOOST_CHECK_EQUAL(b.d.owned(), 10u + 34u + 100u + 34u);
        }
        b.end();
    }
}

BOOST_AUTO_TEST_CASE(random_tensors_that_move_among_failures_keep_their_bytes_and_leave_nothing) {
    seeded_random random(20261129);
    bench b;
    unsigned ends[2] = {}, apart = 0;
    const auto anyone = [&] {
        auto t = b.d.tensors().begin();
        std::advance(t, random.between(0, b.d.tensors().size() - 1));
        return const_cast<tensor *>(&*t);
    };
    for (unsigned step = 0; step < 3000; step++) {
        if (b.d.tensors().size() < 3 || random.one_in(8)) {
            std::vector<pe_location> where;
            for (std::uint64_t n = random.between(1, 6); n > 0; n--)
                where.push_back({0, 0, static_cast<std::uint32_t>(random.between(0, pes - 1))});
            tensor *made = nullptr;
            const bool replicated = random.one_in(4);
            BOOST_REQUIRE_MESSAGE(!b.d.create_tensor("r", random.between(1, 3000), 1,
                                                     {where, replicated ? spread::replicate : spread::split}, &made,
                                                     &b.error),
                                  b.error.text);
            b.d.write(*made);
        } else if (random.one_in(8)) {
            BOOST_REQUIRE_MESSAGE(!b.d.free_tensor(anyone(), &b.error), b.error.text);
        } else {
            tensor *t = anyone();
            const std::uint64_t failures = random.between(0, 5); // of 100
            b.d.refuse = [&](const tla_command &c) {
                const bool fails = c.opcode != TLA_OP_FREE && random.between(0, 99) < failures;
                return fails ? random.one_in(2) ? TLA_BUSY : TLA_UNMAPPED : TLA_OK;
            };
            std::uint64_t good = random.between(0, 20); // copies before all fail
            const bool often = random.one_in(4);
            b.d.fails_to_copy = [&] { return good == 0 || good-- == 0 || (often && random.one_in(2)); };
            const std::size_t part = random.between(0, t->shards.size() - 1);
            const std::uint64_t before = t->shards[part].pa.value;
            const tla_status status = b.d.move(t, part, TLA_HBM, &b.error);
            ends[status != TLA_OK]++;
            if (!status) BOOST_REQUIRE_NE(t->shards[part].pa.value, before);
            apart += std::string(b.error.text).find("both places") != std::string::npos;
            b.error = {};
            b.d.refuse = [](const tla_command &) { return TLA_OK; };
            b.d.fails_to_copy = [] { return false; };
        }
        b.check();
    }
    b.end();
    BOOST_CHECK_GT(ends[0], 500u);
    BOOST_CHECK_GT(ends[1], 500u);
    BOOST_CHECK_GT(apart, 50u);
    BOOST_TEST_MESSAGE(ends[0] << " moves, " << ends[1] << " that failed, " << apart << " not taken back");
}
