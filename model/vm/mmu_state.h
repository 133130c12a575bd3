/* Inside an MMU: what translating and changing mappings share (mmu.h). */
#ifndef TLMALLOC_MODEL_VM_MMU_STATE_H
#define TLMALLOC_MODEL_VM_MMU_STATE_H

#include "map_undo.h"
#include "map_window.h"
#include "range_buffer.h"
#include "tlmalloc/vm/mmu.h"

/* A table that a change takes. */
typedef struct mmu_table {
    uint64_t nbytes;
    tla_paddr pa;
} mmu_table;

typedef enum mmu_change_phase { CHANGE_NONE, CHANGE_REHEARSED, CHANGE_MADE, CHANGE_REFUSED } mmu_change_phase;

/* The outstanding change of mappings. */
typedef struct mmu_change {
    mmu_change_phase phase;
    tla_table_change what;
    const tla_map_entry *entries;
    size_t count;
    tla_work *work;
    tla_error *error;
    tla_status status;
    mmu_table *tables; /* that it wants, in the order in which it takes them */
    size_t table_room, wanted, given, taken;
    tla_status refusal; /* of a table that it wants */
    bool rehearsing;
    uint32_t sender; /* of a change that is taken back */
    uint64_t made_epoch;
    bool duty_kept; /* a table to release, which a walk may still read */
    tla_table_duty duty;
    uint64_t *words; /* of a write: TLA_TABLE_WRITE_ENTRIES, where there is a table memory */
} mmu_change;

struct tla_mmu {
    tla_mmu_config config;
    tla_page_table *table;
    tla_tlb *tlb;
    tla_range_buffer *ranges; /* NULL: none */
    tla_walkers *walkers;
    tla_map_window *window;
    tla_map_undo *undo;
    bool announced;     /* a command */
    uint64_t window_ps; /* no change that has been shown is hidden from accesses at this time or later */
    uint64_t next_ps;   /* when the next change that has been shown is visible; 0: none is pending */
    bool changing;      /* the table has changed, and the time of its visibility is not known yet */
    uint64_t epoch;     /* of the table: changes and their ends so far */
    uint64_t hits, misses, walk_errors, repeated;
    mmu_change change;
    /* requests */
    uint32_t holding;                   /* requests that hold up those behind them */
    uint64_t resumed_ps;                /* when lookups behind the last of them began */
    uint64_t arrivals;                  /* accesses so far */
    tla_mmu_request *front, *front_end; /* held up, in the order of arrival of their accesses */
    tla_mmu_request *news, *news_end;   /* requests that continue, not returned yet */
};

bool mmu_wraps(const tla_mmu_access *a);
/* The part of an unmapped access that lies in the page of its first byte. */
tla_status mmu_fall_back(const tla_mmu *m, const tla_mmu_access *a, uint64_t limit, tla_mmu_piece *piece);
/* Finds the result of an access under changes that are not visible yet. Returns true if they decide; otherwise *limit
 * is the end of the range for which the table decides. */
bool mmu_find_old(const tla_mmu *m, const tla_mmu_access *a, uint64_t at_ps, uint64_t *limit, tla_status *status,
                  tla_mmu_piece *piece);
/* Returns the table memory of this MMU's page table: it provides the tables that a change has allocated. */
tla_table_memory mmu_table_memory(tla_mmu *m);

#endif
