// The accesses that arrive at a memory controller.
#include "controller_accesses.hpp"

#include "modules/kit/dmi.hpp"
#include "modules/kit/payload.hpp"
#include "tlmalloc/modules/extensions.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace tlmalloc {

memory_controller::accesses::~accesses() {
    for (tla_exclusive_monitor &monitor : monitors_)
        tla_exclusive_monitor_clear(&monitor);
}

memory_controller::memory_socket &memory_controller::accesses::socket_of(tla_memory_kind kind) {
    return of_.memories[kind];
}

void memory_controller::accesses::connect() {
    slice_base_ = base(TLA_HBM);
    paces_ = of_.config_.pin_wait_ps > 0;
    for (int kind = 0; kind < TLA_MEMORY_KIND_COUNT; kind++)
        socket_of(static_cast<tla_memory_kind>(kind))
            .register_invalidate_direct_mem_ptr(this, &accesses::invalidate, kind);
}

// Checks that a memory is as large as configured, as far as it answers: a memory that answers debug accesses at its
// first byte must answer them at its last.
void memory_controller::accesses::check_size(tla_memory_kind kind) {
    memory_socket &memory = socket_of(kind);
    const std::uint64_t nbytes = bytes_of(kind);
    const auto answers = [&](std::uint64_t address) {
        std::uint8_t byte = 0;
        tlm::tlm_generic_payload payload;
        payload.set_read();
        payload.set_address(address);
        payload.set_data_ptr(&byte);
        payload.set_data_length(1);
        return memory->transport_dbg(payload) == 1;
    };
    if (memory.size() == 0)
        of_.refuse_config(std::string(memory.basename()) + " is not bound, but the " + tla_memory_kind_title(kind) +
                          " has " + std::to_string(nbytes) +
                          " bytes: bind it, or set its memory.of[].bytes and .reserved to 0");
    if (!answers(0) || answers(nbytes - 1)) return;
    of_.refuse_config(std::string(of_.name()) + ": the memory at " + memory.basename() + " ends before byte " +
                      std::to_string(nbytes - 1) + ", the last of the " + std::to_string(nbytes) + " bytes of the " +
                      tla_memory_kind_title(kind));
}

void memory_controller::accesses::find_memories() {
    for (const tla_memory_kind kind : of_.memory_kinds()) {
        check_size(kind);
        to_memory_[kind].lead_to(*socket_of(kind).operator->(), socket_of(kind).name());
    }
}

void memory_controller::accesses::released(tla_memory_kind kind, std::uint64_t offset, std::uint64_t nbytes) {
    const std::uint64_t first = base(kind) + offset;
    if (dmi_granted_) of_.in.withdraw_dmi(first, first + (nbytes - 1));
    break_reservations(kind, offset, nbytes);
    if (of_.config_.poison) poison(kind, offset, nbytes);
}

void memory_controller::accesses::moves(tla_memory_kind kind, std::uint64_t offset, std::uint64_t nbytes) {
    const std::uint64_t first = base(kind) + offset;
    if (dmi_granted_) of_.in.withdraw_dmi(first, first + (nbytes - 1));
}

void memory_controller::accesses::moved() {
    if (!moving_refused_) return;
    for (const tla_memory_kind kind : of_.memory_kinds())
        if (tla_controller_is_moving(of_.core_.get(), kind)) return;
    moving_refused_ = false;
    for (const tla_memory_kind kind : of_.memory_kinds())
        of_.in.withdraw_dmi(base(kind), base(kind) + (bytes_of(kind) - 1));
}

bool memory_controller::accesses::is_reserved(tla_memory_kind kind, std::uint64_t offset, std::uint64_t nbytes) const {
    std::uint64_t first = offset, last = offset + (nbytes - 1);
    const tla_exclusive_monitor &monitor = monitors_[kind];
    return monitor.count > 0 &&
           (!tla_exclusive_monitor_cut(&monitor, offset, &first, &last) || last != offset + (nbytes - 1));
}

void memory_controller::accesses::begin_reset() {
    for (const tla_memory_kind kind : of_.memory_kinds())
        of_.in.withdraw_dmi(base(kind), base(kind) + (bytes_of(kind) - 1));
    dmi_granted_ = false;
}

void memory_controller::accesses::make_new() {
    for (tla_exclusive_monitor &monitor : monitors_)
        tla_exclusive_monitor_clear(&monitor);
    std::fill(std::begin(reserved_refused_), std::end(reserved_refused_), false); // all pointers have been withdrawn
}

// --- where accesses lead ---------------------------------------------------------------------------------------------

// False when the payload has been answered: it leads nowhere.
bool memory_controller::accesses::locate(tlm::tlm_generic_payload &payload, place &where) {
    // An access without bytes is located like one byte; the memory then rejects it.
    const std::uint64_t address = payload.get_address(), span = std::max<std::uint64_t>(payload_span(payload), 1);
    const std::uint64_t in_slice = address - slice_base_, slice_bytes = of_.config_.memory.of[TLA_HBM].bytes;
    if (in_slice < slice_bytes && span <= slice_bytes - in_slice) {
        where = {TLA_HBM, in_slice}; // as decoding does, at less cost
    } else if (tla_pe_memory_locate(&of_.config_.memory, {address}, span, &where.memory, &where.offset)) {
        data_errors_++;
        payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
        return false;
    }
    return true;
}

// --- exclusive accesses ----------------------------------------------------------------------------------------------

void memory_controller::accesses::break_reservations(tla_memory_kind kind, std::uint64_t offset, std::uint64_t nbytes) {
    tla_exclusive_monitor &monitor = monitors_[kind];
    if (monitor.count == 0 || nbytes == 0) return;
    tla_exclusive_monitor_break(&monitor, offset, offset + (nbytes - 1));
    offer_unreserved(kind);
}

// Drops the reservation of a core, in any memory: a core has at most one reservation.
void memory_controller::accesses::drop_reservation(std::uint32_t core) {
    for (int number = 0; number < TLA_MEMORY_KIND_COUNT; number++) {
        if (monitors_[number].count == 0) continue;
        tla_exclusive_monitor_release(&monitors_[number], core);
        offer_unreserved(static_cast<tla_memory_kind>(number));
    }
}

// An access has been answered without being made. A conditional store ends what its core had reserved all the same, as
// one of RISC-V does.
void memory_controller::accesses::not_made(const tlm::tlm_generic_payload &payload) {
    const requester *const who = payload.get_extension<requester>();
    if (who && who->exclusive && payload.is_write()) drop_reservation(who->initiator);
}

// Some bytes of a memory are no longer reserved: initiators whose DMI was declined may ask again when no byte is
// reserved.
void memory_controller::accesses::offer_unreserved(tla_memory_kind kind) {
    bool &refused = reserved_refused_[kind];
    if (!refused || monitors_[kind].count > 0) return;
    refused = false;
    of_.in.withdraw_dmi(base(kind), base(kind) + (bytes_of(kind) - 1));
}

// A write without an answer of its memory. A memory that makes callers wait executes the write before the answer: after
// the simulation has reached the time of its initiator, in a queue after others.
class memory_controller::accesses::write_under_way {
  public:
    write_under_way(accesses &of, const place &where, std::uint64_t nbytes, bool exclusive, bool to_note)
        : of_(of), next_(of.writes_), where_(where), nbytes_(nbytes), exclusive_(exclusive), to_note_(to_note) {
        if (next_) next_->before_ = this;
        of_.writes_ = this;
    }
    ~write_under_way() {
        (before_ ? before_->next_ : of_.writes_) = next_;
        if (next_) next_->before_ = before_;
    }
    write_under_way(const write_under_way &) = delete;
    write_under_way &operator=(const write_under_way &) = delete;

    const write_under_way *next() const { return next_; }
    bool is_exclusive() const { return exclusive_; }
    bool to_note() const { return to_note_; } // for the guard, once it has been made
    bool touches(tla_memory_kind kind, std::uint64_t first, std::uint64_t last) const {
        return where_.memory == kind && where_.offset <= last && where_.offset + (nbytes_ - 1) >= first;
    }

  private:
    accesses &of_;
    write_under_way *before_ = nullptr, *next_;
    const place where_;
    const std::uint64_t nbytes_;
    const bool exclusive_, to_note_;
};

bool memory_controller::accesses::is_being_written(tla_memory_kind kind, std::uint64_t first, std::uint64_t last,
                                                   bool exclusively) const {
    for (const write_under_way *one = writes_; one; one = one->next())
        if ((one->is_exclusive() || !exclusively) && one->touches(kind, first, last)) return true;
    return false;
}

// An accepted exclusive write may still be in flight. A later exclusive write must not be executed before it, since the
// later write would then be overwritten by data that was read before both. An access that touches the same bytes as
// such a write stays in order after it.
bool memory_controller::accesses::has_to_wait(const place &where, std::uint64_t nbytes, bool write) const {
    const std::uint64_t last = where.offset + (std::max<std::uint64_t>(nbytes, 1) - 1);
    const auto touches = [&](const held &one) {
        return one.where.memory == where.memory && one.where.offset <= last &&
               one.where.offset + (one.nbytes - 1) >= where.offset;
    };
    return (write && is_being_written(where.memory, where.offset, last, true)) ||
           std::any_of(held_.begin(), held_.end(), touches);
}

// From the first exclusive access on, accesses are decided when they are due. Earlier accesses were forwarded already,
// and may be due later.
bool memory_controller::accesses::arrives_in_order(const in_order_request &request, const requester *who) {
    keeps_order_ = keeps_order_ || (who && who->exclusive);
    if (!keeps_order_ && request.payload->is_write())
        written_until_ps_ = std::max<std::uint64_t>(written_until_ps_, request.at_ps);
    return keeps_order_ || is_guarded();
}

// Reserves the bytes of an exclusive read, and checks the reservation at an exclusive write. Returns true if the access
// has its answer: it is not executed.
bool memory_controller::accesses::answers_exclusive(tlm::tlm_generic_payload &payload, const place &where,
                                                    requester &who) {
    const std::uint64_t span = payload_span(payload);
    if (payload.get_command() == tlm::TLM_IGNORE_COMMAND || check_attributes(payload) != tlm::TLM_OK_RESPONSE) {
        not_made(payload);
        return false; // nothing is touched
    }
    if (payload.get_byte_enable_ptr() || span < payload.get_data_length()) {
        payload.set_response_status(payload.get_byte_enable_ptr() ? tlm::TLM_BYTE_ENABLE_ERROR_RESPONSE
                                                                  : tlm::TLM_BURST_ERROR_RESPONSE);
        not_made(payload);
        return true;
    }
    tla_exclusive_monitor &monitor = monitors_[where.memory];
    const std::uint64_t first = where.offset, last = first + (span - 1);
    if (payload.is_read()) {
        drop_reservation(who.initiator);
        // The read bytes may be older than the write: nothing is reserved then, and the initiator tries the pair again.
        if (is_being_written(where.memory, first, last, false)) return false;
        if (time_queue::of_simulation().now_ps() < written_until_ps_) return false;
        if (tla_exclusive_monitor_reserve(&monitor, who.initiator, first, last)) {
            payload.set_response_status(tlm::TLM_GENERIC_ERROR_RESPONSE); // the host has no memory
            return true;
        }
        if (dmi_granted_) of_.in.withdraw_dmi(base(where.memory) + first, base(where.memory) + last);
        return false;
    }
    if (tla_exclusive_monitor_holds(&monitor, who.initiator, first, last)) {
        break_reservations(where.memory, first, span);
        return false;
    }
    not_made(payload);
    who.exclusive = false;
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
    return true;
}

// Notes an access in flight, if pins of the memory wait for it.
bool memory_controller::accesses::is_noted(tla_memory_kind kind, std::uint64_t at_ps) {
    tla_controller *const core = of_.core_.get();
    if (!tla_controller_is_paced(core, kind)) return false;
    if (tla_controller_begins_access(core, kind, at_ps)) throw std::bad_alloc();
    return true;
}

// The payload as the memory is to see it: an offset, and nothing exclusive, which is done with here.
memory_controller::accesses::passed_on memory_controller::accesses::pass_on(tlm::tlm_generic_payload &payload,
                                                                            const place &where, requester *who) {
    const passed_on what{payload.get_address(), where, who && who->exclusive, false, nullptr};
    if (what.exclusive) who->exclusive = false;
    payload.set_address(where.offset);
    return what;
}

// The memory has answered.
void memory_controller::accesses::came_back(tlm::tlm_generic_payload &payload, const passed_on &what) {
    payload.set_address(what.address);
    tla_exclusive_monitor &monitor = monitors_[what.where.memory];
    if (what.exclusive) {
        requester *const who = payload.get_extension<requester>();
        who->exclusive = true;
        if (payload.is_read() && payload.is_response_error()) drop_reservation(who->initiator);
    }
    std::uint64_t first = 0, last = UINT64_MAX;
    if (!of_.config_.dmi ||
        (monitor.count > 0 && !tla_exclusive_monitor_cut(&monitor, what.where.offset, &first, &last)))
        payload.set_dmi_allowed(false);
    if (payload.is_response_error()) data_errors_++;
    if (of_.moves_ && payload.is_write()) // after an error a part may be written
        tla_controller_wrote(of_.core_.get(), what.where.memory, what.where.offset, payload_span(payload));
}

// --- accesses --------------------------------------------------------------------------------------------------------

// Accesses share only the state of the guard and the reservations, so only these checks must be in order.
void memory_controller::accesses::begin(in_order_request &request, unsigned port) {
    if (of_.refuses(*request.payload)) {
        request.finish();
        return;
    }
    of_.begun();
    requester *const who = request.payload->get_extension<requester>();
    if (!arrives_in_order(request, who)) {
        arrive(request, port, who);
        return;
    }
    request.arrive_at<&accesses::arrive_in_turn>(resource_.number(), port, *this);
}

void memory_controller::accesses::arrive_in_turn(in_order_request &request) {
    arrive(request, 0, request.payload->get_extension<requester>());
}

inline void memory_controller::accesses::arrive(in_order_request &request, unsigned input, requester *who) {
    tlm::tlm_generic_payload &payload = *request.payload;
    place where{};
    bool to_note = false;
    if (!locate(payload, where) || (is_guarded() && guard_refuses(where, payload, request.at_ps, to_note))) {
        not_made(payload);
        of_.ended();
        request.finish();
        return;
    }
    request.at_ps += of_.config_.latency_ps;
    go_on(request, input, where, to_note, who);
}

// The access may be executed; an exclusive write only if no other write has broken its reservation.
inline void memory_controller::accesses::go_on(in_order_request &request, unsigned input, const place &where,
                                               bool to_note, requester *who) {
    tlm::tlm_generic_payload &payload = *request.payload;
    const std::uint64_t span = payload_span(payload);
    if ((writes_ || !held_.empty()) && has_to_wait(where, span, payload.is_write())) {
        request.comes_last = false; // other requests continue with it
        held_.push_back({where, std::max<std::uint64_t>(span, 1), &request, input, to_note});
        return;
    }
    if (who && who->exclusive) {
        if (answers_exclusive(payload, where, *who)) {
            of_.ended();
            request.finish();
            return;
        }
    } else if (payload.is_write()) {
        break_reservations(where.memory, where.offset, span);
    }
    // Now, so that a read before the answer knows of it; but a foreign memory may reject a write.
    outlet &memory = to_memory_[where.memory];
    if (to_note && !memory.calls()) note(where, payload, request.at_ps);
    in_order_request::frame &frame = request.push(
        [](void *self, in_order_request &r) {
            auto &what = r.pop().state<passed_on>();
            auto &controller = *static_cast<accesses *>(self);
            controller.came_back(*r.payload, what);
            if (what.noted) tla_controller_ends_access(controller.of_.core_.get(), what.where.memory, r.at_ps);
            if (what.write) {
                controller.end_write(r, what);
                return;
            }
            controller.of_.ended();
            r.finish();
        },
        this);
    passed_on &what = frame.state<passed_on>();
    what = pass_on(payload, where, who);
    if (paces_) what.noted = is_noted(where.memory, request.at_ps);
    if (memory.calls() && payload.is_write())
        what.write = new write_under_way(*this, where, span, what.exclusive, to_note);
    memory.send(request, input);
}

// A write to a memory that makes its callers wait is over.
void memory_controller::accesses::end_write(in_order_request &request, passed_on what) {
    if (what.write->to_note() && memory() && request.payload->is_response_ok())
        note(what.where, *request.payload, request.at_ps);
    delete what.write;
    const std::uint64_t at_ps = request.at_ps;
    of_.ended();
    request.finish();
    if (what.exclusive) go_on_behind_exclusive_writes(at_ps);
}

// An exclusive write is over.
void memory_controller::accesses::go_on_behind_exclusive_writes(std::uint64_t at_ps) {
    std::list<held> waiting;
    waiting.swap(held_);
    for (const held &one : waiting) {
        one.request->at_ps = std::max(one.request->at_ps, at_ps);
        go_on(*one.request, one.input, one.where, one.to_note, one.request->payload->get_extension<requester>());
    }
}

unsigned memory_controller::accesses::debug(tlm::tlm_generic_payload &payload) {
    tla_memory_kind kind = TLA_HBM;
    std::uint64_t offset = 0;
    const std::uint64_t address = payload.get_address();
    if (tla_pe_memory_locate(&of_.config_.memory, {address}, payload.get_data_length(), &kind, &offset)) return 0;
    payload.set_address(offset);
    const unsigned moved = socket_of(kind)->transport_dbg(payload);
    payload.set_address(address);
    if (payload.is_write()) break_reservations(kind, offset, moved);
    if (of_.moves_ && payload.is_write()) note_debug_write(kind, offset, moved);
    if (memory() && moved > 0 && payload.is_write()) tla_pe_memory_trust(memory(), kind, {offset, moved});
    return moved;
}

// While MMUs are remapped, some lead debug writes to the old place of a block that moves, and some to the new one.
void memory_controller::accesses::note_debug_write(tla_memory_kind kind, std::uint64_t offset, std::uint64_t nbytes) {
    tla_controller_wrote(of_.core_.get(), kind, offset, nbytes);
    tla_move_step copy{};
    if (!tla_controller_has_twin(of_.core_.get(), kind, offset, nbytes, &copy)) return;
    std::vector<std::uint8_t> bytes(copy.nbytes);
    tlm::tlm_generic_payload payload;
    payload.set_data_ptr(bytes.data());
    payload.set_data_length(static_cast<unsigned>(bytes.size()));
    payload.set_read();
    payload.set_address(copy.from.offset);
    socket_of(copy.from.memory)->transport_dbg(payload);
    payload.set_write();
    payload.set_address(copy.to.offset);
    if (copy.to.memory == TLA_MEMORY_KIND_COUNT)
        of_.maps->transport_dbg(payload);
    else
        socket_of(copy.to.memory)->transport_dbg(payload);
}

// First byte of a memory in physical addresses; 0 when the configuration names none.
std::uint64_t memory_controller::accesses::base(tla_memory_kind kind) const {
    tla_paddr pa{};
    tla_pe_memory_address(&of_.config_.memory, kind, 0, &pa);
    return pa.value;
}

bool memory_controller::accesses::grant_dmi(unsigned, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
    const std::uint64_t address = payload.get_address();
    tla_memory_kind kind = TLA_HBM;
    std::uint64_t offset = 0;
    if (!of_.config_.dmi || of_.in_reset()) return refuse_dmi(dmi);
    if (tla_pe_memory_locate(&of_.config_.memory, {address}, 1, &kind, &offset))
        return refuse_dmi(dmi, {address, address});
    if (of_.moves_ && tla_controller_is_moving(of_.core_.get(), kind)) { // a pointer may lead to all of it
        moving_refused_ = true;
        return refuse_dmi(dmi, {address, address});
    }
    tla_block visible{0, bytes_of(kind)};
    if (is_guarded()) {
        const tla_guard_access any{true, offset, 1, 1, nullptr, 0, who_asks(payload), 0};
        if (tla_controller_begin(of_.core_.get()) || tla_pe_memory_find(memory(), kind, offset, &visible, nullptr) ||
            tla_pe_memory_look(memory(), kind, &any, nullptr))
            return refuse_dmi(dmi, {address, address});
    }
    if (monitors_[kind].count > 0) {
        std::uint64_t first = visible.offset, last = visible.offset + (visible.nbytes - 1);
        if (!tla_exclusive_monitor_cut(&monitors_[kind], offset, &first, &last)) {
            reserved_refused_[kind] = true;
            return refuse_dmi(dmi, {base(kind) + first, base(kind) + last});
        }
        visible = {first, last - first + 1};
    }
    payload.set_address(offset);
    bool granted = socket_of(kind)->get_direct_mem_ptr(payload, dmi);
    payload.set_address(address);
    const address_view view{visible.offset, visible.nbytes, base(kind) + visible.offset};
    granted = translate_dmi(dmi, granted, view, of_.config_.latency_ps);
    if (granted && is_guarded()) tla_pe_memory_trust(memory(), kind, visible);
    dmi_granted_ = dmi_granted_ || granted;
    return granted;
}

void memory_controller::accesses::invalidate(int number, sc_dt::uint64 first, sc_dt::uint64 last) {
    const auto kind = static_cast<tla_memory_kind>(number);
    if (bytes_of(kind) == 0) return;
    if (const auto seen = address_view{0, bytes_of(kind), base(kind)}.translate({first, last}))
        of_.in.withdraw_dmi(seen->first, seen->last);
}

} // namespace tlmalloc
