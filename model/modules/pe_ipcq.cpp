// The message unit's window: pieces that arrive and go on to their slots, credits, requests for slots.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "tlmalloc/modules/pe_ipcq.hpp"

#include "payload.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tlmalloc {

pe_ipcq::pe_ipcq(sc_core::sc_module_name name, const config &settings, pe_dma &dma, message_ledger &ledger)
    : instrumented(name, "pe_ipcq"), in("in", *this, 64), config_(settings),
      requester_(settings.asid, settings.initiator), trusted_(settings.asid, settings.initiator, true), dma_(dma),
      ledger_(ledger) {
    if (settings.slots == 0 || settings.slots > TLA_MESSAGE_SLOTS_MAX || settings.slot_size == 0 ||
        slots_bytes() > TLA_MESSAGE_WINDOW_BYTES)
        refuse_config("slots and slot_size must be above 0, and all slots of a direction in 8 MiB");
    if (settings.style == time_style::exact) in.serve_in_order(*this);
    SC_HAS_PROCESS(pe_ipcq);
    SC_THREAD(serve_connections);
}

pe_ipcq::~pe_ipcq() = default;

void pe_ipcq::start_of_simulation() {
    if (config_.memory != TLA_SLOTS_TCM && memory.size() == 0)
        refuse_config("memory is not bound, though the slots do not lie in the TCM");
    if (config_.style == time_style::fast) return;
    resource_ = time_queue::of_simulation().new_resource();
    to_local_.lead_to(*local.operator->());
    if (memory.size() > 0) to_memory_.lead_to(*memory.operator->());
}

void pe_ipcq::begin_reset() {
    ledger_.wake_for_programs();
    wake();
}

bool pe_ipcq::is_busy() const {
    return has_kernel_ || errands_ > 0 || forwarding_ > 0 || making_slots_ || !asked_.empty();
}

void pe_ipcq::make_new() {
    incoming_.clear();
    outgoing_.clear();
    next_request_ = 1;
    slots_free_ps_ = last_end_ps_ = 0;
    dismiss_workers();
}

void pe_ipcq::wake_at(std::uint64_t at_ps) {
    const std::uint64_t now = to_ps(sc_core::sc_time_stamp());
    changed_.notify(from_ps(at_ps > now ? at_ps - now : 0));
}

// --- what arrives ----------------------------------------------------------------------------------------------------

// What the access says that it is; null, and answered, when that is nothing that this window takes.
message_token *pe_ipcq::check(tlm::tlm_generic_payload &payload) {
    auto *const token = payload.get_extension<message_token>();
    const bool is_piece = token && token->what == message_token::kind::piece;
    tlm::tlm_response_status refusal = check_attributes(payload);
    if (refusal == tlm::TLM_OK_RESPONSE && (!token || !payload.is_write())) refusal = tlm::TLM_COMMAND_ERROR_RESPONSE;
    if (refusal == tlm::TLM_OK_RESPONSE && is_piece) {
        const std::uint64_t first = token->piece.slot * config_.slot_size, at = payload.get_address();
        if (token->piece.slot >= config_.slots || at < first || at - first >= config_.slot_size ||
            payload.get_data_length() > config_.slot_size - (at - first))
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
    request.push(nullptr, this);
    time_queue::of_simulation().post(
        request.at_ps, resource_, port,
        [](void *context, std::uint64_t) {
            auto &r = *static_cast<in_order_request *>(context);
            static_cast<pe_ipcq *>(r.pop().module)->arrive(r);
        },
        &request);
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
        take(token, request.at_ps);
    } else if (!to) {
        statistics_.dropped_bytes += payload.get_data_length();
    } else if (has_tables()) {
        place(*to, payload);
        request.at_ps = take_bytes(token, payload.get_data_length(), request.at_ps);
    } else {
        forwarding_++;
        in_order_request::frame &frame = request.push(
            [](void *module, in_order_request &r) {
                auto &self = *static_cast<pe_ipcq *>(module);
                const forwarded before = r.pop().state<forwarded>();
                r.payload->set_address(before.address);
                r.payload->set_extension(before.part);
                self.forwarding_--;
                if (r.payload->is_response_ok())
                    self.take_bytes(*r.payload->get_extension<message_token>(), r.payload->get_data_length(), r.at_ps);
                self.wake_at(r.at_ps);
                self.may_be_idle();
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

// The same within the call.
void pe_ipcq::serve(unsigned, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
    const message_token *const came = check(payload);
    if (!came) return;
    const message_token token = *came;
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    incoming *const to = token.what == message_token::kind::piece ? home_of(token) : nullptr;
    const std::uint32_t nbytes = payload.get_data_length();
    if (token.what != message_token::kind::piece) {
        take(token, local_ps(delay));
    } else if (!to) {
        statistics_.dropped_bytes += nbytes;
    } else if (has_tables()) {
        place(*to, payload);
        set_local_ps(delay, take_bytes(token, nbytes, local_ps(delay)));
    } else {
        forwarding_++;
        tlm::tlm_fw_transport_if<> &slots =
            config_.memory == TLA_SLOTS_TCM ? *local.operator->() : *memory.operator->();
        const bool ok =
            access(slots, tlm::TLM_WRITE_COMMAND, to->slots.value + payload.get_address(), payload.get_data_ptr(),
                   nbytes, delay, &trusted_, payload.get_extension<transfer_extent>());
        forwarding_--;
        if (ok)
            take_bytes(token, nbytes, local_ps(delay));
        else
            payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE);
        wake_at(local_ps(delay));
        may_be_idle();
    }
}

// With tables: the bytes are there, and no memory was occupied.
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
    wake_at(arrived_ps);
    return std::max(at_ps, arrived_ps);
}

// What is no piece.
void pe_ipcq::take(const message_token &token, std::uint64_t at_ps) {
    used_ = true;
    if (token.what == message_token::kind::connect) {
        ledger_.depart(token.launch); // until it is answered
        if (active_ && token.launch == launch_) {
            asked_.push_back({token.from, at_ps});
            asked_event_.notify(sc_core::SC_ZERO_TIME);
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
    to.answered_ps = std::max(to.answered_ps, at_ps);
    if (token.what == message_token::kind::gone) to.gone = true;
    if (token.what == message_token::kind::refused) to.refusal = token;
    if (token.done_ps > 0)
        to.allocation = {{{TLA_TIME_ALLOC_QUEUE, TLA_TIME_NOWHERE, TLA_TIME_NOWHERE}, token.asked_ps, token.served_ps},
                         {{TLA_TIME_ALLOC, TLA_TIME_NOWHERE, TLA_TIME_NOWHERE}, token.served_ps, token.done_ps}};
    if (token.what == message_token::kind::credit && !tla_message_credit(&to.queue, token.credits))
        to.credits.insert(to.credits.end(), token.credits, {at_ps, token.sent_ps});
    wake_at(at_ps);
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
void pe_ipcq::tell(const message_token &what, std::uint64_t at_ps,
                   std::function<void(tla_status, std::uint64_t)> ended) {
    const pe_location &there = ledger_.unit_of(what.launch, what.to)->where();
    tla_paddr window{};
    tla_paddr_pe_control(there.sip, there.cube, there.pe, TLA_CONTROL_MESSAGES, TLA_MESSAGE_WINDOW_BYTES, &window);
    pe_dma::request request{};
    request.way = pe_dma::direction::write;
    request.va.value = window.value;
    request.rows = 1;
    request.row_bytes = request.pitch = config_.credit_bytes;
    request.has_tile = false;
    request.physical = true;
    const auto made = std::make_shared<errand>();
    made->parts.push_back(request);
    made->token = what;
    made->start_ps = at_ps;
    made->ended = std::move(ended);
    post(made);
}

// In a thread of its own, for the one that asks goes on.
void pe_ipcq::start(std::function<void()> what) {
    if (idle_.empty()) {
        workers_.emplace_back();
        const worker_place made = std::prev(workers_.end());
        made->has = std::move(what);
        sc_core::sc_spawn([this, made] { work(made); }, sc_core::sc_gen_unique_name("ipcq_worker"));
        return;
    }
    const worker_place next = idle_.back();
    idle_.pop_back();
    next->has = std::move(what);
    next->due.notify(sc_core::SC_ZERO_TIME);
}

void pe_ipcq::work(worker_place self) {
    while (self->has) {
        self->has();
        self->has = nullptr;
        idle_.push_back(self);
        sc_core::wait(self->due);
    }
    workers_.erase(self);
}

// A thread that is there already begins a moment of the kernel later than a new one, which can decide who comes first
// where both happens at one time: a unit that is as new has none.
void pe_ipcq::dismiss_workers() {
    for (const worker_place idle : std::exchange(idle_, {}))
        idle->due.notify(sc_core::SC_ZERO_TIME);
}

// Begins a write.
void pe_ipcq::post(const std::shared_ptr<errand> &what) {
    errands_++;
    ledger_.depart(what->token.launch);
    start([this, what] { perform(*what); });
}

void pe_ipcq::perform(errand &what) {
    sc_core::sc_time delay;
    set_local_ps(delay, std::max(what.start_ps, to_ps(sc_core::sc_time_stamp())));
    if (delay > sc_core::SC_ZERO_TIME) {
        sc_core::wait(delay);
        delay = sc_core::SC_ZERO_TIME;
    }
    tla_status status = TLA_OK;
    for (pe_dma::request &part : what.parts) {
        part.token = &what.token;
        if (!status) status = dma_.transfer(part, delay);
    }
    const std::uint64_t end_ps = local_ps(delay);
    last_end_ps_ = std::max(last_end_ps_, end_ps);
    if (status && !send_failure_) send_failure_ = status;
    if (what.ended) what.ended(status, end_ps);
    errands_--;
    wake();
    ledger_.arrive(what.token.launch);
    may_be_idle();
}

// --- statistics ------------------------------------------------------------------------------------------------------

std::vector<statistics_part> pe_ipcq::list_statistics() const {
    const statistics &s = statistics_;
    return {{{{"sent", s.sent, "messages", "tl_send, whole"},
              {"sent_bytes", s.sent_bytes, "bytes", "of them"},
              {"received", s.received, "messages", "tl_recv, whole"},
              {"received_bytes", s.received_bytes, "bytes", "of them"},
              {"credit_waits", s.credit_waits, "waits", "of a tl_send for a free slot, or for slots at all"},
              {"credit_wait_ps", s.credit_wait_ps, "ps", "of them"},
              {"polls", s.polls, "looks", "of senders that poll"},
              {"data_waits", s.data_waits, "waits", "of a tl_recv for bytes"},
              {"data_wait_ps", s.data_wait_ps, "ps", "of them"},
              {"slot_allocs", s.slot_allocs, "commands", "ALLOC, of all slots of a direction"},
              {"slot_failures", s.slot_failures, "commands", "of them that were refused"},
              {"dropped_bytes", s.dropped_bytes, "bytes", "that came when the kernel had ended"},
              {"errors", s.errors, "accesses", "refused at the window"}}}};
}

} // namespace tlmalloc
