// Pages that come to memory and leave it. A page leaves in steps: MMUs keep accesses waiting, the host copies bytes
// that its memory lacks, MMUs forget the page, the block is freed. Accesses that waited then fault.
#include "runtime_pager.hpp"

#include "modules/memory/owed_frees.hpp"
#include "runtime_text.hpp"
#include "tlmalloc/command/control_port.h"

#include <algorithm>
#include <new>

namespace tlmalloc {

runtime::pager::pager(runtime &of) : of_(of) {
    forget_all();
}

void runtime::pager::forget_all() {
    tla_resident_pages *made = nullptr;
    if (tla_resident_pages_create(of_.settings_.eviction, &made)) throw std::bad_alloc();
    book_.reset(made);
}

runtime::paging_counts runtime::pager::statistics() const {
    paging_counts result = counts_;
    result.resident = tla_resident_pages_count(book_.get());
    return result;
}

runtime::paging_counts runtime::paging_statistics() const {
    return pager_ ? pager_->statistics() : paging_counts{};
}

static std::uint32_t number_of_memory(tla_memory_kind memory, const pe_location &pe) {
    const pe_location where = tla_memory_of_pe(memory, pe);
    return static_cast<std::uint32_t>(memory) << 24 | where.sip << 16 | where.cube << 8 | where.pe;
}

static bool is_full(tla_status status) {
    return status == TLA_EXHAUSTED || status == TLA_FRAGMENTED;
}

// --- homes -----------------------------------------------------------------------------------------------------------

// The home as a tensor of its own, whose block comes and goes as blocks of other tensors do.
static tensor as_tensor(const tensor &t) {
    tensor home{t.name, {}, t.nbytes, {}, 0, 0, spread::split, t.object, {}, TLA_HOST_MEMORY};
    if (t.home.nbytes > 0) home.shards.assign(1, t.home);
    return home;
}

tla_status runtime::pager::reserve_home(tensor &t, std::uint32_t correlation_id, tla_error *error) {
    if (t.kind != spread::demand || t.memory == TLA_HOST_MEMORY) return TLA_OK;
    tensor home = as_tensor(t);
    const std::vector<shard> wanted{{of_.settings_.pes.front(), {}, t.nbytes, 0, 0}};
    tla_error why{};
    if (const tla_status status =
            of_.add_shards(home, wanted, of_.allocate_blocks(home, wanted, correlation_id), correlation_id, &why)) {
        const std::string text = why.text, shortage = text.substr(0, text.find(" (correlation"));
        return tla_error_set(error, status,
                             "%s; mmu.eviction needs a place there for each page: set host_memory.capacity",
                             shortage.c_str());
    }
    t.home = home.shards.front();
    t.at_home.assign((t.nbytes - 1) / of_.settings_.page_size + 1, false);
    return TLA_OK;
}

tla_status runtime::pager::free_home(const tensor &t, std::uint32_t correlation_id, tla_error *error) {
    if (!has_home(t)) return TLA_OK;
    tensor home = as_tensor(t);
    return of_.free_shards(home, correlation_id, error);
}

void runtime::pager::keep(const tensor &t) {
    tla_resident_pages_remove(book_.get(), t.va, t.nbytes);
}

std::vector<shard> runtime::list_places(const tensor &t, bool write) {
    const auto found = std::find_if(tensors_.begin(), tensors_.end(), [&](const tensor &own) { return &own == &t; });
    return found != tensors_.end() && has_home(t) ? pager_->list_places(*found, write) : t.shards;
}

std::vector<shard> runtime::pager::list_places(tensor &t, bool write) const {
    std::vector<shard> places = t.shards;
    std::vector<bool> in_memory(t.at_home.size());
    for (const shard &s : t.shards) {
        in_memory[number_of(s)] = true;
        if (write) t.at_home[number_of(s)] = false;
    }
    const std::uint64_t page = of_.settings_.page_size;
    for (std::size_t i = 0; i < in_memory.size(); i++) {
        if (in_memory[i] || !(write || t.at_home[i])) continue;
        const std::uint64_t offset = i * page;
        places.push_back({t.home.where, {t.home.pa.value + offset}, std::min(page, t.nbytes - offset), offset, 0});
        t.at_home[i] = true;
    }
    return places;
}

// --- pages that come -------------------------------------------------------------------------------------------------

// The page of the fault, and those behind it that are missing.
std::vector<shard> runtime::pager::list_wanted(const tensor &t, const shard &page) const {
    std::vector<shard> wanted{page};
    std::vector<bool> in_memory(t.at_home.size());
    for (const shard &s : t.shards)
        in_memory[number_of(s)] = true;
    const std::size_t first = number_of(page) + 1, end = std::min(first + of_.settings_.prefetch, in_memory.size());
    for (std::size_t i = first; i < end; i++) {
        const std::uint64_t offset = i * of_.settings_.page_size;
        const std::uint64_t nbytes = std::min(of_.settings_.page_size, t.nbytes - offset);
        if (!in_memory[i]) wanted.push_back({page.where, {}, nbytes, offset, 0});
    }
    return wanted;
}

tla_status runtime::pager::bring(tensor &t, const shard &page, const service &s) {
    std::vector<shard> pages = list_wanted(t, page);
    tla_status status = TLA_OK;
    std::size_t count = 0;
    while (count < pages.size() && !status) {
        status = allocate(t, pages[count], s);
        count += status == TLA_OK;
    }
    pages.resize(count);
    if (count > 0) { // the fault needs its own page only
        status = fetch(t, pages, s);
        if (!status) status = map(t, pages, s);
        for (; is_full(status) && pages.size() > 1; pages.pop_back()) { // a table takes the place of a page
            free_block(t, pages.back(), s);
            status = map(t, {pages.begin(), pages.end() - 1}, s);
        }
    }
    of_.faults_served_ps_ = s.at_ps;
    for (shard &p : pages) {
        if (status) {
            free_block(t, p, s);
            continue;
        }
        const bool fetched = t.at_home[number_of(p)];
        counts_.prefetches += &p != &pages.front();
        counts_.fetches += fetched;
        counts_.fetched_bytes += fetched ? p.nbytes : 0;
        p.ready_ps = s.at_ps;
        t.shards.push_back(p);
        const tla_vaddr va{t.va.value + p.offset};
        if (tla_resident_pages_add(book_.get(), number_of_memory(t.memory, p.where), va)) throw std::bad_alloc();
    }
    return status;
}

tla_status runtime::pager::allocate(const tensor &t, shard &page, const service &s) {
    for (;;) {
        tla_completion completion{};
        const tla_status status = of_.send_for_fault(
            way::fabric,
            to_controller(of_.settings_.fault_port, TLA_OP_ALLOC, t.memory, page, s.correlation_id, t.object),
            completion, s.at_ps);
        if (!status) {
            of_.remember(t.memory, page.where, completion);
            page.pa = {completion.value};
            return TLA_OK;
        }
        completion.status = status;
        const tla_status evicted = is_full(status) ? evict(t.memory, page.where, s) : TLA_NOT_FOUND;
        if (evicted == TLA_NOT_FOUND)
            return of_.explain_block(&s.why, "", t.memory, page.where, completion, page.nbytes);
        if (evicted) return evicted;
    }
}

// Copies the bytes of pages that have been in memory before; the pages are not mapped yet.
tla_status runtime::pager::fetch(const tensor &t, const std::vector<shard> &pages, const service &s) {
    std::vector<std::uint8_t> bytes(pages.size() * of_.settings_.page_size);
    std::vector<page_bytes> from, to;
    std::uint8_t *next = bytes.data();
    for (const shard &p : pages) {
        if (!t.at_home[number_of(p)]) continue;
        from.push_back({t.home.pa.value + p.offset, next, p.nbytes});
        to.push_back({p.pa.value, next, p.nbytes});
        next += p.nbytes;
    }
    if (from.empty()) return TLA_OK;
    tla_status status = of_.move_pages(false, from, s.at_ps);
    if (!status) status = of_.move_pages(true, to, s.at_ps);
    return status ? tla_error_set(&s.why, status, "copy of a page from the host's memory: %s", tla_status_text(status))
                  : TLA_OK;
}

// An MMU whose tables have no memory rejects the MAP: a page of its slice leaves, too.
tla_status runtime::pager::map(const tensor &t, const std::vector<shard> &pages, const service &s) {
    tla_tensor all = of_.view(t);
    all.shards = pages.data();
    all.count = pages.size();
    for (;;) {
        addressed_command map{of_.settings_.fault_port * std::uint64_t{TLA_PORT_BYTES},
                              new_command(TLA_OP_MAP, TLA_TARGET_VA_MANAGER, s.correlation_id), 0};
        tla_tensor_map_command(&all, 0, TLA_OP_MAP, &map.command);
        tla_completion completion{};
        const tla_status status = of_.send_for_fault(way::addresses, map, completion, s.at_ps);
        if (!status) return TLA_OK;
        const tla_location &at = completion.failed_at;
        const bool has_no_room = is_full(status) && at.kind == TLA_LOCATION_PE;
        const tla_status evicted = has_no_room ? evict(TLA_HBM, {at.sip, at.cube, at.pe}, s) : TLA_NOT_FOUND;
        completion.status = status;
        if (evicted == TLA_NOT_FOUND) return explain_map(&s.why, "map in " + to_string(at), completion);
        if (evicted) return evicted;
    }
}

// --- pages that leave ------------------------------------------------------------------------------------------------

// About mappings, to all MMUs.
tla_status runtime::pager::command(tla_opcode opcode, const std::vector<tla_map_entry> &entries, std::uint64_t &value,
                                   const service &s) {
    addressed_command sent{of_.settings_.fault_port * std::uint64_t{TLA_PORT_BYTES},
                           new_command(opcode, TLA_TARGET_VA_MANAGER, s.correlation_id), 0};
    sent.command.scope = of_.scope_;
    sent.command.count = static_cast<std::uint32_t>(entries.size());
    std::copy(entries.begin(), entries.end(), sent.command.entries);
    tla_completion completion{};
    const tla_status status = of_.send_for_fault(way::addresses, sent, completion, s.at_ps);
    value = completion.value;
    if (!status) return TLA_OK;
    completion.status = status;
    return explain(&s.why, std::string(tla_opcode_name(opcode)) + " of a page in " + to_string(completion.failed_at),
                   completion, 0);
}

// Makes a page of a memory leave. TLA_NOT_FOUND: no page can leave.
tla_status runtime::pager::evict(tla_memory_kind memory, const pe_location &where, const service &s) {
    tla_vaddr victim{};
    if (const tla_status status = choose(memory, where, victim, s)) return status;
    for (tensor &t : of_.tensors_) {
        if (!has_home(t) || victim.value < t.va.value || victim.value - t.va.value >= t.nbytes) continue;
        for (const shard &page : t.shards)
            if (t.va.value + page.offset == victim.value) return leave(t, shard(page), s);
    }
    return TLA_NOT_FOUND;
}

tla_status runtime::pager::choose(tla_memory_kind memory, const pe_location &where, tla_vaddr &victim,
                                  const service &s) {
    tla_resident_pages_search(book_.get(), number_of_memory(memory, where));
    tla_vaddr asked[TLA_RESIDENT_PAGES_ASKED_MAX];
    while (const std::size_t count = tla_resident_pages_ask(book_.get(), asked)) {
        std::vector<tla_map_entry> entries;
        for (std::size_t i = 0; i < count; i++)
            entries.push_back({asked[i], {}, of_.settings_.page_size, 0, of_.settings_.asid});
        std::uint64_t referenced = 0;
        if (const tla_status status = command(TLA_OP_INVALIDATE, entries, referenced, s)) return status;
        counts_.bits_read += count;
        tla_resident_pages_answer(book_.get(), referenced);
    }
    return tla_resident_pages_victim(book_.get(), &victim) ? TLA_OK : TLA_NOT_FOUND;
}

tla_status runtime::pager::leave(tensor &t, const shard &page, const service &s) {
    const tla_vaddr va{t.va.value + page.offset};
    const std::vector<tla_map_entry> entry{{va, page.pa, page.nbytes, 0, of_.settings_.asid}};
    std::uint64_t written = 0, nothing = 0;
    const std::uint64_t begin_ps = s.at_ps, copies = counts_.write_backs;
    if (const tla_status status = command(TLA_OP_PAUSE, entry, written, s)) return status;
    tla_status status = written || !t.at_home[number_of(page)] ? write_back(t, page, s) : TLA_OK;
    if (!status) status = command(TLA_OP_UNMAP, entry, nothing, s);
    const bool is_gone = status == TLA_OK;
    const tla_status resumed = command(TLA_OP_RESUME, entry, nothing, s);
    if (!is_gone) return status;
    counts_.evictions++;
    if (of_.page_left) of_.page_left({page.where, t.memory, va.value, begin_ps, s.at_ps, counts_.write_backs > copies});
    tla_resident_pages_remove(book_.get(), va, 1);
    const auto is_it = [&](const shard &other) { return other.offset == page.offset; };
    t.shards.erase(std::find_if(t.shards.begin(), t.shards.end(), is_it));
    free_block(t, page, s);
    return resumed;
}

// No MMU accesses the page now. It stays in memory if the copy fails.
tla_status runtime::pager::write_back(tensor &t, const shard &page, const service &s) {
    std::vector<std::uint8_t> bytes(page.nbytes);
    tla_status status = of_.move_pages(false, {{page.pa.value, bytes.data(), page.nbytes}}, s.at_ps);
    t.at_home[number_of(page)] = false;
    if (!status) status = of_.move_pages(true, {{t.home.pa.value + page.offset, bytes.data(), page.nbytes}}, s.at_ps);
    if (status)
        return tla_error_set(&s.why, status, "copy of a page to the host's memory: %s", tla_status_text(status));
    t.at_home[number_of(page)] = true;
    counts_.write_backs++;
    counts_.written_bytes += page.nbytes;
    return TLA_OK;
}

void runtime::pager::free_block(const tensor &t, const shard &page, const service &s) {
    tla_completion completion{};
    const addressed_command free =
        to_controller(of_.settings_.fault_port, TLA_OP_FREE, t.memory, page, s.correlation_id, t.object);
    if (const tla_status status = of_.send_for_fault(way::fabric, free, completion, s.at_ps)) {
        if (stays_owed(status)) of_.owed_.push_back(page);
    } else {
        of_.remember(t.memory, page.where, completion);
    }
}

} // namespace tlmalloc
