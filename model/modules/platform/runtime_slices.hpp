// Blocks of the runtime in slices that have an owner: who they are, in which slices, and how they move.
#ifndef TLMALLOC_MODULES_PLATFORM_RUNTIME_SLICES_HPP
#define TLMALLOC_MODULES_PLATFORM_RUNTIME_SLICES_HPP

#include "tlmalloc/modules/runtime.hpp"

namespace tlmalloc {

class runtime::owned_slices {
  public:
    explicit owned_slices(runtime &of) : of_(of) {}

    // Allocate the parts of a tensor, and free such parts. Completions are in the order of the parts.
    std::vector<tla_completion> allocate(const tensor &t, const std::vector<shard> &wanted,
                                         std::uint32_t correlation_id);
    std::vector<tla_completion> free(const std::vector<shard> &shards, std::uint32_t correlation_id);

    // As runtime::move.
    tla_status move(tensor &t, std::size_t part, const std::string &what, tla_completion &done, tla_error *error);

    // Returns the first PE of the slices of an owner.
    pe_location first_of_owner(const pe_location &where) const;

    // Without a command.
    void forget_all() { blocks_.clear(); }

  private:
    struct place { // in the slices of the owner of a PE
        pe_location first;
        std::uint64_t offset;
        bool operator<(const place &other) const;
    };
    struct block { // in each of its slices
        tlmalloc::placing how;
        tla_pe_set pes; // of its slices; lockstep: unused
        std::uint64_t nbytes;
        std::uint64_t number;                    // tells blocks at one place apart
        std::vector<std::uint64_t> extents = {}; // common: bytes in the slices of pes; none: nbytes in each
    };
    using blocks = std::multimap<place, block>; // at one place only in different slices
    struct part_move {
        std::size_t part;
        bool sent;
        tla_completion completion;
        bool has_moved() const { return sent && !completion.status; }
    };
    class moving;

    place place_of(const pe_location &where, std::uint64_t offset) const;
    place place_of(const shard &s) const;
    blocks::iterator find(const shard &s);
    addressed_command to_owner(const pe_location &where, tla_opcode opcode, const block &which,
                               std::uint32_t correlation_id) const;
    std::size_t count_parts(const tensor &t, const block &in);
    tla_status free_place(const tensor &t, const shard &s, std::uint32_t correlation_id, const std::string &what,
                          tla_error *error);
    void move_parts(tensor &t, std::vector<part_move> &moves, std::uint64_t offset, std::uint32_t correlation_id);
    void move_back(tensor &t, std::vector<part_move> moves, std::uint64_t offset, std::uint32_t correlation_id);

    runtime &of_;
    blocks blocks_;                  // that owners have placed
    std::uint64_t next_number_ = 0;  // of a block
    std::set<std::uint64_t> moving_; // numbers of blocks from and to which a tensor moves
};

} // namespace tlmalloc
#endif
