// The event log: a header, rows that begin with their kind, and an end that lists missing events.
#include "events/event_log.hpp"

#include "tlmalloc/version.h"

namespace tlmalloc {

namespace {

struct columns {
    const char *kind, *names[18];
    bool event_names::*only = nullptr; // where not every log has them
};

// The columns of rows after their kind, as the header lists them. A new column comes last; any other change is a new
// version.
const columns rows[] = {
    {"memory",
     {"module", "op", "arrival", "start", "done", "port", "sender", "correlation", "status", "service", "channel",
      "object", "address", "bytes", "block", "free", "largest", "free_blocks"}},
    {"move",
     {"module", "by", "begin", "freed", "block", "bytes", "channel", "address", "to_channel", "to_address", "free",
      "largest", "free_blocks"},
     &event_names::moves},
    {"stop", {"module", "begin", "end"}, &event_names::moves},
    {"page fault", {"pe", "by", "va", "begin", "end", "served", "fetched", "prefetched"}, &event_names::faults},
    {"page exit", {"pe", "channel", "va", "begin", "end", "written"}, &event_names::faults},
    {"ranges", {"number", "list of [va, pa, bytes]"}},
    {"mapping",
     {"module", "op", "arrival", "start", "done", "port", "sender", "correlation", "status", "request", "ranges"}},
    {"launch",
     {"module", "op", "arrival", "start", "done", "port", "sender", "correlation", "status", "request", "began",
      "took"}},
    {"access", {"module", "what", "at", "va", "bytes", "access", "asid"}},
    {"interval", {"who", "kind", "begin", "end", "place", "unit"}},
    {"transfer",
     {"pe", "engine", "start", "end", "bytes", "status", "for_message", "address", "physical", "tile", "block",
      "tile_block", "memories"}},
    {"message", {"from", "to", "bytes", "sent", "received"}},
    {"tensor", {"object", "name", "va", "bytes"}},
    {"commands",
     {"pe", "activates", "precharges", "read_commands", "write_commands", "refreshes", "idle_refreshes",
      "all_closed_ps", "open_bank_ps"},
     &event_names::banks},
    {"buckets", {"width"}},
    {"link", {"link", "bytes", "messages", "busy", "waited"}},
    {"end", {"end", "status", "lost", "told by kind", "lost by kind"}}};

void add(json_line &row, const std::optional<std::uint64_t> &value) {
    if (value)
        row.number(*value);
    else
        row.nothing();
}

void add_number(json_line &row, std::uint32_t value, std::uint32_t none) {
    if (value == none)
        row.nothing();
    else
        row.number(value);
}

// The columns that all commands have.
json_line row_of(const char *kind, const command_times &of) {
    json_line row;
    row.open('[').text(kind).number(of.module).text(tla_opcode_name(of.op));
    row.numbers({of.arrival_ps, of.start_ps, of.done_ps, of.port});
    add_number(row, of.sender, sent_by_nobody);
    row.number(of.correlation).text(tla_status_name(of.status));
    return row;
}

const char *name_of(pe_mmu::trouble what) {
    switch (what) {
    case pe_mmu::trouble::stale:
        return "stale";
    case pe_mmu::trouble::fault:
        return "fault";
    case pe_mmu::trouble::fallback:
        return "fallback";
    default:
        return "demand";
    }
}

const char *name_of(unsigned port) {
    switch (port) {
    case TLA_PORT_OF_HOST:
        return "host";
    case TLA_PORT_OF_PE:
        return "pe";
    case TLA_PORT_OF_ABOVE:
        return "above";
    case TLA_PORT_OF_MMU:
        return "mmu";
    case TLA_PORT_OF_FAULTS:
        return "faults";
    case TLA_PORT_OF_MESSAGES:
        return "messages";
    default:
        return nullptr;
    }
}

void add_counts(json_line &row, const std::uint64_t (&counts)[event_kinds]) {
    row.open('{');
    for (std::size_t i = 0; i < event_kinds; i++)
        row.key(name_of(static_cast<event_kind>(i))).number(counts[i]);
    row.close('}');
}

} // namespace

event_log::event_log(std::FILE *out, bool compressed, const char *kernel) : file_(out, compressed), kernel_(kernel) {}

void event_log::write(json_line &row) {
    file_.write(row.written() + "\n");
}

void event_log::begin(const event_names &names) {
    json_line header;
    header.open('{').key("format").text("tlmalloc events").key("version").number(version);
    header.key("tlmalloc").text(tla_version()).key("unit").text("ps").key("kernel").text(kernel_);
    header.key("columns").open('{');
    for (const columns &row : rows) {
        if (row.only && !(names.*row.only)) continue;
        header.key(row.kind).open('[');
        for (const char *const name : row.names)
            if (name) header.text(name);
        header.close(']');
    }
    header.close('}').key("ports").open('[');
    for (unsigned port = 0; port <= TLA_PORT_OF_MESSAGES; port++)
        header.text(name_of(port));
    header.close(']');
    const auto list = [&header](const char *name, const std::vector<std::string> &texts) {
        header.key(name).open('[');
        for (const std::string &text : texts)
            header.text(text);
        header.close(']');
    };
    list("pes", names.pes);
    list("modules", names.modules);
    list("nodes", names.nodes);
    header.key("links").open('[');
    for (const auto &[from, to] : names.links)
        header.open('[').numbers({from, to}).close(']');
    header.close(']').close('}');
    write(header);
}

void event_log::add(const memory_command &event) {
    json_line row = row_of("memory", event.of);
    row.number(event.service_ps).text(event.memory ? tla_memory_kind_name(*event.memory) : nullptr);
    add_number(row, event.object, 0);
    tlmalloc::add(row, event.address);
    row.number(event.nbytes);
    tlmalloc::add(row, event.block);
    tlmalloc::add(row, event.free_bytes);
    tlmalloc::add(row, event.largest_free);
    tlmalloc::add(row, event.free_blocks);
    write(row.close(']'));
}

void event_log::add(const block_move &event) {
    const memory_controller::moved_block &what = event.what;
    json_line row;
    row.open('[').text("move").number(event.module);
    row.text(event.in_exchange ? "exchange" : what.of_compaction ? "compaction" : "MOVE");
    row.numbers({what.begun_ps, what.freed_ps});
    tlmalloc::add(row, event.block);
    row.number(what.nbytes).text(tla_memory_kind_name(what.from.memory)).number(what.from.pa.value);
    row.text(tla_memory_kind_name(what.to.memory)).number(what.to.pa.value);
    row.numbers({what.left.free, what.left.largest_free, what.left.free_blocks});
    write(row.close(']'));
}

void event_log::add(const move_stop &event) {
    json_line row;
    write(row.open('[').text("stop").numbers({event.module, event.begin_ps, event.end_ps}).close(']'));
}

void event_log::add(const fault_service &event) {
    const runtime::ended_fault &what = event.what;
    json_line row;
    row.open('[').text("page fault").number(event.pe).text(event.by_controller ? "controller" : "host");
    row.numbers({what.va, what.begin_ps, what.end_ps}).truth(what.served);
    write(row.numbers({what.fetched, what.prefetched}).close(']'));
}

void event_log::add(const page_exit &event) {
    const runtime::left_page &what = event.what;
    json_line row;
    row.open('[').text("page exit").number(event.pe).text(tla_memory_kind_name(what.memory));
    write(row.numbers({what.va, what.begin_ps, what.end_ps}).truth(what.written).close(']'));
}

// The same ranges are mapped in many MMUs: they are written once.
std::uint32_t event_log::number_of_ranges(const mapping_command &event) {
    std::vector<std::uint64_t> all;
    for (std::size_t i = 0; i < event.count; i++)
        all.insert(all.end(), {event.entries[i].va.value, event.entries[i].pa.value, event.entries[i].nbytes});
    const auto [found, is_new] = ranges_.emplace(std::move(all), static_cast<std::uint32_t>(ranges_.size()));
    if (is_new) {
        json_line row;
        row.open('[').text("ranges").number(found->second).open('[');
        for (std::size_t i = 0; i < found->first.size(); i += 3)
            row.open('[').numbers({found->first[i], found->first[i + 1], found->first[i + 2]}).close(']');
        write(row.close(']').close(']'));
    }
    return found->second;
}

void event_log::add(const mapping_command &event) {
    const std::uint32_t ranges = number_of_ranges(event);
    json_line row = row_of("mapping", event.of);
    write(row.numbers({event.of.request, ranges}).close(']'));
}

void event_log::add(const launch_command &event) {
    json_line row = row_of("launch", event.of);
    write(row.numbers({event.of.request, event.began_ps, event.took_ps}).close(']'));
}

void event_log::add(const troubled_access &event) {
    json_line row;
    row.open('[').text("access").number(event.module).text(name_of(event.what));
    row.numbers({event.at_ps, event.access.va.value, event.access.nbytes});
    row.text(event.access.access & TLA_WRITE ? "write" : "read").number(event.access.asid);
    write(row.close(']'));
}

void event_log::add(const time_interval &event) {
    json_line row;
    row.open('[').text("interval").number(event.who).text(tla_time_kind_name(event.part.charge.kind));
    row.numbers({event.part.begin_ps, event.part.end_ps});
    add_number(row, event.part.charge.place, TLA_TIME_NOWHERE);
    add_number(row, event.part.charge.unit, TLA_TIME_NOWHERE);
    write(row.close(']'));
}

void event_log::add(const dma_transfer &event) {
    json_line row;
    row.open('[').text("transfer").number(event.pe).text(event.write ? "write" : "read");
    row.numbers({event.start_ps, event.end_ps, event.nbytes}).text(tla_status_name(event.status));
    row.truth(event.for_message).number(event.address).truth(event.physical);
    tlmalloc::add(row, event.tile);
    tlmalloc::add(row, event.block);
    tlmalloc::add(row, event.tile_block);
    row.open('[');
    for (const std::uint32_t node : event.memories)
        row.number(node);
    write(row.close(']').close(']'));
}

void event_log::add(const message_delivery &event) {
    json_line row;
    row.open('[').text("message");
    row.numbers({event.from, event.to, event.nbytes, event.sent_ps, event.received_ps});
    write(row.close(']'));
}

void event_log::write_links(const link_loads &links) {
    json_line width;
    width.open('[').text("buckets").number(links.width_ps);
    write(width.close(']'));
    for (std::size_t link = 0; link < links.buckets.size(); link++) {
        if (links.buckets[link].empty()) continue;
        json_line row;
        row.open('[').text("link").number(link);
        for (std::uint64_t link_bucket::*figure :
             {&link_bucket::nbytes, &link_bucket::messages, &link_bucket::busy_ps, &link_bucket::waited_ps}) {
            row.open('[');
            for (const link_bucket &bucket : links.buckets[link])
                row.number(bucket.*figure);
            row.close(']');
        }
        write(row.close(']'));
    }
}

void event_log::end(const run_end &end) {
    for (const named_tensor &t : end.tensors) {
        json_line row;
        row.open('[').text("tensor").number(t.object).text(t.name).numbers({t.va, t.nbytes});
        write(row.close(']'));
    }
    for (const auto &[pe, counts] : end.commands) {
        json_line row;
        row.open('[').text("commands").numbers({pe, counts.activates, counts.precharges, counts.read_commands});
        row.numbers({counts.write_commands, counts.refreshes, counts.idle_refreshes});
        write(row.numbers({counts.open_time.all_closed_ps, counts.open_time.open_bank_ps}).close(']'));
    }
    write_links(end.links);
    json_line row;
    row.open('[').text("end").number(end.end_ps).text(tla_status_name(end.status)).number(end.counts.all_lost());
    add_counts(row, end.counts.told);
    add_counts(row, end.counts.lost);
    write(row.close(']'));
    file_.end();
}

} // namespace tlmalloc
