// The block manager as a page would write it down: lists that are searched from the front.
#ifndef TLMALLOC_TESTS_UNIT_NAIVE_KV_BLOCKS_HPP
#define TLMALLOC_TESTS_UNIT_NAIVE_KV_BLOCKS_HPP

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <utility>
#include <vector>

struct naive_kv_blocks {
    struct table {
        std::vector<std::uint32_t> blocks;
        std::size_t entered = 0;
    };

    // by_lmcache: by its rules in place of vLLM's.
    naive_kv_blocks(std::uint32_t count, bool with_index, bool by_lmcache = false)
        : index(with_index), lmcache(by_lmcache), references(count) {
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
        if (needed(t, found, count) > idle()) return false;
        for (const std::uint32_t block : found) {
            if (references[block]++ == 0 && !lmcache) queue.erase(std::find(queue.begin(), queue.end(), block));
            t.blocks.push_back(block);
        }
        for (std::size_t i = found.size(); lmcache && i-- > 0;) { // used last of all, the first one at the end
            const auto at = entry_of(found[i]);
            std::rotate(at, at + 1, entries.end());
        }
        t.entered += found.size();
        while (t.blocks.size() < count) {
            if (queue.empty()) { // LMCache's cache gives one up
                const auto oldest = std::find_if(entries.begin(), entries.end(),
                                                 [this](const auto &e) { return references[e.second] == 0; });
                queue.push_back(oldest->second);
            }
            const std::uint32_t block = queue.front();
            queue.pop_front();
            if (leaves && entry_of(block) != entries.end()) leaves(entry_of(block)->first);
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
            if (!lmcache || find({hashes[t.entered]}).empty())
                entries.emplace_back(hashes[t.entered], t.blocks[t.entered]);
    }

    void release(table &t) {
        if (!lmcache) std::reverse(t.blocks.begin(), t.blocks.end());
        for (const std::uint32_t block : t.blocks)
            if (--references[block] == 0 && (!lmcache || entry_of(block) == entries.end())) queue.push_back(block);
        t.blocks.clear();
        t.entered = 0;
    }

    std::vector<std::pair<std::uint64_t, std::uint32_t>>::iterator entry_of(std::uint32_t block) {
        return std::find_if(entries.begin(), entries.end(), [block](const auto &e) { return e.second == block; });
    }

    // Blocks without a reference, and those of them that can be found.
    std::size_t idle() const {
        return static_cast<std::size_t>(std::count(references.begin() + 1, references.end(), 0u));
    }
    std::size_t cached() const {
        return static_cast<std::size_t>(
            std::count_if(entries.begin(), entries.end(), [this](const auto &e) { return references[e.second] == 0; }));
    }

    bool index, lmcache;
    std::function<void(std::uint64_t)> leaves; // content that a block is taken from
    std::deque<std::uint32_t> queue;
    std::vector<std::uint32_t> references;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> entries; // in the order in which they were entered
};

#endif
