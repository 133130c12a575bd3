// An initiator for tests: it makes the same access as a blocking call or in four phases.
#ifndef TLMALLOC_TESTING_INITIATOR_HPP
#define TLMALLOC_TESTING_INITIATOR_HPP

#include "tlmalloc/modules/systemc.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <tlm_utils/peq_with_get.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <vector>

namespace tlmalloc::testing {

enum class coding { loosely_timed, approximately_timed };

// The ways to end a response: TLM_COMPLETED, END_RESP as a return value (TLM_UPDATED), or END_RESP as a call.
enum class response_end { completed, updated, call };

// The initiator is the memory manager of its payloads: make() provides a payload, give_back() returns it. Call all
// functions that may wait from threads.
class initiator : public sc_core::sc_module, private tlm::tlm_mm_interface {
  public:
    tlm_utils::simple_initiator_socket<initiator> out{"out"};

    coding style = coding::loosely_timed;
    response_end ending = response_end::completed;
    sc_core::sc_time response_delay; // from BEGIN_RESP to END_RESP, unless `completed`

    std::function<void(std::uint64_t, std::uint64_t)> on_invalidate; // called when a target withdraws DMI

    explicit initiator(sc_core::sc_module_name name) : sc_module(name) {
        out.register_nb_transport_bw(this, &initiator::nb_transport_bw);
        out.register_invalidate_direct_mem_ptr(this, &initiator::invalidate_direct_mem_ptr);
        TLMALLOC_HAS_PROCESS(initiator);
        SC_METHOD(end_responses);
        sensitive << to_end_.get_event();
        dont_initialize();
    }

    // Returns a payload in the state that the beginning of a call requires, with one reference. `data` holds `length`
    // bytes, and outlives the access; `length` is below 2^32.
    tlm::tlm_generic_payload &make(tlm::tlm_command command, std::uint64_t address, void *data, std::size_t length) {
        if (free_.empty()) {
            all_.push_back(std::make_unique<tlm::tlm_generic_payload>(static_cast<tlm::tlm_mm_interface *>(this)));
            free_.push_back(all_.back().get());
        }
        tlm::tlm_generic_payload &payload = *free_.back();
        free_.pop_back();
        payload.acquire();
        payload.set_command(command);
        payload.set_address(address);
        payload.set_data_ptr(static_cast<unsigned char *>(data));
        payload.set_data_length(static_cast<unsigned>(length));
        payload.set_streaming_width(static_cast<unsigned>(length));
        payload.set_byte_enable_ptr(nullptr);
        payload.set_byte_enable_length(0);
        payload.set_dmi_allowed(false);
        payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
        return payload;
    }

    void give_back(tlm::tlm_generic_payload &payload) { payload.release(); }

    // Makes the whole access in the selected coding style. Loosely timed, the delay grows. Approximately timed, the
    // access begins `delay` from now and is over on return (delay 0).
    void transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        if (style == coding::loosely_timed) {
            out->b_transport(payload, delay);
            return;
        }
        begin(payload, delay);
        finish(payload);
        delay = sc_core::SC_ZERO_TIME;
    }

    // Sends BEGIN_REQ `delay` from now, after the END_REQ of the previous request. Waits if that END_REQ is missing,
    // and returns when the target has returned. Call finish() once for each begin().
    void begin(tlm::tlm_generic_payload &payload, const sc_core::sc_time &delay = sc_core::SC_ZERO_TIME) {
        while (request_)
            sc_core::wait(request_ended_);
        request_ = &payload;
        progress &state = *(states_[&payload] = std::make_unique<progress>());
        tlm::tlm_phase phase = tlm::BEGIN_REQ;
        sc_core::sc_time t = delay;
        payload.acquire(); // held until the response has ended
        const tlm::tlm_sync_enum answer = out->nb_transport_fw(payload, phase, t);
        if (answer == tlm::TLM_COMPLETED) {
            end_request(payload);
            state.responded = sc_core::sc_time_stamp() + t;
            end(payload);
        } else if (answer == tlm::TLM_UPDATED && phase == tlm::END_REQ) {
            end_request(payload);
        } else if (answer == tlm::TLM_UPDATED && phase == tlm::BEGIN_RESP) {
            if (nb_transport_bw(payload, phase, t) == tlm::TLM_COMPLETED) return;
            if (phase == tlm::END_RESP) out->nb_transport_fw(payload, phase, t);
        }
    }

    // Waits for the end of the response of a payload that begin() has sent. Returns the time of its beginning
    // (BEGIN_RESP with its annotated time). If the target sends no response, the call does not return.
    sc_core::sc_time finish(tlm::tlm_generic_payload &payload) {
        progress &state = *states_.at(&payload);
        while (!state.ended)
            sc_core::wait(state.over);
        const sc_core::sc_time responded = state.responded;
        states_.erase(&payload);
        return responded;
    }

    std::uint64_t in_use() const { return all_.size() - free_.size(); }         // payloads that are still held
    std::uint64_t requests_ended() const { return requests_ended_; }            // END_REQ, or a phase that implies it
    tlm::tlm_sync_enum last_end_response_answer() const { return end_answer_; } // to END_RESP as a call

  private:
    struct progress {
        bool ended = false;
        sc_core::sc_time responded;
        sc_core::sc_event over;
    };

    tlm::tlm_sync_enum nb_transport_bw(tlm::tlm_generic_payload &payload, tlm::tlm_phase &phase,
                                       sc_core::sc_time &delay) {
        if (phase == tlm::END_REQ) end_request(payload);
        if (phase != tlm::BEGIN_RESP) return tlm::TLM_ACCEPTED;
        end_request(payload);
        const auto found = states_.find(&payload);
        if (found == states_.end() || found->second->ended) return tlm::TLM_ACCEPTED; // a mistake of the target
        found->second->responded = sc_core::sc_time_stamp() + delay;
        if (ending == response_end::call) {
            to_end_.notify(payload, delay + response_delay);
            return tlm::TLM_ACCEPTED;
        }
        end(payload);
        if (ending == response_end::completed) return tlm::TLM_COMPLETED;
        phase = tlm::END_RESP;
        delay += response_delay;
        return tlm::TLM_UPDATED;
    }

    void end_responses() {
        while (tlm::tlm_generic_payload *payload = to_end_.get_next_transaction()) {
            tlm::tlm_phase phase = tlm::END_RESP;
            sc_core::sc_time delay;
            end_answer_ = out->nb_transport_fw(*payload, phase, delay);
            end(*payload);
        }
    }

    void end_request(const tlm::tlm_generic_payload &payload) {
        if (request_ != &payload) return;
        request_ = nullptr;
        requests_ended_++;
        request_ended_.notify(sc_core::SC_ZERO_TIME);
    }

    void end(tlm::tlm_generic_payload &payload) {
        progress &state = *states_.at(&payload);
        state.ended = true;
        state.over.notify(sc_core::SC_ZERO_TIME);
        payload.release();
    }

    void invalidate_direct_mem_ptr(sc_dt::uint64 start, sc_dt::uint64 end) {
        if (on_invalidate) on_invalidate(start, end);
    }

    void free(tlm::tlm_generic_payload *payload) override {
        payload->reset(); // also clears the payload's extensions
        free_.push_back(payload);
    }

    std::vector<std::unique_ptr<tlm::tlm_generic_payload>> all_;
    std::vector<tlm::tlm_generic_payload *> free_;
    std::map<tlm::tlm_generic_payload *, std::unique_ptr<progress>> states_;
    tlm_utils::peq_with_get<tlm::tlm_generic_payload> to_end_{"to_end"};
    const tlm::tlm_generic_payload *request_ = nullptr;
    sc_core::sc_event request_ended_;
    std::uint64_t requests_ended_ = 0;
    tlm::tlm_sync_enum end_answer_ = tlm::TLM_COMPLETED;
};

} // namespace tlmalloc::testing
#endif
