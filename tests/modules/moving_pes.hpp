// PEs that load and store by virtual address while blocks move, and who serves their page faults.
#ifndef TLMALLOC_TESTS_MODULES_MOVING_PES_HPP
#define TLMALLOC_TESTS_MODULES_MOVING_PES_HPP

#include "fault_handler.hpp"
#include "moving_program.hpp"

namespace moving {

class pe : public actor {
  public:
    pe(sc_core::sc_module_name name, program &of, unsigned number) : actor(name, of), number_(number) {
        reserving_ = requester(0, 100 + number, true);
        reserving_.exclusive = true;
        p.views.push_back(&out);
        TLMALLOC_HAS_PROCESS(pe);
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
            pause(below(60'000));
        }
        leave();
    }
    void step() {
        std::vector<place *> open;
        for (place &q : p.world.places)
            if (!q.closing && (!q.on_demand || q.of || one_in(4))) open.push_back(&q);
        if (open.empty()) return;
        if (one_in(2)) prefer_moving(open);
        place &at = *open[below(open.size())];
        at.users++;
        const std::uint64_t kind = below(8);
        if (kind < 3)
            store(at);
        else if (kind == 3 && at.of && p.settings.reserves)
            reserve(at);
        else
            load(at, below(at.nbytes), 1 + below(128), nullptr);
        at.users--;
    }
    static void prefer_moving(std::vector<place *> &open) {
        const auto others =
            std::partition(open.begin(), open.end(), [](const place *q) { return q->of && q->of->moves; });
        if (others != open.begin()) open.erase(others, open.end());
    }
    // The first byte of a lane of this PE's in a place; lanes are those of the block.
    bool find_lane(const place &at, std::uint64_t *offset) {
        const std::uint64_t lanes = at.nbytes / lane, first = below(lanes), pes = p.settings.platform.pes;
        for (std::uint64_t i = 0; i < lanes; i++) {
            const std::uint64_t n = (first + i) % lanes;
            if ((at.offset / lane + n) % pes != number_) continue;
            *offset = n * lane;
            return true;
        }
        return false;
    }
    void store(place &at) {
        std::uint64_t offset = 0;
        if (!find_lane(at, &offset)) return;
        bytes data = random_bytes(1 + below(lane));
        const auto writing = at.of ? at.of->contents.begin_write(at.offset + offset, data) : nullptr;
        const bool done = access_to(at, tlm::TLM_WRITE_COMMAND, offset, data, nullptr);
        p.stores++;
        if (writing) return at.of->contents.end_write(writing, done && !p.is_lost(at.of));
        if (at.of) at.of->contents.end_write(at.of->contents.begin_write(at.offset + offset, data), done);
    }
    void load(place &at, std::uint64_t offset, std::uint64_t nbytes, requester *as) {
        nbytes = std::min(nbytes, at.nbytes - offset);
        bytes found(nbytes);
        const auto reading = at.of ? at.of->contents.begin_read(at.offset + offset, nbytes) : nullptr;
        const bool done = access_to(at, tlm::TLM_READ_COMMAND, offset, found, as);
        p.loads++;
        if (!reading) return;
        const bool right = at.of->contents.end_read(reading, found);
        if (done && !right && !p.is_lost(at.of)) {
            std::ostringstream text;
            text << "at 0x" << std::hex << at.va + offset << " of " << name();
            p.has_wrong_bytes(text.str());
        }
    }
    // Reserves bytes for a while. A write ends it, which may be made only if the reservation stands.
    void reserve(place &at) {
        std::uint64_t offset = 0;
        if (!find_lane(at, &offset)) return;
        const block_ptr of = at.of;
        of->reserving++;
        of->reservations++;
        load(at, offset, 8, &reserving_);
        pause(below(1'000'000));
        store_reserved(at, offset, one_in(2));
        of->reserving--;
    }
    void store_reserved(place &at, std::uint64_t offset, bool conditional) {
        bytes data = random_bytes(8);
        byte_map &contents = at.of->contents;
        const auto writing = contents.begin_write(at.offset + offset, data);
        const bool done = access_to(at, tlm::TLM_WRITE_COMMAND, offset, data, conditional ? &reserving_ : nullptr);
        const bool skipped = done && !reserving_.exclusive;
        reserving_.exclusive = true;
        p.reserved_stores[skipped] += conditional && done;
        if (skipped && !p.is_lost(at.of)) return contents.drop_write(writing);
        contents.end_write(writing, done && !p.is_lost(at.of));
    }
    bytes random_bytes(std::uint64_t nbytes) {
        bytes data(nbytes);
        for (std::uint8_t &byte : data)
            byte = static_cast<std::uint8_t>(below(256));
        return data;
    }
    bool access_to(place &at, tlm::tlm_command command, std::uint64_t offset, bytes &data, requester *as) {
        const unsigned refused = at.refused;
        sc_core::sc_time delay;
        const bool done =
            access(out, command, at.va + offset, data.data(), static_cast<std::uint32_t>(data.size()), delay, as);
        sc_core::wait(delay);
        align();
        std::uint64_t sum = done;
        if (command == tlm::TLM_READ_COMMAND)
            for (const std::uint8_t byte : data)
                sum = sum * 257 + byte;
        note(sum);
        p.steps++;
        if (!done && at.refused == refused && !p.resetting) {
            std::ostringstream text;
            text << name() << ": no access to 0x" << std::hex << at.va + offset;
            p.is_wrong(text.str());
        }
        return done;
    }

    const unsigned number_;
    requester reserving_;
};

// Serves the page faults of one MMU, or those that a controller passes on, as a host does: by commands at its own
// ports. The controller's notices bring pages too.
class pager : public actor {
  public:
    pager(sc_core::sc_module_name name, program &of, unsigned number) : actor(name, of), number_(number) {
        handler.serve = [this](const page_fault &fault, sc_core::sc_time &delay) {
            sc_core::wait(delay);
            delay = sc_core::SC_ZERO_TIME;
            align();
            while (p.serves_fault)
                pause(300'000);
            p.serves_fault = true;
            const bool served = serve(fault);
            p.serves_fault = false;
            return served;
        };
        handler.note = [this](const page_notice &notice, sc_core::sc_time &delay) {
            sc_core::wait(delay);
            delay = sc_core::SC_ZERO_TIME;
            align();
            return take(notice);
        };
        p.parked++; // faults belong to accesses, whose PEs are waited for
    }

    fault_handler handler{"handler"};

  private:
    bool serve(const page_fault &fault) {
        p.faults++;
        const auto found = std::find_if(p.world.places.begin(), p.world.places.end(),
                                        [&](const place &q) { return q.on_demand && fault.va - q.va < q.nbytes; });
        if (found == p.world.places.end()) {
            if (!p.all_in_reset()) p.is_wrong(std::string(name()) + ": a fault where memory is mapped");
            return false;
        }
        const bool served = !p.all_in_reset() && (found->of || bring(*found));
        found->refused += !served;
        return served;
    }
    // The controller has allocated and mapped the page, for the address space of the access.
    bool take(const page_notice &notice) {
        p.pages_given++;
        const auto at = std::find_if(p.world.places.begin(), p.world.places.end(),
                                     [&](const place &q) { return q.on_demand && notice.va == q.va; });
        if (at == p.world.places.end() || at->of || notice.nbytes != page || !notice.mapped) {
            p.is_wrong(std::string(name()) + ": a notice of another page");
            return true;
        }
        const block_ptr b = add_block(number_, TLA_HBM, notice.pa, page);
        at->of = b;
        expect(number_, "BIND", bind(TLA_OP_BIND, b, {*at}), {TLA_OK});
        b->taken = false;
        return true;
    }
    bool bring(place &at) {
        block_ptr b;
        for (unsigned i = 0; i < controllers && !b; i++)
            b = allocate((number_ + i) % controllers, TLA_HBM, page);
        if (!b) return false;
        place mapped = at;
        mapped.of = b;
        const tla_status status = map(b, {mapped});
        if (!status) at.of = b;
        if (status) give_back(b);
        b->taken = false;
        return !status || status == TLA_OVERLAP; // a controller was faster
    }

    const unsigned number_;
};

} // namespace moving
#endif
