// Blocks of a key-value cache on a platform: commands, patterns, references.
#include "serving/command/platform_blocks.hpp"

#include "serving/command/platform_pattern.hpp"
#include "serving/command/platform_port.hpp"
#include "tlmalloc/modules/time.hpp"

#include <algorithm>

namespace tlmalloc {

namespace {

constexpr std::uint64_t most_at_once = 1 << 20; // bytes of a pattern

} // namespace

struct platform_blocks::sockets {
    sockets(const std::string &name, pe_unit &unit)
        : pe(unit), controller((name + "_controller").c_str()), bytes((name + "_bytes").c_str()),
          mappings((name + "_mappings").c_str()) {
        controller.bind(pe.controller.control);
        bytes.bind(pe.controller.in);
        mappings.bind(pe.mmu.control);
    }

    pe_unit &pe;
    tlm_utils::simple_initiator_socket<platform_blocks> controller, bytes, mappings;
};

platform_blocks::platform_blocks(sc_core::sc_module_name name, npu &platform, std::uint32_t blocks,
                                 std::uint64_t block_bytes, std::uint64_t page_bytes, std::uint64_t pattern_bytes,
                                 std::uint32_t asid, std::uint64_t checked_bytes)
    : sc_module(name), block_bytes_(block_bytes), stride_((block_bytes + page_bytes - 1) / page_bytes * page_bytes),
      pattern_bytes_(pattern_bytes), checked_bytes_(checked_bytes), asid_(asid), driver_(platform.host().driver()),
      blocks_(blocks) {
    for (std::size_t i = 0; i < platform.pes().size(); i++) {
        sockets_.push_back(std::make_unique<sockets>("pe" + std::to_string(i), *platform.pes()[i]));
        sips_ = std::max(sips_, platform.pes()[i]->where.sip + 1);
    }
    TLMALLOC_HAS_PROCESS(platform_blocks);
    SC_THREAD(work);
}

platform_blocks::~platform_blocks() = default;

// Records the decisions of the second tier.
void platform_blocks::hear_tier(const tla_block_decision &decision) {
    for (std::uint32_t i = 0; i < decision.count; i++) {
        const std::uint32_t there = decision.host_blocks[i];
        if (decision.kind == TLA_BLOCKS_MOVED_OUT)
            noted_.push_back({action::move_out, decision.blocks[i], there, i > 0});
        else if (decision.kind == TLA_BLOCKS_MOVED_IN)
            noted_.push_back({action::move_in, decision.blocks[i], there, i > 0});
        else if (decision.kind == TLA_BLOCKS_HELD)
            noted_.push_back({action::hold, there});
        else if (decision.kind == TLA_BLOCKS_LET_GO)
            noted_.push_back({action::let_go, there});
    }
}

void platform_blocks::hear(const tla_block_decision &decision) {
    if (decision.host_blocks) {
        hear_tier(decision);
        return;
    }
    for (std::uint32_t i = 0; i < decision.count; i++) {
        const std::uint32_t block = decision.blocks[i];
        if (decision.kind == TLA_BLOCKS_ALLOCATED)
            noted_.push_back({i < decision.found ? action::find : action::take, block});
        else if (decision.kind == TLA_BLOCKS_ENTERED)
            noted_.push_back({action::enter, block});
    }
    if (decision.kind == TLA_BLOCKS_RELEASED) // from the last to the first
        for (std::uint32_t i = decision.count; i-- > 0;)
            noted_.push_back({action::release, decision.blocks[i]});
}

tla_status platform_blocks::run(times &took, tla_error *error) {
    times_ = {};
    const tla_status status = noted_.empty() ? failure_.status : simulate(error);
    took.allocation_ps += times_.allocation_ps;
    took.mapping_ps += times_.mapping_ps;
    took.transfer_ps += times_.transfer_ps;
    return status;
}

tla_status platform_blocks::simulate(tla_error *error) {
    if (!failure_.status) {
        begin_.notify(sc_core::SC_ZERO_TIME);
        sc_core::sc_start();
    }
    if (!failure_.status && !noted_.empty())
        tla_error_set(&failure_, TLA_BUSY, "the platform became idle before its commands completed");
    if (failure_.status) *error = failure_;
    return failure_.status;
}

tla_status platform_blocks::finish(tla_error *error) {
    times ignored;
    if (const tla_status status = run(ignored, error)) return status;
    for (std::uint32_t block = 0; block < blocks_.size(); block++)
        if (blocks_[block].references) noted_.push_back({action::release, block});
    ends_ = tier_ != nullptr;
    return ends_ ? simulate(error) : run(ignored, error);
}

void platform_blocks::work() {
    while (!failure_.status) {
        while (noted_.empty() && !ends_)
            wait(begin_);
        for (std::size_t i = 0; i < noted_.size() && !failure_.status;)
            i += act_from(i);
        wait_for_sips();
        if (!failure_.status) noted_.clear();
        if (ends_ && !failure_.status) tier_->give_all_back(&failure_);
        ends_ = false;
        sc_core::sc_pause(); // whatever else the platform has pending waits for the next step
    }
}

// One, or all that are moved together; how many.
std::size_t platform_blocks::act_from(std::size_t first) {
    std::size_t count = 1;
    while (first + count < noted_.size() && noted_[first + count].follows)
        count++;
    const action what = noted_[first].what;
    if (what == action::move_out || what == action::move_in)
        move(first, count);
    else
        act(noted_[first]);
    return count;
}

tla_status platform_blocks::act(const noted &n) {
    switch (n.what) {
    case action::take:
        return take(n.block);
    case action::find:
        if (const tla_status status = check(n.block)) return status;
        return reference(n.block);
    case action::enter:
        if (blocks_[n.block].indexed) return TLA_OK;
        blocks_[n.block].indexed = true;
        return reference(n.block);
    case action::release:
        if (const tla_status status = check(n.block)) return status;
        return give_up(n.block);
    case action::hold:
    case action::let_go: {
        platform_tier::times took;
        const bool begins = n.what == action::hold;
        const tla_status status =
            begins ? tier_->hold(n.block, took, &failure_) : tier_->let_go(n.block, took, &failure_);
        times_.allocation_ps += took.allocation_ps;
        return status;
    }
    case action::move_out:
    case action::move_in:
        break; // by move()
    }
    return TLA_OK;
}

// A block that leaves belongs to the index alone, and a block that returns goes to a block that a request has just
// received.
tla_status platform_blocks::check_movable(std::uint32_t block, bool leaves) {
    const block_state &b = blocks_[block];
    if (b.references != 1 || b.indexed != leaves)
        return tla_error_set(&failure_, TLA_WRONG_RESULT, "block %u is moved %s the host's memory but is not %s alone",
                             block, leaves ? "to" : "from", leaves ? "the index's" : "a request's");
    return leaves ? check(block, pattern_bytes_) : TLA_OK;
}

tla_status platform_blocks::move(std::size_t first, std::size_t count) {
    const bool leaves = noted_[first].what == action::move_out;
    std::vector<platform_tier::move> moves;
    for (std::size_t i = first; i < first + count; i++) {
        const noted &n = noted_[i];
        if (const tla_status status = check_movable(n.block, leaves)) return status;
        moves.push_back({pe_of(n.block), address(n.block), n.host_block, blocks_[n.block].content});
    }
    wait_for_sips();
    platform_tier::times took;
    const tla_status status = leaves ? tier_->move_out(moves, took, &failure_) : tier_->move_in(moves, took, &failure_);
    times_.allocation_ps += took.allocation_ps;
    times_.transfer_ps += took.transfer_ps;
    for (std::size_t i = 0; i < count && !leaves && !status; i++) {
        const std::uint32_t block = noted_[first + i].block;
        blocks_[block].content = moves[i].content;
        if (const tla_status wrong = check(block, pattern_bytes_)) return wrong;
    }
    return status;
}

tla_status platform_blocks::failed(tla_status status, const char *what, std::uint32_t block) {
    if (!status) return TLA_OK;
    return tla_error_set(&failure_, status, "%s of block %u in PE %zu's slice: %s", what, block, pe_of(block),
                         tla_status_text(status));
}

// Returns the virtual address of a block for its PE; the first page is unused.
std::uint64_t platform_blocks::address(std::uint32_t block) const {
    return (block / sockets_.size() + 1) * stride_;
}

// The calls of an asynchronous driver are over when the SIPs have completed them.
void platform_blocks::wait_for_sips() {
    times_.allocation_ps += wait_for_driver(driver_, sips_);
}

tla_status platform_blocks::memory(tla_opcode opcode, std::uint32_t block, tla_completion &completion) {
    tla_command command{};
    command.opcode = opcode;
    command.target = TLA_TARGET_MEMORY_CONTROLLER;
    command.memory = TLA_HBM;
    command.nbytes = block_bytes_;
    command.pa = {blocks_[block].pa};
    const std::uint64_t start = to_ps(sc_core::sc_time_stamp());
    const bool is_call = opcode == TLA_OP_ALLOC || (opcode == TLA_OP_FREE && blocks_[block].references == 1);
    const tla_status status = command_in_driver(is_call ? driver_ : nullptr, of(block).pe.where.sip,
                                                of(block).controller, command, completion);
    times_.allocation_ps += to_ps(sc_core::sc_time_stamp()) - start;
    ++(opcode == TLA_OP_ALLOC ? counts_.alloc : opcode == TLA_OP_FREE ? counts_.free : counts_.ref);
    return failed(status, opcode == TLA_OP_ALLOC ? "ALLOC" : opcode == TLA_OP_FREE ? "FREE" : "REF", block);
}

tla_status platform_blocks::map(tla_opcode opcode, std::uint32_t block) {
    tla_command command{};
    command.opcode = opcode;
    command.target = TLA_TARGET_PE_MMU;
    command.scope = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    command.count = 1;
    command.entries[0] = {{address(block)}, {blocks_[block].pa}, block_bytes_, TLA_READ | TLA_WRITE, asid_};
    const std::uint64_t start = to_ps(sc_core::sc_time_stamp());
    tla_completion completion{};
    const tla_status status = command_beside(of(block).mappings, command, completion);
    times_.mapping_ps += to_ps(sc_core::sc_time_stamp()) - start;
    ++(opcode == TLA_OP_MAP ? counts_.map : counts_.unmap);
    return failed(status, opcode == TLA_OP_MAP ? "MAP" : "UNMAP", block);
}

tla_status platform_blocks::reference(std::uint32_t block) {
    tla_completion completion{};
    blocks_[block].references++;
    return memory(TLA_OP_REF, block, completion);
}

tla_status platform_blocks::give_up(std::uint32_t block) {
    block_state &b = blocks_[block];
    tla_completion completion{};
    if (b.references == 1)
        if (const tla_status status = map(TLA_OP_UNMAP, block)) return status;
    if (const tla_status status = memory(TLA_OP_FREE, block, completion)) return status;
    b.references--;
    if (completion.value != b.references)
        return tla_error_set(&failure_, TLA_WRONG_RESULT, "block %u has %llu references on the platform, expected %u",
                             block, static_cast<unsigned long long>(completion.value), b.references);
    if (b.references == 0) b.indexed = false;
    return TLA_OK;
}

tla_status platform_blocks::take(std::uint32_t block) {
    block_state &b = blocks_[block];
    if (b.references > 1)
        return tla_error_set(&failure_, TLA_WRONG_RESULT, "block %u is given to a request while other requests hold it",
                             block);
    if (b.references) // the index gives it up
        if (const tla_status status = act({action::release, block})) return status;
    tla_completion completion{};
    if (const tla_status status = memory(TLA_OP_ALLOC, block, completion)) return status;
    b.pa = completion.value;
    b.references = 1;
    b.content = std::uint64_t{block} << 32 ^ ++b.generation;
    if (const tla_status status = map(TLA_OP_MAP, block)) return status;
    if (!write_pattern(block, 0, pattern_bytes_) || !write_pattern(block, block_bytes_ - end_bytes, end_bytes))
        return failed(TLA_BUS_ERROR, "writing the pattern", block);
    return TLA_OK;
}

void platform_blocks::expect(std::uint32_t block, std::uint64_t offset, std::uint8_t *bytes,
                             std::uint64_t nbytes) const {
    pattern_of(blocks_[block].content, offset, bytes, nbytes);
}

bool platform_blocks::write_pattern(std::uint32_t block, std::uint64_t offset, std::uint64_t nbytes) {
    std::vector<std::uint8_t> bytes(std::min(nbytes, most_at_once));
    for (const std::uint64_t end = offset + nbytes; offset < end; offset += bytes.size()) {
        bytes.resize(std::min(end - offset, most_at_once));
        expect(block, offset, bytes.data(), bytes.size());
        if (!copy(tlm::TLM_WRITE_COMMAND, block, offset, bytes.data(), bytes.size())) return false;
    }
    return true;
}

bool platform_blocks::copy(tlm::tlm_command command, std::uint32_t block, std::uint64_t offset, std::uint8_t *bytes,
                           std::uint64_t nbytes) {
    return debug_access(of(block).bytes, command, blocks_[block].pa + offset, bytes, nbytes);
}

platform_counts platform_blocks::counts() const {
    platform_counts counts = counts_;
    if (tier_) tier_->add_counts(counts);
    return counts;
}

// The first bytes of the pattern, and those at the end.
tla_status platform_blocks::check(std::uint32_t block, std::uint64_t first_bytes) {
    if (const tla_status status = check_bytes(block, 0, first_bytes)) return status;
    return check_bytes(block, block_bytes_ - end_bytes, end_bytes);
}

tla_status platform_blocks::check_bytes(std::uint32_t block, std::uint64_t offset, std::uint64_t nbytes) {
    if (!of(block).pe.mmu.leads_into(asid_, {address(block) + offset}, nbytes, TLA_READ,
                                     to_ps(sc_core::sc_time_stamp()), blocks_[block].pa + offset, nbytes))
        return failed(TLA_UNMAPPED, "the mapping", block);
    std::vector<std::uint8_t> bytes(std::min(nbytes, most_at_once)), expected(bytes.size());
    for (const std::uint64_t end = offset + nbytes; offset < end; offset += bytes.size()) {
        bytes.resize(std::min(end - offset, most_at_once));
        if (!copy(tlm::TLM_READ_COMMAND, block, offset, bytes.data(), bytes.size()))
            return failed(TLA_BUS_ERROR, "reading the pattern", block);
        expect(block, offset, expected.data(), bytes.size());
        const auto wrong = std::mismatch(bytes.begin(), bytes.end(), expected.begin());
        if (wrong.first == bytes.end()) continue;
        const std::uint64_t at = offset + static_cast<std::uint64_t>(wrong.first - bytes.begin());
        return tla_error_set(&failure_, TLA_WRONG_RESULT,
                             "block %u, byte %llu, in PE %zu's slice: found 0x%02x, expected 0x%02x", block,
                             static_cast<unsigned long long>(at), pe_of(block), *wrong.first, *wrong.second);
    }
    return TLA_OK;
}

} // namespace tlmalloc
