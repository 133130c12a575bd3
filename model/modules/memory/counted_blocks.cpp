// Blocks of a memory controller that are counted: FREE, REF, UNREF, PIN and UNPIN, batches, objects under keys, and
// pins that time out.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/time.hpp"

#include <string>

namespace tlmalloc {

// The memory that an address leads to; the first one where it leads to none, whose figures a refusal is told with.
tla_channel memory_controller::channel_at(tla_paddr pa) const {
    tla_channel channel = TLA_HBM;
    std::uint64_t offset = 0;
    return tla_pe_memory_locate(&config_.memory, pa, 1, &channel, &offset) ? first_channel() : channel;
}

// A block is free again.
void memory_controller::given_back(tla_channel channel, tla_paddr pa, std::uint64_t granted) {
    std::uint64_t offset = 0;
    if (dmi_granted_) in.withdraw_dmi(pa.value, pa.value + (granted - 1));
    if (tla_pe_memory_locate(&config_.memory, pa, 1, &channel, &offset)) return;
    break_reservations(channel, offset, granted);
    if (config_.poison) poison(channel, offset, granted);
}

void memory_controller::execute_count(const tla_command &command, std::uint64_t arrival_ps, tla_completion &completion,
                                      tla_work &work) {
    tla_object_store *const objects = objects_.get();
    const std::uint64_t who = control.sender();
    const tla_channel channel = channel_at(command.pa);
    statistics &counts = statistics_[channel];
    tla_object_counts left{};
    if (command.opcode == TLA_OP_FREE) {
        completion.status = tla_object_free(objects, command.pa, command.nbytes, who, &completion.value, &work);
        counts.frees++;
        counts.not_owner += completion.status == TLA_NOT_OWNER;
        if (completion.status) tell_refusal(completion, channel);
        return;
    }
    switch (command.opcode) {
    case TLA_OP_REF:
        completion.status = tla_object_ref(objects, command.pa, who, &left, &work);
        counts.refs++;
        break;
    case TLA_OP_UNREF:
        completion.status = tla_object_unref(objects, command.pa, who, &left, &work);
        counts.unrefs++;
        break;
    case TLA_OP_PIN: {
        const std::uint64_t timeout = command.timeout_ps ? command.timeout_ps : UINT64_MAX;
        completion.status = tla_object_pin(objects, command.pa, who, arrival_ps, timeout, &left, &work);
        counts.pins++;
        break;
    }
    case TLA_OP_UNPIN:
        completion.status = tla_object_unpin(objects, command.pa, who, &left, &work);
        counts.unpins++;
        break;
    default:
        completion.status = TLA_BAD_COMMAND;
        return;
    }
    const bool of_references = command.opcode == TLA_OP_REF || command.opcode == TLA_OP_UNREF;
    completion.value = of_references ? left.references : left.pins;
    completion.nbytes = left.nbytes;
    objects_used_ = true;
    counts.not_owner += completion.status == TLA_NOT_OWNER;
    if (completion.status) tell_refusal(completion, channel);
    watch_pins();
}

// Batches, and objects under keys. Returns which memory it was about, and what is left in the command area.
tla_channel memory_controller::execute_group(const tla_command &command, tla_completion &completion, tla_work &work,
                                             std::vector<std::uint8_t> &result) {
    tla_object_store *const objects = objects_.get();
    const std::uint64_t who = control.sender();
    const bool named = command.opcode == TLA_OP_FREE_BATCH || command.opcode == TLA_OP_PUT;
    const tla_channel channel = !named              ? command.channel
                                : command.count > 0 ? channel_at(command.blocks[0].pa)
                                                    : first_channel();
    statistics &counts = statistics_[channel];
    const tla_stack_request request{command.nbytes, command.stream, command.format};
    std::vector<tla_placed_block> blocks(TLA_COMMAND_MAX_BLOCKS);
    const auto bytes_of_all = [&blocks](std::size_t n) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < n; i++)
            sum += blocks[i].nbytes;
        return sum;
    };
    completion.nbytes = 0;
    switch (command.opcode) {
    case TLA_OP_ALLOC_BATCH:
        completion.status =
            tla_object_alloc_batch(objects, channel, &request, command.count, command.batch, who, blocks.data(), &work);
        counts.batches++;
        if (completion.status) break;
        completion.value = command.count > 0 ? blocks[0].pa.value : 0;
        completion.nbytes = bytes_of_all(command.count);
        result.resize(TLA_COMMAND_MAX_BYTES);
        result.resize(tla_batch_result_encode(blocks.data(), command.count, result.data()));
        break;
    case TLA_OP_FREE_BATCH: {
        std::size_t freed = 0, failed = 0;
        completion.status = tla_object_free_batch(objects, command.blocks, command.count, who, &freed, &failed, &work);
        counts.batches++;
        completion.value = completion.status ? failed : freed;
        for (std::uint32_t i = 0; i < command.count && !completion.status; i++)
            completion.nbytes += command.blocks[i].nbytes;
        break;
    }
    case TLA_OP_PUT: {
        bool added = false;
        completion.status =
            tla_object_put(objects, command.key, &command.meta, command.blocks, command.count, &added, &work);
        counts.puts++;
        completion.value = added;
        for (std::uint32_t i = 0; i < command.count && !completion.status; i++) {
            tla_object_counts of{};
            tla_object_look(objects, command.blocks[i].pa, &of);
            completion.nbytes += of.nbytes;
        }
        break;
    }
    case TLA_OP_GET: {
        std::size_t n = 0;
        tla_mem_object_meta meta{};
        completion.status =
            tla_object_get(objects, channel, command.key, who, &meta, blocks.data(), blocks.size(), &n, &work);
        counts.gets++;
        if (completion.status) break;
        completion.value = blocks[0].pa.value;
        completion.nbytes = bytes_of_all(n);
        result.resize(TLA_COMMAND_MAX_BYTES);
        result.resize(tla_object_result_encode(&meta, blocks.data(), static_cast<std::uint32_t>(n), result.data()));
        break;
    }
    case TLA_OP_REMOVE: {
        std::size_t n = 0;
        completion.status = tla_object_remove(objects, channel, command.key, &n, &work);
        counts.removes++;
        completion.value = n;
        break;
    }
    case TLA_OP_EVICT: {
        tla_paddr pa{};
        completion.nbytes = command.nbytes;
        completion.status = tla_object_evict(objects, channel, &request, command.busy, who, &pa, &work);
        counts.evicts++;
        completion.value = pa.value;
        if (completion.status) tell_shortage(channel, request, completion);
        break;
    }
    default:
        completion.status = TLA_BAD_COMMAND;
        return channel;
    }
    objects_used_ = true;
    counts.not_owner += completion.status == TLA_NOT_OWNER;
    const bool of_allocation = command.opcode == TLA_OP_ALLOC_BATCH || command.opcode == TLA_OP_EVICT;
    if (completion.status && !of_allocation) tell_refusal(completion, channel);
    return channel;
}

// A warning of a validating controller, for a person; the sender has the completion.
void memory_controller::tell_refusal(const tla_completion &completion, tla_channel channel) {
    if (!config_.memory.validate && config_.guard == TLA_GUARD_OFF) return;
    const tla_error *of_store = tla_object_store_last_error(objects_.get());
    const char *const what =
        completion.opcode == TLA_OP_FREE ? "/tlmalloc/memory_controller/free" : "/tlmalloc/memory_controller/reference";
    const tla_error *error = of_store->status ? of_store : tla_pe_memory_last_error(memory_.get(), channel);
    SC_REPORT_WARNING(what, (std::string(name()) + ": " + error->text).c_str());
}

// --- pins that time out ----------------------------------------------------------------------------------------------

// Ends the pins that have timed out before at_ps. Each takes the engine as a command does.
void memory_controller::end_pins(std::uint64_t at_ps) {
    for (std::uint64_t until = 0; tla_object_store_next_timeout(objects_.get(), &until) && until < at_ps;) {
        tla_object_counts left{};
        tla_work work{};
        tla_pe_memory_set_owner(memory_.get(), {0, TLA_WHO_UNKNOWN, until + 1});
        if (tla_object_store_end_pins(objects_.get(), at_ps, &left, &work)) return; // stays pinned until it can go
        const tla_arena_stats arena = tla_pe_memory_get_stats(memory_.get(), left.channel);
        std::uint64_t service_ps = tla_cost_price(&config_.cost, &work);
        wait_for_list(left.channel, work);
        show_begin(control.look(until + 1));
        if (config_.free_list != TLA_LIST_REGISTERS)
            service_ps += walk_list(left.channel, control.look(until + 1).start_ps);
        const tla_service service = control.occupy(until + 1, service_ps);
        go_on_behind(left.channel, work, service.done_ps);
        statistics_[left.channel].busy_ps += service_ps;
        statistics_[left.channel].driver_calls += work.driver_calls;
        show_end(left.channel, service, arena, work.nodes_visited);
        if (watches_pins_) pins_changed_.notify(sc_core::SC_ZERO_TIME);
    }
}

// A process, from the first pin on, that looks when the next one times out.
void memory_controller::watch_pins() {
    std::uint64_t until = 0;
    if (watches_pins_) {
        pins_changed_.notify(sc_core::SC_ZERO_TIME);
        return;
    }
    if (!tla_object_store_next_timeout(objects_.get(), &until)) return;
    watches_pins_ = true;
    sc_core::sc_spawn(
        [this] {
            for (;;) {
                std::uint64_t next = 0;
                if (!objects_ || !tla_object_store_next_timeout(objects_.get(), &next)) {
                    sc_core::wait(pins_changed_);
                    continue;
                }
                const std::uint64_t now = to_ps(sc_core::sc_time_stamp());
                if (now <= next) {
                    sc_core::wait(from_ps(next + 1 - now), pins_changed_);
                    continue;
                }
                control.between_commands([this, now] { end_pins(now); });
                std::uint64_t still = 0; // what the memory did not take back is tried again with every command
                if (objects_ && tla_object_store_next_timeout(objects_.get(), &still) && still == next)
                    sc_core::wait(pins_changed_);
            }
        },
        sc_core::sc_gen_unique_name("pins"));
}

std::vector<statistic> memory_controller::object_statistics(const statistics &of) const {
    if (!objects_used_) return {};
    return {
        {"refs", of.refs, "commands", "REF, refused ones included"},
        {"unrefs", of.unrefs, "commands", "UNREF, refused ones included"},
        {"references", of.objects.references, "references", "to live blocks now, those of their ALLOCs too"},
        {"pin_commands", of.pins, "commands", "PIN, refused ones included"},
        {"unpins", of.unpins, "commands", "UNPIN, refused ones included"},
        {"pins", of.objects.pins, "pins", "on live blocks now"},
        {"pin_timeouts", of.objects.timeouts, "blocks", "whose pins have timed out"},
        {"batches", of.batches, "commands", "ALLOC_BATCH and FREE_BATCH, refused ones included"},
        {"puts", of.puts, "commands", "PUT, refused ones included"},
        {"gets", of.gets, "commands", "GET, refused ones included"},
        {"removes", of.removes, "commands", "REMOVE, refused ones included"},
        {"evicts", of.evicts, "commands", "EVICT, refused ones included"},
        {"cached_objects", of.objects.cache.entries, "objects", "under a key now"},
        {"cache_hits", of.objects.hits, "commands", "GET of a key that was there"},
        {"cache_misses", of.objects.misses, "commands", "GET of a key that was not"},
        {"evicted_objects", of.objects.cache.evicted, "objects", "evicted by an EVICT"},
        {"evict_waits", of.objects.cache.waits, "commands", "EVICT that found nothing to evict and is to come back"}};
}

} // namespace tlmalloc
