// Blocks in slices that have one owner move in all slices to one offset, or in none.
#include "modules/memory/owed_frees.hpp"
#include "runtime_places.hpp"
#include "runtime_slices.hpp"
#include "runtime_text.hpp"

#include <algorithm>

namespace tlmalloc {

// A move, from its beginning to its end: the tensor stays, and no other move begins from or to its blocks.
class runtime::owned_slices::moving {
  public:
    moving(owned_slices &of, tensor &t) : of_(of), tensor_(t) { tensor_.leaving++; }
    ~moving() {
        tensor_.leaving--;
        for (const std::uint64_t number : numbers_)
            of_.moving_.erase(number);
    }
    moving(const moving &) = delete;
    moving &operator=(const moving &) = delete;

    void use(const block &which) {
        of_.moving_.insert(which.number);
        numbers_.push_back(which.number);
    }

  private:
    owned_slices &of_;
    tensor &tensor_;
    std::vector<std::uint64_t> numbers_;
};

// Sends a MOVE to that offset for every part that has not moved, until one fails. Parts with the same virtual
// addresses, as copies have, move one after the other, because the host's own transfers can pause these addresses only
// once.
void runtime::owned_slices::move_parts(tensor &t, std::vector<part_move> &moves, std::uint64_t offset,
                                       std::uint32_t correlation_id) {
    std::vector<part_move *> left;
    for (part_move &m : moves)
        if (!m.has_moved()) left.push_back(&m);
    for (bool failed = false; !left.empty() && !failed;) {
        std::vector<part_move *> now, later;
        std::vector<addressed_command> commands;
        for (part_move *m : left) {
            const shard &s = t.shards[m->part];
            const bool waits = std::any_of(now.begin(), now.end(), [&](const part_move *other) {
                const shard &o = t.shards[other->part];
                return o.offset < s.offset + s.nbytes && s.offset < o.offset + o.nbytes;
            });
            (waits ? later : now).push_back(m);
            if (waits) continue;
            commands.push_back(to_controller(of_.settings_.control_port, TLA_OP_MOVE, TLA_HBM, s, correlation_id));
            commands.back().command.elsewhere = true;
            commands.back().command.to = {of_.memory_base(s.where, TLA_HBM) + offset};
        }
        const std::vector<tla_completion> answers = of_.send_commands(way::fabric, commands);
        for (std::size_t i = 0; i < now.size(); i++) {
            now[i]->sent = true;
            now[i]->completion = answers[i];
            failed |= !now[i]->has_moved();
            tla_paddr &pa = t.shards[now[i]->part].pa; // somebody else may have moved the block since
            if (now[i]->has_moved() && pa.value == commands[i].command.pa.value) pa = commands[i].command.to;
        }
        left.swap(later);
    }
}

// After a failure: the parts that have moved go back.
void runtime::owned_slices::move_back(tensor &t, std::vector<part_move> moves, std::uint64_t offset,
                                      std::uint32_t correlation_id) {
    moves.erase(std::remove_if(moves.begin(), moves.end(), [](const part_move &m) { return !m.has_moved(); }),
                moves.end());
    for (part_move &m : moves)
        m.sent = false;
    const auto is_left = [&] {
        return std::any_of(moves.begin(), moves.end(), [](const part_move &m) { return !m.has_moved(); });
    };
    for (unsigned tries = 0; is_left() && tries < TLA_OWED_TRIES && !of_.ends_calls(); tries++) {
        if (tries > 0) of_.wait_for_ps(of_.settings_.retry.delay_ps << tries);
        move_parts(t, moves, offset, correlation_id);
    }
}

std::size_t runtime::owned_slices::count_parts(const tensor &t, const block &in) {
    return static_cast<std::size_t>(std::count_if(t.shards.begin(), t.shards.end(), [&](const shard &s) {
        if (!of_.in_lockstep(memory_of(s))) return false;
        const auto found = find(s);
        return found != blocks_.end() && found->second.number == in.number;
    }));
}

// The owner frees the place that a move has left, or was to reach: later, if it is rejected for now, and with the
// tensor, if a part is there.
tla_status runtime::owned_slices::free_place(const tensor &t, const shard &s, std::uint32_t correlation_id,
                                             const std::string &what, tla_error *error) {
    const auto left = find(s);
    if (left != blocks_.end() && count_parts(t, left->second) > 0) return TLA_OK;
    const tla_completion freed = free({s}, correlation_id)[0];
    if (!freed.status) of_.remember(TLA_HBM, s.where, freed);
    if (!stays_owed(static_cast<tla_status>(freed.status)))
        return freed.status ? explain(error, what, freed, 0) : TLA_OK;
    of_.owed_.push_back(s);
    return TLA_OK;
}

tla_status runtime::owned_slices::move(tensor &t, std::size_t part, const std::string &what, tla_completion &done,
                                       tla_error *error) {
    const shard from = t.shards[part];
    const auto old = find(from);
    if (old == blocks_.end() || moving_.count(old->second.number) > 0)
        return tla_error_set(error, TLA_BUSY, "%s: the block moves already", what.c_str());
    moving here(*this, t);
    here.use(old->second);
    const std::uint64_t old_offset = old->first.offset;
    std::vector<part_move> moves;
    for (std::size_t i = 0; i < t.shards.size(); i++)
        if (of_.in_lockstep(memory_of(t.shards[i])) && find(t.shards[i]) == old) moves.push_back({i, false, {}});
    block next = old->second;
    next.number = next_number_++;
    const std::uint32_t correlation_id = of_.next_correlation_++;
    addressed_command alloc = to_owner(from.where, TLA_OP_ALLOC, next, correlation_id);
    alloc.command.object = t.object;
    done = of_.send_commands(way::fabric, {alloc})[0];
    if (done.status) return explain_move(error, what, done, next.nbytes);
    here.use(next);
    blocks_.emplace(place_of(from.where, done.value), next);
    const std::uint64_t next_offset = done.value;
    shard to = from;
    to.pa = {of_.memory_base(from.where, TLA_HBM) + next_offset};
    move_parts(t, moves, next_offset, correlation_id);
    const auto has_failed = [](const part_move &m) { return m.sent && !m.has_moved(); };
    const auto failed = std::find_if(moves.begin(), moves.end(), has_failed);
    if (failed == moves.end()) {
        const auto is_named = [&](const part_move &m) { return m.part == part; };
        done = std::find_if(moves.begin(), moves.end(), is_named)->completion;
        return free_place(t, from, correlation_id, what + ": the block has moved, but its old place is not free",
                          error);
    }
    done = failed->completion;
    move_back(t, moves, old_offset, correlation_id);
    free_place(t, to, correlation_id, what, nullptr);
    tla_error why{};
    explain_move(&why, what + ": " + tlmalloc::place_of(TLA_HBM, t.shards[failed->part].where), done, 0);
    const std::size_t stay = count_parts(t, next);
    if (stay == 0) return tla_error_set(error, why.status, "%s", why.text);
    return tla_error_set(error, why.status,
                         "%s; %zu of %zu parts could not be moved back: the block has both places until its tensor is "
                         "freed",
                         why.text, stay, moves.size());
}

} // namespace tlmalloc
