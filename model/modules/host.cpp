// The runtime on the host: tensors, page faults, launches and clean-up by transactions.
#include "tlmalloc/modules/host.hpp"

#include "scatter.hpp"
#include "tlmalloc/allocators/shortage.h"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/page_fault.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>

namespace tlmalloc {

std::string to_string(const pe_location &pe) {
    return "sip" + std::to_string(pe.sip) + ".cube" + std::to_string(pe.cube) + ".pe" + std::to_string(pe.pe);
}

namespace {

bool same(const pe_location &a, const pe_location &b) {
    return a.sip == b.sip && a.cube == b.cube && a.pe == b.pe;
}

bool same_cube(const pe_location &a, const pe_location &b) {
    return a.sip == b.sip && a.cube == b.cube;
}

// Commands to several control ports at once: all are written, then all completions are read; the thread then waits
// until the last is there. A second command to a port is written when those before it have been answered. A command
// whose write was refused has the status TLA_BUS_ERROR.
class batch {
  public:
    batch(tlm::tlm_fw_transport_if<> &socket, outlet *in_order, requester &who)
        : socket_(socket), in_order_(in_order), who_(who) {}

    void post(std::uint64_t port_address, const tla_command &command) { posted_.push_back({port_address, command}); }

    // Completions in the order of posting.
    std::vector<tla_completion> wait() {
        std::vector<std::size_t> all(posted_.size());
        std::iota(all.begin(), all.end(), std::size_t{0});
        return send(all);
    }

    // The same, once those that are refused for now have been sent again as the policy says.
    std::vector<tla_completion> wait(const retry_policy &policy, std::uint64_t &retried) {
        std::vector<tla_completion> result = wait();
        for (unsigned i = 0; i < policy.retries; i++) {
            std::vector<std::size_t> again;
            for (std::size_t n = 0; n < result.size(); n++)
                if (result[n].status == TLA_BUSY) again.push_back(n);
            if (again.empty()) break;
            sc_core::wait(from_ps(policy.delay_ps));
            const std::vector<tla_completion> answers = send(again);
            for (std::size_t n = 0; n < again.size(); n++)
                result[again[n]] = answers[n];
            retried += again.size();
        }
        return result;
    }

  private:
    std::vector<tla_completion> send(const std::vector<std::size_t> &which) {
        scatter commands(socket_, in_order_);
        std::vector<std::uint64_t> ports; // that a command is under way to
        std::vector<tla_posting> postings(which.size());
        for (std::size_t i = 0; i < which.size(); i++) {
            const auto &[port_address, command] = posted_[which[i]];
            if (std::find(ports.begin(), ports.end(), port_address) != ports.end()) {
                wait_for(commands);
                ports.clear();
            }
            postings[i] = {port_address, &command, to_ps(sc_core::sc_time_stamp()), true, TLA_OK, 0, 0, {}};
            commands.post(postings[i], &who_);
            ports.push_back(port_address);
        }
        wait_for(commands);
        std::vector<tla_completion> completions;
        for (const tla_posting &p : postings) {
            completions.push_back(p.completion);
            completions.back().status = p.status;
        }
        return completions;
    }

    static void wait_for(scatter &commands) {
        const std::uint64_t end = commands.gather(), now = to_ps(sc_core::sc_time_stamp());
        if (end > now) sc_core::wait(from_ps(end - now));
    }

    tlm::tlm_fw_transport_if<> &socket_;
    outlet *const in_order_;
    requester &who_;
    std::vector<std::pair<std::uint64_t, tla_command>> posted_;
};

std::uint64_t now_ps() {
    return to_ps(sc_core::sc_time_stamp());
}

// Whoever is busy says so by a bus error. What is refused by completion, a fault plan refuses.
const char *reason(tla_status status) {
    return status == TLA_BUSY ? "refused by the fault plan" : tla_status_text(status);
}

bool of_controller(std::uint32_t opcode) {
    return opcode == TLA_OP_ALLOC || opcode == TLA_OP_FREE;
}

// "tensor a: HBM of sip0.cube0.pe1: requested ..." as ADR-0048 D6 wants a failed allocation told.
// `reserved` is what of the channel is never given.
tla_status explain(tla_error *error, const std::string &what, const tla_completion &completion, std::uint64_t nbytes,
                   std::uint64_t reserved = 0) {
    const bool out_of_memory = completion.status == TLA_EXHAUSTED || completion.status == TLA_FRAGMENTED;
    if (completion.status == TLA_LIMIT && of_controller(completion.opcode))
        return tla_error_set(error, TLA_LIMIT,
                             "%s: no node is left for one more block on the free list: controller.list_reserve holds "
                             "the nodes",
                             what.c_str());
    if (!out_of_memory || nbytes == 0)
        return tla_error_set(error, completion.status, "%s: %s", what.c_str(), reason(completion.status));
    tla_error_set(error, completion.status, "%s overflow: requested %llu bytes, %llu free, largest free block %llu: %s",
                  what.c_str(), static_cast<unsigned long long>(nbytes),
                  static_cast<unsigned long long>(completion.total_free),
                  static_cast<unsigned long long>(completion.largest_free),
                  tla_shortage_say(completion.status, nbytes, completion.total_free, reserved).text);
    if (error) {
        error->requested = nbytes;
        error->total_free = completion.total_free;
        error->largest_free = completion.largest_free;
    }
    return completion.status;
}

} // namespace

host::host(sc_core::sc_module_name name, config settings)
    : sc_module(name), config_(std::move(settings)), requester_(config_.asid, 0, true) {
    require_ps_resolution();
    if (config_.dma_chunk == 0) SC_REPORT_ERROR("/tlmalloc/host/config", "dma_chunk must be above 0");
    for (const pe_location &pe : config_.pes) {
        tla_paddr pa{};
        if (tla_paddr_pe_control(pe.sip, pe.cube, pe.pe, TLA_CONTROL_MEMORY_CONTROLLER, 0, &pa))
            SC_REPORT_ERROR("/tlmalloc/host/config", ("pes: the address map has no " + to_string(pe)).c_str());
        scope_.sip_mask |= 1u << pe.sip;
        scope_.die_mask |= 1u << pe.cube;
        scope_.pe_mask |= 1u << pe.pe;
    }
    if (exact()) fault_gate_ = std::make_unique<arrival_gate>();
    faults.register_b_transport(this, &host::serve_fault);
    SC_HAS_PROCESS(host);
    SC_THREAD(run);
}

void host::run() {
    if (main) main();
}

void host::start_of_simulation() {
    if (exact()) {
        to_fabric_.lead_to(*out.operator->());
        to_va_.lead_to(*va.operator->());
    }
    if (faults.size() > config_.pes.size())
        SC_REPORT_ERROR("/tlmalloc/host/config",
                        (std::to_string(faults.size()) + " MMUs are bound to faults, but the configuration has " +
                         std::to_string(config_.pes.size()) + " PEs")
                            .c_str());
}

std::uint64_t host::controller(const pe_location &pe, tla_control_block block, unsigned port) const {
    tla_paddr pa{};
    tla_paddr_pe_control(pe.sip, pe.cube, pe.pe, block, port * std::uint64_t{TLA_PORT_BYTES}, &pa);
    return pa.value;
}

void host::remember(const pe_location &pe, const tla_completion &completion) {
    for (auto &[where, list] : free_lists_)
        if (same(where, pe)) {
            list = {completion.total_free, completion.largest_free};
            return;
        }
    free_lists_.push_back({pe, {completion.total_free, completion.largest_free}});
}

tla_status host::va_command(tla_command &command, tla_completion &completion) {
    command.target = TLA_TARGET_VA_MANAGER;
    command.tag = next_tag_++;
    batch one(*va.operator->(), exact() ? &to_va_ : nullptr, requester_);
    one.post(config_.control_port * std::uint64_t{TLA_PORT_BYTES}, command);
    completion = one.wait(config_.retry, retries_)[0];
    return completion.status;
}

// --- tensors ---------------------------------------------------------------------------------------------------------

tla_status host::create_tensor(const std::string &name, std::uint64_t elements, std::uint32_t element_bytes,
                               const placement &where, tensor **made, tla_error *error) {
    *made = nullptr;
    std::uint64_t nbytes = 0;
    if (elements == 0 || element_bytes == 0 || where.pes.empty() ||
        __builtin_mul_overflow(elements, std::uint64_t{element_bytes}, &nbytes))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "tensor %s: no elements, no PEs, or more than 2^64 bytes",
                             name.c_str());
    for (const pe_location &pe : where.pes)
        if (std::none_of(config_.pes.begin(), config_.pes.end(), [&](const pe_location &p) { return same(p, pe); }))
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "tensor %s: no %s in this platform", name.c_str(),
                                 to_string(pe).c_str());
    tensor t{name, {}, nbytes, {}, 0, 0, where.kind, next_tag_++};
    const std::uint64_t start = now_ps();
    tla_command reserve{};
    reserve.opcode = TLA_OP_VA_ALLOC;
    reserve.nbytes = nbytes;
    tla_completion range{};
    if (va_command(reserve, range)) return explain(error, "tensor " + name + ": virtual addresses", range, nbytes);
    t.va = {range.value};
    tla_status status = TLA_OK;
    if (t.kind != spread::demand) status = allocate_shards(t, elements, element_bytes, where, error);
    t.alloc_ps = now_ps() - start;
    if (!status) {
        status = map(t, TLA_OP_MAP, error);
        t.map_ps = now_ps() - start - t.alloc_ps;
        if (status) free_shards(t, nullptr);
    }
    if (status) {
        tla_command give_back{};
        give_back.opcode = TLA_OP_VA_FREE;
        give_back.va = t.va;
        give_back.nbytes = nbytes;
        va_command(give_back, range);
        return status;
    }
    tensors_.push_back(std::move(t));
    *made = &tensors_.back();
    return TLA_OK;
}

namespace {

// The PEs of each copy of a tensor: all of them, or those of one cube after the other.
std::vector<std::vector<pe_location>> copies(const host::placement &where) {
    if (where.kind != spread::replicate) return {where.pes};
    std::vector<std::vector<pe_location>> result;
    for (const pe_location &pe : where.pes) {
        auto copy = std::find_if(result.begin(), result.end(), [&](const auto &pes) { return same_cube(pes[0], pe); });
        if (copy == result.end()) copy = result.insert(result.end(), std::vector<pe_location>{});
        copy->push_back(pe);
    }
    return result;
}

} // namespace

tla_status host::allocate_shards(tensor &t, std::uint64_t elements, std::uint32_t element_bytes, const placement &where,
                                 tla_error *error) {
    std::vector<shard> wanted;
    for (const std::vector<pe_location> &pes : copies(where)) {
        const std::uint64_t parts = pes.size(), share = elements / parts, rest = elements % parts;
        std::uint64_t first = 0;
        for (std::uint64_t i = 0; i < parts; i++) { // the first `rest` parts are one element larger
            const std::uint64_t count = share + (i < rest);
            if (count == 0) break;
            wanted.push_back({pes[i], {}, count * element_bytes, first * element_bytes, 0});
            first += count;
        }
    }
    batch commands(*out.operator->(), way_out(), requester_);
    for (const shard &s : wanted) {
        tla_command command{};
        command.opcode = TLA_OP_ALLOC;
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        command.tag = t.tag;
        command.channel = TLA_HBM;
        command.nbytes = s.nbytes;
        commands.post(controller(s.where, TLA_CONTROL_MEMORY_CONTROLLER, config_.control_port), command);
    }
    const std::vector<tla_completion> completions = commands.wait(config_.retry, retries_);
    tla_status status = TLA_OK;
    for (std::size_t i = 0; i < wanted.size(); i++) {
        const tla_completion &completion = completions[i];
        if (completion.status) {
            const std::string what = "tensor " + t.name + ": HBM of " + to_string(wanted[i].where);
            if (!status) status = explain(error, what, completion, wanted[i].nbytes, config_.hbm_reserved);
            continue;
        }
        remember(wanted[i].where, completion);
        wanted[i].pa = {completion.value};
        t.shards.push_back(wanted[i]);
    }
    if (status) free_shards(t, nullptr); // never a part (ADR-0048 D6)
    return status;
}

tla_status host::free_shards(tensor &t, tla_error *error) {
    batch commands(*out.operator->(), way_out(), requester_);
    for (const shard &s : t.shards) {
        tla_command command{};
        command.opcode = TLA_OP_FREE;
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        command.tag = next_tag_++;
        command.pa = s.pa;
        command.nbytes = s.nbytes;
        commands.post(controller(s.where, TLA_CONTROL_MEMORY_CONTROLLER, config_.control_port), command);
    }
    const std::vector<tla_completion> completions = commands.wait(config_.retry, retries_);
    tla_status status = TLA_OK;
    for (std::size_t i = 0; i < completions.size(); i++) {
        const shard &s = t.shards[i];
        // Refused by plan, or for want of a node that another FREE will give back: nothing has changed.
        if (completions[i].status == TLA_BUSY || completions[i].status == TLA_LIMIT) owed_.push_back(s);
        if (!completions[i].status)
            remember(s.where, completions[i]);
        else if (!status)
            status = explain(error, "tensor " + t.name + ": free in " + to_string(s.where), completions[i], 0);
    }
    t.shards.clear();
    return status;
}

tla_scope host::scope_of(const tensor &t, const shard &s) const {
    if (t.kind != spread::replicate) return scope_;
    return {1u << s.where.sip, 1u << s.where.cube, scope_.pe_mask};
}

// Maps or unmaps all shards in every MMU that is to see them, as many entries in a command as fit.
tla_status host::map(const tensor &t, tla_opcode opcode, tla_error *error) {
    tla_status status = TLA_OK;
    std::size_t mapped = 0;
    while (mapped < t.shards.size() && !status) {
        tla_command command{};
        command.opcode = opcode;
        const pe_location &first = t.shards[mapped].where;
        command.scope = scope_of(t, t.shards[mapped]);
        for (; command.count < TLA_COMMAND_MAX_ENTRIES && mapped < t.shards.size(); mapped++) {
            const shard &s = t.shards[mapped];
            if (t.kind == spread::replicate && !same_cube(s.where, first)) break;
            command.entries[command.count++] = {
                {t.va.value + s.offset}, s.pa, s.nbytes, TLA_READ | TLA_WRITE, config_.asid};
        }
        tla_completion completion{};
        status = va_command(command, completion);
        if (status) mapped -= command.count;
    }
    if (!status) return TLA_OK;
    if (opcode == TLA_OP_MAP && mapped > 0) { // take back the commands that went through
        tensor done = t;
        done.shards.resize(mapped);
        map(done, TLA_OP_UNMAP, nullptr);
    }
    return tla_error_set(error, status, "tensor %s: %s: %s", t.name.c_str(), opcode == TLA_OP_MAP ? "map" : "unmap",
                         reason(status));
}

tla_status host::free_tensor(tensor *which, tla_error *error) {
    std::list<tensor> taken; // from then on its pages fault in vain
    {
        const turnstile::turn turn(fault_turn_);
        auto found = std::find_if(tensors_.begin(), tensors_.end(), [&](const tensor &t) { return &t == which; });
        if (found == tensors_.end()) return tla_error_set(error, TLA_NOT_ALLOCATED, "no such tensor");
        taken.splice(taken.end(), tensors_, found);
    }
    tensor &t = taken.front();
    tla_status status = map(t, TLA_OP_UNMAP, error);
    tla_command give_back{};
    give_back.opcode = TLA_OP_VA_FREE;
    give_back.va = t.va;
    give_back.nbytes = t.nbytes;
    tla_completion completion{};
    const tla_status range = va_command(give_back, completion);
    if (range && !status) status = explain(error, "tensor " + t.name + ": free of virtual addresses", completion, 0);
    const tla_status freed = free_shards(t, status ? nullptr : error); // when nothing leads there any more
    return status ? status : freed;
}

// Another cube's copy of a tensor that is replicated.
static bool is_copy(const tensor &t, const shard &s, const shard &first) {
    return t.kind == spread::replicate && !same_cube(s.where, first.where);
}

tla_status host::move(const tensor &t, tlm::tlm_command command, std::uint8_t *bytes, tla_error *error) {
    const std::uint64_t start = now_ps();
    if (t.kind == spread::demand && command == tlm::TLM_WRITE_COMMAND)
        return tla_error_set(error, TLA_UNSUPPORTED, "tensor %s comes into being on demand: nothing to write to",
                             t.name.c_str());
    const std::vector<shard> shards = t.shards; // those of the moment: a page fault may bring more meanwhile
    scatter accesses(*out.operator->(), way_out());
    const shard *refused = nullptr;
    std::size_t at = 0;
    std::uint64_t moved = 0;
    // One more access, for which the one before need not be over; the rest begins when others end.
    const std::function<void(std::uint64_t)> next = [&](std::uint64_t start_ps) {
        while (at < shards.size() && (moved == shards[at].nbytes || refused ||
                                      (command == tlm::TLM_READ_COMMAND && is_copy(t, shards[at], shards[0])))) {
            at++;
            moved = 0;
        }
        if (at == shards.size()) return;
        const shard &s = shards[at];
        const auto chunk = static_cast<std::uint32_t>(std::min<std::uint64_t>(config_.dma_chunk, s.nbytes - moved));
        accesses.access(command, s.pa.value + moved, bytes + s.offset + moved, chunk, start_ps, &requester_,
                        [&, &s = s, start_ps, exact = exact()](bool ok, std::uint64_t end_ps) {
                            if (!ok && !refused) refused = &s;
                            transfer_latency_ps_ += end_ps - start_ps;
                            next(exact ? end_ps : start_ps);
                        });
        moved += chunk;
    };
    for (unsigned i = 0; i < config_.outstanding; i++)
        next(start);
    const std::uint64_t end = std::max(accesses.gather(), now_ps());
    if (refused)
        return tla_error_set(error, TLA_BUS_ERROR, "tensor %s: %s answered an access with an error", t.name.c_str(),
                             to_string(refused->where).c_str());
    sc_core::wait(from_ps(end) - sc_core::sc_time_stamp());
    return TLA_OK;
}

tla_status host::write_tensor(const tensor &to, const std::uint8_t *bytes, tla_error *error) {
    return move(to, tlm::TLM_WRITE_COMMAND, const_cast<std::uint8_t *>(bytes), error); // a target only reads them
}

tla_status host::read_tensor(const tensor &from, std::uint8_t *bytes, tla_error *error) {
    return move(from, tlm::TLM_READ_COMMAND, bytes, error);
}

// --- page faults -----------------------------------------------------------------------------------------------------

void host::serve_fault(int pe, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    if (!payload.is_write() || payload.get_data_length() != page_fault::bytes{}.size()) return;
    const page_fault asked = page_fault::decode(payload.get_data_ptr());
    const std::uint64_t arrival = local_ps(delay);
    std::optional<arrival_gate::passage> order;
    if (exact()) order.emplace(*fault_gate_, static_cast<unsigned>(pe));
    const turnstile::turn turn(fault_turn_, [&order] { order.reset(); });
    set_local_ps(delay, std::max(arrival, now_ps()));
    const bool again = asked.access & page_fault::again;
    if (asked.asid == config_.asid && !bring_page(config_.pes[static_cast<std::size_t>(pe)], asked.va, again, delay))
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
}

// Allocates and maps the page of a tensor on demand that an address lies in, unless another PE's fault did it before.
// What is mapped when its first fault comes was acknowledged before it was visible where the fault is; what is still
// not there when a fault comes again was lost, and is mapped anew.
tla_status host::bring_page(const pe_location &pe, std::uint64_t address, bool again, sc_core::sc_time &delay) {
    const auto holds = [&](const tensor &t) { return address >= t.va.value && address - t.va.value < t.nbytes; };
    const auto found = std::find_if(tensors_.begin(), tensors_.end(), holds);
    if (found == tensors_.end()) return TLA_UNMAPPED;
    tensor &t = *found;
    const std::uint64_t into = address - t.va.value, offset = into - into % config_.page_size;
    const auto there = std::find_if(t.shards.begin(), t.shards.end(), [&](const shard &s) {
        return into >= s.offset && into - s.offset < s.nbytes &&
               (t.kind != spread::replicate || same_cube(s.where, pe));
    });
    if (there != t.shards.end() && there->ready_ps > 0 && !again) {
        set_local_ps(delay, std::max(local_ps(delay), there->ready_ps));
        return TLA_OK;
    }
    set_local_ps(delay, std::max(local_ps(delay), faults_served_ps_) + config_.fault_latency_ps);
    tla_completion completion{};
    const auto send = [&](auto &socket, std::uint64_t to, const tla_command &what) {
        return send_command(*socket.operator->(), to, what, completion, delay, config_.retry, retries_, &requester_);
    };
    const auto map = [&](const shard &s) {
        tla_command command{};
        command.opcode = TLA_OP_MAP;
        command.target = TLA_TARGET_VA_MANAGER;
        command.tag = next_tag_++;
        command.scope = scope_of(t, s);
        command.count = 1;
        command.entries[0] = {{t.va.value + s.offset}, s.pa, s.nbytes, TLA_READ | TLA_WRITE, config_.asid};
        return send(va, config_.fault_port * std::uint64_t{TLA_PORT_BYTES}, command);
    };
    if (there != t.shards.end()) {
        const tla_status status = again ? map(*there) : TLA_OK;
        if (status && status != TLA_OVERLAP) return status; // OVERLAP: it was on its way, and is there
        there->ready_ps = faults_served_ps_ = local_ps(delay);
        return TLA_OK;
    }
    if (t.kind != spread::demand) return TLA_UNMAPPED;
    shard page{pe, {}, std::min(config_.page_size, t.nbytes - offset), offset, 0};

    tla_command command{};
    command.opcode = TLA_OP_ALLOC;
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    command.channel = TLA_HBM;
    command.tag = t.tag;
    command.nbytes = page.nbytes;
    const std::uint64_t port = controller(pe, TLA_CONTROL_MEMORY_CONTROLLER, config_.fault_port);
    if (const tla_status status = send(out, port, command)) return status;
    faults_served_ps_ = local_ps(delay);
    remember(pe, completion);
    page.pa = {completion.value};
    if (const tla_status status = map(page)) {
        command.opcode = TLA_OP_FREE;
        command.pa = page.pa;
        if (send(out, port, command))
            owed_.push_back(page);
        else
            remember(pe, completion);
        return status;
    }
    page.ready_ps = faults_served_ps_ = local_ps(delay);
    t.shards.push_back(page);
    return TLA_OK;
}

// --- kernels and the end ---------------------------------------------------------------------------------------------

tla_status host::launch(std::uint32_t kernel, const std::vector<std::uint64_t> &arguments, tla_error *error) {
    if (arguments.size() > TLA_COMMAND_MAX_ARGUMENTS)
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "launch: %zu arguments, at most %d", arguments.size(),
                             TLA_COMMAND_MAX_ARGUMENTS);
    batch commands(*out.operator->(), way_out(), requester_);
    tla_command command{};
    command.opcode = TLA_OP_LAUNCH;
    command.target = TLA_TARGET_PROCESSING_ELEMENT;
    command.kernel = kernel;
    command.programs = static_cast<std::uint32_t>(config_.pes.size());
    command.count = static_cast<std::uint32_t>(arguments.size());
    std::copy(arguments.begin(), arguments.end(), command.arguments);
    for (std::size_t i = 0; i < config_.pes.size(); i++) {
        command.tag = next_tag_++;
        command.program = static_cast<std::uint32_t>(i);
        commands.post(controller(config_.pes[i], TLA_CONTROL_PROCESSING_ELEMENT, config_.control_port), command);
    }
    const std::vector<tla_completion> completions = commands.wait();
    for (std::size_t i = 0; i < completions.size(); i++)
        if (completions[i].status) { // with the request of the tl_alloc that ended the kernel, if one did
            const std::string which = "kernel on " + to_string(config_.pes[i]);
            if (completions[i].status == TLA_BUSY && completions[i].service_ps == 0) // did not begin
                return tla_error_set(error, TLA_BUSY, "%s: the one before is still running", which.c_str());
            return explain(error, completions[i].nbytes ? which + ": TCM" : which, completions[i],
                           completions[i].nbytes, config_.tcm_reserved);
        }
    return TLA_OK;
}

// In rounds, as long as each gets rid of something: one FREE may join blocks and give the next one its node.
tla_status host::free_owed(tla_error *error) {
    tla_status status = TLA_OK;
    for (std::size_t before = owed_.size() + 1; !owed_.empty() && owed_.size() < before;) {
        before = owed_.size();
        tensor owed{"that was freed before", {}, 0, {}, 0, 0, spread::split};
        owed.shards.swap(owed_);
        status = free_shards(owed, error);
    }
    return status;
}

tla_status host::cleanup(tla_error *error) {
    tla_status status = TLA_OK;
    while (!tensors_.empty()) {
        tla_error why{};
        const std::size_t owed = owed_.size();
        const tla_status freed = free_tensor(&tensors_.back(), &why);
        const bool put_off = (freed == TLA_BUSY || freed == TLA_LIMIT) && owed_.size() > owed;
        if (freed && !put_off && !status) status = tla_error_set(error, freed, "%s", why.text);
    }
    const tla_status freed = free_owed(status ? nullptr : error);
    if (!status) status = freed;
    for (const auto &[where, list] : free_lists_)
        if (!status && !many_free_blocks_ && list.total_free != list.largest_free)
            status =
                tla_error_set(error, TLA_LEAK, "HBM of %s is not one free block after clean-up: %llu of %llu bytes",
                              to_string(where).c_str(), static_cast<unsigned long long>(list.largest_free),
                              static_cast<unsigned long long>(list.total_free));
    return status;
}

} // namespace tlmalloc
