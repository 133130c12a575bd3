// The fabric as a module: finds targets by address, and lets transfers pass link by link.
#include "tlmalloc/modules/interconnect.hpp"

#include "dmi.hpp"
#include "payload.hpp"
#include "tlmalloc/modules/time.hpp"
#include "tlmalloc/timing/timeline.h"

#include <algorithm>
#include <string>

namespace tlmalloc {

interconnect::interconnect(sc_core::sc_module_name name, config settings)
    : instrumented(name, "interconnect"), in("in", *this, settings.outstanding), config_(std::move(settings)) {
    tla_fabric *made = nullptr;
    if (tla_fabric_create(config_.nodes, config_.links.data(), config_.links.size(), &made))
        refuse_config("a link names no node, or has no bandwidth");
    fabric_.reset(made);
    const tla_status sorted = tla_address_windows_sort(config_.windows.data(), config_.windows.size(),
                                                       static_cast<std::uint32_t>(config_.targets.size()));
    if (sorted)
        refuse_config(sorted == TLA_OUT_OF_RANGE ? "a window names no target"
                      : sorted == TLA_OVERLAP    ? "two windows overlap"
                                                 : "a window goes past 2^64");
    out.register_invalidate_direct_mem_ptr(this, &interconnect::invalidate_direct_mem_ptr);
    if (config_.style == time_style::fast) return;
    in.serve_in_order(*this);
    for (std::size_t link = 0; link < config_.links.size(); link++) {
        const std::uint32_t number = time_queue::of_simulation().new_resource();
        if (link == 0) first_link_ = number;
    }
}

interconnect::~interconnect() = default;

// Where the window's bytes are at its target, and where its initiators see them.
static address_view view_of(const interconnect::window &w) {
    return {w.relative ? 0 : w.base, w.size, w.base};
}

void interconnect::start_of_simulation() {
    if (config_.style == time_style::exact) {
        orders_.resize(config_.sources.size());
        outlets_.resize(static_cast<std::size_t>(out.size()));
        for (std::size_t i = 0; i < outlets_.size(); i++)
            outlets_[i].lead_to(*out[static_cast<int>(i)]);
    }
    const auto sources = static_cast<std::size_t>(in.size()), targets = static_cast<std::size_t>(out.size());
    if (sources == config_.sources.size() && targets == config_.targets.size()) return;
    refuse_config(std::to_string(sources) + " initiators and " + std::to_string(targets) +
                  " targets are bound, expected " + std::to_string(config_.sources.size()) + " and " +
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

std::uint64_t interconnect::slowest_transfer_ps(std::uint32_t nbytes) const {
    std::uint64_t longest = 0;
    for (const tla_fabric_link &link : config_.links)
        longest = std::max(longest, tla_transfer_ps(nbytes, link.bandwidth_bytes_per_s));
    return longest;
}

std::uint64_t interconnect::way_ps(std::uint32_t from, std::uint32_t to, std::uint32_t nbytes) {
    std::uint64_t latency = 0;
    std::uint32_t links = 0;
    if (tla_fabric_path(fabric_.get(), from, to, &latency, &links)) return 0;
    return links ? latency + slowest_transfer_ps(nbytes) : 0;
}

bool interconnect::send(std::uint32_t from, std::uint32_t to, std::uint64_t nbytes, sc_core::sc_time &delay) {
    std::uint64_t arrival = 0;
    tla_fabric_forget(fabric_.get(), to_ps(sc_core::sc_time_stamp()));
    if (tla_fabric_send(fabric_.get(), from, to, nbytes, local_ps(delay), &arrival)) return false;
    set_local_ps(delay, arrival);
    return true;
}

// --- exact: link by link, as their heads arrive ----------------------------------------------------------------------

void interconnect::begin(in_order_request &request, unsigned source) {
    tlm::tlm_generic_payload &payload = *request.payload;
    const window *w = find(payload.get_address(), std::max<std::uint64_t>(payload_span(payload), 1));
    const std::uint32_t from = config_.sources[source];
    in_order_request::frame &frame =
        request.push([](void *self, in_order_request &r) { static_cast<interconnect *>(self)->turn_back(r); }, this);
    auto &c = frame.state<crossing>();
    c.address = payload.get_address();
    c.source = c.input = source;
    c.window = w ? static_cast<std::uint32_t>(w - config_.windows.data()) : 0;
    if (!w ||
        !depart(request, c, from, config_.targets[w->target], payload.is_write() ? payload.get_data_length() : 0)) {
        refuse(payload);
        request.pop();
        request.finish();
        return;
    }
    if (!holds_up(request, source)) move_on(request, c);
}

// Whether it is a read of bytes that an earlier write of its initiator is still carrying to the target.
bool interconnect::holds_up(in_order_request &request, unsigned source) {
    source_order &order = orders_[source];
    if (request.payload->is_write()) order.writes.add(request);
    const in_order_request *const write = request.payload->is_read() ? order.writes.before(*request.payload) : nullptr;
    if (write) order.reads.push_back({&request, write});
    return write != nullptr;
}

// A write arrives: the reads that follow it.
std::vector<in_order_request *> interconnect::held_by(const in_order_request &write, unsigned source) {
    source_order &order = orders_[source];
    order.writes.arrived(write);
    std::vector<in_order_request *> due;
    if (order.reads.empty()) return due;
    for (const held_read &r : order.reads)
        if (r.behind == &write) due.push_back(r.request);
    order.reads.erase(
        std::remove_if(order.reads.begin(), order.reads.end(), [&](const held_read &r) { return r.behind == &write; }),
        order.reads.end());
    return due;
}

bool interconnect::depart(in_order_request &request, crossing &c, std::uint32_t from, std::uint32_t to,
                          std::uint64_t nbytes) {
    return tla_fabric_begin(fabric_.get(), from, to, nbytes, request.at_ps, &c.transfer) == TLA_OK;
}

// To the link that comes next, or out of the fabric.
void interconnect::move_on(in_order_request &request, crossing &c) {
    request.at_ps = c.transfer.head_ps;
    if (c.transfer.node == c.transfer.to) {
        arrive(request, c);
        return;
    }
    const std::uint32_t link = tla_fabric_next_link(fabric_.get(), &c.transfer), input = c.input;
    c.input = static_cast<std::uint32_t>(config_.sources.size()) + link;
    time_queue::of_simulation().post(
        request.at_ps, first_link_ + link, input,
        [](void *context, std::uint64_t) {
            auto &r = *static_cast<in_order_request *>(context);
            static_cast<interconnect *>(r.top().module)->at_link(r);
        },
        &request);
}

void interconnect::at_link(in_order_request &request) {
    auto &c = request.top().state<crossing>();
    tla_fabric_pass(fabric_.get(), &c.transfer);
    move_on(request, c);
}

// At the target's node, or with the answer at the initiator's.
void interconnect::arrive(in_order_request &request, crossing &c) {
    if (!request.top().resume) {
        request.pop();
        request.finish();
        return;
    }
    const window &w = config_.windows[c.window];
    const std::uint64_t at_ps = request.at_ps;
    std::vector<in_order_request *> followers;
    if (request.payload->is_write()) followers = held_by(request, c.source);
    if (w.relative) request.payload->set_address(c.address - w.base);
    outlets_[w.target].send(request);
    for (in_order_request *read : followers) {
        auto &following = read->top().state<crossing>();
        following.transfer.head_ps = std::max(following.transfer.head_ps, at_ps);
        move_on(*read, following);
    }
}

// The target has answered.
void interconnect::turn_back(in_order_request &request) {
    tlm::tlm_generic_payload &payload = *request.payload;
    auto &c = request.top().state<crossing>();
    payload.set_address(c.address);
    request.top().resume = nullptr; // on its way back
    c.input = static_cast<std::uint32_t>(config_.sources.size() + config_.links.size()) + c.window;
    depart(request, c, config_.targets[config_.windows[c.window].target], config_.sources[c.source],
           payload.is_read() && payload.is_response_ok() ? payload.get_data_length() : 0);
    move_on(request, c);
}

void interconnect::refuse(tlm::tlm_generic_payload &payload) {
    errors_++;
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
}

// --- fast ------------------------------------------------------------------------------------------------------------

void interconnect::serve(unsigned source, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
    const std::uint64_t address = payload.get_address(), length = payload.get_data_length();
    const window *w = find(address, std::max<std::uint64_t>(payload_span(payload), 1));
    const std::uint32_t from = config_.sources[source];
    const std::uint32_t to = w ? config_.targets[w->target] : from;
    if (!w || !send(from, to, payload.is_write() ? length : 0, delay)) {
        refuse(payload);
        return;
    }
    if (w->relative) payload.set_address(address - w->base);
    out[static_cast<int>(w->target)]->b_transport(payload, delay);
    payload.set_address(address);
    send(to, from, payload.is_read() && payload.is_response_ok() ? length : 0, delay);
}

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
    std::uint32_t links = 0;
    if (!w || tla_fabric_path(fabric_.get(), from, to, &there, &links) ||
        tla_fabric_path(fabric_.get(), to, from, &back, &links))
        return refuse_dmi(dmi, {address, address});
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

std::vector<statistics_part> interconnect::list_statistics() const {
    return {{{{"errors", errors_, "accesses", "that found no target"}}}};
}

} // namespace tlmalloc
