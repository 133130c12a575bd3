// Scattered transactions, as requests of their own.
#include "scatter.hpp"

#include "tlmalloc/modules/time.hpp"

#include <algorithm>

namespace tlmalloc {

scatter::~scatter() {
    if (under_way_ == 0) return;
    auto *const rest = new scatter(*outlet_); // deletes itself with the last answer
    rest->abandoned_ = true;
    rest->under_way_ = under_way_;
    rest->transactions_ = std::move(transactions_);
    for (const transaction_ptr &t : rest->transactions_)
        if (t) tla_transaction_end(t.get(), time_queue::of_simulation().now_ps());
    rest->accesses_ = std::move(accesses_);
    for (bus_access &i : rest->accesses_) {
        i.owner = rest;
        i.then = {};
        if (i.under_way) i.request.keep_payload();
    }
}

scatter::bus_access &scatter::add(tlm::tlm_command command, std::uint64_t address, void *data, std::uint32_t nbytes,
                                  std::uint64_t at_ps, requester *who, answered then) {
    if (unused_.empty()) {
        accesses_.emplace_back();
        unused_.push_back(&accesses_.back());
    }
    bus_access &i = *unused_.back();
    unused_.pop_back();
    i.owner = this;
    i.out = outlet_;
    i.who = who;
    i.part.of = nullptr;
    i.part.entered = false;
    i.then = std::move(then);
    i.request.payload = &i.payload;
    i.request.at_ps = at_ps;
    i.payload.set_command(command);
    i.payload.set_address(address);
    i.payload.set_data_ptr(static_cast<unsigned char *>(data));
    i.payload.set_data_length(nbytes);
    i.payload.set_streaming_width(nbytes);
    i.payload.set_dmi_allowed(false);
    i.payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    return i;
}

void scatter::access(tlm::tlm_command command, std::uint64_t address, void *data, std::uint32_t nbytes,
                     std::uint64_t at_ps, requester *who, tla_transaction *transaction, answered then) {
    bus_access &i = add(command, address, data, nbytes, at_ps, who, std::move(then));
    i.part.of = transaction;
    begin_or_wait(i);
}

void scatter::post(tla_sent_command &sent, requester *who) {
    sent.status = TLA_OK;
    sent.written_ps = sent.answered_ps = sent.at_ps;
    if (!sent.command) {
        read_completion(sent, sent.at_ps, who);
        return;
    }
    std::vector<std::uint8_t> bytes(TLA_COMMAND_MAX_BYTES);
    std::size_t length = 0;
    sent.status = tla_command_encode(sent.command, bytes.data(), bytes.size(), &length);
    if (sent.status) return;
    const auto written = [this, who, &sent](bool ok, std::uint64_t end) {
        sent.written_ps = sent.answered_ps = end;
        if (!ok)
            sent.status = TLA_BUS_ERROR;
        else if (sent.gather)
            read_completion(sent, end, who);
    };
    bus_access &i = add(tlm::TLM_WRITE_COMMAND, sent.port_address, nullptr, static_cast<std::uint32_t>(length),
                        sent.at_ps, who, written);
    i.bytes = std::move(bytes);
    i.payload.set_data_ptr(i.bytes.data());
    begin_or_wait(i);
}

void scatter::read_completion(tla_sent_command &sent, std::uint64_t at_ps, requester *who) {
    bus_access &i = add(tlm::TLM_READ_COMMAND, sent.port_address + TLA_PORT_COMPLETION, nullptr, TLA_COMPLETION_BYTES,
                        at_ps, who, {});
    i.bytes.assign(TLA_COMPLETION_BYTES, 0);
    i.payload.set_data_ptr(i.bytes.data());
    i.then = [&i, &sent](bool ok, std::uint64_t end) {
        sent.answered_ps = end;
        const bool decoded = ok && tla_completion_decode(i.bytes.data(), &sent.completion) == TLA_OK;
        sent.status = decoded ? sent.completion.status : TLA_BUS_ERROR;
    };
    begin_or_wait(i);
}

// An access that is added while others are in flight begins at once.
void scatter::begin_or_wait(bus_access &i) {
    if (gathering_)
        begin(i);
    else
        waiting_.push_back(&i);
}

void scatter::begin(bus_access &i) {
    under_way_++;
    i.under_way = true;
    if (i.who) i.payload.set_extension(i.who);
    if (i.part.of) i.payload.set_extension(&i.part);
    time_queue &queue = time_queue::of_simulation();
    i.request.at_ps = std::max(i.request.at_ps, queue.now_ps());
    i.request.push(
        [](void *self, in_order_request &request) {
            request.pop();
            bus_access &done = *static_cast<bus_access *>(self);
            done.owner->end(done);
        },
        &i);
    queue.post(
        i.request.at_ps, 0, 0,
        [](void *context, std::uint64_t at_ps) {
            bus_access &due = *static_cast<bus_access *>(context);
            due.request.at_ps = at_ps;
            due.out->send(due.request);
        },
        &i);
}

void scatter::end(bus_access &i) {
    i.payload.give_back();
    i.under_way = false;
    i.part.answered(i.request.at_ps);
    end_ps_ = std::max(end_ps_, i.request.at_ps);
    if (const answered then = std::move(i.then)) then(i.payload.is_response_ok(), i.request.at_ps);
    unused_.push_back(&i);
    if (--under_way_ > 0) return;
    if (abandoned_)
        delete this;
    else
        time_queue::of_simulation().notify(*finished_, end_ps_);
}

std::uint64_t scatter::gather() {
    gathering_ = true;
    sc_core::sc_event finished;
    finished_ = &finished;
    const bool waits = !waiting_.empty();
    while (!waiting_.empty()) {
        bus_access &next = *waiting_.front();
        waiting_.pop_front();
        begin(next);
    }
    while (waits && (under_way_ > 0 || to_ps(sc_core::sc_time_stamp()) < end_ps_))
        sc_core::wait(finished);
    gathering_ = false;
    return end_ps_;
}

} // namespace tlmalloc
