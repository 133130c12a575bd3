// A random program on the platform of moving_bench.hpp: its state beside a plain byte map, and an actor in it.
#ifndef TLMALLOC_TESTS_MODULES_MOVING_PROGRAM_HPP
#define TLMALLOC_TESTS_MODULES_MOVING_PROGRAM_HPP

#include "moving_bench.hpp"
#include "plain_blocks.hpp"

#include <random>
#include <sstream>

namespace moving {

using plain_blocks::block;
using plain_blocks::block_ptr;
using plain_blocks::byte_map;
using plain_blocks::bytes;
using plain_blocks::place;

constexpr unsigned spaces = 2;     // address spaces of senders
constexpr std::uint64_t lane = 32; // bytes that a PE alone writes, in turn with those of others
constexpr std::uint64_t demand_va = 0x8000'0000, slot_bytes = 8 * page;

struct program_settings {
    platform_settings platform;
    std::uint64_t seed = 1, steps = 1000;
    unsigned senders = 4, demand_pages = 5;
    unsigned leaves = 2;                      // one move in so many goes to the other controller; 0: none
    bool resets = true, resets_alone = false; // alone: also of one controller and its memories
    bool reserves = false;                    // PEs also reserve bytes by exclusive accesses
};

inline std::uint64_t now_ps() {
    return to_ps(sc_core::sc_time_stamp());
}

// All actors share it. An actor looks at it, and changes it, at times that no other actor has (actor::align).
struct program {
    program(platform &p, const program_settings &s) : on(p), settings(s) {
        for (unsigned i = 0; i < s.demand_pages; i++) {
            place demanded{};
            demanded.va = demand_va + 2 * page * i;
            demanded.nbytes = page;
            demanded.on_demand = true;
            world.places.push_back(demanded);
        }
    }

    bool is_over() const { return steps >= settings.steps; }
    bool is_in_reset(unsigned c) const { return resetting >> c & 1; }
    bool all_in_reset() const { return resetting == all_parts; }
    // Whether a reset may have changed the bytes of a block, or ended an access to it.
    bool is_lost(const block_ptr &b) const { return b && (is_in_reset(b->home) || is_in_reset(b->destination)); }

    void is_wrong(const std::string &what) {
        wrong_count++;
        std::ostringstream text;
        text << now_ps() << " ps, step " << steps << ": " << what;
        if (wrong.size() < 5) wrong.push_back(text.str());
    }
    void has_wrong_bytes(const std::string &what) {
        wrong_bytes++;
        is_wrong("wrong bytes " + what);
    }
    std::string report() const {
        std::string text;
        for (const std::string &w : wrong)
            text += w + "\n";
        return text;
    }

    static constexpr unsigned all_parts = (1u << controllers) - 1;

    platform &on;
    const program_settings settings;
    plain_blocks::world world;
    std::uint64_t steps = 0, answers = 0; // answers: of all actors, with their times, in their order
    std::uint64_t counts[TLA_OP_LAST + 1] = {}, refusals[TLA_STATUS_COUNT] = {}, loads = 0, stores = 0, faults = 0,
                                       resets = 0, pages_given = 0, reserved_stores[2] = {}; // made; not made
    unsigned resetting = 0; // controllers, bit by bit; all: the MMUs and their manager too
    unsigned actors = 0, parked = 0;
    bool serves_fault = false, goes_on = true;
    sc_core::sc_event resumed;
    std::vector<sc_core::sc_port_b<tlm::tlm_fw_transport_if<>> *> views; // of virtual addresses: a PE's each
    std::uint64_t wrong_count = 0, wrong_bytes = 0, end_ps = 0;
    std::vector<std::string> wrong;
};

class actor : public sc_core::sc_module {
  public:
    actor(sc_core::sc_module_name name, program &of)
        : sc_module(name), p(of), id_(of.actors++), random_(of.settings.seed * 1000 + id_) {
        who_.initiator = id_;
    }

    tlm_utils::simple_initiator_socket<actor> out{"out"};

  protected:
    // The next time that is this actor's own.
    void align() {
        const std::uint64_t now = now_ps(), next = now / period * period + id_;
        sc_core::wait(from_ps((next > now ? next : next + period) - now));
    }
    void pause(std::uint64_t ps) {
        sc_core::wait(from_ps(ps));
        align();
    }
    std::uint64_t below(std::uint64_t n) { return random_() % n; }
    bool one_in(std::uint64_t n) { return below(n) == 0; }

    void note(std::uint64_t what) { said_ = (said_ ^ what ^ now_ps()) * 0x100000001b3; }

    // A command to a controller, or to the manager of mappings, at this actor's port there.
    tla_completion send(unsigned c, tla_command command) {
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        return p.is_in_reset(c) ? ended() : send_to(controller_window(c), command);
    }
    tla_completion send_mapping(tla_opcode opcode, const std::vector<place> &places) {
        if (p.all_in_reset()) return ended();
        return send_to(manager_window, with_entries(TLA_TARGET_VA_MANAGER, opcode, places));
    }
    static tla_command with_entries(tla_target target, tla_opcode opcode, const std::vector<place> &places) {
        tla_command command{};
        command.opcode = opcode;
        command.target = target;
        command.scope = {1, 1, ~0u};
        for (const place &m : places)
            command.entries[command.count++] = {{m.va}, {m.of->pa + m.offset}, m.nbytes, TLA_READ | TLA_WRITE, 0};
        return command;
    }
    tla_completion send_to(std::uint64_t address, const tla_command &command) {
        tla_completion done{};
        sc_core::sc_time delay;
        const tla_status status = send_command(out, address + port(), command, done, delay, &who_);
        sc_core::wait(delay);
        return answered(command.opcode, status, done);
    }
    tla_completion answered(tla_opcode opcode, tla_status status, tla_completion done) {
        align();
        done.status = status;
        note(static_cast<unsigned>(status) * 1000003u + done.value);
        p.steps++;
        p.counts[opcode]++;
        if (status) p.refusals[status]++;
        return done;
    }
    std::uint64_t port() const { return (port_of_actors + id_) * std::uint64_t{TLA_PORT_BYTES}; }

    // Outside a reset, an answer is one of these.
    void expect(unsigned c, const char *what, const tla_completion &done, std::set<tla_status> those) {
        if (p.is_in_reset(c) || those.count(done.status)) return;
        p.is_wrong(std::string(name()) + ": " + what + ": " + tla_status_name(done.status));
    }
    void expect_mapped(const char *what, const tla_completion &done) {
        if (p.all_in_reset() || !done.status) return;
        p.is_wrong(std::string(name()) + ": " + what + ": " + tla_status_name(done.status));
    }
    // A memory that is said to be full is full.
    void expect_full(unsigned c, const char *what, const tla_completion &done, std::uint64_t nbytes) {
        const bool full = done.status == TLA_EXHAUSTED && done.total_free < nbytes;
        const bool split = done.status == TLA_FRAGMENTED && done.total_free >= nbytes && done.largest_free < nbytes;
        if (!full && !split) expect(c, what, done, {});
    }
    void expect_place(const block &b) {
        if (p.is_in_reset(b.home)) return;
        const std::uint64_t offset = b.pa - memory_base(b.home, b.memory);
        if (offset >= memory_bytes(b.memory) || b.nbytes > memory_bytes(b.memory) - offset || !p.world.is_alone(b))
            p.is_wrong(std::string(name()) + ": a block was given bytes that are not free");
    }

    // Takes a block for the sender's address space; the block is taken. Null if there is no room.
    block_ptr allocate(unsigned c, unsigned memory, std::uint64_t nbytes) {
        tla_command command{};
        command.opcode = TLA_OP_ALLOC;
        command.memory = static_cast<tla_memory_kind>(memory);
        command.nbytes = nbytes;
        const tla_completion done = send(c, command);
        if (done.status) {
            expect_full(c, "ALLOC", done, nbytes);
            return nullptr;
        }
        return add_block(c, memory, done.value, nbytes);
    }
    // A block that somebody has allocated for the sender's address space; it is taken.
    block_ptr add_block(unsigned c, unsigned memory, std::uint64_t pa, std::uint64_t nbytes) {
        auto b = std::make_shared<block>(
            block{c, memory, pa, nbytes, std::vector<unsigned>(spaces), std::vector<unsigned>(spaces)});
        b->references[who_.asid] = 1;
        b->taken = true;
        p.world.blocks.push_back(b);
        expect_place(*b);
        return b;
    }
    // The controllers may give pages at these addresses; what they knew of these is forgotten.
    void delegate(const place &at) {
        if (!p.settings.platform.controllers_serve) return;
        for (unsigned c = 0; c < controllers; c++) {
            place given = at;
            given.of = std::make_shared<block>(block{c, TLA_HBM, memory_base(c, TLA_HBM), page, {}, {}});
            expect(c, "MAP of a delegation", send(c, with_entries(TLA_TARGET_MEMORY_CONTROLLER, TLA_OP_MAP, {given})),
                   {TLA_OK});
        }
    }
    // Frees a block that nobody uses yet; null: nothing.
    void give_back(const block_ptr &b) {
        if (!b) return;
        const tla_completion done = about(TLA_OP_FREE, *b);
        expect(b->home, "FREE", done, {TLA_OK});
        if (!done.status) p.world.blocks.remove(b);
        b->taken = false;
    }
    tla_completion about(tla_opcode opcode, const block &b) {
        tla_command command{};
        command.opcode = opcode;
        command.pa = {b.pa};
        command.nbytes = opcode == TLA_OP_FREE ? b.nbytes : 0;
        return send(b.home, command);
    }
    // Whether the status says that an MMU has no memory for a table.
    bool lacks_table(tla_status status) const {
        return p.on.settings.walk == TLA_WALK_MEMORY && (status == TLA_EXHAUSTED || status == TLA_FRAGMENTED);
    }
    // MAP and BIND of new places. A controller may have mapped a page that is demanded.
    tla_status map(const block_ptr &b, const std::vector<place> &places) {
        const tla_completion mapped = send_mapping(TLA_OP_MAP, places);
        const bool is_there =
            mapped.status == TLA_OVERLAP && places[0].on_demand && p.settings.platform.controllers_serve;
        if (!lacks_table(mapped.status) && !is_there) expect_mapped("MAP", mapped);
        if (!mapped.status) expect(b->home, "BIND", bind(TLA_OP_BIND, b, places), {TLA_OK});
        return mapped.status;
    }
    tla_completion bind(tla_opcode opcode, const block_ptr &b, const std::vector<place> &places) {
        return send(b->home, with_entries(TLA_TARGET_MEMORY_CONTROLLER, opcode, places));
    }
    void unmap(const block_ptr &b, place *which) {
        which->closing = true;
        while (which->users > 0)
            pause(200'000);
        expect(b->home, "UNBIND", bind(TLA_OP_UNBIND, b, {*which}), {TLA_OK});
        expect_mapped("UNMAP", send_mapping(TLA_OP_UNMAP, {*which}));
        if (which->on_demand) delegate(*which);
        p.world.forget(which);
    }

    static tla_completion ended() {
        tla_completion done{};
        done.status = TLA_RESET;
        return done;
    }

    // Until the reset is over; nothing of this actor's is under way meanwhile.
    void park() {
        p.parked++;
        while (p.resetting)
            sc_core::wait(p.resumed);
        p.parked--;
        align();
    }
    void leave() {
        p.parked++; // for ever
        p.answers += said_;
    }

    program &p;
    requester who_;

  private:
    static constexpr std::uint64_t period = 64; // ps; there are fewer actors

    const unsigned id_;
    std::mt19937_64 random_;
    std::uint64_t said_ = 0xcbf29ce484222325;
};

} // namespace moving
#endif
