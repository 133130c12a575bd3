// Tensors, page faults and clean-up: which commands, in which order, and what is undone when one is refused.
#include "tlmalloc/modules/runtime.hpp"

#include "host_pool.hpp"
#include "modules/element/launch_pads.hpp"
#include "modules/memory/owed_frees.hpp"
#include "runtime_text.hpp"
#include "tlmalloc/command/control_port.h"

#include <algorithm>
#include <numeric>
#include <set>

namespace tlmalloc {

namespace {

bool same(const pe_location &a, const pe_location &b) {
    return a.sip == b.sip && a.cube == b.cube && a.pe == b.pe;
}

// The port of the controller that has a memory of a PE, or of its cube.
std::uint64_t port_of(tla_channel memory, const pe_location &pe, unsigned port) {
    tla_paddr pa{};
    tla_channel_control(memory, pe.sip, pe.cube, pe.pe, port * std::uint64_t{TLA_PORT_BYTES}, &pa);
    return pa.value;
}

// "HBM of sip0.cube0.pe1", "SRAM of sip0.cube0", "host memory"
std::string place_of(tla_channel memory, const pe_location &pe) {
    const std::string title = tla_channel_title(memory), place = to_string(pe);
    const tla_channel_scope scope = tla_channel_scope_of(memory);
    if (scope == TLA_SCOPE_HOST) return title;
    return title + " of " + (scope == TLA_SCOPE_CUBE ? place.substr(0, place.rfind('.')) : place);
}

tla_channel memory_of(const shard &s) {
    tla_channel memory = TLA_HBM;
    tla_channel_of(s.pa, &memory);
    return memory;
}

// Of a memory controller, about one shard.
tla_command about(tla_command command, const shard &s, tla_channel memory, std::uint32_t object = 0) {
    command.channel = memory;
    command.object = object;
    command.pa = s.pa;
    command.nbytes = s.nbytes;
    return command;
}

} // namespace

runtime::runtime(config settings) : settings_(std::move(settings)), pads_(std::make_unique<launch_pads>(settings_)) {
    for (const pe_location &pe : settings_.pes) {
        scope_.sip_mask |= 1u << pe.sip;
        scope_.die_mask |= 1u << pe.cube;
        scope_.pe_mask |= 1u << pe.pe;
    }
    if (settings_.pool != TLA_HOST_POOL_NONE) pool_ = std::make_unique<pool>(*this);
}

runtime::~runtime() = default;

tla_tensor runtime::view(const tensor &t) const {
    return {static_cast<tla_spread>(t.kind),
            t.va,
            t.nbytes,
            t.shards.data(),
            t.shards.size(),
            scope_,
            settings_.asid,
            &t.placement,
            t.read_only};
}

void runtime::remember(tla_channel memory, const pe_location &pe, const tla_completion &completion) {
    const pe_location where = tla_memory_of_pe(memory, pe);
    const free_list now{memory, where, completion.total_free, completion.largest_free};
    const auto known = std::find_if(free_lists_.begin(), free_lists_.end(), [&](const free_list &list) {
        return list.memory == memory && same(list.where, where);
    });
    if (known == free_lists_.end())
        free_lists_.push_back(now);
    else
        *known = now;
}

// --- commands --------------------------------------------------------------------------------------------------------

tla_command runtime::message(tla_opcode opcode, tla_target target, std::uint32_t correlation_id) {
    tla_command command{};
    command.opcode = opcode;
    command.target = target;
    command.correlation_id = correlation_id;
    command.request_id = next_request_++;
    return command;
}

// All at once, but for those to one port: the second is sent when those before it have been answered.
void runtime::send_once(way to, const std::vector<letter> &letters, const std::vector<std::size_t> &which,
                        std::vector<tla_completion> &completions) {
    std::vector<tla_posting> postings(which.size());
    std::vector<tla_posting *> now;
    for (std::size_t i = 0; i < which.size(); i++) {
        const letter &l = letters[which[i]];
        const auto to_its_port = [&l](const tla_posting *p) { return p->port_address == l.port_address; };
        if (std::any_of(now.begin(), now.end(), to_its_port)) {
            post(to, now);
            now.clear();
        }
        postings[i].port_address = l.port_address;
        postings[i].command = &l.command;
        postings[i].at_ps = now_ps();
        postings[i].gather = true;
        now.push_back(&postings[i]);
    }
    if (!now.empty()) post(to, now);
    for (std::size_t i = 0; i < which.size(); i++) {
        tla_completion &completion = completions[which[i]];
        completion = postings[i].completion;
        completion.status = postings[i].status;
        completion.correlation_id = letters[which[i]].command.correlation_id; // of what did not answer, too
        completion.request_id = letters[which[i]].command.request_id;
    }
}

// Completions in the order of the letters; what is refused for now is sent again. A command whose write was refused has
// the status TLA_BUS_ERROR.
std::vector<tla_completion> runtime::send_all(way to, const std::vector<letter> &letters, unsigned tries_left) {
    std::vector<tla_completion> result(letters.size());
    std::vector<std::size_t> which(letters.size());
    std::iota(which.begin(), which.end(), std::size_t{0});
    for (;;) {
        send_once(to, letters, which, result);
        const auto was_taken = [&](std::size_t n) { return result[n].status != TLA_BUSY; };
        which.erase(std::remove_if(which.begin(), which.end(), was_taken), which.end());
        if (which.empty() || tries_left-- == 0) return result;
        wait_for_ps(settings_.retry.delay_ps);
        retries_ += which.size();
    }
}

tla_status runtime::va_command(tla_command &command, tla_completion &completion) {
    const std::uint64_t port = settings_.control_port * std::uint64_t{TLA_PORT_BYTES};
    completion = send_all(way::addresses, {{port, command}}, settings_.retry.retries)[0];
    return completion.status;
}

tla_status runtime::free_addresses(const tensor &t, std::uint32_t correlation_id, tla_completion &completion) {
    tla_command command = message(TLA_OP_VA_FREE, TLA_TARGET_VA_MANAGER, correlation_id);
    command.va = t.va;
    command.nbytes = t.nbytes;
    return va_command(command, completion);
}

// --- tensors ---------------------------------------------------------------------------------------------------------

tla_status runtime::create_tensor(const std::string &name, std::uint64_t elements, std::uint32_t element_bytes,
                                  const placement &where, tensor **made, tla_error *error) {
    *made = nullptr;
    std::uint64_t nbytes = 0;
    if (elements == 0 || element_bytes == 0 || where.pes.empty() || where.kind == spread::placed ||
        __builtin_mul_overflow(elements, std::uint64_t{element_bytes}, &nbytes))
        return tla_error_set(error, TLA_INVALID_ARGUMENT, "tensor %s: no elements, no PEs, or more than 2^64 bytes",
                             name.c_str());
    for (const pe_location &pe : where.pes)
        if (!knows(pe))
            return tla_error_set(error, TLA_INVALID_ARGUMENT, "tensor %s: no %s in this platform", name.c_str(),
                                 to_string(pe).c_str());
    tla_error why{};
    if (const tla_status status = check_memory(where.memory, &why))
        return tla_error_set(error, status, "tensor %s: %s", name.c_str(), why.text);
    std::vector<shard> wanted(where.pes.size());
    wanted.resize(tla_tensor_split(static_cast<tla_spread>(where.kind), where.pes.data(), where.pes.size(), elements,
                                   element_bytes, wanted.data()));
    return bring_into_being({name, {}, nbytes, {}, 0, 0, where.kind, 0, {}, where.memory, where.read_only}, wanted,
                            made, error);
}

tla_status runtime::create_tensor(const std::string &name, const tla_placement &where, tensor **made,
                                  tla_error *error) {
    *made = nullptr;
    tla_error why{};
    if (const tla_status status = tla_placement_check(&where, &why))
        return tla_error_set(error, status, "tensor %s: %s", name.c_str(), why.text);
    for (std::uint32_t cube = 0; cube < where.cubes; cube++)
        for (std::uint32_t pe = 0; pe < where.pes; pe++)
            if (!knows({where.sip, cube, pe}))
                return tla_error_set(error, TLA_NOT_FOUND, "tensor %s: no %s in this platform", name.c_str(),
                                     to_string(pe_location{where.sip, cube, pe}).c_str());
    std::vector<shard> wanted(std::size_t{where.cubes} * where.pes);
    wanted.resize(tla_placement_split(&where, wanted.data()));
    return bring_into_being({name, {}, tla_placement_bytes(&where), {}, 0, 0, spread::placed, 0, where}, wanted, made,
                            error);
}

bool runtime::knows(const pe_location &pe) const {
    const std::vector<pe_location> &all = settings_.pes;
    return std::any_of(all.begin(), all.end(), [&pe](const pe_location &p) { return same(p, pe); });
}

tla_status runtime::check_memory(tla_channel memory, tla_error *error) const {
    if (!tla_channel_name(memory)) return tla_error_set(error, TLA_INVALID_ARGUMENT, "no memory %d", memory);
    if (memory == TLA_HOST_MEMORY && settings_.memory == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "the host has no memory in this platform: host_memory.capacity is 0 B");
    return TLA_OK;
}

// Addresses, memory for what is wanted, mappings; all of it or nothing.
tla_status runtime::bring_into_being(tensor t, const std::vector<shard> &wanted, tensor **made, tla_error *error) {
    const std::string what = "tensor " + t.name;
    return as_call(what.c_str(), error, [&] { return try_to_make(std::move(t), wanted, made, error); });
}

tla_status runtime::try_to_make(tensor t, const std::vector<shard> &wanted, tensor **made, tla_error *error) {
    const std::uint32_t correlation_id = t.object = next_correlation_++;
    const std::uint64_t start = now_ps();
    tla_command reserve = message(TLA_OP_VA_ALLOC, TLA_TARGET_VA_MANAGER, correlation_id);
    reserve.nbytes = t.nbytes;
    tla_completion range{};
    if (va_command(reserve, range)) return explain(error, "tensor " + t.name + ": virtual addresses", range, t.nbytes);
    t.va = {range.value};
    tla_status status = allocate_shards(t, wanted, correlation_id, error);
    t.alloc_ps = now_ps() - start;
    if (!status) {
        status = map(t, TLA_OP_MAP, correlation_id, error);
        t.map_ps = now_ps() - start - t.alloc_ps;
        if (status) free_shards(t, correlation_id, nullptr);
    }
    if (status) {
        free_addresses(t, correlation_id, range);
        return status;
    }
    tensors_.push_back(std::move(t));
    *made = &tensors_.back();
    return TLA_OK;
}

tla_status runtime::allocate_shards(tensor &t, const std::vector<shard> &wanted, std::uint32_t correlation_id,
                                    tla_error *error) {
    const std::vector<tla_completion> completions = take_blocks(t, wanted, correlation_id);
    tla_status status = TLA_OK;
    for (std::size_t i = 0; i < wanted.size(); i++) {
        const tla_completion &completion = completions[i];
        if (completion.status) {
            if (!status)
                status = explain_block(error, "tensor " + t.name + ": ", t.memory, wanted[i].where, completion,
                                       wanted[i].nbytes);
            continue;
        }
        remember(t.memory, wanted[i].where, completion);
        t.alloc_service_ps = std::max(t.alloc_service_ps, completion.service_ps);
        t.shards.push_back(wanted[i]);
        t.shards.back().pa = {completion.value};
    }
    if (status) {
        free_shards(t, correlation_id, nullptr); // never a part (ADR-0048 D6)
        tell_shortage(t.memory, wanted, completions, error);
    }
    return status;
}

tla_status runtime::explain_block(tla_error *error, const std::string &what, tla_channel memory,
                                  const pe_location &where, const tla_completion &completion,
                                  std::uint64_t nbytes) const {
    const std::uint64_t reserved = memory == TLA_HBM   ? settings_.hbm_reserved
                                   : memory == TLA_TCM ? settings_.tcm_reserved
                                                       : 0;
    const bool segmented = settings_.segment_fronts >> memory & 1;
    return explain(error, what + place_of(memory, where), completion, nbytes, reserved,
                   segment_key_of(memory, segmented));
}

// Where several parts do not fit the error says what is missing in all.
void runtime::tell_shortage(tla_channel memory, const std::vector<shard> &wanted,
                            const std::vector<tla_completion> &completions, tla_error *error) const {
    std::set<std::string> places; // parts may be refused by one memory
    std::size_t parts = 0;
    std::uint64_t nbytes = 0, free = 0;
    for (std::size_t i = 0; i < wanted.size(); i++) {
        if (completions[i].status != TLA_EXHAUSTED && completions[i].status != TLA_FRAGMENTED) continue;
        parts++;
        nbytes += wanted[i].nbytes;
        if (places.insert(place_of(memory, wanted[i].where)).second) free += completions[i].total_free;
    }
    if (!error || parts < 2) return;
    const tla_error first = *error;
    tla_error_set(error, first.status, "%s; %zu of %zu parts do not fit: they take %llu bytes, where %llu are free",
                  first.text, parts, wanted.size(), static_cast<unsigned long long>(nbytes),
                  static_cast<unsigned long long>(free));
    error->requested = first.requested;
    error->total_free = first.total_free;
    error->largest_free = first.largest_free;
}

tla_status runtime::free_shards(tensor &t, std::uint32_t correlation_id, tla_error *error) {
    const std::vector<tla_completion> completions = give_blocks_back(t, correlation_id);
    tla_status status = TLA_OK;
    for (std::size_t i = 0; i < completions.size(); i++) {
        const shard &s = t.shards[i];
        if (stays_owed(static_cast<tla_status>(completions[i].status))) owed_.push_back(s);
        if (!completions[i].status)
            remember(memory_of(s), s.where, completions[i]);
        else if (!status)
            status =
                explain(error, "tensor " + t.name + ": free in " + place_of(memory_of(s), s.where), completions[i], 0);
    }
    t.shards.clear();
    return status;
}

// --- blocks: from the controllers, by the driver, from the pool ------------------------------------------------------

// A call of the driver.
tla_completion runtime::ask_controller(tla_opcode opcode, tla_channel memory, const shard &s,
                                       std::uint32_t correlation_id, std::uint32_t object) {
    const auto operation = opcode == TLA_OP_ALLOC ? TLA_HOST_DRIVER_ALLOC : TLA_HOST_DRIVER_FREE;
    tla_completion completion{};
    const tla_status status = in_driver(tla_memory_of_pe(memory, s.where).sip, operation, [&] {
        const letter l{port_of(memory, s.where, settings_.control_port),
                       about(message(opcode, TLA_TARGET_MEMORY_CONTROLLER, correlation_id), s, memory, object)};
        completion = send_all(way::fabric, {l}, settings_.retry.retries)[0];
        return static_cast<tla_status>(completion.status);
    });
    completion.status = status;
    return completion;
}

tla_completion runtime::take_block(tla_channel memory, const shard &s, std::uint32_t correlation_id,
                                   std::uint32_t object) {
    return pool_ ? pool_->take(memory, s, correlation_id)
                 : ask_controller(TLA_OP_ALLOC, memory, s, correlation_id, object);
}

// One after the other by way of the driver and the pool; where there is neither, all at once.
std::vector<tla_completion> runtime::take_blocks(const tensor &t, const std::vector<shard> &wanted,
                                                 std::uint32_t correlation_id) {
    if (in_lockstep(t.memory)) return take_in_lockstep(t, wanted, correlation_id);
    if (pool_ || settings_.driver.kind != TLA_HOST_DRIVER_NONE) {
        std::vector<tla_completion> completions;
        for (const shard &s : wanted)
            completions.push_back(take_block(t.memory, s, correlation_id, t.object));
        return completions;
    }
    std::vector<letter> letters;
    for (const shard &s : wanted)
        letters.push_back(
            {port_of(t.memory, s.where, settings_.control_port),
             about(message(TLA_OP_ALLOC, TLA_TARGET_MEMORY_CONTROLLER, correlation_id), s, t.memory, t.object)});
    return send_all(way::fabric, letters, settings_.retry.retries);
}

// To where they came from: pages that a fault brought came from their controller.
std::vector<tla_completion> runtime::give_blocks_back(const tensor &t, std::uint32_t correlation_id) {
    if (t.kind != spread::demand && (pool_ || settings_.driver.kind != TLA_HOST_DRIVER_NONE)) {
        std::vector<tla_completion> completions;
        for (const shard &s : t.shards)
            completions.push_back(pool_ ? pool_->give_back(memory_of(s), s, correlation_id)
                                        : ask_controller(TLA_OP_FREE, memory_of(s), s, correlation_id, 0));
        return completions;
    }
    std::vector<shard> placed;      // by an owner
    std::vector<letter> letters;    // of the others
    for (const shard &s : t.shards) // which may be those of several tensors
        if (in_lockstep(memory_of(s)))
            placed.push_back(s);
        else
            letters.push_back(
                {port_of(memory_of(s), s.where, settings_.control_port),
                 about(message(TLA_OP_FREE, TLA_TARGET_MEMORY_CONTROLLER, correlation_id), s, memory_of(s))});
    const std::vector<tla_completion> alone = send_all(way::fabric, letters, settings_.retry.retries),
                                      together = give_back_in_lockstep(placed, correlation_id);
    std::vector<tla_completion> completions;
    auto next_alone = alone.begin(), next_together = together.begin();
    for (const shard &s : t.shards)
        completions.push_back(in_lockstep(memory_of(s)) ? *next_together++ : *next_alone++);
    return completions;
}

tla_status runtime::allocate(const pe_location &pe, tla_channel memory, std::uint64_t nbytes, shard *made,
                             tla_error *error) {
    if (const tla_status status = check_memory(memory, error)) return status;
    if (!knows(pe) || nbytes == 0)
        return tla_error_set(error, TLA_INVALID_ARGUMENT,
                             "%llu bytes in memory %d of %s: expected 1 or more, in a "
                             "memory of this platform",
                             static_cast<unsigned long long>(nbytes), memory, to_string(pe).c_str());
    return as_call("allocation", error, [&] {
        *made = {pe, {}, nbytes, 0, 0};
        const tla_completion completion = take_block(memory, *made, next_correlation_++, 0);
        if (completion.status) return explain_block(error, "", memory, pe, completion, nbytes);
        remember(memory, pe, completion);
        made->pa = {completion.value};
        return TLA_OK;
    });
}

tla_status runtime::release(const shard &block, tla_error *error) {
    return as_call("free", error, [&] {
        const tla_channel memory = memory_of(block);
        const std::uint32_t correlation_id = next_correlation_++;
        const tla_completion completion = pool_ ? pool_->give_back(memory, block, correlation_id)
                                                : ask_controller(TLA_OP_FREE, memory, block, correlation_id, 0);
        if (completion.status) return explain_block(error, "free in ", memory, block.where, completion, 0);
        remember(memory, block.where, completion);
        return TLA_OK;
    });
}

runtime::pool_counts runtime::pool_statistics() const {
    return pool_ ? pool_->statistics() : pool_counts{};
}

tla_status runtime::empty_pool(tla_error *error) {
    if (!pool_) return TLA_OK;
    tla_channel memory = TLA_HBM;
    pe_location where{};
    const tla_completion refused = pool_->empty(next_correlation_++, memory, where);
    return refused.status ? explain_block(error, "free in ", memory, where, refused, 0) : TLA_OK;
}

// Maps or unmaps all shards in every MMU that is to see them, as many entries in a command as fit.
tla_status runtime::map(const tensor &t, tla_opcode opcode, std::uint32_t correlation_id, tla_error *error) {
    const tla_tensor all = view(t);
    tla_completion completion{};
    tla_status status = TLA_OK;
    std::size_t mapped = 0;
    while (mapped < all.count && !status) {
        tla_command command = message(opcode, TLA_TARGET_VA_MANAGER, correlation_id);
        const std::size_t count = tla_tensor_map_command(&all, mapped, opcode, &command);
        status = va_command(command, completion);
        if (!status) mapped += count;
    }
    if (!status) return TLA_OK;
    if (opcode == TLA_OP_MAP && mapped > 0) { // take back the commands that went through
        tensor done = t;
        done.shards.resize(mapped);
        map(done, TLA_OP_UNMAP, correlation_id, nullptr);
    }
    std::string what = "tensor " + t.name + (opcode == TLA_OP_MAP ? ": map" : ": unmap");
    if (completion.failed_at.kind) what += ": " + to_string(completion.failed_at);
    return explain(error, what, completion, 0);
}

tla_status runtime::free_tensor(tensor *which, tla_error *error) {
    return as_call("free of a tensor", error, [&] { return try_to_free(which, error); });
}

tla_status runtime::try_to_free(tensor *which, tla_error *error) {
    std::list<tensor> taken; // from then on its pages fault in vain
    between_faults([&] {
        const auto found = std::find_if(tensors_.begin(), tensors_.end(), [&](const tensor &t) { return &t == which; });
        if (found != tensors_.end()) taken.splice(taken.end(), tensors_, found);
    });
    if (taken.empty()) return tla_error_set(error, TLA_NOT_ALLOCATED, "no such tensor");
    tensor &t = taken.front();
    const std::uint32_t correlation_id = next_correlation_++;
    tla_status status = map(t, TLA_OP_UNMAP, correlation_id, error);
    tla_completion completion{};
    const tla_status range = free_addresses(t, correlation_id, completion);
    if (range && !status) status = explain(error, "tensor " + t.name + ": free of virtual addresses", completion, 0);
    const tla_status freed =
        free_shards(t, correlation_id, status ? nullptr : error); // when nothing leads there any more
    return status ? status : freed;
}

// --- page faults -----------------------------------------------------------------------------------------------------

tla_status runtime::bring_page(const pe_location &pe, std::uint64_t va, bool again, std::uint64_t &at_ps) {
    const auto holds = [&](const tensor &t) { return va >= t.va.value && va - t.va.value < t.nbytes; };
    const auto found = std::find_if(tensors_.begin(), tensors_.end(), holds);
    if (found == tensors_.end()) return TLA_UNMAPPED;
    tensor &t = *found;
    const tla_tensor all = view(t);
    std::size_t which = 0;
    shard page{};
    const tla_page_need need = tla_tensor_page(&all, &pe, {va}, again, settings_.page_size, &which, &page);
    if (need == TLA_PAGE_NOTHING) {
        at_ps = std::max(at_ps, t.shards[which].ready_ps);
        return TLA_OK;
    }
    at_ps = std::max(at_ps, faults_served_ps_) + settings_.fault_latency_ps;
    if (need == TLA_PAGE_REFUSAL) return TLA_UNMAPPED;
    const std::uint32_t correlation_id = next_correlation_++;
    tla_error why{};
    tla_status status = TLA_OK;
    if (need == TLA_PAGE_MEMORY) {
        status = allocate_page(t, page, correlation_id, at_ps, why);
    } else {
        if (need == TLA_PAGE_MAP) status = map_page(t, t.shards[which], correlation_id, at_ps, why);
        if (status == TLA_OVERLAP) status = TLA_OK; // it was on its way, and is there
        if (!status) t.shards[which].ready_ps = faults_served_ps_ = at_ps;
    }
    note_page(pe, va, status ? why.text : "");
    return status;
}

// Of a PE's page that was refused why; a page that has come, or is refused again, has no other text.
void runtime::note_page(const pe_location &pe, std::uint64_t va, const std::string &refusal) {
    const auto is_it = [&](const refused_page &r) { return same(r.pe, pe) && r.va == va; };
    refused_pages_.erase(std::remove_if(refused_pages_.begin(), refused_pages_.end(), is_it), refused_pages_.end());
    if (!refusal.empty()) refused_pages_.push_back({pe, va, refusal});
}

std::string runtime::why_no_page(const pe_location &pe, std::uint64_t begin, std::uint64_t end) const {
    for (const refused_page &r : refused_pages_)
        if (same(r.pe, pe) && r.va >= begin && r.va < end) return r.why;
    return "";
}

tla_status runtime::map_page(const tensor &t, const shard &page, std::uint32_t correlation_id, std::uint64_t &at_ps,
                             tla_error &why) {
    tla_tensor one = view(t);
    one.shards = &page;
    one.count = 1;
    tla_command command = message(TLA_OP_MAP, TLA_TARGET_VA_MANAGER, correlation_id);
    tla_tensor_map_command(&one, 0, TLA_OP_MAP, &command);
    tla_completion completion{};
    const tla_status status =
        send(way::addresses, settings_.fault_port * std::uint64_t{TLA_PORT_BYTES}, command, completion, at_ps);
    if (!status) return TLA_OK;
    completion.status = status;
    return explain(&why, "map in " + to_string(completion.failed_at), completion, 0);
}

tla_status runtime::allocate_page(tensor &t, shard page, std::uint32_t correlation_id, std::uint64_t &at_ps,
                                  tla_error &why) {
    const std::uint64_t port = port_of(t.memory, page.where, settings_.fault_port);
    tla_completion completion{};
    const auto to_controller = [&](tla_opcode opcode) {
        return about(message(opcode, TLA_TARGET_MEMORY_CONTROLLER, correlation_id), page, t.memory, t.object);
    };
    if (const tla_status status = send(way::fabric, port, to_controller(TLA_OP_ALLOC), completion, at_ps)) {
        completion.status = status;
        return explain_block(&why, "", t.memory, page.where, completion, page.nbytes);
    }
    faults_served_ps_ = at_ps;
    remember(t.memory, page.where, completion);
    page.pa = {completion.value};
    if (const tla_status status = map_page(t, page, correlation_id, at_ps, why)) {
        if (send(way::fabric, port, to_controller(TLA_OP_FREE), completion, at_ps))
            owed_.push_back(page);
        else
            remember(t.memory, page.where, completion);
        return status;
    }
    page.ready_ps = faults_served_ps_ = at_ps;
    t.shards.push_back(page);
    return TLA_OK;
}

// --- the end
// -------------------------------------------------------------------------------------------------------------

// In rounds, as long as each gets rid of something: one FREE may join blocks and give the next one its node.
tla_status runtime::free_owed(tla_error *error) {
    tla_status status = TLA_OK;
    for (std::size_t before = owed_.size() + 1; !owed_.empty() && owed_.size() < before;) {
        before = owed_.size();
        // A pool owes nothing: what is owed beside it came from the controllers, as pages do.
        const spread kind = pool_ ? spread::demand : spread::split;
        tensor owed{"that was freed before", {}, 0, {}, 0, 0, kind, 0, {}};
        owed.shards.swap(owed_);
        status = free_shards(owed, next_correlation_++, error);
    }
    return status;
}

tla_status runtime::trim(tla_channel memory, const std::vector<pe_location> &where, tla_error *error) {
    return as_call("trim", error, [&] { return try_to_trim(memory, where, error); });
}

tla_status runtime::try_to_trim(tla_channel memory, const std::vector<pe_location> &where, tla_error *error) {
    std::vector<letter> letters;
    std::vector<pe_location> places;
    const std::uint32_t correlation_id = next_correlation_++;
    for (const pe_location &pe : where) {
        const pe_location place = tla_memory_of_pe(memory, pe);
        if (std::any_of(places.begin(), places.end(), [&](const pe_location &p) { return same(p, place); })) continue;
        places.push_back(place);
        letters.push_back({port_of(memory, place, settings_.control_port),
                           message(TLA_OP_TRIM, TLA_TARGET_MEMORY_CONTROLLER, correlation_id)});
        letters.back().command.channel = memory;
    }
    const std::vector<tla_completion> completions = send_all(way::fabric, letters, settings_.retry.retries);
    tla_status status = TLA_OK;
    for (std::size_t i = 0; i < completions.size(); i++)
        if (!completions[i].status)
            remember(memory, places[i], completions[i]);
        else if (!status)
            status = explain(error, "trim of " + place_of(memory, places[i]), completions[i], 0);
    return status;
}

// Of PEs all, as kernels and MMUs allocate too; of the others those that were used.
tla_status runtime::trim_fronts(tla_error *error) {
    tla_status status = TLA_OK;
    for (int c = 0; c < TLA_CHANNEL_COUNT; c++) {
        const auto memory = static_cast<tla_channel>(c);
        if (!(settings_.fronts >> c & 1)) continue;
        std::vector<pe_location> where = settings_.pes;
        if (tla_channel_scope_of(memory) != TLA_SCOPE_PE) {
            where.clear();
            for (const free_list &list : free_lists_)
                if (list.memory == memory) where.push_back(list.where);
        }
        const tla_status trimmed = trim(memory, where, status ? nullptr : error);
        if (!status) status = trimmed;
    }
    return status;
}

tla_status runtime::cleanup(tla_error *error) {
    return as_call("clean-up", error, [&] { return try_to_clean_up(error); });
}

tla_status runtime::try_to_clean_up(tla_error *error) {
    tla_status status = TLA_OK;
    while (!tensors_.empty() && !ends_calls()) {
        tla_error why{};
        const std::size_t owed = owed_.size();
        const tla_status freed = free_tensor(&tensors_.back(), &why);
        const bool put_off = stays_owed(freed) && owed_.size() > owed;
        if (freed && !put_off && !status) status = tla_error_set(error, freed, "%s", why.text);
    }
    for (tla_status (runtime::*const step)(tla_error *) :
         {&runtime::free_owed, &runtime::empty_pool, &runtime::trim_fronts}) {
        tla_error why{};
        tla_status ended = (this->*step)(&why);
        for (unsigned i = 0; ended == TLA_BUSY && i < TLA_OWED_TRIES && !ends_calls(); i++) { // faults pass
            wait_for_ps(settings_.retry.delay_ps);
            ended = (this->*step)(&why);
        }
        if (ended && !status && error) *error = why;
        if (!status) status = ended;
    }
    // What others have given back since this host's last command, as MMUs their tables, shows with one more.
    for (const free_list &list : std::vector<free_list>(free_lists_))
        if (!status && !many_free_blocks_ && list.total_free != list.largest_free)
            trim(list.memory, {list.where}, nullptr);
    for (const free_list &list : free_lists_)
        if (!status && !many_free_blocks_ && list.total_free != list.largest_free)
            status = tla_error_set(error, TLA_LEAK, "%s is not one free block after clean-up: %llu of %llu bytes",
                                   place_of(list.memory, list.where).c_str(),
                                   static_cast<unsigned long long>(list.largest_free),
                                   static_cast<unsigned long long>(list.total_free));
    return status;
}

} // namespace tlmalloc
