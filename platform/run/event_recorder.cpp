// Records the events of a run from its modules.
#include "run/event_recorder.hpp"

#include "tlmalloc/modules/time.hpp"

#include <algorithm>

namespace tlmalloc {

namespace {

std::uint64_t key_of(const pe_location &where) {
    return std::uint64_t{where.sip} << 32 | std::uint64_t{where.cube} << 16 | where.pe;
}

std::uint32_t sender_of(std::uint64_t who) {
    return who == TLA_WHO_UNKNOWN ? sent_by_nobody : static_cast<std::uint32_t>(who);
}

// "sip0.cube0.pe0.mmu": without the platform's own name.
std::string name_below(const npu &platform, const sc_core::sc_object &module) {
    const std::string name = module.name();
    return name.substr(std::string(platform.name()).size() + 1);
}

// Reads an address of an ALLOC_BATCH's result (command.h).
std::uint64_t address_in(const std::uint8_t *bytes) {
    std::uint64_t value = 0;
    for (int i = 7; i >= 0; i--)
        value = value << 8 | bytes[i];
    return value;
}

// Returns whether the command leaves an allocated block that was free before.
bool takes_a_block(tla_opcode op) {
    return op == TLA_OP_ALLOC || op == TLA_OP_EVICT || op == TLA_OP_PLACE || op == TLA_OP_ALLOC_BATCH;
}

bool names_a_memory(tla_opcode op) {
    return op == TLA_OP_ALLOC || op == TLA_OP_EVICT || op == TLA_OP_ALLOC_BATCH || op == TLA_OP_TRIM ||
           op == TLA_OP_GET || op == TLA_OP_REMOVE || op == TLA_OP_MOVE;
}

// Every window that takes commands, with its module, and that once more where it has free lists.
template <typename Visit>
void for_each_window(npu &platform, const Visit &visit) {
    memory_controller *const none = nullptr;
    const auto visit_controller = [&visit](memory_controller &c) { visit(c, c.control, &c); };
    visit(platform.addresses(), platform.addresses().control, none);
    for (const auto &processor : platform.processors())
        visit(*processor, processor->control, none);
    for (pe_unit *pe : platform.pes()) {
        visit_controller(pe->controller);
        visit(pe->mmu, pe->mmu.control, none);
        visit(pe->element, pe->element.control, none);
    }
    for (cube_memory *memory : platform.cube_memories())
        visit_controller(memory->controller);
    if (platform.memory_of_host()) visit_controller(platform.memory_of_host()->controller);
}

} // namespace

const char *name_of(event_kind kind) {
    static const char *const names[event_kinds] = {"memory",   "mapping",  "launch", "access",
                                                   "interval", "transfer", "message"};
    return names[static_cast<std::size_t>(kind)];
}

event_names event_names::of(npu &platform) {
    event_names names;
    for_each_window(platform,
                    [&](const sc_core::sc_object &module, const control_window &, memory_controller *controller) {
                        const auto number = static_cast<std::uint32_t>(names.modules.size());
                        names.modules.push_back(name_below(platform, module));
                        const auto add_memory = [&](std::optional<tla_memory_kind> kind, const tla_arena_stats &list) {
                            names.memories.push_back({number, kind, list.used, list.free, list.largest_free});
                        };
                        if (&module == &platform.addresses())
                            add_memory(std::nullopt, platform.addresses().get_statistics().space);
                        if (!controller) return;
                        names.moves = names.moves || controller->can_move();
                        for (const tla_memory_kind kind : controller->memory_kinds())
                            add_memory(kind, controller->get_statistics(kind).arena);
                    });
    names.faults = platform.pes().front()->mmu.asks_for_pages();
    names.banks = platform.pes().front()->slice.has_banks();
    for (const pe_unit *pe : platform.pes())
        names.pes.push_back(to_string(pe->where));
    const tla_topology &graph = platform.graph();
    for (std::uint32_t i = 0; i < tla_topology_node_count(&graph); i++)
        names.nodes.emplace_back(tla_topology_nodes(&graph)[i].name);
    for (std::uint32_t i = 0; i < tla_topology_link_count(&graph); i++)
        names.links.emplace_back(tla_topology_links(&graph)[i].from, tla_topology_links(&graph)[i].to);
    return names;
}

// --- where events come from ------------------------------------------------------------------------------------------

void event_recorder::follow(npu &platform, workload &work) {
    names_ = event_names::of(platform);
    for (const listener &l : listeners_)
        l.sink->begin(names_);
    addresses_ = &platform.addresses();
    std::uint32_t module = 0;
    for_each_window(platform, [&](const sc_core::sc_object &, control_window &window, memory_controller *controller) {
        controllers_.push_back(controller);
        window.answered = [this, module](const answered_command &what) { note(module, what); };
        if (controller)
            controller->grown = [this, module](tla_memory_kind kind, const tla_arena_stats &list,
                                               std::uint64_t done_ps) {
                for (const listener &l : listeners_)
                    l.sink->grown({module, kind, list.used, list.free, list.largest_free}, done_ps);
            };
        if (controller) follow_moves(module, *controller);
        module++;
    });
    const std::size_t pes = platform.pes().size();
    mappings_.resize(pes);
    open_intervals_.resize(1 + pes);
    accounts_.reserve(1 + pes); // their addresses stay
    watch_account(sent_by_host, work.account());
    for (std::uint32_t pe = 0; pe < pes; pe++)
        follow_pe(pe, *platform.pes()[pe]);
    platform.host().fault_ended = [this](const runtime::ended_fault &what) {
        tell(event_kind::access, fault_service{number_of(what.pe), false, what});
    };
    platform.host().page_left = [this](const runtime::left_page &what) {
        tell(event_kind::access, page_exit{number_of(what.where), what});
    };
    platform.messages().delivered = [this](const message_ledger::delivery &d) {
        tell(event_kind::message,
             message_delivery{number_of(d.from), number_of(d.to), d.nbytes, d.sent_ps, d.received_ps});
    };
    links_ = std::make_unique<link_buckets>(names_.links.size());
    platform.fabric().passed = [this](const tla_fabric_passage &passage) { links_->add(passage); };
}

void event_recorder::follow_pe(std::uint32_t pe, pe_unit &unit) {
    pes_[key_of(unit.where)] = pe;
    const auto found = std::find(names_.modules.begin(), names_.modules.end(), names_.pes[pe] + ".mmu");
    const auto mmu = static_cast<std::uint32_t>(found - names_.modules.begin());
    pe_of_mmu_[mmu] = pe;
    unit.mmu.troubled = [this, mmu](const pe_mmu::troubled_access &t) {
        tell(event_kind::access, troubled_access{mmu, t.what, t.access, t.at_ps});
    };
    unit.controller.fault_served = [this, pe, where = unit.where](std::uint64_t va, std::uint64_t begin_ps,
                                                                  std::uint64_t end_ps) {
        tell(event_kind::access, fault_service{pe, true, {where, va, begin_ps, end_ps, true, 0, 0}});
    };
    unit.dma.ended = [this, pe](const pe_dma::request &what, std::uint64_t start_ps, std::uint64_t end_ps,
                                const pe_dma::outcome &how) { note_transfer(pe, what, start_ps, end_ps, how); };
    watch_account(1 + pe, unit.element.account());
}

void event_recorder::watch_account(std::uint32_t who, tla_time_account *account) {
    accounts_.push_back({this, who});
    tla_time_account_watch(
        account,
        [](void *context, const tla_time_part *part) {
            const watched_account &of = *static_cast<const watched_account *>(context);
            of.of->note_interval(of.who, *part);
        },
        &accounts_.back());
}

std::uint32_t event_recorder::number_of(const pe_location &where) const {
    return pes_.at(key_of(where));
}

template <typename Event>
void event_recorder::tell(event_kind kind, const Event &event) {
    const auto i = static_cast<std::size_t>(kind);
    const bool is_limited = kind != event_kind::launch; // of which each PE has but a few
    for (listener &l : listeners_) {
        if (is_limited && l.told == l.limit) {
            l.counts.lost[i]++;
            continue;
        }
        l.told += is_limited;
        l.counts.told[i]++;
        l.sink->add(event);
    }
}

// --- commands --------------------------------------------------------------------------------------------------------

void event_recorder::note(std::uint32_t module, const answered_command &what) {
    const tla_command &command = what.command;
    const command_times of{module,
                           command.opcode,
                           what.port,
                           sender_of(what.sender),
                           command.correlation_id,
                           command.request_id,
                           what.completion.status,
                           what.arrival_ps,
                           what.start_ps,
                           what.done_ps};
    if (tla_opcode_has_entries(command.opcode))
        note_mapping(of, what);
    else if (tla_opcode_names_pes(command.opcode))
        tell(event_kind::launch, launch_command{of, what.completion.value, what.completion.service_ps});
    else
        note_memory(of, what);
}

void event_recorder::note_memory(const command_times &of, const answered_command &what) {
    const tla_command &command = what.command;
    memory_command event{};
    event.of = of;
    event.object = takes_a_block(of.op) ? command.object : 0;
    event.nbytes = command.nbytes;
    event.service_ps = what.completion.service_ps;
    if (names_a_memory(of.op)) event.memory = command.memory;
    if (of.op == TLA_OP_PLACE) event.memory = TLA_HBM; // of which it is always
    const bool looked = of.status != TLA_BUSY;         // else it did not come as far as the list
    if (looked && (controllers_[of.module] || of.op == TLA_OP_VA_ALLOC || of.op == TLA_OP_VA_FREE)) {
        event.free_bytes = what.completion.total_free;
        event.largest_free = what.completion.largest_free;
    }
    note_blocks(event, what);
}

// Records one event for each block of the command; one event without an address for a command without blocks.
void event_recorder::note_blocks(memory_command event, const answered_command &what) {
    const tla_command &command = what.command;
    const tla_completion &completion = what.completion;
    const bool ok = completion.status == TLA_OK;
    const auto each = [&](const tla_placed_block &block) {
        event.address = block.pa.value;
        event.nbytes = block.nbytes;
        tell_block(event);
        event.service_ps = 0;
    };
    switch (command.opcode) {
    case TLA_OP_ALLOC:
    case TLA_OP_EVICT:
    case TLA_OP_VA_ALLOC:
        if (ok) event.address = completion.value;
        break;
    case TLA_OP_VA_FREE:
        event.address = command.va.value;
        break;
    case TLA_OP_ALLOC_BATCH:
        for (std::uint32_t i = 0; ok && i < command.count; i++)
            each({{address_in(what.result.data() + 8 * std::size_t{i})}, command.nbytes});
        if (ok && command.count > 0) return;
        break;
    case TLA_OP_FREE_BATCH:
    case TLA_OP_PUT:
        event.frees = ok && command.opcode == TLA_OP_FREE_BATCH && completion.value == command.count;
        for (std::uint32_t i = 0; i < command.count; i++)
            each(command.blocks[i]);
        if (command.count > 0) return;
        break;
    case TLA_OP_TRIM:
    case TLA_OP_GET:
    case TLA_OP_REMOVE:
        event.nbytes = completion.nbytes;
        break;
    case TLA_OP_MOVE: // the block is in its new place
        event.address = ok ? completion.value : command.pa.value;
        event.nbytes = completion.nbytes;
        break;
    default:
        event.address = command.pa.value;
        event.nbytes =
            command.opcode == TLA_OP_FREE || command.opcode == TLA_OP_PLACE ? command.nbytes : completion.nbytes;
        event.frees = ok && completion.value == 0 && (command.opcode == TLA_OP_FREE || command.opcode == TLA_OP_UNREF);
        break;
    }
    tell_block(event);
}

void event_recorder::tell_block(memory_command event) {
    const bool physical = controllers_[event.of.module];
    if (physical && event.address && event.of.status == TLA_OK && takes_a_block(event.of.op)) {
        event.block = blocks_++;
        live_[*event.address] = {*event.block, *event.address + event.nbytes, event.memory};
    } else if (physical && event.address) {
        const auto found = live_.find(*event.address);
        if (found != live_.end()) {
            event.block = found->second.number;
            if (event.of.op != TLA_OP_MOVE) event.memory = found->second.memory;
            if (event.frees) live_.erase(found);
        }
    }
    look_at_list(event);
    tell(event_kind::memory, event);
}

// The command has just been executed: the list is as it has left it.
void event_recorder::look_at_list(memory_command &event) const {
    const memory_controller *const controller = controllers_[event.of.module];
    if (event.free_bytes && !controller) event.free_blocks = addresses_->get_statistics().space.free_blocks;
    if (!event.free_bytes || !controller || !event.memory) return;
    const tla_arena_stats list = controller->get_statistics(*event.memory).arena;
    event.free_blocks = list.free_blocks;
    event.list = list;
}

void event_recorder::follow_moves(std::uint32_t module, memory_controller &controller) {
    controller.moved = [this, module](const memory_controller::moved_block &what) { note_move(module, what); };
    controller.stopped = [this, module](std::uint64_t begin_ps, std::uint64_t end_ps) {
        tell(event_kind::memory, move_stop{module, begin_ps, end_ps});
    };
}

// From now on commands about the block have its new address.
void event_recorder::note_move(std::uint32_t module, const memory_controller::moved_block &what) {
    const auto leave = [this](const tla_site &from) {
        const auto block = live_.extract(from.pa.value);
        return block ? std::optional(block.mapped().number) : std::nullopt;
    };
    const auto enter = [&](std::optional<std::uint64_t> block, const tla_site &to) {
        if (block && to.memory != TLA_MEMORY_KIND_COUNT)
            live_[to.pa.value] = {*block, to.pa.value + what.nbytes, to.memory};
    };
    const std::optional<std::uint64_t> block = leave(what.from), other = what.exchanged ? leave(what.to) : std::nullopt;
    enter(block, what.to);
    enter(other, what.from);
    tell(event_kind::memory, block_move{module, what, block, false});
    if (!what.exchanged) return;
    memory_controller::moved_block back = what;
    std::swap(back.from, back.to);
    back.begun_ps = what.freed_ps;
    tell(event_kind::memory, block_move{module, back, other, true});
}

void event_recorder::note_mapping(const command_times &of, const answered_command &what) {
    const tla_command &command = what.command;
    const auto mmu = pe_of_mmu_.find(of.module);
    if (mmu != pe_of_mmu_.end() && of.status == TLA_OK)
        for (std::uint32_t i = 0; i < command.count; i++) {
            const tla_map_entry &entry = command.entries[i];
            if (of.op == TLA_OP_MAP || of.op == TLA_OP_REMAP) {
                mapped &known = mappings_[mmu->second][entry.va.value];
                known = {entry.pa.value, entry.nbytes, of.op == TLA_OP_REMAP ? known.pa : entry.pa.value};
            }
            if (of.op == TLA_OP_UNMAP) mappings_[mmu->second].erase(entry.va.value);
        }
    tell(event_kind::mapping, mapping_command{of, command.entries, command.count});
}

// --- kernels, transfers ----------------------------------------------------------------------------------------------

// Joins adjacent intervals of one kind.
void event_recorder::note_interval(std::uint32_t who, const tla_time_part &part) {
    std::optional<tla_time_part> &open = open_intervals_[who];
    if (open && open->end_ps == part.begin_ps && open->charge.kind == part.charge.kind &&
        open->charge.place == part.charge.place && open->charge.unit == part.charge.unit) {
        open->end_ps = part.end_ps;
        return;
    }
    if (open) tell(event_kind::interval, time_interval{who, *open});
    open = part;
}

const event_recorder::live_block *event_recorder::block_at(std::uint64_t pa) const {
    const auto behind = live_.upper_bound(pa);
    if (behind == live_.begin()) return nullptr;
    const live_block &found = std::prev(behind)->second;
    return pa < found.end ? &found : nullptr;
}

void event_recorder::note_transfer(std::uint32_t pe, const pe_dma::request &what, std::uint64_t start_ps,
                                   std::uint64_t end_ps, const pe_dma::outcome &how) {
    dma_transfer event{};
    event.pe = pe;
    event.write = what.way == pe_dma::direction::write;
    event.for_message = what.token != nullptr;
    event.status = how.status;
    event.start_ps = start_ps;
    event.end_ps = end_ps;
    event.nbytes = what.rows * what.row_bytes;
    event.address = what.va.value;
    event.physical = what.physical;
    for (const tla_access_times &chunk : how.chunks)
        if (chunk.memory != TLA_TIME_NOWHERE &&
            std::find(event.memories.begin(), event.memories.end(), chunk.memory) == event.memories.end())
            event.memories.push_back(chunk.memory);
    std::uint64_t pa = what.va.value, before = pa;
    bool is_known = what.physical;
    if (!what.physical) {
        const auto behind = mappings_[pe].upper_bound(what.va.value);
        if (behind != mappings_[pe].begin()) {
            const auto &[va, to] = *std::prev(behind);
            is_known = what.va.value - va < to.nbytes;
            pa = to.pa + (what.va.value - va);
            before = to.before + (what.va.value - va);
        }
    }
    const live_block *block = is_known ? block_at(pa) : nullptr;
    if (is_known && !block) block = block_at(before); // it is on its way to its new place
    if (block) event.block = block->number;
    if (what.has_tile) {
        event.tile = what.tile.value;
        const live_block *const tile = block_at(what.tile.value);
        if (tile) event.tile_block = tile->number;
    }
    tell(event_kind::transfer, event);
}

// --- the end ---------------------------------------------------------------------------------------------------------

void event_recorder::finish(const npu &platform, const workload &work) {
    platform.fabric().fabric(); // what modules have yet to do until now
    for (std::uint32_t who = 0; who < open_intervals_.size(); who++)
        if (open_intervals_[who]) tell(event_kind::interval, time_interval{who, *open_intervals_[who]});
    run_end end{to_ps(sc_core::sc_time_stamp()), work.failure().status, {}, {}, links_->loads(), {}};
    for (const workload::tensor_report &t : work.tensors())
        end.tensors.push_back({t.object, t.name, t.va.value, t.nbytes});
    for (std::uint32_t pe = 0; names_.banks && pe < platform.pes().size(); pe++)
        end.commands.push_back({pe, platform.pes()[pe]->slice.get_statistics()});
    for (const listener &l : listeners_) {
        end.counts = l.counts;
        l.sink->end(end);
    }
}

std::uint64_t event_recorder::lost(const event_sink &sink) const {
    for (const listener &l : listeners_)
        if (l.sink == &sink) return l.counts.all_lost();
    return 0;
}

} // namespace tlmalloc
