// The MMU as a module: changes by command, translation by calls; and what both styles share.
#include "tlmalloc/modules/pe_mmu.hpp"

#include "dmi.hpp"
#include "payload.hpp"
#include "pe_mmu_steps.hpp"
#include "split_access.hpp"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/page_fault.hpp"
#include "tlmalloc/modules/requester.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <sstream>

namespace tlmalloc {

pe_mmu::pe_mmu(sc_core::sc_module_name name, const config &settings)
    : instrumented(name, "pe_mmu"), in("in", *this, settings.outstanding),
      control("control", "pe_mmu", TLA_TARGET_PE_MMU, settings.ports, *this, settings.style, settings.queue_depth),
      config_(settings), dmi_told_(std::make_unique<dmi_record>()),
      requester_(TLA_ASID_HARDWARE, settings.initiator, true) {
    requester_.walker = this;
    const std::uint64_t page = settings.page_size;
    if (page < 4096 || page > std::uint64_t{1} << 30 || (page & (page - 1)))
        refuse_config("page_size must be a power of two, 4 KiB .. 1 GiB");
    tla_mmu *made = nullptr;
    tla_error error{};
    const tla_mmu_config parts = front_end();
    if (tla_mmu_create(&parts, &made, &error)) refuse_config(error.text);
    mmu_.reset(made);
    out.register_invalidate_direct_mem_ptr(this, &pe_mmu::invalidate_direct_mem_ptr);
    SC_HAS_PROCESS(pe_mmu);
    SC_METHOD(withdraw_refusals);
    sensitive << window_closed_;
    dont_initialize();
    if (settings.style == time_style::fast) return;
    steps_ = std::make_unique<steps>(*this);
    in.serve_in_order(*steps_);
}

pe_mmu::~pe_mmu() = default;

tla_mmu_config pe_mmu::front_end() const {
    tla_mmu_config parts{};
    parts.walk = config_.walk;
    parts.table.page_size = config_.page_size;
    parts.table.allow_remap = config_.allow_remap;
    std::copy_n(config_.larger_page_sizes, std::size(config_.larger_page_sizes), parts.table.larger_page_sizes);
    parts.table.va_bits = config_.va_bits;
    parts.table.asids = config_.asids;
    for (const tla_tlb_level_config &level : {config_.tlb_l1, config_.tlb_l2})
        if (level.entries > 0) parts.tlb.level[parts.tlb.levels++] = level;
    parts.tlb.seed = config_.tlb_seed;
    parts.walkers = config_.walkers;
    parts.pa_fallback = config_.unmapped == TLA_UNMAPPED_PA_FALLBACK;
    if (config_.walk == TLA_WALK_MEMORY) parts.bus = bus();
    return parts;
}

namespace {

std::uint32_t asid_of(const tlm::tlm_generic_payload &payload) {
    const requester *const who = payload.get_extension<requester>();
    return who && who->asid != TLA_ASID_HARDWARE ? who->asid : 0;
}

bool is_translated(const tlm::tlm_generic_payload &payload) {
    const requester *const who = payload.get_extension<requester>();
    return who && who->translated;
}

sc_core::sc_time delay_to(std::uint64_t at_ps) {
    sc_core::sc_time delay;
    set_local_ps(delay, std::max(at_ps, to_ps(sc_core::sc_time_stamp())));
    return delay;
}

bool transfer(tlm::tlm_fw_transport_if<> &socket, tlm::tlm_command command, tla_paddr pa, void *bytes,
              std::uint32_t nbytes, std::uint64_t &at_ps, requester *who = nullptr) {
    sc_core::sc_time delay = delay_to(at_ps);
    const bool ok = access(socket, command, pa.value, bytes, nbytes, delay, who);
    at_ps = local_ps(delay);
    return ok;
}

} // namespace

tla_mmu_bus pe_mmu::bus() const {
    tla_mmu_bus bus{};
    bus.context = const_cast<pe_mmu *>(this);
    bus.read = [](void *self, tla_paddr pa, void *bytes, std::uint32_t nbytes, std::uint64_t *at_ps) {
        pe_mmu &mmu = *static_cast<pe_mmu *>(self);
        return transfer(*mmu.walk.operator->(), tlm::TLM_READ_COMMAND, pa, bytes, nbytes, *at_ps, &mmu.requester_);
    };
    bus.write = [](void *self, tla_paddr pa, const void *bytes, std::uint32_t nbytes, std::uint64_t *at_ps) {
        pe_mmu &mmu = *static_cast<pe_mmu *>(self);
        return transfer(*mmu.walk.operator->(), tlm::TLM_WRITE_COMMAND, pa, const_cast<void *>(bytes), nbytes, *at_ps,
                        &mmu.requester_); // a target only reads them
    };
    bus.alloc = [](void *self, std::uint64_t nbytes, tla_paddr *pa, std::uint64_t *at_ps) {
        tla_command command{};
        command.opcode = TLA_OP_ALLOC;
        command.channel = TLA_HBM;
        command.nbytes = nbytes;
        tla_completion completion{};
        const tla_status status = static_cast<pe_mmu *>(self)->command_allocator(command, completion, *at_ps);
        pa->value = completion.value;
        return status;
    };
    bus.free = [](void *self, tla_paddr pa, std::uint64_t nbytes, std::uint64_t *at_ps) {
        tla_command command{};
        command.opcode = TLA_OP_FREE;
        command.pa = pa;
        command.nbytes = nbytes;
        return static_cast<pe_mmu *>(self)->free_table(command, *at_ps);
    };
    return bus;
}

tla_status pe_mmu::command_allocator(tla_command &command, tla_completion &completion, std::uint64_t &at_ps) {
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    sc_core::sc_time delay = delay_to(at_ps);
    const tla_status status =
        send_command(*allocator.operator->(), config_.allocator_port * std::uint64_t{TLA_PORT_BYTES}, command,
                     completion, delay, config_.retry, statistics_.retries, &requester_);
    at_ps = local_ps(delay);
    return status;
}

tla_status pe_mmu::free_table(tla_command &command, std::uint64_t &at_ps) {
    tla_completion completion{};
    const tla_status status = command_allocator(command, completion, at_ps);
    // Refused by plan, or for want of a node of the free list that another FREE will give back.
    if (status == TLA_BUSY || status == TLA_LIMIT) owed_.push_back(command);
    return status;
}

void pe_mmu::free_owed(std::uint64_t &at_ps) {
    std::vector<tla_command> commands;
    commands.swap(owed_);
    for (tla_command &command : commands)
        free_table(command, at_ps);
}

// --- data ------------------------------------------------------------------------------------------------------------

tla_status pe_mmu::translate(const tla_mmu_access &access, const requester *who, std::uint64_t &at_ps, route &where) {
    if (config_.walk != TLA_WALK_MEMORY) return find_route(access, at_ps, where);
    where.va = access.va.value;
    if (mmu_turn_.entered_by_caller() || (who && who->is_walk_of(this))) return TLA_BUSY;
    const turnstile::turn turn(mmu_turn_);
    requester_.walks_for = who;
    at_ps = std::max(at_ps, to_ps(sc_core::sc_time_stamp()));
    return find_route(access, at_ps, where);
}

tla_status pe_mmu::find_route(const tla_mmu_access &access, std::uint64_t &at_ps, route &where) {
    const std::uint64_t start_ps = at_ps;
    where.rest.clear();
    where.stale = false;
    tla_mmu_access rest; // only what crosses pages has one
    for (const tla_mmu_access *part = &access;; part = &rest) {
        tla_mmu_piece next;
        tla_mmu_piece &found = part == &access ? where.first : next;
        std::uint64_t done_ps = start_ps;
        const tla_status status = tla_mmu_translate(mmu_.get(), part, &done_ps, &found);
        at_ps = std::max(at_ps, done_ps);
        if (config_.walk != TLA_WALK_IDEAL) show_lookup(found, done_ps);
        if (status) {
            where.va = part->va.value;
            return status;
        }
        where.stale |= found.stale;
        const std::uint64_t nbytes = found.nbytes;
        if (part != &access) append(where, next);
        if (nbytes == part->nbytes) return TLA_OK;
        rest = {part->asid, {part->va.value + nbytes}, part->nbytes - nbytes, part->access};
    }
}

// The table joins on its own what is alike; a TLB gives page by page.
void pe_mmu::append(route &where, const tla_mmu_piece &found) const {
    if (config_.walk == TLA_WALK_IDEAL || !tla_mmu_piece_join(&where.last(), &found)) where.rest.push_back(found);
}

void pe_mmu::show_lookup(const tla_mmu_piece &found, std::uint64_t at_ps) {
    if (!found.walked) hits_.add(at_ps, 1);
    if (steps_) return; // shows walks when they begin and end
    if (found.walk_end_ps == found.walk_start_ps) return;
    walks_in_flight_.add(found.walk_start_ps, 1);
    walks_in_flight_.add(found.walk_end_ps, -1);
}

// With TLA_UNMAPPED_DEMAND, what the host maps is tried again when it can be seen (a posted command is acknowledged
// before). When it never is, it was lost, and the host is asked once more; then the access is an error.
tla_status pe_mmu::translate_or_fault(const tla_mmu_access &access, const requester *who, std::uint64_t &at_ps,
                                      route &where) {
    std::uint64_t asked = 0;
    unsigned answers = 0; // for byte `asked`
    for (;;) {
        const tla_status status = translate(access, who, at_ps, where);
        if (status != TLA_UNMAPPED || config_.unmapped != TLA_UNMAPPED_DEMAND) return status;
        if (where.va != asked) answers = 0;
        asked = where.va;
        const std::uint64_t visible_ps = tla_mmu_settled_ps(mmu_.get(), access.asid, {asked}, 1, at_ps);
        if (answers > 0 && visible_ps > at_ps) {
            at_ps = visible_ps;
            continue;
        }
        if (answers == 2 || !ask_host(access, asked, answers > 0, at_ps)) return status;
        answers++;
        at_ps = tla_mmu_settled_ps(mmu_.get(), access.asid, {asked}, 1, at_ps);
    }
}

bool pe_mmu::ask_host(const tla_mmu_access &access, std::uint64_t va, bool again, std::uint64_t &at_ps) {
    if (fault.size() == 0) return false;
    statistics_.demand_faults++;
    page_fault::bytes record = page_fault{va, access.access | (again ? page_fault::again : 0), access.asid}.encode();
    return transfer(*fault.operator->(), tlm::TLM_WRITE_COMMAND, {0}, record.data(), record.size(), at_ps);
}

void pe_mmu::refuse(tlm::tlm_generic_payload &payload, tla_status status, const sc_core::sc_time &delay) {
    const char *kind = "/tlmalloc/pe_mmu/unmapped";
    tlm::tlm_response_status response = tlm::TLM_ADDRESS_ERROR_RESPONSE;
    if (status == TLA_PERMISSION) {
        kind = "/tlmalloc/pe_mmu/permission";
        response = tlm::TLM_COMMAND_ERROR_RESPONSE;
    } else if (status == TLA_BUS_ERROR || status == TLA_BUSY) {
        kind = "/tlmalloc/pe_mmu/walk";
        response = tlm::TLM_GENERIC_ERROR_RESPONSE;
    }
    statistics_.faults++;
    faults_.add(local_ps(delay), 1);
    std::ostringstream text;
    text << name() << ": " << (payload.is_write() ? "write" : "read") << " of " << payload_span(payload)
         << " bytes at VA 0x" << std::hex << payload.get_address() << ": "
         << (status == TLA_BUS_ERROR ? "the walk read what the page table does not say"
             : status == TLA_BUSY    ? "a walk of this MMU leads back to it"
                                     : tla_status_text(status));
    SC_REPORT_WARNING(kind, text.str().c_str());
    payload.set_response_status(response);
}

tla_mmu_access pe_mmu::wanted_by(const tlm::tlm_generic_payload &payload) const {
    tla_mmu_access wanted{
        asid_of(payload), {payload.get_address()}, std::max<std::uint64_t>(payload_span(payload), 1), 0};
    if (payload.is_read()) wanted.access = TLA_READ;
    if (payload.is_write()) wanted.access = TLA_WRITE;
    return wanted;
}

// An access that goes through.
void pe_mmu::count(const route &where, std::uint64_t at_ps) {
    if (where.stale) {
        statistics_.stale_accesses++;
        stale_.add(at_ps, 1);
    }
    for (std::size_t i = 0; i < where.count(); i++)
        if (where.at(i).fallback) {
            statistics_.pa_fallbacks++;
            pa_fallbacks_.add(at_ps, 1);
        }
    if (!where.rest.empty()) statistics_.splits++;
}

bool pe_mmu::hides_dmi(const route &where) const {
    return !grants_dmi() || where.first.fallback || where.stale;
}

void pe_mmu::serve(unsigned, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
    if (is_translated(payload)) {
        out->b_transport(payload, delay);
        return;
    }
    const tla_mmu_access wanted = wanted_by(payload);
    const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp());
    std::uint64_t at_ps = now_ps + to_ps(delay) + config_.overhead_ps;
    statistics_.lookups++;
    lookups_.add(at_ps, 1);
    tla_mmu_advance(mmu_.get(), now_ps);
    route where;
    const tla_status status = translate_or_fault(wanted, payload.get_extension<requester>(), at_ps, where);
    // Only a walk or a page fault can have let the kernel's time go on.
    if (config_.walk == TLA_WALK_MEMORY || config_.unmapped == TLA_UNMAPPED_DEMAND)
        set_local_ps(delay, std::max(at_ps, to_ps(sc_core::sc_time_stamp())));
    else
        delay = from_ps(at_ps - now_ps);
    if (status) {
        refuse(payload, status, delay);
        return;
    }
    count(where, local_ps(delay));
    transport(payload, where, at_ps, delay);
}

// Of which transfer the pieces of an access are parts, if it says that it is one.
std::vector<transfer_extent> pe_mmu::extents(const tlm::tlm_generic_payload &payload, const route &where,
                                             std::uint64_t at_ps) {
    std::vector<transfer_extent> result;
    const transfer_extent *const extent = payload.get_extension<transfer_extent>();
    if (!extent) return result;
    const std::uint64_t va = payload.get_address(), before = std::min(extent->before, va), first = va - before,
                        span = payload_span(payload), after = std::min(extent->after, UINT64_MAX - va - span);
    std::uint64_t offset = 0;
    for (std::size_t i = 0; i < where.count(); i++) {
        const std::uint64_t nbytes = where.at(i).nbytes;
        result.push_back(cut({asid_of(payload), {first}, before + span + after, 0}, va + offset, nbytes, at_ps));
        offset += nbytes;
    }
    return result;
}

namespace {

// What a payload gets back that has been translated, also when its thread is killed: address and extent of the
// initiator.
class initiators_view {
  public:
    explicit initiators_view(tlm::tlm_generic_payload &payload)
        : payload_(payload), va_(payload.get_address()), extent_(payload.get_extension<transfer_extent>()) {}
    ~initiators_view() {
        payload_.set_address(va_);
        payload_.set_extension(extent_);
    }
    initiators_view(const initiators_view &) = delete;
    initiators_view &operator=(const initiators_view &) = delete;

  private:
    tlm::tlm_generic_payload &payload_;
    const std::uint64_t va_;
    transfer_extent *const extent_;
};

} // namespace

void pe_mmu::transport(tlm::tlm_generic_payload &payload, const route &where, std::uint64_t at_ps,
                       sc_core::sc_time &delay) {
    std::vector<transfer_extent> cuts = extents(payload, where, at_ps);
    if (where.rest.empty()) {
        const initiators_view seen(payload);
        payload.set_address(where.first.pa.value);
        if (!cuts.empty()) payload.set_extension(&cuts[0]);
        out->b_transport(payload, delay);
        if (hides_dmi(where)) payload.set_dmi_allowed(false);
    } else {
        std::vector<tla_mmu_piece> pieces{where.first};
        pieces.insert(pieces.end(), where.rest.begin(), where.rest.end());
        transport_split(*out.operator->(), payload, pieces, cuts, delay);
    }
}

// What a transfer reaches, in physical addresses, around one of its pieces.
transfer_extent pe_mmu::cut(const tla_mmu_access &transfer, std::uint64_t va, std::uint64_t nbytes,
                            std::uint64_t at_ps) {
    const tla_mmu_access &known = run_.transfer;
    const bool same = known.asid == transfer.asid && known.va.value == transfer.va.value &&
                      known.nbytes == transfer.nbytes && at_ps >= run_from_ps_;
    if (!same || va < run_.first || va >= run_.end) {
        tla_vaddr first{};
        std::uint64_t length = 0;
        tla_mmu_find_run(mmu_.get(), &transfer, {va}, at_ps, &first, &length);
        run_ = {transfer, first.value, first.value + length};
    }
    if (va < run_.first || va + nbytes > run_.end) return {}; // it goes where it went before a change
    return {va - run_.first, run_.end - va - nbytes};
}

unsigned pe_mmu::debug(tlm::tlm_generic_payload &payload) {
    time_queue::catch_up_all();
    const std::uint64_t va = payload.get_address();
    const unsigned length = payload.get_data_length();
    std::uint8_t *const data = payload.get_data_ptr();
    if (length == 0 || !data) return 0;
    tla_mmu_access wanted{asid_of(payload), {va}, length, 0};
    const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp());
    std::vector<tla_mmu_piece> pieces;
    for (; wanted.nbytes > 0; wanted.va.value += pieces.back().nbytes, wanted.nbytes -= pieces.back().nbytes) {
        pieces.emplace_back();
        if (tla_mmu_probe(mmu_.get(), &wanted, now_ps, &pieces.back())) return 0;
    }
    unsigned moved = 0;
    for (const tla_mmu_piece &p : pieces) {
        payload.set_address(p.pa.value);
        payload.set_data_ptr(data + moved);
        payload.set_data_length(static_cast<unsigned>(p.nbytes));
        const unsigned part = out->transport_dbg(payload);
        moved += part;
        if (part < p.nbytes) break;
    }
    payload.set_address(va);
    payload.set_data_ptr(data);
    payload.set_data_length(length);
    return moved;
}

// --- direct memory access --------------------------------------------------------------------------------------------

bool pe_mmu::grant_dmi(unsigned, tlm::tlm_generic_payload &payload, tlm::tlm_dmi &dmi) {
    if (!grants_dmi()) return refuse_dmi(dmi);
    dmi_asked_ = true;
    const std::uint64_t va = payload.get_address();
    tla_walk page{};
    std::uint64_t until_ps = 0;
    const tla_status status =
        tla_mmu_find_page(mmu_.get(), asid_of(payload), {va}, to_ps(sc_core::sc_time_stamp()), &page, &until_ps);
    if (status == TLA_BUSY) refuse_until(va, until_ps);
    if (status) return refuse_dmi(dmi, {va, va});
    const address_view view{page.pa.value, page.nbytes, page.va.value};
    const bool readable = page.flags & TLA_READ, writable = page.flags & TLA_WRITE;
    if ((payload.is_read() && !readable) || (payload.is_write() && !writable)) {
        refuse_dmi(dmi, {page.va.value, page.va.value + (page.nbytes - 1)});
        payload.is_read() ? dmi.allow_read() : dmi.allow_write();
        return false;
    }
    payload.set_address(va - page.va.value + page.pa.value);
    bool granted = out->get_direct_mem_ptr(payload, dmi);
    payload.set_address(va);
    const tla_tlb_level_config &nearest = config_.tlb_l1.entries > 0 ? config_.tlb_l1 : config_.tlb_l2;
    const bool has_tlb = config_.walk != TLA_WALK_IDEAL && nearest.entries > 0;
    const std::uint64_t tlb_ps = has_tlb ? nearest.latency_ps : 0;
    granted = translate_dmi(dmi, granted, view, config_.overhead_ps + tlb_ps);
    const byte_range told{dmi.get_start_address(), dmi.get_end_address()};
    dmi_told_->add(told, told.first - view.to + view.from);
    if (!granted) return false;
    if (!writable && dmi.is_read_allowed()) dmi.allow_read();
    if (!readable && dmi.is_write_allowed()) dmi.allow_write();
    return true;
}

void pe_mmu::invalidate_direct_mem_ptr(sc_dt::uint64 first, sc_dt::uint64 last) {
    for (const byte_range &range : dmi_told_->take({first, last}))
        in.withdraw_dmi(range.first, range.last);
}

// The mappings in a command have changed: pointers are void, and refusals too.
void pe_mmu::withdraw_dmi(const tla_command &command) {
    if (!dmi_asked_) return;
    for (std::uint32_t i = 0; i < command.count; i++) {
        const std::uint64_t first = command.entries[i].va.value, last = first + (command.entries[i].nbytes - 1);
        dmi_told_->forget({first, last});
        in.withdraw_dmi(first, last);
    }
}

void pe_mmu::refuse_until(std::uint64_t va, std::uint64_t until_ps) {
    dmi_refused_.insert(va);
    if (until_ps == UINT64_MAX) return; // the end of the command that is under way sees to it
    window_closed_.notify(from_ps(until_ps) - sc_core::sc_time_stamp()); // unless that is to happen sooner anyway
}

void pe_mmu::withdraw_refusals() {
    const std::uint64_t now_ps = to_ps(sc_core::sc_time_stamp());
    std::set<std::uint64_t> refused;
    refused.swap(dmi_refused_);
    for (const std::uint64_t va : refused) {
        tla_walk page{};
        std::uint64_t until_ps = 0;
        if (tla_mmu_find_page(mmu_.get(), 0, {va}, now_ps, &page, &until_ps) == TLA_BUSY)
            refuse_until(va, until_ps);
        else
            in.withdraw_dmi(va, va);
    }
}

// --- commands --------------------------------------------------------------------------------------------------------

std::uint64_t pe_mmu::execute(unsigned port, const tla_command &command, std::uint64_t arrival_ps) {
    if (steps_ || config_.walk != TLA_WALK_MEMORY) return change_mappings(port, command, arrival_ps);
    const turnstile::turn turn(mmu_turn_);
    requester_.walks_for = nullptr;
    return change_mappings(port, command, arrival_ps);
}

std::uint64_t pe_mmu::change_mappings(unsigned port, const tla_command &command, std::uint64_t arrival_ps) {
    tla_work work{};
    tla_error error{};
    tla_status status = TLA_OK;
    // Nothing else runs in the engine until this command is done, so its start is known before its length.
    const tla_service expected = control.look(arrival_ps);
    std::uint64_t at_ps = expected.start_ps;
    maps_in_flight_.add(expected.accepted_ps, 1);
    free_owed(at_ps);
    if (command.opcode == TLA_OP_MAP || command.opcode == TLA_OP_UNMAP || command.opcode == TLA_OP_TAKE_BACK)
        status = change(port, command, at_ps, work, error);
    else if (command.opcode == TLA_OP_INVALIDATE)
        status = tla_mmu_invalidate(mmu_.get(), command.entries, command.count, &work, &error);
    else
        status = tla_error_set(&error, TLA_BAD_COMMAND, "opcode %d is not for a pe_mmu", command.opcode);
    return complete(port, command, arrival_ps, at_ps - expected.start_ps, status, work, error);
}

tla_status pe_mmu::change(unsigned port, const tla_command &command, std::uint64_t &at_ps, tla_work &work,
                          tla_error &error) {
    tla_mmu *const front = mmu_.get();
    if (command.opcode != TLA_OP_TAKE_BACK)
        if (const tla_status status = tla_mmu_command(front, port, command.request_id))
            return tla_error_set(&error, status, "no host memory");
    if (steps_ && config_.walk == TLA_WALK_MEMORY) return steps_->change(port, command, at_ps, work, error);
    if (command.opcode == TLA_OP_TAKE_BACK)
        return tla_mmu_take_back(front, port, command.request_id, &at_ps, &work, &error);
    const auto made = command.opcode == TLA_OP_MAP ? tla_mmu_map : tla_mmu_unmap;
    return made(front, command.entries, command.count, &at_ps, &work, &error);
}

// Of a command that has been decided, and has been on the bus for bus_ps: what it takes besides, and the answer.
std::uint64_t pe_mmu::complete(unsigned port, const tla_command &command, std::uint64_t arrival_ps,
                               std::uint64_t bus_ps, tla_status status, const tla_work &work, const tla_error &error) {
    tla_completion completion = control_window::answer_to(command, status);
    if (completion.status) {
        SC_REPORT_WARNING("/tlmalloc/pe_mmu/command",
                          (std::string(name()) + ": " + error.text + control_window::ids_of(command)).c_str());
    } else {
        completion.nbytes = command.count;
        if (command.opcode == TLA_OP_MAP) statistics_.maps += command.count;
        if (command.opcode == TLA_OP_UNMAP) statistics_.unmaps += command.count;
        if (command.opcode == TLA_OP_INVALIDATE) statistics_.invalidates++;
        if (command.opcode == TLA_OP_TAKE_BACK) statistics_.taken_back++;
    }
    completion.service_ps = bus_ps + tla_cost_price(&config_.cost, &work);
    const tla_service service = control.finish(port, completion, arrival_ps, statistics_);
    tla_mmu_make_visible(mmu_.get(), service.done_ps);
    if (steps_) steps_->changed(service.done_ps);
    run_ = {};
    run_from_ps_ = service.done_ps;
    if (!completion.status && command.opcode != TLA_OP_INVALIDATE) withdraw_dmi(command); // who asks again may not yet
    if (!dmi_refused_.empty()) window_closed_.notify(from_ps(service.done_ps) - sc_core::sc_time_stamp());
    maps_in_flight_.add(service.done_ps, -1);
    mapped_bytes_.set(service.done_ps, tla_mmu_get_stats(mmu_.get()).table.mapped_bytes);
    return service.accepted_ps;
}

// What tables in memory need: sockets that are optional do not say so themselves, and an allocator that answers debug
// accesses can be asked for its port.
void pe_mmu::start_of_simulation() {
    if (steps_) steps_->lead_on();
    if (config_.walk != TLA_WALK_MEMORY) return;
    if (walk.size() == 0 || allocator.size() == 0)
        refuse_config("walk and allocator are not bound, though tables lie in memory");
    const auto has_port = [this](unsigned port) {
        std::uint8_t state[4];
        tlm::tlm_generic_payload payload;
        payload.set_read();
        payload.set_address(port * std::uint64_t{TLA_PORT_BYTES} + TLA_PORT_STATE);
        payload.set_data_ptr(state);
        payload.set_data_length(sizeof state);
        return allocator->transport_dbg(payload) == sizeof state;
    };
    if (has_port(0) && !has_port(config_.allocator_port))
        refuse_config(std::string(name()) + ": allocator_port is " + std::to_string(config_.allocator_port) +
                      ", a control port that the memory controller has not");
}

// Whether [va, va + nbytes) leads into [first, first + room), and no change of that is under way.
bool pe_mmu::leads_into(std::uint32_t asid, tla_vaddr va, std::uint64_t nbytes, std::uint32_t access,
                        std::uint64_t at_ps, std::uint64_t first, std::uint64_t room) const {
    while (nbytes > 0) {
        tla_walk page{};
        if (tla_mmu_find_page(mmu_.get(), asid, va, at_ps, &page, nullptr) || (page.flags & access) != access)
            return false;
        const std::uint64_t skipped = va.value - page.va.value, covered = std::min(page.nbytes - skipped, nbytes);
        const std::uint64_t begin = page.pa.value + skipped - first;
        if (begin >= room || covered > room - begin) return false;
        va.value += covered;
        nbytes -= covered;
    }
    return true;
}

pe_mmu::statistics pe_mmu::get_statistics() const {
    time_queue::catch_up_all();
    statistics result = statistics_;
    const tla_mmu_stats translation = tla_mmu_get_stats(mmu_.get());
    result.hits = translation.hits;
    result.misses = translation.misses;
    result.walk_errors = translation.walk_errors;
    result.repeated = translation.repeated;
    result.walkers = translation.walkers;
    result.table = translation.table;
    return result;
}

std::vector<statistics_part> pe_mmu::list_statistics() const {
    const statistics s = get_statistics();
    return {{{{"lookups", s.lookups, "accesses", "translated"},
              {"splits", s.splits, "accesses", "that became more than one"},
              {"maps", s.maps, "entries", "mapped"},
              {"unmaps", s.unmaps, "ranges", "unmapped"},
              {"failed", s.failed, "commands", "refused"},
              {"faults", s.faults, "accesses", "answered with an error"},
              {"pa_fallbacks", s.pa_fallbacks, "pieces", "whose virtual address was taken as physical"},
              {"demand_faults", s.demand_faults, "faults", "that the host was asked about"},
              {"retries", s.retries, "commands", "ALLOC and FREE that were sent again"},
              {"stale_accesses", s.stale_accesses, "accesses", "through mappings that were gone, but not visibly"},
              {"hits", s.hits, "lookups", "that the TLB served"},
              {"misses", s.misses, "lookups", "that it did not"},
              {"walks", s.walkers.walks, "walks", "of the page table"},
              {"merged", s.walkers.merged, "lookups", "that joined a walk under way"},
              {"stalls", s.walkers.stalls, "lookups", "that waited for a walker"},
              {"walk_errors", s.walk_errors, "walks", "that read what the table does not say"},
              {"table_bytes", s.table.table_bytes, "bytes", "of page tables now"},
              {"busy_ps", s.busy_ps, "ps", "commands took"}}}};
}

} // namespace tlmalloc
