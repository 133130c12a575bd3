// Shortest paths over a topology, by the book: the reference for where paths lead.
#ifndef TLMALLOC_TESTS_UNIT_PLAIN_PATHS_HPP
#define TLMALLOC_TESTS_UNIT_PLAIN_PATHS_HPP

#include "tlmalloc/topology/topology.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

class plain_paths {
  public:
    explicit plain_paths(const tla_topology *topology)
        : topology_(topology), nodes_(tla_topology_nodes(topology)),
          links_(tla_topology_links(topology), tla_topology_links(topology) + tla_topology_link_count(topology)),
          into_(tla_topology_node_count(topology)) {
        for (std::uint32_t i = 0; i < links_.size(); i++)
            into_[links_[i].to].push_back(i);
    }

    // The links of the path with the least routing, then latency, then links, then the lowest number where two part; of
    // a topology with ranks the first path that a search from the start finds, which goes on from names in descending
    // order.
    std::vector<std::uint32_t> path(std::uint32_t from, std::uint32_t to) {
        if (nodes_[0].rank > 0) return path_by_names(from, to);
        const std::vector<std::uint32_t> &next = table(to);
        std::vector<std::uint32_t> path;
        for (std::uint32_t node = from; node != to; node = links_[next[node]].to) {
            BOOST_REQUIRE_MESSAGE(next[node] != none, name(from) << " does not reach " << name(to));
            path.push_back(next[node]);
        }
        return path;
    }

    std::uint32_t at(const std::string &name) const {
        const std::uint32_t node = tla_topology_node_named(topology_, name.c_str());
        BOOST_REQUIRE_MESSAGE(node != TLA_NO_NODE, "no node " << name);
        return node;
    }

    // How many nodes of a kind a path passes, its ends included.
    std::uint32_t passes(const std::vector<std::uint32_t> &path, tla_node_kind kind) const {
        std::uint32_t count = path.empty() ? 0 : nodes_[links_[path[0]].from].kind == kind;
        for (const std::uint32_t link : path)
            count += nodes_[links_[link].to].kind == kind;
        return count;
    }

    std::vector<tla_path_hop> hops(std::uint32_t from, std::uint32_t to) {
        std::vector<tla_path_hop> hops;
        for (const std::uint32_t link : path(from, to)) {
            const tla_topology_node &node = nodes_[links_[link].from];
            hops.push_back({node.overhead_ps, node.store_and_forward, links_[link].latency_ps, links_[link].bandwidth});
        }
        hops.push_back({nodes_[to].overhead_ps, nodes_[to].store_and_forward, 0, 0});
        return hops;
    }

    std::string name(std::uint32_t node) const { return nodes_[node].name; }

    // The weight of links that a path minimizes.
    std::uint64_t routing(const std::vector<std::uint32_t> &path) const {
        std::uint64_t sum = 0;
        for (const std::uint32_t link : path)
            sum += links_[link].routing;
        return sum;
    }

  private:
    bool in_one_cube(std::uint32_t a, std::uint32_t b) const {
        return nodes_[a].cube != TLA_NO_NODE && nodes_[a].cube == nodes_[b].cube && nodes_[a].sip == nodes_[b].sip;
    }

    std::vector<std::uint32_t> path_by_names(std::uint32_t from, std::uint32_t to) {
        const auto later_name = [this](const auto &a, const auto &b) {
            return a.first != b.first ? a.first < b.first : name(a.second) > name(b.second);
        };
        using entry = std::pair<std::uint64_t, std::uint32_t>;
        std::set<entry, decltype(later_name)> open(later_name);
        std::map<std::uint32_t, std::pair<std::uint64_t, std::uint32_t>> reached{{from, {0, none}}};
        for (open.insert({0, from}); !open.empty();) {
            const auto [length, node] = *open.begin();
            open.erase(open.begin());
            for (std::uint32_t number = 0; number < links_.size(); number++) {
                const tla_topology_link &link = links_[number];
                if (link.from != node) continue;
                const bool inside = in_one_cube(from, to) && in_one_cube(link.to, to);
                const std::uint64_t there = length + (inside ? link.routing_at_end : link.routing);
                const auto before = reached.find(link.to);
                if (before != reached.end() && before->second.first <= there) continue;
                if (before != reached.end()) open.erase({before->second.first, link.to});
                reached[link.to] = {there, number};
                open.insert({there, link.to});
            }
        }
        std::vector<std::uint32_t> path;
        for (std::uint32_t node = to; node != from; node = links_[path.back()].from) {
            BOOST_REQUIRE_MESSAGE(reached.count(node), name(from) << " does not reach " << name(to));
            path.push_back(reached[node].second);
        }
        std::reverse(path.begin(), path.end());
        return path;
    }

    static constexpr std::uint32_t none = TLA_NO_NODE;
    using distance = std::tuple<std::uint64_t, std::uint64_t, std::uint32_t>;

    const std::vector<std::uint32_t> &table(std::uint32_t to) {
        std::vector<std::uint32_t> &next = tables_[to];
        if (!next.empty()) return next;
        constexpr std::uint64_t far = std::numeric_limits<std::uint64_t>::max();
        std::vector<distance> distances(into_.size(), distance{far, far, none});
        next.assign(into_.size(), none);
        using entry = std::pair<distance, std::uint32_t>;
        std::priority_queue<entry, std::vector<entry>, std::greater<>> queue;
        distances[to] = {0, 0, 0};
        queue.push({distances[to], to});
        while (!queue.empty()) {
            const auto [here, node] = queue.top();
            queue.pop();
            if (here != distances[node]) continue;
            for (const std::uint32_t number : into_[node]) {
                const tla_topology_link &link = links_[number];
                const std::uint64_t weight = in_one_cube(link.to, to) ? link.routing_at_end : link.routing;
                const distance there{std::get<0>(here) + weight, std::get<1>(here) + link.latency_ps,
                                     std::get<2>(here) + 1};
                if (there < distances[link.from]) {
                    distances[link.from] = there;
                    next[link.from] = number;
                    queue.push({there, link.from});
                } else if (there == distances[link.from] && number < next[link.from]) {
                    next[link.from] = number;
                }
            }
        }
        return next;
    }

    const tla_topology *topology_;
    const tla_topology_node *nodes_;
    std::vector<tla_topology_link> links_;
    std::vector<std::vector<std::uint32_t>> into_;
    std::map<std::uint32_t, std::vector<std::uint32_t>> tables_;
};

struct topology_end {
    void operator()(tla_topology *topology) const { tla_topology_destroy(topology); }
};
using topology_owner = std::unique_ptr<tla_topology, topology_end>;

#endif
