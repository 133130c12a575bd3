// A whole NPU by the plain event model: transfers of its PEs' DMA engines, its host and its end points over the same
// topology, and where banks are modelled the same timing core, with nothing else of the library.
//
// Resources are numbered in the order in which they act at one time (time_queue.hpp), inputs of links as
// interconnect does, so that even ties fall out as they do there.
#ifndef TLMALLOC_TESTS_MODULES_PLAIN_NPU_HPP
#define TLMALLOC_TESTS_MODULES_PLAIN_NPU_HPP

#include "plain_network.hpp"
#include "tlmalloc/dram/channels.h"
#include "tlmalloc/modules/npu.hpp"

#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <stdexcept>

namespace plain {

// Pseudo-channels with banks: the timing core, offered accesses as they arrive.
class banks {
  public:
    banks(events &e, unsigned resource, const tlmalloc::hbm_slice::config &c)
        : e_(e), resource_(resource), latency_(c.latency_ps) {
        const tla_banked_channels_config channels{*c.timing, c.pseudo_channels, c.capacity};
        tla_banked_channels *made = nullptr;
        if (tla_banked_channels_create(&channels, &made, nullptr)) throw std::runtime_error("no banks");
        core_.reset(made);
        due_.resize(tla_banked_channels_groups(made), never);
    }

    void access(bool write, std::uint64_t offset, std::uint64_t nbytes, picoseconds time, const arrived &done) {
        e_.at(time + latency_, resource_, 0, [=](picoseconds at) {
            const tla_hbm_op op = write ? TLA_HBM_WRITE : TLA_HBM_READ;
            if (tla_banked_channels_arrive(core_.get(), op, TLA_PURPOSE_KERNEL, offset, nbytes, at, new arrived(done)))
                throw std::runtime_error("no host memory");
            for (unsigned group = 0; group < due_.size(); group++)
                look(group, at);
        });
    }

  private:
    void look(unsigned group, picoseconds now) {
        const picoseconds next = tla_banked_channels_next_ps(core_.get(), group);
        if (next == never || due_[group] <= next) return;
        due_[group] = std::max(next, now);
        e_.at(due_[group], resource_ + 1, group, [=](picoseconds at) {
            if (due_[group] != at) return;
            due_[group] = never;
            tla_banked_channels_run(
                core_.get(), group, at,
                [](void *, void *tag, std::uint64_t end) {
                    const std::unique_ptr<arrived> done(static_cast<arrived *>(tag));
                    (*done)(end);
                },
                nullptr);
            look(group, at);
        });
    }

    static constexpr picoseconds never = ~picoseconds{0};
    events &e_;
    const unsigned resource_; // and the one after it: the groups of channels
    const picoseconds latency_;
    std::unique_ptr<tla_banked_channels, void (*)(tla_banked_channels *)> core_{nullptr, tla_banked_channels_destroy};
    std::vector<picoseconds> due_;
};

class npu {
  public:
    // Tensors must lie as they do when `transfers` run. Walks are ideal.
    npu(const tla_config &config, const std::list<tlmalloc::tensor> &tensors)
        : config_(config), topology_(tlmalloc::fabric_config(config)) {
        std::sort(topology_.windows.begin(), topology_.windows.end(),
                  [](const auto &a, const auto &b) { return a.base < b.base; });
        for (const tlmalloc::tensor &t : tensors)
            for (const tlmalloc::shard &s : t.shards)
                lies_[t.va.value + s.offset] = {s.pa.value, s.nbytes};
        make_pes();
        network_ = std::make_unique<network>(events_, first_node, topology_.nodes, topology_.links, topology_.flit,
                                             static_cast<unsigned>(topology_.sources.size() + topology_.windows.size()),
                                             config.links.transport == TLA_TRANSPORT_ONCE);
    }

    // Calls done when the transfer has ended.
    void transfer(unsigned number, const tlmalloc::pe_dma::request &what, picoseconds start, const arrived &done) {
        const bool write = what.way == tlmalloc::pe_dma::direction::write, physical = what.physical;
        pes_[number].dma[write]->begin({what.va.value, what.tile.value, what.rows, what.row_bytes, what.pitch}, start,
                                       done, dma::of_thread,
                                       [=](const dma::piece &c, picoseconds time, const arrived &moved) {
                                           if (write)
                                               store(number, physical, c, time, moved);
                                           else
                                               load(number, physical, c, time, moved);
                                       });
    }

    // Accesses that end at multiples of `chunk`, `outstanding` at most on their way, to pieces that are a transaction
    // each. None is begun after an access that no memory has.
    struct piece {
        std::uint64_t pa, nbytes;
    };
    using bulk_ended = std::function<void(bool ok, picoseconds end)>;
    void host_moves(bool write, const std::vector<piece> &pieces, picoseconds start, const bulk_ended &done) {
        begin(host_access_, {write, config_.host.dma_chunk, pieces, done}, 1024, start);
    }
    void end_point_moves(unsigned sip, bool write, const piece &what, picoseconds start, const bulk_ended &done) {
        begin(end_points_[sip], {write, 256, {what}, done}, 4096, start);
    }

    events &queue() { return events_; }

  private:
    struct where {
        std::uint64_t pa, nbytes;
    };
    struct home {                   // a memory of channels: a slice, or the host's
        std::uint64_t base, nbytes; // physical addresses
        unsigned node, window;
        channels flat;
        std::unique_ptr<banks> with_banks;
    };
    struct writing { // on its way to a memory
        std::uint64_t first, last;
        bool there = false;
        std::vector<arrived> followers; // reads of the same bytes that have arrived
    };
    using writing_ptr = std::shared_ptr<writing>;
    struct initiator { // at the fabric
        unsigned node, source;
        std::vector<writing_ptr> writes; // in the order of sending
    };
    struct bulk {
        bool write;
        std::uint64_t chunk;
        std::vector<piece> pieces;
        bulk_ended done;
        std::size_t at = 0; // piece
        std::uint64_t moved = 0, under_way = 0;
        bool failed = false;
        picoseconds end = 0;
        std::shared_ptr<transaction> of{};
    };
    struct pe {
        initiator access;
        unsigned mmu;
        home slice;
        server tcm[2]; // reads, writes
        std::unique_ptr<plain::dma> dma[2];
    };

    void make_pes() {
        const auto cubes = static_cast<unsigned>(config_.system.cube_mesh_width * config_.system.cube_mesh_height);
        for (unsigned sip = 0; sip < config_.system.sips; sip++)
            for (unsigned cube = 0; cube < cubes; cube++)
                for (unsigned number = 0; number < config_.system.pes_per_cube; number++)
                    make_pe({sip, cube, number});
        for (unsigned sip = 0; sip < config_.system.sips; sip++) { // with an IO_CPU and M_CPUs behind each
            const unsigned source = 2 + sip * (2 + cubes);
            end_points_.push_back({topology_.sources[source], source, {}});
        }
        tla_paddr base{};
        tla_paddr_host_memory(0, &base);
        if (config_.host_memory.capacity > 0) host_ = make_home(base, tlmalloc::host_memory_config(config_));
    }

    home make_home(tla_paddr base, const tlmalloc::hbm_slice::config &c) {
        const unsigned window = window_at(base.value), resource = memories_;
        memories_ += 2;
        const bool with_banks = c.timing && c.timing->model == TLA_HBM_BANKS;
        if (c.timing && !with_banks && (c.timing->burst_cycles > 0 || c.timing->rtw > 0 || c.timing->tck_ps > 1))
            throw std::runtime_error("channels with times of a profile");
        return {base.value,
                c.capacity,
                topology_.targets[topology_.windows[window].target],
                window,
                {resource, c.burst, c.timing ? 0 : c.pseudo_channel_bandwidth, c.latency_ps,
                 std::vector<server>(c.pseudo_channels), c.timing ? 0 : c.direction_switch_ps},
                with_banks ? std::make_unique<banks>(events_, resource, c) : nullptr};
    }

    void make_pe(const tlmalloc::pe_location &l) {
        const auto index = static_cast<unsigned>(pes_.size());
        pes_.emplace_back();
        pe &p = pes_.back();
        const tlmalloc::hbm_slice::config slice = tlmalloc::slice_config(config_, l);
        tla_paddr hbm{}, tcm{};
        tla_paddr_pe_hbm(l.sip, l.cube, l.pe, 0, slice.capacity, &hbm);
        tla_paddr_pe_tcm(l.sip, l.cube, l.pe, 0, &tcm);
        p.slice = make_home(hbm, slice);
        initiator &a = p.access;
        a.node = topology_.targets[topology_.windows[window_at(tcm.value)].target];
        while (topology_.sources[a.source] != a.node)
            a.source++;
        p.tcm[0].resource = memories_++;
        p.tcm[1].resource = memories_++;
        p.mmu = first_mmu + index;
        for (unsigned write = 0; write < 2; write++)
            p.dma[write] = std::make_unique<plain::dma>(events_, first_dma + 2 * index + write, config_.dma.chunk,
                                                        config_.dma.bandwidth, config_.dma.outstanding, dma::move());
    }

    // --- a PE's chunks ---

    void load(unsigned index, bool physical, const dma::piece &c, picoseconds time, const arrived &done) {
        memory(index, false, physical, c, time, [=](picoseconds here) { local(index, true, c.nbytes, here, done); });
    }
    void store(unsigned index, bool physical, const dma::piece &c, picoseconds time, const arrived &done) {
        local(index, false, c.nbytes, time, [=](picoseconds read) { memory(index, true, physical, c, read, done); });
    }

    // The PE's own TCM.
    void local(unsigned index, bool write, std::uint64_t nbytes, picoseconds time, const arrived &done) {
        events_.at(time + config_.tcm.latency_ps, pes_[index].tcm[write].resource, 0, [=](picoseconds at) {
            if (config_.links.transport == TLA_TRANSPORT_ONCE) { // the bytes pass while they travel
                done(at);
                return;
            }
            const picoseconds duration =
                bytes_at(nbytes, write ? config_.tcm.write_bandwidth : config_.tcm.read_bandwidth);
            done(pes_[index].tcm[write].serve(at, duration) + duration);
        });
    }

    // Through the MMU, which lets physical addresses pass, and over the fabric to a memory, and back.
    void memory(unsigned index, bool write, bool physical, const dma::piece &c, picoseconds time, const arrived &done) {
        if (physical) {
            reach(pes_[index].access, c.of, write, c.va, c.nbytes, time, done);
            return;
        }
        const picoseconds overhead = config_.mmu.overhead_at == TLA_OVERHEAD_AT_ACCESS ? config_.mmu.overhead_ps : 0;
        events_.at(time + overhead, pes_[index].mmu, 0, [=](picoseconds at) {
            reach(pes_[index].access, c.of, write, translate(c.va, c.nbytes), c.nbytes, at, done);
        });
    }

    // --- what the host and end points move ---

    void begin(initiator &from, const bulk &what, std::uint64_t outstanding, picoseconds start) {
        const auto b = std::make_shared<bulk>(what);
        for (std::uint64_t i = 0; i < outstanding; i++)
            next(from, b, outstanding, start);
    }

    void next(initiator &from, const std::shared_ptr<bulk> &b, std::uint64_t outstanding, picoseconds time) {
        if (b->at < b->pieces.size() && b->moved == b->pieces[b->at].nbytes) {
            b->at++;
            b->moved = 0;
        }
        if (b->at == b->pieces.size()) return;
        if (b->failed) {
            if (b->moved > 0) b->of->end(time);
            b->at = b->pieces.size();
            return;
        }
        const piece &p = b->pieces[b->at];
        if (b->moved == 0) {
            b->of = std::make_shared<transaction>();
            b->of->posted = true;
            b->of->most = b->of->limit = outstanding;
        }
        const std::uint64_t pa = p.pa + b->moved, nbytes = std::min(b->chunk - pa % b->chunk, p.nbytes - b->moved);
        b->moved += nbytes;
        b->under_way++;
        b->of->issue(b->moved == p.nbytes);
        const auto ended = [=, &from](bool ok, picoseconds end) {
            b->failed |= !ok;
            b->end = std::max(b->end, end);
            b->under_way--;
            next(from, b, outstanding, end);
            if (b->under_way == 0) b->done(!b->failed, b->end);
        };
        events_.at(std::max(time, events_.now()), 0, 0, [=, &from, of = b->of](picoseconds now) {
            if (owner(pa, nbytes)) {
                reach(from, of, b->write, pa, nbytes, now, [=](picoseconds end) { ended(true, end); });
            } else {
                of->lose(now);
                ended(false, now);
            }
        });
    }

    // --- from an initiator of the fabric to a memory and back ---

    // A read reaches the memory after each write of its initiator to the same bytes that was sent before.
    void reach(initiator &from, const std::shared_ptr<transaction> &of, bool write, std::uint64_t pa,
               std::uint64_t nbytes, picoseconds time, const arrived &done) {
        home *const to = owner(pa, nbytes);
        if (!to) throw std::runtime_error("no memory has this address");
        const auto mine = std::make_shared<writing>(writing{pa, pa + nbytes - 1});
        writing_ptr before;
        for (const writing_ptr &w : from.writes)
            if (w->first <= mine->last && mine->first <= w->last) before = w;
        if (write) from.writes.push_back(mine);
        const unsigned input_back = static_cast<unsigned>(topology_.sources.size()) + to->window;
        network_->access(
            of, {to->window, from.node, to->node, from.source, input_back}, write, nbytes, time,
            [=, &from](picoseconds in, const arrived &out) {
                const arrived serve = [=](picoseconds at) { use(*to, write, pa, nbytes, std::max(in, at), out); };
                if (!write && before && !before->there) {
                    before->followers.push_back(serve);
                    return;
                }
                if (write) from.writes.erase(std::find(from.writes.begin(), from.writes.end(), mine));
                mine->there = true;
                serve(in);
                for (const arrived &follower : mine->followers)
                    follower(in);
            },
            done);
    }

    void use(home &to, bool write, std::uint64_t pa, std::uint64_t nbytes, picoseconds in, const arrived &out) {
        if (to.with_banks)
            to.with_banks->access(write, pa - to.base, nbytes, in, out);
        else
            to.flat.access(events_, write, pa - to.base, nbytes, in, out);
    }

    std::uint64_t translate(std::uint64_t va, std::uint64_t nbytes) const {
        auto after = lies_.upper_bound(va);
        if (after == lies_.begin()) throw std::runtime_error("a transfer leaves the tensors");
        const auto &[first, at] = *--after;
        if (va - first + nbytes > at.nbytes) throw std::runtime_error("a chunk lies in two shards");
        return at.pa + (va - first);
    }

    home *owner(std::uint64_t pa, std::uint64_t nbytes) { // null: no memory has all of it
        const auto has = [=](const home &s) { return pa >= s.base && pa - s.base + nbytes <= s.nbytes; };
        if (host_ && has(*host_)) return &*host_;
        for (pe &p : pes_)
            if (has(p.slice)) return &p.slice;
        return nullptr;
    }

    unsigned window_at(std::uint64_t base) const {
        for (unsigned i = 0; i < topology_.windows.size(); i++)
            if (topology_.windows[i].base == base) return i;
        throw std::runtime_error("no such window");
    }

    const tla_config config_;
    tlmalloc::interconnect::config topology_;
    events events_;
    std::map<std::uint64_t, where> lies_; // by virtual address
    std::unique_ptr<network> network_;
    std::deque<pe> pes_;
    std::optional<home> host_; // its memory
    initiator host_access_{topology_.sources[0], 0, {}};
    std::vector<initiator> end_points_;
    static constexpr unsigned first_mmu = 1 << 20, first_dma = 1 << 21, first_node = 1 << 22;
    unsigned memories_ = 1;
};

} // namespace plain
#endif
