// The approximately timed side of a target: four phases around its b_transport.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "tlmalloc/modules/target_socket.hpp"

namespace tlmalloc {

using tlm::tlm_generic_payload;
using tlm::tlm_phase;
using tlm::tlm_sync_enum;

at_target::at_target(const char *name, unsigned outstanding, serve_function serve, backward_function backward)
    : name_(name), outstanding_(outstanding), serve_(std::move(serve)), backward_(std::move(backward)) {
    if (outstanding == 0) SC_REPORT_ERROR("/tlmalloc/at/config", "outstanding must be at least 1");
    sc_core::sc_spawn_options options;
    options.spawn_method();
    options.dont_initialize();
    options.set_sensitivity(&agenda_changed_);
    sc_core::sc_spawn([this] { advance(); }, sc_core::sc_gen_unique_name((name_ + "_at").c_str()), &options);
}

tlm_sync_enum at_target::nb_transport_fw(int initiator, tlm_generic_payload &payload, tlm_phase &phase,
                                         sc_core::sc_time &delay) {
    initiator_state &state = state_of(initiator);
    if (phase == tlm::BEGIN_REQ) {
        if (state.arriving || !state.requests.empty())
            violation("BEGIN_REQ before the END_REQ of the previous request");
        if (payload.has_mm()) payload.acquire();
        state.arriving++;
        schedule(step::arrive, {initiator, &payload}, delay);
        return tlm::TLM_ACCEPTED;
    }
    if (phase == tlm::END_RESP) {
        if (state.responding != &payload || state.ending) {
            violation("END_RESP for a payload whose response is not open");
            return tlm::TLM_ACCEPTED;
        }
        state.ending = true;
        schedule(step::end_response, {initiator, &payload}, delay);
        return tlm::TLM_COMPLETED;
    }
    if (phase == tlm::END_REQ || phase == tlm::BEGIN_RESP) violation("END_REQ or BEGIN_RESP on the forward path");
    return tlm::TLM_ACCEPTED;
}

void at_target::schedule(step what, const access &which, const sc_core::sc_time &delay) {
    agenda_.emplace(sc_core::sc_time_stamp() + delay, scheduled{what, which});
    agenda_changed_.notify(delay); // an earlier notification stands
}

// A method: executes everything that is due, then waits for the next entry.
void at_target::advance() {
    const sc_core::sc_time now = sc_core::sc_time_stamp();
    while (!agenda_.empty() && agenda_.begin()->first <= now) {
        const scheduled next = agenda_.begin()->second;
        agenda_.erase(agenda_.begin());
        const int initiator = next.which.initiator;
        switch (next.what) {
        case step::arrive:
            state_of(initiator).arriving--;
            state_of(initiator).requests.push_back(next.which.payload);
            accept(initiator);
            break;
        case step::respond:
            state_of(initiator).due.push_back(next.which.payload);
            respond(initiator);
            break;
        case step::end_response:
            finish(initiator);
            respond(initiator);
            break;
        }
    }
    if (!agenda_.empty()) agenda_changed_.notify(agenda_.begin()->first - now);
}

// Accepts the initiator's request, if one waits and the limit allows it.
void at_target::accept(int initiator) {
    initiator_state &state = state_of(initiator);
    if (state.requests.empty() || state.outstanding == outstanding_) return;
    tlm_generic_payload *payload = state.requests.front();
    state.requests.pop_front();
    state.outstanding++;
    accepted_.push_back({initiator, payload});
    if (accepted_.size() <= idle_workers_)
        work_to_do_.notify();
    else
        sc_core::sc_spawn([this] { work(); }, sc_core::sc_gen_unique_name((name_ + "_at_worker").c_str()));
    tlm_phase phase = tlm::END_REQ;
    sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
    backward_(initiator, *payload, phase, delay); // the answer to END_REQ has no meaning
}

// A thread: b_transport must be called from one. There are as many as calls that wait at the same time, and one.
void at_target::work() {
    while (true) {
        while (!accepted_.empty()) {
            const access next = accepted_.front();
            accepted_.pop_front();
            sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
            serve_(next.initiator, *next.payload, delay);
            schedule(step::respond, next, delay);
        }
        idle_workers_++;
        sc_core::wait(work_to_do_);
        idle_workers_--;
    }
}

// Sends the initiator's next response, and those behind it as long as each ends at once.
void at_target::respond(int initiator) {
    while (true) {
        initiator_state &state = state_of(initiator);
        if (state.responding || state.due.empty()) return;
        tlm_generic_payload *payload = state.due.front();
        state.due.pop_front();
        state.responding = payload;
        tlm_phase phase = tlm::BEGIN_RESP;
        sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
        const tlm_sync_enum answer = backward_(initiator, *payload, phase, delay);
        const bool ended = answer == tlm::TLM_COMPLETED || (answer == tlm::TLM_UPDATED && phase == tlm::END_RESP);
        if (!ended) return;
        if (delay > sc_core::SC_ZERO_TIME) {
            state.ending = true;
            schedule(step::end_response, {initiator, payload}, delay);
            return;
        }
        finish(initiator);
    }
}

// The open response has ended.
void at_target::finish(int initiator) {
    initiator_state &state = state_of(initiator);
    tlm_generic_payload *payload = state.responding;
    state.responding = nullptr;
    state.ending = false;
    state.outstanding--;
    if (payload->has_mm()) payload->release();
    accept(initiator);
}

void at_target::violation(const char *what) {
    protocol_errors_++;
    SC_REPORT_WARNING("/tlmalloc/at/protocol", (name_ + ": " + what).c_str());
}

at_target::initiator_state &at_target::state_of(int initiator) {
    const auto index = static_cast<std::size_t>(initiator);
    if (index >= initiators_.size()) initiators_.resize(index + 1);
    return initiators_[index];
}

} // namespace tlmalloc
