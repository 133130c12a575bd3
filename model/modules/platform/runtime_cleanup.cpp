// Clean-up of the runtime: blocks that are owed, the pool, fronts, and free lists that must be one block again.
#include "host_pool.hpp"
#include "modules/memory/owed_frees.hpp"
#include "runtime_places.hpp"
#include "runtime_text.hpp"

#include <algorithm>

namespace tlmalloc {

std::size_t runtime::count_owed() const {
    std::size_t count = owed_.size();
    for (const tensor &t : still_mapped_)
        count += t.shards.size();
    return count;
}

// In rounds, as long as each gets rid of something: one FREE may join blocks and give the next one its node, or an
// MMU's table its memory.
tla_status runtime::free_owed(tla_error *error) {
    tla_status status = TLA_OK;
    for (std::size_t before = count_owed() + 1; count_owed() > 0 && count_owed() < before;) {
        before = count_owed();
        status = TLA_OK;
        std::list<tensor> round;
        round.swap(still_mapped_);
        for (tensor &t : round) {
            const tla_status ended = end_tensor(t, next_correlation_++, status ? nullptr : error);
            if (!status) status = ended;
        }
        if (owed_.empty()) continue;
        // A pool owes nothing: owed blocks beside it came from the controllers, as pages do.
        const spread kind = pool_ ? spread::demand : spread::split;
        tensor owed{"that was freed before", {}, 0, {}, 0, 0, kind, 0, {}};
        owed.shards.swap(owed_);
        const tla_status freed = free_shards(owed, next_correlation_++, status ? nullptr : error);
        if (!status) status = freed;
    }
    return status;
}

tla_status runtime::empty_pool(tla_error *error) {
    if (!pool_) return TLA_OK;
    tla_memory_kind memory = TLA_HBM;
    pe_location where{};
    const tla_completion refused = pool_->empty(next_correlation_++, memory, where);
    return refused.status ? explain_block(error, "free in ", memory, where, refused, 0) : TLA_OK;
}

tla_status runtime::trim(tla_memory_kind memory, const std::vector<pe_location> &where, tla_error *error) {
    const call here(*this, "trim", error);
    if (!here.may_begin()) return here.result(TLA_RESET);
    std::vector<addressed_command> commands;
    std::vector<pe_location> places;
    const std::uint32_t correlation_id = next_correlation_++;
    for (const pe_location &pe : where) {
        const pe_location place = tla_memory_of_pe(memory, pe);
        if (std::any_of(places.begin(), places.end(), [&](const pe_location &p) { return same(p, place); })) continue;
        places.push_back(place);
        commands.push_back(
            to_controller(settings_.control_port, TLA_OP_TRIM, memory, {place, {}, 0, 0, 0}, correlation_id));
    }
    const std::vector<tla_completion> completions = send_commands(way::fabric, std::move(commands));
    tla_status status = TLA_OK;
    for (std::size_t i = 0; i < completions.size(); i++)
        if (!completions[i].status)
            remember(memory, places[i], completions[i]);
        else if (!status)
            status = explain(error, "trim of " + place_of(memory, places[i]), completions[i], 0);
    return here.result(status);
}

// Trims all memories of PEs, because kernels and MMUs allocate too; of the other memories, those that were used.
tla_status runtime::trim_fronts(tla_error *error) {
    tla_status status = TLA_OK;
    for (int c = 0; c < TLA_MEMORY_KIND_COUNT; c++) {
        const auto memory = static_cast<tla_memory_kind>(c);
        if (!(settings_.fronts >> c & 1)) continue;
        std::vector<pe_location> where = settings_.pes;
        if (tla_memory_scope_of(memory) != TLA_SCOPE_PE) {
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
    const call here(*this, "clean-up", error);
    if (!here.may_begin()) return here.result(TLA_RESET);
    tla_status status = TLA_OK;
    while (!tensors_.empty() && !ends_calls()) {
        tla_error why{};
        const std::size_t owed = count_owed();
        const tla_status freed = free_tensor(&tensors_.back(), &why);
        const bool put_off = stays_mapped(freed) && count_owed() > owed;
        if (freed && !put_off && !status) status = tla_error_set(error, freed, "%s", why.text);
    }
    const auto repeat = [&](const auto &step, tla_error *why) { // a fault plan may reject it for now
        tla_status ended = step(why);
        for (unsigned i = 0; ended == TLA_BUSY && i < TLA_OWED_TRIES && !ends_calls(); i++) {
            wait_for_ps(settings_.retry.delay_ps);
            ended = step(why);
        }
        return ended;
    };
    for (tla_status (runtime::*const step)(tla_error *) :
         {&runtime::free_owed, &runtime::empty_pool, &runtime::trim_fronts}) {
        tla_error why{};
        const tla_status ended = repeat([&](tla_error *text) { return (this->*step)(text); }, &why);
        if (ended && !status && error) *error = why;
        if (!status) status = ended;
    }
    // Blocks that others have released since this host's last command, for example tables of MMUs, become visible with
    // one more command.
    for (const free_list &list : std::vector<free_list>(free_lists_))
        if (!status && !many_free_blocks_ && list.total_free != list.largest_free)
            repeat([&](tla_error *text) { return trim(list.memory, {list.where}, text); }, nullptr);
    for (const free_list &list : free_lists_)
        if (!status && !many_free_blocks_ && list.total_free != list.largest_free)
            status = tla_error_set(error, TLA_LEAK, "%s is not one free block after clean-up: %llu of %llu bytes",
                                   place_of(list.memory, list.where).c_str(),
                                   static_cast<unsigned long long>(list.largest_free),
                                   static_cast<unsigned long long>(list.total_free));
    return here.result(status);
}

} // namespace tlmalloc
