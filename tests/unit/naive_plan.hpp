// A planning problem that owns its arrays, and the naive answer to whether it has a plan: every offset of every tensor
// tried, over a picture of which addresses are taken at which time.
#ifndef TLMALLOC_TESTS_NAIVE_PLAN_HPP
#define TLMALLOC_TESTS_NAIVE_PLAN_HPP

#include "tlmalloc/plan/plan.h"

#include <sstream>
#include <string>
#include <vector>

struct plan_problem {
    std::vector<tla_lifetime> tensors;
    std::vector<std::uint64_t> alignments, fixed;
    std::vector<tla_plan_gap> gaps;

    tla_plan_problem view() const {
        return {tensors.data(), tensors.size(), alignments.data(), fixed.data(), gaps.data(), gaps.size()};
    }

    bool is_live(std::size_t tensor, std::uint64_t time) const {
        if (time < tensors[tensor].lower || time >= tensors[tensor].upper) return false;
        for (const tla_plan_gap &gap : gaps)
            if (gap.tensor == tensor && gap.lower <= time && time < gap.upper) return false;
        return true;
    }

    std::string text() const {
        std::ostringstream out;
        for (std::size_t i = 0; i < tensors.size(); i++) {
            out << "[" << tensors[i].lower << "," << tensors[i].upper << ") x" << tensors[i].nbytes;
            if (alignments[i] > 1) out << " aligned " << alignments[i];
            if (fixed[i] != TLA_PLAN_ANYWHERE) out << " at " << fixed[i];
            for (const tla_plan_gap &gap : gaps)
                if (gap.tensor == i) out << " gap " << gap.lower << "-" << gap.upper;
            out << "; ";
        }
        return out.str();
    }
};

// For times below 8 and capacities up to 63. The tensor with the fewest free offsets is tried next.
class naive_planner {
  public:
    naive_planner(const plan_problem &problem, std::uint64_t capacity)
        : problem_(problem), capacity_(capacity), placed_(problem.tensors.size()) {}

    bool place_all() {
        std::vector<std::uint64_t> least;
        std::size_t tensor = placed_.size();
        for (std::size_t i = 0; i < placed_.size(); i++) {
            if (placed_[i]) continue;
            std::vector<std::uint64_t> found = free_bytes(i);
            if (tensor < placed_.size() && found.size() >= least.size()) continue;
            least = std::move(found);
            tensor = i;
        }
        if (tensor == placed_.size()) return true;
        placed_[tensor] = true;
        for (std::uint64_t bytes : least) {
            flip(tensor, bytes);
            if (place_all()) return true;
            flip(tensor, bytes);
        }
        placed_[tensor] = false;
        return false;
    }

  private:
    std::vector<std::uint64_t> free_bytes(std::size_t tensor) const {
        const std::uint64_t nbytes = problem_.tensors[tensor].nbytes, fixed = problem_.fixed[tensor];
        std::uint64_t taken = 0;
        for (std::uint64_t time = 0; time < 8; time++)
            if (problem_.is_live(tensor, time)) taken |= taken_[time];
        std::vector<std::uint64_t> found;
        for (std::uint64_t at = 0; at + nbytes <= capacity_; at += problem_.alignments[tensor]) {
            const std::uint64_t bytes = ((std::uint64_t{1} << nbytes) - 1) << at;
            if ((fixed == TLA_PLAN_ANYWHERE || fixed == at) && !(taken & bytes)) found.push_back(bytes);
        }
        return found;
    }
    void flip(std::size_t tensor, std::uint64_t bytes) {
        for (std::uint64_t time = 0; time < 8; time++)
            if (problem_.is_live(tensor, time)) taken_[time] ^= bytes;
    }

    const plan_problem &problem_;
    std::uint64_t capacity_;
    std::vector<bool> placed_;
    std::uint64_t taken_[8] = {};
};

inline bool naive_plan_exists(const plan_problem &problem, std::uint64_t capacity) {
    return naive_planner(problem, capacity).place_all();
}

#endif
