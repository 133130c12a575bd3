// Blocks in slices that have one owner move in all slices to one offset, or in none.
#include "modules/memory/owed_frees.hpp"
#include "runtime_places.hpp"
#include "runtime_text.hpp"

#include <algorithm>

namespace tlmalloc {

// A move, from its beginning to its end: the tensor stays, and no other move begins from or to its places.
class runtime::slices_moving {
  public:
    slices_moving(runtime &host, tensor &t) : host_(host), tensor_(t) { tensor_.leaving++; }
    ~slices_moving() {
        tensor_.leaving--;
        for (const owned_place &place : places_)
            host_.moving_places_.erase(place);
    }
    slices_moving(const slices_moving &) = delete;
    slices_moving &operator=(const slices_moving &) = delete;

    void use(const owned_place &place) {
        host_.moving_places_.insert(place);
        places_.push_back(place);
    }

  private:
    runtime &host_;
    tensor &tensor_;
    std::vector<owned_place> places_;
};

// Sends a MOVE to that offset for every part that has not moved, until one fails. Parts with the same virtual
// addresses, as copies have, move one after the other, because the host's own transfers can pause these addresses only
// once.
void runtime::move_in_slices(tensor &t, std::vector<slice_move> &moves, std::uint64_t offset,
                             std::uint32_t correlation_id) {
    std::vector<slice_move *> left;
    for (slice_move &m : moves)
        if (!m.has_moved()) left.push_back(&m);
    for (bool failed = false; !left.empty() && !failed;) {
        std::vector<slice_move *> now, later;
        std::vector<addressed_command> commands;
        for (slice_move *m : left) {
            const shard &s = t.shards[m->part];
            const bool waits = std::any_of(now.begin(), now.end(), [&](const slice_move *other) {
                const shard &o = t.shards[other->part];
                return o.offset < s.offset + s.nbytes && s.offset < o.offset + o.nbytes;
            });
            (waits ? later : now).push_back(m);
            if (waits) continue;
            commands.push_back(to_controller(settings_.control_port, TLA_OP_MOVE, TLA_HBM, s, correlation_id));
            commands.back().command.elsewhere = true;
            commands.back().command.to = {memory_base(s.where, TLA_HBM) + offset};
        }
        const std::vector<tla_completion> answers = send_commands(way::fabric, commands);
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
void runtime::move_back(tensor &t, std::vector<slice_move> moves, std::uint64_t offset, std::uint32_t correlation_id) {
    moves.erase(std::remove_if(moves.begin(), moves.end(), [](const slice_move &m) { return !m.has_moved(); }),
                moves.end());
    for (slice_move &m : moves)
        m.sent = false;
    const auto is_left = [&] {
        return std::any_of(moves.begin(), moves.end(), [](const slice_move &m) { return !m.has_moved(); });
    };
    for (unsigned tries = 0; is_left() && tries < TLA_OWED_TRIES && !ends_calls(); tries++) {
        if (tries > 0) wait_for_ps(settings_.retry.delay_ps << tries);
        move_in_slices(t, moves, offset, correlation_id);
    }
}

std::size_t runtime::count_parts(const tensor &t, const owned_place &place) const {
    return static_cast<std::size_t>(std::count_if(t.shards.begin(), t.shards.end(), [&](const shard &s) {
        return in_lockstep(memory_of(s)) && place_in_slices(s) == place;
    }));
}

// The owner frees the place that a move has left, or was to reach: later, if it is rejected for now, and with the
// tensor, if a part is there.
tla_status runtime::free_place(const tensor &t, const shard &s, std::uint32_t correlation_id, const std::string &what,
                               tla_error *error) {
    if (count_parts(t, place_in_slices(s)) > 0) return TLA_OK;
    const tla_completion freed = free_in_lockstep({s}, correlation_id)[0];
    if (!freed.status) remember(TLA_HBM, s.where, freed);
    if (!stays_owed(static_cast<tla_status>(freed.status)))
        return freed.status ? explain(error, what, freed, 0) : TLA_OK;
    owed_.push_back(s);
    return TLA_OK;
}

tla_status runtime::move_in_lockstep(tensor &t, std::size_t part, const std::string &what, tla_completion &done,
                                     tla_error *error) {
    const shard from = t.shards[part];
    const owned_place old = place_in_slices(from);
    if (moving_places_.count(old) > 0)
        return tla_error_set(error, TLA_BUSY, "%s: the block moves already", what.c_str());
    slices_moving here(*this, t);
    here.use(old);
    std::vector<slice_move> moves;
    std::uint64_t nbytes = owned_blocks_[old];
    for (std::size_t i = 0; i < t.shards.size(); i++) {
        const shard &s = t.shards[i];
        if (!in_lockstep(memory_of(s)) || place_in_slices(s) != old) continue;
        moves.push_back({i, false, {}});
        nbytes = std::max(nbytes, s.nbytes);
    }
    owned_blocks_[old] = nbytes;
    const std::uint32_t correlation_id = next_correlation_++;
    done = send_commands(way::fabric, {alloc_of_owner(from.where, nbytes, t.object, correlation_id)})[0];
    if (done.status) return explain_move(error, what, done, nbytes);
    const owned_place next = place_in_slices(from.where, done.value);
    here.use(next);
    owned_blocks_[next] = nbytes;
    shard to = from;
    to.pa = {memory_base(from.where, TLA_HBM) + done.value};
    move_in_slices(t, moves, std::get<2>(next), correlation_id);
    const auto has_failed = [](const slice_move &m) { return m.sent && !m.has_moved(); };
    const auto failed = std::find_if(moves.begin(), moves.end(), has_failed);
    if (failed == moves.end()) {
        const auto is_named = [&](const slice_move &m) { return m.part == part; };
        done = std::find_if(moves.begin(), moves.end(), is_named)->completion;
        return free_place(t, from, correlation_id, what + ": the block has moved, but its old place is not free",
                          error);
    }
    done = failed->completion;
    move_back(t, moves, std::get<2>(old), correlation_id);
    free_place(t, to, correlation_id, what, nullptr);
    tla_error why{};
    explain_move(&why, what + ": " + place_of(TLA_HBM, t.shards[failed->part].where), done, 0);
    const std::size_t stay = count_parts(t, next);
    if (stay == 0) return tla_error_set(error, why.status, "%s", why.text);
    return tla_error_set(error, why.status,
                         "%s; %zu of %zu parts could not be moved back: the block has both places until its tensor is "
                         "freed",
                         why.text, stay, moves.size());
}

} // namespace tlmalloc
