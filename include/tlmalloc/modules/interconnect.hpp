// The fabric: routes transactions to targets by physical address, and charges the time of the links that they cross.
#ifndef TLMALLOC_MODULES_INTERCONNECT_HPP
#define TLMALLOC_MODULES_INTERCONNECT_HPP

#include "tlmalloc/fabric/fabric.h"
#include "tlmalloc/memory/address_windows.h"
#include "tlmalloc/modules/detail/in_order.hpp"
#include "tlmalloc/modules/detail/time_queue.hpp"
#include "tlmalloc/modules/initiator_socket.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/modules/target_socket.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

namespace tlmalloc {

// Initiators bind to `in` in the order of config::sources; `out` binds to targets in the order of config::targets.
// Write data crosses the links on the way to the target, read data on the way back. The data moves by config::transport
// (fabric.h), in the order of arrival. An address outside all windows, or an access that leaves its window, gets
// TLM_ADDRESS_ERROR_RESPONSE in no time. DMI is the target's grant, cut to the window, with the latency of both ways
// added. After a reset (resettable.hpp) all links and nodes are free.
//
// Parameters, sockets, statistics, figures, errors and behaviour: model/modules/platform/INTERCONNECT.md.
class interconnect : public instrumented, public resettable, private untimed_target, private in_order_target {
  public:
    using window = tla_address_window; // of physical addresses; windows must not overlap

    // A group of links that waveforms show together, with two signals. The signals say how long the links were busy,
    // and how long flits waited for the links (fabric.h). Both describe the last whole meter_window_ps, summed over the
    // links. A link that is busy all the time adds a whole window.
    static constexpr std::uint64_t meter_window_ps = 100'000;
    struct link_group {
        std::string name;                 // name of the signals, without "_busy_ps", "_waited_ps"; dots lead into
                                          // scopes
        std::vector<std::uint32_t> links; // links of the group; other groups may contain the same links
    };

    struct config {
        std::vector<tla_fabric_node> nodes; // numbers of nodes are indexes here
        std::vector<tla_fabric_link> links; // between these nodes; numbers of links are indexes here
        std::uint32_t flit = 256;           // bytes, at least 1
        tla_transport transport = TLA_TRANSPORT_PER_FLIT;
        std::vector<std::uint32_t> sources; // node of each initiator
        std::vector<std::uint32_t> targets; // node of each target
        std::vector<window> windows;        // each ends below 2^64, and leads to an index of `targets`
        std::vector<link_group> groups;     // empty: waveforms show no links
        // AT: accepted requests per initiator without END_RESP, at least 1; more wait for END_REQ.
        unsigned outstanding = 64;
    };

    target_socket<0> in;
    multi_initiator_socket out{"out", [this](int target, std::uint64_t first, std::uint64_t last) {
                                   invalidate_direct_mem_ptr(target, first, last);
                               }};

    // Reports an error /tlmalloc/interconnect/config for a flit of 0 bytes, a link with an unknown node or without
    // bandwidth, an invalid or overlapping window, and a group with an unknown link. The same error reports, at the
    // start of the simulation, other numbers of bound sockets than of sources and targets. Without host memory for an
    // access, the error is /tlmalloc/interconnect/host_memory.
    interconnect(sc_core::sc_module_name name, config settings);

    // Return the node of an initiator, by its number, and the node of the target of an address; no_node if the node is
    // missing.
    static constexpr std::uint32_t no_node = UINT32_MAX;
    std::uint32_t node_of_source(std::size_t source) const;
    std::uint32_t node_of_target(std::uint64_t address) const;

    // way_ps: the time in ps of a write of nbytes from one node to another without other traffic, on the path of
    // tla_fabric_path. Returns 0 if no path exists, for an unknown node, and without host memory. spacing_ps: the
    // longest time in ps for which such a write occupies one link or one node of the whole fabric. The figure is for
    // every path: it estimates by how much a write delays another write that is sent at the same time.
    std::uint64_t way_ps(std::uint32_t from, std::uint32_t to, std::uint32_t nbytes);
    std::uint64_t spacing_ps(std::uint32_t nbytes) const;

    // A way from one node to another, on the path of tla_fabric_path. `nodes` includes both ends, and is empty if no
    // way exists. `least_ps` is a lower bound in ps on the time of nbytes of a transfer that has begun.
    struct way {
        std::vector<std::uint32_t> nodes;
        std::uint64_t least_ps;
    };
    way way_between(std::uint32_t from, std::uint32_t to, std::uint32_t nbytes);
    // Puts a node of the configuration on an island (time_queue.hpp). Call it before the simulation runs.
    void put_on_island(std::uint32_t node, std::uint32_t island) { nodes_.put_on_island(node, island); }

    // Called with everything that a link carries (fabric.h). Set it before the simulation runs. If it is empty, the
    // interconnect makes no call.
    std::function<void(const tla_fabric_passage &)> passed;

    std::uint64_t errors() const { return errors_; } // accesses that found no target
    // The fabric with the loads of its links (fabric.h). The interconnect owns it; a reset replaces it. Use the pointer
    // before the simulation continues.
    const tla_fabric *fabric() const;
    std::vector<statistics_group> list_statistics() const override;

    ~interconnect() override;

  private:
    struct crossing {          // a request in flight
        std::uint64_t address; // the initiator's address
        std::uint32_t window, source;
        tla_fabric_access access;
    };

    void start_of_simulation() override;
    void begin_reset() override { in.withdraw_dmi(0, UINT64_MAX); }
    void make_new() override;
    tla_status make_fabric();
    void watch_links();
    void begin(in_order_request &request, unsigned place) override;
    void enter(in_order_request &request);
    void arrive(in_order_request &request, std::uint64_t at_ps);
    void hand_over(in_order_request &request);
    void post(std::uint64_t at_ps, std::uint32_t node, std::uint64_t input, tla_flit &flit);
    tla_fabric_access access_of(tlm::tlm_generic_payload &payload, unsigned source, const window &w) const;
    void note_order(in_order_request &request, unsigned source);
    bool waits(const in_order_request &read, unsigned source);
    std::vector<in_order_request *> held_by(const in_order_request &write, unsigned source);
    void turn_back(in_order_request &request);
    void refuse(tlm::tlm_generic_payload &payload);
    unsigned debug(tlm::tlm_generic_payload &payload) override;
    bool grant_dmi(unsigned source, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) override;
    void invalidate_direct_mem_ptr(int target, sc_dt::uint64 first, sc_dt::uint64 last);
    const window *find(std::uint64_t address, std::uint64_t length) const;
    void show(const tla_fabric_passage &passage);
    bool find_links(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t> &links);
    const std::vector<std::uint32_t> &links_between(std::uint32_t from, std::uint32_t to, bool write);
    void note_way(const tlm::tlm_generic_payload &payload, std::uint32_t source, std::uint32_t to_window);

    config config_;
    const std::uint32_t inputs_of_messages_ = // inputs of a node; the inputs of its links follow
        static_cast<std::uint32_t>(config_.sources.size() + config_.windows.size());
    shared_resource nodes_{shared_resource::kind::fabric, name(), static_cast<std::uint32_t>(config_.nodes.size())};
    std::unique_ptr<tla_fabric, void (*)(tla_fabric *)> fabric_{nullptr, tla_fabric_destroy};
    struct meter; // for a group of links
    std::vector<std::unique_ptr<meter>> meters_;
    std::vector<std::vector<meter *>> meters_of_links_;
    std::vector<outlet> outlets_; // to the targets
    struct held_read {
        in_order_request *request;
        const in_order_request *behind; // a write that was sent earlier
        bool is_there;                  // the read has arrived, and waits
    };
    struct source_order { // accesses of an initiator in flight to the targets, in the order of sending
        writes_under_way writes;
        std::vector<held_read> reads;
    };
    std::vector<source_order> orders_;
    std::map<std::tuple<std::uint32_t, std::uint32_t, bool>, std::vector<std::uint32_t>> links_on_ways_;
    std::uint64_t errors_ = 0;
};

} // namespace tlmalloc
#endif
