// The fabric as a module: finds targets by address, and lets transfers pass link by link.
#include "tlmalloc/modules/interconnect.hpp"

#include "modules/kit/dmi.hpp"
#include "modules/kit/payload.hpp"
#include "tlmalloc/base/timeline.h"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <string>

namespace tlmalloc {

struct interconnect::meter {
    meter(interconnect &of, const std::string &name)
        : busy_name(name + "_busy_ps"), waited_name(name + "_waited_ps"), busy(of, busy_name.c_str(), 32),
          waited(of, waited_name.c_str(), 64) {}

    const std::string busy_name, waited_name;
    figure busy, waited;
};

interconnect::interconnect(sc_core::sc_module_name name, config settings)
    : instrumented(name, "interconnect"), in("in", *this, *this, settings.outstanding), config_(std::move(settings)) {
    if (make_fabric())
        refuse_config("links must name existing nodes and have a bandwidth, and flits must have at least 1 byte");
    const tla_status sorted = tla_address_windows_sort(config_.windows.data(), config_.windows.size(),
                                                       static_cast<std::uint32_t>(config_.targets.size()));
    if (sorted)
        refuse_config(sorted == TLA_OUT_OF_RANGE ? "a window names an unknown target"
                      : sorted == TLA_OVERLAP    ? "two windows overlap"
                                                 : "a window ends past 2^64");
    meters_of_links_.resize(config_.groups.empty() ? 0 : config_.links.size());
    for (const link_group &group : config_.groups) {
        meters_.push_back(std::make_unique<meter>(*this, group.name));
        for (const std::uint32_t link : group.links) {
            if (link >= config_.links.size()) refuse_config("a group names an unknown link");
            meters_of_links_[link].push_back(meters_.back().get());
        }
    }
}

tla_status interconnect::make_fabric() {
    tla_fabric *made = nullptr;
    const tla_status status = tla_fabric_create(config_.nodes.data(), static_cast<std::uint32_t>(config_.nodes.size()),
                                                config_.links.data(), config_.links.size(), config_.flit, &made);
    fabric_.reset(made);
    if (status) return status;
    tla_fabric_set_transport(made, config_.transport);
    const tla_fabric_host host = {
        this,
        [](void *self, std::uint64_t at_ps, std::uint32_t node, std::uint64_t input, tla_flit *flit) {
            static_cast<interconnect *>(self)->post(at_ps, node, input, *flit);
        },
        [](void *self, void *request, std::uint64_t at_ps) {
            static_cast<interconnect *>(self)->arrive(*static_cast<in_order_request *>(request), at_ps);
        }};
    tla_fabric_set_host(made, &host);
    return TLA_OK;
}

void interconnect::make_new() {
    if (make_fabric()) SC_REPORT_ERROR("/tlmalloc/interconnect/host_memory", "no host memory for a rebuilt fabric");
    watch_links();
}

interconnect::~interconnect() = default;

// Where the window's bytes are at its target, and where its initiators see them.
static address_view view_of(const interconnect::window &w) {
    return {w.relative ? 0 : w.base, w.size, w.base};
}

void interconnect::watch_links() {
    const bool shown = !meters_.empty() && meters_.front()->busy.is_watched();
    if (!shown && !passed) return;
    const tla_fabric_watch watch = {
        this, [](void *self, const tla_fabric_passage *passage) { static_cast<interconnect *>(self)->show(*passage); }};
    tla_fabric_set_watch(fabric_.get(), &watch);
}

void interconnect::start_of_simulation() {
    watch_links();
    orders_.resize(config_.sources.size());
    outlets_.resize(static_cast<std::size_t>(out.size()));
    for (std::size_t i = 0; i < outlets_.size(); i++)
        outlets_[i].lead_to(*out[static_cast<int>(i)], out.name() + ("_" + std::to_string(i)));
    const auto sources = static_cast<std::size_t>(in.size()), targets = static_cast<std::size_t>(out.size());
    if (sources == config_.sources.size() && targets == config_.targets.size()) return;
    refuse_config(std::to_string(sources) + " initiators and " + std::to_string(targets) +
                  " targets are bound, but the configuration has " + std::to_string(config_.sources.size()) + " and " +
                  std::to_string(config_.targets.size()));
}

const interconnect::window *interconnect::find(std::uint64_t address, std::uint64_t length) const {
    return tla_address_windows_find(config_.windows.data(), config_.windows.size(), address, length);
}

std::uint32_t interconnect::node_of_source(std::size_t source) const {
    return source < config_.sources.size() ? config_.sources[source] : no_node;
}

std::uint32_t interconnect::node_of_target(std::uint64_t address) const {
    const window *w = find(address, 1);
    return w ? config_.targets[w->target] : no_node;
}

std::uint64_t interconnect::way_ps(std::uint32_t from, std::uint32_t to, std::uint32_t nbytes) {
    std::uint64_t duration_ps = 0;
    tla_fabric_alone(fabric_.get(), from, to, nbytes, &duration_ps);
    return duration_ps;
}

std::uint64_t interconnect::spacing_ps(std::uint32_t nbytes) const {
    std::uint64_t longest = 0;
    for (const tla_fabric_link &link : config_.links)
        longest = std::max(longest, tla_transfer_ps(nbytes, link.bandwidth_bytes_per_s));
    for (const tla_fabric_node &node : config_.nodes)
        longest = std::max(longest, node.overhead_ps);
    return longest;
}

// The links of a path; false where there is none.
bool interconnect::find_links(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t> &links) {
    std::uint64_t latency_ps = 0;
    std::uint32_t count = 0;
    if (tla_fabric_path(fabric_.get(), from, to, &latency_ps, &count)) return false;
    links.resize(count);
    return !tla_fabric_path_links(fabric_.get(), from, to, links.data());
}

interconnect::way interconnect::way_between(std::uint32_t from, std::uint32_t to, std::uint32_t nbytes) {
    std::vector<std::uint32_t> links;
    if (!find_links(from, to, links)) return {};
    way result{{from}, 0};
    const bool once = config_.transport == TLA_TRANSPORT_ONCE;
    std::uint64_t narrowest_ps = 0;
    for (const std::uint32_t number : links) {
        const tla_fabric_link &link = config_.links[number];
        const std::uint64_t all_ps = tla_transfer_ps(nbytes, link.bandwidth_bytes_per_s);
        narrowest_ps = std::max(narrowest_ps, all_ps);
        result.least_ps += link.latency_ps;
        if (!once) result.least_ps += tla_transfer_ps(std::min(nbytes, config_.flit), link.bandwidth_bytes_per_s);
        result.nodes.push_back(link.to);
    }
    if (once) result.least_ps += narrowest_ps;
    return result;
}

tla_fabric_access interconnect::access_of(tlm::tlm_generic_payload &payload, unsigned source, const window &w) const {
    const auto *const part = payload.get_extension<transaction_part>();
    return {config_.sources[source],
            config_.targets[w.target],
            w.target,
            payload.is_write(),
            part ? part->of : nullptr,
            nullptr,
            nullptr};
}

namespace {

// Records that the initiator's transaction has entered.
void note_entry(const tlm::tlm_generic_payload &payload) {
    if (auto *const part = payload.get_extension<transaction_part>()) part->entered = true;
}

std::uint64_t data_of_request(const tlm::tlm_generic_payload &payload) {
    return payload.is_write() ? payload.get_data_length() : 0;
}

std::uint64_t data_of_answer(const tlm::tlm_generic_payload &payload) {
    return payload.is_read() && payload.is_response_ok() ? payload.get_data_length() : 0;
}

} // namespace

// --- where time goes -------------------------------------------------------------------------------------------------

// The links that data take: the way of requests; answers take the same one back where each of its links has a partner.
const std::vector<std::uint32_t> &interconnect::links_between(std::uint32_t from, std::uint32_t to, bool write) {
    const auto [found, is_new] = links_on_ways_.try_emplace({from, to, write});
    std::vector<std::uint32_t> &links = found->second;
    if (is_new) find_links(from, to, links);
    if (!is_new || write) return links;
    for (std::uint32_t &link : links) {
        const tla_fabric_link &there = config_.links[link];
        const auto partner = std::find_if(config_.links.begin(), config_.links.end(), [&](const tla_fabric_link &l) {
            return l.from == there.to && l.to == there.from;
        });
        if (partner == config_.links.end()) {
            find_links(to, from, links);
            break;
        }
        link = static_cast<std::uint32_t>(partner - config_.links.begin());
    }
    return links;
}

// For accounts of transfers' times: notes the memory, and the link on the path for which most flits have waited so far;
// if no flit has waited, the slowest link.
void interconnect::note_way(const tlm::tlm_generic_payload &payload, std::uint32_t source, std::uint32_t to_window) {
    tla_access_times *const times = times_of(payload);
    if (!times) return;
    const std::uint32_t from = config_.sources[source], to = config_.targets[config_.windows[to_window].target];
    times->memory = to;
    std::uint64_t most_ps = 0, bandwidth = UINT64_MAX;
    for (const std::uint32_t link : links_between(from, to, payload.is_write())) {
        const std::uint64_t waited_ps = tla_fabric_link_load(fabric_.get(), link).waited_ps;
        const std::uint64_t of_link = config_.links[link].bandwidth_bytes_per_s;
        if (waited_ps < most_ps || (waited_ps == most_ps && of_link >= bandwidth)) continue;
        times->link = link;
        most_ps = waited_ps;
        bandwidth = of_link;
    }
}

// --- node by node, as flits arrive -----------------------------------------------------------------------------------

void interconnect::begin(in_order_request &request, unsigned place) {
    const unsigned source = in.input_at(place);
    request.comes_last = false; // what arrives lets others follow
    tlm::tlm_generic_payload &payload = *request.payload;
    if (refuses(payload)) {
        request.finish();
        return;
    }
    const window *w = find(payload.get_address(), std::max<std::uint64_t>(payload_span(payload), 1));
    if (!w) {
        refuse(payload);
        request.finish();
        return;
    }
    begun();
    in_order_request::frame &frame =
        request.push([](void *self, in_order_request &r) { static_cast<interconnect *>(self)->turn_back(r); }, this);
    frame.state<crossing>() = {payload.get_address(), static_cast<std::uint32_t>(w - config_.windows.data()), source,
                               access_of(payload, source, *w)};
    note_order(request, source);
    enter(request);
}

void interconnect::enter(in_order_request &request) {
    auto &c = request.top().state<crossing>();
    note_entry(*request.payload);
    const tla_status status = tla_fabric_enter_request(fabric_.get(), &c.access, data_of_request(*request.payload),
                                                       request.at_ps, in.place_of(c.source), &request);
    if (status == TLA_NO_HOST_MEMORY)
        SC_REPORT_ERROR("/tlmalloc/interconnect/host_memory", "no host memory for an access");
    if (!status) return;
    if (auto *const part = request.payload->get_extension<transaction_part>()) part->entered = false;
    source_order &order = orders_[c.source];
    if (request.payload->is_write()) held_by(request, c.source); // no read has seen it yet
    if (!order.reads.empty() && order.reads.back().request == &request) order.reads.pop_back();
    refuse(*request.payload); // there is no way
    request.pop();
    ended();
    request.finish();
}

void interconnect::post(std::uint64_t at_ps, std::uint32_t node, std::uint64_t input, tla_flit &flit) {
    const auto port = static_cast<std::uint32_t>(input) + (input >> 32 ? inputs_of_messages_ : 0);
    time_queue::of_simulation().post(
        at_ps, nodes_.number() + node, port,
        [](void *context, std::uint64_t now_ps) { tla_fabric_arrive(static_cast<tla_flit *>(context), now_ps); },
        &flit);
}

// Notes a write, and a read of bytes that a write which was sent before is still carrying to the target.
void interconnect::note_order(in_order_request &request, unsigned source) {
    source_order &order = orders_[source];
    if (request.payload->is_write()) order.writes.add(request);
    const in_order_request *const write = request.payload->is_read() ? order.writes.before(*request.payload) : nullptr;
    if (write) order.reads.push_back({&request, write, false});
}

// A read has arrived. Returns whether it waits for a write.
bool interconnect::waits(const in_order_request &read, unsigned source) {
    for (held_read &r : orders_[source].reads)
        if (r.request == &read) return r.is_there = true;
    return false;
}

// A write has arrived: returns the reads that have waited for it and have arrived.
std::vector<in_order_request *> interconnect::held_by(const in_order_request &write, unsigned source) {
    source_order &order = orders_[source];
    order.writes.arrived(write);
    std::vector<in_order_request *> due;
    if (order.reads.empty()) return due;
    for (const held_read &r : order.reads)
        if (r.behind == &write && r.is_there) due.push_back(r.request);
    order.reads.erase(
        std::remove_if(order.reads.begin(), order.reads.end(), [&](const held_read &r) { return r.behind == &write; }),
        order.reads.end());
    return due;
}

// At the target's node, or with the answer at the initiator's.
void interconnect::arrive(in_order_request &request, std::uint64_t at_ps) {
    request.at_ps = at_ps;
    if (!request.top().resume) {
        request.pop();
        ended();
        request.finish();
        return;
    }
    const std::uint32_t source = request.top().state<crossing>().source;
    if (request.payload->is_read() && waits(request, source)) return;
    std::vector<in_order_request *> followers;
    if (request.payload->is_write()) followers = held_by(request, source);
    hand_over(request);
    for (in_order_request *read : followers) {
        read->at_ps = std::max(read->at_ps, at_ps);
        hand_over(*read);
    }
}

void interconnect::hand_over(in_order_request &request) {
    const auto &c = request.top().state<crossing>();
    const window &w = config_.windows[c.window];
    if (w.relative) request.payload->set_address(c.address - w.base);
    outlets_[w.target].send(request);
}

// The target has answered.
void interconnect::turn_back(in_order_request &request) {
    tlm::tlm_generic_payload &payload = *request.payload;
    auto &c = request.top().state<crossing>();
    payload.set_address(c.address);
    note_way(payload, c.source, c.window);
    request.top().resume = nullptr; // on its way back
    const auto input = static_cast<std::uint32_t>(config_.sources.size() + c.window);
    if (tla_fabric_enter_answer(fabric_.get(), &c.access, data_of_answer(payload), request.at_ps, input, &request))
        SC_REPORT_ERROR("/tlmalloc/interconnect/host_memory", "no host memory for a response");
}

void interconnect::refuse(tlm::tlm_generic_payload &payload) {
    errors_++;
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

// --- without time ----------------------------------------------------------------------------------------------------

unsigned interconnect::debug(tlm::tlm_generic_payload &payload) {
    const std::uint64_t address = payload.get_address();
    const window *w = find(address, payload.get_data_length());
    if (!w) return 0;
    if (w->relative) payload.set_address(address - w->base);
    const unsigned moved = out[static_cast<int>(w->target)]->transport_dbg(payload);
    payload.set_address(address);
    return moved;
}

bool interconnect::grant_dmi(unsigned source, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
    const std::uint64_t address = payload.get_address();
    const window *w = find(address, 1);
    const std::uint32_t from = config_.sources[source];
    const std::uint32_t to = w ? config_.targets[w->target] : from;
    std::uint64_t there = 0, back = 0;
    std::uint32_t count = 0;
    if (in_reset()) return refuse_dmi(dmi);
    if (!w || tla_fabric_path(fabric_.get(), from, to, &there, &count)) return refuse_dmi(dmi, {address, address});
    const std::vector<std::uint32_t> &answers = links_between(from, to, false);
    if (answers.empty() && from != to) return refuse_dmi(dmi, {address, address}); // there is no way back
    if (!answers.empty()) back = config_.nodes[to].overhead_ps;
    for (const std::uint32_t link : answers)
        back += config_.links[link].latency_ps + config_.nodes[config_.links[link].to].overhead_ps;
    if (w->relative) payload.set_address(address - w->base);
    const bool granted = out[static_cast<int>(w->target)]->get_direct_mem_ptr(payload, dmi);
    payload.set_address(address);
    return translate_dmi(dmi, granted, view_of(*w), there + back);
}

void interconnect::invalidate_direct_mem_ptr(int target, sc_dt::uint64 first, sc_dt::uint64 last) {
    for (const window &w : config_.windows) {
        if (w.target != static_cast<unsigned>(target)) continue;
        const std::optional<byte_range> seen = view_of(w).translate({first, last});
        if (seen) in.withdraw_dmi(seen->first, seen->last);
    }
}

// Adds the time from one moment to another to the windows that it lies in, each of which is shown when it is over. No
// event is needed: where the windows in between are full, nothing changes.
static void add_to_windows(figure &shown, std::uint64_t from_ps, std::uint64_t to_ps) {
    if (from_ps >= to_ps) return;
    constexpr std::uint64_t window = interconnect::meter_window_ps;
    const std::uint64_t first = from_ps / window, last = (to_ps - 1) / window;
    const auto signed_ps = [](std::uint64_t ps) { return static_cast<std::int64_t>(ps); };
    const std::int64_t in_first = signed_ps(std::min(to_ps, (first + 1) * window) - from_ps);
    const std::int64_t in_last = signed_ps(to_ps - last * window), full = signed_ps(window);
    shown.add((first + 1) * window, in_first);
    if (first == last) {
        shown.add((first + 2) * window, -in_first);
        return;
    }
    const bool follow = first + 1 == last;
    shown.add((first + 2) * window, (follow ? in_last : full) - in_first);
    if (!follow) shown.add((last + 1) * window, in_last - full);
    shown.add((last + 2) * window, -in_last);
}

void interconnect::show(const tla_fabric_passage &passage) {
    if (passed) passed(passage);
    if (meters_.empty()) return;
    for (meter *const m : meters_of_links_[passage.link]) {
        add_to_windows(m->busy, passage.start_ps, passage.end_ps);
        add_to_windows(m->waited, passage.arrival_ps, passage.arrival_ps + passage.waited_ps);
    }
}

const tla_fabric *interconnect::fabric() const {
    time_queue::catch_up_all();
    return fabric_.get();
}

std::vector<statistics_group> interconnect::list_statistics() const {
    time_queue::catch_up_all();
    return {{{{"errors", errors_, "accesses", "to addresses without a target"}}}};
}

} // namespace tlmalloc
