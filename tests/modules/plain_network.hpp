// Nodes and links, flit by flit, for the plain event model: what fabric.h promises to whoever has nobody else's code.
#ifndef TLMALLOC_TESTS_MODULES_PLAIN_NETWORK_HPP
#define TLMALLOC_TESTS_MODULES_PLAIN_NETWORK_HPP

#include "plain_event_model.hpp"
#include "tests/unit/plain_ranks.hpp"
#include "tlmalloc/fabric/fabric.h"

#include <memory>
#include <stdexcept>

namespace plain {

class network {
  public:
    // Node n is resource first_resource + n; a link is an input above the others.
    network(events &e, unsigned first_resource, std::vector<tla_fabric_node> nodes, std::vector<tla_fabric_link> links,
            std::uint64_t flit, unsigned inputs, bool once = false)
        : e_(e), first_(first_resource), inputs_(inputs), once_(once), nodes_(std::move(nodes)),
          links_(std::move(links)), flit_(once ? UINT64_MAX : flit), node_free_(nodes_.size()),
          link_free_(links_.size()) {}

    // Between which nodes an access goes, and by which inputs request and answer come there. Targets are told apart.
    struct ends {
        unsigned target, from, to, input, input_back;
    };
    // Whoever serves an access calls `out` with the time of its end.
    using serve = std::function<void(picoseconds, const arrived &out)>;

    // An access enters at `time`, is served where it arrives, and its answer comes back. A write's data go there, a
    // read's come back.
    void access(const std::shared_ptr<transaction> &t, const ends &e, bool write, std::uint64_t nbytes,
                picoseconds time, const serve &served, const arrived &done) {
        stretch &s = t->to[e.target];
        s.under_way++;
        t->entered++;
        if (stores(e.from, e.to, write)) join(*t, s);
        const std::shared_ptr<batch> together = s.collecting;
        t->look(time);
        request(t, together, e, write ? nbytes : 0, time, [=, this_ = this](picoseconds in) {
            served(in, [=](picoseconds out) { this_->answer(t, together, e, write ? 0 : nbytes, out, done); });
        });
    }

  private:
    using way = std::vector<unsigned>; // numbers of links
    struct message {
        std::shared_ptr<transaction> of;
        stretch *s;
        std::shared_ptr<batch> together;
        bool forward, opens;
        const way *along;
        std::uint64_t nbytes, flits, left;
        arrived there;
    };

    void request(const std::shared_ptr<transaction> &t, const std::shared_ptr<batch> &together, const ends &e,
                 std::uint64_t nbytes, picoseconds time, const arrived &there) {
        stretch &s = t->to[e.target];
        if (nbytes > 0) {
            send(t, &s, together, true, e.from, e.to, e.input, nbytes, false, time, there);
        } else if (s.request == stretch::asked) {
            there(std::max(time + wire(e.from, e.to, true), s.request_there));
        } else if (s.request == stretch::asking) {
            s.followers.push_back({time, there});
        } else {
            s.request = stretch::asking;
            send(t, &s, nullptr, true, e.from, e.to, e.input, 0, true, time, [=, this_ = this, &s](picoseconds at) {
                s.request = stretch::asked;
                s.request_there = at;
                there(at);
                for (const auto &[issued, done] : s.followers)
                    done(std::max(issued + this_->wire(e.from, e.to, true), at));
                s.followers.clear();
            });
        }
    }

    void answer(const std::shared_ptr<transaction> &t, const std::shared_ptr<batch> &together, const ends &e,
                std::uint64_t nbytes, picoseconds time, const arrived &there) {
        stretch &s = t->to[e.target];
        s.under_way--;
        s.latest = std::max(s.latest, time);
        if (nbytes > 0)
            send(t, &s, together, false, e.to, e.from, e.input_back, nbytes, false, time, there);
        else if (t->posted)
            there(time);
        else if (s.under_way == 0 && t->all_issued)
            send(t, &s, nullptr, false, e.to, e.from, e.input_back, 0, true, s.latest, there);
        else
            there(time + wire(e.to, e.from, false));
    }

    void send(const std::shared_ptr<transaction> &t, stretch *s, const std::shared_ptr<batch> &together, bool forward,
              unsigned from, unsigned to, unsigned input, std::uint64_t nbytes, bool opens, picoseconds time,
              const arrived &there) {
        const std::uint64_t flits = once_ ? 1 : std::max<std::uint64_t>(1, (nbytes + flit_ - 1) / flit_);
        const auto m = std::make_shared<message>(
            message{t, s, together, forward, opens, &way_of(from, to, forward), nbytes, flits, flits, there});
        e_.at(time, first_ + from, input, [=, this_ = this](picoseconds now) {
            if (m->nbytes > 0) {
                m->opens = !m->s->data_left[!forward];
                m->s->data_left[!forward] = true;
            }
            for (std::uint64_t i = 0; i < m->flits; i++)
                this_->leave(m, i, from, 0, now);
        });
    }

    void leave(const std::shared_ptr<message> &m, std::uint64_t flit, unsigned node, unsigned hop, picoseconds now) {
        picoseconds start = now;
        if (once_) { // nodes delay items, and none waits there
            start += m->opens || m->nbytes > 0 ? nodes_[node].overhead_ps : 0;
        } else if (nodes_[node].overhead_ps > 0) {
            start = std::max(now, node_free_[node]) + (m->opens && flit == 0 ? nodes_[node].overhead_ps : 0);
            node_free_[node] = start;
        }
        if (hop == m->along->size()) {
            if (--m->left == 0) m->there(complete(*m, start));
            return;
        }
        const unsigned number = (*m->along)[hop];
        const tla_fabric_link &l = links_[number];
        const std::uint64_t nbytes = once_ ? m->nbytes : std::min(flit_, m->nbytes - std::min(m->nbytes, flit * flit_));
        const picoseconds turn = std::max(start, link_free_[number]);
        link_free_[number] = turn + bytes_at(nbytes, l.bandwidth_bytes_per_s);
        const picoseconds end = once_ ? turn : link_free_[number]; // once: at the next node without its bytes
        if (hop + 1 == m->along->size() && nodes_[l.to].overhead_ps == 0) {
            if (--m->left == 0) m->there(complete(*m, end + l.latency_ps));
            return;
        }
        e_.at(end + l.latency_ps, first_ + l.to, inputs_ + number,
              [=, this_ = this, at = l.to](picoseconds then) { this_->come(m, flit, at, hop + 1, then); });
    }

    // Once: the bytes on the narrowest link of the path, after everything else, and after what came first.
    picoseconds complete(const message &m, picoseconds there) {
        if (!once_) return there;
        picoseconds longest = 0;
        for (const unsigned number : *m.along)
            longest = std::max(longest, bytes_at(m.nbytes, links_[number].bandwidth_bytes_per_s));
        picoseconds &before = complete_[m.along];
        return before = std::max(before, there) + longest;
    }

    void come(const std::shared_ptr<message> &m, std::uint64_t flit, unsigned node, unsigned hop, picoseconds now) {
        if (once_ || hop == m->along->size() || m->nbytes == 0 || !nodes_[node].store_and_forward) {
            leave(m, flit, node, hop, now);
            return;
        }
        batch &b = *m->together;
        batch::held &h = b.at[node];
        h.flits.push_back([=, this_ = this](picoseconds at) { this_->leave(m, flit, node, hop, at); });
        h.messages += flit + 1 == m->flits;
        if (b.complete && h.messages == b.accesses) pass(h, now);
    }

    static void pass(batch::held &h, picoseconds now) {
        const auto flits = std::move(h.flits);
        h.flits.clear();
        for (const auto &leaves : flits)
            leaves(now);
    }

    // Whether data are collected on the way there, or back.
    bool stores(unsigned from, unsigned to, bool there) {
        if (once_) return false;
        const unsigned last = there ? to : from;
        const way &w = there ? way_of(from, to, true) : way_of(to, from, false);
        return std::any_of(w.begin(), w.end(), [&](unsigned number) {
            return links_[number].to != last && nodes_[links_[number].to].store_and_forward;
        });
    }

    // An access more for nodes that store and forward.
    void join(transaction &t, stretch &s) {
        if (!s.collecting) {
            const auto b = s.collecting = std::make_shared<batch>();
            t.completing.push_back([=, this_ = this, &s](picoseconds time) {
                s.collecting = nullptr;
                b->complete = true;
                for (auto &[node, h] : b->at)
                    if (!h.goes && h.messages == b->accesses) {
                        h.goes = true;
                        this_->e_.at(time, this_->first_ + node, ~0u,
                                     [=, held = &h](picoseconds now) { pass(*held, now); });
                    }
            });
        }
        s.collecting->accesses++;
        t.collected++;
    }

    picoseconds wire(unsigned from, unsigned to, bool forward) {
        picoseconds sum = 0;
        for (const unsigned number : way_of(from, to, forward))
            sum += links_[number].latency_ps;
        return sum;
    }

    // Answers go back as their requests came: links stand in pairs that lead there and back.
    const way &way_of(unsigned from, unsigned to, bool forward) {
        way &w = ways_[{from, to, forward}];
        if (!w.empty() || from == to) return w;
        const bool ranked =
            std::any_of(nodes_.begin(), nodes_.end(), [](const tla_fabric_node &node) { return node.rank > 0; });
        if (forward && ranked) {
            w = ranked_path(nodes_, links_, from, to);
        } else if (forward) {
            for (unsigned node = from; node != to; node = links_[w.back()].to)
                w.push_back(next_link(node, to));
        } else {
            w = way_of(to, from, true);
            std::reverse(w.begin(), w.end());
            for (unsigned &number : w)
                number ^= 1;
        }
        return w;
    }

    // The way of least routing, of those the one of least latency, then of fewest links, and at each node the link of
    // the lowest number.
    using distance = std::tuple<std::uint64_t, picoseconds, unsigned>;
    distance through(const distance &far, const tla_fabric_link &l, unsigned to) const {
        const bool at_end = nodes_[to].region && nodes_[l.to].region == nodes_[to].region;
        return {std::get<0>(far) + (at_end ? l.routing_at_end : l.routing), std::get<1>(far) + l.latency_ps,
                std::get<2>(far) + 1};
    }
    unsigned next_link(unsigned node, unsigned to) {
        std::vector<unsigned> &next = next_[to];
        if (next.empty()) find_ways(to, next);
        return next[node];
    }
    void find_ways(unsigned to, std::vector<unsigned> &next) {
        const distance nowhere{UINT64_MAX, 0, 0};
        std::vector<distance> far(nodes_.size(), nowhere);
        far[to] = {0, 0, 0};
        for (bool better = true; better;) {
            better = false;
            for (const tla_fabric_link &l : links_)
                if (far[l.to] != nowhere && through(far[l.to], l, to) < far[l.from]) {
                    far[l.from] = through(far[l.to], l, to);
                    better = true;
                }
        }
        next.assign(nodes_.size(), 0);
        for (auto i = static_cast<unsigned>(links_.size()); i-- > 0;)
            if (far[links_[i].to] != nowhere && through(far[links_[i].to], links_[i], to) == far[links_[i].from])
                next[links_[i].from] = i;
    }

    events &e_;
    const unsigned first_, inputs_;
    const bool once_; // data are one item, which is not cut into flits
    const std::vector<tla_fabric_node> nodes_;
    const std::vector<tla_fabric_link> links_;
    const std::uint64_t flit_;
    std::vector<picoseconds> node_free_, link_free_;
    std::map<unsigned, std::vector<unsigned>> next_;
    std::map<std::tuple<unsigned, unsigned, bool>, way> ways_;
    std::map<const way *, picoseconds> complete_; // once: of a path, its latest item
};

} // namespace plain
#endif
