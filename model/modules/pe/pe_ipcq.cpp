// The message unit's window: pieces that arrive for their slots, credits, requests for slots; and the writes to other
// units.
#include "tlmalloc/modules/pe_ipcq.hpp"

#include "modules/kit/payload.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tlmalloc {

pe_ipcq::pe_ipcq(sc_core::sc_module_name name, const config &settings, pe_dma &dma, message_ledger &ledger)
    : instrumented(name, "pe_ipcq"), in("in", *this, *this, 64), config_(settings),
      requester_(settings.asid, settings.initiator), trusted_(settings.asid, settings.initiator, true), dma_(dma),
      ledger_(ledger) {
    requester_.waits = trusted_.waits = true;
    requester_.purpose = trusted_.purpose = TLA_PURPOSE_MESSAGE;
    if (settings.slots == 0 || settings.slots > TLA_MESSAGE_SLOTS_MAX || settings.slot_size == 0 ||
        slots_bytes() > TLA_MESSAGE_WINDOW_BYTES)
        refuse_config("slots and slot_size must be above 0, and all slots of a direction at most 8 MiB");
    if (settings.credit_bytes == 0 || settings.credit_bytes > TLA_MESSAGE_WINDOW_BYTES)
        refuse_config("credit_bytes must be 1 to 8 MiB");
    if (settings.poll_ps == 0) refuse_config("poll_ps must be above 0");
    TLMALLOC_HAS_PROCESS(pe_ipcq);
    SC_THREAD(serve_connections);
}

pe_ipcq::~pe_ipcq() = default;

void pe_ipcq::start_of_simulation() {
    if (config_.memory != TLA_SLOTS_TCM && memory.size() == 0)
        refuse_config("memory is not bound, but the slots are outside the TCM");
    resource_.emplace(shared_resource::kind::messages, name());
    to_local_.lead_to(*local.operator->(), local.name());
    if (memory.size() > 0) to_memory_.lead_to(*memory.operator->(), memory.name());
}

void pe_ipcq::begin_reset() {
    end_early(TLA_RESET);
}

void pe_ipcq::give_up() {
    end_early(TLA_TIMEOUT);
}

bool pe_ipcq::is_busy() const {
    return has_kernel_ || !is_settled();
}

void pe_ipcq::make_new() {
    incoming_.clear();
    outgoing_.clear();
    parts_.clear();
    next_request_ = 1;
}

// Posts a step for a time, in the unit's turn.
void pe_ipcq::post(std::uint64_t at_ps, std::uint32_t order, step what) {
    time_queue &queue = time_queue::of_simulation();
    posted_.push_back({this, std::move(what), {}});
    posted_.back().self = std::prev(posted_.end());
    queue.post(
        std::max(at_ps, queue.now_ps()), resource_->number(), order,
        [](void *context, std::uint64_t now_ps) {
            auto &due = *static_cast<posted *>(context);
            const step doing = std::move(due.what);
            due.unit->posted_.erase(due.self);
            doing(now_ps);
        },
        &posted_.back());
}

// --- what arrives ----------------------------------------------------------------------------------------------------

// Returns the token of the access; null, with an answer, if this window does not accept the access.
message_token *pe_ipcq::check(tlm::tlm_generic_payload &payload) {
    auto *const token = payload.get_extension<message_token>();
    tlm::tlm_response_status refusal = check_attributes(payload);
    if (refusal == tlm::TLM_OK_RESPONSE && (!token || !payload.is_write())) refusal = tlm::TLM_COMMAND_ERROR_RESPONSE;
    if (refusal == tlm::TLM_OK_RESPONSE) {
        const bool is_piece = token->what == message_token::kind::piece;
        const std::uint64_t first = is_piece ? token->piece.slot * config_.slot_size : TLA_MESSAGE_WINDOW_BYTES,
                            nbytes = is_piece ? config_.slot_size : token->nbytes, at = payload.get_address();
        if ((is_piece && token->piece.slot >= config_.slots) || at < first || at - first >= nbytes ||
            payload.get_data_length() > nbytes - (at - first))
            refusal = tlm::TLM_ADDRESS_ERROR_RESPONSE;
    }
    if (refusal == tlm::TLM_OK_RESPONSE) return token;
    statistics_.errors++;
    payload.set_response_status(refusal);
    return nullptr;
}

// Where a piece belongs; null when its kernel receives nothing any more.
pe_ipcq::incoming *pe_ipcq::home_of(const message_token &token) {
    if (!active_ || token.launch != launch_) return nullptr;
    const auto found = incoming_.find(token.from);
    return found == incoming_.end() || !found->second.has_slots ? nullptr : &found->second;
}

void pe_ipcq::begin(in_order_request &request, unsigned port) {
    if (!check(*request.payload)) {
        request.finish();
        return;
    }
    request.wait_to_arrive<&pe_ipcq::arrive>(resource_->number(), turn::access_comes + port, *this);
}

namespace {

struct forwarded { // of a piece's access, while it is on its way to the slot
    std::uint64_t address;
    transaction_part *part;
};

} // namespace

// Its time has come.
void pe_ipcq::arrive(in_order_request &request) {
    tlm::tlm_generic_payload &payload = *request.payload;
    const message_token token = *payload.get_extension<message_token>();
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    incoming *const to = token.what == message_token::kind::piece ? home_of(token) : nullptr;
    if (token.what != message_token::kind::piece) {
        take_part(token, payload.get_data_length(), request.at_ps);
    } else if (!to) {
        statistics_.dropped_bytes += payload.get_data_length();
    } else if (has_tables()) {
        place(*to, payload);
        request.at_ps = take_bytes(token, payload.get_data_length(), request.at_ps);
    } else {
        forwarding_++;
        ledger_.depart(launch_); // the answer may be back at the sender's before the bytes have been taken
        in_order_request::frame &frame = request.push(
            [](void *module, in_order_request &r) {
                auto &self = *static_cast<pe_ipcq *>(module);
                const forwarded before = r.pop().state<forwarded>();
                const message_token came = *r.payload->get_extension<message_token>();
                const std::uint32_t nbytes = r.payload->is_response_ok() ? r.payload->get_data_length() : 0;
                r.payload->set_address(before.address);
                r.payload->set_extension(before.part);
                self.post(r.at_ps, turn::access_comes, [&self, came, nbytes](std::uint64_t at_ps) {
                    self.forwarding_--;
                    if (nbytes > 0) self.take_bytes(came, nbytes, at_ps);
                    self.look(at_ps);
                    self.ledger_.arrive(came.launch);
                    self.may_be_idle();
                });
                r.finish();
            },
            this);
        frame.state<forwarded>() = {payload.get_address(), payload.get_extension<transaction_part>()};
        payload.set_address(to->slots.value + payload.get_address());
        payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
        payload.set_extension(static_cast<transaction_part *>(nullptr)); // it is one of its own from here on
        (config_.memory == TLA_SLOTS_TCM ? to_local_ : to_memory_).send(request);
        return;
    }
    request.finish();
}

// With tables: copies the bytes without occupying a memory.
void pe_ipcq::place(const incoming &to, tlm::tlm_generic_payload &payload) {
    tlm::tlm_generic_payload copy;
    copy.set_command(tlm::TLM_WRITE_COMMAND);
    copy.set_address(to.slots.value + payload.get_address());
    copy.set_data_ptr(payload.get_data_ptr());
    copy.set_data_length(payload.get_data_length());
    copy.set_streaming_width(payload.get_data_length());
    if (config_.memory == TLA_SLOTS_TCM)
        local->transport_dbg(copy);
    else
        memory->transport_dbg(copy);
}

// Bytes of a piece are in the slot at at_ps; returns when the access is over.
std::uint64_t pe_ipcq::take_bytes(const message_token &token, std::uint64_t nbytes, std::uint64_t at_ps) {
    incoming *const to = home_of(token);
    if (!to) return at_ps;
    const bool is_first = to->queue.at[token.piece.slot].piece.nbytes == 0;
    tla_error why{};
    if (tla_message_arrived(&to->queue, &token.piece, nbytes, &why)) {
        statistics_.errors++;
        SC_REPORT_WARNING("/tlmalloc/pe_ipcq/piece", (std::string(name()) + ": " + why.text).c_str());
        return at_ps;
    }
    const std::uint32_t slot = token.piece.slot;
    if (is_first) slots_taken_.add(at_ps, 1);
    to->dtype[slot] = token.dtype;
    to->sent_ps[slot] = token.sent_ps;
    std::uint64_t &arrived_ps = to->arrived_ps[slot];
    arrived_ps = is_first ? at_ps : std::max(arrived_ps, at_ps);
    if (to->queue.at[slot].arrived < token.piece.nbytes) return at_ps;
    arrived_ps += tla_slot_cost_ps(config_.costs, config_.memory, token.piece.nbytes);
    post(arrived_ps, turn::piece_is_there, [this, token](std::uint64_t now_ps) {
        incoming *const from = home_of(token);
        if (!from) return;
        from->is_there[token.piece.slot] = true;
        go_on(*from, now_ps);
    });
    return std::max(at_ps, arrived_ps);
}

// Counts bytes of a write other than a piece: the write takes effect when all its bytes have arrived, however it was
// split.
void pe_ipcq::take_part(const message_token &token, std::uint32_t nbytes, std::uint64_t at_ps) {
    const write which{token.launch, token.from, token.number};
    if ((parts_[which] += nbytes) < token.nbytes) return;
    parts_.erase(which);
    take(token, at_ps);
}

void pe_ipcq::take(const message_token &token, std::uint64_t at_ps) {
    used_ = true;
    if (token.what == message_token::kind::connect) {
        ledger_.depart(token.launch); // until it is answered
        if (active_ && token.launch == launch_) {
            asked_.push_back(token.from);
            make_next_slots(at_ps);
            return;
        }
        message_token gone;
        gone.what = message_token::kind::gone;
        gone.launch = token.launch;
        gone.from = token.to;
        gone.to = token.from;
        tell(gone, at_ps);
        ledger_.arrive(token.launch);
        return;
    }
    const auto found = outgoing_.find(token.from);
    if (token.launch != launch_ || found == outgoing_.end()) return;
    outgoing &to = found->second;
    if (token.what == message_token::kind::gone) to.gone = true;
    if (token.what == message_token::kind::refused) to.refusal = token;
    if (token.done_ps > 0)
        to.allocation = {{{TLA_TIME_ALLOC_QUEUE, TLA_TIME_NOWHERE, TLA_TIME_NOWHERE}, token.asked_ps, token.served_ps},
                         {{TLA_TIME_ALLOC, TLA_TIME_NOWHERE, TLA_TIME_NOWHERE}, token.served_ps, token.done_ps}};
    if (token.what == message_token::kind::credit && !tla_message_credit(&to.queue, token.credits))
        to.credits.insert(to.credits.end(), token.credits, {at_ps, token.sent_ps});
    look(at_ps);
}

// --- what leaves -----------------------------------------------------------------------------------------------------

message_token pe_ipcq::token_to(std::uint32_t peer, message_token::kind what) const {
    message_token token;
    token.what = what;
    token.launch = launch_;
    token.from = program_;
    token.to = peer;
    return token;
}

// A write of `credit` bytes to the unit of a program.
void pe_ipcq::tell(message_token what, std::uint64_t at_ps, step ended) {
    const pe_location &there = ledger_.unit_of(what.launch, what.to)->where();
    tla_paddr window{};
    tla_paddr_pe_control(there.sip, there.cube, there.pe, TLA_CONTROL_MESSAGES, TLA_MESSAGE_WINDOW_BYTES, &window);
    what.number = next_write_++;
    what.nbytes = config_.credit_bytes;
    pe_dma::request request{};
    request.way = pe_dma::direction::write;
    request.va.value = window.value;
    request.rows = 1;
    request.row_bytes = request.pitch = config_.credit_bytes;
    request.has_tile = false;
    request.physical = true;
    request.posted = has_tables(); // the kernel waits for the arrival
    request.purpose = TLA_PURPOSE_MESSAGE;
    const auto made = std::make_shared<errand>();
    made->parts.push_back(request);
    made->token = what;
    if (ended) made->ended = [ended](tla_status, std::uint64_t end_ps) { ended(end_ps); };
    run(made, at_ps);
}

// Begins a write.
void pe_ipcq::run(const std::shared_ptr<errand> &what, std::uint64_t at_ps) {
    errands_++;
    ledger_.depart(what->token.launch);
    go_on(what, at_ps);
}

// Its next part, or its end.
void pe_ipcq::go_on(const std::shared_ptr<errand> &what, std::uint64_t at_ps) {
    if (!what->status && what->next < what->parts.size()) {
        pe_dma::request &part = what->parts[what->next++];
        part.token = &what->token;
        dma_.begin(part, at_ps, [this, what](tla_status status, std::uint64_t end_ps) {
            post(end_ps, turn::write_ends, [this, what, status](std::uint64_t now_ps) {
                what->status = status;
                go_on(what, now_ps);
            });
        });
        return;
    }
    if (what->status && !send_failure_) send_failure_ = what->status;
    if (what->ended) what->ended(what->status, at_ps);
    errands_--;
    look(at_ps);
    ledger_.arrive(what->token.launch);
    may_be_idle();
}

// --- statistics ------------------------------------------------------------------------------------------------------

std::vector<statistics_group> pe_ipcq::list_statistics() const {
    const statistics &s = statistics_;
    return {{{{"sent", s.sent, "messages", "whole messages, by tl_send"},
              {"sent_bytes", s.sent_bytes, "bytes", "of these messages"},
              {"received", s.received, "messages", "whole messages, by tl_recv"},
              {"received_bytes", s.received_bytes, "bytes", "of these messages"},
              {"credit_waits", s.credit_waits, "waits", "of tl_send for a free slot, or for the allocation of slots"},
              {"credit_wait_ps", s.credit_wait_ps, "ps", "of these waits"},
              {"polls", s.polls, "looks", "by senders that poll for credits"},
              {"data_waits", s.data_waits, "waits", "of tl_recv for bytes"},
              {"data_wait_ps", s.data_wait_ps, "ps", "of these waits"},
              {"slot_allocs", s.slot_allocs, "commands", "ALLOC, each for all slots of a direction"},
              {"slot_failures", s.slot_failures, "commands", "failed ALLOC commands"},
              {"dropped_bytes", s.dropped_bytes, "bytes", "that arrived after the kernel ended"},
              {"errors", s.errors, "accesses", "rejected at the window"}}}};
}

} // namespace tlmalloc
