/* A block moves while programs use it: two PEs, each with an MMU, share a page, whose block of two chunks moves between
 * two places of memory and back.
 *
 * The controller copies the block while the programs go on, and marks a chunk dirty when a program writes it (LIVE).
 * Then it pauses the page in every MMU, copies all chunks or those that are dirty, remaps the page in every MMU, frees
 * the old place, and resumes the page. An MMU answers a pause when the accesses that it has let through have ended. A
 * read must find the bytes that were written last, in a place that is live. Any MMU may refuse PAUSE or REMAP, and the
 * controller may be reset at any step: then it takes back what was done, and the block stays where it was.
 *
 * LIVE          the first copy is made while programs go on (controller.move: concurrent), otherwise in the pause (stop)
 * UNDRAINED     planted: an MMU answers a pause at once
 * STALE         planted: a remap leaves the TLB as it is
 * EARLY_FREE    planted: the old place is freed before the MMUs have answered the remap
 * EARLY_RESUME  planted: an MMU resumes with its own remap, not when all have answered
 * NO_RECOPY     planted: dirty chunks are not copied again
 * NO_TAKE_BACK  planted: a refused remap is not taken back from the MMU that did it
 */
#define PES 2
#define CHUNKS 2
#define NONE 2 /* no place */

mtype = { PAUSE, REMAP, TAKE_BACK, RESUME };

chan command[PES] = [1] of { mtype, byte }; /* which, the place that the page leads to */
chan answer[PES] = [1] of { bit };          /* 1: refused */

bit memory[2 * CHUNKS]; /* [CHUNKS * place + chunk] */
bit written[CHUNKS];    /* last, by any program */
bool live[2];
byte table[PES];
byte tlb[PES] = NONE;
bool paused[PES], inside[PES]; /* an access has been let through */
bool dirty[CHUNKS];
byte watched = NONE; /* a write to this place makes its chunk dirty */

proctype mmu(byte pe) {
    mtype which;
    byte place;
end:
    do
    :: command[pe]?which,place ->
        if
        :: which == PAUSE || which == REMAP -> answer[pe]!1 /* no memory for a table, say */
        :: which == PAUSE ->
            paused[pe] = true;
#ifndef UNDRAINED
            !inside[pe];
#endif
            answer[pe]!0
        :: which == REMAP || which == TAKE_BACK ->
            atomic {
                table[pe] = place;
#ifndef STALE
                tlb[pe] = NONE;
#endif
#ifdef EARLY_RESUME
                paused[pe] = false
#endif
            }
            answer[pe]!0
        :: which == RESUME -> paused[pe] = false; answer[pe]!0
        fi;
        place = 0
    od
}

proctype program(byte pe) {
    byte place, chunk;
end:
    do
    :: atomic { !paused[pe] -> inside[pe] = true; place = tlb[pe] }
        if
        :: place == NONE -> atomic { place = table[pe]; tlb[pe] = place } /* a walk */
        :: else
        fi;
        if
        :: chunk = 0
        :: chunk = 1
        fi;
        if
        :: atomic { /* a read arrives */
            assert(live[place]);
            assert(memory[CHUNKS * place + chunk] == written[chunk])
        }
        :: atomic { /* a write arrives */
            assert(live[place]);
            written[chunk] = !written[chunk];
            memory[CHUNKS * place + chunk] = written[chunk];
            if
            :: place == watched -> dirty[chunk] = true
            :: else
            fi
        }
        fi;
        atomic { inside[pe] = false; place = 0; chunk = 0 }
    od
}

#define MAY_BE_RESET(where) if :: skip :: goto where fi

/* Copies the chunks that are dirty; a write meanwhile makes them dirty again. */
inline copy() {
    chunk = 0;
    do
    :: chunk < CHUNKS ->
        if
        :: dirty[chunk] ->
            atomic { dirty[chunk] = false; value = memory[CHUNKS * from + chunk] }
            memory[CHUNKS * (1 - from) + chunk] = value
        :: else
        fi;
        chunk++
    :: else -> break
    od;
    atomic { chunk = 0; value = 0 }
}

inline send_all(which, place) {
    pe = 0;
    do
    :: pe < PES -> command[pe]!which,place; pe++
    :: else -> break
    od
}

/* done[pe]: this MMU has done it. */
inline gather() {
    pe = 0;
    failed = false;
    do
    :: pe < PES -> answer[pe]?refusal; done[pe] = !refusal; failed = failed || refusal; pe++
    :: else -> break
    od;
    atomic { refusal = 0; pe = 0 }
}

inline send_those(which, place) {
    pe = 0;
    do
    :: pe < PES && done[pe] -> command[pe]!which,place; answer[pe]?refusal; pe++
    :: pe < PES && !done[pe] -> pe++
    :: else -> break
    od;
    atomic { refusal = 0; pe = 0 }
}

proctype controller() {
    byte pe, chunk, from;
    bit value, refusal;
    bool done[PES];
    bool failed;
end:
    do
    :: live[1 - from] = true; /* ALLOC of the new place */
        atomic { watched = from; dirty[0] = true; dirty[1] = true }
        MAY_BE_RESET(release);
#ifdef LIVE
        copy();
        MAY_BE_RESET(release);
#endif
        send_all(PAUSE, 0);
        gather();
        if
        :: failed -> goto resume
        :: else
        fi;
        MAY_BE_RESET(resume);
#ifndef NO_RECOPY
        copy();
#endif
        MAY_BE_RESET(resume);
        send_all(REMAP, 1 - from);
#ifdef EARLY_FREE
        live[from] = false;
#endif
        gather();
        if
        :: failed ->
#ifndef NO_TAKE_BACK
            send_those(TAKE_BACK, from);
#endif
            atomic { done[0] = true; done[1] = true }
            goto resume
        :: else
        fi;
        atomic { watched = NONE; live[from] = false; from = 1 - from } /* FREE of the old place: it has moved */
resume:
        send_those(RESUME, 0);
release: /* the place where the block is not */
        atomic { watched = NONE; live[1 - from] = false; dirty[0] = false; dirty[1] = false }
        atomic { done[0] = false; done[1] = false; failed = false }
    od
}

init {
    atomic {
        live[0] = true;
        run controller(); run mmu(0); run mmu(1); run program(0); run program(1)
    }
}
