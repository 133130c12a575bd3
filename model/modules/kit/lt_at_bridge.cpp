// The bridge's two sides: calls that wait, and the initiator of the base protocol.
#include "base/numbers.h"
#include "base/request_split.h"
#include "dmi.hpp"
#include "lt_at_request.hpp"
#include "payload.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace tlmalloc {

using tlm::tlm_generic_payload;
using tlm::tlm_phase;
using tlm::tlm_sync_enum;

namespace {

template <typename Part>
void remove(std::vector<Part *> &from, Part &part) {
    from.erase(std::remove(from.begin(), from.end(), &part), from.end());
}

} // namespace

// The call of a caller. If its thread is killed meanwhile, the requests continue with bytes of their own.
class lt_at_bridge::call {
  public:
    call(lt_at_bridge &bridge, access &of) : bridge_(bridge), access_(of) {}
    ~call() {
        for (request *const part : access_.parts) {
            part->give_back();
            if (part->first) part->first->give_back();
            part->of = nullptr;
            part->release();
        }
        access_.parts.clear();
        access_.over.cancel();
        bridge_.idle_.push_back(&access_);
    }
    call(const call &) = delete;
    call &operator=(const call &) = delete;

  private:
    lt_at_bridge &bridge_;
    access &access_;
};

lt_at_bridge::lt_at_bridge(sc_core::sc_module_name name, const config &settings)
    : instrumented(name, "lt_at_bridge"), in("in", *this, settings.accepted), config_(settings) {
    check_config();
    out.register_nb_transport_bw(this, &lt_at_bridge::nb_transport_bw);
    out.register_invalidate_direct_mem_ptr(this, &lt_at_bridge::invalidate);
    TLMALLOC_HAS_PROCESS(lt_at_bridge);
    SC_METHOD(advance);
    sensitive << agenda_changed_;
    dont_initialize();
}

lt_at_bridge::~lt_at_bridge() = default;

void lt_at_bridge::check_config() const {
    const std::uint64_t smallest = config_.smallest, largest = config_.largest;
    if (config_.outstanding == 0)
        refuse_config("outstanding: the limit of outstanding requests must be at least 1, not 0");
    if (config_.capacity == 0)
        refuse_config("capacity: must be the bytes of the memory behind the bridge, not 0, or no_end if the target "
                      "itself rejects accesses past its end");
    if (config_.capacity != no_end && config_.capacity - 1 > UINT64_MAX - config_.base)
        refuse_config("base + capacity: the last byte must be below 2^64");
    if (!is_power_of_two(largest) || largest > UINT32_MAX)
        refuse_config("largest: must be a power of two up to 2^31, not " + std::to_string(largest));
    if (!is_power_of_two(smallest) || smallest > largest)
        refuse_config("smallest: must be a power of two up to largest = " + std::to_string(largest) + ", not " +
                      std::to_string(smallest));
    const bool ends = config_.capacity != no_end;
    if (config_.base % smallest > 0 || (ends && config_.capacity % smallest > 0))
        refuse_config("base and capacity must be multiples of smallest = " + std::to_string(smallest));
}

std::uint64_t lt_at_bridge::last() const {
    return config_.capacity == no_end ? UINT64_MAX : config_.base + (config_.capacity - 1);
}

bool lt_at_bridge::reaches(std::uint64_t address, std::uint64_t nbytes) const {
    return address >= config_.base && address <= last() && nbytes > 0 && nbytes - 1 <= last() - address;
}

// The target could execute some of several requests and not the others; likewise a read and its write.
bool lt_at_bridge::loses_exclusive(const tlm_generic_payload &payload) const {
    const requester *const who = payload.get_extension<requester>();
    if (!who || !who->exclusive) return false;
    const tla_request_shape shape{config_.largest, config_.smallest, config_.powers_of_two};
    const tla_request only = tla_request_next(&shape, payload.get_address(), payload.get_data_length());
    return !config_.exclusive || payload.get_byte_enable_ptr() || payload_span(payload) < payload.get_data_length() ||
           only.length != payload.get_data_length() || only.lead > 0;
}

// --- accesses --------------------------------------------------------------------------------------------------------

void lt_at_bridge::serve(unsigned input, tlm_generic_payload &payload, sc_core::sc_time &delay) {
    catch_up_with(delay);
    arrival_gate::passage order(gate_, in.place_of(input));
    if (refuses(payload)) return;
    const visit here(this);
    counts_.accesses++;
    tlm::tlm_response_status status = check_attributes(payload);
    if (status == tlm::TLM_OK_RESPONSE && !reaches(payload.get_address(), payload_span(payload)))
        status = tlm::TLM_ADDRESS_ERROR_RESPONSE;
    if (status == tlm::TLM_OK_RESPONSE && loses_exclusive(payload)) status = tlm::TLM_COMMAND_ERROR_RESPONSE;
    if (status == tlm::TLM_OK_RESPONSE && payload.get_command() != tlm::TLM_IGNORE_COMMAND)
        status = transport(payload, order);
    payload.set_response_status(status);
    if (status != tlm::TLM_OK_RESPONSE) counts_.errors++;
}

// Waits until the last request is answered.
tlm::tlm_response_status lt_at_bridge::transport(tlm_generic_payload &payload, arrival_gate::passage &order) {
    if (idle_.empty()) {
        accesses_.push_back(std::make_unique<access>());
        idle_.push_back(accesses_.back().get());
    }
    access &mine = *idle_.back();
    idle_.pop_back();
    const call stay(*this, mine);
    cut(payload, mine);
    mine.left = mine.parts.size();
    if (mine.left == 0) return tlm::TLM_OK_RESPONSE; // no byte is enabled
    for (request *const part : mine.parts) {
        part->acquire(); // until its response has ended
        schedule(step::begin, *part, sc_core::SC_ZERO_TIME);
    }
    order.leave();
    while (mine.left > 0)
        sc_core::wait(mine.over);
    return collect(mine, payload);
}

// --- four phases -----------------------------------------------------------------------------------------------------

void lt_at_bridge::schedule(step what, request &part, const sc_core::sc_time &delay) {
    agenda_.emplace(sc_core::sc_time_stamp() + delay, scheduled{what, &part});
    agenda_changed_.notify(delay); // an earlier notification stands
}

// A method: executes everything that is due, then waits for the next entry.
void lt_at_bridge::advance() {
    const sc_core::sc_time now = sc_core::sc_time_stamp();
    while (!agenda_.empty() && agenda_.begin()->first <= now) {
        const scheduled next = agenda_.begin()->second;
        agenda_.erase(agenda_.begin());
        switch (next.what) {
        case step::begin:
            waiting_.push_back(next.part);
            break;
        case step::end_request:
            if (open_ == next.part) open_ = nullptr;
            break;
        case step::respond:
            if (open_ == next.part) open_ = nullptr;
            finish(*next.part);
            break;
        }
        while (!open_ && !waiting_.empty() && sent_.size() < config_.outstanding && may_go(*waiting_.front())) {
            request &part = *waiting_.front();
            waiting_.pop_front();
            if (part.first) merging_.push_back(&part);
            send(part.first ? *part.first : part);
        }
    }
    if (!agenda_.empty())
        agenda_changed_.notify(agenda_.begin()->first - now);
    else if (in_reset() && !is_busy())
        may_be_idle();
}

// From the read to the answer of a partial write, no other request may use its bytes.
bool lt_at_bridge::may_go(const request &next) const {
    const auto touches = [&](const request *other) {
        return other != &next && other->touches(next.get_address(), next.bytes.size());
    };
    return std::none_of(merging_.begin(), merging_.end(), touches) &&
           (!next.first || std::none_of(sent_.begin(), sent_.end(), touches));
}

void lt_at_bridge::send(request &next) {
    next.is = request::state::sent;
    open_ = &next;
    sent_.push_back(&next);
    counts_.requests++;
    counts_.peak_outstanding = std::max<std::uint64_t>(counts_.peak_outstanding, sent_.size());
    outstanding_.set(to_ps(sc_core::sc_time_stamp()), sent_.size());
    tlm_phase phase = tlm::BEGIN_REQ;
    sc_core::sc_time delay;
    const tlm_sync_enum answer = out->nb_transport_fw(next, phase, delay);
    if (answer == tlm::TLM_ACCEPTED) return;
    if (answer == tlm::TLM_UPDATED && phase == tlm::END_REQ)
        schedule(step::end_request, next, delay);
    else if (answer == tlm::TLM_COMPLETED)
        respond(next, false, delay);
    else if (answer == tlm::TLM_UPDATED && phase == tlm::BEGIN_RESP)
        respond(next, true, delay);
    else
        violation("TLM_UPDATED to BEGIN_REQ with a phase that cannot follow it");
}

// The target has answered; it waits for END_RESP as a call if `to_end`.
void lt_at_bridge::respond(request &part, bool to_end, const sc_core::sc_time &delay) {
    if (part.is != request::state::sent) {
        violation("a second response to a request");
        return;
    }
    part.is = request::state::answered;
    part.to_end = to_end;
    schedule(step::respond, part, delay);
}

tlm_sync_enum lt_at_bridge::nb_transport_bw(tlm_generic_payload &payload, tlm_phase &phase, sc_core::sc_time &delay) {
    auto *const part = dynamic_cast<request *>(&payload);
    if (phase != tlm::END_REQ && phase != tlm::BEGIN_RESP) {
        if (phase == tlm::BEGIN_REQ || phase == tlm::END_RESP) violation("an initiator's phase on the backward path");
        return tlm::TLM_ACCEPTED; // phases of other protocols
    }
    if (!part || &part->owner != this || part->is == request::state::idle || part->is == request::state::waiting) {
        violation("a response to a request that is not outstanding");
        return tlm::TLM_ACCEPTED;
    }
    if (phase == tlm::END_REQ) {
        if (open_ != part) violation("END_REQ for a request that has ended");
        schedule(step::end_request, *part, delay);
        return tlm::TLM_ACCEPTED;
    }
    const bool expected = part->is == request::state::sent;
    respond(*part, config_.ending == response_end::call, delay);
    if (!expected || config_.ending == response_end::call) return tlm::TLM_ACCEPTED;
    if (config_.ending == response_end::completed) return tlm::TLM_COMPLETED;
    phase = tlm::END_RESP; // at the time of BEGIN_RESP
    return tlm::TLM_UPDATED;
}

// The response of a request is due.
void lt_at_bridge::finish(request &part) {
    part.is = request::state::ended;
    remove(sent_, part);
    remove(merging_, part);
    if (!in_reset()) write_debugged(part); // a memory on the same line may be as new already
    outstanding_.set(to_ps(sc_core::sc_time_stamp()), sent_.size());
    counts_.bytes += part.wanted;
    if (part.to_end) {
        tlm_phase phase = tlm::END_RESP;
        sc_core::sc_time delay;
        out->nb_transport_fw(part, phase, delay); // the answer to END_RESP has no meaning
    }
    if (part.then)
        merge(*part.then, part);
    else
        answered(part);
    part.release();
}

// The bytes that a write in part leaves as they are have been read: it is next.
void lt_at_bridge::merge(request &into, request &read) {
    into.first = nullptr;
    read.give_back();
    if (read.is_response_ok()) {
        for (std::size_t i = 0; i < into.bytes.size(); i++)
            if (into.enables[i] == TLM_BYTE_DISABLED) into.bytes[i] = read.bytes[i];
        waiting_.push_front(&into);
        return;
    }
    remove(merging_, into);
    into.is = request::state::ended;
    into.set_response_status(read.get_response_status());
    answered(into);
    into.release();
}

void lt_at_bridge::answered(request &part) {
    if (part.of && --part.of->left == 0) part.of->over.notify(sc_core::SC_ZERO_TIME);
}

// Records the bytes that a debugger writes while they are part of a partial write in flight.
void lt_at_bridge::keep_in_merges(const tlm_generic_payload &written) {
    for (request *const part : merging_)
        for (std::size_t i = 0; i < part->bytes.size(); i++) {
            const std::uint64_t at = part->get_address() + i - written.get_address();
            if (at >= written.get_data_length() || part->enables[i] == TLM_BYTE_ENABLED) continue;
            const std::uint8_t byte = written.get_data_ptr()[at];
            if (part->is != request::state::waiting) { // the target has the bytes that it is to write
                part->debugged.emplace_back(i, byte);
                continue;
            }
            part->bytes[i] = byte;
            if (part->first) part->enables[i] = TLM_BYTE_ENABLED; // the read bytes may be older
        }
}

// Shows a debugger the bytes that it has written, because the target may have written older bytes back.
void lt_at_bridge::show_merges(tlm_generic_payload &read) const {
    for (const request *const part : merging_)
        for (const auto &[index, byte] : part->debugged) {
            const std::uint64_t at = part->get_address() + index - read.get_address();
            if (at < read.get_data_length()) read.get_data_ptr()[at] = byte;
        }
}

// The target has written older bytes than a debugger: writes the debugger's bytes again.
void lt_at_bridge::write_debugged(const request &part) {
    for (const auto &[index, byte] : part.debugged) {
        std::uint8_t data = byte;
        tlm_generic_payload again;
        again.set_command(tlm::TLM_WRITE_COMMAND);
        again.set_address(part.get_address() + index);
        again.set_data_ptr(&data);
        again.set_data_length(1);
        again.set_streaming_width(1);
        out->transport_dbg(again);
    }
}

void lt_at_bridge::violation(const char *what) {
    counts_.protocol_errors++;
    SC_REPORT_WARNING("/tlmalloc/lt_at_bridge/protocol", (std::string(name()) + ": " + what).c_str());
}

// --- what passes through ---------------------------------------------------------------------------------------------

unsigned lt_at_bridge::debug(tlm_generic_payload &payload) {
    const std::uint64_t address = payload.get_address(), length = payload.get_data_length();
    if (!payload.get_data_ptr() || !reaches(address, length)) return 0;
    const tla_request_shape shape{config_.largest, 1, false};
    std::uint64_t moved = 0;
    while (moved < length) {
        const tla_request next = tla_request_next(&shape, address + moved, length - moved);
        tlm_generic_payload part;
        part.set_command(payload.get_command());
        part.set_address(next.address);
        part.set_data_ptr(payload.get_data_ptr() + moved);
        part.set_data_length(static_cast<unsigned>(next.length));
        part.set_streaming_width(static_cast<unsigned>(next.length));
        const unsigned answered = out->transport_dbg(part);
        if (answered == next.length && payload.is_write()) keep_in_merges(part);
        if (answered == next.length && payload.is_read()) show_merges(part);
        moved += answered;
        if (answered < next.length) break;
    }
    return static_cast<unsigned>(moved);
}

bool lt_at_bridge::grant_dmi(unsigned, tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
    const std::uint64_t address = payload.get_address();
    if (!config_.dmi || in_reset()) return refuse_dmi(dmi);
    if (!reaches(address, 1)) return refuse_dmi(dmi, {address, address});
    if (merges() && payload.is_write()) return refuse_dmi(dmi, {config_.base, last()});
    const bool granted = out->get_direct_mem_ptr(payload, dmi);
    const std::uint64_t behind_first = last() - config_.base, nbytes = behind_first + (behind_first < UINT64_MAX);
    const bool seen = translate_dmi(dmi, granted, {config_.base, nbytes, config_.base}, 0);
    if (seen && merges()) dmi.allow_read();
    return seen;
}

void lt_at_bridge::invalidate(sc_dt::uint64 first, sc_dt::uint64 end) {
    if (first <= last() && end >= config_.base)
        in.withdraw_dmi(std::max<std::uint64_t>(first, config_.base), std::min<std::uint64_t>(end, last()));
}

std::vector<statistics_group> lt_at_bridge::list_statistics() const {
    return {{{{"accesses", counts_.accesses, "accesses", "blocking calls and requests in four phases"},
              {"errors", counts_.errors, "accesses", "completed with an error response"},
              {"requests", counts_.requests, "requests", "sent in four phases"},
              {"bytes", counts_.bytes, "bytes", "moved by completed requests"},
              {"merged", counts_.merged, "requests", "reads before partial writes"},
              {"peak_outstanding", counts_.peak_outstanding, "requests", "most outstanding requests"},
              {"protocol_errors", counts_.protocol_errors, "calls", "protocol violations of the target"}}}};
}

} // namespace tlmalloc
