import { setFlagsFromString } from 'node:v8'
import { decideSaving, notSaving } from './decide-saving.ts'

const EVERY_MS = 250

/** With less resident memory, none is saved. */
const LEAST_LIMIT_MB = 400

/**
 * The two degrees of saving. The second ends as soon as it has an effect, so memory that it leaves for two minutes is in
 * use; the first one may take garbage for use.
 */
const rules = {
  some: { leastLimitMb: LEAST_LIMIT_MB, enoughPart: 0.8, room: 1.25 },
  more: { leastLimitMb: 1.15 * LEAST_LIMIT_MB, enoughPart: 0.95, room: 1.1 },
} as const

/**
 * The flags of V8 for each degree. With `optimize-for-size`, collections return all free pages to the system and move
 * objects out of pages that are mostly free. With `heap-growing-percent`, the next collection comes when the heap has
 * grown by one and a half times of what is in use. V8 reads both at each collection, and allows the heap to grow until the
 * next one. It reads `incremental-marking-hard-trigger` whenever the heap needs a page: the next collection begins when so
 * many percent of that growth have been taken.
 */
const flags = {
  none: ['--no-optimize-for-size', '--heap-growing-percent=0', '--incremental-marking-hard-trigger=0'],
  some: ['--optimize-for-size', '--heap-growing-percent=150', '--incremental-marking-hard-trigger=60'],
  more: ['--optimize-for-size', '--heap-growing-percent=150', '--incremental-marking-hard-trigger=25'],
} as const

/**
 * Makes V8 save memory in all threads while the process has much of it. Otherwise V8 keeps the pages of its largest heap
 * for its next garbage, and lets a heap grow to four times of what is in use: both threads together kept hundreds of
 * megabytes after a burst. It changes nothing if the command line sets one of the flags; NODE_OPTIONS can't.
 */
export function saveMemory(leastLimitMb = LEAST_LIMIT_MB): void {
  if (process.execArgv.some(isSameFlag)) return
  const scale = leastLimitMb / LEAST_LIMIT_MB
  let some = notSaving({ ...rules.some, leastLimitMb: rules.some.leastLimitMb * scale })
  let more = notSaving({ ...rules.more, leastLimitMb: rules.more.leastLimitMb * scale })
  let degree: keyof typeof flags = 'none'
  const timer = setInterval(() => {
    const moment = { residentMb: process.memoryUsage.rss() / 1024 ** 2, nowMs: performance.now() }
    some = decideSaving(some, moment)
    more = decideSaving(more, moment)
    const decided = more.isOn ? 'more' : some.isOn ? 'some' : 'none'
    if (decided !== degree) for (const flag of flags[decided]) setFlagsFromString(flag)
    degree = decided
  }, EVERY_MS)
  timer.unref()
}

function isSameFlag(option: string): boolean {
  return /^--(no-?)?(optimize[-_]for[-_]size|heap[-_]growing[-_]percent|incremental[-_]marking[-_]hard[-_]trigger)/.test(
    option,
  )
}
