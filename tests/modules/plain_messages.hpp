// Messages between the PEs of an NPU by the plain event model: what kernels call and when it returns, what their DMA
// engines move meanwhile. By the rules of pe_ipcq.hpp, messages.h and TIME.md, in code of its own.
#ifndef TLMALLOC_TESTS_MODULES_PLAIN_MESSAGES_HPP
#define TLMALLOC_TESTS_MODULES_PLAIN_MESSAGES_HPP

#include "plain_pes.hpp"

#include <deque>
#include <memory>
#include <stdexcept>
#include <tuple>

namespace plain {

// Rows of bytes in a PE's TCM.
struct tile {
    std::uint64_t at = 0, rows = 0, row_bytes = 0, pitch = 0;
    std::uint64_t nbytes() const { return rows * row_bytes; }
};

// A call of a kernel; and when it returned.
struct call {
    enum { send, receive, receive_async, wait, pause, add } what = pause;
    unsigned peer = 0;
    tile data;               // of a message; add: the result, as large as both operands
    std::uint64_t other = 0; // wait: the place of the call that it waits for; pause: ps
    picoseconds returned = 0;
};
using program = std::vector<call>;

// A transfer of a DMA engine.
struct moved {
    unsigned pe;
    picoseconds start, end;
    bool write;
    std::uint64_t address, nbytes;
    bool operator<(const moved &o) const { return key() < o.key(); }
    bool operator==(const moved &o) const { return key() == o.key(); }
    std::tuple<picoseconds, unsigned, bool, std::uint64_t, std::uint64_t, picoseconds> key() const {
        return {start, pe, write, address, nbytes, end};
    }
};

class messages : private pes {
  public:
    // Programs begin at `start`, on all PEs at once.
    messages(const tla_config &config, std::vector<program> &programs, picoseconds start)
        : pes(config), programs_(programs) {
        const auto cubes = static_cast<unsigned>(config.system.cube_mesh_width * config.system.cube_mesh_height);
        for (unsigned sip = 0; sip < config.system.sips; sip++)
            for (unsigned cube = 0; cube < cubes; cube++) {
                sram &shared = make_sram(sip, cube);
                for (unsigned i = 0; i < config.system.pes_per_cube; i++) {
                    const auto number = static_cast<unsigned>(pes_.size());
                    make_pe(pes_.emplace_back(), number, {sip, cube, i}, shared);
                }
            }
        make_network();
        for (pe &p : pes_)
            p.unit = resources_++;
        for (sram &s : srams_)
            s.outlet = resources_++;
        for (pe &p : pes_)
            wake(start, [this, &p](picoseconds now) { next_call(p, now); });
    }

    void run() { events_.run(); }
    const std::vector<moved> &transfers() const { return transfers_; }

  private:
    // What goes first of what happens to a message unit at one time (pe_ipcq.hpp).
    enum turn : unsigned { comes = 1, is_there = 64, write_ends, slots_are_there, receive_goes_on, calls, looks };
    struct piece {
        std::uint64_t slot, nbytes;
        bool last;
    };
    struct outgoing {
        bool asked = false;
        std::uint64_t credits = 0, next_slot = 0;
    };
    struct receiving {
        tile data;
        std::uint64_t done_bytes = 0;
        bool done = false;
    };
    struct incoming {
        std::uint64_t slots_at = 0, first = 0;
        struct {
            piece what{};
            std::uint64_t there = 0; // bytes
            picoseconds at = 0;      // of the last of them
        } slot[TLA_MESSAGE_SLOTS_MAX];
        std::deque<std::shared_ptr<receiving>> receives; // begun and not done
        bool serving = false;
    };
    struct sending {
        std::uint64_t left = 0, sent = 0, unread = 0;
        bool waits = false; // for a credit, since then; polling, until this look
        picoseconds since = 0, look = 0;
    };
    // What a write to another unit says.
    struct token {
        enum { a_piece, connect, credit } what;
        unsigned from, to;
        piece of{};
        std::uint64_t credits = 0;
        std::uint64_t arrived = 0; // bytes, of what is no piece
    };
    using token_ptr = std::shared_ptr<token>;

    struct pe : hardware {
        // the message unit
        std::map<unsigned, outgoing> to;
        std::map<unsigned, incoming> from;
        std::deque<unsigned> asked; // for slots
        bool making_slots = false;
        std::function<void(picoseconds)> go; // of the call in hand: looks whether it can go on
        // the kernel
        std::size_t next = 0;
        std::map<std::size_t, std::shared_ptr<receiving>> begun;
    };

    bool has_tables() const { return config_.messages.costs != TLA_SLOT_COSTS_MEMORY; }
    picoseconds table_ps(std::uint64_t nbytes) const {
        return tla_slot_cost_ps(config_.messages.costs, config_.messages.memory, nbytes);
    }

    // --- what leaves a message unit: writes to the window of another ---

    void record(const pe &p, bool write, std::uint64_t address, std::uint64_t nbytes, picoseconds start,
                picoseconds end) {
        transfers_.push_back({p.number, start, end, write, address, nbytes});
    }

    // Its address is physical: the MMU lets it pass.
    void chunk_to(pe &from, pe &to, const token_ptr &t, const dma::piece &c, picoseconds time, const arrived &done) {
        network_->access(
            c.of, {to.window, from.node, to.node, from.dma_input, sources() + to.window}, true, c.nbytes, time,
            [=, &to](picoseconds in, const arrived &out) {
                events_.at(in, to.unit, comes,
                           [=, &to](picoseconds now) { arrive(to, t, c.va - to.message_window, c.nbytes, now, out); });
            },
            done);
    }

    // `credit` bytes, behind the slots.
    void tell(pe &p, const token_ptr &t, picoseconds time, std::function<void(picoseconds)> ended = {}) {
        pe &to = pes_[t->to];
        const std::uint64_t address = to.message_window + TLA_MESSAGE_WINDOW_BYTES,
                            nbytes = config_.messages.credit_bytes;
        p.write->begin(
            {address, 0, 1, nbytes, nbytes}, time,
            [=, &p](picoseconds end) {
                record(p, true, address, nbytes, time, end);
                events_.at(end, p.unit, write_ends, [=, &p](picoseconds now) {
                    if (ended) ended(now);
                    look(p, now);
                });
            },
            dma::of_messages,
            [=, &p, &to](const dma::piece &c, picoseconds at, const arrived &done) {
                c.of->posted = has_tables(); // who waits, waits for the arrival
                chunk_to(p, to, t, c, at, done);
            });
    }

    // Where a part of a tile lies: bytes that follow each other, their address and how many.
    using run_list = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
    static run_list runs_of(const tile &t, std::uint64_t offset, std::uint64_t nbytes) {
        run_list runs;
        for (std::uint64_t i = offset; i < offset + nbytes; i++) {
            const std::uint64_t at = t.at + i / t.row_bytes * t.pitch + i % t.row_bytes;
            if (!runs.empty() && runs.back().first + runs.back().second == at)
                runs.back().second++;
            else
                runs.push_back({at, 1});
        }
        return runs;
    }

    // A piece on its way: a transfer for each run, one when the one before has ended.
    struct leaving {
        std::shared_ptr<sending> of;
        token_ptr says;
        run_list runs;
        std::size_t next = 0;
        std::uint64_t sent = 0; // bytes
    };
    void send_piece(pe &p, const std::shared_ptr<sending> &s, const token_ptr &t, const tile &data,
                    std::uint64_t offset, picoseconds time) {
        s->unread++;
        send_run(p, std::make_shared<leaving>(leaving{s, t, runs_of(data, offset, t->of.nbytes)}), time);
    }
    void send_run(pe &p, const std::shared_ptr<leaving> &l, picoseconds time) {
        pe &to = pes_[l->says->to];
        const std::uint64_t address = to.message_window + l->says->of.slot * config_.messages.slot_size + l->sent,
                            nbytes = l->runs[l->next].second;
        const bool last = ++l->next == l->runs.size();
        l->sent += nbytes;
        const auto read = std::make_shared<std::pair<std::uint64_t, picoseconds>>(0, 0); // chunks, the latest
        p.write->begin(
            {address, 0, 1, nbytes, nbytes}, time,
            [=, &p](picoseconds end) {
                record(p, true, address, nbytes, time, end);
                events_.at(end, p.unit, write_ends, [=, &p](picoseconds now) {
                    if (last)
                        look(p, now);
                    else
                        send_run(p, l, now);
                });
            },
            dma::of_messages,
            [=, &p, &to](const dma::piece &c, picoseconds at, const arrived &done) {
                use_tile(p, false, c.nbytes, at, [=, &p, &to](picoseconds here) {
                    read->second = std::max(read->second, here);
                    if (++read->first == c.of->issued && c.of->all_issued && last)
                        events_.at(read->second, p.unit, write_ends, [=, &p](picoseconds now) {
                            l->of->unread--;
                            look(p, now);
                        });
                    chunk_to(p, to, l->says, c, here, done);
                });
            });
    }

    // --- what arrives ---

    void arrive(pe &p, const token_ptr &t, std::uint64_t offset, std::uint64_t nbytes, picoseconds now,
                const arrived &answer) {
        if (t->what != token::a_piece) {
            t->arrived += nbytes;
            if (t->arrived == config_.messages.credit_bytes) take(p, t, now);
            answer(now);
        } else if (has_tables()) {
            answer(take_bytes(p, t, nbytes, now));
        } else {
            write_slot(p, p.from[t->from].slots_at + offset, nbytes, now, [=, &p](picoseconds end) {
                events_.at(end, p.unit, comes, [=, &p](picoseconds at) {
                    take_bytes(p, t, nbytes, at);
                    look(p, at);
                });
                answer(end);
            });
        }
    }

    void take(pe &p, const token_ptr &t, picoseconds now) {
        if (t->what == token::connect) {
            p.asked.push_back(t->from);
            make_slots(p, now);
        } else {
            p.to[t->from].credits += t->credits;
            look(p, now);
        }
    }

    picoseconds take_bytes(pe &p, const token_ptr &t, std::uint64_t nbytes, picoseconds now) {
        auto &slot = p.from[t->from].slot[t->of.slot];
        slot.what = t->of;
        slot.there += nbytes;
        if (slot.there < t->of.nbytes) return now;
        slot.at = now + table_ps(t->of.nbytes);
        events_.at(slot.at, p.unit, is_there, [=, &p, peer = t->from](picoseconds at) { receive_next(p, peer, at); });
        return slot.at;
    }

    // --- slots: one block after the other, by the commands of a thread ---

    void make_slots(pe &p, picoseconds now) {
        if (p.making_slots || p.asked.empty()) return;
        p.making_slots = true;
        wake(now, [=, &p](picoseconds at) {
            allocate(p, at, [=, &p](picoseconds done) {
                events_.at(done, p.unit, slots_are_there, [=, &p](picoseconds then) { slots_came(p, then); });
            });
        });
    }

    void slots_came(pe &p, picoseconds now) {
        const unsigned peer = p.asked.front();
        p.from[peer].slots_at = p.slots_at;
        const auto answer = std::make_shared<token>();
        *answer = {token::credit, p.number, peer, {}, config_.messages.slots, 0};
        tell(p, answer, now);
        p.asked.pop_front();
        p.making_slots = false;
        make_slots(p, now);
        look(p, now);
    }

    // --- receives ---

    void add_receive(pe &p, unsigned peer, const std::shared_ptr<receiving> &what, picoseconds now) {
        p.from[peer].receives.push_back(what);
        if (p.from[peer].receives.size() == 1) receive_next(p, peer, now);
    }

    // The next piece of the first message, if all of it is there.
    void receive_next(pe &p, unsigned peer, picoseconds now) {
        incoming &in = p.from[peer];
        const auto &slot = in.slot[in.first];
        if (in.serving || in.receives.empty() || slot.there == 0 || slot.there < slot.what.nbytes || slot.at > now)
            return;
        in.serving = true;
        const std::uint64_t address = in.slots_at + in.first * config_.messages.slot_size, nbytes = slot.what.nbytes;
        const auto runs = runs_of(in.receives.front()->data, in.receives.front()->done_bytes, nbytes);
        const arrived over = [=, &p](picoseconds end) {
            events_.at(end, p.unit, receive_goes_on, [=, &p](picoseconds at) { was_read(p, peer, at); });
        };
        if (has_tables())
            over(now + (config_.messages.read_slot ? table_ps(nbytes) : 0));
        else if (!config_.messages.read_slot) // the tile is written all the same
            copy_runs(p, runs, 0, now, over);
        else if (config_.messages.memory == TLA_SLOTS_TCM)
            use(p.tcm, false, of_unit, nbytes, now, [=, &p](picoseconds read) { copy_runs(p, runs, 0, read, over); });
        else
            load_runs(p, runs, 0, address, now, over);
    }

    void copy_runs(pe &p, const run_list &runs, std::size_t i, picoseconds time, const arrived &over) {
        use(p.tcm, true, of_unit, runs[i].second, time, [=, &p](picoseconds end) {
            if (i + 1 == runs.size())
                over(end);
            else
                copy_runs(p, runs, i + 1, end, over);
        });
    }
    void load_runs(pe &p, const run_list &runs, std::size_t i, std::uint64_t address, picoseconds time,
                   const arrived &over) {
        const std::uint64_t nbytes = runs[i].second;
        p.read->begin(
            {address, 0, 1, nbytes, nbytes}, time,
            [=, &p](picoseconds end) {
                record(p, false, address, nbytes, time, end);
                if (i + 1 == runs.size())
                    over(end);
                else
                    events_.at(end, p.unit, receive_goes_on,
                               [=, &p](picoseconds now) { load_runs(p, runs, i + 1, address + nbytes, now, over); });
            },
            dma::of_messages,
            [=, &p](const dma::piece &c, picoseconds at, const arrived &done) { read_slot(p, c, at, done); });
    }

    // The slot is free: a credit goes back. With tables the receive goes on when that is there.
    void was_read(pe &p, unsigned peer, picoseconds now) {
        incoming &in = p.from[peer];
        auto &slot = in.slot[in.first];
        const piece read = slot.what;
        slot = {};
        in.first = (in.first + 1) % config_.messages.slots;
        const auto credit = std::make_shared<token>();
        *credit = {token::credit, p.number, peer, {}, 1, 0};
        if (has_tables()) {
            tell(p, credit, now, [=, &p](picoseconds at) { piece_is_over(p, peer, read, at); });
            return;
        }
        tell(p, credit, now);
        piece_is_over(p, peer, read, now);
    }

    void piece_is_over(pe &p, unsigned peer, const piece &read, picoseconds now) {
        incoming &in = p.from[peer];
        in.serving = false;
        in.receives.front()->done_bytes += read.nbytes;
        if (read.last) {
            in.receives.front()->done = true;
            in.receives.pop_front();
        }
        receive_next(p, peer, now);
        if (read.last) look(p, now);
    }

    // --- the kernel ---

    void look(pe &p, picoseconds now) {
        if (const auto go = p.go) go(now);
    }
    void end_call(pe &p, picoseconds now) {
        p.go = {};
        wake(now, [=, &p](picoseconds at) { return_from(p, at); });
    }
    void return_from(pe &p, picoseconds now) {
        programs_[p.number][p.next++].returned = now;
        next_call(p, now);
    }

    void next_call(pe &p, picoseconds now) {
        if (p.next == programs_[p.number].size()) return;
        const call &c = programs_[p.number][p.next];
        if (c.what == call::pause) {
            wake(now + c.other, [=, &p](picoseconds at) { return_from(p, at); });
            return;
        }
        const picoseconds called = now + config_.pe.dispatch_ps;
        if (c.what == call::add)
            add(p, c, called);
        else
            events_.at(called, p.unit, calls, [=, &p](picoseconds at) { begin_call(p, c, at); });
    }

    void begin_call(pe &p, const call &c, picoseconds now) {
        if (c.what == call::send) {
            const auto s = std::make_shared<sending>();
            s->left = c.data.nbytes();
            const auto sends = [=, &p](picoseconds at) {
                p.go = [=, &p](picoseconds then) { send_on(p, c, s, then); };
                look(p, at);
            };
            if (config_.messages.overhead_ps > 0) // nothing leaves meanwhile
                events_.at(now + config_.messages.overhead_ps, p.unit, calls, sends);
            else
                sends(now);
            return;
        }
        std::shared_ptr<receiving> what;
        if (c.what == call::wait) {
            what = p.begun.at(c.other);
        } else {
            what = std::make_shared<receiving>();
            what->data = c.data;
        }
        if (c.what == call::receive_async) {
            p.begun[p.next] = what;
            end_call(p, now);
        } else {
            p.go = [=, &p](picoseconds at) {
                if (what->done) end_call(p, at);
            };
        }
        if (c.what != call::wait) add_receive(p, c.peer, what, now);
        look(p, now);
    }

    // As many pieces as there are credits; over when all of the tile has been read.
    void send_on(pe &p, const call &c, const std::shared_ptr<sending> &s, picoseconds now) {
        outgoing &to = p.to[c.peer];
        if (!to.asked) {
            to.asked = true;
            const auto ask = std::make_shared<token>();
            *ask = {token::connect, p.number, c.peer, {}, 0, 0};
            tell(p, ask, now);
        }
        while (s->left > 0) {
            if (!has_credit(p, to, *s, now)) return;
            to.credits--;
            const std::uint64_t nbytes = std::min(s->left, config_.messages.slot_size);
            s->left -= nbytes;
            const auto t = std::make_shared<token>();
            *t = {token::a_piece, p.number, c.peer, {to.next_slot, nbytes, s->left == 0}, 0, 0};
            to.next_slot = (to.next_slot + 1) % config_.messages.slots;
            send_piece(p, s, t, c.data, s->sent, now);
            s->sent += nbytes;
        }
        if (s->unread == 0) end_call(p, now);
    }

    // Who sleeps goes on when the credit comes, who polls at his next look.
    bool has_credit(pe &p, const outgoing &to, sending &s, picoseconds now) {
        if (!s.waits) {
            if (to.credits > 0) return true;
            s.waits = true;
            s.since = now;
            s.look = 0;
            return false;
        }
        if (to.credits == 0) return false;
        if (config_.messages.back_pressure == TLA_BACK_PRESSURE_POLL && s.look == 0) {
            const picoseconds every = config_.messages.poll_ps;
            s.look = s.since + (now - s.since + every - 1) / every * every;
            events_.at(s.look, p.unit, looks, [=, &p](picoseconds at) { look(p, at); });
        }
        if (now < s.look) return false;
        s.waits = false;
        return true;
    }

    // Both operands are read, one after the other; an operation for each f32; the result is written.
    void add(pe &p, const call &c, picoseconds time) {
        const std::uint64_t nbytes = c.data.nbytes();
        access(p, false, nbytes, time, [=, &p](picoseconds first) {
            access(p, false, nbytes, first, [=, &p](picoseconds second) {
                const picoseconds cycle = std::max<picoseconds>(config_.pe.vector_cycle_ps, 1);
                const picoseconds least = bytes_at(nbytes / 4, config_.pe.vector_rate);
                const picoseconds sum = second + (least + cycle - 1) / cycle * cycle;
                access(p, true, nbytes, sum, [=, &p](picoseconds end) { return_from(p, end); });
            });
        });
    }
    // Of the kernel's thread, which goes on when it is over.
    void access(pe &p, bool write, std::uint64_t nbytes, picoseconds time, const arrived &over) {
        events_.at(time, 0, of_element, [=, &p](picoseconds at) {
            use(p.tcm, write, of_element, nbytes, at, [=](picoseconds end) { wake(end, over); });
        });
    }

    std::vector<program> &programs_;
    std::deque<pe> pes_;
    std::vector<moved> transfers_;
};

} // namespace plain
#endif
