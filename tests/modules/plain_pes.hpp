// The PEs of an NPU as messages between them use them, by the plain event model: DMA engines, TCMs, slices, the cubes'
// SRAMs, and the ways between them.
//
// Resources are numbered in the order of their kinds (TIME.md), inputs of links as interconnect does, so that even ties
// fall out as they do there.
#ifndef TLMALLOC_TESTS_MODULES_PLAIN_PES_HPP
#define TLMALLOC_TESTS_MODULES_PLAIN_PES_HPP

#include "plain_network.hpp"
#include "tlmalloc/modules/npu.hpp"

#include <deque>
#include <memory>
#include <stdexcept>

namespace plain {

class pes {
  protected:
    explicit pes(const tla_config &config) : config_(config), topology_(tlmalloc::fabric_config(config)) {
        std::sort(topology_.windows.begin(), topology_.windows.end(),
                  [](const auto &a, const auto &b) { return a.base < b.base; });
    }

    // Inputs of a PE's memory controller, in the order of their bindings.
    enum : unsigned { of_dma, of_element, of_unit, of_fabric };

    struct memory { // a TCM, an SRAM: a read channel and a write channel
        server channel[2];
        picoseconds latency = 0;
        std::uint64_t bandwidth[2] = {};
    };
    struct allocator { // of slots: first fit on fresh memory
        server engine;
        std::uint64_t next = 0; // address
    };
    struct sram {
        memory bytes;
        allocator slots;
        unsigned data_window = 0, control_window = 0;
        unsigned outlet = 0, accesses = 0; // of the fabric, to the control window
    };
    struct hardware {                                                 // of a PE
        unsigned number = 0, node = 0, unit_input = 0, dma_input = 0; // inputs of the fabric
        unsigned window = 0, hbm_window = 0;                          // of messages, of the slice
        std::uint64_t message_window = 0, hbm_base = 0, slots_at = 0; // their addresses
        memory tcm;
        channels slice{};
        allocator in_tcm, in_hbm;
        sram *in_cube = nullptr;
        unsigned mmu = 0, unit = 0; // resources
        std::unique_ptr<dma> read, write;
    };

    unsigned sources() const { return static_cast<unsigned>(topology_.sources.size()); }

    // --- making it ---

    unsigned window_at(std::uint64_t base) const {
        for (unsigned i = 0; i < topology_.windows.size(); i++)
            if (topology_.windows[i].base == base) return i;
        throw std::runtime_error("no such window");
    }
    unsigned node_at(unsigned window) const { return topology_.targets[topology_.windows[window].target]; }

    memory make_memory(const tla_tcm_parameters &of) {
        memory made;
        made.channel[0].resource = memories_++;
        made.channel[1].resource = memories_++;
        made.latency = of.latency_ps;
        made.bandwidth[0] = of.read_bandwidth;
        made.bandwidth[1] = of.write_bandwidth;
        return made;
    }

    sram &make_sram(unsigned sip, unsigned cube) {
        sram &s = srams_.emplace_back();
        s.bytes = make_memory(config_.sram);
        tla_paddr pa{};
        tla_paddr_sram(sip, cube, 0, &pa);
        s.slots.next = pa.value;
        s.data_window = window_at(pa.value);
        tla_paddr_sram_control(sip, cube, 0, &pa);
        s.control_window = window_at(pa.value);
        s.slots.engine.resource = first_gate + static_cast<unsigned>(srams_.size());
        return s;
    }

    void make_pe(hardware &p, unsigned number, const tlmalloc::pe_location &l, sram &of_cube) {
        p.number = number;
        p.in_cube = &of_cube;
        const tlmalloc::hbm_slice::config slice = tlmalloc::slice_config(config_, l);
        tla_paddr pa{};
        tla_paddr_pe_hbm(l.sip, l.cube, l.pe, 0, slice.capacity, &pa);
        p.hbm_base = p.in_hbm.next = pa.value;
        p.hbm_window = window_at(pa.value);
        p.slice = {memories_, slice.burst, slice.pseudo_channel_bandwidth, slice.latency_ps,
                   std::vector<server>(slice.pseudo_channels)};
        memories_ += 2;
        p.tcm = make_memory(config_.tcm);
        tla_paddr_pe_control(l.sip, l.cube, l.pe, TLA_CONTROL_MESSAGES, 0, &pa);
        p.message_window = pa.value;
        p.window = window_at(pa.value);
        p.node = node_at(p.window);
        while (topology_.sources[p.unit_input] != p.node)
            p.unit_input++;
        p.dma_input = p.unit_input + 1; // by their sockets' names, pe0.ipcq.memory and pe0.mmu.out
        p.mmu = first_mmu + number;
        const auto channel = [&](unsigned way) {
            return std::make_unique<dma>(events_, first_dma + 2 * number + way, config_.dma.chunk,
                                         config_.dma.bandwidth, config_.dma.outstanding, dma::move());
        };
        p.read = channel(0);
        p.write = channel(1);
    }

    // When all PEs have been made.
    void make_network() {
        network_ = std::make_unique<network>(events_, resources_, topology_.nodes, topology_.links, topology_.flit,
                                             sources() + static_cast<unsigned>(topology_.windows.size()), is_once());
        resources_ += static_cast<unsigned>(topology_.nodes.size());
    }

    // --- threads: those that are due at a time go first, all at once; then the queue takes all that is there; then the
    // threads that were woken by that go on, and so on (TIME.md) ---

    void wake(picoseconds time, std::function<void(picoseconds)> thread) {
        const bool again = time == events_.now(); // woken at the time itself
        std::vector<std::function<void(picoseconds)>> &due = woken_[{time, again}];
        due.push_back(std::move(thread));
        if (due.size() > 1) return;
        events_.at(time, again ? ~0u : 0, 0, [=](picoseconds now) {
            const auto round = std::move(woken_[{now, again}]);
            woken_.erase({now, again});
            for (const auto &goes : round)
                goes(now);
        });
    }

    // --- memories and the ways to them ---

    bool is_once() const { return config_.links.transport == TLA_TRANSPORT_ONCE; }

    void use(memory &m, bool write, unsigned input, std::uint64_t nbytes, picoseconds time, const arrived &done) {
        events_.at(time + m.latency, m.channel[write].resource, input, [=, &m](picoseconds at) {
            const picoseconds duration = bytes_at(nbytes, m.bandwidth[write]);
            done(m.channel[write].serve(at, duration) + duration);
        });
    }

    // The side of a chunk of the DMA that is in the TCM.
    void use_tile(hardware &p, bool write, std::uint64_t nbytes, picoseconds time, const arrived &done) {
        if (is_once()) // the bytes pass while they travel
            events_.at(time + p.tcm.latency, p.tcm.channel[write].resource, of_dma, done);
        else
            use(p.tcm, write, of_dma, nbytes, time, done);
    }

    // An access of a message unit over the fabric, alone, to what `there` serves, and its answer.
    void alone(const hardware &from, unsigned window, bool write, std::uint64_t nbytes, picoseconds time,
               const network::serve &served, const arrived &done) {
        const auto t = std::make_shared<transaction>();
        t->issued = 1;
        t->all_issued = true;
        network_->access(t, {window, from.node, node_at(window), from.unit_input, sources() + window}, write, nbytes,
                         time, served, done);
    }

    // A write of one chunk into a slot.
    void write_slot(hardware &p, std::uint64_t address, std::uint64_t nbytes, picoseconds time, const arrived &done) {
        if (config_.messages.memory == TLA_SLOTS_TCM) {
            use(p.tcm, true, of_unit, nbytes, time, done);
        } else if (config_.messages.memory == TLA_SLOTS_HBM) {
            alone(
                p, p.hbm_window, true, nbytes, time,
                [=, &p](picoseconds in, const arrived &out) {
                    p.slice.access(events_, true, address - p.hbm_base, nbytes, in, out, of_fabric);
                },
                done);
        } else {
            sram &s = *p.in_cube;
            alone(
                p, s.data_window, true, nbytes, time,
                [=, &s](picoseconds in, const arrived &out) { use(s.bytes, true, 0, nbytes, in, out); }, done);
        }
    }

    // A chunk of a read from a slot that lies outside of the TCM, into the tile; the MMU lets it pass.
    void read_slot(hardware &p, const dma::piece &c, picoseconds time, const arrived &done) {
        const bool hbm = config_.messages.memory == TLA_SLOTS_HBM;
        const unsigned window = hbm ? p.hbm_window : p.in_cube->data_window;
        network_->access(
            c.of, {window, p.node, node_at(window), p.dma_input, sources() + window}, false, c.nbytes, time,
            [=, &p](picoseconds in, const arrived &out) {
                if (hbm)
                    p.slice.access(events_, false, c.va - p.hbm_base, c.nbytes, in, out, of_fabric);
                else
                    use(p.in_cube->bytes, false, 0, c.nbytes, in, out);
            },
            [=, &p](picoseconds here) { use_tile(p, true, c.nbytes, here, done); });
    }

    // --- commands that allocate slots ---

    picoseconds price() const { return config_.controller.cost.fixed_ps; }
    allocator &allocator_of(hardware &p) const {
        return config_.messages.memory == TLA_SLOTS_TCM   ? p.in_tcm
               : config_.messages.memory == TLA_SLOTS_HBM ? p.in_hbm
                                                          : p.in_cube->slots;
    }

    // The engine has an ALLOC from `arrival` on; when it is done.
    picoseconds take_slots(hardware &p, picoseconds arrival) {
        allocator &from = allocator_of(p);
        p.slots_at = from.next;
        from.next += config_.messages.slots * config_.messages.slot_size;
        return from.engine.serve(arrival, price()) + price();
    }

    // From a thread at `now`. To an SRAM's controller a descriptor of 32 bytes goes over the fabric, and then its
    // completion of 64 is read (command.h).
    void allocate(hardware &p, picoseconds now, const arrived &done) {
        if (config_.messages.memory != TLA_SLOTS_SRAM) {
            done(take_slots(p, now));
            return;
        }
        const unsigned window = p.in_cube->control_window;
        const auto completed = std::make_shared<picoseconds>(0);
        const auto read = [=, &p](picoseconds at) {
            alone(
                p, window, false, 64, at,
                [=, &p](picoseconds in, const arrived &out) {
                    look_at_window(
                        p, in, [=](picoseconds then) { return std::max(then, *completed); }, out);
                },
                [=](picoseconds end) { wake(end, done); });
        };
        alone(
            p, window, true, 32, now,
            [=, &p](picoseconds in, const arrived &out) {
                look_at_window(
                    p, in,
                    [=, &p](picoseconds then) {
                        *completed = take_slots(p, then);
                        return then;
                    },
                    out);
            },
            [=](picoseconds posted) { wake(posted, read); });
    }

    // An access that the fabric brings to the control window of an SRAM's controller: threads make it, those of one
    // time in the order of the ports, and answers leave in the order of the calls.
    void look_at_window(hardware &p, picoseconds in, const std::function<picoseconds(picoseconds)> &access,
                        const arrived &out) {
        sram &s = *p.in_cube;
        const unsigned call = ++s.accesses;
        events_.at(in, s.outlet, 0, [=, &p, &s](picoseconds at) {
            wake(at, [=, &p, &s](picoseconds called) {
                events_.at(called, s.slots.engine.resource, p.number, [=, &s](picoseconds admitted) {
                    wake(admitted, [=, &s](picoseconds then) { events_.at(access(then), s.outlet, call, out); });
                });
            });
        });
    }

    const tla_config config_;
    tlmalloc::interconnect::config topology_;
    events events_;
    static constexpr unsigned first_mmu = 1 << 20, first_dma = 1 << 21, first_gate = 1 << 22, first_node = 1 << 23;
    unsigned memories_ = 1, resources_ = first_node; // resources_: of nodes and of what acts after them
    std::unique_ptr<network> network_;
    std::deque<sram> srams_;

  private:
    std::map<std::pair<picoseconds, bool>, std::vector<std::function<void(picoseconds)>>> woken_;
};

} // namespace plain
#endif
