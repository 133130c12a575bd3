// Senders of random commands about blocks that move: which answers are right, and why a command may be refused.
#ifndef TLMALLOC_TESTS_MODULES_MOVING_SENDERS_HPP
#define TLMALLOC_TESTS_MODULES_MOVING_SENDERS_HPP

#include "moving_program.hpp"

namespace moving {

class sender : public actor {
  public:
    sender(sc_core::sc_module_name name, program &of, unsigned number) : actor(name, of), number_(number) {
        who_.asid = number + 1 == of.settings.senders;
        TLMALLOC_HAS_PROCESS(sender);
        SC_THREAD(run);
    }

  private:
    void run() {
        align();
        while (!p.is_over()) {
            if (p.resetting) {
                park();
                continue; // the program may be over
            }
            step();
            pause(below(400'000));
        }
        leave();
    }
    void step() {
        const std::uint64_t what = below(20);
        if (what < 4) return make();
        const block_ptr b = pick(what >= 10 && !one_in(5));
        if (!b) return;
        b->taken = true;
        if (what < 7)
            let_go(b);
        else if (what < 8)
            change_mappings(b);
        else if (what < 9)
            hold(b);
        else if (what < 10)
            try_what_is_wrong(b);
        else
            move(b);
        b->taken = false;
    }
    block_ptr pick(bool that_can_move) {
        std::vector<block_ptr> idle;
        for (const block_ptr &b : p.world.blocks)
            if (!b->taken && (!that_can_move || why_not_moved(b, false).empty())) idle.push_back(b);
        return idle.empty() ? nullptr : idle[below(idle.size())];
    }
    std::uint64_t new_size() {
        if (p.on.settings.walk != TLA_WALK_IDEAL) return page * (1 + below(3));
        return lane * (1 + below(3 * page / lane));
    }
    unsigned any_memory() { return one_in(3) ? TLA_TCM : TLA_HBM; }

    void make() {
        const block_ptr b = allocate(static_cast<unsigned>(below(controllers)), any_memory(), new_size());
        if (!b) return;
        if (!one_in(4)) fill(*b);
        if (!one_in(6)) map_once_more(b);
        b->taken = false;
    }
    // By physical address.
    void fill(block &b) {
        if (p.is_in_reset(b.home)) return;
        bytes data(b.nbytes);
        for (std::uint8_t &byte : data)
            byte = static_cast<std::uint8_t>(below(256));
        const auto writing = b.contents.begin_write(0, data);
        sc_core::sc_time delay;
        const bool done = access(out, tlm::TLM_WRITE_COMMAND, b.pa, data.data(),
                                 static_cast<std::uint32_t>(data.size()), delay, &who_);
        sc_core::wait(delay);
        align();
        note(done);
        if (!done && !p.is_in_reset(b.home)) p.is_wrong("a write of a new block failed");
        b.contents.end_write(writing, done);
        p.steps++;
    }
    // At a free slot of this sender's addresses, or its parts at two.
    void map_once_more(const block_ptr &b) {
        std::vector<std::uint64_t> free;
        for (std::uint64_t slot = 0; slot < 6; slot++) {
            const std::uint64_t va = (number_ + 1) * 0x100'0000 + slot * slot_bytes;
            if (std::none_of(p.world.places.begin(), p.world.places.end(), [&](const place &q) { return q.va == va; }))
                free.push_back(va);
        }
        if (free.size() < 2) return;
        std::shuffle(free.begin(), free.end(), std::mt19937(static_cast<unsigned>(below(1000))));
        std::vector<place> parts(1);
        parts[0].va = free[0];
        parts[0].nbytes = b->nbytes;
        parts[0].of = b;
        if (b->nbytes > page && one_in(3)) {
            parts.push_back(parts[0]);
            parts[1].va = free[1];
            parts[1].offset = parts[0].nbytes = page;
            parts[1].nbytes -= page;
        }
        if (!map(b, parts)) p.world.places.insert(p.world.places.end(), parts.begin(), parts.end());
    }
    void change_mappings(const block_ptr &b) {
        const std::vector<place *> places = p.world.places_of(b);
        if (places.size() < 2 || one_in(3))
            map_once_more(b);
        else
            unmap(b, places[below(places.size())]);
    }

    // Gives up a reference or a pin of this address space, and with the last one the block.
    void let_go(const block_ptr &b) {
        unsigned &references = b->references[who_.asid], &pins = b->pins[who_.asid];
        if (references + pins == 0) return;
        const bool unpins = pins > 0 && (references == 0 || one_in(2));
        const bool dies = b->holds() == 1;
        if (dies)
            for (place *m : p.world.places_of(b))
                unmap(b, m);
        const tla_opcode opcode = unpins ? TLA_OP_UNPIN : one_in(3) && b->counted ? TLA_OP_UNREF : TLA_OP_FREE;
        const tla_completion done = about(opcode, *b);
        expect(b->home, tla_opcode_name(opcode), done, {TLA_OK});
        if (done.status) return;
        (unpins ? pins : references)--;
        expect_value(*b, opcode, done);
        if (dies) p.world.forget(b);
    }
    void hold(const block_ptr &b) {
        if (std::accumulate(b->references.begin(), b->references.end(), 0u) == 0 || b->holds() > 4) return;
        const tla_opcode opcode = one_in(2) ? TLA_OP_PIN : TLA_OP_REF;
        const tla_completion done = about(opcode, *b);
        expect(b->home, tla_opcode_name(opcode), done, {TLA_OK});
        if (!done.status) is_held(*b, opcode, done);
    }
    void is_held(block &b, tla_opcode opcode, const tla_completion &done) {
        b.counted = true;
        (opcode == TLA_OP_PIN ? b.pins : b.references)[who_.asid]++;
        expect_value(b, opcode, done);
    }
    // References, or pins, that are left.
    void expect_value(const block &b, tla_opcode opcode, const tla_completion &done) {
        const auto &those = opcode == TLA_OP_PIN || opcode == TLA_OP_UNPIN ? b.pins : b.references;
        if (done.value != std::accumulate(those.begin(), those.end(), std::uint64_t{0}) && !p.is_in_reset(b.home))
            p.is_wrong(std::string(tla_opcode_name(opcode)) + " counts wrong");
    }
    // Commands that change nothing.
    void try_what_is_wrong(const block_ptr &b) {
        const std::vector<place *> places = p.world.places_of(b);
        block inside = *b;
        inside.pa += lane;
        tla_completion done{};
        switch (below(4)) {
        case 0:
            if (b->nbytes <= lane) return;
            done = about(one_in(2) ? TLA_OP_REF : TLA_OP_PIN, inside);
            return expect(b->home, "REF inside of a block", done, {TLA_NOT_ALLOCATED});
        case 1:
            inside = *b;
            inside.nbytes += lane;
            done = about(TLA_OP_FREE, inside);
            return expect(b->home, "FREE of another size", done, {TLA_SIZE_MISMATCH, TLA_NOT_OWNER, TLA_OUT_OF_RANGE});
        case 2:
            if (places.empty()) return;
            done = send_mapping(TLA_OP_MAP, {*places[0]});
            if (!p.all_in_reset() && done.status != TLA_OVERLAP) p.is_wrong("MAP of mapped addresses");
            return;
        default: {
            place nowhere{};
            nowhere.va = (number_ + 1) * 0x100'0000 + 7 * slot_bytes;
            nowhere.nbytes = page;
            nowhere.of = b;
            done = send_mapping(TLA_OP_UNMAP, {nowhere});
            if (!p.all_in_reset() && done.status != TLA_UNMAPPED) p.is_wrong("UNMAP of unmapped addresses");
        }
        }
    }

    // --- moves

    std::set<tla_status> why_not_moved(const block_ptr &b, bool leaves) {
        std::set<tla_status> reasons;
        if (p.world.places_of(b).empty()) reasons.insert(TLA_UNMAPPED);
        if (std::accumulate(b->pins.begin(), b->pins.end(), 0u) > 0) reasons.insert(TLA_BUSY);
        if (b->is_held_by_others(who_.asid)) reasons.insert(TLA_NOT_OWNER);
        if (leaves && b->counted) reasons.insert(TLA_UNSUPPORTED);
        return reasons;
    }
    void move(const block_ptr &b) {
        const bool leaves = p.settings.leaves > 0 && one_in(p.settings.leaves);
        const std::set<tla_status> reasons = why_not_moved(b, leaves);
        block_ptr to;
        tla_command command{};
        command.opcode = TLA_OP_MOVE;
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        command.pa = {b->pa};
        command.memory = static_cast<tla_memory_kind>(any_memory());
        if (leaves) {
            to = allocate(1 - b->home, command.memory, b->nbytes);
            if (!to) return;
            command.elsewhere = true;
            command.to = {to->pa};
        }
        if (p.is_in_reset(b->home)) return give_back(to);
        const bool is_reserved = b->reserving > 0;
        const unsigned reservations = b->reservations;
        b->moves = true;
        b->destination = to ? to->home : b->home;
        const tla_completion done = send_move(b, command, reasons.empty());
        b->moves = false;
        if (done.status) {
            std::set<tla_status> allowed = reasons;
            if (is_reserved || b->reservations > reservations) allowed.insert(TLA_BUSY);
            if (p.is_in_reset(b->destination)) allowed.insert(TLA_BUS_ERROR);
            if (reasons.empty() && !to && !allowed.count(done.status) && !lacks_table(done.status))
                expect_full(b->home, "MOVE", done, b->nbytes);
            else if (!lacks_table(done.status))
                expect(b->home, "MOVE", done, allowed);
            b->destination = b->home;
            return give_back(to);
        }
        if (!reasons.empty()) expect(b->home, "MOVE of a block that must stay", done, reasons);
        has_moved(b, to, command.memory, done);
    }
    void has_moved(const block_ptr &b, const block_ptr &to, unsigned memory, const tla_completion &done) {
        if (to) p.world.blocks.remove(to);
        if (to && done.value != to->pa && !p.is_lost(b)) p.is_wrong("MOVE went to another place than the one named");
        b->home = b->destination;
        b->memory = memory;
        b->pa = done.value;
        expect_place(*b);
        if (!to) return;
        std::vector<place> places;
        for (const place *m : p.world.places_of(b))
            places.push_back(*m);
        expect(b->home, "BIND", bind(TLA_OP_BIND, b, places), {TLA_OK});
    }
    // Beside it goes another command about the block, at a port of its own, which must come too late.
    tla_completion send_move(const block_ptr &b, const tla_command &command, bool well) {
        const std::uint64_t window_of = controller_window(b->home);
        tla_completion done{};
        sc_core::sc_time delay;
        tla_status status = post_command(out, window_of + port(), command, delay, &who_);
        if (well && !status && one_in(3)) {
            tla_command beside{};
            beside.opcode = one_in(2) ? TLA_OP_REF : TLA_OP_PIN;
            beside.target = TLA_TARGET_MEMORY_CONTROLLER;
            beside.pa = command.pa;
            const tla_status busy =
                send_command(out, window_of + port() + 32 * TLA_PORT_BYTES, beside, done, delay, &who_);
            if (busy) p.refusals[busy]++;
            done.status = busy;
            if (!busy)
                is_held(*b, beside.opcode, done); // the MOVE has been rejected
            else
                expect(b->home, "a command beside a MOVE", done, {TLA_BUSY});
            p.steps++;
        }
        if (!status) status = read_completion(out, window_of + port(), done, delay, &who_);
        sc_core::wait(delay);
        return answered(command.opcode, status, done);
    }

    const unsigned number_;
};

} // namespace moving
#endif
