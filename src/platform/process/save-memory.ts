import { setFlagsFromString } from 'node:v8'
import { type Idleness, decideIdle, idle } from './decide-idle.ts'
import { decideRecentMost, noneRecently, recentMostOf } from './decide-recent-most.ts'
import { decideSaving, notSaving } from './decide-saving.ts'

const EVERY_MS = 250

/** With less resident memory, a busy process saves none. */
const LEAST_LIMIT_MB = 400

/**
 * The two degrees of saving that follow from the resident memory. The second ends as soon as it has an effect, so memory
 * that it leaves for two minutes is in use; the first one may take garbage for use.
 */
const rules = {
  some: { leastLimitMb: LEAST_LIMIT_MB, enoughPart: 0.8, room: 1.25 },
  more: { leastLimitMb: 1.15 * LEAST_LIMIT_MB, enoughPart: 0.95, room: 1.1 },
} as const

/**
 * Each heap is collected again once it has grown by one and a half times of what is in use. Otherwise V8 decides that by how
 * much a thread allocates: one that allocates little makes a full collection for every 8 MB, buffers included, and one
 * that allocates much lets its heap grow to four times; see decision 286. V8 reads the flag at each collection.
 */
const GROWTH = '--heap-growing-percent=150'

/**
 * The flags of V8 for each degree. With `optimize-for-size`, which V8 reads at each collection, these return all free pages
 * to the system, shrink the young heap, and move objects out of pages that are mostly free. It reads
 * `incremental-marking-hard-trigger` whenever the heap needs a page: the next collection begins when this percentage of
 * the growth has been taken.
 */
const flags = {
  none: ['--no-optimize-for-size', '--incremental-marking-hard-trigger=0'],
  some: ['--optimize-for-size', '--incremental-marking-hard-trigger=60'],
  more: ['--optimize-for-size', '--incremental-marking-hard-trigger=25'],
  most: ['--optimize-for-size', '--incremental-marking-hard-trigger=10'],
} as const

/**
 * What a connection of a device takes: 57 KB outside of the heaps, nearly all of it in use (docs/performance.md), and 8 within, to
 * which garbage of one and a half times as much may be added until the next full collection.
 */
const LINK_MB = 0.077

/**
 * How long a connection counts after it has closed: a device that restarts connects again, and some of the memory of its former
 * connection is free only after the next full collection.
 */
const CLOSED_LINK_MS = 120_000

/** Until when memory is saved at least to this degree, whatever the process has; monotonic. */
const untilMs = { some: 0, most: 0 }

/**
 * Saves memory for a while. V8 otherwise lets a heap grow to two and a half times of what is in use, and keeps the pages. It changes
 * nothing without saveMemory().
 * @param degree `most`: for work that holds much more than usual for a moment; `some`: for work that leaves much garbage for longer.
 */
export function saveMemoryFor(ms: number, degree: keyof typeof untilMs): void {
  untilMs[degree] = Math.max(untilMs[degree], performance.now() + ms)
}

interface Options {
  /**
   * Resolves with a function that returns the number of connections of devices. Until this settles the process does not
   * count as idle: a thread that begins while V8 is to optimize for size keeps a young heap of 1 MB.
   */
  readonly started: Promise<() => number>
  /** Default: 400. */
  readonly leastLimitMb?: number
}

/**
 * Decides when V8 collects the heaps of all threads, and makes it save memory while the process is idle or has much of it
 * besides the connections of devices. Otherwise V8 keeps the pages of its largest heap for its next garbage: both threads
 * together kept hundreds of megabytes after a burst. It changes nothing if the command line sets one of the flags;
 * NODE_OPTIONS can't.
 */
export function saveMemory({ started, leastLimitMb = LEAST_LIMIT_MB }: Options): void {
  if (process.execArgv.some(isSameFlag)) return
  const scale = leastLimitMb / LEAST_LIMIT_MB
  let some = notSaving({ ...rules.some, leastLimitMb: rules.some.leastLimitMb * scale })
  let more = notSaving({ ...rules.more, leastLimitMb: rules.more.leastLimitMb * scale })
  /** Null during the start. */
  let idleness: Idleness | null = null
  let degree: keyof typeof flags = 'none'
  let countLinks = (): number => 0
  let links = noneRecently
  let last = measure(0)

  function decide(): void {
    const now = measure(last.residentMb)
    links = decideRecentMost(links, { value: countLinks(), nowMs: now.nowMs }, CLOSED_LINK_MS)
    const moment = { nowMs: now.nowMs, residentMb: Math.max(0, now.residentMb - recentMostOf(links) * LINK_MB) }
    some = decideSaving(some, moment)
    more = decideSaving(more, moment)
    const part = (now.cpuMs - last.cpuMs) / Math.max(1, now.nowMs - last.nowMs)
    if (idleness !== null) idleness = decideIdle(idleness, { part, nowMs: now.nowMs })
    last = now
    const asked = (which: keyof typeof untilMs): boolean => now.nowMs < untilMs[which]
    if (asked('most')) set('most')
    else if (more.isOn) set('more')
    else set(some.isOn || asked('some') || idleness?.isIdle === true ? 'some' : 'none')
  }

  function set(decided: keyof typeof flags): void {
    if (decided !== degree) for (const flag of flags[decided]) setFlagsFromString(flag)
    degree = decided
  }

  setFlagsFromString(GROWTH)
  decide()
  const end = (): void => {
    // What the start has taken does not count as load.
    last = measure(last.residentMb)
    idleness = idle
  }
  started.then((count) => {
    countLinks = count
    end()
  }, end)
  setInterval(decide, EVERY_MS).unref()
}

interface Measurement {
  readonly residentMb: number
  /** The processor time of all threads so far. */
  readonly cpuMs: number
  /** Monotonic. */
  readonly nowMs: number
}

/** @param formerMb The last measurement of the memory. */
function measure(formerMb: number): Measurement {
  const { user, system } = process.cpuUsage()
  return { residentMb: measureResidentMb() ?? formerMb, cpuMs: (user + system) / 1000, nowMs: performance.now() }
}

/** @returns Null if the process has as many files open as it may: the system shows its memory in a file. */
function measureResidentMb(): number | null {
  try {
    return process.memoryUsage.rss() / 1024 ** 2
  } catch {
    return null
  }
}

function isSameFlag(option: string): boolean {
  return /^--(no-?)?(optimize[-_]for[-_]size|heap[-_]growing[-_]percent|incremental[-_]marking[-_]hard[-_]trigger)/.test(
    option,
  )
}
