// A run on a timeline: a process for each cube, in it a thread for what its PEs, engines and MMUs do.
#include "events/run_trace.hpp"

#include "events/trace_names.hpp"
#include "tlmalloc/version.h"

#include <algorithm>

namespace tlmalloc {

run_trace::run_trace(std::FILE *out, bool compressed, const char *kernel, const char *config)
    : file_(out, compressed), kernel_(kernel), config_(config) {}

// --- what there is ---------------------------------------------------------------------------------------------------

std::uint32_t run_trace::process_of(const std::string &module) {
    const std::string place = place_of_module(module);
    const auto found = processes_.find(place);
    if (found != processes_.end()) return found->second;
    return processes_[place] = trace_.add_process(place);
}

void run_trace::add_pe(const std::string &name) {
    const std::uint32_t process = process_of(name);
    pes_.push_back({trace_.add_track(process, name + ".kernel", true),
                    trace_.add_track(process, name + ".dma.read", false),
                    trace_.add_track(process, name + ".dma.write", false),
                    {},
                    {}});
}

void run_trace::add_memory(const found_memory &found) {
    const std::string &module = names_.modules[found.module];
    const std::string name = name_of_memory(module, found.memory);
    const std::uint32_t process = process_of(module);
    memories_[{found.module, found.memory}] = {trace_.add_counter(process, name + " used", "bytes"),
                                               trace_.add_counter(process, name + " fragmentation", "%")};
    show_memory(found, 0);
}

// The host first, then the modules in their order, each PE's own behind its kernel and its DMA engine.
void run_trace::begin(const event_names &names) {
    names_ = names;
    host_ = trace_.add_track(process_of("host"), "host", true);
    for (const std::string &module : names_.modules) {
        const std::string place = module.substr(0, module.rfind('.'));
        std::optional<std::uint32_t> pe;
        if (pes_.size() < names_.pes.size() && place == names_.pes[pes_.size()]) add_pe(place);
        if (!pes_.empty() && module == names_.pes[pes_.size() - 1] + ".element")
            pe = static_cast<std::uint32_t>(pes_.size() - 1);
        const std::uint32_t process = process_of(module);
        engines_.push_back({trace_.add_track(process, module, false),
                            trace_.add_counter(process, module + " waiting", "commands"),
                            pe,
                            0,
                            {}});
    }
    for (const found_memory &found : names_.memories)
        add_memory(found);
}

std::string run_trace::name_of_link(std::uint32_t link) const {
    return names_.nodes[names_.links[link].first] + " -> " + names_.nodes[names_.links[link].second];
}

// --- commands --------------------------------------------------------------------------------------------------------

void run_trace::add_sender(json_line &args, const command_times &of) const {
    if (of.sender != sent_by_nobody)
        args.key("sender").text(of.sender == sent_by_host ? "host" : names_.pes[of.sender - 1].c_str());
}

// A command waits when it comes while the engine works for another one.
void run_trace::add_waiting(engine &of, const command_times &times) {
    if (times.arrival_ps < of.free_ps && times.arrival_ps < times.start_ps) {
        of.steps.emplace_back(times.arrival_ps, 1);
        of.steps.emplace_back(times.start_ps, -1);
    }
    of.free_ps = std::max(of.free_ps, times.done_ps);
}

std::uint32_t run_trace::add_command(const command_times &of, const char *category, const json_line &args) {
    engine &by = engines_[of.module];
    add_waiting(by, of);
    return trace_.add_slice(by.track, of.start_ps, of.done_ps, category, with_status(tla_opcode_name(of.op), of.status),
                            args.written());
}

run_trace::request &run_trace::request_of(const command_times &of) {
    return requests_[{of.op, std::uint64_t{of.correlation} << 32 | of.request}];
}

void run_trace::show_memory(const found_memory &memory, std::uint64_t ps) {
    const auto found = memories_.find({memory.module, memory.memory});
    if (found == memories_.end()) return;
    const memory_counters &of = found->second;
    trace_.count(of.used, ps, memory.used_bytes * 1000);
    const std::uint64_t scattered = memory.free_bytes - memory.largest_free; // less than 2^47
    trace_.count(of.fragmentation, ps, memory.free_bytes ? scattered * 100'000 / memory.free_bytes : 0);
}

void run_trace::add(const memory_command &event) {
    json_line args;
    args.key("bytes").number(event.nbytes);
    if (event.address) args.key("address").text(hexadecimal(*event.address));
    if (event.memory) args.key("memory").text(tla_memory_kind_name(*event.memory));
    if (event.block) args.key("block").number(*event.block);
    args.key("waited_ps").number(event.of.start_ps - event.of.arrival_ps);
    add_sender(args, event.of);
    if (event.of.status && event.free_bytes && event.largest_free)
        args.key("free").number(*event.free_bytes).key("largest_free").number(*event.largest_free);
    const std::uint32_t slice = add_command(event.of, "memory", args);
    if (event.block) blocks_.try_emplace(*event.block, allocation{slice, event.object}); // its ALLOC comes first
    if (event.list)
        show_memory({event.of.module, event.memory, event.list->used, event.list->free, event.list->largest_free},
                    event.of.done_ps);
}

// A track of moves, which only few modules make.
std::uint32_t run_trace::track_of(std::uint32_t module, const char *what) {
    const std::string name = names_.modules[module] + what;
    const auto found = of_moves_.find(name);
    if (found != of_moves_.end()) return found->second;
    return of_moves_[name] = trace_.add_track(process_of(names_.modules[module]), name, false);
}

void run_trace::add(const block_move &event) {
    if (event.in_exchange) return; // nothing is copied
    const memory_controller::moved_block &what = event.what;
    json_line args;
    args.key("bytes").number(what.nbytes);
    args.key("from").text(hexadecimal(what.from.pa.value)).key("to").text(hexadecimal(what.to.pa.value));
    args.key("memory").text(tla_memory_kind_name(what.from.memory));
    args.key("to_memory").text(tla_memory_kind_name(what.to.memory));
    if (event.block) args.key("block").number(*event.block);
    const std::uint32_t slice = trace_.add_slice(track_of(event.module, ".moves"), what.begun_ps, what.freed_ps, "move",
                                                 what.of_compaction ? "compaction" : "move", args.written());
    if (event.block) moves_.push_back({slice, *event.block});
    show_memory({event.module, what.from.memory, what.left.used, what.left.free, what.left.largest_free},
                what.freed_ps);
}

void run_trace::add(const move_stop &event) {
    trace_.add_slice(track_of(event.module, ".stops"), event.begin_ps, event.end_ps, "move", "stop", "");
}

// Faults overlap: they wait for each other.
void run_trace::add(const fault_service &event) {
    const runtime::ended_fault &what = event.what;
    json_line args;
    args.key("va").text(hexadecimal(what.va)).key("began_ps").number(what.begin_ps);
    args.key("by").text(event.by_controller ? "controller" : "host").key("served").truth(what.served);
    args.key("fetched").number(what.fetched).key("prefetched").number(what.prefetched);
    trace_.add_instant(host_, what.end_ps, "page", "page fault", args.written());
}

void run_trace::add(const page_exit &event) {
    json_line args;
    args.key("va").text(hexadecimal(event.what.va)).key("began_ps").number(event.what.begin_ps);
    args.key("memory").text(tla_memory_kind_name(event.what.memory)).key("written").truth(event.what.written);
    trace_.add_instant(host_, event.what.end_ps, "page", "page exit", args.written());
}

void run_trace::add(const mapping_command &event) {
    json_line args;
    std::uint64_t nbytes = 0;
    for (std::size_t i = 0; i < event.count; i++)
        nbytes += event.entries[i].nbytes;
    args.key("ranges").number(event.count).key("bytes").number(nbytes);
    if (event.count > 0) args.key("va").text(hexadecimal(event.entries[0].va.value));
    args.key("waited_ps").number(event.of.start_ps - event.of.arrival_ps);
    add_sender(args, event.of);
    const std::uint32_t slice = add_command(event.of, "mapping", args);
    if (ends_with(names_.modules[event.of.module], ".mmu"))
        request_of(event.of).arrived.push_back(slice);
    else
        request_of(event.of).passed.push_back({slice, event.of.module});
}

void run_trace::add(const launch_command &event) {
    const std::optional<std::uint32_t> pe = engines_[event.of.module].pe;
    if (pe && event.of.op == TLA_OP_LAUNCH && (event.took_ps > 0 || !event.of.status)) { // it has run
        const std::uint32_t slice = trace_.add_slice(pes_[*pe].kernel, event.began_ps, event.began_ps + event.took_ps,
                                                     "kernel", with_status(kernel_, event.of.status), "");
        pes_[*pe].kernels.push_back(slice);
        request_of(event.of).arrived.push_back(slice);
        return;
    }
    json_line args;
    add_sender(args, event.of);
    const std::uint32_t slice = add_command(event.of, "launch", args);
    if (pe)
        request_of(event.of).arrived.push_back(slice);
    else
        request_of(event.of).passed.push_back({slice, event.of.module});
}

// --- the rest of what happens ----------------------------------------------------------------------------------------

void run_trace::add(const troubled_access &event) {
    json_line args;
    args.key("va").text(hexadecimal(event.access.va.value)).key("bytes").number(event.access.nbytes);
    args.key("access").text(event.access.access & TLA_WRITE ? "write" : "read");
    trace_.add_instant(engines_[event.module].track, event.at_ps, "access", name_of(event.what), args.written());
}

void run_trace::add(const time_interval &event) {
    const tla_time_charge &charge = event.part.charge;
    json_line args;
    if (charge.place != TLA_TIME_NOWHERE)
        args.key("place").text(charge.kind == TLA_TIME_LINK ? name_of_link(charge.place) : names_.nodes[charge.place]);
    if (charge.unit != TLA_TIME_NOWHERE)
        args.key("channel").number(charge.unit >> 16).key("bank").number(charge.unit & 0xffff);
    const std::uint32_t track = event.who == sent_by_host ? host_ : pes_[event.who - 1].kernel;
    const std::uint32_t slice = trace_.add_slice(track, event.part.begin_ps, event.part.end_ps, "time",
                                                 tla_time_kind_name(charge.kind), args.written());
    if (event.who != sent_by_host) pes_[event.who - 1].parts.push_back(slice);
}

void run_trace::show_use(std::optional<std::uint64_t> block, std::uint32_t slice) {
    if (!block) return;
    const auto [found, is_new] = uses_.emplace(*block, slice);
    if (!is_new && trace_.begin_of(slice) < trace_.begin_of(found->second)) found->second = slice;
}

void run_trace::add(const dma_transfer &event) {
    json_line args;
    args.key("bytes").number(event.nbytes);
    args.key(event.physical ? "pa" : "va").text(hexadecimal(event.address));
    std::string memories;
    for (const std::uint32_t node : event.memories)
        memories += (memories.empty() ? "" : ", ") + names_.nodes[node];
    args.key("memories").text(memories);
    if (event.block) args.key("block").number(*event.block);
    if (event.tile_block) args.key("tile_block").number(*event.tile_block);
    const pe_tracks &pe = pes_[event.pe];
    const char *const name = event.for_message ? "message" : event.write ? "write" : "read";
    const std::uint32_t slice = trace_.add_slice(event.write ? pe.writes : pe.reads, event.start_ps, event.end_ps,
                                                 "transfer", with_status(name, event.status), args.written());
    show_use(event.block, slice);
    show_use(event.tile_block, slice);
    if (event.block && !event.status && !event.for_message) transfers_.push_back({slice, name, *event.block});
}

void run_trace::add(const message_delivery &event) {
    messages_.push_back(event);
}

// --- the end ---------------------------------------------------------------------------------------------------------

// A kernel without an answer (a deadlock) ends with its last known event.
void run_trace::end_kernels() {
    for (pe_tracks &pe : pes_) {
        std::optional<std::pair<std::uint64_t, std::uint64_t>> open;
        for (const std::uint32_t part : pe.parts) {
            const std::uint64_t begin_ps = trace_.begin_of(part), end_ps = trace_.end_of(part);
            const bool is_known = std::any_of(pe.kernels.begin(), pe.kernels.end(), [&](std::uint32_t kernel) {
                return trace_.begin_of(kernel) <= begin_ps && end_ps <= trace_.end_of(kernel);
            });
            if (is_known) continue;
            if (!open) open = {begin_ps, end_ps};
            open->second = std::max(open->second, end_ps);
        }
        if (open)
            pe.kernels.push_back(
                trace_.add_slice(pe.kernel, open->first, open->second, "kernel", kernel_ + ": not ended", ""));
    }
}

void run_trace::name_tensors(const std::vector<named_tensor> &tensors) {
    std::unordered_map<std::uint32_t, const std::string *> names;
    for (const named_tensor &t : tensors)
        names[t.object] = &t.name;
    const auto name_of_block = [&](std::uint64_t block) -> const std::string * {
        const auto found = blocks_.find(block);
        const auto name = found == blocks_.end() ? names.end() : names.find(found->second.object);
        return name == names.end() ? nullptr : name->second;
    };
    for (const auto &[block, of] : blocks_)
        if (const std::string *const name = name_of_block(block)) trace_.set_text(of.slice, "tensor", *name);
    for (const auto &[slice, block] : moves_)
        if (const std::string *const name = name_of_block(block)) trace_.set_text(slice, "tensor", *name);
    for (const named_by_block &transfer : transfers_)
        if (const std::string *const name = name_of_block(transfer.block)) {
            trace_.rename(transfer.slice, std::string(transfer.name) + " " + *name);
            trace_.set_text(transfer.slice, "tensor", *name);
        }
}

// Draws arrows from the completed allocation of a block to the first transfer that uses it. For a page on demand, that
// is the transfer that waited for it.
void run_trace::draw_uses() {
    for (const auto &[block, transfer] : uses_) {
        const auto found = blocks_.find(block);
        if (found == blocks_.end()) continue; // the trace was full
        const std::uint32_t made = found->second.slice;
        const std::uint64_t done_ps = trace_.end_of(made), begin_ps = trace_.begin_of(transfer);
        const bool waited = begin_ps < done_ps;
        trace_.add_flow("allocation to use",
                        {{made, done_ps, true}, {transfer, waited ? trace_.end_of(transfer) : begin_ps, waited}});
    }
}

// Returns the destination of a request that a slice executes: among the modules that forwarded it, the first. After a
// rejection the request may have been sent again: the last time counts then.
std::optional<std::uint32_t> run_trace::sent_to(const request &of, std::uint32_t slice) const {
    const auto begin_of = [this](const passed_on &by) { return trace_.begin_of(by.slice); };
    const passed_on *first = nullptr;
    for (const passed_on &by : of.passed)
        if (!first || begin_of(by) <= begin_of(*first)) first = &by; // who passes it on is answered last
    const passed_on *last = nullptr;
    for (const passed_on &by : of.passed)
        if (by.module == first->module && begin_of(by) <= trace_.begin_of(slice) &&
            (!last || begin_of(*last) <= begin_of(by)))
            last = &by;
    return last ? std::optional(last->slice) : std::nullopt;
}

// From where it was sent to, to where it is carried out; of a mapping that is waited for back to its acknowledgement.
void run_trace::draw_requests() {
    for (const auto &[key, of] : requests_)
        for (const std::uint32_t slice : of.arrived) {
            const std::optional<std::uint32_t> to = sent_to(of, slice);
            if (!to) continue;
            const chrome_trace::flow_point sent{*to, trace_.begin_of(*to), false};
            const std::uint64_t begin_ps = trace_.begin_of(slice), end_ps = trace_.end_of(slice);
            const std::uint64_t acknowledged_ps = trace_.end_of(*to);
            if (!tla_opcode_has_entries(key.first))
                trace_.add_flow("launch", {sent, {slice, begin_ps, false}});
            else if (end_ps <= acknowledged_ps)
                trace_.add_flow("mapping to acknowledgement",
                                {sent, {slice, end_ps, true}, {*to, acknowledged_ps, true}});
            else
                trace_.add_flow("mapping", {sent, {slice, end_ps, true}});
        }
}

std::optional<std::uint32_t> run_trace::kernel_at(std::uint32_t pe, std::uint64_t ps, bool ends) const {
    for (const std::uint32_t kernel : pes_[pe].kernels) {
        const std::uint64_t begin_ps = trace_.begin_of(kernel), end_ps = trace_.end_of(kernel);
        if (ends ? begin_ps < ps && ps <= end_ps : begin_ps <= ps && ps < end_ps) return kernel;
    }
    return std::nullopt;
}

void run_trace::draw_messages() {
    for (const message_delivery &m : messages_) {
        const auto sent = kernel_at(m.from, m.sent_ps, false), received = kernel_at(m.to, m.received_ps, true);
        if (sent && received) trace_.add_flow("message", {{*sent, m.sent_ps, false}, {*received, m.received_ps, true}});
    }
}

void run_trace::count_waiting() {
    for (engine &of : engines_) {
        std::sort(of.steps.begin(), of.steps.end());
        if (!of.steps.empty()) trace_.count(of.waiting, 0, 0);
        std::int64_t waiting = 0;
        for (const auto &[ps, step] : of.steps) {
            waiting += step;
            trace_.count(of.waiting, ps, static_cast<std::uint64_t>(waiting) * 1000);
        }
    }
}

// Numbers of the links that were busiest, the busiest first.
std::vector<std::uint32_t> run_trace::busiest_of(const link_loads &links) {
    std::vector<std::uint64_t> busy_ps(links.buckets.size());
    std::vector<std::uint32_t> order;
    for (std::uint32_t link = 0; link < busy_ps.size(); link++) {
        for (const link_bucket &bucket : links.buckets[link])
            busy_ps[link] += bucket.busy_ps;
        if (busy_ps[link] > 0) order.push_back(link);
        links_left_out_ += !links.buckets[link].empty();
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return busy_ps[a] > busy_ps[b]; });
    order.resize(std::min(order.size(), most_links));
    links_left_out_ -= order.size();
    return order;
}

// Counters of a link: how busy it was in each bucket, in percent, and how many flits waited on average.
void run_trace::count_load(std::uint32_t process, const std::string &name, const link_loads &links,
                           std::uint32_t link) {
    const std::uint32_t busy = trace_.add_counter(process, name + " busy", "%");
    const std::uint32_t waited = trace_.add_counter(process, name + " waiting", "flits");
    std::uint64_t at_ps = 0;
    for (const link_bucket &bucket : links.buckets[link]) {
        trace_.count(busy, at_ps, bucket.busy_ps * 100'000 / links.width_ps);
        trace_.count(waited, at_ps, bucket.waited_ps * 1000 / links.width_ps);
        at_ps += links.width_ps;
    }
    trace_.count(busy, at_ps, 0);
    trace_.count(waited, at_ps, 0);
}

// A thread of a link: buckets that are as busy by quarters are one slice.
void run_trace::show_load(std::uint32_t process, const std::string &name, const link_loads &links, std::uint32_t link) {
    static const char *const quarters[] = {"busy up to 25 %", "busy up to 50 %", "busy up to 75 %", "busy up to 100 %"};
    const std::vector<link_bucket> &buckets = links.buckets[link];
    const auto quarter = [&](std::size_t i) { // 0: not at all
        return i < buckets.size() ? (4 * buckets[i].busy_ps + links.width_ps - 1) / links.width_ps : 0;
    };
    const std::uint32_t track = trace_.add_track(process, name, false);
    std::size_t begin = 0;
    std::uint64_t nbytes = 0;
    for (std::size_t i = 0; i < buckets.size(); i++) {
        nbytes += buckets[i].nbytes;
        if (quarter(i + 1) == quarter(i)) continue;
        json_line args;
        args.key("bytes").number(nbytes);
        if (quarter(i) > 0)
            trace_.add_slice(track, begin * links.width_ps, (i + 1) * links.width_ps, "link",
                             quarters[std::min<std::uint64_t>(quarter(i), 4) - 1], args.written());
        begin = i + 1;
        nbytes = 0;
    }
}

void run_trace::show_links(const link_loads &links) {
    const std::uint32_t process = trace_.add_process("links");
    for (const std::uint32_t link : busiest_of(links)) {
        const std::string name = name_of_link(link);
        show_load(process, name, links, link);
        count_load(process, name, links, link);
    }
}

std::string run_trace::text_of(const run_end &end) const {
    json_line text;
    text.key("tlmalloc").text(tla_version()).key("config").text(config_).key("kernel").text(kernel_);
    text.key("status").text(tla_status_name(end.status)).key("end_ps").number(end.end_ps);
    text.key("lost").number(end.counts.all_lost());
    for (std::size_t i = 0; i < event_kinds; i++) {
        const std::string kind = tlmalloc::name_of(static_cast<event_kind>(i));
        text.key(("told, " + kind).c_str()).number(end.counts.told[i]);
        if (end.counts.lost[i]) text.key(("lost, " + kind).c_str()).number(end.counts.lost[i]);
    }
    text.key("links not shown").number(links_left_out_);
    return text.written();
}

void run_trace::end(const run_end &end) {
    end_kernels();
    name_tensors(end.tensors);
    draw_uses();
    draw_requests();
    draw_messages();
    count_waiting();
    show_links(end.links);
    if (end.counts.all_lost())
        trace_.add_notice(end.end_ps, "the trace is truncated: " + std::to_string(end.counts.all_lost()) +
                                          " events were dropped: raise --trace-limit");
    if (end.status) trace_.add_notice(end.end_ps, std::string("the run ended with ") + tla_status_name(end.status));
    trace_.write(file_, text_of(end));
    file_.end();
}

} // namespace tlmalloc
