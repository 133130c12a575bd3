// Paths of a fabric whose nodes have ranks, by looking at every node and every link: the reference for fabric.h.
#ifndef TLMALLOC_TESTS_UNIT_PLAIN_RANKS_HPP
#define TLMALLOC_TESTS_UNIT_PLAIN_RANKS_HPP

#include "tlmalloc/fabric/fabric.h"

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace plain {

// The links from one node to another. Throws where there is no way.
inline std::vector<unsigned> ranked_path(const std::vector<tla_fabric_node> &nodes,
                                         const std::vector<tla_fabric_link> &links, unsigned from, unsigned to) {
    struct reached {
        bool is = false, forwards = false;
        std::uint64_t length = 0;
        unsigned by = 0; // link
    };
    std::vector<reached> all(nodes.size());
    all[from].is = true;
    const unsigned within = nodes[from].region == nodes[to].region ? nodes[to].region : 0;
    for (;;) {
        unsigned next = static_cast<unsigned>(nodes.size());
        for (unsigned node = 0; node < nodes.size(); node++) {
            if (!all[node].is || all[node].forwards) continue;
            if (next < nodes.size() && (all[node].length > all[next].length ||
                                        (all[node].length == all[next].length && nodes[node].rank >= nodes[next].rank)))
                continue;
            next = node;
        }
        if (next == nodes.size()) break;
        all[next].forwards = true;
        for (unsigned number = 0; number < links.size(); number++) {
            const tla_fabric_link &l = links[number];
            if (l.from != next) continue;
            const bool inside = within && nodes[l.to].region == within;
            const std::uint64_t length = all[next].length + (inside ? l.routing_at_end : l.routing);
            if (all[l.to].is && all[l.to].length <= length) continue;
            all[l.to] = {true, false, length, number};
        }
    }
    if (!all[to].is) throw std::runtime_error("no way");
    std::vector<unsigned> way;
    for (unsigned node = to; node != from; node = links[way.back()].from)
        way.push_back(all[node].by);
    std::reverse(way.begin(), way.end());
    return way;
}

} // namespace plain
#endif
