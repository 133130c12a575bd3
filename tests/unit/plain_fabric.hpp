// Transactions over a graph, flit by flit: what fabric.h promises, written down once more in the plainest way.
#ifndef TLMALLOC_TESTS_UNIT_PLAIN_FABRIC_HPP
#define TLMALLOC_TESTS_UNIT_PLAIN_FABRIC_HPP

#include "plain_ranks.hpp"
#include "tlmalloc/base/timeline.h"
#include "tlmalloc/fabric/fabric.h"

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace plain {

using picoseconds = std::uint64_t;

// One transaction: its accesses in the order in which they are issued. `served` after an access is there the target
// answers.
struct flow {
    std::uint32_t from, to;
    bool write;
    picoseconds served;
    struct access {
        picoseconds issued;
        std::uint64_t nbytes;
    };
    std::vector<access> accesses;
};

class fabric {
  public:
    fabric(std::vector<tla_fabric_node> nodes, std::vector<tla_fabric_link> links, std::uint32_t flit)
        : nodes_(std::move(nodes)), links_(std::move(links)), flit_(flit), node_free_(nodes_.size()),
          link_free_(links_.size()), served_(links_.size()) {}

    // When every flow ends: all its data are there, and what acknowledges them.
    std::vector<picoseconds> run(const std::vector<flow> &flows) {
        flows_ = flows;
        state_.assign(flows.size(), {});
        for (unsigned f = 0; f < flows.size(); f++)
            begin(f);
        while (!events_.empty()) {
            const auto first = events_.begin();
            const action next = first->second;
            const picoseconds at = std::get<0>(first->first);
            events_.erase(first);
            next(at);
        }
        std::vector<picoseconds> ends;
        for (const progress &p : state_) {
            if (p.left_to_answer) throw std::runtime_error("a flow never ended");
            ends.push_back(p.end);
        }
        return ends;
    }

    // What a link has carried. Each flit looks back for itself: over what went just before it, as far as it is of its
    // own flow, the rest of its wait is for others.
    tla_fabric_load load(std::uint32_t link) const {
        tla_fabric_load sum{};
        const std::vector<service> &all = served_[link];
        for (std::size_t i = 0; i < all.size(); i++) {
            picoseconds until = all[i].start;
            for (std::size_t before = i; before-- > 0 && until > all[i].arrival;) {
                if (all[before].start == all[before].end) continue; // occupies nothing
                if (all[before].flow != all[i].flow || all[before].end != until) break;
                until = all[before].start;
            }
            sum.nbytes += all[i].nbytes;
            sum.messages += all[i].first;
            sum.busy_ps += all[i].end - all[i].start;
            sum.waited_ps += std::max(until, all[i].arrival) - all[i].arrival;
        }
        return sum;
    }

    // Of the way between two nodes.
    std::vector<std::uint32_t> path(std::uint32_t from, std::uint32_t to) const {
        for (const tla_fabric_node &node : nodes_)
            if (node.rank > 0) return ranked_path(nodes_, links_, from, to);
        using far = std::tuple<std::uint64_t, picoseconds, unsigned>;
        const far nowhere{UINT64_MAX, 0, 0};
        std::vector<far> distance(nodes_.size(), nowhere);
        distance[to] = {0, 0, 0};
        const auto through = [&](const tla_fabric_link &l) {
            const auto &[routing, latency, count] = distance[l.to];
            const bool at_end = nodes_[to].region && nodes_[l.to].region == nodes_[to].region;
            return far{routing + (at_end ? l.routing_at_end : l.routing), latency + l.latency_ps, count + 1};
        };
        for (bool better = true; better;) {
            better = false;
            for (const tla_fabric_link &l : links_)
                if (distance[l.to] != nowhere && through(l) < distance[l.from]) {
                    distance[l.from] = through(l);
                    better = true;
                }
        }
        if (distance[from] == nowhere) throw std::runtime_error("no way");
        std::vector<std::uint32_t> result;
        for (std::uint32_t node = from; node != to; node = links_[result.back()].to)
            for (std::uint32_t i = 0; i < links_.size(); i++)
                if (links_[i].from == node && distance[links_[i].to] != nowhere &&
                    through(links_[i]) == distance[node]) {
                    result.push_back(i);
                    break;
                }
        return result;
    }

    // Of an answer to what came along this way.
    std::vector<std::uint32_t> back(const std::vector<std::uint32_t> &way) const {
        std::vector<std::uint32_t> result;
        for (auto l = way.rbegin(); l != way.rend(); ++l) {
            const auto leads = [&](std::uint32_t i, std::uint32_t from, std::uint32_t to) {
                return links_[i].from == from && links_[i].to == to;
            };
            unsigned before = 0;
            for (std::uint32_t i = 0; i < *l; i++)
                before += leads(i, links_[*l].from, links_[*l].to);
            std::uint32_t i = 0;
            while (!leads(i, links_[*l].to, links_[*l].from) || before-- > 0)
                i++;
            result.push_back(i);
        }
        return result;
    }

  private:
    struct service {
        unsigned flow;
        bool first; // flit of its message
        std::uint64_t nbytes;
        picoseconds arrival, start, end;
    };
    using action = std::function<void(picoseconds)>;
    using when = std::tuple<picoseconds, std::uint32_t, std::uint64_t, std::uint64_t>; // node, input, order of sent

    struct message {
        unsigned flow, access;
        bool forward;
        std::vector<std::uint32_t> way;
        std::uint64_t nbytes, flits;
        bool opens = false;
        std::uint64_t there = 0; // flits
    };
    struct progress {
        std::uint64_t left_to_answer = 0, left_to_acknowledge = 0;
        bool opened[2] = {false, false};
        picoseconds request_there = 0, served = 0, end = 0;
        std::map<std::tuple<std::uint32_t, bool>, std::vector<action>> held;
        std::uint64_t data_flits = 0;
    };

    void post(picoseconds at, std::uint32_t node, std::uint64_t input, action a) {
        events_[{at, node, input, order_++}] = std::move(a);
    }

    picoseconds wire(const std::vector<std::uint32_t> &way) const {
        picoseconds sum = 0;
        for (const std::uint32_t l : way)
            sum += links_[l].latency_ps;
        return sum;
    }

    void begin(unsigned number) {
        const flow &f = flows_[number];
        progress &p = state_[number];
        p.left_to_answer = p.left_to_acknowledge = f.accesses.size();
        for (const flow::access &a : f.accesses)
            p.data_flits += (a.nbytes + flit_ - 1) / flit_;
        if (f.write) {
            for (unsigned a = 0; a < f.accesses.size(); a++)
                send(number, a, true, f.accesses[a].nbytes, f.accesses[a].issued);
            return;
        }
        send(number, 0, true, 0, f.accesses[0].issued);
    }

    void send(unsigned number, unsigned access, bool forward, std::uint64_t nbytes, picoseconds at) {
        const flow &f = flows_[number];
        message *m = &messages_.emplace_back();
        m->flow = number;
        m->access = access;
        m->forward = forward;
        m->way = path(f.from, f.to);
        if (!forward) m->way = back(m->way);
        m->nbytes = nbytes;
        m->flits = std::max<std::uint64_t>(1, (nbytes + flit_ - 1) / flit_);
        post(at, forward ? f.from : f.to, forward ? number : flows_.size() + number,
             [=, this_ = this](picoseconds now) {
                 bool &opened = this_->state_[number].opened[forward];
                 m->opens = nbytes == 0 || !opened;
                 if (nbytes > 0) opened = true;
                 for (std::uint64_t i = 0; i < m->flits; i++)
                     this_->leave(*m, i, 0, now);
             });
    }

    std::uint32_t node_at(const message &m, unsigned hop) const {
        return hop == 0 ? links_[m.way[0]].from : links_[m.way[hop - 1]].to;
    }

    // A flit is at the node before its link number `hop`, or at the end.
    void leave(message &m, std::uint64_t flit, unsigned hop, picoseconds now) {
        const std::uint32_t node = node_at(m, hop);
        const picoseconds overhead = nodes_[node].overhead_ps;
        picoseconds start = now;
        if (overhead > 0) {
            start = std::max(now, node_free_[node]) + (m.opens && flit == 0 ? overhead : 0);
            node_free_[node] = start;
        }
        if (hop == m.way.size()) {
            if (++m.there == m.flits) arrived(m, start);
            return;
        }
        const tla_fabric_link &link = links_[m.way[hop]];
        const std::uint64_t nbytes = std::min<std::uint64_t>(flit_, m.nbytes - std::min(m.nbytes, flit * flit_));
        const picoseconds turn = std::max(start, link_free_[m.way[hop]]);
        const picoseconds end = turn + tla_transfer_ps(nbytes, link.bandwidth_bytes_per_s);
        served_[m.way[hop]].push_back({m.flow, flit == 0, nbytes, start, turn, end});
        link_free_[m.way[hop]] = end;
        post(end + link.latency_ps, link.to, (std::uint64_t{1} << 32) + m.way[hop],
             [=, &m](picoseconds at) { come(m, flit, hop + 1, at); });
    }

    void come(message &m, std::uint64_t flit, unsigned hop, picoseconds now) {
        if (hop == m.way.size() || m.nbytes == 0 || !nodes_[node_at(m, hop)].store_and_forward) {
            leave(m, flit, hop, now);
            return;
        }
        progress &p = state_[m.flow];
        auto &held = p.held[{node_at(m, hop), m.forward}];
        held.push_back([=, &m](picoseconds at) { leave(m, flit, hop, at); });
        if (held.size() < p.data_flits) return;
        for (const action &a : held)
            a(now);
    }

    void arrived(const message &m, picoseconds now) {
        const flow &f = flows_[m.flow];
        progress &p = state_[m.flow];
        if (!m.forward) {
            p.end = std::max(p.end, now);
            p.left_to_answer = f.write ? 0 : p.left_to_answer - 1;
        } else if (f.write) {
            p.served = std::max(p.served, now + f.served);
            if (--p.left_to_acknowledge == 0) send(m.flow, 0, false, 0, p.served);
        } else {
            for (unsigned a = 0; a < f.accesses.size(); a++) {
                const picoseconds there = std::max(now, f.accesses[a].issued + wire(m.way));
                send(m.flow, a, false, f.accesses[a].nbytes, (a == 0 ? now : there) + f.served);
            }
        }
    }

    const std::vector<tla_fabric_node> nodes_;
    const std::vector<tla_fabric_link> links_;
    const std::uint32_t flit_;
    std::vector<picoseconds> node_free_, link_free_;
    std::vector<std::vector<service>> served_; // by every link, in the order of service
    std::vector<flow> flows_;
    std::vector<progress> state_;
    std::list<message> messages_;
    std::map<when, action> events_;
    std::uint64_t order_ = 0;
};

} // namespace plain
#endif
