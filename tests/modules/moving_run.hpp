// Runs a random program of moving_program.hpp: resets, observers, and a check of everything at its end.
#ifndef TLMALLOC_TESTS_MODULES_MOVING_RUN_HPP
#define TLMALLOC_TESTS_MODULES_MOVING_RUN_HPP

#include "apart.hpp"
#include "moving_pes.hpp"
#include "moving_senders.hpp"
#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/testing/base_protocol_checker.hpp"

#include <functional>

namespace moving {

// Resets a controller with its memories, or all, at random times; everybody stops meanwhile, as if told by software.
class resetter : public actor {
  public:
    resetter(sc_core::sc_module_name name, program &of) : actor(name, of) {
        TLMALLOC_HAS_PROCESS(resetter);
        SC_THREAD(run);
        p.parked++; // itself
    }

  private:
    void run() {
        align();
        delegate_all();
        while (!p.is_over()) {
            pause(10'000'000 + below(60'000'000));
            if (p.settings.resets && !p.is_over()) reset();
        }
        wait_for_all();
        check_all();
        give_everything_back();
        p.end_ps = now_ps();
        leave();
        p.goes_on = false;
    }
    void reset() {
        const bool all = !p.settings.resets_alone || one_in(4);
        const unsigned first = p.on.settings.walk == TLA_WALK_MEMORY; // the other has the MMUs' tables
        const unsigned which = all ? program::all_parts : 1u << (first + below(controllers - first));
        p.resetting = which;
        p.resets++;
        has_reset_all_ |= all;
        set_lines(true);
        if (!all && one_in(2)) { // a pulse; a line that leads to many modules must be held
            pause(below(2000));
            set_lines(false);
        }
        wait_for_all();
        set_lines(false);
        for (const resettable *part : parts())
            while (part->in_reset())
                pause(100'000);
        forget();
        p.resetting = 0;
        delegate_all();
        check_all();
        p.resumed.notify(sc_core::SC_ZERO_TIME);
    }
    void delegate_all() {
        for (const place &q : p.world.places)
            if (q.on_demand && !q.of) delegate(q);
    }
    std::vector<const resettable *> parts() const {
        std::vector<const resettable *> all;
        for (unsigned c = 0; c < controllers; c++)
            if (p.is_in_reset(c))
                for (const resettable *part : p.on.parts_of(c))
                    all.push_back(part);
        if (p.all_in_reset())
            for (const resettable *part : p.on.parts_of_mappings())
                all.push_back(part);
        return all;
    }
    void set_lines(bool level) {
        for (unsigned c = 0; c < controllers; c++)
            if (p.is_in_reset(c)) p.on.lines[c].write(level);
        if (p.all_in_reset()) p.on.line_of_mappings.write(level);
    }
    void wait_for_all() {
        const std::uint64_t patience = now_ps() + 20'000'000'000;
        while (p.parked < p.actors && now_ps() < patience)
            pause(100'000);
        if (p.parked == p.actors) return;
        p.is_wrong("somebody waits for ever");
        sc_core::sc_stop();
        sc_core::wait();
    }
    // What the reset has taken, and the mappings that still lead there.
    void forget() {
        const unsigned which = p.resetting;
        const auto blocks = p.world.blocks;
        for (const block_ptr &b : blocks) {
            if (!p.is_in_reset(b->home)) continue;
            std::vector<place> left;
            for (const place *m : p.world.places_of(b))
                left.push_back(*m);
            for (const place &m : left)
                if (which != program::all_parts) expect_mapped("UNMAP after a reset", send_mapping(TLA_OP_UNMAP, {m}));
            p.world.forget(b);
        }
    }

    // Nobody else is at work.
    void check_all() {
        for (unsigned c = 0; c < controllers; c++)
            for (const tla_memory_kind kind : {TLA_HBM, TLA_TCM}) {
                const std::uint64_t used = p.on.control[c]->get_statistics(kind).arena.used;
                const std::uint64_t tables = c == 0 && kind == TLA_HBM ? bytes_of_tables() : 0;
                if (used != p.world.used(c, kind) + tables)
                    p.is_wrong("other bytes are allocated than live blocks have");
            }
        for (const block_ptr &b : p.world.blocks)
            if (!b->contents.is(look(out, b->pa, b->nbytes), 0)) p.has_wrong_bytes("in a block");
        for (const place &m : p.world.places)
            if (m.of)
                for (auto *view : p.views)
                    if (!m.of->contents.is(look(*view, m.va, m.nbytes), m.offset))
                        p.has_wrong_bytes("at mapped addresses");
    }
    std::uint64_t bytes_of_tables() const {
        std::uint64_t sum = 0;
        for (const auto &mmu : p.on.mmus)
            sum += mmu->get_statistics().table.table_bytes;
        return p.on.settings.walk == TLA_WALK_MEMORY ? sum : 0;
    }
    static bytes look(sc_core::sc_port_b<tlm::tlm_fw_transport_if<>> &target, std::uint64_t address,
                      std::uint64_t nbytes) {
        bytes found(nbytes);
        tlm::tlm_generic_payload payload;
        payload.set_read();
        payload.set_address(address);
        payload.set_data_ptr(found.data());
        payload.set_data_length(static_cast<unsigned>(nbytes));
        if (target->transport_dbg(payload) != nbytes) found.clear();
        return found;
    }
    void give_everything_back() {
        while (!p.world.blocks.empty()) {
            const block_ptr b = p.world.blocks.front();
            for (place *m : p.world.places_of(b))
                unmap(b, m);
            for (unsigned space = 0; space < spaces; space++) {
                who_.asid = space;
                for (; b->references[space] > 0; b->references[space]--)
                    expect(b->home, "FREE", about(TLA_OP_FREE, *b), {TLA_OK});
                for (; b->pins[space] > 0; b->pins[space]--)
                    expect(b->home, "UNPIN", about(TLA_OP_UNPIN, *b), {TLA_OK});
            }
            p.world.forget(b);
        }
        for (unsigned c = 0; c < controllers; c++)
            for (const tla_memory_kind kind : {TLA_HBM, TLA_TCM}) {
                const memory_controller::statistics s = p.on.control[c]->get_statistics(kind);
                if (s.arena.used > bytes_of_tables()) p.is_wrong("bytes are left");
                if (!has_reset_all_ && s.not_resumed > 0) p.is_wrong("a move was not undone");
            }
    }

    bool has_reset_all_ = false;
};

// Everything that can look on: a waveform, a log of all hooks, statistics that are read all the time, and monitors of
// the protocol between PEs and MMUs.
class observers : public sc_core::sc_module {
  public:
    observers(sc_core::sc_module_name name, program &of, platform &on)
        : sc_module(name), p(of), on_(on), file_(std::tmpfile()), wave_(std::make_unique<waveform>(file_)) {
        std::uint64_t module = 0;
        for (instrumented *m : on.modules())
            m->record(*wave_);
        watch(on.manager.control, module++);
        for (const auto &mmu : on.mmus) {
            watch(mmu->control, module++);
            mmu->troubled = [this, module](const pe_mmu::troubled_access &t) {
                log({module, static_cast<std::uint64_t>(t.what), t.access.va.value, t.at_ps});
            };
        }
        for (const auto &c : on.control)
            watch(*c, module++);
        TLMALLOC_HAS_PROCESS(observers);
        SC_THREAD(read_statistics);
    }
    ~observers() override { std::fclose(file_); }

    // Of the log and of the waveform. The order of entries of the log is not that of their times.
    std::uint64_t seen() {
        wave_->close();
        std::uint64_t hash = log_;
        std::rewind(file_);
        for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_))
            hash = (hash ^ static_cast<std::uint64_t>(c)) * 0x100000001b3;
        return hash;
    }
    std::uint64_t entries() const { return entries_; }

    testing::base_protocol_checker &monitor() {
        monitors_.push_back(std::make_unique<testing::base_protocol_checker>(sc_core::sc_gen_unique_name("monitor")));
        return *monitors_.back();
    }
    void check() {
        for (const auto &m : monitors_)
            if (!m->violations().empty()) p.is_wrong(m->report());
        for (const auto &c : on_.control)
            for (const tla_memory_kind kind : {TLA_HBM, TLA_TCM}) {
                const memory_controller::statistics s = c->get_statistics(kind);
                if (p.resets == 0 && s.use_after_free + s.out_of_bounds > 0)
                    p.is_wrong("the guard has seen a wrong access");
            }
    }

  private:
    void log(std::initializer_list<std::uint64_t> entry) {
        std::uint64_t hash = 0xcbf29ce484222325;
        for (const std::uint64_t word : entry)
            hash = (hash ^ word) * 0x9e3779b97f4a7c15 + (hash >> 29);
        log_ += hash;
        entries_++;
    }
    void watch(control_window &of, std::uint64_t module) {
        of.answered = [this, module](const answered_command &a) {
            log({module, a.port, a.command.opcode, a.completion.status, a.completion.value, a.arrival_ps, a.start_ps,
                 a.done_ps});
        };
    }
    void watch(memory_controller &c, std::uint64_t module) {
        watch(c.control, module);
        c.moved = [this, module](const controller_hooks::moved_block &m) {
            log({module, m.from.pa.value, m.to.pa.value, m.begun_ps, m.freed_ps});
        };
        c.stopped = [this, module](std::uint64_t begin_ps, std::uint64_t end_ps) { log({module, begin_ps, end_ps}); };
        memory_controller::watch who;
        who.decided = [this, module](tla_memory_kind kind, const tla_stack_deed &) { log({module, kind}); };
        who.counted = [this, module](tla_memory_kind kind, std::uint64_t offset, bool more, std::uint64_t references,
                                     std::uint64_t at_ps) {
            log({module, kind, offset, more, references, at_ps});
        };
        c.set_watch(who);
    }
    void read_statistics() {
        while (p.goes_on) {
            for (const instrumented *m : on_.modules())
                m->list_statistics();
            sc_core::wait(sc_core::sc_time(1'777'777, sc_core::SC_PS));
        }
    }

    program &p;
    platform &on_;
    std::FILE *const file_;
    std::unique_ptr<waveform> wave_;
    std::uint64_t log_ = 0, entries_ = 0;
    std::vector<std::unique_ptr<testing::base_protocol_checker>> monitors_;
};

// What a program has done.
struct result {
    std::uint64_t answers, end_ps, steps, seen, entries, wrong, wrong_bytes; // answers, seen: one number of all of them
    std::uint64_t moved, loads, stores, faults, pages_given, resets, paused;
    std::uint64_t counts[TLA_OP_LAST + 1], refusals[TLA_STATUS_COUNT], reserved_stores[2];
    char error[1000];
};

inline result run(const program_settings &s, bool observed, std::uint64_t quantum_ps) {
    return apart<result>("a random program", [&](result &r) {
        sc_core::sc_report_handler::set_actions(sc_core::SC_WARNING, sc_core::SC_DO_NOTHING);
        time_queue::of_simulation().allow_quantum(quantum_ps);
        program_settings settings = s;
        platform on("platform", settings.platform);
        program p(on, settings);
        std::unique_ptr<observers> all;
        if (observed) all = std::make_unique<observers>("observers", p, on);
        std::deque<sender> senders;
        std::deque<pe> pes;
        std::deque<pager> pagers;
        for (unsigned i = 0; i < settings.senders; i++)
            senders.emplace_back(("sender" + std::to_string(i)).c_str(), p, i).out.bind(on.paths.in);
        for (unsigned i = 0; i < settings.platform.pes; i++) {
            const std::string number = std::to_string(i);
            pe &uses = pes.emplace_back(("pe" + number).c_str(), p, i);
            pager &serves = pagers.emplace_back(("pager" + number).c_str(), p, i);
            serves.out.bind(on.paths.in);
            if (i < controllers && settings.platform.controllers_serve) {
                on.mmus[i]->fault.bind(*on.control[i]->page_faults());
                on.control[i]->host_faults.bind(serves.handler.in);
            } else {
                on.mmus[i]->fault.bind(serves.handler.in);
            }
            if (!observed) {
                uses.out.bind(on.mmus[i]->in);
                continue;
            }
            testing::base_protocol_checker &monitor = all->monitor();
            uses.out.bind(monitor.in);
            monitor.out.bind(on.mmus[i]->in);
        }
        resetter resets("resetter", p);
        resets.out.bind(on.paths.in);
        sc_core::sc_start();
        if (p.goes_on && p.wrong_count == 0) p.is_wrong("the program has not come to its end");
        if (observed) all->check();
        r.answers = p.answers;
        r.end_ps = p.end_ps;
        r.steps = p.steps;
        r.wrong = p.wrong_count;
        r.wrong_bytes = p.wrong_bytes;
        r.loads = p.loads;
        r.stores = p.stores;
        r.faults = p.faults;
        r.pages_given = p.pages_given;
        r.resets = p.resets;
        std::copy(std::begin(p.counts), std::end(p.counts), r.counts);
        std::copy(std::begin(p.refusals), std::end(p.refusals), r.refusals);
        std::copy(std::begin(p.reserved_stores), std::end(p.reserved_stores), r.reserved_stores);
        for (const auto &c : on.control)
            for (const tla_memory_kind kind : {TLA_HBM, TLA_TCM})
                r.moved += c->get_statistics(kind).moved_blocks;
        for (const auto &mmu : on.mmus)
            r.paused += mmu->get_statistics().paused;
        if (observed) {
            r.seen = all->seen();
            r.entries = all->entries();
        }
        std::snprintf(r.error, sizeof r.error, "%s", p.report().c_str());
    });
}

} // namespace moving
#endif
