// Translation step by step, each when its time has come.
#include "pe_mmu_steps.hpp"

#include "modules/kit/payload.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace tlmalloc {

pe_mmu::steps::steps(pe_mmu &mmu) : mmu_(mmu), resource_(shared_resource::kind::translation, mmu.name()) {
    tla_pauses *made = nullptr;
    if (mmu.config_.pauses && tla_pauses_create(&made)) throw std::bad_alloc();
    pauses_.reset(made);
}

void pe_mmu::steps::lead_on() {
    out_.lead_to(*mmu_.out.operator->(), mmu_.out.name());
    if (mmu_.walk.size() > 0) walk_.lead_to(*mmu_.walk.operator->(), mmu_.walk.name());
    if (mmu_.fault.size() > 0) fault_.lead_to(*mmu_.fault.operator->(), mmu_.fault.name());
}

// --- records ---------------------------------------------------------------------------------------------------------

pe_mmu::steps::translation &pe_mmu::steps::new_translation() {
    if (idle_translations_.empty()) {
        translations_.emplace_back();
        translations_.back().owner = this;
        idle_translations_.push_back(&translations_.back());
    }
    translation &j = *idle_translations_.back();
    idle_translations_.pop_back();
    return j;
}

// Behind the part `before`, or the first.
pe_mmu::steps::part &pe_mmu::steps::new_part(translation &j, part *before) {
    if (idle_parts_.empty()) {
        parts_.emplace_back();
        parts_.back().lookup.owner = &parts_.back();
        idle_parts_.push_back(&parts_.back());
    }
    part &p = *idle_parts_.back();
    idle_parts_.pop_back();
    p.of = &j;
    part *&place = before ? before->after : j.first;
    p.after = std::exchange(place, &p);
    return p;
}

void pe_mmu::steps::recycle_parts(translation &j) {
    for (part *p = j.first; p; p = p->after)
        idle_parts_.push_back(p);
    j.first = nullptr;
}

void pe_mmu::steps::recycle(translation &j) {
    recycle_parts(j);
    std::exchange(j.request, nullptr)->held_by = nullptr;
    idle_translations_.push_back(&j);
    mmu_.ended();
}

// --- translation -----------------------------------------------------------------------------------------------------

void pe_mmu::steps::begin(in_order_request &request, unsigned port) {
    request.comes_last = false; // an access that is translated wakes others
    const requester *const asks = request.payload->get_extension<requester>();
    if (mmu_.refuses(*request.payload)) {
        request.finish();
        return;
    }
    if (asks && asks->translated) {
        out_.send(request, port);
        return;
    }
    mmu_.begun(); // until recycle()
    if (cut_at_pages(request, port)) return;
    request.at_ps += mmu_.overhead_ps();
    if (request.at_ps == time_queue::of_simulation().now_ps())
        arrive(request);
    else
        request.wait_to_arrive<&steps::arrive>(resource_.number(), port, *this);
}

void pe_mmu::steps::arrive(in_order_request &request) {
    const std::uint64_t at_ps = request.at_ps;
    mmu_.statistics_.lookups++;
    mmu_.lookups_.add(at_ps, 1);
    const requester *const who = request.payload->get_extension<requester>();
    if ((who && who->is_walk_of(&mmu_)) || (request.called_for && request.called_for->is_walk_of(&mmu_))) {
        mmu_.refuse(*request.payload, TLA_BUSY, from_ps(at_ps) - sc_core::sc_time_stamp());
        mmu_.ended();
        request.at_ps = at_ps;
        request.finish();
        return;
    }
    visit *const of = pauses_ ? begin_visit(request) : nullptr;
    if (!of || enter(*of, at_ps)) take(request, of, at_ps);
}

// Translates an access that nothing holds up any more.
void pe_mmu::steps::take(in_order_request &request, visit *of, std::uint64_t at_ps) {
    translation &j = new_translation();
    j.request = &request;
    j.of = of;
    request.held_by = this;
    j.wanted = mmu_.wanted_by(*request.payload);
    j.asked = false;
    enter_order(j);
    translate(j, at_ps);
}

// For whom the walks of an access are made.
static const requester *on_behalf_of(const in_order_request &access) {
    const requester *const who = access.payload->get_extension<requester>();
    return who && who->walker ? who : access.called_for;
}

void pe_mmu::steps::payload_goes(in_order_request &request) {
    for (translation &j : translations_) {
        if (j.request != &request) continue;
        for (part *p = j.first; p; p = p->after) {
            p->who.walks_for = on_behalf_of(request);
            if (!p->piece.is_under_way()) continue;
            p->piece.move(*request.payload, p->payload);
            if (p->request.held_by) p->request.held_by->payload_goes(p->request);
        }
    }
}

void pe_mmu::steps::translate(translation &j, std::uint64_t at_ps) {
    j.open = 0;
    j.end_ps = at_ps;
    add_rest(look_up(j, nullptr, 0, j.wanted.nbytes, at_ps), at_ps);
    settle(j);
    tell_news(at_ps);
    show_walks(at_ps);
}

pe_mmu::steps::part &pe_mmu::steps::look_up(translation &j, part *before, std::uint64_t offset, std::uint64_t nbytes,
                                            std::uint64_t at_ps) {
    part &p = new_part(j, before);
    j.open++;
    p.lookup.access = {j.wanted.asid, {j.wanted.va.value + offset}, nbytes, j.wanted.access};
    if (before)
        tla_mmu_begin_rest(mmu_.mmu_.get(), &p.lookup, &before->lookup, at_ps);
    else
        tla_mmu_begin(mmu_.mmu_.get(), &p.lookup, at_ps);
    go_on(p, at_ps);
    return p;
}

// Looks up the bytes between a part and the next part: a lookup or a change may have shortened the part.
void pe_mmu::steps::add_rest(part &from, std::uint64_t at_ps) {
    for (part *p = &from;;) {
        translation &j = *p->of;
        const std::uint64_t end = p->lookup.access.va.value - j.wanted.va.value + p->lookup.access.nbytes;
        const std::uint64_t next = p->after ? p->after->lookup.access.va.value - j.wanted.va.value : j.wanted.nbytes;
        if (end == next) return;
        p = &look_up(j, p, end, next - end, at_ps);
    }
}

void pe_mmu::steps::go_on(part &p, std::uint64_t now_ps) {
    while (p.lookup.phase == TLA_MMU_LATER && p.lookup.at_ps == now_ps)
        tla_mmu_step(mmu_.mmu_.get(), &p.lookup, now_ps, nullptr);
    switch (p.lookup.phase) {
    case TLA_MMU_LATER:
        time_queue::of_simulation().post(
            p.lookup.at_ps, resource_.number(), 0,
            [](void *context, std::uint64_t at_ps) {
                part &due = *static_cast<part *>(context);
                due.of->owner->step(due, at_ps, nullptr);
            },
            &p);
        break;
    case TLA_MMU_READ:
        read(p);
        break;
    case TLA_MMU_DONE:
        finish_part(p);
        break;
    case TLA_MMU_WAIT:
        break;
    }
}

void pe_mmu::steps::step(part &p, std::uint64_t now_ps, const void *bytes) {
    translation &j = *p.of;
    tla_mmu_step(mmu_.mmu_.get(), &p.lookup, now_ps, bytes);
    go_on(p, now_ps);
    add_rest(p, now_ps);
    settle(j);
    tell_news(now_ps);
    show_walks(now_ps);
    if (draining_) time_queue::of_simulation().notify(walk_ended_, now_ps);
}

// Continues the requests whose event has occurred.
void pe_mmu::steps::tell_news(std::uint64_t now_ps) {
    while (tla_mmu_request *news = tla_mmu_next(mmu_.mmu_.get(), now_ps)) {
        part &p = *static_cast<part *>(news->owner);
        translation &j = *p.of;
        go_on(p, now_ps);
        add_rest(p, now_ps);
        settle(j);
    }
}

void pe_mmu::steps::show_walks(std::uint64_t now_ps) {
    const std::uint32_t walks = tla_mmu_walks_in_flight(mmu_.mmu_.get());
    if (walks != walks_shown_) mmu_.walks_in_flight_.set(now_ps, walks);
    walks_shown_ = walks;
}

// One read of a walk.
void pe_mmu::steps::read(part &p) {
    p.bytes.resize(p.lookup.read_nbytes);
    p.payload.set_command(tlm::TLM_READ_COMMAND);
    p.payload.set_address(p.lookup.read_pa.value);
    p.payload.set_data_ptr(p.bytes.data());
    p.payload.set_data_length(p.lookup.read_nbytes);
    p.payload.set_streaming_width(p.lookup.read_nbytes);
    p.payload.set_byte_enable_ptr(nullptr);
    p.payload.set_byte_enable_length(0);
    p.payload.set_dmi_allowed(false);
    p.payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
    p.who = mmu_.requester_;
    p.who.purpose = TLA_PURPOSE_WALK;
    p.who.walks_for = on_behalf_of(*p.of->request);
    p.payload.set_extension(&p.who);
    p.request.payload = &p.payload;
    p.request.at_ps = p.lookup.at_ps;
    p.request.push(
        [](void *self, in_order_request &request) {
            request.pop();
            part &reading = *static_cast<part *>(self);
            reading.payload.clear_extension(&reading.who);
            time_queue::of_simulation().post(
                request.at_ps, reading.of->owner->resource_.number(), 0,
                [](void *context, std::uint64_t at_ps) {
                    part &came = *static_cast<part *>(context);
                    came.of->owner->step(came, at_ps, came.payload.is_response_ok() ? came.bytes.data() : nullptr);
                },
                &reading);
        },
        &p);
    walk_.send(p.request);
}

void pe_mmu::steps::finish_part(part &p) {
    translation &j = *p.of;
    const tla_mmu_request &found = p.lookup;
    j.open--;
    j.end_ps = std::max(j.end_ps, found.at_ps);
    if (mmu_.config_.walk != TLA_WALK_IDEAL) mmu_.show_lookup(found.piece, found.at_ps);
    if (!found.status) p.lookup.access.nbytes = found.piece.nbytes;
}

// When everything is translated, the access moves, or fails.
void pe_mmu::steps::settle(translation &j) {
    if (j.open > 0) return;
    tlm::tlm_generic_payload &payload = *j.request->payload;
    route &where = j.where;
    where.rest.clear();
    where.stale = false;
    for (const part *p = j.first; p; p = p->after) {
        const tla_mmu_request &found = p->lookup;
        if (found.status == TLA_UNMAPPED && ask_host(j, found.access.va.value)) {
            if (j.of && j.of->inside) leave(*j.of, time_queue::of_simulation().now_ps());
            release_held(time_queue::of_simulation().now_ps());
            return;
        }
        if (found.status) {
            if (j.asked) note_fault_is_over(j, j.end_ps);
            mmu_.refuse(payload, found.status, from_ps(j.end_ps) - sc_core::sc_time_stamp());
            leave_order(j);
            answer(j);
            release_held(time_queue::of_simulation().now_ps());
            return;
        }
        where.stale |= found.piece.stale;
        if (p == j.first) {
            where.first = found.piece;
            mmu_.cut(where);
        } else {
            mmu_.append(where, found.piece);
        }
    }
    j.held = is_behind(j);
    held_ += j.held;
    if (j.held) return;
    const std::uint64_t now_ps = time_queue::of_simulation().now_ps();
    move_on(j, now_ps);
    release_held(now_ps);
}

void pe_mmu::steps::move_on(translation &j, std::uint64_t now_ps) {
    j.end_ps = std::max(j.end_ps, sent_before(j, now_ps));
    mmu_.count(j.wanted, j.where, j.end_ps);
    pe_mmu::note_translation(*j.request->payload, j.where, j.end_ps);
    leave_order(j);
    if (j.end_ps > now_ps) sent_.push_back({j.wanted, j.end_ps});
    if (j.where.rest.empty())
        pass_on(j);
    else
        pass_on_pieces(j);
}

// --- order -----------------------------------------------------------------------------------------------------------
//
// An access does not overtake an earlier access if both touch the same bytes and one of both writes. Without this rule
// it could overtake: a hit passes a miss, a faster TLB level passes a slower one, and an access that is not split
// passes a split access.

static bool in_conflict(const tla_mmu_access &a, const tla_mmu_access &b) {
    return (a.access == TLA_WRITE || b.access == TLA_WRITE) && a.asid == b.asid &&
           a.va.value <= b.va.value + (b.nbytes - 1) && b.va.value <= a.va.value + (a.nbytes - 1);
}

// Whether such a one is still being translated. One that waits for the host is not waited for: the host may need this.
bool pe_mmu::steps::is_behind(const translation &j) const {
    if (j.wanted.access != TLA_WRITE && writes_ == 0) return false;
    for (const translation *before = j.earlier; before; before = before->earlier)
        if (!before->asked && in_conflict(before->wanted, j.wanted)) return true;
    return false;
}

// When the last such one leaves the MMU that has been translated: 0 when all have left.
std::uint64_t pe_mmu::steps::sent_before(const translation &j, std::uint64_t now_ps) {
    while (!sent_.empty() && sent_.front().at_ps <= now_ps)
        sent_.pop_front();
    std::uint64_t at_ps = 0;
    for (const leaving &other : sent_)
        if (in_conflict(other.what, j.wanted)) at_ps = std::max(at_ps, other.at_ps);
    return at_ps;
}

void pe_mmu::steps::enter_order(translation &j) {
    j.held = false;
    j.earlier = last_;
    j.later = nullptr;
    (last_ ? last_->later : first_) = &j;
    last_ = &j;
    writes_ += j.wanted.access == TLA_WRITE;
}

void pe_mmu::steps::leave_order(translation &j) {
    (j.earlier ? j.earlier->later : first_) = j.later;
    (j.later ? j.later->earlier : last_) = j.earlier;
    writes_ -= j.wanted.access == TLA_WRITE;
}

// An access has moved on or failed: accesses that waited for this access only follow it.
void pe_mmu::steps::release_held(std::uint64_t now_ps) {
    while (held_ > 0) {
        translation *j = first_;
        while (j && (!j->held || is_behind(*j)))
            j = j->later;
        if (!j) return;
        j->held = false;
        held_--;
        j->end_ps = std::max(j->end_ps, now_ps);
        move_on(*j, now_ps);
    }
}

void pe_mmu::steps::make_new() {
    end_pauses(); // those of commands that the reset has overtaken
    sent_.clear();
    draining_ = false;
    walks_shown_ = 0;
}

void pe_mmu::steps::answer(translation &j) {
    in_order_request &request = *j.request;
    request.at_ps = j.end_ps;
    recycle(j);
    request.finish();
}

// --- data ------------------------------------------------------------------------------------------------------------

void pe_mmu::steps::pass_on(translation &j) {
    struct seen {
        std::uint64_t va, before, after; // of the initiator's transfer, if the access is part of a transfer
        bool hide_dmi;
    };
    in_order_request &request = *j.request;
    transfer_extent *const extent = request.payload->get_extension<transfer_extent>();
    const transfer_extent whole = extent ? *extent : transfer_extent{};
    if (extent) *extent = mmu_.extents(*request.payload, j.where, j.end_ps)[0];
    in_order_request::frame &frame = request.push(
        [](void *, in_order_request &r) {
            in_order_request::frame mine = r.pop();
            const seen &by_initiator = mine.state<seen>();
            r.payload->set_address(by_initiator.va);
            if (auto *told = r.payload->get_extension<transfer_extent>())
                *told = {by_initiator.before, by_initiator.after};
            if (by_initiator.hide_dmi) r.payload->set_dmi_allowed(false);
            r.finish();
        },
        this);
    frame.state<seen>() = {j.wanted.va.value, whole.before, whole.after, mmu_.hides_dmi(j.where)};
    request.payload->set_address(j.where.first.pa.value);
    request.at_ps = j.end_ps;
    recycle(j);
    out_.send(request);
}

// --- commands --------------------------------------------------------------------------------------------------------

tla_status pe_mmu::steps::change(unsigned port, const tla_command &command, std::uint64_t &at_ps, tla_work &work,
                                 tla_error &error) {
    tla_mmu *const front = mmu_.mmu_.get();
    const bool in_memory = mmu_.config_.walk == TLA_WALK_MEMORY;
    if (in_memory) wait_until(at_ps);
    const tla_table_change what = command.opcode == TLA_OP_MAP     ? TLA_TABLE_MAP
                                  : command.opcode == TLA_OP_REMAP ? TLA_TABLE_REMAP
                                                                   : TLA_TABLE_UNMAP;
    const tla_status status = command.opcode == TLA_OP_TAKE_BACK
                                  ? tla_mmu_take_back_begin(front, port, command.request_id, &work, &error)
                                  : tla_mmu_change_begin(front, what, command.entries, command.count, &work, &error);
    if (status) return status;
    for (tla_mmu_bus_work todo{}; tla_mmu_change_next(front, &todo);)
        if (in_memory) perform(todo); // else it is done
    if (in_memory) at_ps = to_ps(sc_core::sc_time_stamp());
    return tla_mmu_change_end(front);
}

void pe_mmu::steps::perform(const tla_mmu_bus_work &todo) {
    if (todo.kind == TLA_MMU_DRAIN) {
        draining_ = true;
        sc_core::wait(walk_ended_);
        draining_ = false;
        return;
    }
    std::uint64_t at_ps = to_ps(sc_core::sc_time_stamp());
    tla_paddr pa{};
    if (todo.kind == TLA_MMU_ALLOC) {
        const tla_status status = mmu_.allocate_table(todo.nbytes, pa, at_ps);
        wait_until(at_ps);
        tla_mmu_change_allocated(mmu_.mmu_.get(), status, pa);
        return;
    }
    if (todo.kind == TLA_MMU_WRITE)
        mmu_.write_table(todo.pa, todo.bytes, static_cast<std::uint32_t>(todo.nbytes), at_ps);
    else
        mmu_.give_back_table(todo.pa, todo.nbytes, at_ps);
    wait_until(at_ps);
}

void pe_mmu::steps::wait_until(std::uint64_t at_ps) {
    const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp());
    if (at_ps > now_ps) sc_core::wait(from_ps(at_ps - now_ps));
}

} // namespace tlmalloc
