// The block manager as a page would write it down: lists that are searched from the front.
#ifndef TLMALLOC_TESTS_UNIT_NAIVE_KV_BLOCKS_HPP
#define TLMALLOC_TESTS_UNIT_NAIVE_KV_BLOCKS_HPP

#include <algorithm>
#include <cstdint>
#include <deque>
#include <set>
#include <utility>
#include <vector>

struct naive_kv_blocks {
    struct table {
        std::vector<std::uint32_t> blocks;
        std::size_t entered = 0;
    };

    naive_kv_blocks(std::uint32_t count, bool with_index) : index(with_index), references(count) {
        for (std::uint32_t block = 1; block < count; block++)
            queue.push_back(block);
    }

    std::vector<std::uint32_t> find(const std::vector<std::uint64_t> &hashes) const {
        std::vector<std::uint32_t> found;
        for (const std::uint64_t hash : hashes) {
            const auto at =
                std::find_if(entries.begin(), entries.end(), [hash](const auto &e) { return e.first == hash; });
            if (at == entries.end()) break;
            found.push_back(at->second);
        }
        return found;
    }

    std::size_t needed(const table &t, const std::vector<std::uint32_t> &found, std::size_t count) const {
        const std::size_t held = t.blocks.size() + found.size();
        std::size_t wanting = count > held ? count - held : 0;
        for (const std::uint32_t block : found)
            wanting += references[block] == 0;
        return wanting;
    }

    bool allocate(table &t, const std::vector<std::uint32_t> &found, std::size_t count) {
        if (needed(t, found, count) > queue.size()) return false;
        for (const std::uint32_t block : found) {
            if (references[block]++ == 0) queue.erase(std::find(queue.begin(), queue.end(), block));
            t.blocks.push_back(block);
        }
        t.entered += found.size();
        while (t.blocks.size() < count) {
            const std::uint32_t block = queue.front();
            queue.pop_front();
            entries.erase(
                std::remove_if(entries.begin(), entries.end(), [block](const auto &e) { return e.second == block; }),
                entries.end());
            references[block]++;
            t.blocks.push_back(block);
        }
        return true;
    }

    void enter(table &t, const std::vector<std::uint64_t> &hashes) {
        for (; index && t.entered < hashes.size(); t.entered++)
            entries.emplace_back(hashes[t.entered], t.blocks[t.entered]);
    }

    void release(table &t) {
        for (; !t.blocks.empty(); t.blocks.pop_back())
            if (--references[t.blocks.back()] == 0) queue.push_back(t.blocks.back());
        t.entered = 0;
    }

    std::size_t cached() const {
        return static_cast<std::size_t>(std::count_if(queue.begin(), queue.end(), [this](std::uint32_t block) {
            return std::any_of(entries.begin(), entries.end(), [block](const auto &e) { return e.second == block; });
        }));
    }

    bool index;
    std::deque<std::uint32_t> queue;
    std::vector<std::uint32_t> references;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> entries; // in the order in which they were entered
};

#endif
