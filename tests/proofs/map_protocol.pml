/* Map, invalidate, acknowledge: two PEs, each with an MMU, share two pages of virtual memory and two of physical memory.
 *
 * A host takes a frame from a memory controller, maps a page to it, and at any time unmaps the page and gives the frame
 * back when that has been acknowledged. The va_manager passes MAP and UNMAP on to both MMUs, one command under way at
 * each, and settles what was posted before it sends again (fan_out.c). An MMU changes its table, invalidates its TLB and
 * answers. PEs access whatever they can translate; an access must reach a frame that is live and belongs to its page.
 *
 * POSTED   a command is acknowledged when it is written (va.map_ack: posted), not when all MMUs have done it
 * DRAINED  an MMU does not answer before the accesses that it has let through are in memory
 * QUIET    the host unmaps only when the PEs' programs have completed
 * SETTLED  the host gives virtual addresses back before the frame, which settles what was posted, as the runtime does
 * LATE     a planted mistake: a walk fills the TLB although its page was invalidated meanwhile
 */
#define PES 2
#define PAGES 2
#define NONE PAGES /* no frame */

mtype = { MAP, UNMAP };

/* --- memory, and who a frame was given to --- */
bool live[PAGES];
byte owner[PAGES];

/* --- what is between the va_manager and the MMUs --- */
chan command[PES] = [1] of { mtype, byte, byte }; /* which, page, frame */
chan answer[PES] = [1] of { bit };
bool posted[PES]; /* has been sent a command whose answer nobody has read */

/* --- the MMUs; [PAGES * pe + page] --- */
byte table[PES * PAGES] = NONE;
byte tlb[PES * PAGES] = NONE;
bool walk_holds[PES]; /* what the walk under way has read holds still */
byte walked_page[PES];
bool under_way[PES]; /* an access was let through, or waits for its walk */
bool runs[PES];      /* a program; it completes when nothing is under way */

proctype mmu(byte pe) {
    mtype which;
    byte page, frame;
end:
    do
    :: command[pe]?which,page,frame ->
        if
        :: which == MAP -> table[PAGES * pe + page] = frame
        :: else ->
            table[PAGES * pe + page] = NONE;
            atomic { /* the TLB, and walks that would fill it */
                tlb[PAGES * pe + page] = NONE;
#ifndef LATE
                if
                :: walked_page[pe] == page -> walk_holds[pe] = false
                :: else
                fi
#endif
            }
#ifdef DRAINED
            !under_way[pe]
#endif
        fi;
        atomic { answer[pe]!0; page = 0; frame = 0 }
    od
}

proctype program(byte pe) {
    byte page, frame;
end:
    do
    :: runs[pe] ->
        if
        :: page = 0
        :: page = 1
        fi;
        atomic { /* the lookup: what it finds is on its way from here on */
            under_way[pe] = true;
            frame = tlb[PAGES * pe + page];
            walked_page[pe] = page;
            walk_holds[pe] = true
        }
        if
        :: frame == NONE ->
            frame = table[PAGES * pe + page];
            atomic {
                if
                :: frame != NONE && walk_holds[pe] -> tlb[PAGES * pe + page] = frame
                :: else
                fi
            }
        :: else
        fi;
        atomic {
            if
            :: frame != NONE -> assert(live[frame] && owner[frame] == page)
            :: else /* a fault */
            fi;
            under_way[pe] = false;
            walk_holds[pe] = false;
            walked_page[pe] = 0;
            page = 0; /* what is not read any more is the same in all states */
            frame = 0
        }
#ifdef QUIET
    :: runs[pe] -> runs[pe] = false
#endif
    od
}

inline settle() {
    pe = 0;
    do
    :: pe < PES ->
        if
        :: posted[pe] -> answer[pe]?0; posted[pe] = false
        :: else
        fi;
        pe++
    :: else -> break
    od
}

inline send(which, page, frame) {
    settle();
    pe = 0;
    do
    :: pe < PES -> command[pe]!which,page,frame; posted[pe] = true; pe++
    :: else -> break
    od;
#ifndef POSTED
    settle();
#endif
}

proctype host() {
    byte pe, page, frame;
    byte mapped[PAGES] = NONE; /* the frame of a page */
end:
    do
    :: page = 0; goto change
    :: page = 1; goto change
#ifdef QUIET
    :: runs[0] = true
    :: runs[1] = true
#endif
    od;
change:
    if
    :: mapped[page] == NONE ->
        if
        :: !live[0] -> frame = 0
        :: !live[1] -> frame = 1
        fi;
        atomic { live[frame] = true; owner[frame] = page }
        send(MAP, page, frame);
        mapped[page] = frame
    :: else ->
#ifdef QUIET
        (!runs[0] && !runs[1]);
#endif
        send(UNMAP, page, 0);
#ifdef SETTLED
        settle(); /* VA_FREE */
#endif
        live[mapped[page]] = false; /* FREE */
        mapped[page] = NONE
    fi;
    atomic { page = 0; frame = 0; pe = 0 };
    goto end
}

init {
    atomic {
#ifndef QUIET
        runs[0] = true; runs[1] = true;
#endif
        run host(); run mmu(0); run mmu(1); run program(0); run program(1)
    }
}
