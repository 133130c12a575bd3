// Accesses over a graph whose data occupy each link once (TLA_TRANSPORT_ONCE), in the plainest way: an item is at one
// place at a time, and each step of it is an event.
#ifndef TLMALLOC_TESTS_UNIT_PLAIN_ONCE_HPP
#define TLMALLOC_TESTS_UNIT_PLAIN_ONCE_HPP

#include "plain_fabric.hpp"

namespace plain {

class once {
  public:
    once(std::vector<tla_fabric_node> nodes, std::vector<tla_fabric_link> links)
        : nodes_(std::move(nodes)), links_(std::move(links)), paths_(nodes_, links_, 1), link_free_(links_.size()),
          busy_ps(links_.size()) {}

    // When every flow ends, as plain::fabric::run.
    std::vector<picoseconds> run(const std::vector<flow> &flows) {
        flows_ = flows;
        state_.resize(flows.size());
        for (unsigned f = 0; f < flows.size(); f++) {
            state_[f].outstanding = flows[f].accesses.size();
            for (unsigned a = 0; a < flows[f].accesses.size(); a++)
                if (flows[f].write || a == 0)
                    start({f, a, true, flows[f].write ? flows[f].accesses[a].nbytes : 0}, flows[f].accesses[a].issued);
        }
        while (!steps_.empty()) {
            const auto [when, moving] = *steps_.begin();
            steps_.erase(steps_.begin());
            step(moving, std::get<0>(when));
        }
        std::vector<picoseconds> ends;
        for (const progress &p : state_) {
            if (p.outstanding) throw std::runtime_error("a flow never ended");
            ends.push_back(p.end);
        }
        return ends;
    }

  private:
    struct item {
        unsigned flow, access;
        bool request;
        std::uint64_t nbytes;
        std::vector<std::uint32_t> way = {}; // links that it has not passed
        std::uint64_t narrowest = UINT64_MAX;
        bool entered = false, opens = false;
    };
    struct progress {
        std::size_t outstanding = 0;
        bool opened[2] = {false, false};
        picoseconds served = 0, end = 0;
    };
    using key = std::tuple<picoseconds, std::uint32_t, std::uint64_t, std::uint64_t>; // time, node, input, order

    void start(item i, picoseconds at) {
        const flow &f = flows_[i.flow];
        i.way = paths_.path(f.from, f.to);
        if (!i.request) i.way = paths_.back(i.way);
        for (const std::uint32_t l : i.way)
            i.narrowest = std::min(i.narrowest, links_[l].bandwidth_bytes_per_s);
        steps_[{at, i.request ? f.from : f.to, i.request ? i.flow : flows_.size() + i.flow, order_++}] = i;
    }

    void step(item i, picoseconds now) {
        const flow &f = flows_[i.flow];
        progress &p = state_[i.flow];
        if (!i.entered) {
            i.entered = true;
            i.opens = i.nbytes == 0 || !p.opened[i.request];
            p.opened[i.request] |= i.nbytes > 0;
        }
        const std::uint32_t last = i.request ? f.to : f.from, node = i.way.empty() ? last : links_[i.way[0]].from;
        if (i.opens || i.nbytes > 0) now += nodes_[node].overhead_ps;
        if (i.way.empty()) {
            picoseconds &before = complete_[{f.from, f.to, i.request}]; // what came first
            before = std::max(before, now) + tla_transfer_ps(i.nbytes, i.narrowest);
            arrive(i, before);
            return;
        }
        const std::uint32_t link = i.way[0];
        i.way.erase(i.way.begin());
        const picoseconds turn = std::max(now, link_free_[link]),
                          takes = tla_transfer_ps(i.nbytes, links_[link].bandwidth_bytes_per_s);
        link_free_[link] = turn + takes;
        busy_ps[link] += takes;
        steps_[{turn + links_[link].latency_ps, links_[link].to, (std::uint64_t{1} << 32) + link, order_++}] = i;
    }

    void arrive(const item &i, picoseconds now) {
        const flow &f = flows_[i.flow];
        progress &p = state_[i.flow];
        if (!i.request) {
            p.end = std::max(p.end, now);
            p.outstanding = f.write ? 0 : p.outstanding - 1;
        } else if (f.write) {
            p.served = std::max(p.served, now + f.served);
            if (--p.outstanding == 0) {
                p.outstanding = 1;
                start({i.flow, 0, false, 0}, p.served);
            }
        } else {
            picoseconds wire = 0;
            for (const std::uint32_t l : paths_.path(f.from, f.to))
                wire += links_[l].latency_ps;
            for (unsigned a = 0; a < f.accesses.size(); a++)
                start({i.flow, a, false, f.accesses[a].nbytes},
                      (a == 0 ? now : std::max(now, f.accesses[a].issued + wire)) + f.served);
        }
    }

    const std::vector<tla_fabric_node> nodes_;
    const std::vector<tla_fabric_link> links_;
    const fabric paths_;
    std::vector<picoseconds> link_free_;
    std::vector<flow> flows_;
    std::vector<progress> state_;
    std::map<key, item> steps_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, picoseconds> complete_; // of a path: its latest item
    std::uint64_t order_ = 0;

  public:
    std::vector<picoseconds> busy_ps; // of every link
};

} // namespace plain
#endif
